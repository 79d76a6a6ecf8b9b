//! A session: one recording, from its first signal to its files.
//!
//! A session connects the sampler that handlers use, the engine and the recorder. The agent owns
//! it, and one thread uses it at a time.

mod command_line;
mod counters;
mod disk;
mod files;
mod lanes;
mod notes;
mod periods;
mod profile_extras;
mod recorder_inputs;
pub mod sampler_setup;
mod state;
mod trust;
mod turn;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use jni::JNIEnv;
use vouch_collect::record::{Powers, Still};
use vouch_hotspot::HotSpot;
use vouch_hotspot::jvm_layouts::JvmLayouts;
use vouch_recording::measures::LIVE;
use vouch_report::{float, grouped, percent};
use vouch_sample::{Stack, Unsignalled, Walk};
use vouch_signal::handler::MAX_CRASHES;
use vouch_unwind::native_walker::NativeWalker;

use crate::anchors::Anchors;
use crate::contexts::contexts;
use crate::events::{self, live_objects, totals::Totals};
use crate::facade::Jvmti;
use crate::groups::groups;
use crate::guard;
use crate::jvm::live::JvmState;
use crate::markers::markers;
use crate::native::{self, NativeTables};
use crate::options::choices::NativeWish;
use crate::plan::Plan;
use crate::recovery;
use crate::resolve::Resolver;
use crate::say::say;
use crate::terminal;
use crate::walkers::Walkers;
use crate::wall_clock::WallClock;
use counters::CounterGraphs;
use disk::Disk;
use files::Written;
use periods::Periods;
use recorder_inputs::new_recorder;
use sampler_setup::SamplerSetup;
use state::Moment;
use vouch_sampling::clock;
use vouch_sampling::governor;
use vouch_sampling::sampling_signal::{self, Owner};
use vouch_sampling::threads::{Sampling, registry, scan};

pub use state::Session;
pub use trust::Program;

/// The time between two reports of a recording's state to `vouch`, in nanoseconds.
const STATE_EVERY_NS: u64 = 500_000_000;
/// How long before the lanes were emptied a thread must have ended, in nanoseconds. Its lanes then
/// hold no more samples, so its record can be dropped.
const SETTLED: u64 = 2_000_000_000;

impl Session {
    /// Opens the gate and starts the engine.
    pub fn begin(
        mut plan: Plan,
        jvmti: Jvmti,
        hotspot: HotSpot,
        walkers: Walkers,
        layouts: &JvmLayouts,
    ) -> io::Result<Self> {
        let options = &plan.options;
        let (recovery, unrecovered) = match recovery::from_options(layouts.jvm.as_ref(), options.recovery) {
            Ok(recovery) => (recovery, None),
            Err(why) => (None, Some(why)),
        };
        let mut recorder = new_recorder(options);
        recorder.is_asgct_alone = walkers.own.is_none();
        let code_cache = native::code_cache(layouts).ok().filter(|_| options.native == NativeWish::On);
        let native = code_cache.map(|heaps| NativeTables::begin(heaps, &mut recorder.native));
        let sampler_setup = SamplerSetup::new(
            &walkers,
            recovery,
            options.depth,
            options.interval,
            plan.choice.engine,
            layouts.polls,
            native.as_ref().map(|tables| tables.walker() as &dyn NativeWalker),
        );
        let wall_clock = options.wall.zip(walkers.reads).map(|(interval, walker)| {
            WallClock::begin(interval, walker, &mut recorder, clock::nanos(options.interval))
        });
        let anchors = Anchors::new(&hotspot);
        let questions = JvmState::new(jvmti, hotspot, registry(), layouts);
        let started = Moment::now();
        let engine = Some(plan.choice.engine).filter(|_| options.lab.source.is_none());
        governor::begin(engine, &plan.terms());
        sampler_setup.open_events();
        sampler_setup.open();
        let mut chosen = options.events;
        let unsupported_events = events::begin(jvmti, &mut chosen, options.depth);
        markers().begin();
        groups().begin();
        let source = options.lab.source.map(|make| make());
        let periods = Periods::begin(&mut plan, started.monotonic, started.epoch);
        let disk = Disk::begin(&plan, started.monotonic);
        let session = Self {
            plan,
            sampler_setup,
            recorder,
            native,
            wall_clock,
            disk,
            begun_ns: started.monotonic,
            periods,
            questions,
            walkers,
            unrecovered,
            source,
            state_reported_ns: 0,
            said_stopped: false,
            signal_is_lost: false,
            started,
            left_out_before: contexts().lost(),
            jvmti,
            events: chosen,
            unsupported_events,
            counter_graphs: CounterGraphs::new(chosen),
            anchors,
            totals: Totals::begin(),
            waiting: Vec::new(),
            live_objects: None,
        };
        if session.source.is_some() {
            return Ok(session);
        }
        let options = &session.plan.options;
        registry().begin_sampling(Sampling {
            engine: session.plan.choice.engine,
            interval: options.interval,
            filter: options.threads.clone(),
            paused: false,
        });
        match session.plan.choice.engine.arm_process(options.interval) {
            Ok(()) => Ok(session),
            Err(error) => {
                session.silence();
                registry().end_recording();
                session.disk.discard();
                Err(error)
            }
        }
    }

