//! A turn of a recording with `every=`: one period ends, and the next begins.
//!
//! At a turn one recording ends and the next begins, while the engine, the lanes and the threads
//! stay as they are. Sampling pauses only until the lanes are empty and the counters begin anew. So
//! each sample is in exactly one period. The files are written while the next period is recorded.
//! The program must never wait for a turn, and a period that cannot be written must not cost the
//! next one.

use jni::JNIEnv;
use vouch_collect::record::{Powers, Recorder};
use vouch_formats::Meta;
use vouch_report::Run;
use vouch_sampling::clock;
use vouch_sampling::threads::{registry, scan};

use super::disk::Disk;
use super::files;
use super::recorder_inputs::new_recorder;
use super::state::{Moment, Session};
use super::trust::{self, Program};
use crate::contexts::contexts;
use crate::events::{self, totals::Totals};
use crate::groups::groups;
use crate::markers::markers;
use crate::plan::Plan;
use crate::resolve::Resolver;

/// A period that has ended, and is to be written.
struct EndedPeriod {
    recorder: Recorder,
    plan: Plan,
    disk: Disk,
    started_ns: u64,
    meta: Meta,
    run: Run,
}

impl Session {
    /// Ends the present period if it is over, and writes its files.
    pub fn turn_if_due(&mut self, program: &Program, resolver: &Resolver, env: &mut JNIEnv<'_>) {
        if self.periods.as_ref().is_some_and(|periods| periods.left(clock::monotonic()).is_zero()) {
            let ended = self.begin_next_period(program, resolver, env);
            self.write_period(ended, resolver, env);
        }
    }

    /// Begins the next period, and returns the present one.
    fn begin_next_period(
        &mut self,
        program: &Program,
        resolver: &Resolver,
        env: &mut JNIEnv<'_>,
    ) -> EndedPeriod {
        // What may take long comes before the pause.
        self.flush_wall_clock(resolver, env);
        scan::scan(registry());
        self.take_in(resolver, env);
        let settled = clock::monotonic();
        self.sampler_setup.pause();
        // A thread that waits for a witness of the last period must not use the next one's.
        self.sampler_setup.rendezvous().end_round();
        self.take_unsignalled();
        self.take_in(resolver, env);
        self.recorder.count_dropped(self.sampler_setup.counters());
        self.recorder.forget_ended(settled);
        if let Some(wall_clock) = &mut self.wall_clock {
            wall_clock.end_period(&mut self.recorder);
        }
        self.counter_graphs.finish(&mut self.recorder.recording);
        // The next period tracks the objects that are allocated in it.
        self.take_live_objects(resolver, env);
        self.recorder.forget_live_objects(&mut self.questions.on(resolver, env));
        let now = Moment::now();
        let (meta, run) =
            (trust::meta(self, program, &now), trust::run(self, program, Powers::default(), &now));
        let recorder = self.recorder.begin_period(new_recorder(&self.plan.options), now.monotonic);
        self.begin_counts(now);
        // Intervals that were due during the pause have no stack.
        self.take_unsignalled();
        self.sampler_setup.go_on();
        let (plan, started_ns) = (self.plan.clone(), meta.started_ns);
        if let Some(periods) = &mut self.periods {
            periods.begin_next(now.monotonic, &mut self.plan);
        }
        let disk = std::mem::replace(&mut self.disk, Disk::begin(&self.plan, now.monotonic));
        EndedPeriod { recorder, plan, disk, started_ns, meta, run }
    }

    /// Begins at `now` all that is counted since the begin of a period. The sampler is paused.
    fn begin_counts(&mut self, now: Moment) {
        self.sampler_setup.begin_period();
        events::begin_period(self.events);
        markers().begin_period();
        groups().begin_period();
        if let Some(native) = &mut self.native {
            native.begin_period();
        }
        if let Some(wall_clock) = &mut self.wall_clock {
            wall_clock.begin_period(&mut self.recorder, clock::nanos(self.plan.options.interval));
        }
        self.counter_graphs.begin_period();
        self.anchors.begin_period();
        self.totals = Totals::begin();
        self.live_objects = None;
        self.left_out_before = contexts().lost();
        self.started = now;
    }

    /// Writes a period that has ended, while the next one is recorded.
    fn write_period(&mut self, ended: EndedPeriod, resolver: &Resolver, env: &mut JNIEnv<'_>) {
        let EndedPeriod { mut recorder, plan, mut disk, started_ns, meta, mut run } = ended;
        let power = recorder.power(&mut self.questions.on(resolver, env));
        (run.power, run.witness.power) = (power.proof, power.witness);
        if let Some(periods) = &self.periods {
            periods.add_losses(&mut run);
        }
        let state = disk.run_state(started_ns, meta.clone(), run.clone(), true);
        disk.keep_up(&mut recorder.recording, meta.ended_ns, Some(&state));
        let samples = recorder.recording.tally().samples.sum();
        let (written, failures) = files::write_period(&recorder.recording, &plan, meta, run);
        disk.end(&plan, true);
        if let Some(periods) = &mut self.periods {
            periods.count(&plan, samples, &written, &failures);
        }
    }
}
