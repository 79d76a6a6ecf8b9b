//! The pictures that `vouch flame` and `vouch diff --picture` draw: which frames are in them, and
//! how wide.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::common;

/// Makes a profile in which `main` calls `hot`, at two lines, and `cold`. The names contain
/// characters that a picture must not interpret.
fn profile(weights: [u32; 3]) -> Value {
    json!({
        "meta": { "interval": 2.0, "vouch": {}, "categories": [] },
        "shared": {
            "stringArray": ["main", "ho;t<b>", "cold"],
            "funcTable": { "name": [0, 1, 2] },
            "frameTable": { "func": [0, 1, 1, 2], "category": [null, null, null, null] },
            "stackTable": { "frame": [0, 1, 2, 3], "prefixOffset": [0, 1, 2, 3] },
        },
        "threads": [
            { "name": "one", "samples": { "stack": [1, 2], "weight": [weights[0], weights[1]] } },
            { "name": "two", "samples": { "stack": [3], "weight": [weights[2]] } },
        ],
    })
}

/// Writes a profile, and removes its pictures of an earlier run of the tests.
fn file(name: &str, profile: &Value) -> PathBuf {
    let path = common::file("flame", name, profile.to_string());
    let _ = fs::remove_file(path.with_extension("flame.svg"));
    let _ = fs::remove_file(path.with_extension("flame-2.svg"));
    path
}

fn vouch(arguments: &[&str], files: &[&PathBuf]) -> Output {
    let (verb, options) = arguments.split_first().unwrap();
    Command::new(env!("CARGO_BIN_EXE_vouch")).arg(verb).args(files).args(options).output().unwrap()
}

/// Returns the title of each frame in a picture, such as `main (80 ms, 100%)`.
fn titles(picture: &PathBuf) -> Vec<String> {
    let text = fs::read_to_string(picture).unwrap();
    let titles = text.split("<title>").skip(1).map(|part| part.split("</title>").next().unwrap().to_owned());
    titles.collect()
}

#[test]
fn a_picture_has_each_method_with_its_time() {
    let path = file("a.json", &profile([10, 20, 10]));
    let output = vouch(&["flame"], &[&path]);
    assert!(output.status.success(), "{output:?}");
    let picture = path.with_extension("flame.svg");
    let all = titles(&picture);
    for expected in ["main (80 ms, 100", "ho:t&lt;b&gt; (60 ms, 75", "cold (20 ms, 25"] {
        assert_eq!(all.iter().filter(|title| title.starts_with(expected)).count(), 1, "{expected}: {all:?}");
    }
    let first = fs::read(&picture).unwrap();
    vouch(&["flame", "--thread", "two"], &[&path]);
    let all = titles(&path.with_extension("flame-2.svg"));
    assert!(
        all.iter().any(|title| title.starts_with("cold (20 ms, 100"))
            && !all.iter().any(|title| title.contains("ho:t")),
        "{all:?}"
    );
    vouch(&["flame", "--out", picture.to_str().unwrap()], &[&path]);
    assert_eq!(fs::read(&picture).unwrap(), first, "the same run has the same picture");
}

#[test]
fn deep_stacks_and_narrow_ones_are_their_callers() {
    let depth = 30_000;
    let with = |first: &[usize], then: usize| [first, &vec![then; depth + 2 - first.len()]].concat();
    let deep = json!({
        "meta": { "interval": 1.0, "vouch": {}, "categories": [] },
        "shared": {
            "stringArray": ["main", "recurse", "narrow"],
            "funcTable": { "name": [0, 1, 2] },
            "frameTable": { "func": [0, 1, 2], "category": [null, null, null] },
            "stackTable": {
                "frame": with(&[0, 2], 1),
                "prefixOffset": with(&[0, 1, 2], 1),
            },
        },
        "threads": [{ "name": "one", "samples": { "stack": [1, depth + 1], "weight": [1, 99_999] } }],
    });
    let path = file("deep.json", &deep);
    assert!(vouch(&["flame"], &[&path]).status.success());
    let all = titles(&path.with_extension("flame.svg"));
    assert!(
        all.len() < 500 && all.iter().any(|title| title.starts_with("main (100,000 ms, 100")),
        "{}",
        all.len()
    );
    assert!(!all.iter().any(|title| title.starts_with("narrow")));
    // The folded stacks are cut at the same depth as the agent's.
    let text = path.with_extension("folded");
    assert!(vouch(&["flame", "--out", text.to_str().unwrap()], &[&path]).status.success());
    let text = fs::read_to_string(&text).unwrap();
    let deepest = text.lines().map(|line| line.split(';').count()).max();
    assert_eq!((deepest, text.matches("[frames left out]").count()), (Some(513), 1));
    assert!(text.contains("main;recurse;") && text.contains("main;narrow 1"), "both ends are there");
}

