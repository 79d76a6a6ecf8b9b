//! `vouch run`: a program with every JVM that it starts under the agent, to its end.
//!
//! It must never change what the program sees besides the agent: its streams, its signals and its exit code are its own.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::agent;
use crate::given::Recording;
use crate::left;
use crate::terminal::Terminal;

/// What the agent says is shown about so soon.
const SOON: Duration = Duration::from_millis(100);
/// What every JVM reads when it starts.
const EVERY_JVM: &str = "JAVA_TOOL_OPTIONS";

#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    recording: Recording,
    /// The program, with its arguments: java, or whatever starts a JVM
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// Runs it; its exit code.
pub fn run(run: Run) -> Result<ExitCode, String> {
    let Run { recording: Recording(mut given), command } = run;
    let (program, arguments) = command.split_first().ok_or("a program is missing")?;
    let library = agent::library()?;
    let mut terminal = Terminal::here()?;
    let launcher = Launcher::of(program);
    if launcher == Launcher::Unknown {
        // Each of several JVMs has its own folder, perhaps, and its own files.
        given.name_profile();
        given.tell_apart();
        given.make_absolute()?;
    }
    let options = given.text(&[Cow::Owned(terminal.option())])?;
    let agent = format!("-agentpath:{}={options}", library.display());
    let mut command = Command::new(program);
    match launcher {
        Launcher::Java => command.arg(agent),
        Launcher::Tool => command.arg(format!("-J{agent}")),
        Launcher::Unknown => command.env(EVERY_JVM, beside_others(&agent)?),
    };
    command.args(arguments);
    let signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]);
    let signals = signals.map_err(|error| format!("signals cannot be passed on: {error}"))?;
    let child = command.spawn().map_err(|error| format!("{} cannot be run: {error}", program.display()))?;
    pass_on(signals, &child);
    let status = wait(child, &mut terminal)?;
    left::recover(&terminal, &given);
    drop(terminal);
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

/// How a program is told of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Launcher {
    /// It is the JVM.
    Java,
    /// A JDK's tool, which hands to its JVM what stands behind -J.
    Tool,
    /// It starts JVMs in a way of its own, or one by another name.
    Unknown,
}

impl Launcher {
    fn of(program: &OsStr) -> Self {
        match Path::new(program).file_name().and_then(OsStr::to_str) {
            Some("java") => Self::Java,
            Some("javac" | "javadoc" | "jar" | "jshell" | "jlink") => Self::Tool,
            _ => Self::Unknown,
        }
    }
}

/// What stands in the variable already stays there.
fn beside_others(agent: &str) -> Result<OsString, String> {
    if agent.contains('"') {
        return Err(format!(
            "{agent}: a quotation mark cannot be told to a JVM that is started by another program"
        ));
    }
    let quoted = if agent.contains(char::is_whitespace) { format!("\"{agent}\"") } else { agent.to_owned() };
    let mut options = std::env::var_os(EVERY_JVM).unwrap_or_default();
    if !options.is_empty() {
        options.push(" ");
    }
    options.push(quoted);
    Ok(options)
}

/// Signals that are meant for the program reach it. Those of a key do so by themselves.
fn pass_on(mut signals: Signals, child: &Child) {
    let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    thread::spawn(move || {
        for number in signals.forever() {
            let is_key =
                matches!(number, SIGINT | SIGQUIT) && std::io::stdin().is_terminal() && is_in_front();
            if let (Some(child), Some(signal), false) = (child, Signal::from_named_raw(number), is_key) {
                // It may have ended.
                let _ = kill_process(child, signal);
            }
        }
    });
}

/// The terminal sends the signals of its keys to this process and the program alike.
fn is_in_front() -> bool {
    rustix::termios::tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Waits for the end, and shows meanwhile what the agents say.
fn wait(mut child: Child, terminal: &mut Terminal) -> Result<std::process::ExitStatus, String> {
    let (ended, end): (Sender<()>, _) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            while end.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
                show(terminal.said());
            }
            show(terminal.said());
        });
        let status = child.wait();
        drop(ended);
        status
    })
    .map_err(|error| format!("how the program has ended is not known: {error}"))
}

/// Lines of the agent's, on stderr; nobody may read there.
pub fn show(lines: Vec<String>) {
    for line in lines {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
