//! Recovery, made ready for this JVM: where things lie that its strategies need, and which of them
//! are to be tried.
//!
//! It must never guess: where the JVM's own tables lack something, nothing is recovered, and the
//! report says so.

use std::sync::atomic::{AtomicBool, AtomicU64};

use vouch_walk::jvm_layout::JvmLayout;
use vouch_walk::recover::{ALL, Recovery, STRATEGIES};

use crate::guard;

/// Candidates are guesses, and the walk of a wrong one may fault.
pub const UNGUARDED: &str = "nothing is recovered while walks are not guarded";

/// Which strategies are to be tried, by their numbers.
pub type Chosen = [bool; STRATEGIES];

/// What handlers are to do where a walk fails, or why nothing can be done though it was asked for.
pub fn of(ground: Option<&JvmLayout>, chosen: Chosen) -> Result<Option<Recovery>, &'static str> {
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

/// The strategies that a text names, joined by `+`; `off` is none.
pub fn chosen(text: &str) -> Result<Chosen, String> {
    let mut chosen = [false; STRATEGIES];
    match text {
        "off" => return Ok(chosen),
        "all" => return Ok([true; STRATEGIES]),
        _ => {}
    }
    for name in text.split('+') {
        let Some(at) = ALL.iter().position(|strategy| strategy.name == name) else {
            return Err(format!("must be off, all, or some of {} joined by +", names()));
        };
        chosen[at] = true;
    }
    Ok(chosen)
}

/// All names, for a person.
pub fn names() -> String {
    ALL.iter().map(|strategy| strategy.name).collect::<Vec<&str>>().join(", ")
}