#[test]
fn a_difference_is_drawn_with_what_gained_and_lost() {
    let (before, after) =
        (file("before.json", &profile([10, 10, 20])), file("after.json", &profile([20, 10, 10])));
    let picture = before.with_file_name("d.svg");
    let output = vouch(&["diff", "--picture", picture.to_str().unwrap()], &[&before, &after]);
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("wrote "),
        "{output:?}"
    );
    let all = titles(&picture);
    assert!(all.iter().any(|title| title.starts_with("ho:t") && title.contains("+25")), "{all:?}");
    assert!(all.iter().any(|title| title.starts_with("cold") && title.contains("-25")), "{all:?}");
    for arguments in [["flame", "--out", "a.png"], ["flame", "--out", "/nowhere/at/all/a.svg"]] {
        let output = vouch(&arguments, &[&before]);
        assert!(output.status.code() == Some(1) && output.stderr.starts_with(b"vouch: "), "{output:?}");
    }
}

/// Makes samples of `main` and its callees. The contexts are: moe with an action, larry without
/// one, none, and the VM's own.
fn with_contexts() -> Value {
    json!({
        "meta": {
            "interval": 2.0, "vouch": {}, "categories": [{ "name": "Application" }, { "name": "VM" }],
            "vouchContexts": {
                "kinds": [
                    { "class": 3, "label": 3, "fields": [4], "fieldLabels": [4] },
                    { "class": 5, "label": 5, "fields": [6], "fieldLabels": [6] },
                ],
                "length": 3, "outer": [null, 0, null], "kind": [0, 1, 0], "values": [[7], [8], [9]],
            },
        },
        "shared": {
            "stringArray": ["main", "serve", "[GC]", "Request", "user", "Step", "action", "moe", "st;ore", "larry"],
            "funcTable": { "name": [0, 1, 2] },
            "frameTable": { "func": [0, 1, 2], "category": [0, 0, 1] },
            "stackTable": { "frame": [0, 1, 2], "prefixOffset": [0, 1, 0] },
        },
        "threads": [
            { "name": "one", "samples": { "stack": [1, 1, 0, 0], "weight": [1, 2, 3, 4], "vouchContext": [1, 2, 0, null] } },
            { "name": "collector", "samples": { "stack": [2], "weight": [5], "vouchContext": [null] } },
        ],
    })
}

/// Returns the lines that `vouch flame --out ….folded` writes.
fn folded(name: &str, arguments: &[&str]) -> Vec<String> {
    let path = file(&format!("{name}.json"), &with_contexts());
    let out = path.with_extension("folded");
    let output = vouch(&[&["flame", "--out", out.to_str().unwrap()], arguments].concat(), &[&path]);
    assert!(output.status.success(), "{output:?}");
    let mut lines: Vec<String> = fs::read_to_string(&out).unwrap().lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn stacks_stand_on_what_the_program_said() {
    assert_eq!(folded("plain", &[]), ["[GC] 5", "main 7", "main;serve 3"]);
    assert_eq!(
        folded("by", &["--by", "user", "--by", "action"]),
        [
            "[no user];[no action];main 4",
            "[the VM itself];[GC] 5",
            "user=larry;[no action];main;serve 2",
            "user=moe;[no action];main 3",
            "user=moe;action=st:ore;main;serve 1",
        ]
    );
    assert_eq!(
        folded("where", &["--where", "user=moe", "--by", "thread"]),
        ["thread=one;main 3", "thread=one;main;serve 1"]
    );
    assert_eq!(
        folded("inverted", &["--by", "user", "--inverted", "--thread", "one"]),
        ["[no user];main 4", "user=larry;serve;main 2", "user=moe;main 3", "user=moe;serve;main 1"]
    );
    let path = file("picture.json", &with_contexts());
    let output = vouch(&["flame", "--by", "user", "--where", "action=st;ore"], &[&path]);
    assert!(output.status.success(), "{output:?}");
    let picture = path.with_extension("flame.svg");
    let all = titles(&picture);
    for expected in ["user=moe (2 ms, 100", "main (2 ms, 100", "serve (2 ms, 100"] {
        assert_eq!(all.iter().filter(|title| title.starts_with(expected)).count(), 1, "{expected}: {all:?}");
    }
    assert!(
        fs::read_to_string(&picture).unwrap().contains("picture.json: action=st;ore"),
        "what it shows is said"
    );
}

#[test]
fn an_unknown_field_is_refused() {
    let path = file("refused.json", &with_contexts());
    for (arguments, why) in [
        (["--by", "file"], "no context has a field file: the fields are Request.user, Step.action"),
        (["--where", "user=shemp"], "no sample has such a context"),
        (["--thread", "two"], "no thread name matches: the first threads are one, collector"),
    ] {
        let output = vouch(&[&["flame"], &arguments[..]].concat(), &[&path]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && told.contains(why), "{arguments:?}: {told}");
    }
}

#[test]
fn a_page_is_refused_with_what_makes_one() {
    let refused = vouch(&["flame", "--out", "page.html"], &[&file("page.json", &profile([6, 3, 1]))]);
    let why = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(1) && why.contains("vouch convert FILE.vouch --out page.html"),
        "{why}"
    );
}
