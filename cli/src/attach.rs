//! Implements `vouch attach`, `start`, `stop`, `dump` and `status`, which record JVMs that run
//! already.
//!
//! A recording must never go on without a user: a key or a signal that ends `attach` ends the
//! recording, too, and the profile is written.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use vouch_formats::Format;
use vouch_report::options::EVERY;
use vouch_report::options::pattern::{PatternValues, escaped};
use vouch_report::options::terminal::End;

use crate::agent;
use crate::agent_options::{self, AgentOptions, FILES, Options, Start, of_option};
use crate::error::Error;
use crate::jvm::attach::{Answer, TMP, folder, load};
use crate::jvm::{self, Jvm};
use crate::orphaned_recordings::{self, Made, copy_whole};
use crate::reply_dir::{ReplyDir, State};
use crate::run::without_ignored;
use crate::say::{seen, show, unmarked};

/// The status line on a terminal is refreshed after this time.
const SOON: Duration = Duration::from_millis(250);

/// The command line argument that names a JVM.
#[derive(Args)]
pub struct Whom {
    /// The JVM's process id, or its main class or jar
    #[arg(value_name = "PID|NAME")]
    jvm: String,
}

#[derive(Args)]
pub struct Attach {
    #[command(flatten)]
    whom: Whom,
    #[command(flatten)]
    recording: Options<Start>,
}

#[derive(Args)]
pub struct To {
    #[command(flatten)]
    whom: Whom,
    #[command(flatten)]
    places: Options<agent_options::Write>,
}

/// Records a JVM until the duration is over, a key ends it, or the JVM.
pub fn attach(attach: Attach) -> Result<String, Error> {
    let Attach { whom, recording: Options { mut given, .. } } = attach;
    let asked = Arc::new(AtomicBool::new(false));
    // Ignored signals stay ignored: `nohup` ignores some, and so does a shell for programs in the
    // background.
    without_ignored(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM])
        .into_iter()
        .try_for_each(|signal| {
            if signal == SIGQUIT {
                // A user who does not want to wait for the JVM to write can press Ctrl-\ after
                // Ctrl-C.
                signal_hook::flag::register_conditional_default(signal, Arc::clone(&asked))?;
            }
            signal_hook::flag::register(signal, Arc::clone(&asked)).map(|_| ())
        })
        .map_err(Error::CtrlC)?;
    let mut line = Line::open(jvm::find(&whom.jvm)?)?;
    given.name_new_profile(line.jvm.pid);
    line.choose_output_paths(&mut given)?;
    line.command("start", &given)?;
    let pid = line.jvm.pid;
    let until = if given.has("duration") { "" } else { "; Ctrl-C ends it and writes" };
    if !given.is_quiet() {
        let main = vouch_report::plain(&line.jvm.main);
        show(vec![format!("[vouch] recording process {pid}, {main}{until}")]);
    }
    let moves = io::stderr().is_terminal() && !given.is_quiet();
    let ended = match line.show_until_end(&asked, moves) {
        Some(ended) => ended,
        None => line.stop()?,
    };
    match ended {
        Ended::Died => match line.recover(&given)? {
            Made::Nothing => Err(Error::RecordingLost),
            Made::Some => Err(Error::SomeFilesMade),
            Made::All => Ok(String::new()),
        },
        Ended::Over(End::Nothing) if !asked.load(Ordering::SeqCst) => Err(Error::NeverBegan),
        Ended::Over(End::Written) => line.fetch().map(|()| String::new()),
        Ended::Over(End::Lost) => {
            // The files that the JVM has written are fetched even after an error.
            let fetched = line.fetch();
            let lost = line.kept(Error::NotAllWritten);
            Err(fetched.err().unwrap_or(lost))
        }
        Ended::Over(End::Nothing) => Ok(String::new()),
    }
}

/// Begins a recording, and does not wait for its end.
pub fn start(attach: Attach) -> Result<String, Error> {
    let Attach { whom, recording: Options { mut given, .. } } = attach;
    let mut line = Line::open(jvm::find(&whom.jvm)?)?;
    given.name_new_profile(line.jvm.pid);
    line.name_there(&mut given)?;
    line.command("start", &given)?;
    let pid = line.jvm.pid;
    let begun = if given.has("start") { "will be" } else { "is being" };
    let by_itself = given.all("duration").next().map(|time| format!("it ends after {time}, and "));
    let by_itself = by_itself.unwrap_or_default();
    Ok(format!(
        "process {pid} {begun} recorded: {by_itself}`vouch stop {pid}` ends it and writes the profile\n"
    ))
}

/// Returns the state of a JVM's recording.
pub fn status(whom: &Whom) -> Result<String, Error> {
    let jvm = jvm::find(&whom.jvm)?;
    if jvm.agent.is_none() {
        return Ok("no recording is running\n".to_owned());
    }
    Line::open(jvm)?.command("status", &AgentOptions::default()).map(|()| String::new())
}

