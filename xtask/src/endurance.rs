//! What a long run recorded, and what its recording on disk took: the end of a row of docs/cost.md.
//!
//! It must never tell of a file that there was not.

use std::path::PathBuf;

use vouch_report::float;

use crate::report::RunReport;

/// MiB recorded, seconds of CPU time, and of the file: KiB written for a minute of CPU time, and
/// its part of that time.
pub fn line(files: &[PathBuf]) -> Result<String, String> {
    let [file] = files else { return Err("name one report".to_owned()) };
    let report = RunReport::read(file)?.report;
    let written = report.run.recording_file.ok_or("there was no recording on disk")?;
    let cpu_ms = report.run.cpu_ms.ok_or("the report has no CPU time of the process")?;
    if cpu_ms <= 0.0 {
        return Err("the process took no time".to_owned());
    }
    let recorded = float(report.bytes_recorded) / f64::from(1 << 20);
    let kib = float(written.bytes) / 1024.0 / (cpu_ms / 60_000.0);
    let share = written.cpu_ms / cpu_ms * 100.0;
    Ok(format!("{recorded:.0} | {:.0} | {kib:.0} | {share:.2}", cpu_ms / 1000.0))
}
