//! Implements HotSpot's attach protocol. It sends a command to a running JVM through the JVM's
//! socket, which a signal makes the JVM create.
//!
//! It must never send a signal to a process that would end from it, or talk to any process except
//! for the intended JVM.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::user::{open_inside, path_in};
use super::{Jvm, Vm, status};

use crate::error::Error;

/// The folder with the JVM's socket, whatever the JVM's own folder of temporary files is.
pub const TMP: &str = "/tmp";

/// The length limit for a word in the protocol's first version. The second version limits all words
/// together.
const MAX_WORD_BYTES: usize = 1024;
const MAX_ALL_BYTES: usize = 256 << 10;
/// A healthy JVM creates its socket within a fraction of this time.
const WAKING: Duration = Duration::from_secs(10);
/// How long to wait for the end of a JVM's start, in which JDK 21 and later load no agent.
const STARTING: Duration = Duration::from_secs(10);
/// The JVM's own words for that.
const LIVE_PHASE_ONLY: &str = "only permitted in the live phase";
/// Writing a large profile takes time, so an answer may take this long.
const ANSWERING: Duration = Duration::from_mins(10);
/// An answer has at most this many bytes, because it is a few lines.
const MAX_ANSWER_BYTES: u64 = 1 << 16;

/// What a JVM answered.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// The agent was loaded, and returned this number.
    Agent(i32),
    /// The JVM could not load the agent, for this reason.
    No(String),
}

/// The version of the protocol. Every JVM supports the first. JDK 24 and later also support the
/// second, which allows longer words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    First,
    Second,
}

impl Version {
    /// Returns the bytes of a request. In the first version a request always has the same number of
    /// words.
    fn request(self, words: [&str; 4]) -> Vec<u8> {
        let said: Vec<u8> = words.iter().flat_map(|word| word.bytes().chain([0])).collect();
        let before = match self {
            Self::First => "1\0".to_owned(),
            Self::Second => format!("2\0{}\0", said.len()),
        };
        [before.into_bytes(), said].concat()
    }
}

/// Makes a JVM load the agent with these options.
pub fn load(jvm: &Jvm, library: &Path, options: &str) -> Result<Answer, Error> {
    let library = library.to_str().ok_or(Error::LibraryNotUtf8)?;
    let (longest, all) = (library.len().max(options.len()), library.len() + options.len());
    // The words that are not counted here are short.
    if all > MAX_ALL_BYTES - MAX_WORD_BYTES {
        return Err(Error::OptionsTooLong { most: MAX_ALL_BYTES - MAX_WORD_BYTES, length: all });
    }
    may_attach(jvm)?;
    let folder = folder(jvm.pid)?;
    // A JVM accepts connections only from its own user.
    let answer = jvm.user.run_as(|| {
        let version = if longest <= MAX_WORD_BYTES {
            Version::First
        } else if knows_second(jvm, &folder)? {
            Version::Second
        } else {
            return Err(Error::OptionsTooLongBefore24 { most: MAX_WORD_BYTES, length: longest });
        };
        let until = Instant::now() + STARTING;
        loop {
            let answer = ask(jvm, &folder, version, ["load", library, "true", options])?;
            if !answer.contains(LIVE_PHASE_ONLY) || Instant::now() >= until {
                return Ok(answer);
            }
            thread::sleep(Duration::from_millis(50));
        }
    })?;
    parse_answer(&answer).ok_or(Error::UnknownAnswer { pid: jvm.pid, answer })
}

/// Checks without asking the JVM whether it can be attached to.
fn may_attach(jvm: &Jvm) -> Result<(), Error> {
    let pid = jvm.pid;
    if jvm.vm == Vm::OpenJ9 {
        return Err(Error::OpenJ9(pid));
    }
    if jvm.user.is_another() && !rustix::process::geteuid().is_root() {
        return Err(Error::OtherUsers(pid));
    }
    if jvm.has_option("-XX:+DisableAttachMechanism") {
        return Err(Error::AttachDisabled(pid));
    }
    may_answer(pid)
}

/// Checks that the process exists, and is not stopped.
fn may_answer(pid: u32) -> Result<(), Error> {
    match status(pid, "State") {
        Some(state) if state.starts_with(['T', 't']) => Err(Error::Stopped(pid)),
        Some(state) if !state.starts_with(['Z', 'X']) => Ok(()),
        _ => Err(Error::Ended(pid)),
    }
}

/// Opens the folder of temporary files as the JVM sees it.
pub fn folder(pid: u32) -> Result<File, Error> {
    let folder = open_inside(pid, Path::new(TMP));
    folder.map_err(|why| Error::SocketFolder { folder: TMP, pid, why })
}

/// Connects to the JVM's socket. If the socket does not exist, it makes the JVM create it.
fn connect(jvm: &Jvm, folder: &File) -> Result<UnixStream, Error> {
    let pid = jvm.pid;
    // The path goes through the open folder: the full path is too long for a socket, and may vanish
    // with the process.
    let socket = path_in(folder, &format!(".java_pid{}", jvm.own_pid));
    match UnixStream::connect(&socket) {
        Ok(stream) => return checked_peer(jvm, stream),
        // The socket may be that of an earlier process.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
        Err(why) => return Err(Error::SocketRefused { pid, why }),
    }
    if !heeds_quit(pid) {
        return Err(Error::QuitUnhandled(pid));
    }
    let trigger = Trigger::set(jvm, folder)?;
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(Error::NoSuchNumber)?;
    kill_process(number, Signal::QUIT).map_err(|why| Error::NotWoken { pid, why: why.into() })?;
    let until = Instant::now() + WAKING;
    let mut pause = Duration::from_millis(5);
    while Instant::now() < until {
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(200));
        if let Ok(stream) = UnixStream::connect(&socket) {
            drop(trigger);
            return checked_peer(jvm, stream);
        }
        may_answer(pid)?;
    }
    Err(Error::NotListening { pid, seconds: WAKING.as_secs() })
}

