//! Implements `vouch recover`, which makes the profile of a run that the process itself could not
//! write.
//!
//! It must never change or remove the recording, because there is no other copy.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use signal_hook::consts::SIGKILL;
use vouch_log::output::held::is_in_use;
use vouch_log::{Found, Recovered};
use vouch_report::Detail;

use crate::agent_options::VERBOSE_HELP;
use crate::error::Error;
use crate::outputs::Outputs;
use crate::rewrite::default_output;

/// A killed process vanishes within this time.
const LONGEST_END: Duration = Duration::from_secs(5);
/// The time between two checks whether a killed process has vanished.
const SOON: Duration = Duration::from_millis(20);

#[derive(Args)]
pub struct RecoverOptions {
    /// Write this file, and replace it if it exists; the ending sets the format; may be repeated
    /// [default: the recording's name with .recovered.json.gz, or a free name like it]
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
    /// Write the trust report as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[arg(long, help = VERBOSE_HELP)]
    verbose: bool,
}

/// Makes a profile of each recording.
pub fn recover(recordings: &[PathBuf], how: &RecoverOptions) -> Result<String, Error> {
    if recordings.len() > 1 && (!how.out.is_empty() || how.report.is_some()) {
        return Err(Error::OutputsOfSeveral);
    }
    let mut told = String::new();
    let mut failures = Vec::new();
    for recording in recordings {
        match recover_one(recording, how) {
            Ok(text) => told.push_str(&text),
            Err(why) => failures.push(why.of_file(recording)),
        }
    }
    if failures.is_empty() {
        return Ok(told);
    }
    // The files that were written are printed all the same. A closed pipe is no mistake.
    let _ = io::stdout().write_all(told.as_bytes());
    Err(Error::Several(failures))
}

fn recover_one(path: &Path, how: &RecoverOptions) -> Result<String, Error> {
    let outs = if how.out.is_empty() { vec![default_output(path, "recovered")] } else { how.out.clone() };
    make(path, &outs, how.report.as_deref(), detail(how.verbose))
}

/// Makes profiles of a recording, and returns the text to print. An error is the rest of a
/// sentence.
pub fn make(path: &Path, outs: &[PathBuf], report: Option<&Path>, detail: Detail) -> Result<String, Error> {
    let outputs = Outputs::check(outs, report, &[path.to_owned()])?;
    write(&read(path)?, &outputs, detail)
}

/// Returns the level of detail of the summary.
pub fn detail(verbose: bool) -> Detail {
    if verbose { Detail::Verbose } else { Detail::Brief }
}

/// Reads a recording. The second part is true if its process still writes to it.
pub fn read(path: &Path) -> Result<(Recovered, bool), Error> {
    let file = vouch_classes::archive::open_file(path)?;
    let mut in_use = is_in_use(&file);
    let mut read = vouch_log::read(file)?;
    if in_use && ends(read.meta.pid) {
        let file = vouch_classes::archive::open_file(path)?;
        await_end(|| !is_in_use(&file));
        in_use = is_in_use(&file);
        read = vouch_log::read(file)?;
    }
    Ok((read, in_use))
}

/// Writes the requested files of a recording, and returns the text to print.
pub fn write(
    (read, in_use): &(Recovered, bool),
    outputs: &Outputs<'_>,
    detail: Detail,
) -> Result<String, Error> {
    let Recovered { recording, meta, found } = read;
    outputs.write_report(|to| meta.report.write(to))?;
    outputs.write(recording, meta)?;
    let mut text = outputs.with_names(|files| meta.report.summary(files, detail));
    let mut say = |line: &str| {
        text.push_str("[vouch] ");
        text.push_str(line);
        text.push('\n');
    };
    if let Some(lacks) = ended(*in_use, found).filter(|_| detail != Detail::Quiet) {
        say(lacks);
    }
    Ok(text)
}

/// Waits for the kernel to be done with a process that was killed, which takes longer the more
/// memory it had.
pub fn await_end(is_over: impl Fn() -> bool) {
    let begun = Instant::now();
    while begun.elapsed() < LONGEST_END && !is_over() {
        thread::sleep(SOON);
    }
}

/// True if a process has been killed and is not quite gone. A recording of another machine is not
/// in use, so only this machine's process counts.
fn ends(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| is_of_one_that_ends(&stat))
}

/// True if the first thread of the process is exiting, has exited, or is about to be killed. `stat`
/// is the text in /proc/PID/stat.
fn is_of_one_that_ends(stat: &str) -> bool {
    const EXITING: u64 = 4;
    const KILL: u64 = 1 << (SIGKILL - 1);
    let Some((_, fields)) = stat.rsplit_once(") ") else { return false };
    let fields: Vec<&str> = fields.split(' ').collect();
    let has = |at: usize, bit: u64| {
        let field = fields.get(at).and_then(|field| field.parse::<u64>().ok());
        field.is_some_and(|bits| bits & bit != 0)
    };
    matches!(fields.first(), Some(&("Z" | "X"))) || has(6, EXITING) || has(28, KILL)
}

/// Returns what a recording lacks if its process did not end it.
pub fn ended(in_use: bool, found: &Found) -> Option<&'static str> {
    if in_use {
        Some("its process is still running: this is the recording so far")
    } else if found.is_ended {
        None
    } else if found.is_torn {
        Some(
            "it ends in the middle of a block: a killed process loses about a tenth of a second; an incomplete copy, or a full disk, \
             may lose more",
        )
    } else {
        Some(
            "its process was killed or crashed: about the last tenth of a second is missing (more if this is an incomplete copy)",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_ends_is_no_process_that_runs() {
        let stat = |state: &str, flags: u64, pending: u64| {
            let mut fields = vec!["0".to_owned(); 40];
            (fields[0], fields[6], fields[28]) = (state.to_owned(), flags.to_string(), pending.to_string());
            format!("7 (a) Z (b) {}", fields.join(" "))
        };
        assert!(!is_of_one_that_ends(&stat("S", 0x0040_0100, 0x200)));
        for ends in [stat("Z", 0, 0), stat("X", 0, 0), stat("R", 0x0040_0104, 0), stat("S", 0, 0x100)] {
            assert!(is_of_one_that_ends(&ends), "{ends}");
        }
        assert!(!is_of_one_that_ends(""));
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        assert!(!is_of_one_that_ends(&own), "{own}");
    }
}
