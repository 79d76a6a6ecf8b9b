//! Tests that `vouch top`, `flame` and `diff` count allocations: the real binary on profiles with
//! known allocations.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::common;

/// Makes a profile in which `main` calls `make`, which allocates arrays, and `main` allocates
/// strings itself. Another thread allocates nothing.
fn profile(arrays: u64) -> Value {
    let samples = json!({ "length": 1, "stack": [1], "weight": [7], "timeDeltas": [1.0] });
    json!({
        "meta": { "interval": 1.0, "vouch": {}, "categories": [{ "name": "Application" }] },
        "shared": {
            "stringArray": ["main", "make"],
            "funcTable": { "name": [0, 1] },
            "frameTable": { "func": [0, 1], "category": [0, 0], "line": [3, null] },
            "stackTable": { "frame": [0, 1], "prefixOffset": [0, 1] },
        },
        "threads": [
            { "name": "worker", "samples": samples, "jsAllocations": {
                "className": ["byte[]", "java.lang.String", "byte[]", "int[]"],
                "weight": [arrays, 3 << 20, 1 << 20, 1 << 20],
                "stack": [1, 0, 1, null],
                "time": [1.0, 2.0, 4.0, 5.0],
            } },
            { "name": "idle", "samples": samples },
        ],
    })
}

fn file(name: &str, profile: &Value) -> PathBuf {
    common::file("measures", name, profile.to_string())
}

fn vouch(arguments: &[&str], files: &[&PathBuf]) -> Output {
    let verb = Command::new(env!("CARGO_BIN_EXE_vouch"))
        .arg(arguments[0])
        .args(files)
        .args(&arguments[1..])
        .output();
    verb.unwrap()
}

fn good(arguments: &[&str], files: &[&PathBuf]) -> String {
    let output = vouch(arguments, files);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str], files: &[&PathBuf]) -> String {
    let output = vouch(arguments, files);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn top_lists_allocated_bytes_by_class_and_by_method() {
    let path = file("top.json", &profile(5 << 20));
    let text = good(&["top", "--measure", "alloc"], &[&path]);
    let rows: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(rows[0], "10.0 MB of allocated objects in 4 samples");
    assert!(rows.contains(&"6.0 MB 60.0 % 6.0 MB 60.0 % byte[]".to_owned()), "{text}");
    assert!(!text.contains("CPU time") && !text.contains("trust in the stacks"), "{text}");
    let told: Value =
        serde_json::from_str(&good(&["top", "--measure", "alloc", "--sort", "total", "--json"], &[&path]))
            .unwrap();
    assert_eq!((&told["bytes"], &told["samples"]), (&json!(10_485_760.0), &json!(4)));
    let main = told["rows"].as_array().unwrap().iter().find(|row| row["name"] == "main").unwrap();
    assert_eq!((&main["total_bytes"], &main["self_bytes"]), (&json!(9_437_184.0), &json!(0.0)));
    let by_thread = good(&["top", "--measure", "alloc", "--by", "thread"], &[&path]);
    assert!(by_thread.contains("10.0 MB") && !by_thread.contains("idle"), "{by_thread}");
}

#[test]
fn a_stack_that_has_the_class_as_its_leaf_gets_it_once() {
    let mut with_class = profile(5 << 20);
    let shared = &mut with_class["shared"];
    shared["stringArray"] = json!(["main", "make", "byte[]"]);
    shared["funcTable"]["name"] = json!([0, 1, 2]);
    shared["frameTable"] = json!({ "func": [0, 1, 2], "category": [0, 0, 0], "line": [3, null, null] });
    shared["stackTable"] = json!({ "frame": [0, 1, 2], "prefixOffset": [0, 1, 1] });
    with_class["threads"][0]["jsAllocations"]["stack"] = json!([2, 0, 2, null]);
    let path = file("leaf.json", &with_class);
    let out = path.with_extension("folded");
    good(&["flame", "--measure", "alloc", "--out", out.to_str().unwrap()], &[&path]);
    let mut lines: Vec<String> = fs::read_to_string(&out).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["int[] 1048576", "main;java.lang.String 3145728", "main;make;byte[] 6291456"]);
}

