//! Implements `vouch run`, which runs a program with the agent in every JVM that it starts.
//!
//! It must never change what the program sees, except for the agent. Streams, signals and the exit
//! code are the program's own.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGKILL, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::emulate_default_handler;
use signal_hook::low_level::siginfo::{Cause, Origin};

use crate::agent::{self, Libc};
use crate::agent_options::{Options, Start};
use crate::error::Error;
use crate::orphaned_recordings::{self, Made};
use crate::reply_dir::ReplyDir;
use crate::say::show;

/// The agents' messages are printed after at most this time.
const SOON: Duration = Duration::from_millis(100);
/// The environment variable that every JVM reads when it starts.
const EVERY_JVM: &str = "JAVA_TOOL_OPTIONS";
const MOST_FOR_JDK_8: usize = 1023;
/// The exit code of a killed program, and of a program that reports that its child was killed.
const KILLED: i32 = 128 + SIGKILL;

#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    recording: Options<Start>,
    /// The program with its arguments: `java`, or another command. Each JVM that it starts gets
    /// a separate profile
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// Runs the program, and returns its exit code.
pub fn run(run: Run) -> Result<ExitCode, Error> {
    let Run { recording: Options { mut given, .. }, command } = run;
    let (program, arguments) = command.split_first().ok_or(Error::NoProgram)?;
    if program.as_encoded_bytes().starts_with(b"-") {
        return Err(Error::UnknownRunOption(program.into()));
    }
    let mistakes = given.mistakes();
    if !mistakes.is_empty() && given.all("on-error").last() != Some("run") {
        return Err(Error::RunOptions(mistakes));
    }
    if std::env::var(EVERY_JVM).is_ok_and(|options| options.contains(agent::NAME)) {
        return Err(Error::AgentTwice { variable: EVERY_JVM });
    }
    let launcher = Launcher::from_program(program);
    let library = agent::library(launcher.libc(program))?;
    let mut terminal = ReplyDir::for_own_jvms()?;
    if launcher == Launcher::Unknown {
        // Each JVM may have its own working folder, and needs its own files.
        given.name_profile();
        given.add_pid_to_names();
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
    let signals = SignalsInfo::<WithOrigin>::new(without_ignored(&ALL));
    let signals = signals.map_err(Error::Signals)?;
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            show(vec![vouch_report::escaped(&format!(
                "vouch: {} cannot be run: {error}",
                program.display()
            ))]);
            // These are the exit codes that a shell uses.
            let code = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
            return Ok(ExitCode::from(code));
        }
    };
    let running = Arc::new(AtomicI32::new(i32::try_from(child.id()).unwrap_or(0)));
    pass_on(signals, Arc::clone(&running));
    let status = wait(child, &running, &mut terminal)?;
    if !terminal.has_agent() && !given.is_quiet() {
        show(vec![
            "[vouch] the agent was not loaded: the command started no JVM, or a JVM that vouch does not see"
                .to_owned(),
        ]);
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    // After a program was killed, or reports that its child was, the JVM may still be exiting.
    if code == KILLED {
        orphaned_recordings::await_ends(&terminal);
    }
    let made = orphaned_recordings::recover(&terminal, &given, launcher == Launcher::Unknown);
    if code == KILLED && launcher == Launcher::Java && made == Made::Nothing && terminal.has_agent() {
        show(vec!["[vouch] the JVM was killed, and its recording is lost".to_owned()]);
    }
    drop(terminal);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)))
}

/// The way in which a program passes the agent to a JVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Launcher {
    /// The program is the JVM's launcher, `java`.
    Java,
    /// The program is a tool of the JDK, which passes options after -J to its JVM.
    Tool,
    /// The program starts JVMs in another way, or is a launcher by another name.
    Unknown,
}

impl Launcher {
    /// Returns the C library of the JVM that the program will start. It is the C library of the
    /// program, or of the `java` that it probably runs.
    fn libc(self, program: &OsStr) -> Libc {
        let program = Path::new(program);
        match self {
            Self::Java | Self::Tool => Libc::of_program(program),
            Self::Unknown => {
                let java = agent::java_beside(program).or_else(agent::java);
                java.map_or_else(Libc::of_this_system, |java| Libc::of_program(&java))
            }
        }
    }

    fn from_program(program: &OsStr) -> Self {
        match Path::new(program).file_name().and_then(OsStr::to_str) {
            Some("java") => Self::Java,
            Some("javac" | "javadoc" | "jar" | "jshell" | "jlink") => Self::Tool,
            _ => Self::Unknown,
        }
    }
}

/// Adds the agent to the options that the environment variable already has.
fn beside_others(agent: &str) -> Result<OsString, Error> {
    if agent.contains('"') {
        return Err(Error::QuotationMark { agent: agent.to_owned() });
    }
    let mut options = std::env::var_os(EVERY_JVM).unwrap_or_default();
    if !options.is_empty() {
        options.push(" ");
    }
    options.push(format!("\"{agent}\""));
    if options.len() > MOST_FOR_JDK_8 {
        show(vec![format!(
            "[vouch] {EVERY_JVM} now has {} characters, and JDK 8 ignores it if it has more than {MOST_FOR_JDK_8}",
            options.len()
        )]);
    }
    Ok(options)
}

/// The signals that may be meant for the program.
const ALL: [i32; 6] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2];

/// Returns those of these signals that are not ignored. Ignored ones stay ignored for the program,
/// too, as under `nohup`.
pub fn without_ignored(signals: &[i32]) -> Vec<i32> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    let ignored = ignored.unwrap_or(0);
    signals.iter().copied().filter(|signal| ignored & (1 << (signal - 1)) == 0).collect()
}

/// Passes a signal from another process on to the program. A key on the terminal sends its signal
/// to both. After the program's end a signal ends this process.
fn pass_on(mut signals: SignalsInfo<WithOrigin>, running: Arc<AtomicI32>) {
    thread::spawn(move || {
        for Origin { signal, cause, .. } in signals.forever() {
            let program = Pid::from_raw(running.load(Ordering::SeqCst));
            match (program, Signal::from_named_raw(signal)) {
                (Some(program), Some(signal)) if cause != Cause::Kernel => {
                    // This fails if the program has ended already.
                    let _ = kill_process(program, signal);
                }
                (Some(_), _) => {}
                (None, _) => {
                    // It cannot fail for a signal that can be caught.
                    let _ = emulate_default_handler(signal);
                }
            }
        }
    });
}

/// Waits for the program's end, and prints the agents' messages meanwhile.
fn wait(mut child: Child, running: &AtomicI32, terminal: &mut ReplyDir) -> Result<ExitStatus, Error> {
    let (ended, end): (Sender<()>, _) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            while end.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
                show(terminal.said());
            }
            show(terminal.said());
        });
        let status = child.wait();
        running.store(0, Ordering::SeqCst);
        drop(ended);
        status
    })
    .map_err(Error::ProgramEnd)
}
