//! Tests of tracks: their threads, their order, and that no sample is lost if there are many.

use serde_json::Value;
use vouch_recording::{Recording, Sample, Trust};

use crate::common::{START_NS, busy_thread, names, numbers, sample, stack, written};

fn sample_count(profile: &Value) -> u64 {
    let tracks = profile["threads"].as_array().unwrap();
    tracks.iter().map(|track| track["samples"]["length"].as_u64().unwrap()).sum()
}

/// Returns a name without digits that is different for each number.
fn word(mut number: u32) -> String {
    let mut word = String::new();
    for _ in 0..3 {
        word.push(char::from_u32(u32::from('a') + number % 26).unwrap());
        number /= 26;
    }
    word
}

#[test]
fn main_comes_first_then_the_busiest_family() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["run"]);
    for (name, samples) in [("idle", 0), ("pool-1", 3), ("GC", 5), ("main", 1), ("pool-2", 4), ("main", 2)] {
        busy_thread(&mut recording, name, stack, samples);
    }
    let profile = written(&recording);
    assert_eq!(names(&profile), ["main", "pool-1", "pool-2", "GC", "main", "idle"]);
    let mains = profile["threads"].as_array().unwrap().iter().map(|track| &track["isMainThread"]);
    assert_eq!(mains.filter(|&main| main == true).count(), 1);
    assert_eq!(profile["threads"][0]["isMainThread"], true);
    assert_eq!(numbers(&profile["meta"]["initialSelectedThreads"]), [3]);
    assert_eq!(numbers(&profile["meta"]["initialVisibleThreads"]), [0, 1, 2, 3, 4]);
}

#[test]
fn a_thread_that_was_renamed_has_two_tids() {
    let mut recording = Recording::new();
    for name in ["main", "renamed", "again"] {
        recording.add_thread(name, 77, START_NS);
    }
    recording.add_thread("other", 78, START_NS);
    let profile = written(&recording);
    let tids: Vec<_> = (0..4).map(|track| profile["threads"][track]["tid"].to_string()).collect();
    assert_eq!(tids, ["77", "\"77.2\"", "78", "\"77.3\""]);
    assert_eq!(names(&profile), ["main", "again", "other", "renamed"]);
}

#[test]
fn the_busiest_twenty_and_main_are_shown() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["run"]);
    recording.add_thread("main", 1, START_NS);
    for n in 1..=30 {
        busy_thread(&mut recording, &format!("pool-{n}"), stack, n);
    }
    let profile = written(&recording);
    let mut expected = vec![0];
    expected.extend(11..=30);
    assert_eq!(numbers(&profile["meta"]["initialVisibleThreads"]), expected);
}

#[test]
fn tracks_with_less_than_one_percent_are_hidden_at_first() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["run"]);
    for (name, samples) in [("server", 990), ("worker", 20), ("ticker", 5)] {
        busy_thread(&mut recording, name, stack, samples);
    }
    let profile = written(&recording);
    assert_eq!(names(&profile), ["server", "worker", "ticker"]);
    assert_eq!(numbers(&profile["meta"]["initialVisibleThreads"]), [0, 1]);
}

#[test]
fn not_all_tracks_are_hidden_if_all_have_less_than_one_percent() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["run"]);
    busy_thread(&mut recording, "main", stack, 1);
    for n in 1..=300 {
        busy_thread(&mut recording, &format!("brief-{n}"), stack, 1 + u64::from(n == 250));
    }
    let shown = numbers(&written(&recording)["meta"]["initialVisibleThreads"]);
    assert!(shown.len() == 20 && shown.contains(&0) && shown.contains(&250), "{shown:?}");
}

#[test]
fn the_busiest_with_java_is_selected() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["a"]);
    let compiler = recording.add_thread("C2", 1, START_NS);
    for n in 0..9 {
        recording.sample(compiler, Sample { trust: Trust::Unchecked, ..sample(n, stack) });
    }
    busy_thread(&mut recording, "worker", stack, 3);
    busy_thread(&mut recording, "idler", stack, 1);
    let profile = written(&recording);
    assert_eq!(names(&profile), ["worker", "idler", "C2"], "the JVM's own threads stand below");
    let selected = profile["meta"]["initialSelectedThreads"][0].as_u64().unwrap();
    assert_eq!(profile["threads"][usize::try_from(selected).unwrap()]["name"], "worker");
}

#[test]
fn a_thousand_threads_have_a_track_each() {
    let mut recording = Recording::new();
    for n in 0..1000 {
        recording.add_thread(&format!("pool-{n}"), n, START_NS);
    }
    assert_eq!(names(&written(&recording)).len(), 1000);
}

#[test]
fn ten_thousand_threads_of_a_pool_share_a_track() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["run"]);
    busy_thread(&mut recording, "main", stack, 1);
    for n in 0..10_000 {
        let thread = recording.add_thread(&format!("pool-1-thread-{n}"), n, START_NS + n);
        recording.end_thread(thread, START_NS + 9_000_000);
        // The threads run at the same time. Each uses 1 ms of CPU time between its two samples.
        recording.sample(thread, sample(1_000_000, stack));
        recording.sample(thread, sample(2_000_000, stack));
    }
    busy_thread(&mut recording, "worker-1", stack, 1);
    busy_thread(&mut recording, "worker-2", stack, 1);
    let profile = written(&recording);
    let folded = "pool-#-thread-# (10,000 threads)";
    assert_eq!(names(&profile), ["main", folded, "worker-1", "worker-2"]);
    assert_eq!(sample_count(&profile), 20_003);
    let pool = &profile["threads"][1];
    assert_eq!(pool["registerTime"], START_NS / 1_000_000);
    assert_eq!(pool["unregisterTime"], START_NS / 1_000_000 + 9);
    assert_eq!(numbers(&pool["samples"]["threadCPUDelta"]).iter().sum::<i64>(), 20_000_000);
}

#[test]
fn the_least_busy_of_many_different_threads_share_the_last_track() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["run"]);
    for n in 0..1500 {
        busy_thread(&mut recording, &word(n), stack, 3 * u64::from(n % 3));
    }
    // This family of two threads is busier than the idle threads, and less busy than the others.
    busy_thread(&mut recording, "pair-1", stack, 1);
    busy_thread(&mut recording, "pair-2", stack, 1);
    recording.add_thread("main", 1, START_NS);
    let profile = written(&recording);
    let names = names(&profile);
    assert_eq!((names.len(), names[0]), (1000, "main"));
    assert_eq!(names[999], "other threads (504 threads)");
    assert_eq!(sample_count(&profile), 500 * 3 + 500 * 6 + 2);
    let lengths = |track: &Value| track["samples"]["length"].as_u64().unwrap();
    let tracks = profile["threads"].as_array().unwrap();
    assert_eq!(tracks[1..999].iter().map(lengths).min(), Some(3), "a busy one gave way to an idle one");
}

#[test]
fn a_recording_without_threads_can_be_opened() {
    let profile = written(&Recording::new());
    assert_eq!(names(&profile), ["no thread was recorded"]);
    assert_eq!(numbers(&profile["meta"]["initialVisibleThreads"]), [0]);
}
