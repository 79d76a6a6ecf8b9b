//! A recording written and read again: whole, cut at every byte, damaged anywhere.

#[path = "../../recording/tests/common/mod.rs"]
mod common;
#[path = "../../recording/tests/common/contexts.rs"]
mod contexts;

use std::fs;
use std::io::{Cursor, Read};
use std::path::PathBuf;

use common::{START_NS, sample, stack};
use contexts::{context, kind};
use flate2::read::DeflateDecoder;
use proptest::prelude::*;
use vouch_formats::{Format, Meta};
use vouch_log::{Beside, Recovered, State, Writer, is_left, read};
use vouch_recording::{
    Allocation, Category, Fate, Func, Mark, Recording, Refutation, Refuted, Sample, ThreadId, Unit, VmPart,
    kinds,
};
use vouch_report::{Rate, Run, TrustReport};

const MS: u64 = 1_000_000;

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("log").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn meta(ended_ns: u64) -> Meta {
    Meta {
        product: "Shop (Vouch)".to_owned(),
        started_ns: START_NS,
        ended_ns,
        pid: 7,
        anchors: vec![[START_NS + 5, START_NS + 9]],
        ..Meta::default()
    }
}

fn state(recording: &Recording, ended_ns: u64, is_last: bool) -> State {
    let run = Run {
        interval_ns: MS,
        command: "Shop ✗".to_owned(),
        rate: Some(Rate::default()),
        cpu_ms: Some(0.0),
        agent_cpu_ms: Some(0.0),
        ..Run::default()
    };
    let mut state = State::new(meta(ended_ns), run, is_last);
    let tally = recording.tally();
    state.delivered.signals = tally.samples.sum();
    state.delivered.weight = tally.weight.sum();
    state
}

/// One round of a run: something of everything, each time of another thread and stack.
fn round(recording: &mut Recording, number: u64, threads: &mut Vec<ThreadId>) {
    let at = number * 10 * MS;
    let name = format!("shop.Cart.add{}", number % 7);
    let source = recording.source("shop/Cart.java");
    let resource = recording.resource("shop.jar");
    let func = recording.func(Func {
        name: &name,
        category: Category::Library,
        source: Some(source),
        line: Some(3),
        resource: Some(resource),
        java: true,
    });
    let root = stack(recording, &["main", &format!("work{}", number % 3)]);
    let leaf = recording.leaf_frame(func, Some(17), Fate::Proven);
    let proven = recording.stack(Some(root), leaf);
    let special = |recording: &mut Recording, name: &str, category| {
        let func =
            recording.func(Func { name, category, source: None, line: None, resource: None, java: false });
        let frame = recording.frame(func, None);
        recording.stack(None, frame)
    };
    let outside = special(recording, "GC", Category::Vm(VmPart::Gc));
    let none = special(recording, "[no stack: in Java, nobody knows where]", Category::NoStack);
    if number.is_multiple_of(4) {
        threads.push(recording.add_thread(&format!("worker {number}"), 100 + number, START_NS + at));
    }
    let thread = threads[threads.len() / 2];
    let request = kind(recording, "Request", &["user"]);
    let user = context(recording, None, request, &[&format!("moe {number}")]);
    let step = context(recording, Some(user), request, &["larry"]);
    for (n, (stack, fate, context)) in (1..).zip([
        (proven, Fate::Proven, Some(user)),
        (proven, Fate::Proven, Some(step)),
        (outside, Fate::Outside, None),
        (none, Fate::Unwalked, None),
    ]) {
        // Slightly out of order, as they may come.
        let time = at + if n == 3 { 0 } else { n * MS };
        recording.sample(thread, Sample { fate, context, weight: 2, ..sample(time, stack) });
    }
    let refutation = recording.refutation(Refutation {
        kind: "other_callee",
        words: "calls another",
        caller: &name,
        bci: -1,
        expected: "a",
        found: "b",
    });
    recording.refuted(thread, Refuted { time_ns: START_NS + at, stack: proven, weight: 2, how: refutation });
    for kind in kinds::EVENTS {
        let id = recording.mark_kind(kind.mark);
        let text = recording.string("because");
        let values = [Mark::of_text(Some(text)), number, Mark::of_text(None), 0];
        let mut mark = Mark {
            kind: id,
            began_ns: START_NS + at,
            ended_ns: START_NS + at + 5,
            values: [0; _],
            stack: Some(proven),
        };
        for (value, told) in mark.values.iter_mut().zip(values) {
            *value = told;
        }
        for (value, figure) in mark.values.iter_mut().zip(kind.mark.figures) {
            if figure.unit == vouch_recording::Unit::Text {
                *value = Mark::of_text(Some(text));
            }
        }
        recording.mark((number.is_multiple_of(2)).then_some(thread), mark);
    }
    let class = recording.string("byte[]");
    let allocation =
        Allocation { time_ns: START_NS + at, stack: Some(proven), class, bytes: 24, stands_for: 4096 };
    recording.allocation(thread, allocation);
    recording.dropped(number % 2, 3 * (number % 2));
    if number % 5 == 3 {
        recording.end_thread(thread, START_NS + at + MS);
        recording.set_thread_cpu(thread, 17 * MS);
        recording.set_thread_name(thread, &format!("renamed {number}"));
    }
}

