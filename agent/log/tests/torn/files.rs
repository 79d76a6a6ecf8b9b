//! Tests the files of recordings: free names, orphaned recordings, and the data removed at a limit.

use std::fs;

use vouch_log::{OtherRecordings, Recovered, Writer, is_orphaned};
use vouch_recording::{Recording, Sample, Trust};

use crate::common::{MS, START_NS, folder, reread, sample, stack, state};

#[test]
fn an_orphaned_recording_is_reported_and_kept() {
    let folder = folder("beside");
    let stem = folder.join("a");
    let (first, others) = Writer::create(&stem, u64::MAX).unwrap();
    assert_eq!((first.path(), others), (folder.join("a.vouch").as_path(), OtherRecordings::default()));
    assert!(!is_orphaned(first.path()), "its process lives");
    let (second, others) = Writer::create(&stem, u64::MAX).unwrap();
    assert_eq!((second.path(), others), (folder.join("a.2.vouch").as_path(), OtherRecordings::default()));
    drop(first);
    assert!(is_orphaned(&folder.join("a.vouch")));
    // A recording that ended and was kept is not listed, and is not replaced.
    let (mut kept, _) = Writer::create(&folder.join("kept"), u64::MAX).unwrap();
    let mut recording = Recording::new();
    let last = state(&recording, START_NS, true);
    kept.append(&mut recording, START_NS, Some(&last)).unwrap();
    kept.finish().unwrap();
    drop(kept);
    assert!(!is_orphaned(&folder.join("kept.vouch")));
    // A file that only has such a name is not a recording.
    fs::write(folder.join("other.vouch"), "an essay").unwrap();
    let (after, others) = Writer::create(&folder.join("other"), u64::MAX).unwrap();
    assert_eq!((after.path(), others), (folder.join("other.2.vouch").as_path(), OtherRecordings::default()));
    // A stale `.part` file is removed, but a file in use is not.
    let temporary = folder.join("a.vouch.part");
    fs::write(&temporary, "half").unwrap();
    drop(Writer::create(&stem, u64::MAX).unwrap().0.remove());
    assert!(!temporary.exists());
    // A planted link is not followed, and is not listed as a recording.
    let victim = folder.join("victim");
    fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, folder.join("a.3.vouch")).unwrap();
    let (fourth, others) = Writer::create(&stem, u64::MAX).unwrap();
    assert_eq!(fourth.path(), folder.join("a.4.vouch"));
    assert_eq!(others.orphaned, [folder.join("a.vouch")]);
    drop(fourth);
    for _ in 5..=9 {
        Writer::create(&stem, u64::MAX).unwrap();
    }
    let (tenth, others) = Writer::create(&stem, u64::MAX).unwrap();
    assert_eq!(tenth.path(), folder.join("a.vouch"), "the oldest makes room");
    assert_eq!((others.replaced.as_deref(), others.orphaned.len()), (Some(tenth.path()), 6));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    // Removing the recording must keep another file at its path.
    let path = second.path().to_owned();
    fs::remove_file(&path).unwrap();
    assert!(!second.is_there());
    fs::write(&path, "of somebody else").unwrap();
    second.remove().unwrap();
    assert_eq!(fs::read_to_string(path).unwrap(), "of somebody else");
}

#[test]
fn a_limit_costs_the_oldest_time_and_is_counted() {
    let folder = folder("limit");
    let (mut writer, _) = Writer::create(&folder.join("a"), 60_000).unwrap();
    let mut recording = Recording::new();
    let mut threads = Vec::new();
    let mut since = START_NS;
    writer.append(&mut recording, START_NS, Some(&state(&Recording::new(), START_NS, false))).unwrap();
    let (mut number, mut over) = (0_u64, 0);
    while over < 3 {
        let stack = stack(&mut recording, &["main", &format!("work{}", number % 3)]);
        if number.is_multiple_of(500) {
            threads.push(recording.add_thread(&format!("worker {number}"), 100 + number, START_NS));
        }
        for thread in &threads {
            recording
                .sample(*thread, Sample { trust: Trust::Unchecked, weight: 2, ..sample(number * MS, stack) });
        }
        number += 1;
        let now = START_NS + number * MS;
        writer.append(&mut recording, now, None).unwrap();
        if writer.is_full(now) {
            let state = state(&recording, now, false);
            let newer = writer.start_over(&mut recording, now, &state).unwrap().unwrap();
            assert!(newer > since && newer < now && !writer.is_full(now));
            (since, over) = (newer, over + 1);
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    let Recovered { recording: again, found, .. } = reread(&fs::read(writer.path()).unwrap()).unwrap();
    assert!(found.damage().is_none(), "{found:?}");
    assert_eq!(again.tally().samples.sum(), recording.tally().samples.sum(), "each has a fate");
    assert_eq!(again.tally().weight.sum(), recording.tally().weight.sum());
    for (now, then) in again.threads().iter().zip(recording.threads()) {
        let times = |samples: &[vouch_recording::StoredSample]| {
            samples.iter().map(|sample| sample.time_ns).collect::<Vec<_>>()
        };
        let later: Vec<_> = times(then.samples()).into_iter().filter(|time| *time >= since).collect();
        assert_eq!(times(now.samples()), later);
    }
    // If names and stacks alone fill the file, starting over gains nothing. Pseudorandom names fill
    // it although blocks are deflated.
    for number in 0..6_000_u64 {
        recording.string(&format!("a method {:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    }
    let now = START_NS + number * MS;
    writer.append(&mut recording, now, None).unwrap();
    let state = state(&recording, now, false);
    let before = fs::read(writer.path()).unwrap();
    assert_eq!(writer.start_over(&mut recording, now, &state).unwrap(), None);
    assert_eq!(fs::read(writer.path()).unwrap(), before, "it keeps the samples that it has");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

/// Tests that a file full of outdated states loses only these states when it starts over.
#[test]
fn a_file_full_of_states_is_begun_again_with_all_its_samples() {
    let folder = folder("states");
    let (mut writer, _) = Writer::create(&folder.join("a"), 60_000).unwrap();
    let mut recording = Recording::new();
    let thread = recording.add_thread("worker", 100, START_NS);
    let stack = stack(&mut recording, &["main"]);
    recording.sample(thread, Sample { trust: Trust::Unchecked, ..sample(0, stack) });
    let mut now = START_NS + 100 * MS;
    while !writer.is_full(now) {
        let state = state(&recording, now, false);
        writer.append(&mut recording, now, Some(&state)).unwrap();
        now += MS;
    }
    let state = state(&recording, now, false);
    assert_eq!(writer.start_over(&mut recording, now, &state).unwrap(), Some(0), "from the beginning");
    let Recovered { recording: again, .. } = reread(&fs::read(writer.path()).unwrap()).unwrap();
    assert_eq!(again.tally(), recording.tally(), "what was sampled before the first block, too");
}
