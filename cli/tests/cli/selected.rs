//! Tests of the options that select samples by frame, time and state, and of those that list the
//! callers and callees of a method: the real binary on a profile with known times.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::common;

/// Makes a profile in which `main` calls `read` and `work`. `work` calls itself and `read`. The
/// samples come every 10 ms from 100 ms on. The thread waits from 100 ms to 1000 ms.
fn profile() -> Value {
    let milliseconds = |length: u64| length * 1_000_000;
    json!({
        "meta": {
            "interval": 1.0, "vouch": {}, "profilingStartTime": 100.0,
            "categories": [{ "name": "Application" }, { "name": "Waiting" }],
        },
        "shared": {
            "stringArray": ["main", "read", "work", "[parked]", "[system call poll]"],
            "funcTable": { "name": [0, 1, 2, 3, 4] },
            "frameTable": {
                "func": [0, 1, 2, 3, 4], "category": [0, 0, 0, 1, 1], "line": [5, 6, 7, null, null],
            },
            // main; main read; main work; main work work; main work work read; main read [parked];
            // main work [system call poll]
            "stackTable": { "frame": [0, 1, 2, 2, 1, 3, 4], "prefixOffset": [0, 1, 2, 1, 1, 4, 4] },
        },
        "threads": [{
            "name": "worker",
            "samples": {
                "stack": [0, 1, 2, 3, 4], "weight": [1, 2, 4, 8, 16],
                "timeDeltas": [100.0, 10.0, 10.0, 10.0, 10.0],
            },
            "vouchWallClock": {
                "stack": [5, 6, 2], "weight": [milliseconds(600), milliseconds(300), milliseconds(100)],
                "time": [100.0, 700.0, 1000.0],
            },
        }],
    })
}

/// The profile's file, which all tests read.
static PROFILE: LazyLock<PathBuf> =
    LazyLock::new(|| common::file("selected", "profile.json", profile().to_string()));

fn vouch(arguments: &[&str]) -> Output {
    let (verb, options) = arguments.split_first().unwrap();
    Command::new(env!("CARGO_BIN_EXE_vouch")).arg(verb).arg(&*PROFILE).args(options).output().unwrap()
}