/// A recording of so many rounds, as it is written, and what it is.
fn recorded(name: &str, rounds: u64, ended: bool) -> (Vec<u8>, Recording) {
    let folder = folder(name);
    let (mut writer, _) = Writer::create(&folder.join("a"), u64::MAX).unwrap();
    let mut recording = Recording::new();
    let heap = recording.counter("Heap", "Java objects", Unit::Bytes);
    let mut threads = Vec::new();
    writer.append(&mut recording, START_NS, Some(&state(&Recording::new(), START_NS, false))).unwrap();
    for number in 0..rounds {
        round(&mut recording, number, &mut threads);
        recording.count(heap, START_NS + number * MS, number << 20);
        writer.append(&mut recording, START_NS + number * 10 * MS, None).unwrap();
    }
    let end = START_NS + rounds * 10 * MS;
    if ended {
        let last = state(&recording, end, true);
        writer.append(&mut recording, end, Some(&last)).unwrap();
        writer.finish().unwrap();
    }
    let bytes = fs::read(writer.path()).unwrap();
    assert_eq!(bytes.len() as u64, writer.length());
    writer.remove().unwrap();
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
    (bytes, recording)
}

fn profile(recording: &Recording, meta: &Meta) -> String {
    let mut bytes = Vec::new();
    Format::of("a.json").unwrap().write(recording, meta, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    // What the tables take in memory, which depends on how they have grown.
    let (before, after) = text.split_once("\"bytes_recorded\":").unwrap();
    format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
}

fn reread(bytes: &[u8]) -> Result<Recovered, String> {
    read(Cursor::new(bytes))
}

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
    let report = TrustReport::of(&recording, run);
    let expected = Meta { report, ..last.meta };
    let (read, written) = (profile(&again, &meta), profile(&recording, &expected));
    let differs = read.bytes().zip(written.bytes()).position(|(one, other)| one != other);
    let around = |text: &str, at: usize| {
        text.get(at.saturating_sub(80)..).map(|text| text.chars().take(160).collect::<String>())
    };
    assert!(read == written, "{:?}", differs.map(|at| (around(&read, at), around(&written, at))));
    assert_eq!(again.tally(), recording.tally());
    // A recording that goes on is told from where it was.
    recording.take_touched();
    assert!(recording.take_touched().is_empty());
}

