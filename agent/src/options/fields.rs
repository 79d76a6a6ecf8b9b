//! Contains all options, as fields with their defaults.

use std::path::PathBuf;
use std::time::Duration;

use regex_lite::Regex;
use vouch_collect::choices::{Showing, Witnessing};
use vouch_formats::{Format, VirtualThreads};
use vouch_recording::Measure;
use vouch_report::Detail;
use vouch_report::options::pattern::TimedName;
use vouch_sampling::engine::choose::EngineWish;
use vouch_sampling::signal::Signal;
use vouch_unwind::recover::STRATEGIES;

use super::choices::{KernelWish, NativeWish, OnDisk, OnError, Verb, WalkerWish};
use crate::events::event_choice::{self, Chosen as ChosenEvents};
use crate::lab_hooks::LabOptions;
use crate::recovery::Chosen;

/// One profile to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    pub path: PathBuf,
    /// The name from which the path of each period is made.
    pub name: TimedName,
    /// The format of the file. The path's ending selects it.
    pub format: &'static Format,
}

/// The trust report's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub path: PathBuf,
    /// The name from which the path of each period is made.
    pub name: TimedName,
}

/// All options, with their defaults filled in.
#[derive(Debug, Clone)]
pub struct Options {
    pub verb: Verb,
    /// The profiles to write. The list is empty if the user named none: the agent then picks a
    /// default name.
    pub outputs: Vec<Output>,
    pub report: Option<Report>,
    /// A Flight Recorder file of the same run. Its events are added to the profiles.
    pub jfr: Option<PathBuf>,
    /// The measure that pictures count, if the user chose one.
    pub measure: Option<&'static Measure>,
    /// The paths of source texts. The texts are added to the profiles.
    pub sources: Vec<PathBuf>,
    pub on_disk: OnDisk,
    /// The maximum size of the recording on disk, in bytes.
    pub most_on_disk: u64,
    pub interval: Duration,
    /// The maximum part of the program's CPU time that sampling may take. Above it the interval
    /// becomes longer. `None` if the user chose an interval.
    pub budget: Option<f64>,
    /// Sampling may use this much CPU time before the budget applies.
    pub free: Duration,
    /// The interval at which threads are looked at for their wall-clock time. `None` measures none.
    pub wall: Option<Duration>,
    pub engine: EngineWish,
    pub signal: Signal,
    pub depth: usize,
    pub threads: Option<Regex>,
    pub start: Duration,
    pub duration: Option<Duration>,
    /// The length of a period. Each period has its own files.
    pub every: Option<Duration>,
    /// The limits on the files of earlier periods that stay: their age, and their bytes in all.
    pub max_age: Option<Duration>,
    pub max_bytes: Option<u64>,
    /// The options that distinguish this recording from another of the same program, as
    /// `key=value`.
    pub altered: Vec<String>,
    pub on_error: OnError,
    /// How detailed the report at the end is.
    pub detail: Detail,
    pub witness: Witnessing,
    pub showing: Showing,
    pub virtual_threads: VirtualThreads,
    pub walker: WalkerWish,
    pub native: NativeWish,
    pub kernel: KernelWish,
    /// The strategies that retry a failed walk.
    pub recovery: Chosen,
    /// The JVM events that are recorded.
    pub events: ChosenEvents,
    /// The folder through which the agent answers a command of `vouch`.
    pub terminal: Option<PathBuf>,
    /// What only tests set.
    pub lab: LabOptions,
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
            wall: None,
            engine: EngineWish::Auto,
            signal: Signal::default(),
            depth: 65_536,
            threads: None,
            start: Duration::ZERO,
            duration: None,
            every: None,
            max_age: None,
            max_bytes: None,
            altered: Vec::new(),
            on_error: OnError::default(),
            detail: Detail::default(),
            witness: Witnessing::Auto,
            showing: Showing::default(),
            virtual_threads: VirtualThreads::default(),
            walker: WalkerWish::default(),
            native: NativeWish::default(),
            kernel: KernelWish::default(),
            recovery: [true; STRATEGIES],
            events: event_choice::by_default(),
            terminal: None,
            lab: LabOptions::default(),
        }
    }
}
