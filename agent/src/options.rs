//! The agent's options: the text after `=` on the command line, or after the library in
//! `jcmd … agent_load`.
//!
//! Strict: an unknown key or a bad value is never passed over, and all mistakes of one text are
//! told at once. Pure: what the environment says comes in through [`Place`], files are not touched
//! here.

mod key;
mod signal;
mod value;

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use vouch_formats::{Format, VirtualThreads};
use vouch_report::Detail;

use regex_lite::Regex;
use vouch_walk::broken::Break;
use vouch_walk::recover::STRATEGIES;

pub use signal::Signal;
pub use vouch_options::pattern::Place;

use crate::events;
use crate::recovery::Chosen;

/// What the user wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verb {
    #[default]
    Start,
    Stop,
    Dump,
    Status,
    /// What groups of tasks have taken is said, as JSON.
    Groups,
    /// No recording: what one would be like is said.
    Check,
    /// No recording: the natives of `dev.vouch.Oracle` are to be served.
    Lab,
}

/// Which engine was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EngineWish {
    #[default]
    Auto,
    Perf,
    Timer,
    Itimer,
    Poll,
    Hammer,
}

/// How often a sample is to be witnessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Witnessing {
    /// As often as costs next to nothing.
    #[default]
    Auto,
    Off,
    Every(Duration),
}

/// By whom each sample is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WalkerWish {
    /// By our own, and where that finds no stack by AsyncGetCallTrace.
    #[default]
    Auto,
    Asgct,
    Own,
    /// Always by both; proof says which account holds.
    Both,
}

/// What becomes of stacks that are refuted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Refuted {
    /// They are shown apart from the others.
    #[default]
    Isolate,
    /// They are shown among the others.
    Keep,
    /// Their frames are not shown; their time is.
    Drop,
}

/// How methods are called in a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FunctionNames {
    /// `com.foo.Bar.baz`
    #[default]
    Full,
    /// `Bar.baz`: the package is that of the file.
    Short,
}

/// What becomes of the recording on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDisk {
    /// It is there until the profile is.
    #[default]
    On,
    /// It stays.
    Keep,
    Off,
}

/// How what was recorded is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Showing {
    pub refuted: Refuted,
    pub names: FunctionNames,
}

/// One profile to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub path: PathBuf,
    /// What it is written as; the path's ending says that.
    pub format: &'static Format,
}

/// What becomes of a JVM that cannot be profiled at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// It ends with exit code 1.
    #[default]
    Stop,
    /// It runs without a profile.
    Run,
}

/// All options, with their defaults filled in.
#[derive(Debug, Clone)]
pub struct Options {
    pub verb: Verb,
    /// Empty when the user named none: the default name is then the agent's to give.
    pub outputs: Vec<Output>,
    pub report: Option<PathBuf>,
    /// A Flight Recorder file of the same run, whose events are to stand in the profiles.
    pub jfr: Option<PathBuf>,
    /// Where source texts lie that are to stand in the profiles.
    pub sources: Vec<PathBuf>,
    pub on_disk: OnDisk,
    /// No more than so many bytes of it.
    pub most_on_disk: u64,
    pub interval: Duration,
    /// The part of the program's CPU time that sampling may take, or the interval becomes longer;
    /// `None` where one was asked for.
    pub budget: Option<f64>,
    /// So much of its CPU time sampling may take what it takes: less for tests, which need not wait
    /// for the end of it.
    pub free: Duration,
    pub engine: EngineWish,
    pub signal: Signal,
    pub depth: usize,
    pub threads: Option<Regex>,
    pub start: Duration,
    pub duration: Option<Duration>,
    /// Those that were given by which the recording differs from another of the same program, as
    /// `key=value`.
    pub altered: Vec<String>,
    pub on_error: OnError,
    /// How much is said at the end.
    pub detail: Detail,
    pub witness: Witnessing,
    pub showing: Showing,
    pub virtual_threads: VirtualThreads,
    pub walker: WalkerWish,
    /// How a walk that failed is tried again.
    pub recovery: Chosen,
    /// What of that which the JVM does is recorded.
    pub events: events::Chosen,
    /// The folder through which a command of `vouch` is answered.
    pub terminal: Option<PathBuf>,
    /// Method ids are not made beforehand: for the truth lab, to see what comes of it.
    pub late_ids: bool,
    /// Samples are GetStackTrace's: for the truth lab, to see whether proof refutes the truth.
    pub true_stacks: bool,
    /// The walker is to be broken on purpose, in this way, in one of so many walks.
    pub break_walker: Option<(Break, u32)>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            verb: Verb::Start,
            outputs: Vec::new(),
            report: None,
            jfr: None,
            sources: Vec::new(),
            on_disk: OnDisk::default(),
            most_on_disk: 1 << 30,
            interval: Duration::from_millis(1),
            budget: Some(0.01),
            free: Duration::from_secs(10),
            engine: EngineWish::Auto,
            signal: Signal::default(),
            depth: 65_536,
            threads: None,
            start: Duration::ZERO,
            duration: None,
            altered: Vec::new(),
            on_error: OnError::default(),
            detail: Detail::default(),
            witness: Witnessing::Auto,
            showing: Showing::default(),
            virtual_threads: VirtualThreads::default(),
            walker: WalkerWish::default(),
            recovery: [true; STRATEGIES],
            events: events::by_default(),
            terminal: None,
            late_ids: false,
            true_stacks: false,
            break_walker: None,
        }
    }
}