    /// Reads what the handlers have published.
    pub fn drain(&mut self, program: &Program, resolver: &Resolver, env: &mut JNIEnv<'_>) {
        if let Some(source) = &mut self.source {
            let stacks = source.round(env, &mut |env, head, frames| {
                let walk = Walk::Stack(Stack::whole(frames));
                self.recorder.take_walk(head, walk, &mut self.questions.on(resolver, env));
            });
            self.sampler_setup.counters().count_unsignalled(stacks, stacks);
        }
        // This comes first, because a thread waits in its handler for the answer.
        self.recorder.witness.answer(self.sampler_setup.rendezvous(), &mut self.questions.on(resolver, env));
        if self.disk.state_is_due(clock::monotonic()) {
            // The clocks are read before the drain. A later reading would include CPU time that no
            // sample on disk covers.
            registry().refresh_cpu();
        }
        self.take_in(resolver, env);
        self.counter_graphs.read_if_due(&mut self.recorder.recording, env);
        if self.recorder.witness.is_due() {
            // A thread that came too late for an answer must not use the next round's.
            self.sampler_setup.rendezvous().end_round();
            self.sampler_setup.want_witness();
        }
        self.watch_signal();
        if !self.said_stopped && self.sampler_setup.counters().jvm_faults.load(Relaxed) >= MAX_CRASHES {
            self.said_stopped = true;
            say(&format!(
                "walking is stopped: {MAX_CRASHES} walks of this JVM's AsyncGetCallTrace faulted; sampling goes on without \
                 stacks"
            ));
        }
        self.keep_up(program);
    }

    /// Writes the new samples to the recording on disk.
    fn keep_up(&mut self, program: &Program) {
        let (now, begun) = (clock::monotonic(), clock::own_cpu());
        self.recorder.count_dropped(self.sampler_setup.counters());
        let contradicted = self.recorder.witness.counts().contradicted.values().sum();
        let state = self.disk.wants_state(now, contradicted).then(|| {
            self.recorder.complete_tracks();
            let at = Moment::now();
            let run = trust::run(self, program, Powers::default(), &at);
            self.disk.run_state(self.started.monotonic, trust::meta(self, program, &at), run, false)
        });
        self.disk.keep_up(&mut self.recorder.recording, now, state.as_ref());
        self.disk.add_cpu_time(clock::own_cpu().saturating_sub(begun));
    }

    /// Checks that walks are guarded, because the program may install its own handlers first at any
    /// time. Without the guard, nothing that may fault is tried any more.
    fn look_for_guard(&mut self) {
        let unguarded = guard::unguarded().is_some();
        if let Some(own) = self.walkers.reads {
            own.unguarded.store(unguarded, Relaxed);
        }
        if unguarded && let Some(recovery) = self.sampler_setup.recovery() {
            recovery.stopped.store(true, Relaxed);
            self.unrecovered = Some(recovery::UNGUARDED);
        }
    }

    fn take_in(&mut self, resolver: &Resolver, env: &mut JNIEnv<'_>) {
        self.look_for_guard();
        if let Some(native) = &mut self.native {
            native.keep_up(&mut self.recorder.native);
        }
        resolver.name_pending(env);
        if let Some(wall_clock) = &mut self.wall_clock {
            wall_clock.look_if_due(&mut self.recorder, &mut self.questions.on(resolver, env));
        }
        let begun = clock::own_cpu();
        let has_come = clock::monotonic().saturating_sub(SETTLED);
        let words = self.recorder.drain(self.sampler_setup.lanes(), &mut self.questions.on(resolver, env));
        self.sampler_setup.record_drain_cost(clock::own_cpu().saturating_sub(begun), words);
        self.recorder.drain_events(self.sampler_setup.event_lanes(), &mut self.questions.on(resolver, env));
        self.take_owed(&registry().take_unsignalled());
        self.recorder.forget_ended(has_come);
    }

