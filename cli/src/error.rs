//! The errors of the command. Each text is a sentence for the user, or the rest of one that
//! [`Error::about`] or [`Error::of_file`] begins with a file's name.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The reason why a verb fails.
#[derive(Debug, Error)]
pub enum Error {
    // What other crates find.
    #[error(transparent)]
    Audit(#[from] vouch_audit::Error),
    #[error(transparent)]
    Classes(#[from] vouch_classes::Error),
    #[error(transparent)]
    Recording(#[from] vouch_log::Error),
    #[error(transparent)]
    Option(#[from] vouch_report::Error),
    #[error(transparent)]
    Profile(#[from] vouch_profile::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),

    // An error with what it is about, or with what to do next.
    #[error("{path}: {why}")]
    About { path: PathBuf, why: Box<Error> },
    #[error("{path} {why}")]
    OfFile { path: PathBuf, why: Box<Error> },
    #[error("the recording {0}")]
    OfRecording(Box<Error>),
    #[error("{key}={value}: {why}")]
    OptionValue { key: &'static str, value: String, why: Box<Error> },
    #[error("{}", joined(.0))]
    Several(Vec<Error>),
    #[error("{why}; its part so far is in {folder}, as process {pid} sees it")]
    Kept { why: Box<Error>, folder: PathBuf, pid: u32 },
    #[error("{why}; the recording goes on: `vouch stop {pid} --out FILE` ends it elsewhere")]
    NotStopped { why: Box<Error>, pid: u32 },

    // Wrong usage.
    #[error("write a field, `=` and a value, such as user=moe")]
    Condition,
    #[error("must be a number, or w and a number, such as 7 or w1")]
    RefutationNumber,
    #[error("not a regular expression: {0}")]
    Regex(regex_lite::Error),
    #[error("must end in {0}")]
    Ending(String),
    #[error("{part}: a comma separates the agent's options: {advice}")]
    Comma { part: String, advice: &'static str },
    #[error("a program is missing")]
    NoProgram,
    #[error("unknown option {0}: `vouch run --help` lists them")]
    UnknownRunOption(PathBuf),
    #[error("{}; `vouch run --help` lists the options", joined(.0))]
    RunOptions(Vec<Error>),
    #[error(
        "{variable} brings the agent into every JVM already, by another `vouch run` perhaps: one is enough"
    )]
    AgentTwice { variable: &'static str },
    #[error(
        "{agent}: a quotation mark cannot be passed to a JVM that another program starts: choose another path"
    )]
    QuotationMark { agent: String },
    #[error("{0} is a folder: name the recordings (.jfr) in it")]
    FolderToAudit(PathBuf),
    #[error("{0} does not exist")]
    NotThere(PathBuf),
    #[error("--report and --out are for the result of one audit: use them without --compare")]
    CompareWithOutput,
    #[error(
        "{0} has only the names and lines of frames: audit it alone, or compare several files with --compare"
    )]
    NamesAmongOthers(PathBuf),
    #[error(
        "{0} cannot be converted into a profile, because its stacks have no times: --report FILE.json lists all refuted stacks"
    )]
    NamesAsProfile(PathBuf),
    #[error(
        "--time needs more than one run (--before, --after): one run of each side does not show how fast the machine was"
    )]
    TimeOfOneRun,
    #[error("--time compares times, and {path} has {what}")]
    NoTimes { path: String, what: String },
    #[error("{one} and {other} are the same run: pass each run once")]
    SameRun { one: String, other: String },
    #[error("unknown event {word}: use one of {}, or one of Flight Recorder's (`vouch events jfr` lists them)", .known.join(", "))]
    UnknownEvent { word: String, known: Vec<&'static str> },
    #[error("name the profiles to join")]
    NothingToJoin,
    #[error("name at least two files: profiles, or a profile and a Flight Recorder file (.jfr)")]
    OneFileToMerge,
    #[error("--events and --most need a Flight Recorder file (.jfr) among the files")]
    MergeWithoutEvents,
    #[error("{0} is named twice, and would count twice")]
    NamedTwice(PathBuf),
    #[error("--out and --report name the files of one profile: pass only one recording with them")]
    OutputsOfSeveral,
    #[error("--idle: {0}")]
    Idle(std::time::TryFromFloatSecsError),
    #[error("--front-end {address}: must be an address, as in {example}")]
    FrontEnd { address: String, example: &'static str },

    // A file that cannot be read.
    #[error("{path} cannot be read: {why}")]
    Unreadable { path: PathBuf, why: io::Error },
    #[error("{path} cannot be read: {why}")]
    UnreadableJfr { path: PathBuf, why: vouch_jfr::Error },
    #[error("{0} is a recording by Vouch, and an audit needs a profile: make one with `vouch recover {0}`")]
    OwnRecording(PathBuf),
    #[error(
        "{0} cannot be audited: it is neither a Flight Recorder file (.jfr; async-profiler writes one, too) nor a profile by Vouch, \
         folded stacks or pprof (unpack a compressed .jfr first)"
    )]
    NotAuditable(PathBuf),
    #[error("{0} is a Flight Recorder file: `vouch merge` puts its events into a profile of the same run")]
    FlightRecorderToConvert(PathBuf),
    #[error(
        "{0} is not a recording (.vouch), and only recordings can be converted: run with --recording keep, or with --out once for each format"
    )]
    NotARecording(PathBuf),
    #[error(
        "{0} cannot become rows of a table: it is neither a recording (.vouch) nor an OpenTelemetry profile: record with --out FILE.otlp.gz"
    )]
    NoRows(PathBuf),
    #[error(
        "{0} has neither OpenTelemetry profiles (.otlp.gz) nor recordings (.vouch): record with --out {0}/app-%p-%t.otlp.gz"
    )]
    FolderWithoutProfiles(PathBuf),
    #[error(
        "several files can be converted only into one table: use --out FILE.parquet alone, or name one recording"
    )]
    SeveralToConvert,
    #[error("{0} is the recording of a process that still runs, and has no end yet")]
    StillRecorded(PathBuf),
    #[error(
        "--service, --service-version and --host are for a table: use them with --out FILE.parquet alone"
    )]
    ServiceWithoutTable,
    #[error(
        "{path} is too large: a profile of a table may have {most_mib} MiB, unpacked: record with a shorter every="
    )]
    OtlpTooLarge { path: PathBuf, most_mib: u64 },
    #[error("{path} is a damaged OpenTelemetry profile: {why}; leave it out")]
    DamagedOtlp { path: PathBuf, why: io::Error },
    #[error("{0} is a recording: `vouch recover {0} --out FILE.json` makes the profile of it")]
    GroupsOfRecording(PathBuf),
    #[error("{0} is a recording: `vouch recover {0}` makes a profile of it")]
    IsRecording(PathBuf),
    #[error(
        "{0} is a Flight Recorder file: `vouch audit {0} --out FILE` makes a profile of it, `vouch merge` puts it into one"
    )]
    IsFlightRecorder(PathBuf),
    #[error("{path} is a damaged or incomplete gzip file: {why}")]
    DamagedGzip { path: PathBuf, why: serde_json::Error },
    #[error("{path} cannot be read: {why}")]
    UnreadableJson { path: PathBuf, why: serde_json::Error },
    #[error("{path} is incomplete JSON: {why}")]
    JsonCutShort { path: PathBuf, why: serde_json::Error },
    #[error("{path} is not JSON, so it is neither a trust report nor a profile: {why}")]
    NotJson { path: PathBuf, why: serde_json::Error },
    #[error(
        "{path} is {what}, which this command does not read: use the .json.gz or .json file of the same run, or make one from its recording (`vouch recover FILE.vouch`)"
    )]
    OtherFormat { path: PathBuf, what: &'static str },
    #[error("{0} is not a profile (out=…) by Vouch")]
    NotAProfile(PathBuf),
    #[error("{0} is neither a trust report (report=…) nor a profile (out=…) by Vouch")]
    NeitherReportNorProfile(PathBuf),
    #[error("{0} is a profile without a trust report: another tool wrote it, or an older version of Vouch")]
    NoTrustReport(PathBuf),
    #[error("{0} has a trust report in a format that this version of vouch cannot read: use a newer version")]
    TrustReportShape(PathBuf),
    #[error(
        "{0} has a trust report without refutations, which an older version of Vouch wrote: record again"
    )]
    NoRefutations(PathBuf),
    #[error("{path} has refutations in a format that this version of vouch cannot read: {why}")]
    RefutationsShape { path: PathBuf, why: serde_json::Error },
    #[error("{path} has groups in a format that this version of vouch cannot read: {why}")]
    GroupsShape { path: PathBuf, why: serde_json::Error },
    #[error("{0} refers to rows that it does not have: it was damaged, or written by another tool")]
    DamagedProfile(PathBuf),
    #[error("is not a build of the front-end: it has no {index}")]
    NotAFrontEnd { index: &'static str },
    #[error("{path} is a damaged pprof file: {why}")]
    DamagedPprof { path: PathBuf, why: prost::DecodeError },
    #[error(
        "{path} is too large: of pprof files at most {most_mib} MiB, unpacked, can be read (`go tool pprof` reads more)"
    )]
    PprofTooLarge { path: PathBuf, most_mib: u64 },
    #[error(
        "{path} has too many samples: of pprof files at most {most} can be read (`go tool pprof` reads more)"
    )]
    PprofSamples { path: PathBuf, most: u64 },
    #[error("{0} has values below 0, so it is a difference of profiles: only a profile can be counted")]
    NegativePprof(PathBuf),

    // A file that has not what is asked for.
    #[error(
        "{0} has samples neither of a time nor of an event: --measure alloc counts its allocations, if it has any"
    )]
    NoTimeInPprof(PathBuf),
    #[error(
        "--from and --to need the times of samples, and a pprof file has none: use the .json.gz file of the run"
    )]
    SpanWithoutTimes,
    #[error(
        "a comparison needs the times of samples, and a pprof file has none: compare the .json.gz files of the runs"
    )]
    DiffWithoutTimes,
    #[error("{0} has no allocations: record them with events=alloc, on JDK 11 or newer")]
    NoAllocations(PathBuf),
    #[error("{0} has no wall-clock time: record it with wall=on")]
    NoWallClock(PathBuf),
    #[error(
        "{0} has no objects that survived a collection: record them with events=alloc, on JDK 11 or newer"
    )]
    NoLiveObjects(PathBuf),
    #[error("{0} has no waits for locks: record them with events=lock, in a program in which threads wait")]
    NoLocks(PathBuf),
    #[error("{0} has no exceptions: record them with events=exception, in a program that creates some")]
    NoExceptions(PathBuf),
    #[error("no thread name matches: the first threads are {}", .0.join(", "))]
    NoSuchThread(Vec<String>),
    #[error("it has no samples")]
    NoSample,
    #[error("no thread with such a name has a sample")]
    NoSampleOfThread,
    #[error("no sample has such a context")]
    NoSampleOfContext,
    #[error("no sample matches: {0}")]
    NoSampleSelected(String),
    #[error("no method in a counted sample matches {0}")]
    NoSuchMethod(String),
    #[error("--state needs --measure wall: only wall-clock time has the states of threads")]
    StateWithoutWall,
    #[error("it has no such samples, so there is nothing to compare")]
    NothingToCompare,
    #[error("this profile has no contexts to group by: the program sets none (docs/contexts.md)")]
    NoContexts,
    #[error("no context has a field {field}: the fields are {}", .known.join(", "))]
    NoSuchField { field: String, known: Vec<String> },
    #[error("{path} has no w{place}: the JVM contradicted no stack in it")]
    NothingContradicted { path: PathBuf, place: usize },
    #[error(
        "{path} has no w{place}: the stacks that the JVM contradicted are w1 to w{last}{} (vouch explain {path} lists them)",
        kept(*.limit)
    )]
    NoSuchContradiction { path: PathBuf, place: usize, last: usize, limit: Option<usize> },
    #[error(
        "{path} has no refutation {number}: its numbers are {least} to {most}{} (vouch explain {path} lists them)",
        kept(*.limit)
    )]
    NoSuchRefutation { path: PathBuf, number: usize, least: usize, most: usize, limit: Option<usize> },
    #[error("{path} has no refutation {number}: no stack in it was refuted")]
    NothingRefuted { path: PathBuf, number: usize },
    #[error("{recording} adds nothing to {path}, and no file was written: {}{}", .reasons.join("; "), if *.is_other_run { ": name the recording of the same run" } else { "" })]
    NothingToAdd {
        recording: String,
        path: PathBuf,
        reasons: Vec<String>,
        /// True if the events are from another time than the profile.
        is_other_run: bool,
    },

    // A file that cannot be written.
    #[error("cannot be converted into a profile")]
    NoProfileFormat,
    #[error("cannot be converted into a profile: {0}")]
    Replay(io::Error),
    #[error("the output could not be written: {0}")]
    Answer(io::Error),
    #[error(
        "an assistant starts `vouch mcp` and asks it by its standard input: add it to your assistant as an MCP server (docs/assistants.md)"
    )]
    McpOnTerminal,
    #[error("the assistant could not be answered: {0}")]
    Mcp(io::Error),
    #[error("{path} cannot be written: {why}")]
    Unwritable { path: PathBuf, why: io::Error },
    #[error("cannot be converted into {name}: its name must end in {endings}")]
    OutputEnding { name: String, endings: String },
    #[error("cannot be converted into the report {0}: its name must end in .json")]
    ReportEnding(PathBuf),
    #[error("cannot be converted into {0}")]
    OutputUnwritable(vouch_log::Error),
    #[error("is the recording itself: name another file than {0}")]
    OverRecording(PathBuf),
    #[error("cannot be written twice to {0}: name two files")]
    OutputTwice(PathBuf),
    #[error("cannot be written to {path}: {why}{}", is_written(.written))]
    OutputFailed {
        path: PathBuf,
        why: io::Error,
        /// The files that were written before.
        written: Vec<String>,
    },
    #[error("{0}: the output is a profile: end its name in .json or .json.gz")]
    ProfileEnding(PathBuf),
    #[error("{path}: the output is a picture: end its name in {endings}")]
    PictureEnding { path: PathBuf, endings: &'static str },
    #[error(
        "{0}: a page needs data that a profile does not have: run with --out {0}, or convert a recording (`vouch convert FILE.vouch --out {0}`)"
    )]
    PageOfProfile(PathBuf),
    #[error("{0} is one of the files to merge: choose another output with --out")]
    OverMerged(PathBuf),
    #[error("{0} is the recording: choose another output with --out")]
    OverMergedRecording(PathBuf),
    #[error("the two cannot be drawn as one: {0}")]
    Drawing(io::Error),

    // Profiles to send.
    #[error("name the OpenTelemetry Collector: --to http://HOST:4318, or set {0}")]
    NoCollector(&'static str),
    #[error("the address {address} cannot be used: {why}")]
    CollectorAddress { address: String, why: &'static str },
    #[error("write a header as NAME: VALUE, or name a file with such lines as @FILE")]
    HeaderShape,
    #[error("the header {name} cannot be sent: {why}")]
    Header { name: String, why: &'static str },
    #[error("{0} has another form than name=value,name=value, with % and two digits for special characters")]
    HeaderVariable(&'static str),
    #[error("{variable} names {path}, which has no certificate in PEM format")]
    NoCertificate { variable: &'static str, path: PathBuf },
    #[error(
        "this system has no certificates, which https needs: install the package ca-certificates, or name a PEM file in {0}"
    )]
    NoSystemCertificates(&'static str),
    #[error("{0} does not exist: create it, or name the folder of out=FOLDER/app-%p-%t.otlp.gz")]
    NoSpool(PathBuf),
    #[error("{0} is a file: name the folder of the profiles")]
    SpoolNotAFolder(PathBuf),
    #[error(
        "{folder} cannot be changed, so sent profiles could not be removed: {why}; run vouch send as the user of the JVM"
    )]
    SpoolUnwritable { folder: PathBuf, why: io::Error },
    #[error("another vouch send is sending the profiles of {0}: end it first")]
    SpoolInUse(PathBuf),
    #[error("{0} has no profile to send (.otlp.gz): record with out={0}/app-%p-%t.otlp.gz")]
    NothingToSend(PathBuf),
    #[error("cannot send {to}: {why}")]
    CollectorFailed { to: String, why: String },
    #[error("not every profile was sent: see the lines above")]
    SomeNotSent,

    // This machine.
    #[error("cannot find the path of this program: {0}")]
    OwnPath(io::Error),
    #[error("{variable} names {path}, which does not exist")]
    NamedAgentMissing { variable: &'static str, path: PathBuf },
    #[error("{variable} names {path}, which is for {other}, and this JVM runs on {libc}")]
    NamedAgentLibc { variable: &'static str, path: PathBuf, other: String, libc: String },
    #[error(
        "the agent for a JVM of {libc} is neither in {bin} nor in {lib}, nor in a folder musl there: keep bin and lib of a release together, \
         build it (cargo build --release), or name it in {variable}"
    )]
    NoAgent { libc: String, bin: PathBuf, lib: PathBuf, variable: &'static str },
    #[error("the working folder was deleted: change to another folder, or use absolute paths")]
    FolderGone,
    #[error(
        "the name of the working folder is not UTF-8, so it cannot be passed to a JVM: change to another folder"
    )]
    FolderNotUtf8,
    #[error("cannot create a temporary folder: {0}")]
    NoTemporaryFolder(io::Error),
    #[error("cannot create files in {folder}: {why}")]
    ReplyFolder { folder: PathBuf, why: io::Error },
    #[error("cannot wait for Ctrl-C: {0}")]
    CtrlC(io::Error),
    #[error("cannot pass signals on to the program: {0}")]
    Signals(io::Error),
    #[error("cannot find out how the program ended: {0}")]
    ProgramEnd(io::Error),
    #[error(
        "no java is on PATH, and JAVA_HOME is not set to a JDK: set it, or pass the process id of a running JVM"
    )]
    NoJava,
    #[error("cannot run {java}: {why}")]
    JavaUnusable { java: PathBuf, why: io::Error },
    #[error("{java} was started, but the agent printed nothing; the JVM printed: {last}")]
    AgentSilent { java: PathBuf, last: String },
    #[error("port {port}: {why}: choose another one")]
    Port { port: u16, why: io::Error },

    // The JVM to attach to.
    #[error("the name is empty: pass a process id, or a main class or jar")]
    EmptyName,
    #[error("{pid} is a thread of process {process}: pass {process}")]
    ThreadId { pid: u32, process: u32 },
    #[error("process {0} does not exist: `vouch list` prints the running JVMs")]
    NoProcess(u32),
    #[error("process {0} is not a JVM: `vouch list` prints the running JVMs")]
    NotAJvm(u32),
    #[error("process {0} cannot be examined, not even by root: attach to it from inside its container")]
    HiddenFromRoot(u32),
    #[error("process {0} belongs to another user: attach as that user, or as root")]
    OtherUsers(u32),
    #[error(
        "no JVM of this user has the name {0}: `vouch list` prints their names (root also sees the JVMs of other users)"
    )]
    NoJvmOfUser(String),
    #[error("no running JVM has the name {0}: `vouch list` prints their names")]
    NoJvm(String),
    #[error("several JVMs have the name {name}: pass the process id, one of {}", .pids.join(", "))]
    SeveralJvms { name: String, pids: Vec<String> },
    #[error("no recording is running in process {0}: `vouch start {0}` begins one")]
    NoRecording(u32),
    #[error("process {0} was never recorded: `vouch start {0}` begins a recording")]
    NeverRecorded(u32),
    #[error("process {pid} did not answer with its groups, but with: {}", .said.join("; "))]
    NoGroups { pid: u32, said: Vec<String> },
    #[error("{name}: process {pid} has another root folder (a container): use an absolute path in it")]
    RelativeInContainer { name: String, pid: u32 },
    #[error(
        "{name}: process {pid} has another root folder (a container): use an absolute path in it, or use `vouch attach`"
    )]
    RelativeOfStart { name: String, pid: u32 },
    #[error("each period would replace it: put %t into the name, as in app-%t.json.gz")]
    TimeMissing,
    #[error(
        "process {0} is another user's or in a container, and writes the files of --every itself: use `vouch start {0} --every TIME --out /PATH/IN/IT/app-%t.json.gz`"
    )]
    PeriodsElsewhere(u32),

    // The attach protocol, and what the JVM answers.
    #[error("the path of the agent's library is not UTF-8, so it cannot be passed to a JVM: move it")]
    LibraryNotUtf8,
    #[error(
        "a running JVM accepts at most {most} characters of options, and these are {length}: shorten them"
    )]
    OptionsTooLong { most: usize, length: usize },
    #[error(
        "a running JVM accepts at most {most} characters of options, and these are {length}: shorten them (JDK 24 and later accept more)"
    )]
    OptionsTooLongBefore24 { most: usize, length: usize },
    #[error("process {pid} sent an unknown answer: {answer:?}")]
    UnknownAnswer { pid: u32, answer: String },
    #[error("process {0} is an OpenJ9 JVM: Vouch profiles only HotSpot")]
    OpenJ9(u32),
    #[error(
        "process {0} runs with -XX:+DisableAttachMechanism, so it accepts no commands: start it without that option, or with `vouch run`"
    )]
    AttachDisabled(u32),
    #[error("process {0} is stopped: continue it first (kill -CONT {0})")]
    Stopped(u32),
    #[error("process {0} has ended")]
    Ended(u32),
    #[error("{folder} of process {pid}, where the JVM listens, cannot be read: {why}")]
    SocketFolder { folder: &'static str, pid: u32, why: io::Error },
    #[error("cannot connect to process {pid}: {why}")]
    SocketRefused { pid: u32, why: io::Error },
    #[error(
        "the signal that asks a JVM to listen would end process {0}: it is just starting, or runs with -Xrs; try again, or start \
         it with `vouch run`"
    )]
    QuitUnhandled(u32),
    #[error("no process has that number")]
    NoSuchNumber,
    #[error("cannot ask process {pid} to listen: {why}")]
    NotWoken { pid: u32, why: io::Error },
    #[error(
        "cannot ask process {pid} to listen: {name} can be created neither in /tmp nor in its folder: {why}"
    )]
    NoTrigger { pid: u32, name: String, why: io::Error },
    #[error(
        "process {pid} did not answer within {seconds} s: it hangs, cannot reach a safepoint, or is still starting"
    )]
    NotListening { pid: u32, seconds: u64 },
    #[error("cannot check which process listens at the socket of process {pid}: {why}")]
    UnknownListener { pid: u32, why: io::Error },
    #[error(
        "the attach socket of process {pid} in /tmp belongs to process {other}: vouch sent nothing to it; delete that socket"
    )]
    OtherListener { pid: u32, other: String },
    #[error("process {0} received the command and did not answer: it hangs, or cannot reach a safepoint")]
    NoAnswer(u32),
    #[error("process {pid} received the command, but its answer could not be read: {why}")]
    AnswerFailed { pid: u32, why: io::Error },
    #[error("cannot act as user {uid}: {why}")]
    OtherUser { uid: u32, why: io::Error },
    #[error("vouch itself failed: please report it with the lines above")]
    Panicked,
    #[error(
        "process {0} accepts no agent while it runs (-XX:-EnableDynamicAgentLoading): start it without that option, or with `vouch run`"
    )]
    NoDynamicLoading(u32),
    #[error(
        "process {0} could not load the agent, and gave no reason: check that its user can read the agent"
    )]
    NotLoadedSilently(u32),
    /// The JVM's own words.
    #[error("process {pid} could not load the agent: {why}")]
    NotLoaded { pid: u32, why: String },
    #[error(
        "the agent in process {0} refused, and printed the reason on that process's stderr: it may be another version than this `vouch`"
    )]
    AgentRefusesElsewhere(u32),
    /// The agent's own words.
    #[error("{}", .0.join("; "))]
    AgentRefuses(Vec<String>),

    // The end of a recording.
    #[error("the JVM has ended, and its recording is lost")]
    RecordingLost,
    #[error("the JVM has ended, and only some of the requested files could be made from its recording")]
    SomeFilesMade,
    #[error("the recording never began: see the lines above")]
    NeverBegan,
    #[error("not every file could be written where it should be: see the lines above")]
    NotAllWritten,
    #[error("{0} does not exist: the command that ended the recording chose another file")]
    WrittenElsewhere(PathBuf),
    #[error("cannot copy {path} from the process: {why}")]
    NotFetched { path: PathBuf, why: io::Error },
    #[error("cannot copy the recording from the process: {0}")]
    RecordingNotFetched(io::Error),
}

impl Error {
    /// Adds the file that the error is about, as `FILE: WHY`.
    pub fn about(self, path: &Path) -> Self {
        Self::About { path: path.to_owned(), why: Box::new(self) }
    }

    /// Begins the sentence with the file, as `FILE cannot be read`.
    pub fn of_file(self, path: &Path) -> Self {
        Self::OfFile { path: path.to_owned(), why: Box::new(self) }
    }

    pub fn unreadable(path: &Path, why: io::Error) -> Self {
        Self::Unreadable { path: path.to_owned(), why }
    }
}

fn joined(errors: &[Error]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn kept(limit: Option<usize>) -> String {
    limit.map_or_else(String::new, |limit| format!("; it keeps the {limit} most frequent"))
}

fn is_written(files: &[String]) -> String {
    if files.is_empty() { String::new() } else { format!("; {} is written", files.join(", ")) }
}
