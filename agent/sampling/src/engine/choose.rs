//! Chooses the engine: the requested one if it works, or the best that does. It records why a
//! better one was not used.

use std::io;
use std::time::Duration;

use super::cost::Meter;
use super::perf::Kernel;
use super::{Engine, ExternalEngine, kernel, perf, poll, timer};
use crate::error::{Error, Obstacle};
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
    External(&'static dyn ExternalEngine),
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
            Engine::Perf { .. } => (least_cost(engine.user_only()), kernel::most_samples()),
            Engine::Timer | Engine::Itimer | Engine::Poll | Engine::External(_) => (None, None),
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
pub fn choose(wish: EngineWish, signal: Signal) -> Result<Choice, Error> {
    if wish == EngineWish::Itimer && !signal.is_default() {
        return Err(Error::SignalOfItimer(signal));
    }
    if wish == EngineWish::Perf && signal.is_queued() {
        return Err(Error::SignalOfPerf(signal));
    }
    let refused = |engine| move |why| Error::Engine { engine, why };
    match wish {
        EngineWish::Perf => {
            let choice = try_perf().map_err(refused("perf"))?;
            let warning = present_danger().map(|why| format!("engine=perf: {why}; engine=timer is safe"));
            Ok(Choice { warning, ..choice })
        }
        EngineWish::Timer => try_timer().map_err(refused("timer")),
        EngineWish::Poll => try_poll().map_err(refused("poll")),
        EngineWish::Itimer => Ok(Choice::from_engine(Engine::Itimer, Vec::new())),
        EngineWish::External(engine) => {
            Ok(Choice::from_engine(Engine::External(engine), vec![engine.warning().to_owned()]))
        }
        EngineWish::Auto => {
            let perf = if signal.is_queued() { Err(Obstacle::QueuedSignal(signal)) } else { safe_perf() };
            perf.or_else(|no_perf| without_perf(format!("perf was not taken: {no_perf}"), signal))
        }
    }
}

/// Returns the best engine that works, except perf.
fn without_perf(no_perf: String, signal: Signal) -> Result<Choice, Error> {
    let mut notes = vec![no_perf.clone()];
    let others = [("poll", try_poll as fn() -> Result<Choice, Obstacle>), ("timer", try_timer)];
    for (name, attempt) in others {
        match attempt() {
            Ok(choice) => return Ok(Choice { notes, no_perf: Some(no_perf), ..choice }),
            Err(why) => notes.push(format!("{name} was not taken: {why}")),
        }
    }
    if signal.is_default() {
        return Ok(Choice { no_perf: Some(no_perf), ..Choice::from_engine(Engine::Itimer, notes) });
    }
    Err(Error::NoEngine { signal, notes })
}

/// Returns the danger of perf events on the running kernel, by its release name.
fn present_danger() -> Option<String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    kernel::danger(release.trim())
}

/// Chooses perf, unless that would put the machine at risk. In that case perf is not even tried.
fn safe_perf() -> Result<Choice, Obstacle> {
    present_danger().map_or_else(try_perf, |why| Err(Obstacle::DangerousKernel(why)))
}

fn try_perf() -> Result<Choice, Obstacle> {
    let tid = crate::clock::own_tid();
    let attempt = |kernel| perf::Event::open(tid, NEVER, kernel).and_then(|event| event.start());
    if attempt(Kernel::Time).is_ok() {
        return Ok(Choice::from_engine(Engine::Perf { kernel: Kernel::Time }, Vec::new()));
    }
    match attempt(Kernel::Hidden) {
        Ok(()) => {
            let setting = paranoid().unwrap_or_else(|| "perf_event_paranoid".to_owned());
            let note = format!("time inside the kernel is not sampled ({setting}): engine=timer has it");
            Ok(Choice::from_engine(Engine::Perf { kernel: Kernel::Hidden }, vec![note]))
        }
        Err(error) => Err(why_no_perf(error)),
    }
}

fn why_no_perf(error: io::Error) -> Obstacle {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => match paranoid() {
            Some(level) if level_of(&level) > 2 => Obstacle::PerfParanoid(level),
            _ => Obstacle::PerfForbidden,
        },
        Some(libc::ENOSYS) => Obstacle::PerfUnknown,
        Some(libc::EMFILE | libc::ENFILE) => Obstacle::NoDescriptor,
        _ => Obstacle::Perf(error),
    }
}

fn try_poll() -> Result<Choice, Obstacle> {
    poll::obstacle().map_or_else(|| Ok(Choice::from_engine(Engine::Poll, Vec::new())), Err)
}

fn try_timer() -> Result<Choice, Obstacle> {
    let tid = crate::clock::own_tid();
    match timer::Timer::make(tid).and_then(|timer| timer.start(NEVER, NEVER)) {
        Ok(()) => Ok(Choice::from_engine(Engine::Timer, Vec::new())),
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Err(Obstacle::NoTimers),
        Err(error) => Err(Obstacle::Timer(error)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_cannot_use_the_signal_is_refused_with_a_remedy() {
        let signal = |name| Signal::parse(name).unwrap();
        for (wish, name, text) in [
            (
                EngineWish::Itimer,
                "SIGUSR1",
                "engine=itimer has only SIGPROF: signal=SIGUSR1 needs engine=perf or engine=timer",
            ),
            (
                EngineWish::Perf,
                "SIGRTMIN+3",
                "engine=perf cannot use signal=SIGRTMIN+3: a perf event may send SIGIO for a queued signal, and end the \
                 process; use engine=timer or signal=SIGUSR1",
            ),
        ] {
            assert_eq!(choose(wish, signal(name)).unwrap_err().to_string(), text);
        }
        let no_perf = choose(EngineWish::Auto, signal("SIGRTMIN")).unwrap().no_perf;
        let why = "perf was not taken: a perf event may send SIGIO for a queued signal, and end the process (signal=SIGRTMIN+0)";
        assert_eq!(no_perf.as_deref(), Some(why));
    }

    #[test]
    fn a_refused_perf_event_is_explained() {
        let refused = |code| why_no_perf(io::Error::from_raw_os_error(code)).to_string();
        assert_eq!(refused(libc::EMFILE), "the process has no free file descriptor");
        assert_eq!(refused(libc::ENOSYS), "the kernel has no perf_event_open, or a seccomp filter hides it");
        assert_eq!(refused(libc::EINVAL), "perf_event_open failed: Invalid argument (os error 22)");
        let why = Error::Engine { engine: "poll", why: Obstacle::OneProcessor }.to_string();
        assert_eq!(
            why,
            "engine=poll does not work here: it needs two processors, and this process may use one; try engine=auto"
        );
    }
}