#[test]
fn more_readings_than_a_block_has_room_for_are_told_in_several() {
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

#[test]
fn one_that_is_cut_anywhere_has_what_was_written_before() {
    let (bytes, recording) = recorded("cut", 12, true);
    let (mut before, mut whole) = (0, 0);
    for length in 0..bytes.len() {
        let Ok(Recovered { recording: part, meta, found }) = reread(&bytes[..length]) else {
            assert_eq!(
                before,
                0,
                "{length} of {} bytes: nothing, where there was something before",
                bytes.len()
            );
            continue;
        };
        let samples = part.tally().samples.sum();
        assert!(samples >= before && !found.is_ended && found.damage().is_none(), "{length}: {found:?}");
        assert_eq!(meta.report.samples.signals, samples);
        assert!(meta.report.run.engine_notes.iter().any(|note| note.contains("nobody ended")));
        whole += u64::from(samples > before);
        before = samples;
    }
    assert_eq!((whole, before), (12, recording.tally().samples.sum()));
}

#[test]
fn a_block_that_is_missing_costs_itself_and_what_hangs_on_it() {
    let (bytes, recording) = recorded("gap", 12, true);
    let mut blocks: Vec<usize> = heads(&bytes).collect();
    blocks.push(bytes.len());
    // The first has the state, the last nothing else.
    for pair in blocks[1..blocks.len() - 1].windows(2) {
        let without = [&bytes[..pair[0]], &bytes[pair[1]..]].concat();
        let Recovered { recording: part, found, .. } = reread(&without).unwrap();
        assert_eq!(found.blocks_missing, 1);
        assert!(found.damage().is_some() && found.is_ended);
        let (all, left) = (recording.tally().samples, part.tally().samples);
        // The four samples of a round, and what was dropped in it, if no later block tells of that.
        assert!(all.sum() - left.sum() <= 5, "{} of {}", left.sum(), all.sum());
        assert!(found.lost.samples <= 4 && all.dropped - (left.dropped - found.lost.stackless) <= 1);
        // Nothing is anything that it was not.
        for (now, then) in
            [(left.proven, all.proven), (left.outside, all.outside), (left.unwalked, all.unwalked)]
        {
            assert!(now <= then);
        }
    }
    // The same block twice is one.
    let twice = [&bytes[..], &bytes[blocks[1]..]].concat();
    let Recovered { recording: again, .. } = reread(&twice).unwrap();
    assert_eq!(again.tally(), recording.tally());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), ..ProptestConfig::default() })]

    #[test]
    fn damage_is_no_panic_and_makes_no_sample(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        use std::sync::OnceLock;
        static WHOLE: OnceLock<(Vec<u8>, u64)> = OnceLock::new();
        let (bytes, samples) = WHOLE.get_or_init(|| {
            // `scripts/fuzz` gives one of a real run.
            let given = std::env::var_os("VOUCH_RECORDING").map(|file| fs::read(file).unwrap());
            let bytes = given.unwrap_or_else(|| recorded("damaged", 30, true).0);
            let samples = reread(&bytes).unwrap().recording.tally().samples.sum();
            assert!(samples > 100);
            (bytes, samples)
        });
        let mut bytes = bytes.clone();
        for (place, byte) in &damage {
            let at = place.index(bytes.len());
            bytes[at] = *byte;
        }
        bytes.drain(cut.index(bytes.len())..);
        if let Ok(Recovered { recording, meta, .. }) = reread(&bytes) {
            prop_assert!(recording.tally().samples.sum() <= *samples);
            profile(&recording, &meta);
        }
    }
}

/// How long the content is of the block that begins there.
fn length(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize
}

/// Where blocks begin.
fn heads(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let next = |at: usize| Some(at).filter(|at| *at < bytes.len());
    std::iter::successors(next(16), move |at| next(at + 16 + length(bytes, *at)))
}

/// As one who makes a file on purpose would: each block's sums are right, whatever stands in it, or in what it was packed to.
fn resummed(bytes: &[u8], inflated: bool, spoil: impl Fn(usize, &mut Vec<u8>)) -> Vec<u8> {
    let mut file = bytes[..16].to_vec();
    for at in heads(bytes) {
        let (mut mark, stored) = (&bytes[at..at + 4], &bytes[at + 16..at + 16 + length(bytes, at)]);
        let mut content = stored.to_vec();
        if inflated && mark == b"VchZ" {
            (mark, content) = (b"VchB", Vec::new());
            DeflateDecoder::new(stored).read_to_end(&mut content).unwrap();
        }
        spoil(at, &mut content);
        let begin = file.len();
        file.extend(mark);
        file.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
        file.extend(crc32fast::hash(&content).to_le_bytes());
        file.extend(crc32fast::hash(&file[begin..]).to_le_bytes());
        file.extend(content);
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(300), ..ProptestConfig::default() })]

    #[test]
    fn a_file_that_lies_is_no_panic(
        lies in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..12),
        inflated in any::<bool>(),
    ) {
        use std::sync::OnceLock;
        static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
        let bytes = WHOLE.get_or_init(|| recorded("lies", 12, true).0);
        let places: Vec<(usize, &prop::sample::Index, u8)> =
            lies.iter().map(|(block, place, byte)| (block.index(bytes.len()), place, *byte)).collect();
        let file = resummed(bytes, inflated, |at, content| {
            for (block, place, byte) in &places {
                if (at..at + 16 + length(bytes, at)).contains(block) && !content.is_empty() {
                    let place = place.index(content.len());
                    content[place] = *byte;
                }
            }
        });
        if let Ok(Recovered { recording, meta, .. }) = reread(&file) {
            profile(&recording, &meta);
            for ending in ["a.folded", "a.html"] {
                Format::of(ending).unwrap().write(&recording, &meta, &mut std::io::sink()).unwrap();
            }
            meta.report.summary(vouch_report::Files::default());
        }
    }
}

