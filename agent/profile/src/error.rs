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
    #[error("its {key} has another format: {why}")]
    Shape { key: String, why: serde_json::Error },
    #[error("its {0} is not a list")]
    NotAList(String),
    #[error("its {0} has columns of different lengths")]
    ColumnLengths(&'static str),
    #[error("its column {0} has another length than its table")]
    ColumnLength(String),
    #[error("it has no row {row} in {table}")]
    NoRow { table: String, row: usize },
    #[error("a row of its {0} refers to a row before the first")]
    NoCaller(&'static str),
    #[error("its {0} refers to rows that do not exist")]
    Dangling(&'static str),

    #[error("there are no profiles to join")]
    NothingToJoin,
    #[error("it has no threads")]
    NoTrack,
    #[error("a thread refers to an unknown process")]
    TrackWithoutProcess,
    #[error("a counter refers to an unknown process")]
    CounterWithoutProcess,
    #[error("a counter refers to an unknown thread")]
    CounterWithoutTrack,
    #[error("a thread's samples have columns of different lengths")]
    SampleColumnLengths,
    #[error("a sample refers to an unknown context")]
    NoContext,
    #[error("a kind of marker has no name")]
    MarkerKindWithoutName,
    #[error("a marker has another format: {0}")]
    MarkerShape(serde_json::Error),
    #[error("it has no trust report that this version of vouch can read: {0}")]
    TrustReport(Box<Error>),
    #[error("its samples are by {recorder}, and Vouch audited them: they cannot be joined with others")]
    Audited { recorder: String },
    #[error(
        "{file} and {other} have samples of process {pid} from the same time, which would count twice: leave one of them out"
    )]
    CountedTwice { file: String, other: String, pid: String },
    #[error(
        "{file} has samples of process {pid} from between two recordings that are already merged: merge all original files at once"
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

    #[error("its sources have another format")]
    SourcesShape,
    #[error("it is damaged: it refers to rows that do not exist")]
    SourcesDamaged,

    #[error("the profile is not by Vouch: {0}")]
    NotByVouch(Box<Error>),
    #[error("it is the result of an audit, and contains its events already")]
    AuditedRecording,
    /// Threads are recognised by ids that are unique only within a process.
    #[error(
        "a Flight Recorder file belongs to the profile of one process: add the file to that profile first, then merge the profiles"
    )]
    SeveralProcesses,
    #[error("the profile has no threads")]
    NoThread,
    #[error("not a thread")]
    NotATrack,
    #[error("its markers have another format")]
    MarkersShape,
    #[error("{} cannot be read: {}", .recording, unreadable(.why))]
    Unreadable { recording: String, why: io::Error },
    #[error("{recording} has no readable part: {}", .damage.as_deref().unwrap_or("it is empty"))]
    NothingReadable { recording: String, damage: Option<String> },
    #[error("{0} has chunks of more than one run: separate them (jfr disassemble), and merge one")]
    SeveralRuns(String),
    #[error(
        "a part of {0} was merged into the profile before {0} was complete: merge it into the original profile"
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