    /// Returns the time until the next task other than draining.
    pub fn next_task(&self) -> Duration {
        if let Some(source) = &self.source {
            return source.pause();
        }
        let witness = self.recorder.witness.next();
        let turn = self.periods.as_ref().map_or(witness, |periods| periods.left(clock::monotonic()));
        let look = self.wall_clock.as_ref().map_or(witness, WallClock::next);
        witness.min(turn).min(look)
    }

    /// Returns the time since the recording began.
    pub fn age(&self) -> Duration {
        Duration::from_nanos(clock::monotonic().saturating_sub(self.begun_ns))
    }

    /// Returns the time after which the recording ends by itself.
    pub fn duration(&self) -> Option<Duration> {
        self.plan.options.duration
    }

    /// Returns the plan of the recording.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Writes the profile so far. Intervals that are due meanwhile have no stack.
    pub fn dump(
        &mut self,
        places: &Plan,
        program: &Program,
        resolver: &Resolver,
        env: &mut JNIEnv<'_>,
    ) -> Written {
        registry().refresh_cpu();
        self.counter_graphs.publish_pending();
        self.flush_wall_clock(resolver, env);
        let still = self.still_waiting(resolver, env);
        self.sampler_setup.pause();
        // The CPU time that threads used since their last signal belongs to this dump, too.
        self.take_unsignalled();
        self.finish_counts(resolver, env);
        let markers = self.recorder.recording.marker_counts();
        self.take_still(still, clock::monotonic(), resolver, env);
        self.take_live_objects(resolver, env);
        let power = self.recorder.power(&mut self.questions.on(resolver, env));
        self.counter_graphs.finish(&mut self.recorder.recording);
        let now = Moment::now();
        let (meta, run) = (trust::meta(self, program, &now), trust::run(self, program, power, &now));
        let written = files::write(self, places, meta, run, None);
        self.waiting.clear();
        self.live_objects = None;
        // Objects that are alive now may be dead at the end.
        self.recorder.recording.remove_amounts(&LIVE);
        // Events that have not ended yet are recorded at their end.
        self.recorder.recording.truncate_markers(&markers);
        self.take_unsignalled();
        self.sampler_setup.go_on();
        written
    }

    /// Ends the recording and writes it.
    pub fn end(
        mut self,
        places: Option<&Plan>,
        program: &Program,
        resolver: &Resolver,
        env: &mut JNIEnv<'_>,
    ) -> Written {
        self.counter_graphs.publish_pending();
        self.flush_wall_clock(resolver, env);
        let (still, now) = (self.still_waiting(resolver, env), clock::monotonic());
        self.silence();
        self.take_unsignalled();
        self.finish_counts(resolver, env);
        self.take_still(still, now, resolver, env);
        self.take_live_objects(resolver, env);
        self.recorder.forget_live_objects(&mut self.questions.on(resolver, env));
        let plan = self.plan.clone();
        if let Some(places) = places {
            files::take_back_dumped(&self.plan, places);
        }
        let power = self.recorder.power(&mut self.questions.on(resolver, env));
        self.counter_graphs.finish(&mut self.recorder.recording);
        let now = Moment::now();
        let (meta, mut run) = (trust::meta(&self, program, &now), trust::run(&self, program, power, &now));
        if let Some(periods) = &self.periods {
            periods.add_losses(&mut run);
        }
        // The state is written first, because a JVM may be killed while it ends, too.
        let state = self.disk.run_state(self.started.monotonic, meta.clone(), run.clone(), true);
        self.disk.keep_up(&mut self.recorder.recording, meta.ended_ns, Some(&state));
        let written = files::write(&self, places.unwrap_or(&plan), meta, run, self.disk.remedy());
        registry().end_recording();
        if let Some(periods) = &mut self.periods {
            periods.keep(places.unwrap_or(&plan).files().map(PathBuf::as_path));
            periods.report_losses();
        }
        self.disk.end(&self.plan, written != Written::Lost);
        written
    }

