//! Tests of `vouch top` for good and bad files, with the real binary.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::common;

/// The strings of the profile: names of functions, followed by values of contexts.
const STRINGS: [&str; 11] =
    ["main", "serve", "again", "[GC]", "Request", "user", "moe", "larry", "Step", "name", "r\u{1b}[31mead"];

/// Makes a profile in which `main` calls `serve`, which calls `again`, which calls itself. It also
/// has a collector's stack. The contexts are moe's, a step inside of it, and larry's.
fn profile() -> Value {
    let thread = |stack: Value, weight: Value, context: Value| json!({ "name": "t", "samples": { "length": 0, "stack": stack, "weight": weight, "vouchContext": context } });
    json!({
        "meta": {
            "interval": 2.0,
            "vouch": {},
            "categories": [{ "name": "Application" }, { "name": "VM" }],
            "vouchContexts": {
                "kinds": [
                    { "class": 4, "label": 4, "fields": [5], "fieldLabels": [5] },
                    { "class": 8, "label": 8, "fields": [9], "fieldLabels": [9] },
                ],
                "length": 3, "outer": [null, 0, null], "kind": [0, 1, 0], "values": [[6], [10], [7]],
            },
        },
        "shared": {
            "stringArray": STRINGS,
            "funcTable": { "name": [0, 1, 2, 3] },
            "frameTable": { "func": [0, 1, 2, 3], "category": [0, 0, 0, 1] },
            // The frames are: main, serve, again, again, again's caller serve, and the collector.
            "stackTable": { "frame": [0, 1, 2, 2, 1, 3], "prefixOffset": [0, 1, 1, 1, 1, 0] },
        },
        "threads": [
            thread(json!([1, 3, 2, 4, null]), json!([1, 2, 3, 4, 0]), json!([0, 1, 2, null, null])),
            thread(json!([5, 5]), json!(null), json!(null)),
        ],
    })
}

fn file(name: &str, profile: &Value) -> PathBuf {
    common::file("top", name, profile.to_string())
}

fn top(path: &PathBuf, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vouch")).arg("top").arg(path).args(arguments).output().unwrap()
}

