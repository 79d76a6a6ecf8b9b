//! The walker of native frames during a recording: its tables, and the names of its frames.
//!
//! The tables are made before the first sample, and again when libraries came or went, or a walk
//! reached code in no known library. It must never drop tables that a handler may use.

use std::time::Duration;

use once_cell::sync::OnceCell;
use vouch_collect::record::native::NativeFrames;
use vouch_hotspot::jvm_layouts::JvmLayouts;
use vouch_report::NativeReport;
use vouch_sampling::clock;
use vouch_sampling::engine::Engine;
use vouch_sampling::threads::hook;
use vouch_signal::sampler::GATE;
use vouch_unwind::code_cache::CodeCache;
use vouch_unwind::native::libraries::loaded;
use vouch_unwind::native::tables::{TableMaker, Tables};
use vouch_unwind::native::unwinder::{NativeUnwinder, WalkCounts};

use crate::guard;

/// How long at least passes between two readings of the list of libraries, if the linker has not
/// loaded one. It doubles each time, because a walk may reach code that no file has at any time.
const MIN_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_secs(64);

/// Returns the JVM's code cache, which a walk needs to find the end of native code, or the reason
/// why stacks cannot have native frames.
pub fn code_cache(layouts: &JvmLayouts) -> Result<CodeCache, &'static str> {
    if guard::unguarded().is_some() {
        return Err("walks are not guarded");
    }
    layouts.code.as_ref().and_then(|code| code.code_cache).ok_or("the JVM's code cache is not found")
}

/// What to set so that frames of the kernel have names.
pub const TO_NAME_KERNEL_FRAMES: &str =
    "set kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to 1, or grant CAP_SYSLOG";

/// Returns why samples of this engine cannot have frames of the kernel. `None` if they can.
pub fn no_kernel_frames(engine: Engine) -> Option<String> {
    match engine {
        _ if engine.with_kernel_frames().is_some() => None,
        Engine::Perf { .. } => Some("set kernel.perf_event_paranoid to 1, or grant CAP_PERFMON".to_owned()),
        _ => Some(format!("engine={} has none", engine.name())),
    }
}

/// The walker of all recordings, because a handler may hold it at any time.
static UNWINDER: OnceCell<NativeUnwinder> = OnceCell::new();

/// The tables of a recording. The walker finds no frames after it is dropped.
#[derive(Debug)]
pub struct NativeTables {
    unwinder: &'static NativeUnwinder,
    maker: TableMaker,
    libraries: hook::Loaded,
    /// True if libraries came or went, and the list could not be read since then.
    must_look: bool,
    /// Tables that a handler may still use.
    #[expect(clippy::vec_box, reason = "a handler may have the address of such tables")]
    retired: Vec<Box<Tables>>,
    next_look_ns: u64,
    pause: Duration,
    before: [u64; 3],
}

impl NativeTables {
    /// Makes the walker and its first tables.
    pub fn begin(code_cache: CodeCache, frames: &mut NativeFrames) -> Self {
        let processors = std::thread::available_parallelism().map_or(4, std::num::NonZero::get);
        // A handler may be preempted while it walks, so there are more caches than processors.
        let unwinder =
            UNWINDER.get_or_init(|| NativeUnwinder::new(code_cache, (processors * 2).clamp(4, 64)));
        let mut tables = Self {
            unwinder,
            maker: TableMaker::default(),
            libraries: hook::Loaded::new(),
            must_look: false,
            retired: Vec::new(),
            next_look_ns: 0,
            pause: MIN_PAUSE,
            before: counts(&unwinder.counts),
        };
        let has_changed = tables.libraries.has_changed();
        tables.look(frames, has_changed);
        tables
    }

    pub fn walker(&self) -> &'static NativeUnwinder {
        self.unwinder
    }

    /// Makes the tables again if libraries came or went, or a walk reached unknown code, and drops
    /// those that no handler uses.
    pub fn keep_up(&mut self, frames: &mut NativeFrames) {
        self.look_if_changed(frames);
        while let Some(unread) = self.maker.next_unread() {
            // Libraries that are loaded meanwhile must not wait, since each walk in them is broken.
            let read = unread.read(&mut || self.look_if_changed(frames));
            if self.maker.set_rules(read) {
                self.publish();
            }
        }
        if !self.retired.is_empty() && GATE.is_empty() {
            self.retired.clear();
        }
    }

    fn look_if_changed(&mut self, frames: &mut NativeFrames) {
        let has_changed = self.libraries.has_changed() || self.must_look;
        if has_changed
            || clock::monotonic() >= self.next_look_ns && self.unwinder.take_has_seen_unknown_code()
        {
            self.look(frames, has_changed);
        }
    }

    fn look(&mut self, frames: &mut NativeFrames, has_changed: bool) {
        // Before the list is read, so that code that is unknown afterwards asks for another look.
        self.unwinder.take_has_seen_unknown_code();
        // Without a free file descriptor the list cannot be read. It is read later then.
        self.must_look = has_changed;
        let Ok(libraries) = loaded() else { return };
        self.must_look = false;
        self.pause = if has_changed { MIN_PAUSE } else { (self.pause * 2).min(MAX_PAUSE) };
        self.next_look_ns = clock::monotonic().saturating_add(clock::nanos(self.pause));
        self.maker.set_libraries(libraries.clone());
        self.publish();
        frames.set_libraries(libraries, clock::monotonic());
    }

    fn publish(&mut self) {
        self.retired.extend(self.unwinder.replace(Box::new(self.maker.make())));
    }

    /// Counts walks anew, for a period.
    pub fn begin_period(&mut self) {
        self.before = counts(&self.unwinder.counts);
    }

    /// Returns how the walks of this recording ended.
    pub fn report(&self) -> NativeReport {
        let now = counts(&self.unwinder.counts);
        let [whole, broken, failed] = [0, 1, 2].map(|at: usize| now[at].saturating_sub(self.before[at]));
        NativeReport { whole, broken, failed, ..NativeReport::default() }
    }
}

fn counts(counts: &WalkCounts) -> [u64; 3] {
    let WalkCounts { whole, broken, failed } = counts;
    [whole, broken, failed].map(|count| count.load(std::sync::atomic::Ordering::Relaxed))
}

impl Drop for NativeTables {
    fn drop(&mut self) {
        self.retired.extend(self.unwinder.stop());
        if !GATE.is_empty() {
            // A handler that has not returned may still read them.
            std::mem::forget(std::mem::take(&mut self.retired));
        }
    }
}
