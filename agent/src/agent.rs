//! What happens when: the agent is loaded, the JVM is up, a command comes, the JVM dies.
//!
//! There is one agent in a process, however often its library is loaded. It holds at most one session.

use std::io;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use jni::JNIEnv;
use jni_sys::{JNI_ERR, JNI_OK, JavaVM, jint, jobject};
use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use vouch_signal::handler::on_sigprof;

use crate::callbacks;
use crate::clock;
use crate::engine::choose;
use crate::facade::{Capability, Event, Jvmti};
use crate::hotspot::{HotSpot, pin_own_library, vmstructs::ThreadLayout};
use crate::java;
use crate::options::{self, DEFAULT_OUT, Options, Output, Place, Request, Verb};
use crate::output;
use crate::resolve::Resolver;
use crate::say::{print, say};
use crate::session::{Plan, Program, Session};
use crate::threads::{hook, late, registry};
use crate::worker;

/// The agent's parts that last as long as the process.
#[derive(Debug)]
pub struct Agent {
    pub jvmti: Jvmti,
    pub hotspot: HotSpot,
    pub resolver: Resolver,
    program: OnceCell<Program>,
    state: Mutex<State>,
}

/// What the agent is about. Locked for the length of a drain or a write.
#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    /// A recording is to begin at a time.
    Waiting(Box<Plan>, Instant),
    Recording(Box<Session>),
    /// The JVM is gone: nothing begins any more.
    Dead,
}

static AGENT: OnceCell<Agent> = OnceCell::new();

/// The time between two rounds of the agent's thread while a recording runs.
const ROUND: Duration = Duration::from_millis(100);
/// The same while there is nothing to do.
const IDLE: Duration = Duration::from_hours(365 * 24);

/// The agent, once it has been loaded.
pub fn agent() -> Option<&'static Agent> {
    AGENT.get()
}

/// `Agent_OnLoad`.
///
/// # Safety
/// `vm` must be the JVM that the agent was loaded into.
pub unsafe fn on_load(vm: *mut JavaVM, text: &str) -> jint {
    let options = match request(text) {
        Ok(Request::Run(options)) => *options,
        Ok(Request::Help) => leave_with(options::HELP),
        Ok(Request::Version) => leave_with(&format!("vouch {}\n", crate::VERSION)),
        Err(mistakes) => return refuse(&mistakes),
    };
    if options.verb != Verb::Start {
        return refuse(&[
            "stop, dump and status are for a JVM that runs (jcmd PID JVMTI.agent_load)".to_owned()
        ]);
    }
    if AGENT.get().is_some() {
        return refuse(&["Vouch is loaded already: give one -agentpath with all options".to_owned()]);
    }
    // SAFETY: by the caller's promise.
    let hotspot = match unsafe { HotSpot::of(vm) } {
        Ok(hotspot) => hotspot,
        Err(why) => {
            say(&why);
            return JNI_OK;
        }
    };
    let plan = match plan(options) {
        Ok(plan) => plan,
        Err(mistakes) => return refuse(&mistakes),
    };
    // SAFETY: by the caller's promise.
    match unsafe { set_up(vm, hotspot) } {
        Ok(agent) => {
            // `begin_now` says when, once the JVM is up.
            *agent.state.lock() = State::Waiting(Box::new(plan), Instant::now() + IDLE);
            JNI_OK
        }
        Err(why) => refuse(&[why]),
    }
}

/// `Agent_OnAttach`.
///
/// # Safety
/// `vm` must be the JVM that the agent was loaded into, and the calling thread attached to it.
pub unsafe fn on_attach(vm: *mut JavaVM, text: &str) -> jint {
    let options = match request(text) {
        Ok(Request::Run(options)) => *options,
        Ok(Request::Help) => return said(options::HELP),
        Ok(Request::Version) => return said(&format!("vouch {}", crate::VERSION)),
        Err(mistakes) => return refuse(&mistakes),
    };
    // SAFETY: by the caller's promise.
    let Some(mut env) = (unsafe { own_env(vm) }) else { return JNI_ERR };
    let agent = match AGENT.get() {
        Some(agent) => agent,
        None if options.verb != Verb::Start => {
            return refuse(&["no recording is running: load Vouch with start first".to_owned()]);
        }
        // SAFETY: by the caller's promise.
        None => match unsafe { HotSpot::of(vm).and_then(|hotspot| set_up(vm, hotspot)) } {
            Ok(agent) => {
                if let Err(why) = agent.settle_in(&mut env) {
                    say(&why);
                }
                agent
            }
            Err(why) => return refuse(&[why]),
        },
    };
    match agent.command(options, &mut env) {
        Ok(()) => JNI_OK,
        Err(mistakes) => refuse(&mistakes),
    }
}

