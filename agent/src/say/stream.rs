//! Writes to the standard streams without ever waiting for a reader.
//!
//! A full pipe without a reader, or a stopped terminal, would block the JVM for good. A stream that
//! was closed when the process began is never written to. Its descriptor may be a file of the
//! program by now.

use std::fmt::Write as _;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fstat, open};
use rustix::io::{Errno, FdFlags, fcntl_getfd, write};
use rustix::net::{SendFlags, send};

/// How long a write waits for a reader that has been in time so far. Other readers get no wait.
const PATIENCE: Duration = Duration::from_millis(200);
/// The size that a pipe accepts in one piece if it accepts anything, in bytes.
const PIPE_BUF: usize = 4096;

/// True if stderr was open when the agent was loaded.
static STDERR_IS_OPEN: OnceLock<bool> = OnceLock::new();
static STDERR: Mutex<Unread> = Mutex::new(Unread { lines: 0, within_line: false, is_stuck: false });
/// The count of all dropped lines.
static DROPPED: AtomicU64 = AtomicU64::new(0);

/// The state of output that stderr's reader has not taken.
struct Unread {
    /// The count of dropped lines that have not been reported.
    lines: u64,
    /// True if the last write ended within a line.
    within_line: bool,
    /// True if the reader has not taken the last write.
    is_stuck: bool,
}

/// Checks stderr before the program can open files. The agent calls it when it is loaded.
pub fn look() {
    STDERR_IS_OPEN.get_or_init(|| is_inherited(std::io::stderr().as_fd()));
}

/// Writes whole lines to stderr, or drops and counts them.
pub fn write_stderr(lines: &str) {
    let stderr = std::io::stderr();
    let stderr = stderr.as_fd();
    if !STDERR_IS_OPEN.get_or_init(|| is_inherited(stderr)) || !is_inherited(stderr) {
        return;
    }
    STDERR.lock().write(stderr, lines);
}

impl Unread {
    fn write(&mut self, stream: BorrowedFd<'_>, lines: &str) {
        let mut text = String::new();
        if self.within_line {
            text.push('\n');
        }
        if self.lines > 0 {
            let dropped = self.lines;
            let _ =
                writeln!(text, "[vouch] dropped {dropped} lines here: stderr was full, and nothing read it");
        }
        let before = text.len();
        text.push_str(lines);
        let patience = if self.is_stuck { Duration::ZERO } else { PATIENCE };
        let written = write_within(stream, text.as_bytes(), patience).min(text.len());
        self.is_stuck = written < text.len();
        if written >= before {
            self.lines = 0;
        }
        if written > 0 {
            self.within_line = !text.as_bytes()[..written].ends_with(b"\n");
        }
        let unwritten = &text.as_bytes()[written.max(before)..];
        let lost = unwritten.split(|byte| *byte == b'\n').skip(1).count() as u64;
        self.lines += lost;
        DROPPED.fetch_add(lost, Relaxed);
    }
}

/// Writes a requested text to stdout.
pub fn write_stdout(text: &str) {
    write_within(std::io::stdout().as_fd(), text.as_bytes(), PATIENCE);
}

/// Returns the count of dropped lines.
pub fn dropped() -> u64 {
    DROPPED.load(Relaxed)
}

/// Returns true for a stream that the process inherited and may write to. A close-on-exec stream
/// was opened later.
fn is_inherited(stream: BorrowedFd<'_>) -> bool {
    let stays = fcntl_getfd(stream).is_ok_and(|flags| !flags.contains(FdFlags::CLOEXEC));
    let is_writable = || fcntl_getfl(stream).is_ok_and(|flags| flags & OFlags::RWMODE != OFlags::RDONLY);
    stays && is_writable()
}

/// Writes as much as the reader takes in time. Returns the count of bytes written.
fn write_within(stream: BorrowedFd<'_>, bytes: &[u8], patience: Duration) -> usize {
    let until = Instant::now() + patience;
    let way = Way::to(stream);
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match way.write(stream, rest) {
            Ok(0) => break,
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() || !is_ready(stream, left) {
                    break;
                }
            }
            Err(_) => break,
        }
    }
    written
}

/// Returns true as soon as the stream can be written, or false after `within`.
fn is_ready(stream: BorrowedFd<'_>, within: Duration) -> bool {
    let mut polled = [PollFd::new(&stream, PollFlags::OUT)];
    let within = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(within.subsec_nanos()) };
    matches!(poll(&mut polled, Some(&within)), Ok(1..) | Err(Errno::INTR))
}