#[test]
fn flame_graphs_have_the_class_on_top() {
    let path = file("flame.json", &profile(5 << 20));
    let out = path.with_extension("folded");
    good(&["flame", "--measure", "alloc", "--out", out.to_str().unwrap()], &[&path]);
    let mut lines: Vec<String> = fs::read_to_string(&out).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["int[] 1048576", "main;java.lang.String 3145728", "main;make;byte[] 6291456"]);
    let picture = path.with_extension("svg");
    good(&["flame", "--measure", "alloc", "--out", picture.to_str().unwrap()], &[&path]);
    assert!(fs::read_to_string(&picture).unwrap().contains("byte[] (6,291,456 bytes, 60.00%)"));
}

#[test]
fn diff_compares_what_was_allocated() {
    let [before, after] = [5, 90].map(|arrays| file(&format!("diff-{arrays}.json"), &profile(arrays << 20)));
    let told: Value =
        serde_json::from_str(&good(&["diff", "--measure", "alloc", "--json"], &[&before, &after])).unwrap();
    let arrays = told["methods"].as_array().unwrap().iter().find(|row| row["name"] == "byte[]").unwrap();
    let change = arrays["change"].as_f64().unwrap();
    assert!((change - (91.0 / 95.0 - 0.6)).abs() < 1e-6, "{arrays}");
    let text = good(&["diff", "--measure", "alloc"], &[&before, &after]);
    assert!(text.contains("diff-5.json: 10.0 MB of allocated objects in 4 samples"), "{text}");
    assert!(text.contains("diff-90.json: 95.0 MB of allocated objects in 4 samples"), "{text}");
    let third = file("diff-third.json", &profile(7 << 20));
    let error = refused(
        &["diff", "--measure", "alloc", "--time", "--before", third.to_str().unwrap()],
        &[&before, &after],
    );
    assert!(error.contains("--time compares times, and") && error.contains("has allocated bytes"), "{error}");
}

#[test]
fn a_profile_without_allocations_says_how_to_record_them() {
    let mut none = profile(1);
    none["threads"][0].as_object_mut().unwrap().remove("jsAllocations");
    let error = refused(&["top", "--measure", "alloc"], &[&file("none.json", &none)]);
    assert!(error.contains("has no allocations: record them with events=alloc"), "{error}");
    let mut damaged = profile(1);
    damaged["threads"][0]["jsAllocations"]["stack"][0] = json!(2);
    let error = refused(&["top", "--measure", "alloc"], &[&file("damaged.json", &damaged)]);
    assert!(error.contains("refers to rows that it does not have"), "{error}");
    let mut damaged = profile(1);
    damaged["shared"]["stackTable"]["frame"][1] = json!(7);
    let error = refused(&["top", "--measure", "alloc"], &[&file("damaged-table.json", &damaged)]);
    assert!(error.contains("refers to rows that it does not have"), "{error}");
}

#[test]
fn wall_clock_time_is_counted_with_its_states() {
    let mut profile = profile(1);
    let shared = &mut profile["shared"];
    shared["stringArray"] = json!(["main", "make", "[sleeping]"]);
    shared["funcTable"]["name"] = json!([0, 1, 2]);
    shared["frameTable"] = json!({ "func": [0, 1, 2], "category": [0, 0, 0], "line": [3, null, null] });
    shared["stackTable"] = json!({ "frame": [0, 1, 2], "prefixOffset": [0, 1, 1] });
    profile["threads"][0]["vouchWallClock"] =
        json!({ "time": [1.0, 2.0], "weight": [30_000_000_u64, 10_000_000], "stack": [2, 1] });
    let path = file("wall.json", &profile);
    let text = good(&["top", "--measure", "wall"], &[&path]);
    assert!(text.starts_with("40.0 ms of wall-clock time in 2 samples\n"), "{text}");
    assert!(
        text.lines().any(|line| line.contains("30.0 ms   75.0 %") && line.ends_with("[sleeping]")),
        "{text}"
    );
    let by_thread = good(&["top", "--measure", "wall", "--by", "thread"], &[&path]);
    assert!(
        by_thread.contains("40.0 ms  100.0 %") && !by_thread.contains(" to "),
        "waits are measured: {by_thread}"
    );
    let out = path.with_extension("folded");
    good(&["flame", "--measure", "wall", "--out", out.to_str().unwrap()], &[&path]);
    let mut lines: Vec<String> = fs::read_to_string(&out).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["main;make 10000000", "main;make;[sleeping] 30000000"]);
    profile["threads"][0].as_object_mut().unwrap().remove("vouchWallClock");
    let error = refused(&["top", "--measure", "wall"], &[&file("no-wall.json", &profile)]);
    assert!(error.contains("has no wall-clock time: record it with wall=on"), "{error}");
}