/// Checks that the other end of the connection is the JVM's process.
fn checked_peer(jvm: &Jvm, stream: UnixStream) -> Result<UnixStream, Error> {
    let peer = rustix::net::sockopt::socket_peercred(&stream)
        .map_err(|why| Error::UnknownListener { pid: jvm.pid, why: why.into() })?;
    if u32::try_from(peer.pid.as_raw_nonzero().get()) != Ok(jvm.pid) {
        return Err(Error::OtherListener { pid: jvm.pid, other: peer.pid.as_raw_nonzero().to_string() });
    }
    Ok(stream)
}

/// True if the process has a handler for SIGQUIT (3).
fn heeds_quit(pid: u32) -> bool {
    let caught = status(pid, "SigCgt").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    caught.is_some_and(|mask| mask & (1 << 2) != 0)
}

/// The file that makes the JVM take the signal for an attach request, and not for a thread dump. It
/// is removed when this value is dropped.
struct Trigger(PathBuf);

impl Trigger {
    fn set(jvm: &Jvm, folder: &File) -> Result<Self, Error> {
        let name = format!(".attach_pid{}", jvm.own_pid);
        let places = [path_in(folder, &name), PathBuf::from(format!("/proc/{}/cwd/{name}", jvm.pid))];
        let mut why = io::Error::from(ErrorKind::NotFound);
        for place in places {
            // An old file would do as well, but its owner decides whether the JVM
            // heeds it.
            let _ = fs::remove_file(&place);
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&place) {
                Ok(_) => return Ok(Self(place)),
                Err(error) => why = error,
            }
        }
        Err(Error::NoTrigger { pid: jvm.pid, name, why })
    }
}

impl Drop for Trigger {
    fn drop(&mut self) {
        // The JVM takes no notice of it any more.
        let _ = fs::remove_file(&self.0);
    }
}

/// True if the JVM supports the second version of the protocol. Older JVMs do not support the
/// question either.
fn knows_second(jvm: &Jvm, folder: &File) -> Result<bool, Error> {
    let answer = ask(jvm, folder, Version::First, ["getversion", "", "", ""])?;
    let version = answer.strip_prefix("0\n").and_then(|version| version.trim_end().parse::<u32>().ok());
    Ok(version.is_some_and(|version| version >= 2))
}

/// Sends one command to the JVM, and returns the answer.
fn ask(jvm: &Jvm, folder: &File, version: Version, words: [&str; 4]) -> Result<String, Error> {
    let stream = connect(jvm, folder)?;
    send(stream, &version.request(words)).map_err(|why| match why.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::NoAnswer(jvm.pid),
        _ => Error::AnswerFailed { pid: jvm.pid, why },
    })
}

fn send(mut stream: UnixStream, request: &[u8]) -> io::Result<String> {
    stream.set_write_timeout(Some(ANSWERING))?;
    stream.set_read_timeout(Some(ANSWERING))?;
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Parses an answer: the JVM's code, and in the next line what the agent returned. Its wording
/// depends on the JDK.
fn parse_answer(answer: &str) -> Option<Answer> {
    let (code, rest) = answer.split_once('\n')?;
    let rest = rest.trim();
    if code.trim().parse::<i32>().ok()? != 0 {
        return Some(Answer::No(rest.to_owned()));
    }
    let number = rest.strip_prefix("return code:").unwrap_or(rest).trim();
    Some(number.parse().map_or_else(|_| Answer::No(rest.to_owned()), Answer::Agent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::Libc;
    use crate::jvm::user::User;

    fn jvm(pid: u32) -> Jvm {
        Jvm {
            pid,
            own_pid: 1,
            user: User { uid: 0, gid: 0 },
            vm: Vm::HotSpot,
            main: String::new(),
            release: None,
            libc: Libc::Glibc,
            elsewhere: false,
            agent: None,
            recording: false,
        }
    }

    #[test]
    fn options_that_no_jvm_takes_are_not_sent() {
        let refused = load(&jvm(0), Path::new("/a"), &"o".repeat(300_000)).unwrap_err().to_string();
        assert!(refused.contains("at most 261120 characters of options, and these are 300002"), "{refused}");
    }

    #[test]
    fn another_listener_at_the_jvms_socket_gets_nothing() {
        let (stream, _) = UnixStream::pair().unwrap();
        let (own, _) = UnixStream::pair().unwrap();
        assert!(checked_peer(&jvm(std::process::id()), own).is_ok());
        assert!(
            checked_peer(&jvm(std::process::id() + 1), stream)
                .unwrap_err()
                .to_string()
                .contains("belongs to process")
        );
    }

    #[test]
    fn words_are_put_as_each_version_wants_them() {
        let words = ["load", "/a", "true", ""];
        let told = |version: Version| String::from_utf8(version.request(words)).unwrap().replace('\0', "|");
        assert_eq!(told(Version::First), "1|load|/a|true||");
        assert_eq!(told(Version::Second), "2|14|load|/a|true||");
    }

    #[test]
    fn every_jdk_is_understood() {
        assert_eq!(parse_answer("0\n0\n"), Some(Answer::Agent(0)));
        assert_eq!(parse_answer("0\nreturn code: -1\n"), Some(Answer::Agent(-1)));
        let refused =
            "Dynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch target VM.";
        assert_eq!(parse_answer(&format!("0\n{refused}\n")), Some(Answer::No(refused.to_owned())));
        assert_eq!(parse_answer("101\n"), Some(Answer::No(String::new())));
        assert_eq!(parse_answer(""), None);
    }
}