#[test]
fn what_another_process_left_is_told_and_kept() {
    let folder = folder("beside");
    let stem = folder.join("a");
    let (first, beside) = Writer::create(&stem, u64::MAX).unwrap();
    assert_eq!((first.path(), beside), (folder.join("a.vouch").as_path(), Beside::default()));
    assert!(!is_left(first.path()), "its process lives");
    let (second, beside) = Writer::create(&stem, u64::MAX).unwrap();
    assert_eq!((second.path(), beside), (folder.join("a.2.vouch").as_path(), Beside::default()));
    drop(first);
    assert!(is_left(&folder.join("a.vouch")));
    // One that was ended, and kept, is not told of, and is not replaced.
    let (mut kept, _) = Writer::create(&folder.join("kept"), u64::MAX).unwrap();
    let mut recording = Recording::new();
    let last = state(&recording, START_NS, true);
    kept.append(&mut recording, START_NS, Some(&last)).unwrap();
    kept.finish().unwrap();
    drop(kept);
    assert!(!is_left(&folder.join("kept.vouch")));
    // What only has such a name is nobody's recording.
    fs::write(folder.join("other.vouch"), "an essay").unwrap();
    let (after, beside) = Writer::create(&folder.join("other"), u64::MAX).unwrap();
    assert_eq!((after.path(), beside), (folder.join("other.2.vouch").as_path(), Beside::default()));
    // What was left where a file was begun again is taken away, and nothing that is in use.
    let part = folder.join("a.vouch.part");
    fs::write(&part, "half").unwrap();
    drop(Writer::create(&stem, u64::MAX).unwrap().0.remove());
    assert!(!part.exists());
    // A name that somebody has planted is not followed, and none of ours.
    let victim = folder.join("victim");
    fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, folder.join("a.3.vouch")).unwrap();
    let (fourth, beside) = Writer::create(&stem, u64::MAX).unwrap();
    assert_eq!(fourth.path(), folder.join("a.4.vouch"));
    assert_eq!(beside.left, [folder.join("a.vouch")]);
    drop(fourth);
    for _ in 5..=9 {
        Writer::create(&stem, u64::MAX).unwrap();
    }
    let (instead, beside) = Writer::create(&stem, u64::MAX).unwrap();
    assert_eq!(instead.path(), folder.join("a.vouch"), "the oldest makes room");
    assert_eq!((beside.replaced.as_deref(), beside.left.len()), (Some(instead.path()), 6));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    // Another file that has its name is not taken away with it.
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
                .sample(*thread, Sample { fate: Fate::Outside, weight: 2, ..sample(number * MS, stack) });
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
        let times = |samples: &[vouch_recording::Stored]| {
            samples.iter().map(|sample| sample.time_ns).collect::<Vec<_>>()
        };
        let later: Vec<_> = times(then.samples()).into_iter().filter(|time| *time >= since).collect();
        assert_eq!(times(now.samples()), later);
    }
    // Where names and stacks alone fill it, there is nothing to gain. Names without order, so that they fill it though they are packed.
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

/// States of the run that are old news are all that it has to lose where they are what fills it.
#[test]
fn a_file_full_of_states_is_begun_again_with_all_its_samples() {
    let folder = folder("states");
    let (mut writer, _) = Writer::create(&folder.join("a"), 60_000).unwrap();
    let mut recording = Recording::new();
    let thread = recording.add_thread("worker", 100, START_NS);
    let stack = stack(&mut recording, &["main"]);
    recording.sample(thread, Sample { fate: Fate::Outside, ..sample(0, stack) });
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

/// A JVM that ran for long before it was attached to, and was killed before the kernel was asked again.
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
        recording
            .sample(thread, Sample { cpu_ns, fate: Fate::Outside, weight: 1, ..sample(number * MS, stack) });
    }
    writer.append(&mut recording, START_NS + 20 * MS, None).unwrap();
    let Recovered { recording: again, meta, .. } = reread(&fs::read(writer.path()).unwrap()).unwrap();
    assert_eq!(again.threads()[0].cpu_ns(), Some(20 * MS));
    let Run { cpu_ms, rate, .. } = meta.report.run;
    assert!(cpu_ms.is_some_and(|cpu_ms| (cpu_ms - 20.0).abs() < 1e-9), "{cpu_ms:?}");
    assert!(rate.is_some_and(|rate| (rate.reached_hz - 1000.0).abs() < 1e-6), "{rate:?}");
}
