//! Implements `vouch list`, which lists the JVMs that can be attached to, one a line.

use std::fmt::Write;
use std::fs;

use crate::error::Error;
use crate::jvm::{self, All, Jvm, Vm};

/// Returns the table of JVMs.
pub fn list() -> Result<String, Error> {
    let All { jvms, hidden } = jvm::all()?;
    let rows: Vec<[String; 5]> = jvms.iter().map(row).collect();
    let heads = ["PID", "USER", "JDK", "VOUCH", "RUNS"].map(str::to_owned);
    let mut text = String::new();
    if rows.is_empty() {
        text.push_str("no JVM runs here\n");
    } else {
        let widths: [usize; 5] = std::array::from_fn(|at| {
            rows.iter().chain([&heads]).map(|row| row[at].chars().count()).max().unwrap_or(0)
        });
        for [pid, user, jdk, vouch, runs] in [&heads].into_iter().chain(&rows) {
            let _ = writeln!(
                text,
                "{pid:>0$}  {user:<1$}  {jdk:<2$}  {vouch:<3$}  {runs}",
                widths[0], widths[1], widths[2], widths[3]
            );
        }
    }
    text.extend(not_looked_at(hidden, rustix::process::geteuid().is_root()));
    Ok(text)
}

/// Returns a note on processes that could not be inspected. Processes that even root may not
/// inspect are the system's own, and no JVMs.
fn not_looked_at(hidden: usize, is_root: bool) -> Option<String> {
    let processes = if hidden == 1 { "process" } else { "processes" };
    (hidden > 0 && !is_root).then(|| {
        format!("not looked at: {hidden} {processes} of other users: root sees the JVMs among them, too\n")
    })
}

fn row(jvm: &Jvm) -> [String; 5] {
    let jdk = jvm.release.as_deref().unwrap_or("?");
    let jdk = if jvm.vm == Vm::OpenJ9 { format!("{jdk} (OpenJ9)") } else { jdk.to_owned() };
    let vouch = match (jvm.recording, &jvm.agent) {
        (true, _) => "records",
        (false, Some(_)) => "loaded",
        (false, None) => "-",
    };
    let elsewhere = match jvm.elsewhere {
        true if jvm.own_pid != jvm.pid => format!(" (in a container, as {})", jvm.own_pid),
        true => " (has another root folder)".to_owned(),
        false => String::new(),
    };
    let plain = |text: &str| vouch_report::plain(text);
    [jvm.pid.to_string(), user(jvm.user.uid), plain(&jdk), vouch.to_owned(), plain(&jvm.main) + &elsewhere]
}

/// Returns the name of a user, or the id if this machine has no name for it.
fn user(uid: u32) -> String {
    let number = uid.to_string();
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = users.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next()?;
        (parts.nth(1) == Some(number.as_str())).then(|| name.to_owned())
    });
    named.unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::not_looked_at;

    #[test]
    fn root_is_not_shown_hidden_processes() {
        assert_eq!(not_looked_at(3, true), None);
        assert_eq!(not_looked_at(0, false), None);
        let said = not_looked_at(1, false).unwrap();
        assert!(said.starts_with("not looked at: 1 process of other users: root "), "{said}");
        assert!(not_looked_at(2, false).unwrap().contains(" 2 processes "));
    }
}
