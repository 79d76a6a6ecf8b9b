//! Prepares recovery for this JVM: the addresses that its strategies need, and the strategies to
//! try.
//!
//! It must never guess. If the JVM's own tables lack an entry, nothing is recovered, and the report
//! gives the reason.

use std::sync::atomic::{AtomicBool, AtomicU64};

use vouch_unwind::jvm_layout::JvmLayout;
use vouch_unwind::recover::{ALL, Recovery, STRATEGIES};

use crate::error::ValueError;
use crate::guard;

/// The reason for no recovery without a guard. Candidates are guesses, and the walk of a wrong one
/// may fault.
pub const UNGUARDED: &str = "nothing is recovered while walks are not guarded";

/// Which strategies are tried, indexed by their numbers.
pub type Chosen = [bool; STRATEGIES];

/// Returns the recovery for handlers to run where a walk fails. The error is the reason why a
/// requested recovery is impossible.
pub fn from_options(ground: Option<&JvmLayout>, chosen: Chosen) -> Result<Option<Recovery>, &'static str> {
    if !chosen.contains(&true) {
        return Ok(None);
    }
    if guard::unguarded().is_some() {
        return Err(UNGUARDED);
    }
    let ground = ground.ok_or(
        "no stack is recovered: this JVM does not publish where its code and its threads' stacks are",
    )?;
    let tried = [const { AtomicU64::new(0) }; STRATEGIES];
    Ok(Some(Recovery {
        jvm: ground.clone(),
        chosen,
        tried,
        crashed: AtomicU64::new(0),
        stopped: AtomicBool::new(false),
    }))
}

/// Parses names of strategies, joined by `+`. `off` selects no strategy.
pub fn chosen(text: &str) -> Result<Chosen, ValueError> {
    let mut chosen = [false; STRATEGIES];
    match text {
        "off" => return Ok(chosen),
        "all" => return Ok([true; STRATEGIES]),
        _ => {}
    }
    for name in text.split('+') {
        let Some(at) = ALL.iter().position(|strategy| strategy.name == name) else {
            return Err(ValueError::Strategy(names()));
        };
        chosen[at] = true;
    }
    Ok(chosen)
}

/// Returns all names of strategies, for a message.
pub fn names() -> String {
    ALL.iter().map(|strategy| strategy.name).collect::<Vec<&str>>().join(", ")
}
