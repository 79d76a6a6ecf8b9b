//! The table of all options. The agent's help and the command's are made from it.
//!
//! This module does not parse values. Only the agent does, because only the agent can check them.

pub mod launcher;
pub mod pattern;
pub mod terminal;

/// The agent's commands that an option can be combined with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedWith {
    /// Commands that start a recording.
    Start,
    /// Commands that start a recording, and those that write one: `stop` and `dump`.
    Writing,
    /// Only the truth lab.
    Lab,
    /// Every command. The command `vouch` passes such an option, users do not.
    Any,
}

/// The name of an option, and what its help says.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    /// The kind of value, as the help shows it.
    pub value: &'static str,
    /// The default value. `None` if it is not a fixed text.
    pub default: Option<&'static str>,
    pub allowed_with: AllowedWith,
    /// True if the option can be repeated.
    pub is_repeatable: bool,
    /// The lines of the help beside the name.
    pub help: &'static [&'static str],
}

impl Key {
    /// True if two recordings with different values cannot be compared, and no other value of their
    /// reports shows the difference.
    pub fn alters(&self) -> bool {
        let in_report = ["recording", "recording-limit", "interval", "engine", "on-error"];
        matches!(self.allowed_with, AllowedWith::Start | AllowedWith::Lab) && !in_report.contains(&self.name)
    }
}

/// The name of the profile if the user sets none.
pub const DEFAULT_OUT: &str = "vouch-%p.json.gz";

/// The kernel's name for the agent's thread while it records nothing.
pub const IDLE_THREAD_NAME: &str = "Vouch";
/// The kernel's name for the agent's thread during a recording. By it other processes see that
/// there is one.
pub const RECORDING_THREAD_NAME: &str = "Vouch records";

const fn key(name: &'static str, value: &'static str, help: &'static [&'static str]) -> Key {
    Key { name, value, default: None, allowed_with: AllowedWith::Start, is_repeatable: false, help }
}

const fn with_default(
    name: &'static str,
    default: &'static str,
    value: &'static str,
    help: &'static [&'static str],
) -> Key {
    Key { default: Some(default), ..key(name, value, help) }
}

const fn writing(name: &'static str, value: &'static str, help: &'static [&'static str]) -> Key {
    Key { allowed_with: AllowedWith::Writing, ..key(name, value, help) }
}

const fn lab(name: &'static str) -> Key {
    Key { allowed_with: AllowedWith::Lab, ..key(name, "KIND", &[]) }
}

/// All options, in the order of the help.
pub static KEYS: [Key; 25] = [
    Key {
        is_repeatable: true,
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
    Key {
        default: Some("cpu"),
        ..writing(
            "measure",
            "NAME",
            &["choose what .folded and .svg count, and .html shows first: cpu or alloc"],
        )
    },
    writing("jfr", "FILE.jfr", &["add the events of this run's Flight Recorder file"]),
    writing("sources", "PATH:…", &["add source text, from source trees, -sources.jar files or a JDK"]),
    with_default(
        "recording",
        "on",
        "on|keep|off",
        &[
            "keep a recording on disk, vouch-%p.vouch, for `vouch recover` if the JVM is",
            "killed: on, keep (also after the profile is written) or off",
        ],
    ),
    with_default("recording-limit", "1GB", "SIZE", &["limit the recording on disk"]),
    with_default(
        "interval",
        "1ms",
        "TIME",
        &["take a sample after this CPU time of a thread (50us to 10s; a default may grow)"],
    ),
    with_default(
        "engine",
        "auto",
        "NAME",
        &["choose the source of signals: auto, perf, poll, timer or itimer"],
    ),
    with_default(
        "signal",
        "SIGPROF",
        "NAME",
        &["sample threads by another signal, such as SIGUSR1, where SIGPROF is taken"],
    ),
    with_default(
        "depth",
        "65536",
        "N",
        &["keep at most this many frames of a stack, from both ends (1 to 65536)"],
    ),
    key("threads", "REGEX", &["sample only threads with a name that contains a match"]),
    key("start", "DELAY", &["begin this long after the JVM has started, or after attach (ms, s, m, h)"]),
    key("duration", "TIME", &["stop and write after this long (ms, s, m, h)"]),
    with_default(
        "witness",
        "sparing",
        "RATE",
        &["compare samples with GetStackTrace: off, sparing (< 0.1 % of the run), or 10/s"],
    ),
    with_default(
        "refuted",
        "isolate",
        "HOW",
        &[
            "show refuted stacks under a separate root (isolate), among the others (keep),",
            "or without their frames (drop)",
        ],
    ),
    with_default("names", "full", "HOW", &["write methods as com.foo.Bar.baz (full) or Bar.baz (short)"]),
    with_default(
        "walker",
        "auto",
        "WHO",
        &[
            "choose the walker: auto (Vouch's own, then AsyncGetCallTrace), asgct, own, or",
            "both, and proof decides between them",
        ],
    ),
    with_default(
        "recovery",
        "all",
        "WAYS",
        &[
            "search for a stack where a walker finds none: off, all, or some of",
            "left_java, top, probe, frame_pointer, joined by +",
        ],
    ),
    with_default(
        "events",
        "default",
        "WHAT",
        &[
            "record JVM events: off, all, or some of default, gc, monitor, wait, park,",
            "alloc, exception, class, jit, deopt, joined by + (see `vouch events`)",
        ],
    ),
    with_default(
        "vthreads",
        "carrier",
        "WHERE",
        &["show virtual threads on their carriers' tracks, or (own) on separate ones"],
    ),
    with_default(
        "on-error",
        "stop",
        "stop|run",
        &["stop a JVM that cannot be profiled at its start, or run it unprofiled (run)"],
    ),
    lab("lab"),
    lab("break"),
    Key { allowed_with: AllowedWith::Any, ..key(terminal::KEY, "FOLDER", &[]) },
];

/// All words without a value: commands of the agent, and switches.
pub const WORDS: [&str; 11] =
    ["start", "stop", "dump", "status", "groups", "check", "lab", "quiet", "verbose", "help", "version"];

/// Returns the options that users may set.
pub fn offered() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| key.allowed_with != AllowedWith::Any)
}

/// Returns the options that the help explains.
pub fn explained() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| matches!(key.allowed_with, AllowedWith::Start | AllowedWith::Writing))
}

/// Returns the option with this name.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_page_has_exactly_one_row_for_each_option() {
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
