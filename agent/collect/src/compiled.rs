//! A table of all compiled methods: the addresses of each one's code, and the number of frames that
//! are inlined at each address.
//!
//! Inlined methods have no separate frames on the thread's stack: a compiled frame and all that is
//! inlined in it come and go at once. JVMTI reports each method that is compiled or unloaded, but
//! late: other code may be at its address by then. So new code replaces what the table has there,
//! and the table never has more than the code cache. It must never block the JVM's compilers for
//! long.
//!
//! The events cost CPU time for each compiled method. They are on only if a recording counts them,
//! or if the JVM's memory does not say what compiled code is at an address.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use vouch_sample::MethodId;

static TABLE: Mutex<CodeTable> = Mutex::new(CodeTable { newest: 0, code: BTreeMap::new(), changes: None });

/// True once the table has the code that was compiled before the agent was loaded.
static IS_COMPLETE: AtomicBool = AtomicBool::new(false);

/// True if the JVM reports code as long as it runs.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// True while the calling thread generates events for code that exists already.
    static GENERATES: Cell<bool> = const { Cell::new(false) };
}

/// The code of all compiled methods.
#[derive(Debug, Default)]
struct CodeTable {
    /// The serial number of the newest code.
    newest: u64,
    /// The code by its first address.
    code: BTreeMap<usize, Code>,
    /// The changes since the last [`take_changes`]; `None` if they are not collected.
    changes: Option<Vec<Change>>,
}

/// A change of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Loaded { method: MethodId, begin: usize, size: usize },
    Unloaded { begin: usize },
}

/// The code of one compiled method.
#[derive(Debug)]
struct Code {
    /// The number of this code. It is never used again for other code.
    serial: u64,
    end: usize,
    method: MethodId,
    /// Runs of debug points with the same number of frames: the offset of the last point of each
    /// run, and the number. `None` for code that is older than the agent, since the JVM does not
    /// report it.
    runs: Option<Box<[(u32, u32)]>>,
}

/// A compiled frame at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompiledFrame {
    /// The compiled method, which the others are inlined in.
    pub method: MethodId,
    /// The number of Java frames: this method's, and those of the inlined methods.
    pub frames: usize,
}

/// Says that the JVM reports code from now on as long as it runs. With `from_start` there is no
/// code yet, so all code is reported.
pub fn set_reported(from_start: bool) {
    IS_REPORTED.store(true, Ordering::Relaxed);
    IS_COMPLETE.store(from_start, Ordering::Relaxed);
}

/// True if the JVM reports code as long as it runs. Otherwise it reports code only during
/// recordings that count such events, and the table must not be asked what is at an address.
pub fn is_reported() -> bool {
    IS_REPORTED.load(Ordering::Relaxed)
}

/// Removes all code from the table, because the JVM reported none for a while.
pub fn forget() {
    TABLE.lock().code.clear();
    IS_COMPLETE.store(false, Ordering::Relaxed);
}

/// Adds the code that exists already, unless the table has it. `generate` makes the JVM report it
/// on the calling thread.
pub fn add_existing(generate: impl FnOnce()) {
    if !IS_COMPLETE.swap(true, Ordering::Relaxed) {
        GENERATES.set(true);
        generate();
        GENERATES.set(false);
    }
}

/// Adds the code of a compiled method. `frame_counts` has the address of each debug point and its
/// number of frames. Returns false if the code existed before the agent was loaded.
pub fn on_load(
    method: MethodId,
    begin: usize,
    size: usize,
    frame_counts: impl Iterator<Item = (usize, usize)>,
) -> bool {
    let is_new = !GENERATES.get();
    let code = Code {
        serial: 0,
        end: begin.saturating_add(size),
        method,
        runs: is_new.then(|| runs(begin, frame_counts)),
    };
    let mut table = TABLE.lock();
    if is_new || !table.has(begin, &code) {
        table.add(begin, code);
    }
    is_new
}

/// Removes the code of a method that the JVM has unloaded.
pub fn on_unload(method: MethodId, begin: usize) {
    let mut table = TABLE.lock();
    // Other code may be at the address by now.
    if table.code.get(&begin).is_some_and(|code| code.method == method) {
        table.remove(begin);
    }
}