fn good(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    // Only numbers and words are compared, one space between them. Another test checks the note
    // about few samples.
    text.lines()
        .filter(|line| !line.starts_with("note: "))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

fn refused(output: &Output) -> String {
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{output:?}");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(text.lines().count() == 1 && text.starts_with("vouch: "), "{text}");
    text
}

#[test]
fn a_tree_has_each_method_below_its_caller() {
    let mut profile = profile();
    // main calls serve, which calls again and itself; again calls itself.
    profile["shared"]["stackTable"]["prefixOffset"][4] = json!(3);
    let path = file("tree.json", &profile);
    let rows = |arguments: &[&str]| {
        let lines = good(&top(&path, arguments));
        lines.into_iter().skip_while(|line| !line.starts_with("total share")).skip(1).collect::<Vec<_>>()
    };
    let dash = "A dash begins a branch. A line without one is called by the line above it.";
    let all = [
        "20.0 ms 83.3 % - main",
        "20.0 ms 83.3 % 8.3 % serve",
        "10.0 ms 41.7 % 25.0 % - again",
        "4.0 ms 16.7 % 16.7 % again",
        "8.0 ms 33.3 % 33.3 % - serve",
        "4.0 ms 16.7 % 16.7 % - [GC]",
    ];
    assert_eq!(rows(&["--tree"]), [&all[..], &[dash]].concat());
    // A caller with one callee in the list begins no branch.
    assert_eq!(
        rows(&["--tree", "--rows", "3"]),
        [
            "20.0 ms 83.3 % - main",
            all[1],
            "10.0 ms 41.7 % 25.0 % again",
            dash,
            "3 more rows: --rows shows more"
        ]
    );
    let output = top(&path, &["--tree", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let depths: Vec<_> = json["rows"].as_array().unwrap().iter().map(|row| row["depth"].clone()).collect();
    assert_eq!(json!(depths), json!([0, 1, 2, 3, 2, 0]), "{json:#}");
    assert_eq!(
        json["rows"][1],
        json!({ "name": "serve", "depth": 1, "total_ms": 20.0, "total_share": 10.0 / 12.0, "self_ms": 2.0, "self_share": 1.0 / 12.0 })
    );
    assert_eq!(top(&path, &["--tree", "--sort", "total"]).status.code(), Some(2));
}

/// Puts `again` on top twice: once proven, once as a guess.
fn make_again_uncertain(profile: &mut Value) {
    profile["meta"]["categories"][0]["subcategories"] =
        json!(["Other", "proven", "plausible, top method uncertain"]);
    let frames = &mut profile["shared"]["frameTable"];
    frames["func"] = json!([0, 1, 2, 3, 2]);
    frames["category"] = json!([0, 0, 0, 1, 0]);
    frames["subcategory"] = json!([0, 0, 1, 0, 2]);
    profile["shared"]["stackTable"]["frame"] = json!([0, 1, 2, 4, 1, 3]);
}

#[test]
fn time_with_a_guessed_top_method_is_beside_self_time() {
    let mut profile = profile();
    make_again_uncertain(&mut profile);
    let path = file("uncertain", &profile);
    let lines = good(&top(&path, &[]));
    assert!(lines.contains(&"self share uncertain total share".to_owned()), "{lines:?}");
    assert!(lines.contains(&"10.0 ms 41.7 % 40.0 % 18.0 ms 75.0 % again".to_owned()), "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("uncertain: the part of self")), "{lines:?}");
    let told: Value = serde_json::from_slice(&top(&path, &["--json"]).stdout).unwrap();
    let again = told["rows"].as_array().unwrap().iter().find(|row| row["name"] == "again").unwrap();
    assert_eq!(again["self_uncertain_ms"], 4.0);
}

#[test]
fn the_top_method_of_a_refuted_stack_is_uncertain() {
    let mut within = profile();
    make_again_uncertain(&mut within);
    // With `refuted=keep` a leaf has the subcategory, and by default frames have the category.
    within["meta"]["categories"][0]["subcategories"] = json!(["Other", "proven", "refuted"]);
    let mut apart = profile();
    make_again_uncertain(&mut apart);
    let refuted = json!({ "name": "Refuted", "color": "red", "subcategories": ["Other"] });
    apart["meta"]["categories"].as_array_mut().unwrap().push(refuted);
    apart["shared"]["frameTable"]["category"] = json!([0, 0, 0, 1, 2]);
    apart["shared"]["frameTable"]["subcategory"] = json!([0, 0, 1, 0, 0]);
    for (name, profile) in [("refuted-within", within), ("refuted-apart", apart)] {
        let lines = good(&top(&file(name, &profile), &[]));
        assert!(
            lines.contains(&"10.0 ms 41.7 % 40.0 % 18.0 ms 75.0 % again".to_owned()),
            "{name}: {lines:?}"
        );
    }
}

#[test]
fn methods_are_listed_by_the_time_they_were_on_top_and_counted_once() {
    let rows = good(&top(&file("methods.json", &profile()), &[]));
    assert_eq!(
        rows,
        [
            "24.0 ms of CPU time in 6 samples",
            "self share total share",
            "10.0 ms 41.7 % 20.0 ms 83.3 % serve",
            "10.0 ms 41.7 % 18.0 ms 75.0 % again",
            "4.0 ms 16.7 % 4.0 ms 16.7 % [GC]",
        ]
    );
    let rows = good(&top(&file("methods.json", &profile()), &["--rows", "1"]));
    assert_eq!(rows.last().unwrap(), "2 more methods: --rows shows more");
}

#[test]
fn time_goes_by_what_the_innermost_context_says() {
    let path = file("by.json", &profile());
    let rows = good(&top(&path, &["--by", "user"]));
    let names: Vec<&str> = rows.iter().skip(2).map(|row| row.rsplit_once(" %").unwrap().1).collect();
    assert_eq!(rows[0], "24.0 ms of CPU time in 6 samples");
    // Both have six samples, so they are sorted by name.
    assert_eq!((&names[0], &names[1]), (&" 1 larry", &" 2 moe"));
    assert!(rows[4].ends_with("[in no such context]") && rows[5].ends_with("[the VM itself]"), "{rows:?}");
    assert!(rows[2].starts_with("6.0 ms 25.0 %") && rows[5].starts_with("4.0 ms 16.7 %"), "{rows:?}");
    let rows = good(&top(&path, &["--by", "Request.user", "--rows", "1"]));
    assert!(rows[3].ends_with("[1 others: --rows shows more]"), "{rows:?}");
}

#[test]
fn samples_are_kept_by_what_all_contexts_around_them_say() {
    let path = file("where.json", &profile());
    let rows = good(&top(&path, &["--where", "user=moe"]));
    assert_eq!(rows[0], "6.0 ms of CPU time in 2 samples");
    let rows = good(&top(&path, &["--where", "user=moe", "--by", "name"]));
    // Control characters that a terminal would execute are not printed.
    assert!(rows[2].starts_with("4.0 ms 66.7 %") && rows[2].ends_with("r\u{fffd}[31mead"), "{rows:?}");
    assert!(refused(&top(&path, &["--where", "user=moe", "--where", "user=larry"])).contains("no sample"));
    assert!(refused(&top(&path, &["--by", "file"])).contains("the fields are Request.user, Step.name"));
    assert_eq!(top(&path, &["--where", "user"]).status.code(), Some(2));
}

#[test]
fn a_file_that_refers_to_what_is_not_in_it_is_refused() {
    let wrong: [fn(&mut Value); 8] = [
        |profile| profile["shared"]["funcTable"]["name"][0] = json!(99),
        |profile| profile["shared"]["frameTable"]["func"][1] = json!(99),
        |profile| profile["shared"]["stackTable"]["prefixOffset"][1] = json!(7),
        |profile| profile["threads"][0]["samples"]["stack"][0] = json!(99),
        |profile| profile["threads"][0]["samples"]["weight"] = json!([1]),
        |profile| profile["threads"][0]["samples"]["vouchContext"][0] = json!(9),
        |profile| profile["meta"]["vouchContexts"]["outer"][0] = json!(0),
        |profile| profile["meta"]["vouchContexts"]["values"][0] = json!([]),
    ];
    for (at, wrong) in wrong.into_iter().enumerate() {
        let mut profile = profile();
        wrong(&mut profile);
        let said = refused(&top(&file(&format!("wrong-{at}.json"), &profile), &["--by", "user"]));
        assert!(said.contains("refers to rows that it does not have"), "{at}: {said}");
    }
}

#[test]
fn a_file_without_profile_or_contexts_is_refused() {
    let mut other = profile();
    other["meta"].as_object_mut().unwrap().remove("vouch");
    for (name, value) in
        [("other.json", other), ("list.json", json!([])), ("report.json", json!({ "vouch": "0" }))]
    {
        let said = refused(&top(&file(name, &value), &[]));
        assert!(said.contains("is not a profile (out=…) by Vouch"), "{said}");
    }
    let mut without = profile();
    without["meta"].as_object_mut().unwrap().remove("vouchContexts");
    for thread in without["threads"].as_array_mut().unwrap() {
        thread["samples"].as_object_mut().unwrap().remove("vouchContext");
    }
    let path = file("without.json", &without);
    assert!(refused(&top(&path, &["--by", "user"])).contains("this profile has no contexts"));
    assert_eq!(good(&top(&path, &[])).len(), 5);
}

#[test]
fn threads_lines_and_totals_can_be_asked_for() {
    let mut profile = profile();
    profile["threads"][1]["name"] = json!("GC Thread#0");
    profile["shared"]["frameTable"]["line"] = json!([null, 7, 8, null]);
    // The frames are main, and serve and again at two lines of one method.
    profile["shared"]["frameTable"]["func"] = json!([0, 1, 1, 3]);
    let path = file("threads.json", &profile);
    assert_eq!(
        good(&top(&path, &["--by", "thread"])),
        [
            "24.0 ms of CPU time in 6 samples",
            "CPU time share 95 % interval samples thread",
            "20.0 ms 83.3 % 38.4 to 97.6 % 4 t",
            "4.0 ms 16.7 % 2.4 to 61.6 % 2 GC Thread#0",
        ]
    );
    let of_thread = good(&top(&path, &["--thread", "^GC"]));
    assert_eq!(of_thread[0], "4.0 ms of CPU time in 2 samples");
    assert_eq!(of_thread[2..], ["4.0 ms 100.0 % 4.0 ms 100.0 % [GC]"]);
    assert!(
        refused(&top(&path, &["--thread", "reaper"]))
            .contains("no thread name matches: the first threads are t, GC Thread#0")
    );
    assert_eq!(
        good(&top(&path, &["--lines", "--thread", "t$"]))[2..],
        ["10.0 ms 50.0 % 20.0 ms 100.0 % serve:7", "10.0 ms 50.0 % 18.0 ms 90.0 % serve:8"]
    );
    let by_total = good(&top(&path, &["--sort", "total"]));
    assert_eq!(by_total[3], "0.0 ms 0.0 % 20.0 ms 83.3 % main", "on top of nothing: {by_total:?}");
}

#[test]
fn a_machine_gets_the_same_figures() {
    let path = file("machine.json", &profile());
    let told = |arguments: &[&str]| -> Value {
        let output = top(&path, &[&["--json"], arguments].concat());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let methods = told(&["--rows", "1"]);
    assert_eq!((&methods["cpu_ms"], &methods["samples"]), (&json!(24.0), &json!(6)));
    assert_eq!(methods["rows"].as_array().unwrap().len(), 1);
    assert_eq!(
        methods["rows_left_out"],
        json!(told(&["--rows", "99"])["rows"].as_array().unwrap().len() - 1)
    );
    let serve = &methods["rows"][0];
    assert_eq!(
        (&serve["name"], &serve["self_ms"], &serve["total_ms"]),
        (&json!("serve"), &json!(10.0), &json!(20.0))
    );
    let users = told(&["--by", "user"]);
    assert_eq!((&users["rows"][1]["name"], &users["rows"][1]["samples"]), (&json!("moe"), &json!(2)));
    assert_eq!(users["rows"][0]["interval"].as_array().unwrap().len(), 2);
    // All time is in some row, however few rows are printed.
    for rows in ["0", "1", "99"] {
        let users = told(&["--by", "user", "--rows", rows]);
        let named =
            users["rows"].as_array().unwrap().iter().map(|row| row["ms"].as_f64().unwrap()).sum::<f64>();
        let rest = ["left_out", "in_none", "of_the_vm"].map(|key| users[key]["ms"].as_f64().unwrap());
        assert!((named + rest.iter().sum::<f64>() - 24.0).abs() < 1e-6, "{users}");
        assert_eq!(users["rows_left_out"] == json!(0), rest[0] == 0.0, "{users}");
    }
}

#[test]
fn threads_of_one_name_have_their_numbers() {
    let mut profile = profile();
    let mut other = profile["threads"][0].clone();
    other["tid"] = json!(4711);
    profile["threads"].as_array_mut().unwrap().push(other);
    let told = good(&top(&file("alike.json", &profile), &["--by", "thread"]));
    assert!(told.iter().any(|row| row.ends_with("t (4711)")), "{told:?}");
}

#[test]
fn of_few_samples_it_is_said_how_little_they_say() {
    let told = |samples: usize| {
        let mut profile = profile();
        profile["threads"][1]["name"] = json!("lone");
        profile["threads"][1]["samples"]["stack"] = json!(vec![5; samples]);
        // The samples of the other thread are filtered out.
        let output = top(&file(&format!("few-{samples}.json"), &profile), &["--thread", "lone"]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let few = told(6);
    let line = "note: only 6 samples, so shares are ± 31 points";
    assert_eq!(few.lines().nth(1), Some(line), "{few}");
    assert!(told(29).contains("note: only 29 samples") && !told(30).contains("note: "));
}

#[test]
fn time_is_called_what_its_recorder_sampled_by() {
    let report = |clock: &str| {
        let mut profile = profile();
        let mut report = serde_json::to_value(vouch_report::TrustReport::default()).unwrap();
        report["recorder"] = json!("async-profiler 4.5");
        if !clock.is_empty() {
            report["clock"] = json!(clock);
        }
        profile["meta"]["vouch"] = report;
        file(&format!("clock-{clock}.json"), &profile)
    };
    for (clock, time, column, key) in [
        ("wall", "wall-clock time", "time", "ms"),
        ("cpu", "CPU time", "CPU time", "cpu_ms"),
        ("", "time", "time", "ms"),
    ] {
        let path = report(clock);
        assert_eq!(good(&top(&path, &[]))[0], format!("24.0 ms of {time} in 6 samples"));
        assert_eq!(
            good(&top(&path, &["--by", "user"]))[2],
            format!("{column} share 95 % interval samples user")
        );
        let told: Value = serde_json::from_slice(&top(&path, &["--json"]).stdout).unwrap();
        assert_eq!((&told[key], &told["time"]), (&json!(24.0), &json!(time)), "{told}");
        assert_eq!(told.get("cpu_ms").is_some(), key == "cpu_ms", "{told}");
    }
}

#[test]
fn samples_without_time_have_no_unit_of_time() {
    let mut profile = profile();
    let mut report = serde_json::to_value(vouch_report::TrustReport::default()).unwrap();
    (report["recorder"], report["event"]) = (json!("async-profiler 4.5"), json!("cache-misses"));
    profile["meta"]["vouch"] = report;
    let path = file("counted.json", &profile);
    for arguments in [&[] as &[&str], &["--by", "user"]] {
        let rows = good(&top(&path, arguments));
        assert_eq!(rows[0], "6 samples of cache-misses, and of no time");
        assert!(!rows.iter().any(|row| row.contains(" ms")), "{rows:?}");
    }
    assert!(good(&top(&path, &[])).contains(&"5 41.7 % 10 83.3 % serve".to_owned()));
    for (by, key) in [("method", "self_ms"), ("user", "ms")] {
        let arguments: &[&str] = if by == "user" { &["--json", "--by", by] } else { &["--json"] };
        let told: Value = serde_json::from_slice(&top(&path, arguments).stdout).unwrap();
        let (all, row) = (told.get("ms"), told["rows"][0].get(key));
        assert_eq!((all, row), (Some(&Value::Null), Some(&Value::Null)), "{told}");
    }
    // Some keys are understood even if this version cannot read the report.
    profile["meta"]["vouch"] = json!({ "recorder": "async-profiler 4.5", "event": "cache-misses" });
    assert_eq!(good(&top(&file("counted-other.json", &profile), &[]))[0], "6 samples, and of no time");
}

#[test]
fn what_is_refused_shows_which_letters_it_has() {
    let mut profile = profile();
    profile["threads"][1]["name"] = json!("wor\u{1b}ker\n");
    let said = refused(&top(&file("letters.json", &profile), &["--thread", "reaper"]));
    assert!(said.contains(r"the first threads are t, wor\u{1b}ker\n"), "{said}");
}

#[test]
fn how_far_it_holds_stands_above_it() {
    let mut profile = profile();
    let mut report = serde_json::to_value(vouch_report::TrustReport::default()).unwrap();
    let fates = json!({ "signals": 4, "proven": 3, "plausible": 0, "refuted": 1, "unwalked": 0, "outside": 0, "dropped": 0 });
    (report["samples"], report["weight_ms"]) = (fates.clone(), fates);
    profile["meta"]["vouch"] = report;
    let told = good(&top(&file("trust.json", &profile), &[]));
    assert_eq!(told[1], "trust in the stacks: proven 3 (75.0 %) + refuted 1 (25.0 %)");
}

#[test]
fn unknown_virtual_threads_are_noted_beside_shares_by_their_names() {
    let mut profile = profile();
    let strings = profile["shared"]["stringArray"].as_array_mut().unwrap();
    strings.extend(["java.lang.VirtualThread", "VirtualThread", "id", "[unknown]"].map(Value::from));
    let kinds = &mut profile["meta"]["vouchContexts"]["kinds"];
    kinds[1] = json!({ "class": 11, "label": 12, "fields": [9, 13], "fieldLabels": [9, 13] });
    profile["meta"]["vouchContexts"]["kind"] = json!([0, 1, 1]);
    profile["meta"]["vouchContexts"]["values"] = json!([[6], [10, 8], [14, 14]]);
    let path = file("unknown.json", &profile);
    let note = |arguments: &[&str]| {
        let output = top(&path, arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().find(|line| line.contains("biased")).map(str::to_owned)
    };
    let expected =
        "note: VirtualThread.name is unknown in 1 samples, 60.0 % of these: the shares of others are biased";
    assert_eq!(note(&["--by", "VirtualThread.name"]).as_deref(), Some(expected));
    assert!(note(&["--by", "VirtualThread.name", "--json"]).is_some_and(|line| line.contains("\"note\"")));
    assert_eq!(note(&["--by", "user"]), None);
}

/// Adds a report to the profile. If the process was measured, it ran for 26 ms: 24 in samples, and
/// 1.5 in Vouch's own threads.
fn of_process(is_measured: bool, mut profile: Value) -> Value {
    profile["threads"][1]["name"] = json!("GC Thread#0");
    let mut report = serde_json::to_value(vouch_report::TrustReport::default()).unwrap();
    if is_measured {
        (report["cpu_ms"], report["agent_cpu_ms"]) = (json!(26.0), json!(1.5));
        report["handler_ns"] = json!({ "p50": 1, "p90": 1, "p99": 1, "max": 1, "total_ms": 2.4 });
    }
    profile["meta"]["vouch"] = report;
    profile
}

#[test]
fn all_time_of_the_process_is_in_the_head_and_vouchs_own_in_a_row() {
    let mut uncertain = profile();
    make_again_uncertain(&mut uncertain);
    let files = |name: &str, profile: &Value| {
        [true, false].map(|is| file(&format!("{name}-{is}.json"), &of_process(is, profile.clone())))
    };
    let (certain, uncertain) = (files("process", &profile()), files("process-uncertain", &uncertain));
    let text = |path, arguments: &[&str]| {
        let output = top(path, arguments);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let head = [
        "process CPU time 26.0 ms: 24.0 ms sampled, 1.5 ms (5.8 %) [Vouch], 0.5 ms (1.9 %) not sampled",
        "Vouch's signal handler: 2.4 ms (10.0 %) of the sampled time, in the rows of what it interrupted",
    ];
    for (files, arguments, name) in [
        (&certain, &[] as &[&str], "[GC]"),
        (&uncertain, &[], "[GC]"),
        (&certain, &["--sort", "total"], "[GC]"),
        (&certain, &["--lines", "--rows", "1"], "serve"),
        (&certain, &["--by", "thread"], "GC Thread#0"),
        (&certain, &["--by", "user", "--rows", "0"], "[the VM itself]"),
    ] {
        let text = files.each_ref().map(|file| text(file, arguments));
        let (added, others): (Vec<&str>, Vec<&str>) =
            text[0].lines().partition(|line| head.contains(line) || line.ends_with("[Vouch]"));
        assert_eq!(others, text[1].lines().collect::<Vec<_>>(), "every other row is as it was");
        assert_eq!(added[..2], head);
        let row = added[2].split_whitespace().collect::<Vec<_>>();
        assert_eq!((row, added.len()), (vec!["1.5", "ms", "[Vouch]"], 3));
        let above = others.iter().find(|line| line.ends_with(name)).unwrap();
        assert_eq!(added[2].find("[Vouch]"), above.find(name), "names are in one column: {}", text[0]);
    }
    // A filter selects samples, and Vouch's own time has none. So the row is left out.
    for part in [["--thread", "^t$"], ["--where", "user=moe"]] {
        assert_eq!(text(&certain[0], &part), text(&certain[1], &part));
    }
}

#[test]
fn a_machine_gets_the_time_of_the_process_beside_the_rows() {
    let table = |path, arguments: &[&str]| -> Value {
        serde_json::from_slice(&top(path, &[&["--json"], arguments].concat()).stdout).unwrap()
    };
    let with = file("process-machine.json", &of_process(true, profile()));
    let without = file("no-process-machine.json", &of_process(false, profile()));
    for arguments in [&[] as &[&str], &["--by", "thread"]] {
        let mut measured = table(&with, arguments);
        assert_eq!(
            measured.as_object_mut().unwrap().remove("process"),
            Some(json!({
                "cpu_ms": 26.0, "sampled_ms": 24.0, "vouch_ms": 1.5, "not_sampled_ms": 0.5, "handler_ms": 2.4,
            }))
        );
        assert_eq!(measured, table(&without, arguments));
    }
    assert_eq!(table(&with, &["--thread", "^t$"]).get("process"), None);
}
