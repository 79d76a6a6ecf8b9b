//! Chooses the engine: the requested one if it works, or the best that does. It records why a
//! better one was not used.

use std::io;
use std::time::Duration;

use super::cost::Meter;
use super::{Engine, kernel, perf, poll, timer};
use crate::signal::Signal;

/// The engine that the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineWish {
    #[default]
    Auto,
    Perf,
    Timer,
    Itimer,
    Poll,
    Hammer,
}

/// The chosen engine, and the facts about the choice that a user needs.
#[derive(Debug, Clone)]
pub struct Choice {
    pub engine: Engine,
    pub notes: Vec<String>,
    /// The reason why `auto` did not take perf. The first of the notes gives it, too.
    pub no_perf: Option<String>,
    /// The cost of one of the engine's interrupts. `None` if it has no interrupts, or their cost
    /// could not be measured.
    pub cost: Option<Duration>,
    /// How many samples a second the kernel allows with this engine.
    pub most: Option<u32>,
    /// A warning that is printed at once, because later may be too late.
    pub warning: Option<String>,
    /// The reason why signals come less often than each interval from the beginning.
    pub rarer: Option<String>,
}

impl Choice {
    fn from_engine(engine: Engine, notes: Vec<String>) -> Self {
        let (cost, most) = match engine {
            Engine::Perf { user_only } => (least_cost(user_only), kernel::most_samples()),
            Engine::Timer | Engine::Itimer | Engine::Poll | Engine::Hammer => (None, None),
        };
        Self { engine, notes, no_perf: None, cost, most, warning: None, rarer: None }
    }
}

/// Measures the cost of an interrupt at its cheapest, in two milliseconds. A busy host at the start
/// must not cause long strides for the whole recording. The governor reacts if interrupts stay
/// slow.
fn least_cost(user_only: bool) -> Option<Duration> {
    const TIMES: u32 = 3;
    const INTERRUPTS: usize = 5;
    let meter = Meter::new(user_only)?;
    (0..TIMES).filter_map(|_| meter.measure(INTERRUPTS)).min()
}

/// A period so long that a trial event never fires.
const NEVER: Duration = Duration::from_hours(1);

/// Tries the engines on the calling thread, the best first.
pub fn choose(wish: EngineWish, signal: Signal) -> Result<Choice, String> {
    if wish == EngineWish::Itimer && !signal.is_default() {
        return Err(format!(
            "engine=itimer has only SIGPROF: signal={signal} needs engine=perf or engine=timer"
        ));
    }
    let queued = "a perf event may send SIGIO for a queued signal, and end the process";
    if wish == EngineWish::Perf && signal.is_queued() {
        return Err(format!(
            "engine=perf cannot use signal={signal}: {queued}; use engine=timer or signal=SIGUSR1"
        ));
    }
    let refused = |name: &str, why: &str| format!("engine={name} does not work here: {why}; try engine=auto");
    match wish {
        EngineWish::Perf => {
            let choice = try_perf().map_err(|why| refused("perf", &why))?;
            let warning = present_danger().map(|why| format!("engine=perf: {why}; engine=timer is safe"));
            Ok(Choice { warning, ..choice })
        }
        EngineWish::Timer => try_timer().map_err(|why| refused("timer", &why)),
        EngineWish::Poll => try_poll().map_err(|why| refused("poll", &why)),
        EngineWish::Itimer => Ok(Choice::from_engine(Engine::Itimer, Vec::new())),
        EngineWish::Hammer => {
            let note = "engine=hammer walks as often as it can, and slows the program several times: it is for scripts/soak";
            Ok(Choice::from_engine(Engine::Hammer, vec![note.to_owned()]))
        }
        EngineWish::Auto => {
            let perf =
                if signal.is_queued() { Err(format!("{queued} (signal={signal})")) } else { safe_perf() };
            perf.or_else(|no_perf| without_perf(format!("perf was not taken: {no_perf}"), signal))
        }
    }
}

/// Returns the best engine that works, except perf.
fn without_perf(no_perf: String, signal: Signal) -> Result<Choice, String> {
    let mut notes = vec![no_perf.clone()];
    let others = [("poll", try_poll as fn() -> Result<Choice, String>), ("timer", try_timer)];
    for (name, attempt) in others {
        match attempt() {
            Ok(choice) => return Ok(Choice { notes, no_perf: Some(no_perf), ..choice }),
            Err(why) => notes.push(format!("{name} was not taken: {why}")),
        }
    }
    if signal.is_default() {
        return Ok(Choice { no_perf: Some(no_perf), ..Choice::from_engine(Engine::Itimer, notes) });
    }
    Err(format!("no engine works here with signal={signal}: {}", notes.join("; ")))
}

/// Returns the danger of perf events on the running kernel, by its release name.
fn present_danger() -> Option<String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    kernel::danger(release.trim())
}

/// Chooses perf, unless that would put the machine at risk. In that case perf is not even tried.
fn safe_perf() -> Result<Choice, String> {
    present_danger().map_or_else(try_perf, Err)
}

fn try_perf() -> Result<Choice, String> {
    let tid = crate::clock::own_tid();
    let attempt = |user_only| perf::Event::open(tid, NEVER, user_only).and_then(|event| event.start());
    if attempt(false).is_ok() {
        return Ok(Choice::from_engine(Engine::Perf { user_only: false }, Vec::new()));
    }
    match attempt(true) {
        Ok(()) => {
            let setting = paranoid().unwrap_or_else(|| "perf_event_paranoid".to_owned());
            let note = format!("time inside the kernel is not sampled ({setting}): engine=timer has it");
            Ok(Choice::from_engine(Engine::Perf { user_only: true }, vec![note]))
        }
        Err(error) => Err(why_no_perf(&error)),
    }
}

fn why_no_perf(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => match paranoid() {
            Some(level) if level_of(&level) > 2 => format!("{level} forbids it (2 or less allows it)"),
            _ => "the system forbids perf_event_open (a container's seccomp filter does that)".to_owned(),
        },
        Some(libc::ENOSYS) => "the kernel has no perf_event_open, or a seccomp filter hides it".to_owned(),
        Some(libc::EMFILE | libc::ENFILE) => "the process has no free file descriptor".to_owned(),
        _ => format!("perf_event_open failed: {error}"),
    }
}

fn try_poll() -> Result<Choice, String> {
    poll::obstacle().map_or_else(|| Ok(Choice::from_engine(Engine::Poll, Vec::new())), Err)
}

fn try_timer() -> Result<Choice, String> {
    let tid = crate::clock::own_tid();
    match timer::Timer::make(tid).and_then(|timer| timer.start(NEVER, NEVER)) {
        Ok(()) => Ok(Choice::from_engine(Engine::Timer, Vec::new())),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {
            Err("no more timers are allowed: raise `ulimit -i`".to_owned())
        }
        Err(error) => Err(format!("timer_create failed: {error}")),
    }
}

/// Returns the value of `perf_event_paranoid`, in the form in which a user would look it up.
fn paranoid() -> Option<String> {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    Some(format!("perf_event_paranoid={}", level.trim()))
}

fn level_of(setting: &str) -> i32 {
    setting.split('=').next_back().and_then(|level| level.parse().ok()).unwrap_or(0)
}
