//! Implements `vouch send`, which sends the profiles in a folder to an OpenTelemetry Collector.
//!
//! The profiled JVM opens no connection: it writes files (`every=`), and this command sends them.
//! So a Collector that is down or slow holds up nothing but this command. A file is removed after
//! the Collector has accepted it. If the command is killed between the two, that one file is sent
//! again.

mod address;
mod client;
mod pace;
mod spool;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use vouch_report::{bytes, duration, grouped, plain};

use crate::error::Error;
use crate::run::without_ignored;
use crate::say::show;
use client::{Client, Outcome};
use pace::Pace;
use spool::{Opened, Spool};

/// The folder is read again after this time.
const LOOK: Duration = Duration::from_secs(1);
/// A line on stderr shows the progress after this time.
const PROGRESS: Duration = Duration::from_mins(1);
/// A signal ends the command. A request that is under way has this time to end.
const LAST_ANSWER: Duration = Duration::from_millis(500);
/// With `--once`, the command gives up if the Collector cannot be reached for this time.
const ONCE: Duration = Duration::from_secs(30);
const DAY: Duration = Duration::from_hours(24);

#[derive(Args)]
pub struct SendOptions {
    /// The Collector, http://HOST:4318 or https://… [default: OTEL_EXPORTER_OTLP_ENDPOINT]
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// Send what is there, and exit
    #[arg(long)]
    once: bool,
    /// Add a header to each request, or the lines of a file; may be repeated. All users can see
    /// the command line: keep passwords in a file, or in OTEL_EXPORTER_OTLP_HEADERS
    #[arg(long, value_name = "NAME: VALUE|@FILE")]
    header: Vec<String>,
    /// Move sent profiles into FOLDER/sent, and remove them there after this many days
    #[arg(long, value_name = "DAYS")]
    keep: Option<u32>,
}

/// Something that the command waits for.
enum Event {
    Signal,
    Answer(Opened, Outcome),
}

/// Sends profiles until a signal comes, or once.
pub fn send(folder: PathBuf, how: &SendOptions) -> Result<String, Error> {
    let address = address::address(how.to.as_deref())?;
    let client = Arc::new(Client::new(address.clone(), address::headers(&how.header)?)?);
    let mut spool = Spool::open(&folder, how.keep.map(|days| DAY.saturating_mul(days)))?;
    let (events, received) = mpsc::channel();
    end_by_signal(events.clone())?;
    let now = Instant::now();
    let to = format!("to {address}");
    let unsendable = spool.look()?;
    let counts = Counts { refused: unsendable.len() as u64, ..Counts::default() };
    note(unsendable);
    if how.once && spool.waiting() == 0 && counts.refused == 0 {
        return Err(Error::NothingToSend(folder));
    }
    if !how.once {
        note([format!(
            "sending the profiles (.otlp.gz) of {} {to}; Ctrl-C ends it",
            plain(&folder.to_string_lossy())
        )]);
    }
    let mut sender = Running {
        spool,
        client,
        events,
        received,
        once: how.once,
        pace: Pace::new(now),
        counts,
        to,
        said_failure: None,
        has_said_refusal: false,
        shown_at: now,
        shown: String::new(),
    };
    let ended = sender.run();
    let text = format!("{}\n", sender.progress());
    match ended {
        Err(why) => {
            note([sender.progress()]);
            Err(why)
        }
        Ok(()) if how.once && sender.has_unsent() => {
            note([sender.progress()]);
            Err(Error::SomeNotSent)
        }
        Ok(()) => Ok(text),
    }
}

/// Passes the signals that end this command on to the loop. Ignored signals stay ignored.
fn end_by_signal(events: Sender<Event>) -> Result<(), Error> {
    let mut signals =
        Signals::new(without_ignored(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM])).map_err(Error::CtrlC)?;
    thread::spawn(move || {
        for _ in signals.forever() {
            let _ = events.send(Event::Signal);
        }
    });
    Ok(())
}

/// Prints lines on stderr.
fn note(lines: impl IntoIterator<Item = String>) {
    show(lines.into_iter().map(|line| format!("[vouch] {line}")).collect());
}

#[derive(Debug, Default)]
struct Counts {
    sent: u64,
    bytes: u64,
    refused: u64,
    /// Profiles inside of accepted files that the Collector rejected.
    rejected: u64,
}

/// The state of the command while it runs.
struct Running {
    spool: Spool,
    client: Arc<Client>,
    events: Sender<Event>,
    received: Receiver<Event>,
    once: bool,
    pace: Pace,
    counts: Counts,
    to: String,
    /// The time at which a failure was printed, until a file is accepted.
    said_failure: Option<Instant>,
    /// True if the reason of a refusal by the Collector was printed.
    has_said_refusal: bool,
    shown_at: Instant,
    /// The progress that was printed last.
    shown: String,
}