/// Makes the one agent: JVMTI with what it needs, the signal handler, the hooks.
///
/// # Safety
/// `vm` must be the JVM that the agent was loaded into.
unsafe fn set_up(vm: *mut JavaVM, hotspot: HotSpot) -> Result<&'static Agent, String> {
    // SAFETY: by the caller's promise.
    let jvmti = unsafe { Jvmti::of(vm) }.map_err(|e| format!("this JVM gives no JVMTI environment: {e}"))?;
    take_signal()?;
    pin_own_library();
    for capability in [
        Capability::GetSourceFileName,
        Capability::GetLineNumbers,
        // Its event makes the compilers keep debug information everywhere, not at safepoints alone.
        Capability::GenerateCompiledMethodLoadEvents,
        Capability::GenerateNativeMethodBindEvents,
    ] {
        // What a JVM lacks is missed where it would show: in files, lines, or names of threads.
        let _ = jvmti.add_capability(capability);
    }
    let agent = AGENT.get_or_init(|| Agent {
        jvmti,
        hotspot,
        resolver: Resolver::new(jvmti),
        program: OnceCell::new(),
        state: Mutex::default(),
    });
    hook::install();
    let refused = |error| format!("this JVM refuses the events that sampling needs: {error}");
    jvmti.set_callbacks(&callbacks::table()).map_err(refused)?;
    for event in [
        Event::VmInit,
        Event::VmDeath,
        Event::ThreadStart,
        Event::ThreadEnd,
        // Without ClassLoad the walker refuses all work, without ClassPrepare it finds no ids.
        Event::ClassLoad,
        Event::ClassPrepare,
    ] {
        jvmti.enable(event).map_err(refused)?;
    }
    for event in [Event::CompiledMethodLoad, Event::NativeMethodBind] {
        let _ = jvmti.enable(event);
    }
    Ok(agent)
}

impl Agent {
    /// The JVM is up: everything that is there already is taken in, and the agent's thread starts.
    pub fn settle_in(&self, env: &mut JNIEnv<'_>) -> Result<(), String> {
        self.program.get_or_init(|| Program::of(self.jvmti));
        let version = self.jvmti.system_property(c"java.vm.specification.version").unwrap_or_default();
        registry().set_compilers_together(version.starts_with("1."));
        crate::threads::scan::scan();
        let late = late::enter_all(self.jvmti, env, ThreadLayout::of(&self.hotspot));
        self.resolver.begin(env);
        let thread = java::new_thread(env, "Vouch").ok_or("the agent's thread could not be made")?;
        self.jvmti
            .run_agent_thread(thread.as_raw(), worker::body)
            .map_err(|error| format!("the agent's thread could not be started: {error}"))?;
        late
    }

    /// One round of the agent's thread: begins what is due, drains, ends what is over. Gives the time until the
    /// next round.
    pub fn tend(&self, env: &mut JNIEnv<'_>) -> Duration {
        let mut state = self.state.lock();
        match &mut *state {
            State::Idle | State::Dead => IDLE,
            State::Waiting(_, when) if *when <= Instant::now() => {
                self.begin_waiting(&mut state);
                ROUND
            }
            State::Waiting(_, when) => when.saturating_duration_since(Instant::now()),
            State::Recording(session) => {
                session.drain(&self.resolver, env);
                let left = session.duration().map(|duration| duration.saturating_sub(session.age()));
                if left.is_some_and(|left| left.is_zero()) {
                    self.finish(&mut state, None, env);
                    return IDLE;
                }
                left.map_or(ROUND, |left| left.min(ROUND))
            }
        }
    }

