//! Tests that the joined profile has each sample once, with its time and weight.

use serde_json::Value;
use vouch_profile::join::{Source, join};

use crate::common::{HERE, Process, joined, refused, rows, samples, since, track, value};

#[test]
fn a_method_of_two_processes_is_one_function_and_each_sample_is_kept() {
    let web = Process::new("web.json.gz", 10).thread(
        "main",
        10,
        &[(&["main", "serve"], 3), (&["main", "Cart.add"], 2)],
    );
    let worker = Process { name: "Worker", ..Process::new("worker.json.gz", 20) }.thread(
        "main",
        20,
        &[(&["main", "Cart.add"], 4), (&["main", "Cart.add", "Price.of"], 2)],
    );
    let (profile, joined) = joined(vec![web, worker]);
    assert_eq!((joined.tracks, joined.processes.len(), joined.by_time_of_day.len()), (2, 2, 0));
    let names = rows(&profile["shared"]["funcTable"]["name"]);
    let names: Vec<&str> =
        names.iter().map(|name| profile["shared"]["stringArray"][*name].as_str().unwrap()).collect();
    for once in ["main", "serve", "Cart.add", "Price.of"] {
        assert_eq!(names.iter().filter(|name| **name == once).count(), 1, "{names:?}");
    }
    let add = ["main", "Cart.add"].map(str::to_owned).to_vec();
    let of = |pid, stack: &Vec<String>| {
        let samples = samples(&profile, track(&profile, pid, "main"));
        samples.iter().filter(|(_, names, _)| names == stack).count()
    };
    assert_eq!([of("10", &add), of("20", &add)], [2, 4]);
    assert_eq!(of("20", &["main", "Cart.add", "Price.of"].map(str::to_owned).to_vec()), 2);
    assert_eq!(samples(&profile, track(&profile, "10", "main"))[0].0, 1, "one clock: nothing is moved");
    let told = &profile["meta"]["vouch"]["samples"];
    assert_eq!([&told["signals"], &told["proven"]], [11, 11]);
    assert_eq!(profile["meta"]["vouch"]["cpu_ms"], 20.0);
    // The track of the profile with the most Java samples is selected, in any order of files.
    assert_eq!(profile["meta"]["initialSelectedThreads"][0], track(&profile, "20", "main"));
}

#[test]
fn recordings_of_one_process_become_one_track() {
    let minute = |file, from_ms| Process { from_ms, ..Process::new(file, 10) };
    let first =
        minute("1.json.gz", 0).thread("main", 10, &[(&["main"], 2)]).thread("old", 11, &[(&["run"], 1)]);
    let second = minute("2.json.gz", 1_000).thread("main", 10, &[(&["main", "late"], 3)]);
    // The order of the files does not matter.
    let (profile, joined) = joined(vec![second, first]);
    assert!(joined.gaps.is_empty(), "the second begins as the first ends: {:?}", joined.gaps);
    let times: Vec<u64> =
        samples(&profile, track(&profile, "10", "main")).iter().map(|sample| sample.0).collect();
    assert_eq!(times, [1, 2, 1_001, 1_002, 1_003]);
    assert_eq!(samples(&profile, track(&profile, "10", "old")).len(), 1);
    let times = |key: &str| since(profile["meta"][key].as_f64().unwrap());
    assert_eq!(["profilingStartTime", "profilingEndTime"].map(times), [0, 2_000]);
    assert_eq!(profile["meta"]["vouch"]["wall_ms"], 2_000.0);

    let dumped = minute("dump.json.gz", 0).thread("main", 10, &[(&["main"], 2)]);
    let whole = minute("whole.json.gz", 500).thread("main", 10, &[(&["main"], 2)]);
    let why = refused(vec![dumped, whole]);
    assert!(why.contains("whole.json.gz") && why.contains("dump.json.gz") && why.contains("twice"), "{why}");
}

