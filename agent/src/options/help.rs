//! Formats the text that `help` prints.

use std::fmt::Write;

use vouch_formats::Format;

/// Returns the text that `help` prints.
pub fn text() -> String {
    let mut text = HELP_BEGINNING.to_owned();
    let mut row = |name: &str, help: &str| {
        let _ = writeln!(text, "  {name:18} {help}");
    };
    let endings = Format::endings();
    for key in vouch_report::options::explained() {
        let mut name = format!("{}={}", key.name, key.default.unwrap_or(key.value));
        for line in key.help(&endings) {
            row(&std::mem::take(&mut name), &line);
        }
    }
    row("quiet, verbose", "print no summary, but for warnings; or print all of it");
    row("help, version", "print this, or the version, and exit");
    text + HELP_END
}

const HELP_BEGINNING: &str = "\
Vouch, a sampling profiler for the JVM.  java -agentpath:…/libvouch.so=key=value,key=value…
";

const HELP_END: &str = "
Into a running JVM:  vouch attach PID, or jcmd PID JVMTI.agent_load …/libvouch.so '\"out=FILE\"'
  start              begin a recording (the default)
  stop               end it and write what `start` named (or what out=, report=, jfr=, sources= say)
  dump               write what there is so far and go on
  status             say on stderr what is recorded; groups: what tasks took; check: what works here
";
