//! What the library for tests (crate `vouch-lab`) can put into the agent: options, a walker that is
//! broken on purpose, an engine, and another source of stacks.
//!
//! The released library has no lab, so these options are mistakes there. This module must never
//! contain what the lab does. `lab_api` is the other direction: what the lab calls.

use std::fmt::Debug;
use std::time::Duration;

use jni::JNIEnv;
use once_cell::sync::OnceCell;
use vouch_sample::{Frame, Head};
use vouch_sampling::engine::ExternalEngine;
use vouch_unwind::walker::Walker;

/// The options that only tests set.
#[derive(Debug, Clone, Default)]
pub struct LabOptions {
    /// Nothing is recorded. A test asks the lab's natives.
    pub records_nothing: bool,
    /// Method ids are not created in advance.
    pub late_ids: bool,
    /// Sampling may use this much CPU time before its budget applies, so that a test need not wait.
    pub free: Option<Duration>,
    /// Replaces the walker of samples.
    pub walker: Option<&'static dyn WalkerWrapper>,
    /// Replaces the engine.
    pub engine: Option<&'static dyn ExternalEngine>,
    /// Samples come from this source instead of an engine.
    pub source: Option<fn() -> Box<dyn StackSource>>,
}

/// Makes another walker of a walker.
pub trait WalkerWrapper: Debug + Sync {
    fn wrap(&self, whole: &'static dyn Walker) -> &'static dyn Walker;
    /// Returns true if the result's walks can be compared with GetStackTrace.
    fn is_comparable(&self) -> bool;
    /// Returns what a reader of the profile must know.
    fn warning(&self) -> String;
}

/// A source of stacks that needs no signals.
pub trait StackSource: Debug + Send {
    /// Passes the present stacks to `record`, and returns their number.
    fn round(&mut self, env: &mut JNIEnv<'_>, record: &mut RecordStack<'_>) -> u64;
    /// Returns the time between two rounds.
    fn pause(&self) -> Duration;
}

/// Records a stack of a thread, leaf first.
pub type RecordStack<'r> = dyn FnMut(&mut JNIEnv<'_>, &Head, &[Frame]) + 'r;

/// The lab of the library for tests.
pub trait Lab: Debug + Sync {
    /// Applies an option of the lab. Its name is `lab`, `break` or `engine`.
    fn apply(
        &self,
        options: &mut LabOptions,
        name: &str,
        value: Option<&str>,
    ) -> Result<(), vouch_report::Error>;
    /// Returns the message for a JVM in which nothing is recorded.
    fn message(&self) -> &'static str;
}

static LAB: OnceCell<&'static dyn Lab> = OnceCell::new();

/// Sets the lab. The library for tests calls this when it is loaded, before the JVM calls it.
pub fn set_lab(lab: &'static dyn Lab) {
    let _ = LAB.set(lab);
}

/// Returns `None` in the released library.
pub fn lab() -> Option<&'static dyn Lab> {
    LAB.get().copied()
}
