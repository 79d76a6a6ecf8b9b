//! The periods of a recording with `every=`: when each ends, the names of its files, and which
//! files stay.
//!
//! It must never remove a file that this process did not write.

use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vouch_report::{Detail, Run, grouped};
use vouch_sampling::clock;

use crate::plan::Plan;
use crate::say::say;

/// How many names with a number are tried if files of a period's name exist.
const MAX_NAMES: u32 = 99;
/// The size limit of the files of earlier periods if the user sets none.
const DEFAULT_MAX_BYTES: u64 = 1 << 30;

/// The periods of a recording: when the present one ends, and what became of the earlier ones.
#[derive(Debug)]
pub struct Periods {
    every: Duration,
    /// When the recording began, by CLOCK_MONOTONIC and since the epoch.
    begun_ns: u64,
    begun_epoch_ns: u64,
    /// The number of the present period, from 0.
    number: u64,
    kept: KeptFiles,
    /// The periods that could not be written, with their samples, since the last report in a file.
    lost: (u64, u64),
    /// The same in all.
    lost_in_all: (u64, u64),
    is_failing: bool,
    is_announced: bool,
}

impl Periods {
    /// Begins the first period, and names its files. Returns `None` without `every=`.
    pub fn begin(plan: &mut Plan, begun_ns: u64, begun_epoch_ns: u64) -> Option<Self> {
        let options = &plan.options;
        let kept = KeptFiles {
            max_age_ns: options.max_age.map(clock::nanos),
            max_bytes: options.max_bytes.unwrap_or(DEFAULT_MAX_BYTES),
            periods: VecDeque::new(),
        };
        let periods = Self {
            every: options.every?,
            begun_ns,
            begun_epoch_ns,
            number: 0,
            kept,
            lost: (0, 0),
            lost_in_all: (0, 0),
            is_failing: false,
            is_announced: false,
        };
        periods.name_files(plan);
        Some(periods)
    }

    /// Returns the time until the present period ends.
    pub fn left(&self, now_ns: u64) -> Duration {
        let end = clock::nanos(self.every).saturating_mul(self.number + 1);
        Duration::from_nanos(self.begun_ns.saturating_add(end).saturating_sub(now_ns))
    }

    /// Begins the period at hand, and names its files. A late turn delays none of the later ones.
    pub fn begin_next(&mut self, now_ns: u64, plan: &mut Plan) {
        let passed = now_ns.saturating_sub(self.begun_ns) / clock::nanos(self.every).max(1);
        self.number = passed.max(self.number + 1);
        self.name_files(plan);
    }

    /// Names the files after the second in which the period should begin. A name that exists, as
    /// after a change of the local time, gets a number.
    fn name_files(&self, plan: &mut Plan) {
        let since = clock::nanos(self.every).saturating_mul(self.number);
        let stamp = clock::file_stamp_at(self.begun_epoch_ns.saturating_add(since));
        for number in 1..=MAX_NAMES {
            plan.name_files(&if number == 1 { stamp.clone() } else { format!("{stamp}-{number}") });
            if plan.files().all(|path| path.symlink_metadata().is_err()) {
                return;
            }
        }
    }

    /// Adds earlier periods that no file has reported yet to a report.
    pub fn add_losses(&self, run: &mut Run) {
        let (periods, samples) = self.lost;
        if periods > 0 {
            let loss = format!(
                "{} before this one could not be written, with {}",
                counted(periods, "period"),
                counted(samples, "sample")
            );
            run.warnings.push(loss.clone());
            run.engine_notes.push(loss);
        }
    }

    /// Counts a period that has ended, with the files that were written. With `failures` it is
    /// lost.
    pub fn count(&mut self, plan: &Plan, samples: u64, written: &[String], failures: &[String]) {
        let quiet = plan.options.detail == Detail::Quiet;
        // The limits hold in any case: on a full disk, old files make space for the next period.
        self.keep(written.iter().map(Path::new));
        if failures.is_empty() {
            // The report of this period has the losses.
            self.lost = (0, 0);
            if std::mem::take(&mut self.is_failing) {
                let (periods, samples) = self.lost_in_all;
                say(&format!("files of periods are written again; {}", losses(periods, samples)));
            }
            if !std::mem::replace(&mut self.is_announced, true) && !quiet {
                let first = plan.files().next().map(|path| path.display().to_string()).unwrap_or_default();
                let every = self.every.as_secs();
                say(&format!("every={every}s: wrote {first}, and each further period has its own files"));
            }
            return;
        }
        for lost in [&mut self.lost, &mut self.lost_in_all] {
            *lost = (lost.0 + 1, lost.1 + samples);
        }
        if !std::mem::replace(&mut self.is_failing, true) {
            say(&failures.join("\n"));
            say("the program and its recording go on; each further period is tried, and losses are counted");
        }
    }

