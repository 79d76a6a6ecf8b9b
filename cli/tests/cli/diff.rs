//! Tests of `vouch diff`: they run the real binary on profiles with known differences.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::common;

const METHODS: [&str; 6] = ["main", "A.hot", "B.warm", "C.sort", "D.map", "E$$Lambda$7.run"];

/// A random number generator with the same numbers in each run of the test.
struct Chance(u64);

impl Chance {
    /// Returns a number from 0 up to, not including, 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        #[allow(clippy::cast_precision_loss)]
        let number = (self.0 >> 11) as f64;
        number / 9_007_199_254_740_992.0
    }
}

/// Makes a run with this many samples. Each method except `main` has its share.
fn profile(chance: &mut Chance, samples: usize, shares: [f64; 5]) -> Value {
    let all: f64 = shares.iter().sum();
    let stacks: Vec<usize> = (0..samples)
        .map(|_| {
            let mut left = chance.next() * all;
            1 + shares
                .iter()
                .position(|share| {
                    left -= share;
                    left < 0.0
                })
                .unwrap_or(4)
        })
        .collect();
    of_stacks(&stacks)
}

/// Makes a profile of these stacks. Stack 0 is `main`, which calls the others.
fn of_stacks(stacks: &[usize]) -> Value {
    json!({
        "meta": { "interval": 1.0, "vouch": {}, "categories": [] },
        "shared": {
            "stringArray": METHODS,
            "funcTable": { "name": [0, 1, 2, 3, 4, 5] },
            "frameTable": { "func": [0, 1, 2, 3, 4, 5], "category": [null, null, null, null, null, null] },
            "stackTable": { "frame": [0, 1, 2, 3, 4, 5], "prefixOffset": [0, 1, 2, 3, 4, 5] },
        },
        "threads": [{ "name": "main", "samples": { "stack": stacks, "timeDeltas": vec![1.0; stacks.len()] } }],
    })
}

fn file(name: &str, profile: &Value) -> PathBuf {
    common::file("diff", name, profile.to_string())
}

fn run_diff(files: &[PathBuf], arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vouch")).arg("diff").args(files).args(arguments).output().unwrap()
}