fn top(options: &[&str]) -> Value {
    let output = vouch(&[&["top", "--json"], options].concat());
    assert!(output.status.success(), "{options:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the total time of all rows, by name, in milliseconds.
fn totals(options: &[&str]) -> Vec<(String, f64)> {
    let top = top(options);
    let row = |row: &Value| (row["name"].as_str().unwrap().to_owned(), row["total_ms"].as_f64().unwrap());
    let mut rows: Vec<_> = top["rows"].as_array().unwrap().iter().map(row).collect();
    rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    rows
}

fn refused(options: &[&str]) -> String {
    let output = vouch(&[&["top"], options].concat());
    assert!(matches!(output.status.code(), Some(1 | 2)), "{options:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Returns the sum of the times that `vouch top` counts, in milliseconds.
fn sum(options: &[&str]) -> Value {
    top(options)["cpu_ms"].clone()
}

#[test]
fn samples_are_selected_by_their_frames() {
    assert_eq!(sum(&[]), 31.0);
    assert_eq!(sum(&["--include", "work"]), 28.0);
    assert_eq!(sum(&["--include", "work", "--include", "^read$"]), 16.0);
    assert_eq!(sum(&["--exclude", "work"]), 3.0);
    assert_eq!(sum(&["--include", "read", "--exclude", "work"]), 2.0);
    assert_eq!(
        totals(&["--include", "read", "--sort", "total"]),
        [("main".to_owned(), 18.0), ("read".to_owned(), 18.0), ("work".to_owned(), 16.0)]
    );
}

#[test]
fn samples_are_selected_by_time_since_the_beginning_of_the_recording() {
    assert_eq!(sum(&["--from", "0s"]), 31.0);
    assert_eq!(sum(&["--from", "20ms"]), 28.0);
    assert_eq!(sum(&["--to", "20ms"]), 3.0);
    assert_eq!(sum(&["--from", "10ms", "--to", "30ms"]), 6.0);
}

#[test]
fn a_wait_is_cut_at_the_limits_of_the_time() {
    let wall = |options: &[&str]| totals(&[&["--measure", "wall", "--sort", "total"], options].concat());
    let row = |rows: Vec<(String, f64)>, name: &str| {
        json!(rows.into_iter().find(|(known, _)| known == name).map(|(_, time)| time))
    };
    assert_eq!(row(wall(&[]), "[parked]"), 600.0);
    assert_eq!(row(wall(&["--from", "100ms", "--to", "400ms"]), "[parked]"), 300.0);
    assert_eq!(row(wall(&["--from", "500ms"]), "[parked]"), 100.0);
    assert_eq!(row(wall(&["--to", "800ms"]), "[system call poll]"), 200.0);
}

#[test]
fn samples_are_selected_by_the_state_of_the_thread() {
    let names = |state: &str| {
        let rows = totals(&["--measure", "wall", "--state", state]);
        rows.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names("parked"), ["[parked]"]);
    assert_eq!(names("system call"), ["[system call poll]"]);
    assert_eq!(names("!running"), ["[parked]", "[system call poll]"]);
    assert_eq!(names("running"), ["work"]);
    assert!(refused(&["--state", "parked"]).contains("--state needs --measure wall"));
}

#[test]
fn callers_and_callees_of_a_method_are_counted_once_for_each_sample() {
    let rows = |options: &[&str]| {
        let top = top(options);
        let row = |row: &Value| (row["name"].as_str().unwrap().to_owned(), row["ms"].as_f64().unwrap());
        let rows: Vec<_> = top["rows"].as_array().unwrap().iter().map(row).collect();
        (top["methods"].clone(), top["methods_ms"].as_f64().unwrap(), rows)
    };
    let named = |rows: &[(&str, f64)]| rows.iter().map(|(name, ms)| ((*name).to_owned(), *ms)).collect();
    assert_eq!(
        rows(&["--callers", "work"]),
        (json!(["work"]), 28.0, named(&[("main", 28.0), ("work", 24.0)]))
    );
    assert_eq!(
        rows(&["--callers", "read"]),
        (json!(["read"]), 18.0, named(&[("work", 16.0), ("main", 2.0)]))
    );
    assert_eq!(
        rows(&["--callees", "^work"]),
        (
            json!(["work"]),
            28.0,
            named(&[("work", 24.0), ("read", 16.0), ("[no callee: the method itself]", 12.0)])
        )
    );
    assert_eq!(
        rows(&["--callers", "main|read", "--lines"]),
        (
            json!(["main", "read"]),
            31.0,
            named(&[("[no caller: the outermost frame]", 31.0), ("work:7", 16.0), ("main:5", 2.0)])
        )
    );
    let wall = top(&["--callers", "parked", "--measure", "wall"]);
    assert_eq!((&wall["ms"], &wall["methods_ms"]), (&json!(1000.0), &json!(600.0)));
    let (_, _, part) = rows(&["--callers", "read", "--exclude", "work"]);
    assert_eq!(part, named(&[("main", 2.0)]));
    let text = vouch(&["top", "--callers", "read", "--rows", "1"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("18.0 ms (58.1 %) with read"), "{text}");
    assert!(text.contains("1 more: --rows shows more"), "{text}");
}

#[test]
fn a_selection_without_samples_is_refused_with_the_reason() {
    for (options, why) in [
        (vec!["--include", "nothing"], "no sample matches: with nothing"),
        (vec!["--from", "2s"], "no sample matches: from 2 s"),
        (vec!["--from", "20ms", "--to", "10ms"], "no sample matches: from 0.02 s to 0.01 s"),
        (vec!["--callers", "nothing"], "no method in a counted sample matches nothing"),
        (vec!["--from", "2"], "the unit is missing: write 2ms or 2s"),
        (vec!["--include", "("], "--include"),
        (vec!["--callers", "a", "--callees", "b"], "cannot be used with"),
        (
            vec!["--measure", "wall", "--state", "!running", "--to", "0s"],
            "no sample matches: state !running, to 0 s",
        ),
    ] {
        let error = refused(&options);
        assert!(error.contains(why), "{options:?}: {error}");
    }
}

#[test]
fn a_picture_is_of_the_selected_samples_and_its_title_says_so() {
    let out = common::file("selected", "part.svg", "");
    let output = vouch(&["flame", "--include", "read", "--to", "20ms", "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let picture = fs::read_to_string(&out).unwrap();
    assert!(picture.contains("<title>read (2 ms, 100") && !picture.contains("work ("), "{picture}");
    assert!(picture.contains("profile.json: with read, to 0.02 s"), "{picture}");
}
