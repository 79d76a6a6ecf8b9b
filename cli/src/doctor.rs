//! Implements `vouch doctor`, which reports what works on this machine, what does not, and what to
//! change.
//!
//! It must never guess what the agent can find out. The agent is asked in the user's JVM, or in a
//! JVM that is started for that.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use clap::Args;

use crate::agent::{self, Libc};
use crate::agent_options::AgentOptions;
use crate::attach::Line;
use crate::error::Error;
use crate::jvm;
use crate::reply_dir::ReplyDir;
use crate::say::unmarked;

/// The folder in which Linux distributions install JDKs.
const JDKS: &str = "/usr/lib/jvm";

#[derive(Args)]
pub struct Doctor {
    /// The JVM to look at: its process id, or its main class or jar. The agent is loaded into it
    /// and records nothing [default: a new JVM, by JAVA_HOME or PATH]
    #[arg(value_name = "PID|NAME")]
    jvm: Option<String>,
}

/// Examines the machine and the JVM, and returns a text with three headings.
pub fn doctor(doctor: Doctor) -> Result<String, Error> {
    let mut text = String::new();
    append_part(&mut text, "This machine", &machine());
    append_part(&mut text, "Installed JDKs", &installed());
    let (name, lines) = match doctor.jvm {
        Some(jvm) => {
            let jvm = jvm::find(&jvm)?;
            let name = format!("Process {}, {}", jvm.pid, vouch_report::plain(&jvm.main));
            (name, Line::open(jvm)?.ask("check", &AgentOptions::default())?)
        }
        None => started()?,
    };
    let lines: Vec<String> = lines.iter().map(|line| unmarked(line).to_owned()).collect();
    append_part(&mut text, &name, &lines);
    Ok(text)
}

fn append_part(text: &mut String, head: &str, lines: &[String]) {
    let _ = writeln!(text, "{head}");
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
}

fn machine() -> Vec<String> {
    let setting = |name: &str| {
        fs::read_to_string(format!("/proc/sys/kernel/{name}")).map(|text| text.trim().to_owned())
    };
    let mut lines = Vec::new();
    let processors = thread::available_parallelism().map_or(1, usize::from);
    lines.push(format!(
        "Linux {} on {}; this process may use {processors} {}",
        setting("osrelease").unwrap_or_else(|_| "of unknown release".to_owned()),
        std::env::consts::ARCH,
        if processors == 1 { "processor" } else { "processors" }
    ));
    lines.push(match setting("perf_event_paranoid") {
        Ok(level) if level.parse().is_ok_and(|level: i32| level > 2) => format!(
            "kernel.perf_event_paranoid is {level}, so ordinary users get no perf events: `sysctl kernel.perf_event_paranoid=2` as root allows them"
        ),
        Ok(level) if level.parse().is_ok_and(|level: i32| level > 1) => format!(
            "kernel.perf_event_paranoid is {level}, so perf events of ordinary users leave out time in the kernel: \
             `sysctl kernel.perf_event_paranoid=1` as root includes it, and engine=timer always does"
        ),
        Ok(level) => format!("kernel.perf_event_paranoid is {level}, so perf events include time in the kernel"),
        Err(_) => "the kernel has no perf events, so engine=perf does not work: engine=auto takes another".to_owned(),
    });
    if let Ok(most) = setting("perf_event_max_sample_rate") {
        lines.push(format!(
            "kernel.perf_event_max_sample_rate is {most}, so engine=perf takes at most that many samples in a second"
        ));
    }
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let files =
        limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next());
    if let Some(files) = files {
        lines.push(format!(
            "a process may open {files} files (ulimit -n): engine=perf uses one for each thread, and timers beyond a quarter of them"
        ));
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if status.lines().any(|line| line.starts_with("Seccomp:") && line.ends_with('2')) {
        lines.push(
            "a seccomp filter is active, as in most containers: if it forbids perf_event_open, engine=perf does not work (docs/production.md)"
                .to_owned(),
        );
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let tmp = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>())
        .find(|parts| parts.get(1) == Some(&"/tmp"));
    if tmp
        .and_then(|parts| parts.get(3).map(|options| options.split(',').any(|option| option == "noexec")))
        .unwrap_or(false)
    {
        lines.push(
            "/tmp is mounted noexec, so `vouch attach` cannot load the agent into JVMs of other users that have this /tmp: start them with -agentpath"
                .to_owned(),
        );
    }
    lines
}

fn installed() -> Vec<String> {
    let folders = fs::read_dir(JDKS).into_iter().flatten().flatten().map(|entry| entry.path());
    // Several paths of the same folder are listed once.
    let mut homes: Vec<PathBuf> = folders.filter_map(|home| home.canonicalize().ok()).collect();
    homes.extend(
        agent::java()
            .and_then(|java| java.canonicalize().ok())
            .and_then(|java| Some(java.parent()?.parent()?.to_owned())),
    );
    homes.retain(|home| home.join("bin/java").is_file());
    homes.sort();
    homes.dedup();
    let line = |home: &PathBuf| {
        let release = jvm::release(std::process::id(), &home.join("lib/libjvm.so"));
        format!("{:<10} {}", release.unwrap_or_else(|| "?".to_owned()), home.display())
    };
    let mut lines: Vec<String> = homes.iter().map(line).collect();
    if lines.is_empty() {
        lines.push(format!("no JDK is in {JDKS}, on PATH or in JAVA_HOME: install one"));
    }
    let named = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    lines.extend(named.filter(|home| !home.join("bin/java").is_file()).map(|home| {
        let home = vouch_report::plain(&home.to_string_lossy());
        format!("JAVA_HOME is {home}, which has no bin/java, so it is ignored: set it to a JDK's folder")
    }));
    lines
}

/// Starts a JVM with the agent, which reports and ends at once.
fn started() -> Result<(String, Vec<String>), Error> {
    let java = agent::java().ok_or(Error::NoJava)?;
    let library = agent::library(Libc::of_program(&java))?;
    let mut terminal = ReplyDir::for_own_jvms()?;
    let options = AgentOptions::default().text(&[Cow::Owned(terminal.option()), Cow::Borrowed("check")])?;
    let mut agent = OsString::from("-agentpath:");
    agent.push(library);
    agent.push(format!("={options}"));
    let ended = Command::new(&java).arg(agent).arg("-version").stdin(Stdio::null()).output();
    let ended = ended.map_err(|why| Error::JavaUnusable { java: java.clone(), why })?;
    let lines = terminal.said();
    if lines.is_empty() {
        let said =
            String::from_utf8_lossy(&ended.stderr).into_owned() + &String::from_utf8_lossy(&ended.stdout);
        let last = vouch_report::plain(
            said.lines().find(|line| !line.starts_with("Picked up ")).unwrap_or("nothing"),
        );
        return Err(Error::AgentSilent { java, last });
    }
    Ok((format!("A JVM of {}", java.display()), lines))
}