/// Stops a JVM's recording, or writes what it has recorded so far.
pub fn ask(word: &'static str, to: To) -> Result<String, Error> {
    let To { whom, places: Options { mut given, .. } } = to;
    let jvm = jvm::find(&whom.jvm)?;
    if jvm.agent.is_none() {
        let pid = jvm.pid;
        return Err(Error::NoRecording(pid));
    }
    let mut line = Line::open(jvm)?;
    line.name_there(&mut given)?;
    line.command(word, &given)?;
    Ok(String::new())
}

/// Returns the times so far of the groups of tasks in a JVM that is being recorded.
pub fn groups(whom: &str) -> Result<Value, Error> {
    let jvm = jvm::find(whom)?;
    let pid = jvm.pid;
    if jvm.agent.is_none() {
        return Err(Error::NeverRecorded(pid));
    }
    let said = Line::open(jvm)?.ask("groups", &AgentOptions::default())?;
    let told = said.iter().find_map(|line| serde_json::from_str(unmarked(line)).ok());
    told.ok_or(Error::NoGroups { pid, said })
}

/// A JVM that this command sends commands to, and the folder for its replies.
pub struct Line {
    jvm: Jvm,
    terminal: ReplyDir,
    library: PathBuf,
    /// True if the JVM sees other files, or is another user's. In that case its files are fetched.
    apart: bool,
    /// The files to fetch: the path at which the JVM writes each, and the path that the user wants.
    fetched: Vec<(String, PathBuf)>,
}

/// The way in which a recording ended while this command waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The duration is over, or another command stopped the recording.
    Over(End),
    /// The JVM exited without writing the profile.
    Died,
}

impl Line {
    pub fn open(jvm: Jvm) -> Result<Self, Error> {
        let apart = jvm.elsewhere || jvm.user.is_another();
        let terminal = ReplyDir::create(folder(jvm.pid)?, Path::new(TMP), jvm.user)?;
        let library = match &jvm.agent {
            // If the library were loaded again by another name, it would be a second agent.
            Some(loaded) => loaded.clone(),
            None if apart => {
                let library = agent::library(jvm.libc)?;
                let from = File::open(&library);
                terminal.copy_in(agent::NAME, from.map_err(|why| Error::unreadable(&library, why))?)?;
                terminal.seen(agent::NAME)
            }
            None => agent::library(jvm.libc)?,
        };
        Ok(Self { jvm, terminal, library, apart, fetched: Vec::new() })
    }

    /// Makes the names of files absolute. If the JVM sees other files, a relative name is an error.
    fn name_there(&self, given: &mut AgentOptions) -> Result<(), Error> {
        if !self.jvm.elsewhere {
            return given.make_absolute();
        }
        match given.relative(&FILES) {
            Some(name) => Err(Error::RelativeOfStart { name: name.to_owned(), pid: self.jvm.pid }),
            None => Ok(()),
        }
    }

    /// Chooses where the JVM writes its files: where the user wants them, or in a folder from which
    /// they are fetched.
    fn choose_output_paths(&mut self, given: &mut AgentOptions) -> Result<(), Error> {
        if !self.apart {
            return given.make_absolute();
        }
        if given.has(EVERY) {
            return Err(Error::PeriodsElsewhere(self.jvm.pid));
        }
        if self.jvm.elsewhere
            && let Some(name) = given.relative(&["jfr", "sources"])
        {
            return Err(Error::RelativeInContainer { name: name.to_owned(), pid: self.jvm.pid });
        }
        given.make_absolute_of(&["jfr"])?;
        let (mut fetched, mut mistakes) = (Vec::new(), Vec::new());
        let variable = |name: &str| std::env::var(name).ok();
        let place = PatternValues { pid: self.jvm.pid, time: None, variable: &variable, inherited: false };
        for name in ["out", "report"] {
            given.change(name, |wanted| {
                let ending = Format::from_file_name(wanted).map_or("", |format| format.ending);
                let there = format!("{name}-{}{ending}", fetched.len());
                let expanded = place.expand(wanted).map_err(Error::from).and_then(|wanted| {
                    vouch_log::output::check_writable(Path::new(&wanted))?;
                    Ok(wanted)
                });
                match expanded {
                    Ok(wanted) => fetched.push((there.clone(), PathBuf::from(wanted))),
                    Err(why) => mistakes.push(of_option(name, wanted, why)),
                }
                escaped(&self.terminal.seen(&there).to_string_lossy())
            });
        }
        self.fetched = fetched;
        if mistakes.is_empty() { Ok(()) } else { Err(Error::Several(mistakes)) }
    }

    /// Sends a command to the agent, and prints the agent's messages.
    fn command(&mut self, word: &'static str, given: &AgentOptions) -> Result<(), Error> {
        self.ask(word, given).map(show)
    }

    /// Sends a command to the agent, and returns the agent's messages. An error has the agent's
    /// reason for refusing.
    pub fn ask(&mut self, word: &'static str, given: &AgentOptions) -> Result<Vec<String>, Error> {
        let options = given.text(&[Cow::Owned(self.terminal.option()), Cow::Borrowed(word)])?;
        let pid = self.jvm.pid;
        let answer = load(&self.jvm, &self.library, &options);
        let said = self.said();
        match answer? {
            Answer::Agent(0) => Ok(said),
            Answer::Agent(_) if said.is_empty() => Err(Error::AgentRefusesElsewhere(pid)),
            Answer::Agent(_) => {
                Err(Error::AgentRefuses(said.iter().map(|line| unmarked(line).to_owned()).collect()))
            }
            Answer::No(why) => Err(refused(pid, why)),
        }
    }