fn text(files: &[PathBuf], arguments: &[&str]) -> String {
    let output = run_diff(files, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the methods that certainly changed, the largest change first.
fn sure(files: &[PathBuf], arguments: &[&str]) -> Vec<String> {
    names_of_changed(&methods(files, arguments))
}

fn names_of_changed(methods: &[Value]) -> Vec<String> {
    let changed = methods.iter().filter(|method| method["sure"] == true);
    changed.map(|method| method["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns all methods, as `--json` prints them.
fn methods(files: &[PathBuf], arguments: &[&str]) -> Vec<Value> {
    let compared: Value = serde_json::from_str(&text(files, &[&["--json"], arguments].concat())).unwrap();
    compared["methods"].as_array().unwrap().clone()
}

const EVEN: [f64; 5] = [40.0, 20.0, 20.0, 15.0, 5.0];
/// The shares of a program in which the first method takes a fifth more.
const SLOWER: [f64; 5] = [48.0, 20.0, 20.0, 15.0, 5.0];

#[test]
fn equal_runs_seem_to_differ_in_one_of_twenty_cases_at_most() {
    let mut chance = Chance(1);
    let single = (0..40).filter(|at| {
        let files =
            ["a", "b"].map(|side| file(&format!("none-{at}-{side}.json"), &profile(&mut chance, 3000, EVEN)));
        !sure(&files, &[]).is_empty()
    });
    assert_eq!(single.count(), 0, "of one run each, which is wide");
    let mut wrong = 0;
    for at in 0..40 {
        let run = |side: usize| file(&format!("none-{at}-{side}.json"), &profile(&mut chance, 3000, EVEN));
        let files: Vec<PathBuf> = (0..6).map(run).collect();
        wrong += usize::from(!several(&files, &[]).is_empty());
    }
    // Two wrong ones are expected. With a coverage of 95 % seven or more come less than once in a
    // hundred times.
    assert!(wrong < 7, "{wrong} of 40");
}

#[test]
fn no_share_changes_by_more_than_there_is() {
    let mut chance = Chance(3);
    let sides = [[300.0, 0.1, 0.1, 0.1, 0.1], [0.1, 300.0, 0.1, 0.1, 0.1]];
    let files = sides.map(|shares| profile(&mut chance, 3000, shares));
    let files = [file("all-a.json", &files[0]), file("all-b.json", &files[1])];
    let told: Value = serde_json::from_str(&text(&files, &["--json"])).unwrap();
    for method in told["methods"].as_array().unwrap().iter().take(2) {
        let interval = [0, 1].map(|at| method["interval"][at].as_f64().unwrap());
        let change = method["change"].as_f64().unwrap();
        assert!(change.abs() > 0.95 && interval.iter().all(|end| end.abs() <= 1.0), "{method}");
    }
}

/// Returns the methods that certainly changed in several runs of each side. The first half of the
/// files is before, the second half after.
fn several(files: &[PathBuf], arguments: &[&str]) -> Vec<String> {
    names_of_changed(&compared(files, arguments))
}

/// Returns all methods of several runs of each side, as `--json` prints them.
fn compared(files: &[PathBuf], arguments: &[&str]) -> Vec<Value> {
    let (before, after) = files.split_at(files.len() / 2);
    let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let more = before[1..].iter().flat_map(|file| ["--before".to_owned(), text(file)]);
    let more = more.chain(after[1..].iter().flat_map(|file| ["--after".to_owned(), text(file)]));
    let more: Vec<String> = more.collect();
    let more = more.iter().map(String::as_str).chain(arguments.iter().copied());
    methods(&[before[0].clone(), after[0].clone()], &more.collect::<Vec<_>>())
}

#[test]
fn a_method_that_takes_a_fifth_more_is_named_first() {
    let mut chance = Chance(2);
    let mut run = |at: usize, shares| file(&format!("slower-{at}.json"), &profile(&mut chance, 5000, shares));
    let files: Vec<PathBuf> = (0..10).map(|at| run(at, if at < 5 { EVEN } else { SLOWER })).collect();
    assert_eq!(several(&files, &[])[0], "A.hot");
    // One run of each side does not show it, and the text says so. A large change is shown.
    let pair = [files[0].clone(), files[5].clone()];
    let told = text(&pair, &[]);
    assert!(
        sure(&pair, &[]).is_empty() && told.contains("take five runs of each (--before, --after)"),
        "{told}"
    );
    assert!(told.contains("points in A.hot (") && told.contains("would be seen"), "{told}");
    let much =
        [pair[0].clone(), file("much.json", &profile(&mut chance, 5000, [40.0, 90.0, 20.0, 15.0, 5.0]))];
    assert_eq!(sure(&much, &[])[0], "B.warm");
    let told = text(&much, &[]);
    let gained = told.lines().find(|line| line.ends_with("B.warm")).unwrap();
    assert!(gained.trim_start().starts_with('+') && gained.contains(" points "), "{told}");
}

#[test]
fn three_runs_that_happen_to_be_alike_are_no_more_sure_than_three_runs_are() {
    // The samples have exactly these shares, in 10,000 samples, and alternate.
    let exact = |hot: usize| {
        let stacks: Vec<usize> =
            (0..10_000).map(|at| if at * hot / 10_000 == (at + 1) * hot / 10_000 { 2 } else { 1 }).collect();
        of_stacks(&stacks)
    };
    // A.hot differs by one point and a half from run to run, and by four from side to side.
    let of_side = |side: usize, runs: usize| {
        let run = move |at: usize| {
            file(&format!("alike-{runs}-{side}-{at}.json"), &exact(4_000 + 400 * side + 150 * (at % 3) + at))
        };
        (0..runs).map(run)
    };
    let files = |runs: usize| -> Vec<PathBuf> { of_side(0, runs).chain(of_side(1, runs)).collect() };
    assert!(several(&files(3), &[]).is_empty(), "as far as three runs of a side can tell");
    assert_eq!(several(&files(6), &[])[0], "A.hot");
}

#[test]
fn more_runs_make_no_interval_wider() {
    let mut chance = Chance(9);
    // A.hot differs by some two points from run to run.
    let mut run = |side: &str, at: usize| {
        let hot = 40.0 + 7.0 * (chance.next() - 0.5);
        let shares = [hot, 60.0 - hot, 20.0, 15.0, 5.0];
        file(&format!("more-{side}-{at}.json"), &profile(&mut chance, 5000, shares))
    };
    let sides = ["before", "after"].map(|side| (0..10).map(|at| run(side, at)).collect::<Vec<_>>());
    let mut last = f64::INFINITY;
    for runs in [1, 2, 3, 5, 10] {
        let files: Vec<PathBuf> = sides.iter().flat_map(|side| side[..runs].to_vec()).collect();
        let width = width_of_hot(&files, &[]);
        assert!(width < last, "{runs} runs: {width} wide, and {last} with fewer");
        last = width;
    }
    assert!(last < 0.06, "{last}");
}

/// Returns the width of the interval of `A.hot`.
fn width_of_hot(files: &[PathBuf], arguments: &[&str]) -> f64 {
    let methods = compared(files, arguments);
    let hot = methods.iter().find(|method| method["name"] == "A.hot").unwrap();
    let [least, most] = [0, 1].map(|at| hot["interval"][at].as_f64().unwrap());
    most - least
}

#[test]
fn a_warm_up_that_all_runs_have_makes_no_interval_wider() {
    let mut chance = Chance(11);
    // A.hot has two fifths of each run. It has them evenly, or has nearly all of the first fifth
    // and less later.
    let mut runs = |name: &str, shares: [f64; 2]| -> Vec<PathBuf> {
        let mut run = |at: usize| {
            let stacks: Vec<usize> = (0..5_000)
                .map(|sample| {
                    let share = shares[usize::from(sample >= 1_000)];
                    if chance.next() < share { 1 } else { 2 + sample % 3 }
                })
                .collect();
            file(&format!("warm-{name}-{at}.json"), &of_stacks(&stacks))
        };
        (0..10).map(&mut run).collect()
    };
    let (even, warming) = (runs("even", [0.4, 0.4]), runs("up", [0.9, 0.275]));
    let (even, warming) = (width_of_hot(&even, &[]), width_of_hot(&warming, &[]));
    assert!(warming < 1.3 * even, "{warming} with a warm-up, {even} without");
}

#[test]
fn small_methods_make_the_time_of_large_ones_no_less_sure() {
    let mut chance = Chance(12);
    let mut runs = |name: &str, small: [f64; 2]| -> Vec<PathBuf> {
        let mut run = |at: usize| {
            // The shares of the small methods vary several times from run to run.
            let [map, lambda] = small.map(|share| share * 10.0 * chance.next().powi(3));
            let shares = [50.0, 30.0, 20.0, map, lambda];
            file(&format!("small-{name}-{at}.json"), &profile(&mut chance, 5_000, shares))
        };
        (0..6).map(&mut run).collect()
    };
    let (without, with) = (runs("none", [0.0, 0.0]), runs("some", [0.4, 0.4]));
    let (without, with) = (width_of_hot(&without, &["--time"]), width_of_hot(&with, &["--time"]));
    assert!(with < 3.0 * without, "{with} ms with small methods, {without} without");
}

#[test]
fn time_and_what_was_called_can_be_compared() {
    let mut chance = Chance(3);
    let mut run =
        |at: usize, samples| file(&format!("length-{at}.json"), &profile(&mut chance, samples, EVEN));
    let files: Vec<PathBuf> = (0..10).map(|at| run(at, if at < 5 { 3000 } else { 9000 })).collect();
    assert!(several(&files, &[]).is_empty(), "the shares are the same");
    assert_eq!(several(&files, &["--time"])[0], "A.hot");
    assert_eq!(several(&files, &["--time", "--total"])[0], "main");
    let twice = run_diff(&[files[0].clone(), files[0].clone()], &[]);
    assert!(String::from_utf8_lossy(&twice.stderr).contains("are the same run"), "{twice:?}");
    // Two runs have the same samples, but state that they are different.
    let alike = |at: usize| {
        let mut profile: Value = serde_json::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
        profile["meta"]["vouchProcess"] = json!(format!("{at}"));
        file(&format!("alike-{at}.json"), &profile)
    };
    let two = run_diff(&[alike(1), alike(2)], &[]);
    assert!(two.status.success(), "{two:?}");
    let twice = run_diff(&[alike(1), alike(1)], &[]);
    assert!(String::from_utf8_lossy(&twice.stderr).contains("are the same run"), "{twice:?}");
    let alone = run_diff(&[files[0].clone(), files[5].clone()], &["--time"]);
    assert!(
        !alone.status.success() && String::from_utf8_lossy(&alone.stderr).contains("more than one run"),
        "{alone:?}"
    );
}

/// Makes a run of a process that was recorded for this time, on a clock that was 0 at `start_ms`.
fn recorded(name: &str, at: u64, process: &str, start_ms: f64, [from, to]: [f64; 2]) -> PathBuf {
    let mut profile = profile(&mut Chance(at), 2000, EVEN);
    let meta = &mut profile["meta"];
    meta["vouchProcess"] = json!({ "boot": "b", "pid": process });
    meta["startTime"] = json!(start_ms);
    (meta["profilingStartTime"], meta["profilingEndTime"]) = (json!(from), json!(to));
    file(&format!("recorded-{name}.json"), &profile)
}

#[test]
fn runs_with_a_time_in_common_are_compared_and_it_is_said() {
    let dumped = recorded("dumped", 1, "7", 1e6, [1000.0, 3000.0]);
    let in_common = |other: &PathBuf| {
        let told = text(&[dumped.clone(), other.clone()], &[]);
        told.lines().any(|line| {
            line.starts_with("note: ") && line.contains("have samples of one process from the same time")
        })
    };
    assert!(
        in_common(&recorded("whole", 2, "7", 1e6, [1000.0, 9000.0])),
        "a dump, and what was written later"
    );
    assert!(!in_common(&recorded("next", 3, "7", 1e6, [3050.0, 9000.0])), "one after the other");
    assert!(!in_common(&recorded("other", 4, "8", 1e6, [1000.0, 9000.0])), "two processes at once");
    // A merged profile states for each process when it was recorded.
    let merged = |name: &str, at: u64, process: &str| {
        let path = recorded(name, at, "unknown", 2e6, [0.0, 9000.0]);
        let mut profile: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        profile["meta"].as_object_mut().unwrap().remove("vouchProcess");
        profile["meta"]["vouchProcesses"] = json!([
            { "pid": "9", "identity": { "boot": "b", "pid": "9" }, "spans": [[0.0, 9000.0]] },
            { "pid": "1", "identity": { "boot": "b", "pid": process }, "spans": [[-998_000.0, -990_000.0]] },
            { "pid": "5", "identity": null, "spans": [] },
        ]);
        file(&format!("recorded-{name}.json"), &profile)
    };
    assert!(in_common(&merged("merged", 5, "7")), "it is in what was merged, on another machine's clock");
    assert!(!in_common(&merged("apart", 6, "6")));
}

/// Makes a profile of async-profiler's samples, with this value in its report.
fn audited(key: &str, at: u64, value: &str) -> PathBuf {
    let mut profile = profile(&mut Chance(at), 2000, EVEN);
    let mut report = serde_json::to_value(vouch_report::TrustReport::default()).unwrap();
    (report["recorder"], report[key]) = (json!("async-profiler 4.5"), json!(value));
    profile["meta"]["vouch"] = report;
    file(&format!("{key}-{at}.json"), &profile)
}

#[test]
fn another_clocks_time_is_not_called_cpu_time() {
    let audited = |at: u64, clock: &str| audited("clock", at, clock);
    let (wall, other, cpu) = (audited(1, "wall"), audited(2, "wall"), audited(3, "cpu"));
    let told = text(&[wall.clone(), other.clone()], &[]);
    assert_eq!(told.matches("2000.0 ms of wall-clock time in 2,000 samples").count(), 2, "{told}");
    assert!(!told.contains("CPU") && !told.contains("note: the runs differ"), "{told}");
    let told = text(&[wall, cpu.clone()], &["--before", other.to_str().unwrap()]);
    assert!(
        told.contains("note: the runs differ in what their samples count: wall-clock time and CPU time"),
        "{told}"
    );
    let told = text(&[other.clone(), cpu.clone()], &["--before", audited(4, "cpu").to_str().unwrap()]);
    assert!(told.contains("4000.0 ms of time in 4,000 samples"), "of two kinds it is neither: {told}");
}

#[test]
fn what_counts_no_time_is_compared_by_its_samples() {
    let counted = |at: u64, event: &str| audited("event", at, event);
    let (one, other, faults) =
        (counted(1, "cache-misses"), counted(2, "cache-misses"), counted(3, "page-faults"));
    let told = text(&[one.clone(), other.clone()], &["--all"]);
    assert_eq!(told.matches("2,000 samples of cache-misses").count(), 2, "{told}");
    assert!(told.contains("self samples of") && !told.contains("ms of"), "{told}");
    let told = text(&[one.clone(), faults.clone()], &[]);
    let note = "note: the runs differ in what their samples count: samples of cache-misses and samples of page-faults";
    assert!(told.contains(note), "{told}");
    let told = text(&[one.clone(), audited("clock", 4, "cpu")], &["--all"]);
    assert!(told.contains("self weight of") && told.contains("2000.0 ms of CPU time"), "{told}");
    let refused = run_diff(&[one, other], &["--time", "--before", faults.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--time compares times"), "{refused:?}");
}

#[test]
fn sides_need_not_be_equally_sure() {
    let mut chance = Chance(5);
    let mut wrong = 0;
    for at in 0..20 {
        let mut run = |name: &str, samples| {
            file(&format!("side-{at}-{name}.json"), &profile(&mut chance, samples, EVEN))
        };
        let long: Vec<PathBuf> = (0..5).map(|side| run(&format!("long-{side}"), 9000)).collect();
        let more: Vec<String> = long[1..]
            .iter()
            .flat_map(|file| ["--before".to_owned(), file.to_str().unwrap().to_owned()])
            .collect();
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        wrong += usize::from(!sure(&[long[0].clone(), run("short", 300)], &more).is_empty());
    }
    assert!(wrong < 5, "{wrong} of 20");
}

#[test]
fn a_burst_is_one_event_and_no_sure_change() {
    // All samples of D are from one moment. So its 600 samples are as good as one.
    let stacks: Vec<usize> =
        (0..6000).map(|at| if (3000..3600).contains(&at) { 4 } else { [1, 2, 3][at % 3] }).collect();
    let even: Vec<usize> = (0..6000).map(|at| [1, 2, 3][at % 3]).collect();
    let files = [file("even.json", &of_stacks(&even)), file("burst.json", &of_stacks(&stacks))];
    assert!(sure(&files, &[]).is_empty(), "{}", text(&files, &["--all"]));
}

#[test]
fn other_differences_are_noted() {
    let with = |engine: &str, unwalked: f64, name: &str| {
        let fates = json!({ "signals": 100.0, "proven": 100.0 - unwalked, "plausible": 0, "refuted": 0, "unwalked": unwalked, "outside": 0, "dropped": 0 });
        let mut profile = profile(&mut Chance(unwalked.to_bits()), 2000, EVEN);
        profile["meta"]["vouch"] = serde_json::to_value(vouch_report::TrustReport::default()).unwrap();
        profile["meta"]["vouch"]["engine"] = json!(engine);
        profile["meta"]["vouch"]["options"] =
            if engine == "perf" { json!([]) } else { json!(["names=short"]) };
        profile["meta"]["vouch"]["weight_ms"] = fates;
        profile["shared"]["stringArray"][5] = json!(format!("E$$Lambda{name}.run"));
        file(&format!("with-{engine}.json"), &profile)
    };
    let files = [with("perf", 1.0, "$31"), with("timer", 9.0, "")];
    let told = text(&files, &["--all"]);
    assert!(told.contains("note: the runs differ in the engine: perf and timer"), "{told}");
    assert!(told.contains("note: the runs differ in the options: none and names=short"), "{told}");
    assert!(
        told.contains("1.0 % of the time before and 9.0 % after has no stack, or only a refuted one"),
        "{told}"
    );
    assert!(!told.contains("JDK"), "{told}");
    assert_eq!(
        told.matches("E$$Lambda.run").count(),
        1,
        "numbered otherwise in each run, and the same: {told}"
    );
    assert!(
        run_diff(&[files[0].clone(), file("empty.json", &of_stacks(&[]))], &[])
            .stderr
            .starts_with(b"vouch: ")
    );
}

#[test]
fn a_note_has_the_differing_part_of_long_command_lines() {
    let long = "-Dsome.property=value ".repeat(300);
    let commanded = |name: &str, at: u64, command: &str| {
        let mut profile = profile(&mut Chance(at), 2000, EVEN);
        let mut report = serde_json::to_value(vouch_report::TrustReport::default()).unwrap();
        report["command"] = json!(command);
        profile["meta"]["vouch"] = report;
        file(&format!("command-{name}.json"), &profile)
    };
    let [before, after] = ["A 1", "B 2"].map(|end| format!("Shop {long}{end}"));
    let told = text(&[commanded("a", 1, &before), commanded("b", 2, &after)], &[]);
    assert!(told.contains("note: the runs differ in the command line: … A 1 and … B 2\n"), "{told}");
    let [before, after] = ["A", "B"].map(|start| format!("{start} {long}"));
    let told = text(&[commanded("c", 1, &before), commanded("d", 2, &after)], &[]);
    let note = told.lines().find(|line| line.starts_with("note: ")).unwrap();
    assert!(note.chars().count() < 300 && note.ends_with('…') && note.contains(": A -Dsome"), "{note}");
}

#[test]
fn large_changes_that_are_uncertain_are_counted() {
    let mut chance = Chance(5);
    let mut run =
        |name: &str, shares| file(&format!("uncertain-{name}.json"), &profile(&mut chance, 2000, shares));
    // With one run of each side, 5 points are uncertain and 40 are not.
    let files = [run("a", [40.0, 20.0, 20.0, 15.0, 5.0]), run("b", [45.0, 15.0, 20.0, 15.0, 5.0])];
    let told = text(&files, &[]);
    assert!(told.contains("\n2 of 2 changes above 3 points are uncertain (--all lists them)\n"), "{told}");
    let files = [run("c", [90.0, 5.0, 2.0, 2.0, 1.0]), run("d", [5.0, 90.0, 2.0, 2.0, 1.0])];
    let told = text(&files, &[]);
    assert!(!told.contains("are uncertain"), "{told}");
}