    /// Returns the recording's state in one line.
    pub fn status(&self) -> String {
        let counters = self.sampler_setup.counters();
        let governor::Story { stride, stopped, .. } = governor::story();
        let (age, signals) = (self.age(), counters.signals.load(Relaxed));
        let period_ns = clock::monotonic().saturating_sub(self.started.monotonic);
        let rate = u128::from(signals) * 1_000_000_000 / u128::from(period_ns.max(1));
        let weight = self.recorder.recording.tally().weight;
        let share = |part| percent(100.0 * float(part) / float(weight.java()));
        let (proven, unwalked) = match weight.java() {
            0 => (String::new(), String::new()),
            _ => (
                format!("{} of Java proven, ", share(weight.proven)),
                format!("{} of Java unwalked; ", share(weight.unwalked)),
            ),
        };
        // A terminal of 80 columns shows the important part, and the rest is cut.
        format!(
            "recording for {:.1} s{}: {proven}{} dropped, {} signals ({}/s); {unwalked}engine {} at {:?}; room for stacks {} %",
            age.as_secs_f64(),
            if stopped { " (stopped)" } else { "" },
            grouped(counters.dropped.load(Relaxed)),
            grouped(signals),
            grouped(u64::try_from(rate).unwrap_or(u64::MAX)),
            self.plan.choice.engine.name(),
            self.plan.options.interval * stride,
            self.recorder.stack_budget_left(),
        )
    }

    /// Reports the state to the `vouch` that follows the recording, if a report is due.
    pub fn report_state_if_due(&mut self) {
        let now = clock::monotonic();
        if now >= self.state_reported_ns + STATE_EVERY_NS {
            self.state_reported_ns = now;
            terminal::state(|| self.status());
        }
    }

    /// Checks whether the program uses the sampling signal itself. The program then gets its own
    /// signals, and no others.
    fn watch_signal(&mut self) {
        if self.source.is_some() || self.signal_is_lost {
            return;
        }
        match sampling_signal::owner() {
            Owner::Vouch => {}
            // The program has removed its handler without restoring the agent's. The next signal
            // would end the process.
            Owner::Nobody => drop(sampling_signal::take(self.plan.options.signal)),
            Owner::Another => {
                // From here on the process's timer may belong to the program, too, so it stays
                // unchanged.
                self.signal_is_lost = true;
                self.plan.choice.engine.disarm_process();
                governor::stop(&format!(
                    "other code in this process has replaced Vouch's handler for {}, and must not receive Vouch's signals",
                    self.plan.options.signal
                ));
            }
        }
    }

    /// Stops the engine and waits for the last handler.
    fn silence(&self) {
        events::end(self.jvmti);
        markers().end();
        groups().end();
        if !self.signal_is_lost {
            self.plan.choice.engine.disarm_process();
        }
        registry().end_sampling();
        governor::end();
        sampler_setup::close_events();
        sampler_setup::close();
    }

    /// Records the intervals that were due while no sample was taken. The gate is closed, or the
    /// sampler paused.
    fn take_unsignalled(&mut self) {
        self.take_owed(&registry().settle());
    }

    fn take_owed(&mut self, due: &[Unsignalled]) {
        let weight = due.iter().map(|due| u64::from(due.weight)).sum();
        self.sampler_setup.counters().count_unsignalled(due.len() as u64, weight);
        self.recorder.take_unsignalled(due);
    }

    /// Records the wall-clock time of all threads up to now.
    fn flush_wall_clock(&mut self, resolver: &Resolver, env: &mut JNIEnv<'_>) {
        if let Some(wall_clock) = &mut self.wall_clock {
            wall_clock.flush(&mut self.recorder, &mut self.questions.on(resolver, env));
        }
    }

    /// Returns the waits that have not ended. It runs while the JVM still reports their ends.
    fn still_waiting(&mut self, resolver: &Resolver, env: &mut JNIEnv<'_>) -> Vec<Still> {
        let mut waiting = registry().waiting();
        waiting.retain(|waiting| events::is_of_this_recording(&waiting.wait));
        self.recorder.still_waiting(waiting, &mut self.questions.on(resolver, env))
    }

    /// Records the waits that had not ended at `now`.
    fn take_still(&mut self, mut still: Vec<Still>, now: u64, resolver: &Resolver, env: &mut JNIEnv<'_>) {
        still.retain(|still| registry().still_waits(&still.waiting));
        self.waiting = self.recorder.take_still(still, now, &mut self.questions.on(resolver, env));
    }

    /// Records the sampled objects that are alive.
    fn take_live_objects(&mut self, resolver: &Resolver, env: &mut JNIEnv<'_>) {
        let jvm = &mut self.questions.on(resolver, env);
        self.live_objects = self.recorder.take_live_objects(live_objects::collections(), jvm);
    }

    fn finish_counts(&mut self, resolver: &Resolver, env: &mut JNIEnv<'_>) {
        scan::scan(registry());
        self.take_in(resolver, env);
        self.recorder.count_dropped(self.sampler_setup.counters());
        self.recorder.complete_tracks();
    }
}
