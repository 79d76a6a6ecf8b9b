//! Finds the JVMs of this machine, with the process, user and main class of each.
//!
//! It must never disturb a JVM: everything is read from /proc, and no JVM is asked.

pub mod attach;
mod command_line;
pub mod user;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use user::User;

use crate::agent::{self, Libc};
use crate::error::Error;

/// The virtual machine that executes the bytecode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vm {
    HotSpot,
    OpenJ9,
}

/// A process that is a JVM.
#[derive(Debug, Clone)]
pub struct Jvm {
    pub pid: u32,
    /// The process id in the JVM's own pid namespace. In a container it differs from the pid
    /// outside.
    pub own_pid: u32,
    pub user: User,
    pub vm: Vm,
    /// The main class or the jar on the JVM's command line.
    pub main: String,
    /// The version of the JVM's JDK, if the JDK has a `release` file.
    pub release: Option<String>,
    /// The C library that the JVM has loaded.
    pub libc: Libc,
    /// True if the JVM sees other files than this process does, as in a container.
    pub elsewhere: bool,
    /// The path of the agent's library, if the JVM has loaded it.
    pub agent: Option<PathBuf>,
    /// True if the agent is recording.
    pub recording: bool,
}

/// All JVMs that were found.
#[derive(Debug, Default)]
pub struct All {
    pub jvms: Vec<Jvm>,
    /// The number of processes with files that this user may not read. Some may be JVMs.
    pub hidden: usize,
}

/// Returns all JVMs that this user may inspect, by their pids.
pub fn all() -> Result<All, Error> {
    let folder = fs::read_dir("/proc").map_err(|why| Error::unreadable(Path::new("/proc"), why))?;
    let mut pids: Vec<u32> =
        folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    let mut all = All::default();
    for pid in pids {
        match inspect(pid) {
            Look::Jvm(jvm) => all.jvms.push(*jvm),
            Look::Hidden => all.hidden += 1,
            Look::Other | Look::Gone => {}
        }
    }
    Ok(all)
}

/// Returns the JVM that a user means by a pid, or by a part of its main class or jar.
pub fn find(who: &str) -> Result<Jvm, Error> {
    if who.is_empty() {
        return Err(Error::EmptyName);
    }
    if let Ok(pid) = who.parse::<u32>() {
        // The attach protocol needs the id of a process, so the id of a thread is refused.
        if let Some(process) = status(pid, "Tgid").and_then(|process| process.parse::<u32>().ok())
            && process != pid
        {
            return Err(Error::ThreadId { pid, process });
        }
        return match inspect(pid) {
            Look::Jvm(jvm) => Ok(*jvm),
            Look::Gone => Err(Error::NoProcess(pid)),
            Look::Other => Err(Error::NotAJvm(pid)),
            Look::Hidden if rustix::process::geteuid().is_root() => Err(Error::HiddenFromRoot(pid)),
            Look::Hidden => Err(Error::OtherUsers(pid)),
        };
    }
    let All { jvms, hidden } = all()?;
    let named: Vec<&Jvm> = jvms.iter().filter(|jvm| jvm.main.contains(who)).collect();
    // If the name matches one JVM completely, others that only contain it do not count.
    let exact: Vec<&Jvm> = named.iter().copied().filter(|jvm| is_called(&jvm.main, who)).collect();
    match (exact.as_slice(), named.as_slice()) {
        ([jvm], _) | ([], [jvm]) => Ok((*jvm).clone()),
        ([], []) if hidden > 0 && !rustix::process::geteuid().is_root() => {
            Err(Error::NoJvmOfUser(who.to_owned()))
        }
        ([], []) => Err(Error::NoJvm(who.to_owned())),
        (exact, named) => {
            let several = if exact.is_empty() { named } else { exact };
            let pids = several.iter().map(|jvm| jvm.pid.to_string()).collect();
            Err(Error::SeveralJvms { name: who.to_owned(), pids })
        }
    }
}

/// True if the user's name is for this program: `Main` for `com.foo.Main`, and `app.jar` for
/// `/srv/app.jar`.
fn is_called(main: &str, who: &str) -> bool {
    main == who || main.rsplit(['.', '/']).next() == Some(who) || main.rsplit('/').next() == Some(who)
}

/// The result of inspecting a process.
enum Look {
    Jvm(Box<Jvm>),
    Other,
    Hidden,
    Gone,
}

