//! The reasons for which a stack is plausible but not proven.

use serde::{Deserialize, Serialize};
use vouch_verify::proof::Explanation;

// These reasons concern a whole stack or its top frame. All other reasons are explanations of a
// call, and have the names of `Explanation`.
/// Frames in the middle of the stack are missing.
pub const FRAMES_LEFT_OUT: &str = "frames_left_out";
/// The inlined method on top is a guess.
pub const APPROXIMATE_TOP_FRAME: &str = "approximate_top_frame";
/// The top frame is in code that was compiled before the agent was loaded, and that has debug
/// information only at safepoints.
pub const COMPILED_BEFORE_ATTACH: &str = "compiled_before_attach";
/// The top frame is in code that has debug information only at safepoints, because the JVM was
/// started with `-XX:-DebugNonSafepoints`.
pub const WITHOUT_DEBUG_INFO: &str = "without_debug_info";
/// The code on top is unknown.
pub const UNKNOWN_TOP_FRAME: &str = "unknown_top_frame";
/// The walk had lost the top frame, which the agent added again.
pub const TOP_FRAME_PUT_BACK: &str = "top_frame_put_back";

/// A reason for which a user can do something.
#[derive(Debug)]
pub struct Remedy {
    pub reason: &'static str,
    /// The label of plausible stacks if most of them have this reason.
    pub label: &'static str,
    /// The advice to the user.
    pub advice: &'static str,
}

/// The reasons for which a user can do something.
pub const REMEDIES: [Remedy; 2] = [
    Remedy {
        reason: COMPILED_BEFORE_ATTACH,
        label: "plausible (mostly code compiled before the attach)",
        advice: "
Code compiled before the attach has debug information only at safepoints. To have it everywhere, start the JVM
with -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints, or with the agent (`vouch run`).
",
    },
    Remedy {
        reason: WITHOUT_DEBUG_INFO,
        label: "plausible (mostly for want of debug information)",
        advice: "
-XX:-DebugNonSafepoints leaves compiled code with debug information only at safepoints. To have it everywhere,
start the JVM without this option.
",
    },
];

/// The samples that are plausible for one reason. A sample may also have further reasons.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PlausibleReport {
    pub samples: u64,
    /// The time of all samples with this reason.
    pub weight_ms: f64,
    /// The time of the samples that have only this reason.
    pub alone_ms: f64,
}

/// Returns the text that explains a reason to people.
pub fn reason(name: &str) -> String {
    let words = match Explanation::from_name(name) {
        Some(Explanation::NativeCaller) => "a call by native code or reflection",
        Some(Explanation::MethodHandle | Explanation::HandleTarget) => {
            "a call through a method handle or reflection"
        }
        Some(Explanation::Linkage) => "linkage of a call site",
        Some(Explanation::ClassInit) => "a class initialiser",
        Some(Explanation::ClassLoad) => "class loading",
        Some(Explanation::JniEntry) => "a thread that native code started",
        Some(Explanation::VmEntry) => "a call by the JVM itself",
        Some(Explanation::Redefined) => "a redefined class",
        Some(Explanation::Unloaded) => "an unloaded class",
        Some(Explanation::NoId) => "a method without an id",
        Some(Explanation::Compilation) => "class loading by a compiler",
        Some(Explanation::ImplicitException) => "an exception that the JVM threw",
        Some(Explanation::Finaliser) => "registration of a finaliser",
        Some(Explanation::Inherited) => "an inherited static method",
        Some(Explanation::Unread) => "unread bytecode",
        None => match name {
            FRAMES_LEFT_OUT => "frames left out",
            APPROXIMATE_TOP_FRAME => "an uncertain top method",
            COMPILED_BEFORE_ATTACH => "an uncertain top method in code compiled before the attach",
            WITHOUT_DEBUG_INFO => "an uncertain top method in code without full debug information",
            UNKNOWN_TOP_FRAME => "an unknown top frame",
            TOP_FRAME_PUT_BACK => "a top frame that was put back",
            _ => return name.replace('_', " "),
        },
    };
    words.to_owned()
}
