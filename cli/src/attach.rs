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
use vouch_report::options::pattern::{PatternValues, escaped};
use vouch_report::options::terminal::End;

use crate::agent;
use crate::agent_options::{self, AgentOptions, FILES, Options, Start};
use crate::jvm::attach::{Answer, TMP, folder, load};
use crate::jvm::{self, Jvm};
use crate::orphaned_recordings::{self, Made, copy_whole};
use crate::reply_dir::{ReplyDir, State};
use crate::run::heeded;
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
pub fn attach(attach: Attach) -> Result<String, String> {
    let Attach { whom, recording: Options { mut given, .. } } = attach;
    let asked = Arc::new(AtomicBool::new(false));
    // Ignored signals stay ignored: `nohup` ignores some, and so does a shell for programs in the
    // background.
    heeded(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM])
        .into_iter()
        .try_for_each(|signal| {
            if signal == SIGQUIT {
                // A user who does not want to wait for the JVM to write can press Ctrl-\ after
                // Ctrl-C.
                signal_hook::flag::register_conditional_default(signal, Arc::clone(&asked))?;
            }
            signal_hook::flag::register(signal, Arc::clone(&asked)).map(|_| ())
        })
        .map_err(|error| format!("Ctrl-C cannot be waited for: {error}"))?;
    let mut line = Line::open(jvm::find(&whom.jvm)?)?;
    given.name_new_profile(line.jvm.pid);
    line.place(&mut given)?;
    line.command("start", &given)?;
    let pid = line.jvm.pid;
    let until = if given.has("duration") { "" } else { "; Ctrl-C ends it and writes" };
    if !given.is_quiet() {
        let main = vouch_report::plain(&line.jvm.main);
        show(vec![format!("[vouch] recording process {pid}, {main}{until}")]);
    }
    let moves = io::stderr().is_terminal() && !given.is_quiet();
    let ended = match line.follow(&asked, moves) {
        Some(ended) => ended,
        None => line.stop()?,
    };
    match ended {
        Ended::Died => match line.recover(&given)? {
            Made::Nothing => Err("the JVM has ended, and its recording is lost".to_owned()),
            Made::Some => Err(
                "the JVM has ended, and only some of the requested files could be made from its recording"
                    .to_owned(),
            ),
            Made::All => Ok(String::new()),
        },
        Ended::Over(End::Nothing) if !asked.load(Ordering::SeqCst) => {
            Err("the recording never began, as was said".to_owned())
        }
        Ended::Over(End::Written) => line.fetch().map(|()| String::new()),
        Ended::Over(End::Lost) => {
            // The files that the JVM has written are fetched even after an error.
            let fetched = line.fetch();
            let kept = line.keep();
            Err(fetched.err().unwrap_or_else(|| {
                format!("not every file could be written where it should be: see the lines above{kept}")
            }))
        }
        Ended::Over(End::Nothing) => Ok(String::new()),
    }
}

