//! Describes what a recording in this JVM would be like, without making one. `vouch doctor` uses
//! it.
//!
//! It must never change anything. It must never report that something works unless it was tried.

use std::time::Duration;

use vouch_hotspot::jvm_layouts::JvmLayouts;
use vouch_hotspot::vmstructs::{explicit_flag, losses};
use vouch_hotspot::{HotSpot, fields};
use vouch_sampling::engine::Engine;
use vouch_sampling::engine::bias::Bias;
use vouch_sampling::engine::choose::EngineWish;
use vouch_sampling::engine::choose::choose;
use vouch_sampling::governor::policy;
use vouch_sampling::signal::Signal;
use vouch_unwind::native::kernel_symbols::KernelSymbols;

use crate::guard;
use crate::native;
use crate::options::fields::Options;
use crate::recovery;
use crate::virtual_threads;
use crate::walkers;

/// Returns sentences, the most important first. `jdk` is the JDK's name and `version` its number.
/// `late` means that the JVM ran before the agent was loaded.
pub fn lines(
    hotspot: &HotSpot,
    layouts: &JvmLayouts,
    (jdk, version): (&str, u32),
    late: bool,
) -> Vec<String> {
    let mut lines = vec![jdk.to_owned()];
    lines.extend(engines());
    lines.push(
        match layouts
            .walker
            .as_ref()
            .map_err(ToString::to_string)
            .and_then(|own| walkers::usable(own).map_err(str::to_owned))
        {
            Ok(_) => "Vouch's own walker finds the stacks, or AsyncGetCallTrace where it fails".to_owned(),
            Err(why) => format!("only AsyncGetCallTrace finds stacks: {why}"),
        },
    );
    lines.extend(virtual_threads::problem());
    lines.push(match recovery::from_options(layouts.jvm.as_ref(), Options::default().recovery) {
        Ok(_) => "where no walker finds a stack, recovery tries again from a repaired context".to_owned(),
        Err(why) => why.to_owned(),
    });
    lines.push(
        guard::unguarded().unwrap_or_else(|| {
            "walks are guarded: a fault ends the walk, and the program runs on".to_owned()
        }),
    );
    lines.push(match native::code_cache(layouts) {
        Ok(_) => "native=on shows what runs inside of native methods and of the JVM's own threads".to_owned(),
        Err(why) => format!("native=on shows no native frames: {why}"),
    });
    lines.extend(losses(hotspot, version));
    let debug_info = explicit_flag(hotspot, &fields::DEBUG_NON_SAFEPOINTS);
    if debug_info == Some(false) {
        lines.push(
            "-XX:-DebugNonSafepoints leaves compiled code without debug information between safepoints, so the method on top is often a \
             guess: start the JVM without it"
                .to_owned(),
        );
    } else if late && debug_info.is_none() {
        lines.push(
            "code compiled before an attach has debug information only at safepoints, so the method on top is often a guess there: \
             -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints at the JVM's start adds it everywhere"
                .to_owned(),
        );
    }
    lines
}

/// Says whether native stacks go on into the kernel, or what to set for that.
fn kernel_frames(engine: Engine) -> String {
    if let Some(why) = native::no_kernel_frames(engine) {
        return format!("native=on has no frames of the kernel: {why}");
    }
    if KernelSymbols::read().is_empty() {
        return format!(
            "native=on has frames of the kernel without names: {}",
            native::TO_NAME_KERNEL_FRAMES
        );
    }
    "native=on also shows the functions of the kernel".to_owned()
}

/// Describes the engine that would be used, how often it samples, and why the others are not used.
fn engines() -> Vec<String> {
    let interval = Options::default().interval;
    let mut lines = Vec::new();
    let signal = Signal::default();
    match choose(EngineWish::Auto, signal) {
        Ok(choice) => {
            let (stride, why) = policy::first_stride(interval, choice.cost, choice.most);
            let cost = choice.cost.map_or_else(String::new, |cost: Duration| {
                format!("; a timer interrupt costs {:.1} µs", cost.as_secs_f64() * 1e6)
            });
            lines.push(format!(
                "engine=auto takes {}, which samples each {:?} of a thread's CPU time{cost}",
                choice.engine.name(),
                interval * stride
            ));
            lines.extend(Bias::from_engine(choice.engine).map(|bias| bias.line(choice.engine)));
            lines.extend(why);
            lines.extend(choice.notes);
            lines.push(kernel_frames(choice.engine));
            if matches!(choice.engine, Engine::Perf { .. }) {
                lines.push(
                    "after 10 s of CPU time it samples less often if samples take more than 1 % of that; interval=TIME prevents this"
                        .to_owned(),
                );
            }
        }
        Err(why) => lines.push(why.to_string()),
    }
    for wish in [EngineWish::Perf, EngineWish::Poll, EngineWish::Timer] {
        match choose(wish, signal) {
            Ok(choice) => {
                lines.push(format!("engine={} works", choice.engine.name()));
                lines.extend(choice.warning);
            }
            Err(why) => lines.push(why.to_string()),
        }
    }
    lines.push("engine=itimer works everywhere, but its timer survives execve: if the JVM's process execs another program, SIGPROF ends that".to_owned());
    lines
}
