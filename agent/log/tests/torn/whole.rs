//! Tests that a whole file is read exactly as it was recorded.

use std::fs;

use vouch_formats::Meta;
use vouch_log::{Recovered, Writer};
use vouch_recording::{Recording, Sample, Trust, Unit};
use vouch_report::{Run, TrustReport};

use crate::common::{MS, START_NS, folder, profile, recorded, reread, sample, stack, state};

#[test]
fn what_was_recorded_is_read_again() {
    let (bytes, mut recording) = recorded("whole", 40, true);
    let Recovered { recording: again, meta, found } = reread(&bytes).unwrap();
    assert!(found.is_ended && found.damage().is_none() && found.bytes_damaged == 0, "{found:?}");
    let last = state(&recording, meta.ended_ns, true);
    let mut run = last.run.clone();
    run.delivered = last.delivered;
    run.unwalked = [("unknown_Java".to_owned(), 40)].into();
    run.refuted = [("other_callee".to_owned(), 40)].into();
    let report = TrustReport::from_recording(&recording, run);
    let expected = Meta { report, ..last.meta };
    let (read, written) = (profile(&again, &meta), profile(&recording, &expected));
    let differs = read.bytes().zip(written.bytes()).position(|(one, other)| one != other);
    let around = |text: &str, at: usize| {
        text.get(at.saturating_sub(80)..).map(|text| text.chars().take(160).collect::<String>())
    };
    assert!(read == written, "{:?}", differs.map(|at| (around(&read, at), around(&written, at))));
    assert_eq!(again.tally(), recording.tally());
    // A recording that continues must not report old threads as changed.
    recording.take_touched();
    assert!(recording.take_touched().is_empty());
}

#[test]
fn more_readings_than_fit_in_a_block_are_written_in_several() {
    let folder = folder("readings");
    let (mut writer, _) = Writer::create(&folder.join("a"), u64::MAX).unwrap();
    let mut recording = Recording::new();
    for number in 0..20 {
        let counter = recording.counter(&format!("Group {number}"), "", Unit::Nanoseconds);
        for at in 0..30_000 {
            recording.count(counter, START_NS + at * MS, at * MS);
        }
    }
    let end = START_NS + 30_000 * MS;
    let last = state(&recording, end, true);
    writer.append(&mut recording, end, Some(&last)).unwrap();
    writer.finish().unwrap();
    let Recovered { recording: again, found, .. } = reread(&fs::read(writer.path()).unwrap()).unwrap();
    writer.remove().unwrap();
    assert!(found.is_ended && found.damage().is_none(), "{found:?}");
    assert_eq!(again.counters().len(), 20);
    let all = again.counters().iter().zip(recording.counters());
    assert!(all.into_iter().all(|(again, before)| again.readings() == before.readings()));
}

/// Tests the CPU time of a thread in a JVM that ran for long before the attach. The process was
/// killed before the next kernel reading.
#[test]
fn what_a_thread_ran_before_the_recording_is_not_charged_to_it() {
    let folder = folder("before");
    let (mut writer, _) = Writer::create(&folder.join("a"), u64::MAX).unwrap();
    let mut recording = Recording::new();
    writer.append(&mut recording, START_NS, Some(&state(&Recording::new(), START_NS, false))).unwrap();
    let thread = recording.add_thread("worker", 100, START_NS + 1);
    let stack = stack(&mut recording, &["main"]);
    for number in 1..=20 {
        let cpu_ns = 5_000 * MS + number * MS;
        recording.sample(
            thread,
            Sample { cpu_ns, trust: Trust::Unchecked, weight: 1, ..sample(number * MS, stack) },
        );
    }
    writer.append(&mut recording, START_NS + 20 * MS, None).unwrap();
    let Recovered { recording: again, meta, .. } = reread(&fs::read(writer.path()).unwrap()).unwrap();
    assert_eq!(again.threads()[0].cpu_ns(), Some(20 * MS));
    let Run { cpu_ms, rate, .. } = meta.report.run;
    assert!(cpu_ms.is_some_and(|cpu_ms| (cpu_ms - 20.0).abs() < 1e-9), "{cpu_ms:?}");
    assert!(rate.is_some_and(|rate| (rate.reached_hz - 1000.0).abs() < 1e-6), "{rate:?}");
}