/// Begins to collect changes for [`take_changes`]. The first changes are of all code in the table.
pub fn watch() {
    let mut table = TABLE.lock();
    let all = table.code.iter().map(|(begin, code)| code.loaded(*begin)).collect();
    table.changes = Some(all);
}

/// Returns the changes since the last call.
pub fn take_changes() -> Vec<Change> {
    TABLE.lock().changes.as_mut().map(take).unwrap_or_default()
}

/// Stops collecting changes.
pub fn unwatch() {
    TABLE.lock().changes = None;
}

/// The code of a compiled method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownCode {
    /// The number of this code. It is never used again for other code.
    pub serial: u64,
    /// True if it was compiled before the agent was loaded.
    pub is_older: bool,
}

/// What a pc is to its frame. A debug point describes the instructions that end at its address, so
/// the two are looked up differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PcKind {
    /// The address of the next instruction of an interrupted frame.
    Interrupted,
    /// The address to which a called method will return.
    ReturnAddress,
}

impl PcKind {
    /// Returns the lowest address at which the debug point of a pc may be.
    pub fn debug_point(self, pc: usize) -> Option<usize> {
        pc.checked_add(usize::from(self == Self::Interrupted))
    }
}

/// Finds the compiled frame at an address. `None` if no known code is there.
pub fn frame_at(pc: usize, kind: PcKind) -> Option<CompiledFrame> {
    TABLE.lock().frame_at(pc, kind)
}

/// Returns the code that contains an address.
pub fn code_at(pc: usize) -> Option<KnownCode> {
    TABLE.lock().known(pc)
}

/// Returns the compiled method that has its code at an address.
pub fn method_at(pc: usize) -> Option<MethodId> {
    TABLE.lock().containing(pc).map(|(_, code)| code.method)
}

fn runs(begin: usize, frame_counts: impl Iterator<Item = (usize, usize)>) -> Box<[(u32, u32)]> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for (pc, frames) in frame_counts {
        let at = pc.checked_sub(begin).and_then(|at| u32::try_from(at).ok());
        let (Some(at), Ok(frames)) = (at, u32::try_from(frames)) else { continue };
        match runs.last_mut() {
            Some((last, same)) if *same == frames => *last = at,
            _ => runs.push((at, frames)),
        }
    }
    runs.into()
}

impl Code {
    /// Returns the change that adds this code.
    fn loaded(&self, begin: usize) -> Change {
        Change::Loaded { method: self.method, begin, size: self.end.saturating_sub(begin) }
    }
}

impl CodeTable {
    /// Returns true if the same method has its code at the same addresses.
    fn has(&self, begin: usize, code: &Code) -> bool {
        self.code.get(&begin).is_some_and(|known| (known.method, known.end) == (code.method, code.end))
    }

    fn add(&mut self, begin: usize, code: Code) {
        // The new code replaces all code that it overlaps.
        let before = self.code.range(..begin).next_back().filter(|(_, code)| code.end > begin);
        let replaced: Vec<usize> =
            before.into_iter().chain(self.code.range(begin..code.end)).map(|(begin, _)| *begin).collect();
        for begin in replaced {
            self.remove(begin);
        }
        self.push_change(code.loaded(begin));
        self.newest += 1;
        self.code.insert(begin, Code { serial: self.newest, ..code });
    }

    fn remove(&mut self, begin: usize) {
        self.code.remove(&begin);
        self.push_change(Change::Unloaded { begin });
    }

    fn push_change(&mut self, change: Change) {
        /// With more changes than this, no caller reads them any more, so the list is dropped.
        const MAX_CHANGES: usize = 1 << 20;
        match &mut self.changes {
            Some(changes) if changes.len() < MAX_CHANGES => changes.push(change),
            _ => self.changes = None,
        }
    }

    /// Returns the code that contains an address.
    fn known(&self, pc: usize) -> Option<KnownCode> {
        let (_, Code { serial, runs, .. }) = self.containing(pc)?;
        Some(KnownCode { serial: *serial, is_older: runs.is_none() })
    }

    fn containing(&self, pc: usize) -> Option<(&usize, &Code)> {
        self.code.range(..=pc).next_back().filter(|(_, code)| pc < code.end)
    }

