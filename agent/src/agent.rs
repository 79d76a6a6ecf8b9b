//! The agent: its reactions to the JVM's start, to passing time, to commands and to the JVM's end.
//!
//! A process has one agent, however often its library is loaded. The agent holds at most one
//! session.

use std::time::{Duration, Instant};

use jni::JNIEnv;
use jni::objects::JClass;
use jni_sys::jclass;
use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use vouch_hotspot::jvm_layouts::JvmLayouts;
use vouch_hotspot::monitor_owner_id::MonitorOwnerId;
use vouch_hotspot::monitors::MonitorLayout;
use vouch_hotspot::nmethods::NmethodLayout;
use vouch_hotspot::perf_data::PerfData;
use vouch_hotspot::vmstructs::{ThreadLayout, read_flag, turn_on_by_default};
use vouch_hotspot::{HotSpot, fields};
use vouch_report::Detail;
use vouch_report::options::terminal::End;
use vouch_sampling::governor;
use vouch_sampling::sampling_signal;
use vouch_sampling::threads::{hook, registry, scan};
use vouch_unwind::hotspot::HotspotWalker;
use vouch_unwind::walker::Walker;

use crate::anchors;
use crate::check;
use crate::contexts::{mounted_vthread, otel_thread_context};
use crate::error::Error;
use crate::events;
use crate::facade::Jvmti;
use crate::groups::groups;
use crate::guard;
use crate::java;
use crate::jvm::code::CompiledCode;
use crate::lab_hooks::{WalkerWrapper, lab};
use crate::library;
use crate::options::choices::{Verb, WalkerWish};
use crate::options::fields::Options;
use crate::plan::{Plan, places, plan};
use crate::resolve::Resolver;
use crate::say::say;
use crate::session::{Program, Session, sampler_setup};
use crate::terminal;
use crate::threads::{late, rename};
use crate::virtual_threads;
use crate::wake::{wait, wake};
use crate::walkers::{self, Walkers};
use crate::worker::{self, Duties};
use vouch_collect::compiled;

/// The agent's parts that last as long as the process.
#[derive(Debug)]
pub struct Agent {
    pub jvmti: Jvmti,
    pub hotspot: HotSpot,
    pub resolver: Resolver,
    /// AsyncGetCallTrace, for the truth lab.
    asked: Mutex<Walkers>,
    layouts: OnceCell<JvmLayouts>,
    program: OnceCell<Program>,
    state: Mutex<State>,
}

/// The agent's present activity. It is locked for the length of a drain or a write.
#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    /// A recording begins at this time.
    Waiting(Box<Plan>, Instant),
    /// The agent reports what a recording would be like once the JVM is up.
    Checking,
    Recording(Box<Session>),
    /// The JVM has ended, so nothing begins any more.
    Dead,
}

static AGENT: OnceCell<Agent> = OnceCell::new();

/// The time between two rounds of the agent's thread while a recording runs.
const ROUND: Duration = Duration::from_millis(100);
/// The time between two rounds without a recording. Classes are still prepared then, and are held
/// until they are named.
const IDLE: Duration = Duration::from_secs(1);
/// The delay of a recording that waits for the JVM's start instead of a time.
const NEVER: Duration = Duration::from_hours(365 * 24);

/// The error when no recording runs that could be ended.
pub const NO_RECORDING: &str = "no recording is running: start one first (`vouch start PID`)";

/// What the agent's thread does.
static DUTIES: Duties = Duties {
    tend: |env| agent().map_or(NEVER, |agent| agent.tend(env)),
    rest: |env, time| match agent() {
        Some(agent) => agent.rest(env, time),
        None => wait(time),
    },
    look: |env| {
        if let Some(agent) = agent() {
            agent.look(env);
        }
    },
};

/// Returns the agent, once it has been loaded.
pub fn agent() -> Option<&'static Agent> {
    AGENT.get()
}

/// Returns the agent. The first call makes it.
pub fn make(jvmti: Jvmti, hotspot: HotSpot, options: &Options) -> &'static Agent {
    AGENT.get_or_init(|| {
        jvmti.make_current();
        Agent::new(jvmti, hotspot, options)
    })
}

