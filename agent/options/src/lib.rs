//! The options that there are: one row each, of which the agent's help and the command line's are made.
//!
//! What this crate never does: read an option's value. That is the agent's, which knows what it can do; what is wrong with one is said by it.
#![forbid(unsafe_code)]

pub mod launcher;
pub mod pattern;
pub mod terminal;

/// What an option has a meaning beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// The start of a recording.
    Start,
    /// That, and whatever writes what was recorded: `stop` and `dump`.
    Writing,
    /// The truth lab.
    Lab,
    /// Whatever a command of `vouch` asks for. No person writes it.
    Any,
}

/// What stands before a `=`, and what that does.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    /// What kind of value it takes, as a help has it.
    pub value: &'static str,
    /// The value that it has when nobody gives one, where that is a word.
    pub default: Option<&'static str>,
    pub beside: Beside,
    /// It may be given again.
    pub again: bool,
    /// What it does, in lines that fit beside its name.
    pub help: &'static [&'static str],
}

impl Key {
    /// Two recordings of one program differ by it, and no other figure of their reports tells so.
    pub fn alters(&self) -> bool {
        let told = ["recording", "recording-limit", "interval", "engine"];
        matches!(self.beside, Beside::Start | Beside::Lab) && !told.contains(&self.name)
    }
}

/// The profile that is written when nobody names one.
pub const DEFAULT_OUT: &str = "vouch-%p.json.gz";

/// What the kernel calls the agent's thread, by which it is seen from outside whether there is a recording.
pub const RESTING: &str = "Vouch";
pub const RECORDING: &str = "Vouch records";

const fn key(name: &'static str, value: &'static str, help: &'static [&'static str]) -> Key {
    Key { name, value, default: None, beside: Beside::Start, again: false, help }
}

const fn of(
    name: &'static str,
    default: &'static str,
    value: &'static str,
    help: &'static [&'static str],
) -> Key {
    Key { default: Some(default), ..key(name, value, help) }
}

const fn writing(name: &'static str, value: &'static str, help: &'static [&'static str]) -> Key {
    Key { beside: Beside::Writing, ..key(name, value, help) }
}

const fn lab(name: &'static str) -> Key {
    Key { beside: Beside::Lab, ..key(name, "KIND", &[]) }
}

/// All of them, in the order in which they are explained.
pub static KEYS: [Key; 22] = [
    Key {
        again: true,
        ..writing(
            "out",
            "FILE",
            &[
                "a profile, by its ending: .json, .json.gz, .folded, .html, .svg; give several.",
                "%p is the pid, %t the start time, %{NAME} an environment variable.",
                "Without one, vouch-%p.json.gz, or what the recording was started with",
            ],
        )
    },
    writing("report", "FILE.json", &["trust report for machines"]),
    writing("jfr", "FILE.jfr", &["a Flight Recorder file of this run, whose events are put in, too"]),
    writing("sources", "PATH:…", &["source trees, -sources.jar files, a JDK: their text is put in"]),
    of(
        "recording",
        "on",
        "on|keep|off",
        &[
            "what survives a JVM that is killed, vouch-%p.vouch, of which `vouch recover`",
            "makes the profile: on, keep or off",
        ],
    ),
    of("recording-limit", "1GB", "SIZE", &["the most that it may take"]),
    of(
        "interval",
        "1ms",
        "TIME",
        &["CPU time between two samples of a thread (50us to 10s; may grow if not given)"],
    ),
    of("engine", "auto", "NAME", &["auto, perf, timer or itimer"]),
    of("depth", "65536", "N", &["most frames of a stack that are kept: its two ends (1 to 65536)"]),
    key("threads", "REGEX", &["sample only threads whose name has a part that matches"]),
    key("start", "DELAY", &["begin this long after the JVM has started, or was attached to (ms, s, m, h)"]),
    key("duration", "TIME", &["stop and write after this long (ms, s, m, h)"]),
    of(
        "witness",
        "sparing",
        "RATE",
        &[
            "how often a sample is compared with GetStackTrace: off, or as in 10/s;",
            "sparing is as often as costs less than a thousandth of the run",
        ],
    ),
    of(
        "refuted",
        "isolate",
        "HOW",
        &[
            "stacks that bytecode or JVM contradict: isolate shows them under a root of",
            "their own, keep among the others, drop without their frames",
        ],
    ),
    of(
        "names",
        "full",
        "HOW",
        &[
            "how methods are called in a profile: full (com.foo.Bar.baz) or short (Bar.baz:",
            "then the file's name has the package; folded stacks have none)",
        ],
    ),
    of(
        "walker",
        "auto",
        "WHO",
        &[
            "who walks a stack: auto (Vouch's own walker, and where that finds none",
            "AsyncGetCallTrace), asgct, own, or both: then proof says whose account holds",
        ],
    ),
    of(
        "recovery",
        "all",
        "WAYS",
        &[
            "how a stack is looked for where a walker finds none: off, all, or some of",
            "left_java, top, probe, frame_pointer, joined by +",
        ],
    ),
    of(
        "events",
        "default",
        "WHAT",
        &[
            "what the JVM does meanwhile: off, all, or some of default, gc, monitor, wait,",
            "park, alloc, exception, class, jit, deopt, joined by + (see `vouch events`)",
        ],
    ),
    of(
        "vthreads",
        "carrier",
        "WHERE",
        &["virtual threads: on the tracks of their carriers, or (own) on their own"],
    ),
    lab("lab"),
    lab("break"),
    Key { beside: Beside::Any, ..key(terminal::KEY, "FOLDER", &[]) },
];

/// Everything that may stand alone.
pub const WORDS: [&str; 10] =
    ["start", "stop", "dump", "status", "groups", "check", "lab", "quiet", "help", "version"];

/// The keys that a person may give.
pub fn offered() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.beside != Beside::Any)
}

/// The keys that a help explains.
pub fn explained() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| matches!(key.beside, Beside::Start | Beside::Writing))
}

/// The key of this name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}
