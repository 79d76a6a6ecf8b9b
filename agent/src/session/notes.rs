//! The notes of a run: what a reader of its profile needs besides the values.
//!
//! A warning must always stay a warning. The summary begins with the warnings, whatever else it
//! leaves out.

use std::sync::atomic::Ordering::Relaxed;

use vouch_report::{float, grouped, percent};
use vouch_sample::Reason;
use vouch_sampling::clock::seconds;
use vouch_sampling::engine::Engine;
use vouch_sampling::engine::bias::Bias;
use vouch_sampling::engine::choose::Choice;
use vouch_sampling::engine::perf;
use vouch_sampling::governor::Story;
use vouch_sampling::threads::{MAX_NAME_CHARS, names_cut, registry};
use vouch_signal::handler::MAX_CRASHES;
use vouch_unwind::recover;

use super::state::{Moment, Session};
use crate::contexts::otel_thread_context;
use crate::events;
use crate::guard;
use crate::lab_hooks::WalkerWrapper;
use crate::native;
use crate::options::choices::KernelWish;
use crate::say;
use crate::virtual_threads;

/// Notes and warnings, as sentences for the user.
#[derive(Debug, Default)]
pub struct Notes {
    /// All sentences, including the warnings.
    pub all: Vec<String>,
    /// Requests that were refused, and anything that can harm the program or the profile.
    pub warnings: Vec<String>,
}

impl Notes {
    /// Collects the notes of a session. It uses the program's CPU time in seconds until `now`, and
    /// the governor's actions.
    pub fn of_run(session: &Session, (now, program_cpu): (&Moment, f64), governor: &Story) -> Self {
        let mut notes = Self::default();
        notes.of_engine(session, governor);
        notes.of_samples(session, now, program_cpu);
        notes.of_walks(session);
        notes.of_events(session);
        notes
    }

    fn note(&mut self, note: impl IntoIterator<Item = String>) {
        self.all.extend(note);
    }

    fn warn(&mut self, warning: impl IntoIterator<Item = String>) {
        let warnings: Vec<String> = warning.into_iter().collect();
        self.warnings.extend(warnings.iter().cloned());
        self.all.extend(warnings);
    }

    /// Adds a warning if the user requested what is refused, or else a note.
    fn warn_if(&mut self, is_asked: bool, note: impl IntoIterator<Item = String>) {
        if is_asked { self.warn(note) } else { self.note(note) }
    }

    fn of_engine(&mut self, session: &Session, governor: &Story) {
        let Choice { notes, warning, rarer, .. } = &session.plan.choice;
        self.warn(warning.clone());
        // The note of an external engine is its warning.
        self.warn_if(matches!(session.plan.choice.engine, Engine::External(_)), notes.clone());
        // Without a budget the user has set the interval.
        let is_asked = session.plan.options.budget.is_none();
        self.warn_if(is_asked, rarer.clone());
        for note in &governor.notes {
            self.warn_if(is_asked || governor.warnings.contains(note), Some(note.clone()));
        }
        let replaced = vouch_sampling::engine::replaced();
        self.warn((replaced > 0).then(|| {
            format!(
                "{replaced} threads got a timer for a perf event: a quarter of the file descriptors is used up \
                 (raise `ulimit -n`)"
            )
        }));
        self.warn(missing_kernel_frames(session));
        let brief = registry().begun_with_timer();
        self.note((brief > 0).then(|| {
            format!(
                "{} threads began with a timer instead of a perf event, since most threads ended before an event could \
                 signal them (their time has no stack: thread_ended)",
                grouped(brief)
            )
        }));
        self.warn(
            registry()
                .unarmed()
                .map(|(threads, why)| format!("{threads} threads could not be sampled: {why}")),
        );
    }

    fn of_samples(&mut self, session: &Session, now: &Moment, program_cpu: f64) {
        self.warn(wait_bias(session, now, program_cpu));
        let counters = session.sampler_setup.counters();
        let rested = counters.skipped_resting.load(Relaxed);
        self.note((rested > 0).then(|| {
            format!(
                "stack walks were slow: skipped {rested} signals to keep walking below 10 % of a thread's CPU time (their time \
                 has no stack: passed_over)"
            )
        }));
        let (unseen, all) = session.recorder.unseen();
        // A reason for less than a hundredth of the time is not worth a note.
        for (why, weight) in unseen.iter().filter(|(_, weight)| **weight * 100 > all) {
            let share = percent(100.0 * float(*weight) / float(all));
            let cause = why_unseen(*why, session.plan.choice.engine);
            self.warn(Some(format!("{share} of the time has no stack, since {cause}")));
        }
        let sharing = session.recorder.threads_shared();
        self.note((sharing > 0).then(|| {
            format!(
                "there were too many threads: the last {} share tracks with threads of similar names",
                grouped(sharing)
            )
        }));
        let names_cut = names_cut();
        self.note((names_cut > 0).then(|| {
            format!(
                "cut {} names of threads to {MAX_NAME_CHARS} characters since the agent was loaded",
                grouped(names_cut)
            )
        }));
        let crowded = counters.skipped_no_lane.load(Relaxed);
        self.note((crowded > 0).then(|| {
            format!(
                "the agent could not read samples as fast as they came: skipped {crowded} signals (their time has no stack: \
                 passed_over); a smaller depth= or a longer interval= leaves less to read"
            )
        }));
        let dropped = say::dropped();
        self.note(
            (dropped > 0)
                .then(|| format!("dropped {dropped} lines on stderr: it was full, and nothing read it")),
        );
    }