    /// Returns the agent's messages since the previous call. They name files by their final paths.
    fn said(&mut self) -> Vec<String> {
        let mut lines = self.terminal.said();
        for (there, wanted) in &self.fetched {
            let there = self.terminal.seen(there).display().to_string();
            lines = lines.iter().map(|line| line.replace(&there, &seen(wanted))).collect();
        }
        lines
    }

    /// Returns the status line while the recording goes on. Afterwards it returns the way in which
    /// the recording ended.
    fn status_or_end(&self) -> Result<Option<String>, Ended> {
        // `alive` is read before the state, so that a reported end is not missed.
        let alive = self.jvm.is_alive();
        match self.terminal.state() {
            State::Over(end) => Err(Ended::Over(end)),
            _ if !alive => Err(Ended::Died),
            State::Running(state) => Ok(Some(state)),
            State::Unknown => Ok(None),
        }
    }

    /// Shows the state of the recording until it ends. Returns `None` if the user asked to end it.
    /// With `moves` the line is written over.
    fn show_until_end(&mut self, asked: &AtomicBool, moves: bool) -> Option<Ended> {
        loop {
            let look = self.status_or_end();
            let lines = self.said();
            if moves {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
            show(lines);
            match look {
                Err(ended) => return Some(ended),
                Ok(_) if asked.load(Ordering::SeqCst) => return None,
                Ok(Some(state)) if moves => {
                    let _ = write!(io::stderr(), "{}", cut_to_terminal(&state));
                }
                Ok(_) => {}
            }
            thread::sleep(SOON);
        }
    }

    /// Ends the recording, and waits for its end.
    fn stop(&mut self) -> Result<Ended, Error> {
        let stopped = self.command("stop", &AgentOptions::default());
        // The recording may have ended by itself meanwhile, with or without an error.
        match (self.status_or_end(), stopped) {
            (Err(ended), _) => Ok(ended),
            (Ok(_), Ok(())) => Ok(Ended::Over(End::Written)),
            (Ok(_), Err(why)) => {
                if self.apart {
                    self.terminal.keep();
                }
                let pid = self.jvm.pid;
                Err(Error::NotStopped { why: Box::new(why), pid })
            }
        }
    }

    /// Makes the profile of a JVM that exited, from the recording that it left on disk.
    fn recover(&mut self, given: &AgentOptions) -> Result<Made, Error> {
        if !self.apart {
            return Ok(orphaned_recordings::recover(&self.terminal, given, false));
        }
        let of = |kind: &'static str| {
            self.fetched
                .iter()
                .filter(move |(there, _)| there.starts_with(kind))
                .map(|(_, wanted)| wanted.clone())
        };
        let (outs, report): (Vec<PathBuf>, _) = (of("out").collect(), of("report").next());
        let recovered =
            orphaned_recordings::recover_within(&self.terminal, &outs, report.as_deref(), given.detail());
        recovered.map_err(|why| self.kept(why))
    }

    /// Keeps the folder with the JVM's files, which is removed otherwise, and adds its path to the
    /// error.
    fn kept(&mut self, why: Error) -> Error {
        if !self.apart {
            return why;
        }
        self.terminal.keep();
        Error::Kept { why: Box::new(why), folder: self.terminal.seen(""), pid: self.jvm.pid }
    }

    /// Copies the JVM's files to the paths that the user wants.
    fn fetch(&mut self) -> Result<(), Error> {
        let (mut mistakes, mut keep) = (Vec::new(), false);
        for (there, wanted) in &self.fetched {
            let fetched = self.terminal.open(there).and_then(|mut file| copy_whole(&mut file, wanted));
            match fetched {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    mistakes.push(Error::WrittenElsewhere(wanted.clone()));
                }
                Err(why) => {
                    mistakes.push(Error::NotFetched { path: wanted.clone(), why });
                    keep = true;
                }
            }
        }
        if mistakes.is_empty() {
            return Ok(());
        }
        let why = Error::Several(mistakes);
        Err(if keep { self.kept(why) } else { why })
    }
}

/// Cuts a line to the terminal's width. A longer line could not be written over.
fn cut_to_terminal(line: &str) -> String {
    let (terminal_size::Width(width), _) = terminal_size::terminal_size_of(io::stderr())
        .unwrap_or((terminal_size::Width(80), terminal_size::Height(0)));
    format!("[vouch] {line}").chars().take(usize::from(width).saturating_sub(1)).collect()
}

/// Returns the error for a JVM that did not load the library, by the JVM's own words.
fn refused(pid: u32, why: String) -> Error {
    if why.contains("ynamic agent loading is not enabled") {
        return Error::NoDynamicLoading(pid);
    }
    if why.is_empty() {
        return Error::NotLoadedSilently(pid);
    }
    Error::NotLoaded { pid, why }
}