/// Begins a recording, and does not wait for its end.
pub fn start(attach: Attach) -> Result<String, String> {
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
pub fn status(whom: &Whom) -> Result<String, String> {
    let jvm = jvm::find(&whom.jvm)?;
    if jvm.agent.is_none() {
        return Ok("no recording is running\n".to_owned());
    }
    Line::open(jvm)?.command("status", &AgentOptions::default()).map(|()| String::new())
}

/// Stops a JVM's recording, or writes what it has recorded so far.
pub fn ask(word: &'static str, to: To) -> Result<String, String> {
    let To { whom, places: Options { mut given, .. } } = to;
    let jvm = jvm::find(&whom.jvm)?;
    if jvm.agent.is_none() {
        let pid = jvm.pid;
        return Err(format!("no recording is running in process {pid}: `vouch start {pid}` begins one"));
    }
    let mut line = Line::open(jvm)?;
    line.name_there(&mut given)?;
    line.command(word, &given)?;
    Ok(String::new())
}

/// Returns the times so far of the groups of tasks in a JVM that is being recorded.
pub fn groups(whom: &str) -> Result<Value, String> {
    let jvm = jvm::find(whom)?;
    let pid = jvm.pid;
    if jvm.agent.is_none() {
        return Err(format!(
            "process {pid} was never recorded, so nothing is known of it: `vouch start {pid}` begins"
        ));
    }
    let said = Line::open(jvm)?.ask("groups", &AgentOptions::default())?;
    let told = said.iter().find_map(|line| serde_json::from_str(unmarked(line)).ok());
    told.ok_or_else(|| {
        format!("process {pid} says something else than what its groups took: {}", said.join("; "))
    })
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
    pub fn open(jvm: Jvm) -> Result<Self, String> {
        let apart = jvm.elsewhere || jvm.user.is_another();
        let terminal = ReplyDir::create(folder(jvm.pid)?, Path::new(TMP), jvm.user)?;
        let library = match &jvm.agent {
            // If the library were loaded again by another name, it would be a second agent.
            Some(loaded) => loaded.clone(),
            None if apart => {
                let library = agent::library(jvm.libc)?;
                let from = File::open(&library);
                terminal.lay(
                    agent::NAME,
                    from.map_err(|error| format!("{} cannot be read: {error}", library.display()))?,
                )?;
                terminal.seen(agent::NAME)
            }
            None => agent::library(jvm.libc)?,
        };
        Ok(Self { jvm, terminal, library, apart, fetched: Vec::new() })
    }

    /// Makes the names of files absolute. If the JVM sees other files, a relative name is an error.
    fn name_there(&self, given: &mut AgentOptions) -> Result<(), String> {
        if !self.jvm.elsewhere {
            return given.make_absolute();
        }
        match given.relative(&FILES) {
            Some(name) => Err(elsewhere(self.jvm.pid, name) + ", or use `vouch attach`"),
            None => Ok(()),
        }
    }

    /// Chooses where the JVM writes its files: where the user wants them, or in a folder from which
    /// they are fetched.
    fn place(&mut self, given: &mut AgentOptions) -> Result<(), String> {
        if !self.apart {
            return given.make_absolute();
        }
        if self.jvm.elsewhere
            && let Some(name) = given.relative(&["jfr", "sources"])
        {
            return Err(elsewhere(self.jvm.pid, name));
        }
        given.make_absolute_of(&["jfr"])?;
        let (mut fetched, mut mistakes) = (Vec::new(), Vec::new());
        let variable = |name: &str| std::env::var(name).ok();
        let place = PatternValues { pid: self.jvm.pid, time: None, variable: &variable, inherited: false };
        for name in ["out", "report"] {
            given.change(name, |wanted| {
                let ending = Format::from_file_name(wanted).map_or("", |format| format.ending);
                let there = format!("{name}-{}{ending}", fetched.len());
                let expanded = place.expand(wanted).map_err(|why| why.to_string()).and_then(|wanted| {
                    let writable = vouch_log::output::check_writable(Path::new(&wanted));
                    writable.map(|()| wanted).map_err(|why| why.to_string())
                });
                match expanded {
                    Ok(wanted) => fetched.push((there.clone(), PathBuf::from(wanted))),
                    Err(why) => mistakes.push(format!("{name}={wanted}: {why}")),
                }
                escaped(&self.terminal.seen(&there).to_string_lossy())
            });
        }
        self.fetched = fetched;
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes.join("; ")) }
    }

    /// Sends a command to the agent, and prints the agent's messages.
    fn command(&mut self, word: &'static str, given: &AgentOptions) -> Result<(), String> {
        self.ask(word, given).map(show)
    }

    /// Sends a command to the agent, and returns the agent's messages. An error has the agent's
    /// reason for refusing.
    pub fn ask(&mut self, word: &'static str, given: &AgentOptions) -> Result<Vec<String>, String> {
        let options = given.text(&[Cow::Owned(self.terminal.option()), Cow::Borrowed(word)])?;
        let pid = self.jvm.pid;
        let answer = load(&self.jvm, &self.library, &options);
        let said = self.said();
        match answer? {
            Answer::Agent(0) => Ok(said),
            Answer::Agent(_) if said.is_empty() => Err(format!(
                "the agent in process {pid} refuses, and says why on that process's stderr: it may be of another version than this `vouch`"
            )),
            Answer::Agent(_) => {
                let said: Vec<&str> = said.iter().map(|line| unmarked(line)).collect();
                Err(said.join("; "))
            }
            Answer::No(why) => Err(refused(pid, &why)),
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
    fn look(&self) -> Result<Option<String>, Ended> {
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
    fn follow(&mut self, asked: &AtomicBool, moves: bool) -> Option<Ended> {
        loop {
            let look = self.look();
            let lines = self.said();
            if moves {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
            show(lines);
            match look {
                Err(ended) => return Some(ended),
                Ok(_) if asked.load(Ordering::SeqCst) => return None,
                Ok(Some(state)) if moves => {
                    let _ = write!(io::stderr(), "{}", fitting(&state));
                }
                Ok(_) => {}
            }
            thread::sleep(SOON);
        }
    }

    /// Ends the recording, and waits for its end.
    fn stop(&mut self) -> Result<Ended, String> {
        let stopped = self.command("stop", &AgentOptions::default());
        // The recording may have ended by itself meanwhile, with or without an error.
        match (self.look(), stopped) {
            (Err(ended), _) => Ok(ended),
            (Ok(_), Ok(())) => Ok(Ended::Over(End::Written)),
            (Ok(_), Err(why)) => {
                self.keep();
                let pid = self.jvm.pid;
                Err(format!("{why}; the recording goes on: `vouch stop {pid} --out FILE` ends it elsewhere"))
            }
        }
    }

    /// Makes the profile of a JVM that exited, from the recording that it left on disk.
    fn recover(&mut self, given: &AgentOptions) -> Result<Made, String> {
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
        recovered.map_err(|why| why + &self.keep())
    }

    /// Keeps the folder with the JVM's files, which is removed otherwise. Returns a text with the
    /// folder's path.
    fn keep(&mut self) -> String {
        if !self.apart {
            return String::new();
        }
        self.terminal.keep();
        format!(
            "; its part so far is in {}, as process {} sees it",
            self.terminal.seen("").display(),
            self.jvm.pid
        )
    }

    /// Copies the JVM's files to the paths that the user wants.
    fn fetch(&mut self) -> Result<(), String> {
        let (mut mistakes, mut keep) = (Vec::new(), false);
        for (there, wanted) in &self.fetched {
            let fetched = self.terminal.open(there).and_then(|mut file| copy_whole(&mut file, wanted));
            match fetched {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => mistakes.push(format!(
                    "{} is not there: who ended the recording has had it written elsewhere",
                    wanted.display()
                )),
                Err(error) => {
                    mistakes.push(format!("{} cannot be fetched: {error}", wanted.display()));
                    keep = true;
                }
            }
        }
        let kept = if keep { self.keep() } else { String::new() };
        if mistakes.is_empty() { Ok(()) } else { Err(mistakes.join("; ") + &kept) }
    }
}

/// Cuts a line to the terminal's width. A longer line could not be written over.
fn fitting(line: &str) -> String {
    let (terminal_size::Width(width), _) = terminal_size::terminal_size_of(io::stderr())
        .unwrap_or((terminal_size::Width(80), terminal_size::Height(0)));
    format!("[vouch] {line}").chars().take(usize::from(width).saturating_sub(1)).collect()
}

fn elsewhere(pid: u32, name: &str) -> String {
    format!("{name}: process {pid} has another root folder (a container): name an absolute path there")
}

/// Explains to the user why a JVM did not load the library.
fn refused(pid: u32, why: &str) -> String {
    if why.contains("ynamic agent loading") {
        return format!(
            "process {pid} lets no agent in while it runs (-XX:-EnableDynamicAgentLoading): start it without that, or with `vouch run`"
        );
    }
    if why.is_empty() {
        return format!(
            "process {pid} could not load the agent, and says no more: its user must be able to read it"
        );
    }
    format!("process {pid} could not load the agent: {why}")
}