    fn of_walks(&mut self, session: &Session) {
        self.warn(session.plan.options.lab.walker.map(WalkerWrapper::warning));
        let counters = session.sampler_setup.counters();
        let crashed = counters.jvm_faults.load(Relaxed);
        self.warn((crashed > 0).then(|| {
            let end = if crashed < MAX_CRASHES { "" } else { ", so walking was stopped" };
            format!("{crashed} walks faulted and were ended{end}: a fault of this JVM's AsyncGetCallTrace")
        }));
        let astray = counters.own_faults.load(Relaxed);
        self.note((astray > 0).then(|| {
            format!("{astray} walks of Vouch's own walker came to what is no memory, and were ended")
        }));
        self.warn_if(session.plan.is_set_by_user("walker"), session.walkers.missing.clone());
        let lacks_wall = session.plan.options.wall.is_some() && session.wall_clock.is_none();
        self.warn(lacks_wall.then(|| {
            "wall= was ignored: Vouch's own walker cannot read this JVM's memory (see `vouch doctor`)"
                .to_owned()
        }));
        self.note(session.walkers.own.and_then(|_| virtual_threads::problem()));
        self.warn(session.walkers.wrong().then(|| {
            "Vouch's own walker said something else of a thread's own stack than this JVM, and walked no more: please report it"
                .to_owned()
        }));
        self.warn_if(session.plan.is_set_by_user("recovery"), session.unrecovered.map(str::to_owned));
        let crashed = session.sampler_setup.recovery().map_or(0, |recovery| recovery.crashed.load(Relaxed));
        self.warn((crashed > 0).then(|| {
            let end = if crashed < recover::MAX_CRASHES { "" } else { ", so no more was tried" };
            format!("{crashed} walks from repaired contexts faulted and were ended{end}")
        }));
        self.warn(guard::unguarded());
    }

    fn of_events(&mut self, session: &Session) {
        self.warn_if(session.plan.is_set_by_user("events"), session.unsupported_events.clone());
        self.note(events::left_out(session.events));
        self.note(otel_thread_context::unreadable_warning());
        let lost = session.sampler_setup.events_lost() + session.recorder.events_lost();
        self.note((lost > 0).then(|| format!("{lost} events could not be recorded")));
        let refuted = session.recorder.events_refuted();
        self.note((refuted > 0).then(|| {
            format!(
                "the bytecode contradicts {refuted} stacks of events that the JVM itself reported: please report it"
            )
        }));
    }
}

/// Returns why CPU time has no stack: the reason's name in the report, and what the user can do.
fn why_unseen(why: Reason, engine: Engine) -> String {
    let (cause, remedy) = match (why, engine) {
        (Reason::PASSED_OVER, _) => (
            "signals were skipped to keep sampling cheap",
            "a longer interval= or a smaller depth= skips fewer",
        ),
        (_, Engine::Poll) => (THREADS_ENDED, "no other engine loses less of this time"),
        _ => (THREADS_ENDED, "engine=poll loses less of this time"),
    };
    format!("{cause} ({}): {remedy}", why.name())
}

const THREADS_ENDED: &str = "its threads ended, or left the recording, before their next sample";

/// The minimum CPU time for a statement on how often threads wait: in seconds, and as a share of
/// elapsed time. An idle JVM waits a hundred times a second.
const MIN_PROGRAM_CPU: f64 = 0.3;
const MIN_PROGRAM_SHARE: f64 = 0.2;
/// Returns a sentence if the engine samples threads that wait often with a bias. It says why `auto`
/// could not take perf.
fn wait_bias(session: &Session, now: &Moment, program_cpu: f64) -> Option<String> {
    let Choice { engine, no_perf, .. } = &session.plan.choice;
    let wall = seconds(now.monotonic.saturating_sub(session.started.monotonic));
    let is_little = program_cpu < MIN_PROGRAM_CPU || program_cpu < MIN_PROGRAM_SHARE * wall;
    let replaced = || {
        (vouch_sampling::engine::replaced() > 0)
            .then_some((Bias::OF_TICKS, "a timer for a perf event".to_owned()))
    };
    let (Bias { max_waits, why }, sampler) = Bias::from_engine(*engine)
        .map(|bias| (bias, format!("engine={}", engine.name())))
        .or_else(replaced)?;
    let waits = float(now.waits.saturating_sub(session.started.waits)) / program_cpu;
    (waits > f64::from(max_waits) && !is_little).then(|| {
        let refused = no_perf.as_ref().map_or_else(String::new, |why| format!(", but {why}"));
        format!(
            "threads waited {waits:.0} times in a second of CPU time, and {sampler} {why}: \
             shares of methods within threads that wait this often are biased (docs/production.md); engine=perf has no such bias{refused}"
        )
    })
}
/// Returns why samples lack frames of the kernel, though the user asked for them.
fn missing_kernel_frames(session: &Session) -> Option<String> {
    if session.plan.options.kernel != KernelWish::On {
        return None;
    }
    if let Some(why) = native::no_kernel_frames(session.plan.choice.engine) {
        return Some(format!("kernel=on showed no frames of the kernel: {why}"));
    }
    if session.recorder.native.hides_kernel_names() {
        return Some(format!("frames of the kernel have no names: {}", native::TO_NAME_KERNEL_FRAMES));
    }
    let threads = perf::without_ring();
    (threads > 0).then(|| {
        format!(
            "{threads} perf events had no frames of the kernel since the JVM's start: raise kernel.perf_event_mlock_kb, or `ulimit -l`"
        )
    })
}
