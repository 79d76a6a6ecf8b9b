//! Counts the bad stacks of async-profiler in its folded stacks, to compare them with Vouch's.
//!
//! A stack is bad if a frame says that the walk broke, or if its root is not where a thread begins.
//! A stack without Java must never count as bad for that.

use std::collections::HashSet;

/// The number of samples of Java threads, and of those with a bad stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stacks {
    pub java: u64,
    pub bad: u64,
}

/// The suffixes of Java frames with async-profiler's option `ann`: interpreted, C1's, inlined,
/// compiled.
const JAVA: [&str; 4] = ["_[0]", "_[1]", "_[i]", "_[j]"];
/// The functions in which a native thread begins.
const BEGINS: [&str; 6] =
    ["clone", "clone3", "start_thread", "_start", "__libc_start_main", "__libc_start_call_main"];
/// The methods that the JVM, the launcher or native code calls first.
const ENTRIES: [&str; 13] = [
    "run",
    "main",
    "<clinit>",
    "exit",
    "loadClass",
    "checkAndLoadMain",
    "makePlatformString",
    "initPhase1",
    "initPhase2",
    "initPhase3",
    "dispatchUncaughtException",
    "linkCallSite",
    "linkMethodHandleConstant",
];

impl Stacks {
    /// Counts the samples in folded stacks of async-profiler. With the option `threads` the first
    /// frame is the thread: `[main tid=1];A.main_[j];A.b_[i] 17`.
    pub fn from_folded(folded: &str) -> Self {
        let lines = || folded.lines().filter_map(parts);
        // A thread that never runs Java is the JVM's own.
        let java: HashSet<&str> = lines()
            .filter(|(_, frames, _)| frames.iter().any(|frame| is_java(frame)))
            .map(|(thread, ..)| thread)
            .collect();
        let mut all = Self::default();
        for (_, frames, count) in lines().filter(|(thread, ..)| java.contains(thread)) {
            let broken = frames.iter().any(|frame| is_error(frame));
            let begins = frames.first().is_some_and(|root| is_beginning(root));
            if !broken && begins && !frames.iter().any(|frame| is_java(frame)) {
                continue;
            }
            all.java += count;
            all.bad += if broken || !begins { count } else { 0 };
        }
        all
    }
}

fn parts(line: &str) -> Option<(&str, Vec<&str>, u64)> {
    let (stack, count) = line.rsplit_once(' ')?;
    let mut frames = stack.split(';');
    Some((frames.next()?, frames.collect(), count.parse().ok()?))
}

fn is_java(frame: &str) -> bool {
    JAVA.iter().any(|mark| frame.ends_with(mark))
}

fn is_error(frame: &str) -> bool {
    ["[break_", "[unknown_", "[not_walkable", "[no_Java_frame", "[deoptimization"]
        .iter()
        .any(|error| frame.starts_with(error))
}

fn is_beginning(root: &str) -> bool {
    match JAVA.iter().find_map(|mark| root.strip_suffix(mark)) {
        Some(method) => {
            let name = method.rsplit('.').next().unwrap_or(method);
            ENTRIES.contains(&name)
        }
        None => BEGINS.contains(&root),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_that_broke_or_begin_nowhere_are_bad_and_other_threads_are_left_out() {
        let folded = "[main tid=1];A.main_[0];A.b_[i];arraycopy 10\n\
                      [main tid=1];A.b_[j];A.c_[j] 3\n\
                      [main tid=1];[break_deopt];A.c_[j] 2\n\
                      [main tid=1];arraycopy 1\n\
                      [main tid=1];clone3;start_thread;exit 50\n\
                      [w tid=2];java/lang/Thread.run_[0];A.b_[1] 20\n\
                      [C2 tid=3];clone3;start_thread;compile 90\n\
                      [C2 tid=3];compile 5\n";
        assert_eq!(Stacks::from_folded(folded), Stacks { java: 36, bad: 6 });
        assert_eq!(Stacks::from_folded("no count\n"), Stacks::default());
    }
}
