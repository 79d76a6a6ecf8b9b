//! Loads the agent: checks what a recording needs, and reports what is missing.
//!
//! At the JVM's start a mistake stops the JVM. In a running JVM the mistake is reported, and the
//! program continues. A JVM that cannot be profiled gets one sentence.
//!
//! # Invariants
//!
//! **Invariant 8.** Wrong options stop the JVM before the program starts. Nothing that happens
//! later touches the program. Held by: `java-tests`.

use std::ptr::null_mut;

use jni::JNIEnv;
use jni_sys::{JNI_ERR, JNI_OK, JavaVM, jint};
use vouch_hotspot::{HotSpot, pin_own_library};
use vouch_report::Detail;
use vouch_sampling::own_thread;
use vouch_sampling::sampling_signal;
use vouch_sampling::threads::{hook, registry};

use crate::agent::{Agent, NO_RECORDING, agent, make};
use crate::callbacks;
use crate::error::Error;
use crate::events;
use crate::events::exception;
use crate::facade::{Capability, Jvmti, RequiredFor};
use crate::guard;
use crate::lab_hooks::{Lab, lab};
use crate::options::choices::{OnError, Verb};
use crate::options::fields::Options;
use crate::options::help;
use crate::options::parse::Request;
use crate::plan::{Plan, plan, request};
use crate::say::{self, print, say};
use crate::terminal;

/// Runs `Agent_OnLoad`.
///
/// # Safety
/// `vm` must be the JVM that the agent was loaded into.
pub unsafe fn on_load(vm: *mut JavaVM, text: &str) -> jint {
    say::look();
    let (options, mistakes) = match request(text) {
        Request::Run(options, mistakes) => (*options, mistakes),
        Request::Help => leave_with(&help::text()),
        Request::Version => leave_with(&format!("vouch {}\n", crate::version::VERSION)),
    };
    // The command's folder may be unreachable. The JVM must start all the same, so stderr is used
    // instead.
    let _answering = terminal::answer(options.terminal.as_deref()).ok();
    let for_lab = options.verb == Verb::Lab;
    let checks = options.verb == Verb::Check;
    if options.verb != Verb::Start && !for_lab && !checks {
        return refuse_at_start(
            &options,
            &["stop, dump, status and groups are for a JVM that runs (jcmd PID JVMTI.agent_load)".to_owned()],
            "",
        );
    }
    if agent().is_some() {
        let why = "Vouch is loaded already: give one -agentpath with all options";
        return refuse_at_start(&options, &[why.to_owned()], "");
    }
    // SAFETY: by the caller's promise.
    let hotspot = match unsafe { HotSpot::from_vm(vm) } {
        Ok(hotspot) => hotspot,
        Err(why) => {
            say(&why.to_string());
            return JNI_OK;
        }
    };
    let planned =
        if for_lab || checks { nothing(mistakes) } else { plan(options.clone(), mistakes).map(Some) };
    let plan = match planned {
        Ok(plan) => plan,
        Err(mistakes) => return refuse_at_start(&options, &mistakes, help(&options, "run")),
    };
    // SAFETY: by the caller's promise.
    match unsafe { set_up(vm, hotspot, &options) } {
        Ok(agent) => {
            // SAFETY: the JVM starts its compilers after Agent_OnLoad.
            unsafe { agent.keep_debug_info(&options) };
            exception::will_be_bound();
            match plan {
                Some(plan) => agent.wait_for_vm(plan),
                None if checks => agent.wait_to_check(&options),
                None if options.detail == Detail::Quiet => {}
                None => say(lab().map_or("", Lab::message)),
            }
            JNI_OK
        }
        Err(why) => refuse_at_start(&options, &[why.to_string()], ""),
    }
}

/// Runs `Agent_OnAttach`.
///
/// # Safety
/// `vm` must be the JVM that the agent was loaded into. The calling thread must be attached to it.
pub unsafe fn on_attach(vm: *mut JavaVM, text: &str) -> jint {
    let (options, mistakes) = match request(text) {
        Request::Run(options, mistakes) => (*options, mistakes),
        Request::Help => return said(&help::text()),
        Request::Version => return said(&format!("vouch {}", crate::version::VERSION)),
    };
    let _answering = match terminal::answer(options.terminal.as_deref()) {
        Ok(answering) => answering,
        Err(why) => return refuse(&[why.to_string()]),
    };
    // SAFETY: by the caller's promise.
    let Some(mut env) = (unsafe { own_env(vm) }) else { return JNI_ERR };
    let agent = match agent() {
        Some(agent) => agent,
        None if !matches!(options.verb, Verb::Start | Verb::Lab | Verb::Check) => {
            return refuse(&[NO_RECORDING.to_owned()]);
        }
        // SAFETY: by the caller's promise.
        None => match unsafe {
            HotSpot::from_vm(vm).map_err(Error::from).and_then(|hotspot| set_up(vm, hotspot, &options))
        } {
            Ok(agent) => {
                agent.report_code(&options, false);
                if let Err(why) = agent.settle_in(&mut env) {
                    say(&why.to_string());
                }
                agent
            }
            Err(why) => return refuse(&[why.to_string()]),
        },
    };
    let help = if mistakes.is_empty() { "" } else { help(&options, "attach") };
    match agent.command(options, mistakes, &mut env) {
        Ok(()) => JNI_OK,
        Err(mistakes) => refuse_with(&mistakes, help),
    }
}