fn inspect(pid: u32) -> Look {
    let folder = PathBuf::from(format!("/proc/{pid}"));
    let maps = match fs::read(folder.join("maps")) {
        Ok(maps) => String::from_utf8_lossy(&maps).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return Look::Hidden,
        Err(_) => return Look::Gone,
    };
    let libraries: Vec<&str> = maps.lines().filter_map(mapped).collect();
    let named = |is: fn(&str) -> bool| {
        libraries.iter().find(|library| is(library.rsplit('/').next().unwrap_or(""))).copied()
    };
    // J9 has a library with HotSpot's name, too.
    let j9 = named(|name| name.starts_with("libj9vm"));
    let (vm, library) = match (j9, named(|name| name == "libjvm.so")) {
        (Some(library), _) => (Vm::OpenJ9, library),
        (None, Some(library)) => (Vm::HotSpot, library),
        (None, None) => return Look::Other,
    };
    let Some(user) = user(pid) else { return Look::Gone };
    let words = words(&folder.join("cmdline"));
    Look::Jvm(Box::new(Jvm {
        pid,
        own_pid: status(pid, "NSpid")
            .and_then(|pids| pids.split_whitespace().last()?.parse().ok())
            .unwrap_or(pid),
        user,
        vm,
        main: command_line::main(&words),
        release: release(pid, Path::new(library)),
        libc: libraries.iter().copied().find_map(Libc::of_loaded).unwrap_or(Libc::Glibc),
        elsewhere: root(pid) != root(std::process::id()),
        agent: named(|name| name == agent::NAME).map(PathBuf::from),
        recording: threads(pid).any(|name| name.trim_end() == vouch_report::options::RECORDING_THREAD_NAME),
    }))
}

/// Returns the path in a line of /proc/PID/maps, such as `55d0-55d1 r-xp 0000 08:01 123
/// /usr/lib/libjvm.so (deleted)`.
fn mapped(line: &str) -> Option<&str> {
    let path = &line[line.find('/')?..];
    Some(path.strip_suffix(" (deleted)").unwrap_or(path))
}

/// Returns the words of a file in which each word ends with a zero byte.
fn words(file: &Path) -> Vec<String> {
    let bytes = fs::read(file).unwrap_or_default();
    let words = bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns the value of a process with this name in /proc/PID/status.
fn status(pid: u32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

fn threads(pid: u32) -> impl Iterator<Item = String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
}

/// Returns which files a process sees: its mount namespace, and its root folder.
fn root(pid: u32) -> Option<(PathBuf, u64, u64)> {
    let mounts = fs::read_link(format!("/proc/{pid}/ns/mnt")).ok()?;
    let root = fs::metadata(format!("/proc/{pid}/root")).ok()?;
    Some((mounts, root.dev(), root.ino()))
}

/// The user of a process by its effective ids, which may not be the owner of its files in /proc.
fn user(pid: u32) -> Option<User> {
    let effective = |name| status(pid, name)?.split_whitespace().nth(1)?.parse().ok();
    Some(User { uid: effective("Uid")?, gid: effective("Gid")? })
}

/// Returns the JDK's version from `JAVA_VERSION="17.0.12"` in a file `release` above the library.
pub fn release(pid: u32, library: &Path) -> Option<String> {
    let homes = library.ancestors().skip(1).take(5);
    let mut texts = homes.filter_map(|home| user::read_inside(pid, &home.join("release")));
    texts.find_map(|text| {
        let version = text.lines().find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
        Some(version.trim_matches('"').to_owned())
    })
}

impl Jvm {
    /// True if its command line, or a variable that a JVM reads, has this option.
    pub fn has_option(&self, option: &str) -> bool {
        let folder = PathBuf::from(format!("/proc/{}", self.pid));
        let variables = words(&folder.join("environ"));
        let given = variables.iter().filter(|variable| {
            ["JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "_JAVA_OPTIONS="]
                .iter()
                .any(|name| variable.starts_with(name))
        });
        words(&folder.join("cmdline")).iter().any(|word| word == option)
            || given.into_iter().any(|variable| variable.contains(option))
    }

    /// True if some of the process's threads still run, or if its files are not closed yet.
    pub fn is_alive(&self) -> bool {
        let ended = status(self.pid, "State").is_none_or(|state| state.starts_with(['Z', 'X']));
        !ended || threads(self.pid).count() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_known_also_when_it_was_replaced() {
        let line = "7f01-7f02 r-xp 00000000 08:01 123    /opt/a b/libvouch.so (deleted)";
        assert_eq!(mapped(line), Some("/opt/a b/libvouch.so"));
        assert_eq!(mapped("7f01-7f02 rw-p 00000000 00:00 0    [heap]"), None);
    }

    #[test]
    fn a_name_is_all_of_it_or_its_last_part() {
        assert!(is_called("com.foo.Main", "Main") && is_called("/srv/app.jar", "app.jar"));
        assert!(!is_called("com.foo.Main2", "Main") && !is_called("com.foo.Main", "ain"));
    }
}