/// What a text asks for.
#[derive(Debug)]
pub enum Request {
    /// With the mistakes in the text, each a sentence; where there are any, nothing may be done but
    /// to tell them.
    Run(Box<Options>, Vec<String>),
    Help,
    Version,
}

/// Reads an option text. Mistakes do not end the reading: the caller may find more of them, and
/// tells all at once.
pub fn parse(text: &str, place: &Place<'_>) -> Request {
    let mut options = Options::default();
    let mut mistakes = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut words = 0;
    let mut details: Vec<Detail> = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = match part.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (part, None),
        };
        match (name, value) {
            ("help", None) => return Request::Help,
            ("version", None) => return Request::Version,
            _ => {}
        }
        if let Err(mistake) = key::apply(&mut options, name, value, place, &mut words) {
            mistakes.push(mistake);
        } else if value.is_some() {
            let key = vouch_options::find(name);
            if !key.is_some_and(|key| key.again) && seen.contains(&name) {
                mistakes.push(format!("{name} is set twice: set it once"));
            }
            if key.is_some_and(|key| key.alters() && key.default != value) {
                options.altered.push(format!("{name}={}", value.unwrap_or_default()));
            }
            seen.push(name);
        } else {
            details.push(options.detail);
        }
    }
    if words > 1 {
        mistakes
            .push("more than one of start, stop, dump, status, groups, check and lab: give one".to_owned());
    }
    if details.contains(&Detail::Quiet) && details.contains(&Detail::Verbose) {
        mistakes.push("quiet and verbose exclude each other: give one".to_owned());
    }
    mistakes.extend(key::misplaced(options.verb, &seen));
    options.altered.sort_unstable();
    Request::Run(Box::new(options), mistakes)
}

/// What `help` prints.
pub fn help() -> String {
    let mut text = HELP_BEGINNING.to_owned();
    let mut row = |name: &str, help: &[&str]| {
        for (number, line) in help.iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            let _ = writeln!(text, "  {name:18} {line}");
        }
    };
    for key in vouch_options::explained() {
        row(&format!("{}={}", key.name, key.default.unwrap_or(key.value)), key.help);
    }
    row("quiet, verbose", &["print no summary, but for warnings; or print all of it"]);
    row("help, version", &["print this, or the version, and exit"]);
    text + HELP_END
}

const HELP_BEGINNING: &str = "\
Vouch, a sampling profiler for the JVM.  java -agentpath:…/libvouch.so=key=value,key=value…

";

const HELP_END: &str = "
Into a running JVM:  vouch attach PID, or jcmd PID JVMTI.agent_load …/libvouch.so '\"out=FILE\"'
  start              begin a recording (the default)
  stop               end it and write what `start` named (or what out=, report=, jfr=, sources= say)
  dump               write what there is so far and go on
  status             say on stderr what is recorded; groups: what tasks took; check: what works here

For the truth lab (java-tests/README.md):  lab, lab=late-ids|true-stacks|early-budget, break=KIND/N
";

#[cfg(test)]
mod tests;
