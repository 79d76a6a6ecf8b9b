//! `vouch attach`, `start`, `stop`, `dump` and `status`: recordings of JVMs that run already.
//!
//! It must never leave a JVM with a recording that nobody asked for: whoever ends `attach` by a key or a signal ends its recording, and
//! has its profile.

use std::borrow::Cow;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use vouch_formats::Format;
use vouch_options::pattern::{Place, escaped};

use crate::agent;
use crate::given::{Given, Places, Recording, seen};
use crate::jvm::attach::{Answer, load};
use crate::jvm::{self, Jvm};
use crate::left;
use crate::run::show;
use crate::terminal::Terminal;

/// The JVM's folder of temporary files, as it calls it itself.
const TMP: &str = "/tmp";
/// The line that moves does so about as often.
const SOON: Duration = Duration::from_millis(250);

#[derive(Args)]
pub struct Attach {
    /// The JVM's process id, or what it runs: a main class or a jar
    #[arg(value_name = "PID|NAME")]
    jvm: String,
    #[command(flatten)]
    recording: Recording,
}

#[derive(Args)]
pub struct To {
    /// The JVM's process id, or what it runs: a main class or a jar
    #[arg(value_name = "PID|NAME")]
    jvm: String,
    #[command(flatten)]
    places: Places,
}

/// Records a JVM until the duration is over, a key ends it, or the JVM.
pub fn attach(attach: Attach) -> Result<String, String> {
    let Attach { jvm, recording: Recording(mut given) } = attach;
    let mut line = Line::open(jvm::find(&jvm)?)?;
    given.name_profile();
    line.place(&mut given)?;
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // Whoever does so again does not want to wait.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&ended))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&ended)))
            .map_err(|error| format!("Ctrl-C cannot be waited for: {error}"))?;
    }
    line.command("start", &given)?;
    let pid = line.jvm.pid;
    let until = if given.has("duration") { "" } else { "; Ctrl-C ends it and writes" };
    show(vec![format!("[vouch] recording process {pid}, {}{until}", vouch_report::plain(&line.jvm.main))]);
    match line.follow(&ended) {
        Outcome::Asked => line.command("stop", &Given::default())?,
        Outcome::Over => {}
        Outcome::Died => {
            line.recover(&given);
            return Ok(String::new());
        }
    }
    line.fetch()?;
    Ok(String::new())
}

/// Begins a recording, and does not wait for its end.
pub fn start(attach: Attach) -> Result<String, String> {
    let Attach { jvm, recording: Recording(mut given) } = attach;
    let mut line = Line::open(jvm::find(&jvm)?)?;
    given.name_profile();
    line.name_there(&mut given)?;
    line.command("start", &given)?;
    Ok(format!(
        "process {0} is being recorded: `vouch stop {0}` ends it and writes the profile\n",
        line.jvm.pid
    ))
}

/// Ends one, or writes what there is, or asks for its state.
pub fn ask(word: &'static str, to: To) -> Result<String, String> {
    let To { jvm, places: Places(mut given) } = to;
    let mut line = Line::open(jvm::find(&jvm)?)?;
    line.name_there(&mut given)?;
    line.command(word, &given)?;
    Ok(String::new())
}

/// A JVM that is talked to.
struct Line {
    jvm: Jvm,
    terminal: Terminal,
    library: PathBuf,
    /// It sees other files, or is another user's: what it writes is fetched.
    apart: bool,
    /// What is to be fetched: from where, and where to.
    fetched: Vec<(String, PathBuf)>,
}

/// Why a recording is followed no more.
enum Outcome {
    /// A key or a signal.
    Asked,
    /// Its duration is over, or somebody else has ended it.
    Over,
    /// The JVM is gone, and has not written it.
    Died,
}

impl Line {
    fn open(jvm: Jvm) -> Result<Self, String> {
        let apart = jvm.elsewhere || jvm.is_of_another();
        let folder = PathBuf::from(format!("/proc/{}/root{TMP}", jvm.pid));
        let owner = jvm.is_of_another().then_some((jvm.uid, jvm.gid));
        let terminal = Terminal::create(&folder, Path::new(TMP), owner)?;
        let library = match &jvm.agent {
            // Loaded once more by another name it would be a second agent.
            Some(loaded) => loaded.clone(),
            None if apart => {
                let copy = "libvouch.so";
                let library = agent::library()?;
                let failed = |error: io::Error| {
                    format!("the agent cannot be laid down where the JVM sees it: {error}")
                };
                fs::copy(&library, terminal.path(copy)).map_err(failed)?;
                terminal.seen(copy)
            }
            None => agent::library()?,
        };
        Ok(Self { jvm, terminal, library, apart, fetched: Vec::new() })
    }

