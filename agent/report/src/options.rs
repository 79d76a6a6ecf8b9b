//! The options that there are: one row each, of which the agent's help and the command line's are
//! made.
//!
//! What this module never does: read an option's value. That is the agent's, which knows what it
//! can do; what is wrong with one is said by it.

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
        let told = ["recording", "recording-limit", "interval", "engine", "on-error"];
        matches!(self.beside, Beside::Start | Beside::Lab) && !told.contains(&self.name)
    }
}

/// The profile that is written when nobody names one.
pub const DEFAULT_OUT: &str = "vouch-%p.json.gz";

/// What the kernel calls the agent's thread, by which it is seen from outside whether there is a
/// recording.
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
pub static KEYS: [Key; 24] = [
    Key {
        again: true,
        ..writing(
            "out",
            "FILE",
            &[
                "write a profile; its ending sets the format: .json .json.gz .folded .html .svg.",
                "May be repeated. %p is the pid, %t the start time, %{NAME} the variable NAME.",
                "The default is vouch-%p.json.gz, or what the recording was started with",
            ],
        )
    },
    writing("report", "FILE.json", &["write the trust report as JSON"]),
    writing("jfr", "FILE.jfr", &["add the events of this run's Flight Recorder file"]),
    writing("sources", "PATH:…", &["add source text, from source trees, -sources.jar files or a JDK"]),
    of(
        "recording",
        "on",
        "on|keep|off",
        &[
            "keep a recording on disk, vouch-%p.vouch, for `vouch recover` if the JVM is",
            "killed: on, keep (also after the profile is written) or off",
        ],
    ),
    of("recording-limit", "1GB", "SIZE", &["limit the recording on disk"]),
    of(
        "interval",
        "1ms",
        "TIME",
        &["take a sample after this CPU time of a thread (50us to 10s; a default may grow)"],
    ),
    of("engine", "auto", "NAME", &["choose the source of signals: auto, perf, poll, timer or itimer"]),
    of(
        "signal",
        "SIGPROF",
        "NAME",
        &["sample threads by another signal, such as SIGUSR1, where SIGPROF is taken"],
    ),
    of("depth", "65536", "N", &["keep at most this many frames of a stack, from both ends (1 to 65536)"]),
    key("threads", "REGEX", &["sample only threads with a name that contains a match"]),
    key("start", "DELAY", &["begin this long after the JVM has started, or after attach (ms, s, m, h)"]),
    key("duration", "TIME", &["stop and write after this long (ms, s, m, h)"]),
    of(
        "witness",
        "sparing",
        "RATE",
        &["compare samples with GetStackTrace: off, sparing (< 0.1 % of the run), or 10/s"],
    ),
    of(
        "refuted",
        "isolate",
        "HOW",
        &[
            "show refuted stacks under a separate root (isolate), among the others (keep),",
            "or without their frames (drop)",
        ],
    ),
    of("names", "full", "HOW", &["write methods as com.foo.Bar.baz (full) or Bar.baz (short)"]),
    of(
        "walker",
        "auto",
        "WHO",
        &[
            "choose the walker: auto (Vouch's own, then AsyncGetCallTrace), asgct, own, or",
            "both, and proof decides between them",
        ],
    ),
    of(
        "recovery",
        "all",
        "WAYS",
        &[
            "search for a stack where a walker finds none: off, all, or some of",
            "left_java, top, probe, frame_pointer, joined by +",
        ],
    ),
    of(
        "events",
        "default",
        "WHAT",
        &[
            "record JVM events: off, all, or some of default, gc, monitor, wait, park,",
            "alloc, exception, class, jit, deopt, joined by + (see `vouch events`)",
        ],
    ),
    of(
        "vthreads",
        "carrier",
        "WHERE",
        &["show virtual threads on their carriers' tracks, or (own) on separate ones"],
    ),
    of(
        "on-error",
        "stop",
        "stop|run",
        &["stop a JVM that cannot be profiled at its start, or run it unprofiled (run)"],
    ),
    lab("lab"),
    lab("break"),
    Key { beside: Beside::Any, ..key(terminal::KEY, "FOLDER", &[]) },
];

/// Everything that may stand alone.
pub const WORDS: [&str; 11] =
    ["start", "stop", "dump", "status", "groups", "check", "lab", "quiet", "verbose", "help", "version"];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_options_has_a_row_for_each_and_no_other() {
        let page = include_str!("../../../docs/options.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        let options: Vec<&str> =
            rows.map(|(option, _)| option).filter(|option| option.contains('=')).collect();
        for key in explained() {
            let named = options.iter().any(|option| option.split('=').next() == Some(key.name));
            assert!(named, "docs/options.md has no row for {}=", key.name);
        }
        for option in options {
            let name = option.split('=').next().unwrap_or_default();
            assert!(find(name).is_some(), "docs/options.md has a row for {option}, which is no option");
        }
        for word in WORDS {
            let named =
                page.lines().any(|line| line.starts_with("| `") && line.contains(&format!("`{word}`")));
            assert!(named, "docs/options.md has no row for {word}");
        }
    }
}
