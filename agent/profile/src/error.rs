//! The errors of this crate. Except where a text names the file, it follows the file's name and a
//! colon.

use std::io;

use thiserror::Error;

/// The reason why a profile cannot be read, joined with others, or extended.
#[derive(Debug, Error)]
pub enum Error {
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error("{file}: {why}")]
    InFile { file: String, why: Box<Error> },
    #[error("its {table}: {why}")]
    InTable { table: &'static str, why: Box<Error> },
    #[error("it has no {0}")]
    Missing(String),
    #[error("its {key} is of another shape: {why}")]
    Shape { key: String, why: serde_json::Error },
    #[error("its {0} is no list")]
    NotAList(String),
    #[error("its {0} has columns of different lengths")]
    ColumnLengths(&'static str),
    #[error("{0} is not as long as it says")]
    ColumnLength(String),
    #[error("it has no row {row} in {table}")]
    NoRow { table: String, row: usize },
    #[error("its {0} has no row before its first")]
    NoCaller(&'static str),
    #[error("its {0} refers to what is not in it")]
    Dangling(&'static str),

    #[error("nothing is to be put together")]
    NothingToJoin,
    #[error("it has no track")]
    NoTrack,
    #[error("a track of it is of no process")]
    TrackWithoutProcess,
    #[error("a counter of it is of no process")]
    CounterWithoutProcess,
    #[error("a counter of it is of no track")]
    CounterWithoutTrack,
    #[error("the samples of a track have columns of different lengths")]
    SampleColumnLengths,
    #[error("a sample of it is in a context that is not there")]
    NoContext,
    #[error("a kind of its markers has no name")]
    MarkerKindWithoutName,
    #[error("a marker of it is of another shape: {0}")]
    MarkerShape(serde_json::Error),
    #[error("it has no trust report that this version of vouch can read: {0}")]
    TrustReport(Box<Error>),
    #[error("its samples are {recorder}'s, which Vouch has audited: they cannot be put together with others")]
    Audited { recorder: String },
    #[error(
        "{file} has a time of process {pid} that {other} has, too, and it would count twice: leave one of them out"
    )]
    CountedTwice { file: String, other: String, pid: String },
    #[error(
        "{file} has a time of process {pid} between two times of what was merged before: merge all files at once, as they were recorded"
    )]
    BetweenTwoTimes { file: String, pid: String },
    #[error(
        "{other} and {file} were written by versions of Vouch with different tables: write one anew from its recording with `vouch convert`"
    )]
    OtherTables { file: String, other: String },
    #[error(
        "{} was sampled every {} ms, {} every {} ms: profiles can be counted together only if one interval is a multiple of the other",
        .shortest.0, .shortest.1, .other.0, .other.1
    )]
    Intervals { shortest: (String, f64), other: (String, f64) },

    #[error("its sources are of another shape")]
    SourcesShape,
    #[error("it refers to what is not in it: it was damaged")]
    SourcesDamaged,

    #[error("the profile is not by Vouch: {0}")]
    NotByVouch(Box<Error>),
    #[error("it is a recording that was audited: its events are in it already")]
    AuditedRecording,
    /// Threads are recognised by ids that are unique only within a process.
    #[error(
        "a Flight Recorder file belongs to the profile of one process: add the file to that profile first, then merge the profiles"
    )]
    SeveralProcesses,
    #[error("the profile has no thread")]
    NoThread,
    #[error("no track")]
    NotATrack,
    #[error("its markers are of another shape")]
    MarkersShape,
    #[error("{} cannot be read: {}", .recording, unreadable(.why))]
    Unreadable { recording: String, why: io::Error },
    #[error("nothing could be read of {recording}: {}", .damage.as_deref().unwrap_or("it is empty"))]
    NothingReadable { recording: String, damage: Option<String> },
    #[error("{0} has chunks of more than one run: take them apart (jfr disassemble), and merge one")]
    SeveralRuns(String),
    #[error(
        "of {0} a part is in the profile already, as far as it had been written: merge it into the profile as that was before"
    )]
    PartMerged(String),
    #[error("{0} is in the profile already")]
    Merged(String),
    #[error("{recording} has no event {unknown}: it has {}{}", .known.join(", "), and_more(*.more))]
    UnknownEvent {
        recording: String,
        unknown: String,
        /// The first kinds of events that the recording has.
        known: Vec<String>,
        /// The number of its other kinds.
        more: usize,
    },
    #[error("the recording has no clock")]
    NoClock,
}

impl Error {
    /// Adds the name of the file that the error is about.
    #[must_use]
    pub fn in_file(self, file: &str) -> Self {
        Self::InFile { file: file.to_owned(), why: Box::new(self) }
    }
}

fn unreadable(why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::NotSeekable => "it is no file (a pipe cannot be read twice)".to_owned(),
        _ => why.to_string(),
    }
}

fn and_more(more: usize) -> String {
    if more > 0 { format!(" and {more} more") } else { String::new() }
}