#[test]
fn a_joined_profile_can_be_joined_again_but_not_with_itself() {
    let process = |file, pid| Process::new(file, pid).thread("main", u64::from(pid), &[(&["main"], 2)]);
    let all = |processes: Vec<Process>| join(processes.into_iter().map(Process::source).collect()).unwrap().0;
    let both =
        || Source { file: "both.json".to_owned(), document: all(vec![process("a", 10), process("b", 20)]) };
    let (profile, joined) = join(vec![both(), process("c", 30).source()]).unwrap();
    assert_eq!((joined.processes.len(), joined.by_time_of_day.len()), (3, 0));
    assert_eq!(value(&profile)["meta"]["vouch"]["samples"]["signals"], 6);
    let why = join(vec![both(), process("b", 20).source()]).unwrap_err().to_string();
    assert!(why.contains("twice"), "{why}");
}

#[test]
fn profiles_of_another_machine_are_aligned_by_the_time_of_day() {
    let process = |file, pid, boot, booted_unix_ms| {
        Process { boot, booted_unix_ms, ..Process::new(file, pid) }.thread(
            "main",
            pid.into(),
            &[(&["main"], 1)],
        )
    };
    // The machine's time of day was adjusted by a second, which must not shift the times of its
    // processes.
    let (profile, joined_here) =
        joined(vec![process("a", 1, HERE, 5_000_000), process("b", 2, HERE, 5_001_000)]);
    let at = |profile: &Value, pid: &str| samples(profile, track(profile, pid, "main"))[0].0;
    assert_eq!([at(&profile, "1"), at(&profile, "2")], [1, 1]);
    assert!(joined_here.by_time_of_day.is_empty());
    // This machine was booted two seconds earlier, so its clock has later times.
    let (profile, joined_both) =
        joined(vec![process("a", 1, HERE, 5_000_000), process("b", 2, "there", 4_998_000)]);
    assert_eq!([at(&profile, "1"), at(&profile, "2")], [2_001, 1]);
    assert_eq!(profile["meta"]["startTime"], 4_998_000.0);
    assert_eq!(joined_both.by_time_of_day, ["b"]);
    // The boot is unknown in a profile of an older Vouch.
    let (_, joined_old) = joined(vec![process("a", 1, HERE, 5_000_000), process("old", 2, "", 5_000_000)]);
    assert_eq!(joined_old.by_time_of_day, ["old"]);
}

#[test]
fn intervals_must_be_multiples_of_the_shortest() {
    let process = |file, pid, interval_ms| {
        Process { interval_ms, ..Process::new(file, pid) }.thread("main", u64::from(pid), &[(&["main"], 2)])
    };
    let (profile, _) = joined(vec![process("a", 1, 5), process("b", 2, 1)]);
    let weights = |pid| {
        samples(&profile, track(&profile, pid, "main")).iter().map(|sample| sample.2).collect::<Vec<_>>()
    };
    assert_eq!([weights("1"), weights("2")], [[5, 5], [1, 1]]);
    assert_eq!(profile["meta"]["interval"], 1.0);
    assert!(
        profile["threads"]
            .as_array()
            .unwrap()
            .iter()
            .all(|track| track["samples"]["weightType"] == "tracing-ms")
    );
    assert_eq!(profile["meta"]["vouch"]["weight_ms"]["proven"], 12.0);
    let why = refused(vec![process("a", 1, 2), process("b", 2, 3)]);
    assert!(why.contains("a was sampled every 2 ms, b every 3 ms"), "{why}");
}

#[test]
fn files_after_a_gap_are_reported() {
    let from = |file, pid: u32, from_ms| {
        Process { from_ms, ..Process::new(file, pid) }.thread("main", pid.into(), &[(&["main"], 2)])
    };
    let (_, apart) = joined(vec![
        from("late.json", 3, 9_000),
        from("first.json", 1, 0),
        from("beside.json", 2, 500),
        from("too.json", 4, 9_001),
    ]);
    assert_eq!(apart.gaps, [("late.json".to_owned(), 7_500.0)]);
}