/// Makes the one agent: JVMTI with its capabilities, the signal handler, the hooks.
///
/// # Safety
/// `vm` must be the JVM that the agent was loaded into.
unsafe fn set_up(vm: *mut JavaVM, hotspot: HotSpot, options: &Options) -> Result<&'static Agent, Error> {
    // SAFETY: by the caller's promise.
    let jvmti = unsafe { Jvmti::from_vm(vm) }.map_err(Error::NoJvmti)?;
    sampling_signal::take(options.signal)?;
    pin_own_library();
    own_thread::exclude_by(|tid| registry().own(tid));
    guard::install(&hotspot, registry().slots());
    let own = [
        Capability::GetSourceFileName,
        Capability::GetLineNumbers,
        Capability::GetBytecodes,
        Capability::GetConstantPool,
    ];
    let subscriptions = callbacks::always().chain(&events::COMPILED_CODE);
    for capability in own.iter().chain(subscriptions.flat_map(|event| event.capabilities)) {
        // A missing capability shows later: in files, lines, names of threads, or proof.
        let _ = jvmti.add_capability(*capability);
    }
    if options.verb == Verb::Start {
        events::ask_for(jvmti, options.events);
    }
    let agent = make(jvmti, hotspot, options);
    hook::install();
    jvmti.set_callbacks(&callbacks::table()).map_err(Error::EventsRefused)?;
    for subscription in callbacks::always() {
        match subscription.required_for {
            RequiredFor::All => jvmti.enable(subscription.event).map_err(Error::EventsRefused)?,
            RequiredFor::Itself => {
                let _ = jvmti.enable(subscription.event);
            }
        }
    }
    Ok(agent)
}

/// Returns the calling thread's JNI environment.
///
/// # Safety
/// `vm` must be the JVM that the agent was loaded into.
unsafe fn own_env<'e>(vm: *mut JavaVM) -> Option<JNIEnv<'e>> {
    let mut env: *mut std::ffi::c_void = null_mut();
    // SAFETY: by the caller's promise; writes one pointer.
    let code = unsafe { ((**vm).GetEnv?)(vm, &raw mut env, jni_sys::JNI_VERSION_1_6) };
    // SAFETY: GetEnv returned the calling thread's own JNIEnv.
    (code == JNI_OK).then(|| unsafe { JNIEnv::from_raw(env.cast()) }.ok())?
}

/// Returns no plan, for a run that records nothing, or the mistakes.
fn nothing(mistakes: Vec<String>) -> Result<Option<Plan>, Vec<String>> {
    if mistakes.is_empty() { Ok(None) } else { Err(mistakes) }
}

fn refuse(mistakes: &[String]) -> jint {
    refuse_with(mistakes, "")
}

/// Returns the hint where the options are explained. It fits the command of `vouch` that waits for
/// the answer.
fn help(options: &Options, command: &str) -> &'static str {
    match (&options.terminal, command) {
        (None, _) => "; `=help` lists the options",
        (Some(_), "run") => "; `vouch run --help` lists the options",
        (Some(_), _) => "; `vouch attach --help` lists the options",
    }
}

/// Stops the JVM at its start, unless the user wants it to run in any case.
fn refuse_at_start(options: &Options, mistakes: &[String], help: &str) -> jint {
    let code = refuse_with(mistakes, help);
    if options.on_error == OnError::Stop {
        return code;
    }
    say("the program runs without a profile (on-error=run)");
    JNI_OK
}

fn refuse_with(mistakes: &[String], help: &str) -> jint {
    let mut text = mistakes.join("\n");
    let recording = agent().is_some_and(Agent::is_recording);
    text.push_str(if recording { "\nthe recording goes on" } else { "\nnothing is profiled" });
    text.push_str(help);
    say(&text);
    JNI_ERR
}

fn said(text: &str) -> jint {
    say(text);
    JNI_OK
}

/// Prints the requested text and ends the JVM before it has begun.
fn leave_with(text: &str) -> ! {
    print(text);
    std::process::exit(0)
}
