//! The table of all options. The agent's help and the command's are made from it.
//!
//! This module checks only how a value is written, so that the command finds a mistake before it
//! starts a JVM. The agent checks later whether it can use the value.

pub mod launcher;
pub mod pattern;
pub mod terminal;
pub mod value;

use value::Form;

/// The commands of the agent that an option can be combined with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedWith {
    /// The commands that start a recording.
    Start,
    /// The commands that start a recording, and those that write a profile: `stop` and `dump`.
    Writing,
    /// Only the truth lab, which tests the profiler, uses the option.
    Lab,
    /// Every command of the agent. Only the command `vouch` passes such an option; users do not.
    Any,
}

/// An option of the agent, with the lines of its help.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    /// The placeholder for the option's value in the help, such as `FILE`.
    pub value: &'static str,
    /// The option's default value, or `None` if the default is not a fixed text.
    pub default: Option<&'static str>,
    pub allowed_with: AllowedWith,
    /// The way in which the option's value is written.
    pub form: Form,
    /// True if only the long help lists the option.
    pub is_rare: bool,
    /// True if the option may be passed several times.
    pub is_repeatable: bool,
    /// The lines that explain the option in the help. `{endings}` is replaced by the endings of all
    /// file formats.
    help: &'static [&'static str],
}

impl Key {
    /// Returns a copy of the option with another form for its value.
    const fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Returns a copy of the option that the short help does not list.
    const fn rare(self) -> Self {
        Self { is_rare: true, ..self }
    }

    /// Returns the lines that explain the option in the help. `endings` lists the file name endings
    /// of all formats.
    pub fn help(&self, endings: &str) -> impl Iterator<Item = String> {
        self.help.iter().map(move |line| line.replace("{endings}", endings))
    }

    /// True if recordings with different values of the option cannot be compared, and no other
    /// value of the report shows the difference.
    pub fn alters(&self) -> bool {
        let in_report = ["recording", "recording-limit", "interval", "engine", "on-error"];
        let in_report_or_alike = |name| in_report.contains(&name) || OF_PERIODS.contains(&name);
        matches!(self.allowed_with, AllowedWith::Start | AllowedWith::Lab) && !in_report_or_alike(self.name)
    }
}

/// The file name of the profile if the user sets none.
pub const DEFAULT_OUT: &str = "vouch-%p.json.gz";

/// The file name of each period's profile if the user sets none.
pub const DEFAULT_OUT_OF_PERIOD: &str = "vouch-%p-%t.json.gz";

/// The option that sets the length of a period.
pub const EVERY: &str = "every";
/// The options that only decide how a recording is divided into files, and which files stay.
const OF_PERIODS: [&str; 3] = [EVERY, "maxage", "maxsize"];

/// The kernel's name for the agent's thread while it records nothing.
pub const IDLE_THREAD_NAME: &str = "Vouch";
/// The kernel's name for the agent's thread during a recording. Other processes recognise by it
/// that a recording is running.
pub const RECORDING_THREAD_NAME: &str = "Vouch records";