    /// Keeps the files of a period, and removes the oldest ones beyond the limits.
    pub fn keep<'a>(&mut self, files: impl Iterator<Item = &'a Path>) {
        self.kept.add(files, clock::monotonic());
        for why in self.kept.remove_oldest(clock::monotonic()) {
            say(&why);
        }
    }

    /// Reports the periods that could not be written, at the end of the recording.
    pub fn report_losses(&self) {
        let (periods, samples) = self.lost_in_all;
        if periods > 0 {
            say(&losses(periods, samples));
        }
    }
}

fn counted(number: u64, word: &str) -> String {
    format!("{} {word}{}", grouped(number), if number == 1 { "" } else { "s" })
}

fn losses(periods: u64, samples: u64) -> String {
    format!("lost: {} could not be written, with {}", counted(periods, "period"), counted(samples, "sample"))
}

/// The files of earlier periods that this process wrote, the oldest first.
#[derive(Debug)]
struct KeptFiles {
    max_age_ns: Option<u64>,
    max_bytes: u64,
    periods: VecDeque<KeptPeriod>,
}

#[derive(Debug)]
struct KeptPeriod {
    ended_ns: u64,
    files: Vec<KeptFile>,
}

#[derive(Debug)]
struct KeptFile {
    path: PathBuf,
    /// The device, the inode and the time of the content, in seconds and nanoseconds. The size is
    /// compared, too. By them a file of another process is recognised.
    identity: (u64, u64, i64, i64),
    bytes: u64,
}

impl KeptFile {
    fn find(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok()?;
        let identity = (found.dev(), found.ino(), found.mtime(), found.mtime_nsec());
        Some(Self { path: path.to_owned(), identity, bytes: found.len() })
    }

    /// Returns true if the file is still at its path.
    fn is_there(&self) -> bool {
        let is_same = |found: Self| found.identity == self.identity && found.bytes == self.bytes;
        Self::find(&self.path).is_some_and(is_same)
    }
}

impl KeptFiles {
    fn add<'a>(&mut self, paths: impl Iterator<Item = &'a Path>, ended_ns: u64) {
        let files: Vec<KeptFile> = paths.filter_map(KeptFile::find).collect();
        if !files.is_empty() {
            self.periods.push_back(KeptPeriod { ended_ns, files });
        }
    }

    /// Removes the oldest periods while a limit is exceeded, except for the latest period. A file
    /// that another process has put there stays. Returns an error for each file that cannot be
    /// removed.
    fn remove_oldest(&mut self, now_ns: u64) -> Vec<String> {
        let mut bytes: u64 =
            self.periods.iter().flat_map(|period| &period.files).map(|file| file.bytes).sum();
        let mut failures = Vec::new();
        while self.periods.len() > 1
            && let Some(oldest) = self.periods.front()
            && (bytes > self.max_bytes
                || self.max_age_ns.is_some_and(|age| oldest.ended_ns.saturating_add(age) < now_ns))
            && let Some(KeptPeriod { files, .. }) = self.periods.pop_front()
        {
            for file in files {
                bytes -= file.bytes;
                if file.is_there()
                    && let Err(why) = fs::remove_file(&file.path)
                {
                    let path = file.path.display();
                    failures
                        .push(format!("{path} is beyond maxsize= or maxage=, but cannot be removed: {why}"));
                }
            }
        }
        failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(folder: &Path, sizes: &[usize], max_bytes: u64, max_age_ns: Option<u64>) -> KeptFiles {
        let mut kept = KeptFiles { max_age_ns, max_bytes, periods: VecDeque::new() };
        for (at, size) in sizes.iter().enumerate() {
            let path = folder.join(at.to_string());
            fs::write(&path, vec![0; *size]).unwrap();
            kept.add([path.as_path()].into_iter(), at as u64 * 10);
        }
        kept
    }

    fn names(folder: &Path) -> Vec<String> {
        let files = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn the_oldest_files_are_removed_beyond_each_limit() {
        let folder = std::env::temp_dir().join(format!("vouch-periods-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut by_size = kept(&folder, &[100, 100, 100, 100], 250, None);
        assert_eq!(by_size.remove_oldest(u64::MAX), Vec::<String>::new());
        assert_eq!(names(&folder), ["2", "3"]);
        let mut by_age = kept(&folder, &[1, 1, 1, 1], 250, Some(15));
        // A file that another process has put there is not ours.
        fs::remove_file(folder.join("0")).unwrap();
        fs::write(folder.join("other"), "xy").unwrap();
        fs::rename(folder.join("other"), folder.join("0")).unwrap();
        assert_eq!(by_age.remove_oldest(36), Vec::<String>::new());
        assert_eq!(names(&folder), ["0", "3"]);
        // The latest stays, however large it is.
        let mut large = kept(&folder, &[500], 250, Some(1));
        large.remove_oldest(u64::MAX);
        assert_eq!(names(&folder), ["0", "3"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