    /// The JVM is up and the main thread about to run: a recording without delay begins here, so that it misses
    /// nothing.
    pub fn begin_now(&self) {
        let mut state = self.state.lock();
        if let State::Waiting(plan, when) = &mut *state {
            *when = Instant::now() + plan.options.start;
            if plan.options.start.is_zero() {
                self.begin_waiting(&mut state);
            }
            worker::wake();
        }
    }

    /// The JVM dies: what has been recorded is written.
    pub fn die(&self, env: &mut JNIEnv<'_>) {
        let mut state = self.state.lock();
        self.finish(&mut state, None, env);
        *state = State::Dead;
    }

    fn begin_waiting(&self, state: &mut State) {
        if let State::Waiting(plan, _) = std::mem::take(state)
            && let Err(why) = self.begin(state, *plan)
        {
            say(&why);
        }
    }

    fn begin(&self, state: &mut State, plan: Plan) -> Result<(), String> {
        let engine = plan.choice.engine.name();
        let session = Session::begin(plan, &self.hotspot)
            .map_err(|error: io::Error| format!("engine {engine} could not be started: {error}"))?;
        *state = State::Recording(Box::new(session));
        Ok(())
    }

    fn finish(&self, state: &mut State, places: Option<&Plan>, env: &mut JNIEnv<'_>) -> bool {
        match std::mem::take(state) {
            State::Recording(session) => session.end(places, self.program(), &self.resolver, env),
            State::Waiting(plan, _) => {
                if !plan.options.quiet {
                    say("the program ended before the recording began: nothing was written");
                }
                true
            }
            other => {
                *state = other;
                true
            }
        }
    }

    fn program(&self) -> &Program {
        self.program.get_or_init(|| Program::of(self.jvmti))
    }

    /// Does what was asked of a running JVM.
    fn command(&self, options: Options, env: &mut JNIEnv<'_>) -> Result<(), Vec<String>> {
        let mut state = self.state.lock();
        let verb = options.verb;
        let running = matches!(*state, State::Recording(_));
        if verb == Verb::Start {
            if running || matches!(*state, State::Waiting(..)) {
                return Err(vec!["a recording is running already: stop it first".to_owned()]);
            }
            let delay = options.start;
            let plan = plan(options)?;
            if delay.is_zero() {
                self.begin(&mut state, plan).map_err(|why| vec![why])?;
            } else {
                *state = State::Waiting(Box::new(plan), Instant::now() + delay);
            }
            worker::wake();
            return Ok(());
        }
        let State::Recording(session) = &mut *state else {
            return match (&*state, verb) {
                (State::Waiting(_, when), Verb::Status) => {
                    let left = when.saturating_duration_since(Instant::now()).as_secs_f64();
                    say(&format!("a recording begins in {left:.1} s"));
                    Ok(())
                }
                (_, Verb::Status) => {
                    say("no recording is running");
                    Ok(())
                }
                (State::Waiting(..), Verb::Stop) => {
                    *state = State::Idle;
                    say("the recording that was to begin is called off");
                    Ok(())
                }
                _ => Err(vec!["no recording is running: load Vouch with start first".to_owned()]),
            };
        };
        if verb == Verb::Status {
            say(&session.status());
            return Ok(());
        }
        let places = places(session.plan(), options)?;
        let written = if verb == Verb::Dump {
            session.dump(&places, self.program(), &self.resolver, env)
        } else {
            self.finish(&mut state, Some(&places), env)
        };
        if written { Ok(()) } else { Err(vec!["not everything could be written".to_owned()]) }
    }
}

/// Reads an option text, with what the process says to its patterns.
fn request(text: &str) -> Result<Request, Vec<String>> {
    let variable = |name: &str| std::env::var(name).ok();
    let place = Place { pid: std::process::id(), time: clock::file_stamp(), variable: &variable };
    options::parse(text, &place)
}

/// Decides everything that can be decided before the program starts; all that is wrong comes at once.
fn plan(options: Options) -> Result<Plan, Vec<String>> {
    let mut mistakes = Vec::new();
    let outputs = if options.outputs.is_empty() { default_output() } else { options.outputs.clone() };
    for path in outputs.iter().map(|out| &out.path).chain(&options.report) {
        mistakes.extend(output::check(path).err());
    }
    mistakes.extend(twice(&outputs, options.report.as_ref()));
    match choose(options.engine) {
        Ok(choice) if mistakes.is_empty() => {
            Ok(Plan { choice, outputs, report: options.report.clone(), options })
        }
        Ok(_) => Err(mistakes),
        Err(why) => {
            mistakes.push(why);
            Err(mistakes)
        }
    }
}

