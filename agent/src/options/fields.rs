//! All options, as fields with their defaults.

use std::path::PathBuf;
use std::time::Duration;

use regex_lite::Regex;
use vouch_formats::{Format, VirtualThreads};
use vouch_recording::Measure;
use vouch_report::Detail;
use vouch_walk::broken::Break;
use vouch_walk::recover::STRATEGIES;

use super::choices::{EngineWish, OnDisk, OnError, Showing, Verb, WalkerWish, Witnessing};
use super::signal::Signal;
use crate::events::chosen::{self, Chosen as ChosenEvents};
use crate::recovery::Chosen;

/// One profile to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub path: PathBuf,
    /// What it is written as; the path's ending says that.
    pub format: &'static Format,
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
    /// What pictures count, if the user chose it.
    pub measure: Option<&'static Measure>,
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
    pub events: ChosenEvents,
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
            measure: None,
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
            events: chosen::by_default(),
            terminal: None,
            late_ids: false,
            true_stacks: false,
            break_walker: None,
        }
    }
}