/// How a stream is written so that it never blocks. The stream's own flags stay: the program shares
/// the stream.
enum Way {
    /// A pipe or a terminal that was opened once more.
    Reopened(OwnedFd),
    /// A stream that cannot be reopened. Each write has as much as fits once the stream is ready.
    Polled,
    Socket,
    /// A regular file.
    Plain,
}

impl Way {
    fn to(stream: BorrowedFd<'_>) -> Self {
        match fstat(stream).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::Fifo | FileType::CharacterDevice) => {
                let path = format!("/proc/self/fd/{}", stream.as_raw_fd());
                let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
                open(path, flags, Mode::empty()).map_or(Self::Polled, Self::Reopened)
            }
            Ok(FileType::Socket) => Self::Socket,
            _ => Self::Plain,
        }
    }

    fn write(&self, stream: BorrowedFd<'_>, bytes: &[u8]) -> rustix::io::Result<usize> {
        match self {
            Self::Reopened(own) => write(own, bytes),
            Self::Polled if !is_ready(stream, Duration::ZERO) => Err(Errno::AGAIN),
            Self::Polled => write(stream, bytes.get(..PIPE_BUF).unwrap_or(bytes)),
            Self::Socket => send(stream, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL),
            Self::Plain => write(stream, bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, pipe};
    use std::os::unix::net::UnixStream;

    const TEXT: &[u8] = &[b'x'; 3_000];

    /// Writes until nothing more fits.
    fn fill(stream: BorrowedFd<'_>) {
        for text in [TEXT, b"x"] {
            let full = (0..100_000).any(|_| write_within(stream, text, Duration::ZERO) < text.len());
            assert!(full, "it takes all there is");
        }
    }

    #[test]
    fn a_full_pipe_or_socket_makes_no_thread_wait() {
        let (mut reader, writer) = pipe().unwrap();
        fill(writer.as_fd());
        let begun = Instant::now();
        assert_eq!(write_within(writer.as_fd(), TEXT, Duration::from_millis(20)), 0);
        assert!(begun.elapsed() >= Duration::from_millis(20), "a reader that is late has so long");
        reader.read_exact(&mut [0; 8_192]).unwrap();
        assert_eq!(write_within(writer.as_fd(), TEXT, Duration::ZERO), TEXT.len(), "there is room again");
        let (one, _other) = UnixStream::pair().unwrap();
        fill(one.as_fd());
    }

    #[test]
    fn what_was_dropped_is_counted_and_said_when_there_is_room_again() {
        let (mut reader, writer) = pipe().unwrap();
        fill(writer.as_fd());
        let mut unread = Unread { lines: 0, within_line: false, is_stuck: true };
        let before = dropped();
        unread.write(writer.as_fd(), "one\ntwo\n");
        unread.write(writer.as_fd(), "three\n");
        assert!(unread.lines == 3 && unread.is_stuck && dropped() >= before + 3);
        unread.within_line = true;
        let mut filling = vec![0; 1 << 20];
        let read = reader.read(&mut filling).unwrap();
        assert!(read > 4_096);
        unread.write(writer.as_fd(), "four\n");
        assert!(unread.lines == 0 && !unread.is_stuck && !unread.within_line);
        drop(writer);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        let rest = String::from_utf8(rest).unwrap();
        let said = "\n[vouch] dropped 3 lines here: stderr was full, and nothing read it\nfour\n";
        assert!(rest.ends_with(said), "{rest:?}");
    }

    #[test]
    fn a_stream_that_cannot_be_opened_again_is_not_waited_for_either() {
        let (_reader, writer) = pipe().unwrap();
        let mut left = 1_000_000;
        while left > 0 && Way::Polled.write(writer.as_fd(), TEXT).is_ok() {
            left -= 1;
        }
        assert!(left > 0);
    }

    #[test]
    fn what_the_process_itself_has_opened_is_no_stream_of_its_start() {
        let (reader, _writer) = pipe().unwrap();
        let file = File::open("/dev/null").unwrap();
        assert!(!is_inherited(reader.as_fd()) && !is_inherited(file.as_fd()));
        assert!(is_inherited(std::io::stderr().as_fd()), "a test has its own stderr");
    }
}