    fn frame_at(&self, pc: usize, kind: PcKind) -> Option<CompiledFrame> {
        let (begin, code) = self.containing(pc)?;
        // AsyncGetCallTrace looks debug points up in the same way.
        let at = u32::try_from(kind.debug_point(pc)? - begin).ok()?;
        let runs = code.runs.as_ref()?;
        let run = runs.partition_point(|(last, _)| *last < at);
        let frames = match runs.get(run) {
            Some((_, frames)) => usize::try_from(*frames).ok()?,
            // The wrapper of a native method has no debug points, and nothing inlined.
            None if runs.is_empty() => 1,
            None => return None,
        };
        Some(CompiledFrame { method: code.method, frames })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(method: usize, begin: usize, size: usize, frame_counts: &[(usize, usize)]) -> (usize, Code) {
        let runs = Some(runs(begin, frame_counts.iter().copied()));
        (begin, Code { serial: 0, end: begin + size, method: MethodId(method), runs })
    }

    fn table(all: impl IntoIterator<Item = (usize, Code)>) -> CodeTable {
        let mut table = CodeTable::default();
        for (begin, code) in all {
            table.add(begin, code);
        }
        table
    }

    #[test]
    fn an_address_has_the_frames_of_the_next_debug_point() {
        let compiled = table([code(7, 100, 50, &[(110, 1), (112, 1), (120, 3), (130, 1)])]);
        let frames = |pc, kind| compiled.frame_at(pc, kind).map(|frame| frame.frames);
        let called =
            [99, 100, 110, 111, 112, 113, 120, 121, 130, 131].map(|pc| frames(pc, PcKind::ReturnAddress));
        let expected = [0, 1, 1, 1, 1, 3, 3, 1, 1, 0].map(|frames| Some(frames).filter(|frames| *frames > 0));
        assert_eq!(called, expected);
        let interrupted = [99, 100, 111, 112, 119, 120, 129, 130].map(|pc| frames(pc, PcKind::Interrupted));
        let expected = [0, 1, 1, 3, 3, 1, 1, 0].map(|frames| Some(frames).filter(|frames| *frames > 0));
        assert_eq!(interrupted, expected);
        assert_eq!(compiled.frame_at(100, PcKind::ReturnAddress).unwrap().method, MethodId(7));
    }

    #[test]
    fn a_wrapper_is_one_frame() {
        assert_eq!(
            table([code(7, 100, 50, &[])]).frame_at(149, PcKind::Interrupted),
            Some(CompiledFrame { method: MethodId(7), frames: 1 })
        );
    }

    #[test]
    fn code_older_than_the_agent_has_a_method_and_no_frame_counts() {
        let (begin, old) = code(7, 100, 50, &[]);
        let compiled = table([(begin, Code { runs: None, ..old })]);
        assert_eq!(compiled.frame_at(120, PcKind::ReturnAddress), None);
        assert!(compiled.known(120).unwrap().is_older);
        assert_eq!(compiled.containing(120).unwrap().1.method, MethodId(7));
    }

    #[test]
    fn new_code_replaces_the_code_that_it_overlaps() {
        let compiled = table([
            code(1, 100, 50, &[]),
            code(2, 150, 10, &[]),
            code(3, 160, 50, &[]),
            code(4, 300, 10, &[]),
            code(5, 140, 30, &[]),
        ]);
        let methods = [120, 145, 155, 165, 200, 305]
            .map(|pc| compiled.frame_at(pc, PcKind::ReturnAddress).map(|frame| frame.method.0));
        assert_eq!(methods, [None, Some(5), Some(5), Some(5), None, Some(4)]);
    }

    #[test]
    fn changes_are_collected_while_the_table_is_watched() {
        let mut compiled = table([code(1, 100, 50, &[])]);
        compiled.changes = Some(Vec::new());
        let (begin, other) = code(2, 140, 20, &[]);
        compiled.add(begin, other);
        let loaded = Change::Loaded { method: MethodId(2), begin: 140, size: 20 };
        assert_eq!(compiled.changes.take(), Some(vec![Change::Unloaded { begin: 100 }, loaded]));
    }
}