/// Where `stop` and `dump` write: where they say, else where the recording was told to.
fn places(plan: &Plan, options: Options) -> Result<Plan, Vec<String>> {
    let mut places = plan.clone();
    if !options.outputs.is_empty() {
        places.outputs = options.outputs;
    }
    if options.report.is_some() {
        places.report = options.report;
    }
    places.options.quiet |= options.quiet;
    let paths = places.outputs.iter().map(|out| &out.path).chain(&places.report);
    let mistakes: Vec<String> = paths.filter_map(|path| output::check(path).err()).collect();
    if mistakes.is_empty() { Ok(places) } else { Err(mistakes) }
}

fn default_output() -> Vec<Output> {
    match request(&format!("out={DEFAULT_OUT}")) {
        Ok(Request::Run(options)) => options.outputs,
        _ => Vec::new(),
    }
}

/// Two files of one name would overwrite each other.
fn twice(outputs: &[Output], report: Option<&PathBuf>) -> Option<String> {
    let mut paths: Vec<&PathBuf> = outputs.iter().map(|out| &out.path).chain(report).collect();
    paths.sort();
    let same = paths.windows(2).find(|pair| pair[0] == pair[1])?;
    Some(format!("{} is named twice: give each file its own name", same[0].display()))
}

/// Installs the handler of SIGPROF, unless somebody else has one.
fn take_signal() -> Result<(), String> {
    // SAFETY: all zero is a valid sigaction.
    let mut present: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: writes one sigaction.
    unsafe { libc::sigaction(libc::SIGPROF, null_mut(), &raw mut present) };
    if present.sa_sigaction != libc::SIG_DFL && present.sa_sigaction != libc::SIG_IGN {
        return Err("SIGPROF is taken: another profiler is at work in this JVM; use one at a time".to_owned());
    }
    // SAFETY: as above.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_sigprof as *const () as usize;
    // System calls go on where they were; nothing else is blocked meanwhile.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    // SAFETY: the handler keeps to what a signal handler may do, and the library is never unloaded.
    if unsafe { libc::sigaction(libc::SIGPROF, &raw const action, null_mut()) } == 0 {
        Ok(())
    } else {
        Err(format!("the handler of SIGPROF could not be installed: {}", io::Error::last_os_error()))
    }
}

/// # Safety
/// `vm` must be the JVM that the agent was loaded into.
unsafe fn own_env<'e>(vm: *mut JavaVM) -> Option<JNIEnv<'e>> {
    let mut env: *mut std::ffi::c_void = null_mut();
    // SAFETY: by the caller's promise; writes one pointer.
    let code = unsafe { ((**vm).GetEnv?)(vm, &raw mut env, jni_sys::JNI_VERSION_1_6) };
    // SAFETY: GetEnv gave the calling thread's own JNIEnv.
    (code == JNI_OK).then(|| unsafe { JNIEnv::from_raw(env.cast()) }.ok())?
}

fn refuse(mistakes: &[String]) -> jint {
    let mut text = mistakes.join("\n");
    text.push_str("\nnothing is profiled; `=help` lists the options");
    say(&text);
    JNI_ERR
}

fn said(text: &str) -> jint {
    say(text);
    JNI_OK
}

/// Prints what was asked for and ends the JVM before it has begun.
fn leave_with(text: &str) -> ! {
    print(text);
    std::process::exit(0)
}

/// The main thread, as the JVM shows it when it is up.
///
/// # Safety
/// `thread` must be a reference that is valid for `env`'s thread.
pub unsafe fn enter_thread(jvmti: Jvmti, env: &mut JNIEnv<'_>, thread: jobject) {
    // SAFETY: by the caller's promise.
    let object = unsafe { java::object(env, thread) };
    let java_thread = java::java_thread(env, &object);
    let name = jvmti.thread_name(thread).ok();
    registry().java_start(clock::own_tid(), env.get_raw().cast(), java_thread, name.as_deref());
    hook::watch_end();
}
