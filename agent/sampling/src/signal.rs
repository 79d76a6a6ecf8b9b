//! Parses `signal=`: the signal by which threads are sampled.
//!
//! A signal that the JVM, the JDK or the kernel needs is refused with the reason.
//! [`crate::sampling_signal`] finds out whether the program handles the signal.

use std::ffi::c_int;
use std::fmt;

use thiserror::Error;

/// The reason why a signal cannot be chosen. Its text is the rest of a sentence that names it.
#[derive(Debug, Error)]
pub enum SignalError {
    #[error("{0}")]
    InUse(&'static str),
    #[error("the JDK needs it to interrupt threads in blocking I/O")]
    OfJdk,
    #[error("the last one is SIGRTMIN+{0}")]
    BeyondLast(c_int),
    #[error("must be {} or SIGRTMIN+n", .0.join(", "))]
    Unknown(Vec<&'static str>),
}

/// A signal that only a profiler needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal(c_int);

/// The signals that the user can choose, except for the real-time ones.
const FREE: [(&str, c_int); 5] = [
    ("SIGPROF", libc::SIGPROF),
    ("SIGUSR1", libc::SIGUSR1),
    ("SIGVTALRM", libc::SIGVTALRM),
    ("SIGALRM", libc::SIGALRM),
    ("SIGSTKFLT", libc::SIGSTKFLT),
];

/// The signals that the user cannot choose, with the reason.
const NEEDED: [(&[&str], &str); 6] = [
    (&["SIGUSR2"], "the JVM needs it to suspend threads"),
    (
        &["SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGABRT", "SIGSYS"],
        "faults arrive as it, and the JVM needs these",
    ),
    (&["SIGQUIT", "SIGHUP", "SIGINT", "SIGTERM"], "the JVM needs it to end or to print its threads"),
    (&["SIGPIPE", "SIGXFSZ"], "the JVM needs it for failed writes"),
    (&["SIGKILL", "SIGSTOP"], "the kernel lets no process handle it"),
    (
        &[
            "SIGCHLD", "SIGCONT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGIO", "SIGPOLL", "SIGPWR",
            "SIGXCPU", "SIGWINCH",
        ],
        "the kernel sends it for other reasons",
    ),
];

/// The distance from the last real-time signal to the JDK's. The JDK interrupts threads in blocking
/// I/O by that signal.
const JDK_BELOW_LAST: c_int = 2;
const REAL_TIME: &str = "SIGRTMIN+";

impl Signal {
    /// Reads a name from `kill -l`, with or without SIG.
    pub fn parse(text: &str) -> Result<Self, SignalError> {
        let upper = text.to_ascii_uppercase();
        let name = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
        if let Some((_, number)) = FREE.iter().find(|(free, _)| *free == name) {
            return Ok(Self(*number));
        }
        if let Some((_, why)) = NEEDED.iter().find(|(names, _)| names.contains(&name.as_str())) {
            return Err(SignalError::InUse(why));
        }
        let beyond = if name == "SIGRTMIN" { Some("0") } else { name.strip_prefix(REAL_TIME) };
        let (first, last) = (libc::SIGRTMIN(), libc::SIGRTMAX());
        match beyond.and_then(|beyond| beyond.parse::<c_int>().ok()) {
            Some(beyond) if beyond == last - JDK_BELOW_LAST - first => Err(SignalError::OfJdk),
            Some(beyond) if (0..=last - first).contains(&beyond) => Ok(Self(first + beyond)),
            Some(_) => Err(SignalError::BeyondLast(last - first)),
            None => Err(SignalError::Unknown(FREE.iter().map(|(name, _)| *name).collect())),
        }
    }

    pub fn number(self) -> c_int {
        self.0
    }

    /// Returns true for the one signal that the process's own timer can send.
    pub fn is_default(self) -> bool {
        self == Self::default()
    }

    /// Returns true if the kernel queues each pending signal. If the queue is full, a perf event
    /// sends SIGIO instead, which ends the process.
    pub fn is_queued(self) -> bool {
        self.0 >= libc::SIGRTMIN()
    }

    /// Returns another signal to try if this one is taken.
    #[must_use]
    pub fn proposal(self) -> Self {
        Self(if self.0 == libc::SIGUSR1 { libc::SIGVTALRM } else { libc::SIGUSR1 })
    }
}

impl Default for Signal {
    fn default() -> Self {
        Self(libc::SIGPROF)
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match FREE.iter().find(|(_, number)| *number == self.0) {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{REAL_TIME}{}", self.0 - libc::SIGRTMIN()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_signal_is_chosen_by_its_name() {
        for (text, name) in [
            ("SIGUSR1", "SIGUSR1"),
            ("usr1", "SIGUSR1"),
            ("SIGVTALRM", "SIGVTALRM"),
            ("SIGRTMIN", "SIGRTMIN+0"),
            ("RTMIN+3", "SIGRTMIN+3"),
            ("SIGPROF", "SIGPROF"),
        ] {
            assert_eq!(Signal::parse(text).unwrap().to_string(), name);
        }
        assert_eq!(Signal::parse("SIGRTMIN+3").unwrap().number(), libc::SIGRTMIN() + 3);
    }

    #[test]
    fn a_signal_that_something_needs_is_refused_with_what_needs_it() {
        let jdk = format!("SIGRTMIN+{}", libc::SIGRTMAX() - 2 - libc::SIGRTMIN());
        for (text, why) in [
            ("SIGUSR2", "suspend threads"),
            ("SIGSEGV", "faults"),
            ("SIGQUIT", "print its threads"),
            ("SIGKILL", "lets no process handle it"),
            ("SIGCHLD", "other reasons"),
            (jdk.as_str(), "blocking I/O"),
            ("SIGRTMIN+99", "the last one is SIGRTMIN+"),
            ("SIGNAL", "must be SIGPROF, SIGUSR1, SIGVTALRM, SIGALRM, SIGSTKFLT or SIGRTMIN+n"),
            ("27", "must be SIGPROF"),
        ] {
            let refused = Signal::parse(text).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