impl Agent {
    fn new(jvmti: Jvmti, hotspot: HotSpot, options: &Options) -> Self {
        let resolver = Resolver::new(jvmti, options.lab.late_ids);
        let asked = Mutex::new(Self::asgct(&hotspot, options.lab.walker));
        let (layouts, program) = (OnceCell::new(), OnceCell::new());
        Self { jvmti, hotspot, resolver, asked, layouts, program, state: Mutex::default() }
    }

    /// Returns the walkers that the truth lab queries: AsyncGetCallTrace, and the agent's walker if
    /// it works here.
    pub fn asked(&self) -> Vec<&'static dyn Walker> {
        let mut asked = vec![self.asked.lock().list[0]];
        if let Some(own) = self.own().and_then(|own| walkers::usable(own).ok()) {
            asked.push(own);
        }
        asked
    }

    /// Returns the agent's walker, once the JVM is up and if the walker supports it.
    fn own(&self) -> Option<&'static HotspotWalker> {
        self.layouts.get()?.walker.as_ref().ok().copied()
    }

    /// Breaks AsyncGetCallTrace for the truth lab, or restores it.
    pub fn break_walker(&self, how: Option<&dyn WalkerWrapper>) {
        *self.asked.lock() = Self::asgct(&self.hotspot, how);
    }

    fn asgct(hotspot: &HotSpot, wrapper: Option<&dyn WalkerWrapper>) -> Walkers {
        walkers::new(hotspot, Err(""), WalkerWish::Asgct, wrapper)
    }

    /// Handles a class that the calling thread prepares.
    pub fn prepared(&self, env: &mut JNIEnv<'_>, class: jclass) {
        if let Some(signature) = self.resolver.on_prepare(env, class) {
            self.on_class_loaded(env, class, &signature, false);
        }
        if let Some(own) = self.own() {
            walkers::check_against_jvm(own, self.jvmti, env);
        }
    }

    /// Handles a loaded class. `before` is true if the class was loaded before the agent looked.
    fn on_class_loaded(&self, env: &mut JNIEnv<'_>, class: jclass, signature: &str, before: bool) {
        library::on_class_prepared(env, class, signature, before);
        if signature == virtual_threads::continuations::CLASS
            && let Some(own) = self.own()
        {
            // SAFETY: the caller's local reference, which it keeps until this returns. Dropping it
            // here does nothing.
            let class = unsafe { JClass::from_raw(class) };
            if before || !worker::is_running() {
                virtual_threads::search(own, &self.hotspot, self.jvmti, env, &class);
            } else {
                virtual_threads::request_search(env, &class);
            }
        }
    }

    /// Makes the compilers keep debug information for every instruction, not only at safepoints.
    ///
    /// # Safety
    /// The JVM must not have started its compilers yet.
    pub unsafe fn keep_debug_info(&self, options: &Options) {
        // SAFETY: by the caller's promise.
        let is_kept = options.lab.source.is_none()
            && unsafe { turn_on_by_default(&self.hotspot, &fields::DEBUG_NON_SAFEPOINTS) };
        if !is_kept {
            // The events have the same effect.
            self.report_code(options, true);
        }
    }

    /// Makes the JVM report all compiled code from now on. With `from_start` no method is compiled
    /// yet.
    pub fn report_code(&self, options: &Options, from_start: bool) {
        compiled::set_reported(from_start);
        // JDK 8 with -Xcomp crashes with the events if it is stopped thousands of times a second,
        // as for true stacks.
        if options.lab.source.is_none() {
            events::code::report_always(self.jvmti);
        }
    }

    /// Handles the JVM's start: reads everything that exists already, and starts the agent's
    /// thread.
    pub fn settle_in(&self, env: &mut JNIEnv<'_>) -> Result<(), Error> {
        self.program.get_or_init(|| Program::from_jvm(self.jvmti, &self.hotspot));
        if let Some(data) = PerfData::find(&self.hotspot) {
            let is_g1 = read_flag(&self.hotspot, &fields::USE_G1_GC).unwrap_or(false);
            events::set_perf_data(&data, is_g1);
        }
        let jni = env.get_raw() as usize;
        // The JNIEnv is at a fixed offset in a JavaThread, which the calling thread's addresses
        // give.
        let thread = java::own_java_thread(env).and_then(|own| Some((own, jni.checked_sub(own)?)));
        // SAFETY: the JavaThread is the calling thread's.
        self.layouts.get_or_init(|| unsafe { JvmLayouts::find(&self.hotspot, thread) });
        if let Some(own) = self.own() {
            self.resolver.set_walker(own);
        }
        // Before JDK 24 the JVM does not store the mounted virtual thread's number in its carrier.
        if self.jvmti.jdk().is_some_and(|jdk| jdk >= 24)
            && let (Some((own, place)), Some(id)) = (thread, java::own_id(env))
        {
            // SAFETY: the JavaThread is the calling thread's.
            mounted_vthread::start_search(unsafe { MonitorOwnerId::new(&self.hotspot, own, place, id) });
        }
        let jdk = self.jvmti.jdk().unwrap_or(0);
        let code = self.layouts.get().and_then(|layouts| layouts.code.as_ref());
        if let Some(nmethods) = code.and_then(|code| NmethodLayout::find(&self.hotspot, code)) {
            events::compilation::set_nmethod_layout(nmethods);
        }
        if let Some(layouts) = self.layouts.get()
            && !compiled::is_reported()
            && !CompiledCode::find(&self.hotspot, layouts).is_read()
        {
            compiled::set_reported(false);
            events::code::report_always(self.jvmti);
        }
        if compiled::is_reported() {
            events::code::add_existing(self.jvmti);
        }
        events::meet(env, thread.and_then(|(_, place)| MonitorLayout::find(&self.hotspot, jdk, place)));
        registry().set_compilers_together(self.jvmti.jdk().is_some_and(|jdk| jdk < 9));
        scan::scan(registry());
        let late = late::enter_all(
            self.jvmti,
            env,
            thread.map(|(_, place)| place),
            ThreadLayout::find(&self.hotspot),
        );
        self.resolver.begin(env, |env, class, signature| self.on_class_loaded(env, class, signature, true));
        let thread = java::new_thread(env, "Vouch").ok_or(Error::ThreadNotMade)?;
        worker::start(self.jvmti, &thread, &DUTIES).map_err(Error::ThreadNotStarted)?;
        late
    }

    /// Requests a report, once the JVM is up, of what a recording would be like.
    pub fn wait_to_check(&self, options: &Options) {
        // If this fails, the report is on stderr.
        let _ = terminal::follow(options.terminal.as_deref());
        *self.state.lock() = State::Checking;
    }

    fn check(&self, late: bool) {
        let nowhere = JvmLayouts::default();
        let layouts = self.layouts.get().unwrap_or(&nowhere);
        let jdk = (self.program().jdk.as_str(), self.jvmti.jdk().unwrap_or(0));
        say(&check::lines(&self.hotspot, layouts, jdk, late).join("\n"));
    }

    /// Plans a recording for the JVM's start, which `begin_now` reports.
    pub fn wait_for_vm(&self, plan: Plan) {
        // If the JVM was started by another program it may not see the terminal, or come late.
        // Messages then go to stderr.
        let _ = terminal::follow(plan.options.terminal.as_deref());
        *self.state.lock() = State::Waiting(Box::new(plan), Instant::now() + NEVER);
    }

    /// Returns true while a recording runs.
    pub fn is_recording(&self) -> bool {
        matches!(*self.state.lock(), State::Recording(_))
    }

    /// Runs one round of the agent's thread: begins what is due, drains, ends what is over. Returns
    /// the time until the next round.
    pub fn tend(&self, env: &mut JNIEnv<'_>) -> Duration {
        // This is separate from the scan of the threads, which may have to wait. Until then a new
        // library's threads would not be seen.
        hook::install_if_changed();
        otel_thread_context::search_new_libraries();
        if let Some(own) = self.own() {
            virtual_threads::search_if_requested(own, &self.hotspot, self.jvmti, env);
        }
        let mut state = self.state.lock();
        match &mut *state {
            State::Dead => NEVER,
            State::Idle | State::Checking => {
                self.resolver.name_pending(env);
                IDLE
            }
            State::Waiting(_, when) if *when <= Instant::now() => {
                self.begin_waiting(&mut state);
                ROUND
            }
            State::Waiting(_, when) => {
                self.resolver.name_pending(env);
                let left = when.saturating_duration_since(Instant::now());
                terminal::state(|| waits(left));
                left.min(IDLE)
            }
            State::Recording(session) => {
                session.drain(self.program(), &self.resolver, env);
                session.report_state_if_due();
                let left = session.duration().map(|duration| duration.saturating_sub(session.age()));
                if left.is_some_and(|left| left.is_zero()) {
                    self.finish(&mut state, None, env);
                    return IDLE;
                }
                session.turn_if_due(self.program(), &self.resolver, env);
                left.map_or(ROUND, |left| left.min(ROUND)).min(session.next_task())
            }
        }
    }

    /// Rests the agent's thread. It waits in a way that Flight Recorder records, if an anchor is
    /// wanted. Nothing is locked meanwhile.
    fn rest(&self, env: &mut JNIEnv<'_>, time: Duration) {
        let is_due = match &*self.state.lock() {
            State::Recording(session) => session.anchors.are_due(time),
            _ => false,
        };
        if !is_due {
            return wait(time);
        }
        let anchor = anchors::make_anchor(env);
        if let State::Recording(session) = &mut *self.state.lock() {
            session.anchors.add(anchor);
        }
        if anchor.is_none() {
            wait(time);
        }
    }

    /// Looks for threads that came, left or were named without a report.
    fn look(&self, env: &mut JNIEnv<'_>) {
        scan::scan(registry());
        registry().replace_timers();
        if !rename::reports_all(self.jvmti) {
            rename::poll(self.jvmti, env);
        }
    }

    /// Handles the moment when the JVM is up and the main thread is about to run. A recording
    /// without a delay begins here, so that it misses nothing.
    pub fn begin_now(&self) {
        let mut state = self.state.lock();
        if matches!(*state, State::Checking) {
            *state = State::Idle;
            self.check(false);
            terminal::leave(End::Nothing);
        }
        if let State::Waiting(plan, when) = &mut *state {
            *when = Instant::now() + plan.options.start;
            if plan.options.start.is_zero() {
                self.begin_waiting(&mut state);
            }
            wake();
        }
    }

    /// Handles the JVM's end: writes what has been recorded. The process may go on without the JVM,
    /// so the agent's threads and signal handlers end, too.
    pub fn die(&self, env: &mut JNIEnv<'_>) {
        {
            let mut state = self.state.lock();
            self.finish(&mut state, None, env);
            *state = State::Dead;
        }
        let (worker_left, governor_left) = (worker::end(), governor::leave());
        // A late thread may still need them.
        if worker_left && governor_left && sampler_setup::is_empty() {
            sampling_signal::give_back();
            guard::remove();
        }
    }

    fn begin_waiting(&self, state: &mut State) {
        if let State::Waiting(plan, _) = std::mem::take(state)
            && let Err(why) = self.begin(state, *plan)
        {
            say(&why.to_string());
            terminal::leave(End::Nothing);
        }
    }

    fn begin(&self, state: &mut State, plan: Plan) -> Result<(), Error> {
        // The program may have taken the signal since the agent was loaded.
        if plan.options.lab.source.is_none() {
            sampling_signal::take(plan.options.signal)?;
        }
        // Threads may have started and ended since the last scan.
        scan::scan(registry());
        let engine = plan.choice.engine.name();
        if let Some(warning) = &plan.choice.warning {
            say(warning);
        }
        let nowhere = JvmLayouts::default();
        let layouts = self.layouts.get().unwrap_or(&nowhere);
        let own = layouts.walker.as_ref().copied().map_err(ToString::to_string);
        let own = own.as_ref().copied().map_err(String::as_str);
        let walkers = walkers::new(&self.hotspot, own, plan.options.walker, plan.options.lab.walker);
        let mut session = Session::begin(plan, self.jvmti, self.hotspot.clone(), walkers, layouts)
            .map_err(|why| Error::EngineNotStarted { engine, why })?;
        session.report_state_if_due();
        worker::show(true);
        *state = State::Recording(Box::new(session));
        Ok(())
    }

    fn finish(&self, state: &mut State, places: Option<&Plan>, env: &mut JNIEnv<'_>) -> bool {
        match std::mem::take(state) {
            State::Recording(session) => {
                let written = session.end(places, self.program(), &self.resolver, env).is_requested();
                worker::show(false);
                terminal::leave(if written { End::Written } else { End::Lost });
                written
            }
            State::Waiting(plan, _) => {
                if plan.options.detail != Detail::Quiet {
                    say("the program ended before the recording began: nothing was written");
                }
                terminal::leave(End::Nothing);
                true
            }
            other => {
                *state = other;
                true
            }
        }
    }

    fn program(&self) -> &Program {
        self.program.get_or_init(|| Program::from_jvm(self.jvmti, &self.hotspot))
    }

    /// Executes a command for a running JVM.
    pub fn command(
        &self,
        options: Options,
        mistakes: Vec<String>,
        env: &mut JNIEnv<'_>,
    ) -> Result<(), Vec<String>> {
        let mut state = self.state.lock();
        if options.verb != Verb::Start && !mistakes.is_empty() {
            return Err(mistakes);
        }
        match (&mut *state, options.verb) {
            (_, Verb::Check) => {
                self.check(true);
                Ok(())
            }
            (_, Verb::Lab) => {
                if options.detail != Detail::Quiet
                    && let Some(lab) = lab()
                {
                    say(lab.message());
                }
                Ok(())
            }
            (State::Idle, Verb::Start) => self.start(&mut state, options, mistakes),
            (_, Verb::Start) if !mistakes.is_empty() => Err(mistakes),
            (_, Verb::Start) => {
                let pid = std::process::id();
                Err(vec![format!("a recording is running already: stop it first (`vouch stop {pid}`)")])
            }
            (State::Recording(session), Verb::Status) => {
                say(&session.status());
                Ok(())
            }
            (State::Recording(_), Verb::Groups) => {
                let groups = serde_json::to_string(&groups().report());
                say(&groups
                    .map_err(|error| vec![format!("the times of groups cannot be printed: {error}")])?);
                Ok(())
            }
            (State::Recording(session), Verb::Dump) => {
                let places = places(session.plan(), options)?;
                all_written(session.dump(&places, self.program(), &self.resolver, env).is_requested())
            }
            (State::Recording(session), Verb::Stop) => {
                let places = places(session.plan(), options)?;
                all_written(self.finish(&mut state, Some(&places), env))
            }
            (State::Waiting(_, when), Verb::Status) => {
                say(&waits(when.saturating_duration_since(Instant::now())));
                Ok(())
            }
            (State::Waiting(..), Verb::Stop) => {
                *state = State::Idle;
                say("the recording that was to begin is called off");
                terminal::leave(End::Nothing);
                Ok(())
            }
            (_, Verb::Status) => {
                say("no recording is running");
                Ok(())
            }
            (State::Waiting(..), Verb::Dump) => {
                Err(vec!["the recording has not begun yet: there is nothing to write".to_owned()])
            }
            _ => Err(vec![NO_RECORDING.to_owned()]),
        }
    }

    /// Begins a recording now, or later.
    fn start(&self, state: &mut State, options: Options, mistakes: Vec<String>) -> Result<(), Vec<String>> {
        let delay = options.start;
        let plan = plan(options, mistakes)?;
        terminal::follow(plan.options.terminal.as_deref()).map_err(|why| vec![why.to_string()])?;
        if delay.is_zero() {
            self.begin(state, plan)
                .inspect_err(|_| terminal::leave(End::Nothing))
                .map_err(|why| vec![why.to_string()])?;
        } else {
            terminal::state(|| waits(delay));
            *state = State::Waiting(Box::new(plan), Instant::now() + delay);
        }
        wake();
        Ok(())
    }
}

fn waits(left: Duration) -> String {
    format!("a recording begins in {:.1} s", left.as_secs_f64())
}

fn all_written(written: bool) -> Result<(), Vec<String>> {
    if written { Ok(()) } else { Err(vec!["not every file could be written where it should be".to_owned()]) }
}
