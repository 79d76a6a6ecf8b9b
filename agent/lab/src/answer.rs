//! Formats an answer as text, for `dev.vouch.lab.Answer` to read.
//!
//! Each way to walk has a line `WAY TAB KINDS TAB WALK TAB WITNESS`. The ways of our own walker
//! begin with `own-`. After the line, indented by a tab, both stacks follow side by side. Methods
//! get their names here, after both stacks were taken.

use std::fmt::Write as _;

use jni::JNIEnv;
use vouch::lab_api::LoadedAgent;
use vouch_sample::Frame;
use vouch_verify::witness::{Comparison, Difference, Row};

use super::{Asked, Refusal};

/// Returns the whole answer as text.
pub fn text(agent: LoadedAgent, env: &mut JNIEnv<'_>, asked: &Result<Asked, Refusal>) -> String {
    let asked = match asked {
        Ok(asked) => asked,
        Err(refusal) => return format!("error\t{}\n", refusal.reason()),
    };
    let mut names = |frame: &Frame| name(agent, env, frame);
    let mut text = String::new();
    for (walk, comparison) in asked.compared() {
        let frames = walk.found.as_ref().map_or(&[][..], |found| &found.frames);
        let (way, kinds) = (walk.way.name(), kinds(&comparison));
        let whose = if walk.walker.runs_jvm() { "" } else { "own-" };
        // A write to a string does not fail.
        let _ = writeln!(text, "{whose}{way}\t{kinds}\t{}\t{}", frames.len(), asked.witness.len());
        for row in &comparison.rows {
            let (mark, ours, theirs) = match *row {
                Row::Same { walk, witness } => ('=', Some(walk), Some(witness)),
                Row::Differs { walk, witness } => ('!', Some(walk), Some(witness)),
                Row::Missing { witness } => ('-', None, Some(witness)),
                Row::Extra { walk } => ('+', Some(walk), None),
                Row::LeftOut { witness } => ('~', None, Some(witness)),
            };
            let ours = ours.map_or_else(String::new, |at| names(&frames[at]));
            let theirs = theirs.map_or_else(String::new, |at| names(&asked.witness[at]));
            let _ = writeln!(text, "\t{mark}\t{ours}\t{theirs}");
        }
    }
    text
}

fn kinds(comparison: &Comparison) -> String {
    let kind = |difference: &Difference| match difference {
        Difference::Unwalked { why } => format!("unwalked:{}", why.name()),
        other => other.kind().to_owned(),
    };
    let kinds: Vec<String> = comparison.differences.iter().map(kind).collect();
    if kinds.is_empty() { "same".to_owned() } else { kinds.join(",") }
}

fn name(agent: LoadedAgent, env: &mut JNIEnv<'_>, frame: &Frame) -> String {
    if let Frame::Native { pc } | Frame::Kernel { pc } = frame {
        return format!("code at {pc:#x}");
    }
    let method = agent.method_name(env, frame.method());
    let method = method.unwrap_or_else(|| format!("method {:#x}", frame.method().0));
    match frame {
        Frame::Java { bci, .. } => format!("{method}@{bci}"),
        _ => format!("{method}@native"),
    }
}