impl Running {
    /// Sends files until a signal comes, or with `--once` until none waits.
    fn run(&mut self) -> Result<(), Error> {
        let mut looked = Instant::now();
        loop {
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                let unsendable = self.spool.look()?;
                self.counts.refused += unsendable.len() as u64;
                note(unsendable);
                self.show_progress();
            }
            let wait = self.pace.wait(Instant::now());
            if !wait.is_zero() {
                if self.wait_for_signal(wait.min(LOOK)) {
                    return Ok(());
                }
                continue;
            }
            match self.spool.open_next() {
                None if self.once => return Ok(()),
                None => {
                    if self.wait_for_signal(LOOK) {
                        return Ok(());
                    }
                }
                Some(Err(why)) => {
                    self.counts.refused += 1;
                    note([why]);
                }
                Some(Ok(opened)) => {
                    if !self.send(opened)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Waits, and returns true if a signal came meanwhile.
    fn wait_for_signal(&self, time: Duration) -> bool {
        !matches!(self.received.recv_timeout(time), Err(RecvTimeoutError::Timeout))
    }

    /// Sends a file, and waits for the answer. Returns false if a signal came meanwhile.
    fn send(&mut self, opened: Opened) -> Result<bool, Error> {
        let (client, events) = (Arc::clone(&self.client), self.events.clone());
        // The loop must see a signal while the Collector does not answer.
        thread::spawn(move || {
            let outcome = client.send(&opened.file);
            let _ = events.send(Event::Answer(opened, outcome));
        });
        let (event, goes_on) = match self.received.recv() {
            Ok(Event::Signal) => (self.received.recv_timeout(LAST_ANSWER).ok(), false),
            event => (event.ok(), true),
        };
        if let Some(Event::Answer(opened, outcome)) = event {
            self.take(&opened, outcome)?;
        }
        Ok(goes_on)
    }

    /// Does what an answer demands.
    fn take(&mut self, opened: &Opened, outcome: Outcome) -> Result<(), Error> {
        match outcome {
            Outcome::Accepted { rejected, message } => self.accepted(opened, rejected, &message),
            Outcome::Refused(why) => {
                self.answered();
                self.refuse(opened, &why);
            }
            Outcome::WrongAddress(why) if self.once => {
                return Err(Error::CollectorFailed { to: self.to.clone(), why });
            }
            Outcome::WrongAddress(why) => self.failed(opened, why, None)?,
            Outcome::Unavailable { why, wait } => self.failed(opened, why, wait)?,
        }
        Ok(())
    }

    fn accepted(&mut self, opened: &Opened, rejected: u64, message: &str) {
        self.answered();
        note(self.spool.sent(opened));
        if self.counts.sent == 0 && !self.once {
            note([format!("sent {}, the first; a line a minute follows", self.spool.shown(&opened.name))]);
        }
        if rejected > 0 && self.counts.rejected == 0 {
            note([format!(
                "the Collector rejected {rejected} of the profiles in {}: {message}; further ones are counted",
                self.spool.shown(&opened.name)
            )]);
        }
        self.counts.sent += 1;
        self.counts.bytes += opened.bytes;
        self.counts.rejected += rejected;
    }

    /// Notes that the Collector answers.
    fn answered(&mut self) {
        let failed_for = self.pace.succeed(Instant::now());
        if self.said_failure.take().is_some()
            && let Some(failed_for) = failed_for
        {
            let after = duration(failed_for.as_secs_f64() * 1000.0);
            note([format!("the Collector answers again, after {after}")]);
        }
    }

    fn refuse(&mut self, opened: &Opened, why: &str) {
        if !std::mem::replace(&mut self.has_said_refusal, true) {
            note([format!(
                "the Collector refused {}: {why}. It stays in the folder until the next vouch send; further ones are counted",
                self.spool.shown(&opened.name)
            )]);
        }
        self.counts.refused += 1;
        self.spool.set_aside(&opened.name);
    }

    /// Notes a failure that may pass, and prints it at most once a minute.
    fn failed(&mut self, opened: &Opened, why: String, wait: Option<Duration>) -> Result<(), Error> {
        let now = Instant::now();
        self.pace.fail(now, wait, fastrand::f64());
        if self.spool.failed(&opened.name) {
            self.refuse(opened, &format!("{why}, again and again, while others were accepted"));
            return Ok(());
        }
        if self.once && self.pace.failing_until_next() > ONCE {
            return Err(Error::CollectorFailed { to: self.to.clone(), why });
        }
        if self.said_failure.is_none_or(|said| now.duration_since(said) >= PROGRESS) {
            self.said_failure = Some(now);
            note([format!("cannot send {}: {why}; trying again", self.to)]);
        }
        Ok(())
    }

    /// Shows the progress once a minute, if there is any.
    fn show_progress(&mut self) {
        if self.shown_at.elapsed() < PROGRESS {
            return;
        }
        self.shown_at = Instant::now();
        self.spool.remove_old();
        let progress = self.progress();
        if progress != self.shown {
            note([progress.clone()]);
            self.shown = progress;
        }
    }

    /// True if a profile was not sent: it waits, was removed, or was refused.
    fn has_unsent(&self) -> bool {
        self.spool.waiting() > 0 || self.spool.lost > 0 || self.counts.refused > 0
    }

    fn progress(&self) -> String {
        let Counts { sent, bytes: size, refused, rejected } = self.counts;
        let profiles = if sent == 1 { "profile" } else { "profiles" };
        let (sent, waiting) = (grouped(sent), grouped(self.spool.waiting() as u64));
        let mut text = format!("sent {sent} {profiles}, {}, {}; {waiting} waiting", bytes(size), self.to);
        for (number, what) in [
            (refused, "refused"),
            (self.spool.lost, "lost: removed before they were sent"),
            (rejected, "rejected inside of sent files"),
        ] {
            if number > 0 {
                let _ = write!(text, "; {number} {what}");
            }
        }
        text
    }
}
