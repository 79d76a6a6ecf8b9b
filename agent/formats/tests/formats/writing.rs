//! Tests of writing: an error of the writer is returned unchanged, and only small parts are
//! buffered.

use std::io::{self, Write};

use vouch_recording::Recording;
use vouch_report::{Run, TrustReport};

use crate::common::{busy_thread, stack, write};

/// A disk with `free` bytes of space. It remembers the largest piece that was written at once.
struct Disk {
    free: usize,
    largest: usize,
}

impl Write for Disk {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if piece.len() > self.free {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.free -= piece.len();
        self.largest = self.largest.max(piece.len());
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn recording(samples: u64) -> Recording {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main", "run"]);
    busy_thread(&mut recording, "main", stack, samples);
    recording
}

#[test]
fn a_full_disk_is_reported_as_such() {
    let full = || Disk { free: 3, largest: 0 };
    // With one sample everything fits into the buffer, and the error comes at the last flush.
    for recording in [recording(1), recording(100_000)] {
        let report = TrustReport::from_recording(&recording, Run::default());
        let results = [
            write(&recording, ".json", &mut full()),
            write(&recording, ".folded", &mut full()),
            write(&recording, ".svg", &mut full()),
            report.write(full()),
        ];
        for result in results {
            assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
        }
    }
}

#[test]
fn a_profile_is_written_as_a_stream() {
    let mut disk = Disk { free: usize::MAX, largest: 0 };
    write(&recording(100_000), ".json", &mut disk).unwrap();
    let written = usize::MAX - disk.free;
    assert!(written > 500_000 && disk.largest <= 64 << 10, "{written} bytes, {} at once", disk.largest);
}

#[test]
fn a_recording_can_be_handed_to_another_thread() {
    let recording = std::thread::spawn(|| recording(1)).join().unwrap();
    assert_eq!(recording.tally().samples.plausible, 1);
}
