//! Tests that equal processes and threads are joined, and that equal ids or names do not suffice.

use serde_json::Value;
use vouch_profile::join::{Source, join};

use crate::common::{Process, joined, refused, samples, track, value};

#[test]
fn processes_and_threads_with_the_same_id_stay_separate() {
    let one = Process::new("a.json.gz", 1).thread("main", 1, &[(&["main"], 1)]);
    let other = Process { namespace: 2, ..Process::new("b.json.gz", 1) }.thread("main", 1, &[(&["main"], 2)]);
    let (profile, joined) = joined(vec![one, other]);
    assert_eq!(joined.processes, ["Shop (a.json.gz), process 1", "Shop (b.json.gz), process 1 (2)"]);
    let counts = ["1", "1 (2)"].map(|pid| samples(&profile, track(&profile, pid, "main")).len());
    assert_eq!(counts, [1, 2]);
    assert_ne!(profile["threads"][0]["tid"], profile["threads"][1]["tid"]);
}

#[test]
fn a_container_thread_keeps_one_track_if_another_has_its_id() {
    let minute = |file, namespace, from_ms| {
        let process = Process { namespace, from_ms, ..Process::new(file, 1) };
        process.thread("main", 1, &[(&["main"], 2)]).source()
    };
    let (both, _) = join(vec![minute("a", 1, 0), minute("b", 2, 0)]).unwrap();
    let both = Source { file: "both".to_owned(), document: both };
    let (profile, joined) = join(vec![both, minute("b later", 2, 2_000)]).unwrap();
    let profile = value(&profile);
    assert_eq!((joined.tracks, joined.processes.len()), (2, 2));
    assert_eq!(samples(&profile, track(&profile, "1 (2)", "main")).len(), 4);
    assert!(profile["threads"].as_array().unwrap().iter().all(|track| track["isMainThread"] == true));
}

#[test]
fn flight_recorder_threads_are_joined_by_id_and_not_by_name() {
    let minute = |file, from_ms, tids: [&str; 2]| {
        let stacks: &[(&[&str], u64)] = &[(&["run"], 2)];
        let of = Process { from_ms, ..Process::new(file, 10) };
        let source = of.thread("accept", 70, stacks).thread("accept", 71, stacks).source();
        let mut profile = value(&source.document);
        for (track, tid) in profile["threads"].as_array_mut().unwrap().iter_mut().zip(tids) {
            track["tid"] = tid.into();
        }
        Source { document: serde_json::from_value(profile).unwrap(), ..source }
    };
    let (first, second) =
        (minute("1", 0, ["jfr-1/70", "jfr-2/71"]), minute("2", 1_000, ["jfr-1/71", "jfr-5/70"]));
    let (document, _) = join(vec![first, second]).unwrap();
    let profile = value(&document);
    assert_eq!(profile["threads"].as_array().unwrap().len(), 2);
    for track in 0..2 {
        let times: Vec<u64> = samples(&profile, track).iter().map(|sample| sample.0).collect();
        assert_eq!(times, [1, 2, 1_001, 1_002]);
    }
}

#[test]
fn a_process_has_one_main_thread_and_an_old_file_counts_once() {
    let late = |file, tid, from_ms| {
        Process { from_ms, ..Process::new(file, 10) }.thread("main", tid, &[(&["main"], 1)])
    };
    let (profile, _) = joined(vec![late("1", 10, 0), late("2", 11, 2_000)]);
    let mains = |profile: &Value| {
        let tracks = profile["threads"].as_array().unwrap();
        tracks.iter().filter(|track| track["isMainThread"] == true).count()
    };
    assert_eq!((profile["threads"].as_array().unwrap().len(), mains(&profile)), (2, 1));
    let old = |file| Process { boot: "", ..Process::new(file, 10) }.thread("main", 10, &[(&["main"], 1)]);
    let why = refused(vec![old("dump"), old("whole")]);
    assert!(why.contains("would count twice"), "{why}");
    // The two profiles of an older Vouch are from two containers.
    let (_, both) = joined(vec![old("one"), Process { from_ms: 3, ..old("other") }]);
    assert_eq!(both.processes.len(), 2);
}