const fn key(name: &'static str, value: &'static str, help: &'static [&'static str]) -> Key {
    let (form, is_rare) = (Form::Text, false);
    let allowed_with = AllowedWith::Start;
    Key { name, value, default: None, allowed_with, form, is_rare, is_repeatable: false, help }
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

/// The table of all options, in the order in which the help lists them.
pub static KEYS: [Key; 31] = [
    Key {
        is_repeatable: true,
        ..writing(
            "out",
            "FILE",
            &[
                "write a profile: {endings}.",
                "Replaces an existing FILE. May be repeated. %p is the pid, %t the begin,",
                "%{NAME} the variable NAME. The default is vouch-%p.json.gz, or as at the start",
            ],
        )
    },
    writing("report", "FILE.json", &["write the trust report as JSON"]),
    Key {
        default: Some("cpu"),
        ..writing(
            "measure",
            "NAME",
            &["choose for .folded, .svg and .html: cpu, alloc, live, wall, lock or exception"],
        )
    },
    writing("jfr", "FILE.jfr", &["add the events of this run's Flight Recorder file"]),
    writing("sources", "PATH:…", &["add source text, from source trees, -sources.jar files or a JDK"]),
    with_default(
        "recording",
        "on",
        "on|keep|off",
        &["write vouch-%p.vouch for `vouch recover` if the JVM is killed (keep: leave it)"],
    )
    .form(Form::OneOf { words: &["on", "keep", "off"], for_tests: &[] }),
    with_default("recording-limit", "1GB", "SIZE", &["limit the recording on disk"])
        .form(Form::Size { least: "64KB", most: "1000GB" })
        .rare(),
    with_default(
        "interval",
        "1ms",
        "TIME",
        &["take a sample after this CPU time of a thread (50us to 10s; a default may grow)"],
    )
    .form(Form::Length { least: "50us", most: "10s" }),
    with_default("wall", "off", "on|off|TIME", &["measure wall-clock time and thread states (on: 10ms)"])
        .form(Form::LengthOr { words: &["on", "off"], least: "1ms", most: "10s" }),
    with_default(
        "engine",
        "auto",
        "NAME",
        &["choose the source of signals: auto, perf, poll, timer or itimer"],
    )
    .form(Form::OneOf { words: &["auto", "perf", "timer", "itimer", "poll"], for_tests: &["hammer"] }),
    with_default(
        "signal",
        "SIGPROF",
        "NAME",
        &["sample threads by another signal, such as SIGUSR1, where SIGPROF is taken"],
    )
    .rare(),
    with_default(
        "depth",
        "65536",
        "N",
        &["keep at most this many frames of a stack, from both ends (1 to 65536)"],
    )
    .form(Form::Count { least: 1, most: 65_536 })
    .rare(),
    key("threads", "REGEX", &["sample only threads with a name that contains a match"]),
    key("start", "DELAY", &["begin this long after the JVM has started, or after attach (ms, s, m, h)"])
        .form(Form::Length { least: "0s", most: "365d" })
        .rare(),
    key("duration", "TIME", &["stop and write after this long (ms, s, m, h)"])
        .form(Form::Length { least: "1ms", most: "365d" }),
    key("every", "TIME", &["write files for each such period, by names with %t (s, m, h)"])
        .form(Form::Length { least: "1s", most: "30d" }),
    key("maxage", "TIME", &["remove files of every= that this run wrote longer ago"])
        .form(Form::Length { least: "1s", most: "365d" })
        .rare(),
    with_default("maxsize", "1GB", "SIZE", &["remove the oldest files of every= beyond this size"])
        .form(Form::Size { least: "64KB", most: "100000GB" })
        .rare(),
    with_default(
        "witness",
        "sparing",
        "RATE",
        &["compare samples with GetStackTrace: off, sparing (< 0.1 % of the run), or 10/s"],
    )
    .form(Form::Rate { words: &["off", "sparing"] })
    .rare(),
    with_default(
        "refuted",
        "isolate",
        "HOW",
        &["show refuted stacks separately (isolate), with others (keep), no frames (drop)"],
    )
    .form(Form::OneOf { words: &["isolate", "keep", "drop"], for_tests: &[] })
    .rare(),
    with_default("names", "full", "HOW", &["write methods as com.foo.Bar.baz (full) or Bar.baz (short)"])
        .form(Form::OneOf { words: &["full", "short"], for_tests: &[] })
        .rare(),
    with_default(
        "walker",
        "auto",
        "WHO",
        &["choose the walker: auto (Vouch's own, then AsyncGetCallTrace), asgct, own, both"],
    )
    .form(Form::OneOf { words: &["auto", "asgct", "own", "both"], for_tests: &[] })
    .rare(),
    with_default("native", "auto", "auto|on|off", &["show native frames (libraries, JVM; auto: off)"])
        .form(Form::OneOf { words: &["auto", "on", "off"], for_tests: &[] }),
    with_default(
        "kernel",
        "auto",
        "auto|on|off",
        &["with native=on, show the kernel's frames (auto: if allowed)"],
    )
    .form(Form::OneOf { words: &["auto", "on", "off"], for_tests: &[] })
    .rare(),
    with_default(
        "recovery",
        "all",
        "WAYS",
        &["retry failed walks: off, all, or some of left_java, top, probe, frame_pointer"],
    )
    .rare(),
    with_default(
        "events",
        "default",
        "WHAT",
        &[
            "record JVM events: off, all, or some of default, gc, monitor, wait, park,",
            "lock, alloc, exception, class, jit, deopt, joined by + (see `vouch events`)",
        ],
    ),
    with_default(
        "vthreads",
        "carrier",
        "WHERE",
        &["show virtual threads on their carriers' tracks, or (own) on separate ones"],
    )
    .form(Form::OneOf { words: &["carrier", "own"], for_tests: &[] })
    .rare(),
    with_default(
        "on-error",
        "stop",
        "stop|run",
        &["stop a JVM that cannot be profiled at its start, or run it unprofiled (run)"],
    )
    .form(Form::OneOf { words: &["stop", "run"], for_tests: &[] })
    .rare(),
    lab("lab"),
    lab("break"),
    Key { allowed_with: AllowedWith::Any, ..key(terminal::KEY, "FOLDER", &[]) },
];

/// The words without a value that users can pass to the agent: its commands, and switches such as
/// `quiet`.
pub const WORDS: [&str; 10] =
    ["start", "stop", "dump", "status", "groups", "check", "quiet", "verbose", "help", "version"];

/// Returns the options that the help explains: all except those for tests and those that only the
/// command `vouch` passes.
pub fn explained() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| matches!(key.allowed_with, AllowedWith::Start | AllowedWith::Writing))
}

/// Returns the option with this name, or `None` if it does not exist.
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