    /// Names of files are the JVM's own.
    fn name_there(&self, given: &mut Given) -> Result<(), String> {
        if !self.jvm.elsewhere {
            return given.make_absolute();
        }
        let relative = ["out", "report", "jfr"]
            .iter()
            .flat_map(|name| given.all(name))
            .find(|name| !name.starts_with('/'));
        match relative {
            Some(name) => Err(format!(
                "{name}: process {} sees other files than you: name one of its own, from / on, or use `vouch attach`",
                self.jvm.pid
            )),
            None => Ok(()),
        }
    }

    /// Files are written where they are wanted, or where the JVM can write them, to be fetched.
    fn place(&mut self, given: &mut Given) -> Result<(), String> {
        if !self.apart {
            return given.make_absolute();
        }
        let (mut fetched, mut mistakes) = (Vec::new(), Vec::new());
        let variable = |name: &str| std::env::var(name).ok();
        let place = Place { pid: self.jvm.pid, time: "%t".to_owned(), variable: &variable };
        for name in ["out", "report"] {
            given.change(name, |wanted| {
                let ending = Format::of(wanted).map_or("", |format| format.ending);
                let there = format!("{name}-{}{ending}", fetched.len());
                let expanded = place.expand(wanted).and_then(|wanted| {
                    vouch_output::check(Path::new(&wanted))?;
                    if wanted.contains("%t") {
                        Err("%t is known in the JVM's own place alone".to_owned())
                    } else {
                        Ok(wanted)
                    }
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

    /// Has the agent obey, and shows what it says; a mistake is what it says of that.
    fn command(&mut self, word: &'static str, given: &Given) -> Result<(), String> {
        let options = given.text(&[Cow::Owned(self.terminal.option()), Cow::Borrowed(word)])?;
        let pid = self.jvm.pid;
        let answer = load(&self.jvm, &self.library, &options);
        let said = self.said();
        match answer? {
            Answer::Agent(0) => {
                show(said);
                Ok(())
            }
            Answer::Agent(_) if said.is_empty() => Err(format!(
                "the agent in process {pid} refuses, and says why on that process's stderr: it may be of another version than this `vouch`"
            )),
            Answer::Agent(_) => {
                let said: Vec<&str> = said.iter().map(|line| line.trim_start_matches("[vouch] ")).collect();
                Err(said.join("; "))
            }
            Answer::No(why) => Err(refused(pid, &why)),
        }
    }

    /// What was said since, with files under the names that they will have.
    fn said(&mut self) -> Vec<String> {
        let mut lines = self.terminal.said();
        for (there, wanted) in &self.fetched {
            let there = self.terminal.seen(there).display().to_string();
            lines = lines.iter().map(|line| line.replace(&there, &seen(wanted))).collect();
        }
        lines
    }

    /// Shows how the recording gets on until it is over.
    fn follow(&mut self, ended: &AtomicBool) -> Outcome {
        let moves = io::stderr().is_terminal();
        loop {
            // Asked first, so that what was said last is shown.
            let state = self.terminal.state();
            let alive = self.jvm.is_alive();
            let lines = self.said();
            if moves {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
            show(lines);
            if !alive {
                return if state.is_some() { Outcome::Died } else { Outcome::Over };
            }
            if ended.load(Ordering::SeqCst) {
                return Outcome::Asked;
            }
            match state {
                None => return Outcome::Over,
                Some(state) if moves => {
                    let _ = write!(io::stderr(), "[vouch] {state}");
                }
                Some(_) => {}
            }
            thread::sleep(SOON);
        }
    }

    /// Makes the profile of a JVM that is gone, of the recording that it left.
    fn recover(&self, given: &Given) {
        if self.apart {
            let wanted: Vec<PathBuf> = self.fetched.iter().map(|(_, wanted)| wanted.clone()).collect();
            left::recover_within(&self.terminal, &wanted);
        } else {
            left::recover(&self.terminal, given);
        }
    }

    /// Brings what the JVM has written to where it is wanted.
    fn fetch(&self) -> Result<(), String> {
        for (there, wanted) in &self.fetched {
            let failed = |error: io::Error| format!("{} cannot be fetched: {error}", wanted.display());
            let mut file = self.terminal.open(there).map_err(failed)?;
            vouch_output::write_whole(wanted, false, |to| io::copy(&mut file, to).map(|_| ()))
                .map_err(failed)?;
        }
        Ok(())
    }
}

/// What a JVM says to a library that it does not load, for a person.
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
