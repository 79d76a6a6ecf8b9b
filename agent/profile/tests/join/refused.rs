//! Tests of profiles that cannot be joined. The error names the file.

use serde_json::{Value, json};
use vouch_profile::document::Part;
use vouch_profile::join::{Source, join};
use vouch_recording::{Category, no_stack};

use crate::common::{Process, START_NS, proven, rows, value};

#[test]
fn another_profilers_recording_is_refused() {
    let process = |file, pid, recorder: Option<&str>| {
        let mut source = Process::new(file, pid).thread("main", u64::from(pid), &[(&["main"], 2)]).source();
        if let Some(recorder) = recorder {
            let mut meta: Value = source.document.get("meta").unwrap();
            meta["vouch"]["recorder"] = recorder.into();
            source.document.set("meta", &meta).unwrap();
        }
        source
    };
    assert!(join(vec![process("a", 1, None), process("b", 2, None)]).is_ok());
    let why =
        join(vec![process("a", 1, None), process("b", 2, Some("Flight Recorder"))]).unwrap_err().to_string();
    assert!(why.starts_with("b: its samples are by Flight Recorder"), "{why}");
}

#[test]
fn a_time_between_two_joined_times_of_a_process_is_refused() {
    let minute = |file, from_ms| {
        Process { from_ms, ..Process::new(file, 10) }.thread("main", 10, &[(&["main"], 2)]).source()
    };
    let (first_and_third, _) = join(vec![minute("1", 0), minute("3", 4_000)]).unwrap();
    let merged = Source { file: "1 and 3".to_owned(), document: first_and_third };
    let why = join(vec![merged, minute("2", 2_000)]).unwrap_err().to_string();
    assert!(why.contains("merge all original files at once"), "{why}");
}

#[test]
fn an_invalid_reference_or_another_version_is_an_error_with_the_file() {
    let good = || Process::new("good.json", 1).thread("main", 1, &[(&["main"], 1)]).source();
    let bad = |from: &str, to: &str| {
        let text = serde_json::to_string(
            &Process::new("bad.json", 2).thread("main", 2, &[(&["main"], 1)]).source().document,
        );
        let text = text.unwrap();
        assert!(text.contains(from), "{text}");
        Source {
            file: "bad.json".to_owned(),
            document: serde_json::from_str(&text.replace(from, to)).unwrap(),
        }
    };
    for (from, to, says) in [
        (r#""func":[0]"#, r#""func":[9]"#, "no row 9 in funcTable"),
        (r#""prefixOffset":[0]"#, r#""prefixOffset":[1]"#, "before the first"),
        (r#""frame":[0]"#, r#""frame":[0,0]"#, "different lengths"),
        (
            r#""preprocessedProfileVersion":66"#,
            r#""preprocessedProfileVersion":67"#,
            "versions of Vouch with different tables",
        ),
        (r#""stack":[0"#, r#""stack":[7"#, "no row 7 in stackTable"),
        (r#""threadCPUDelta""#, r#""threadCPUDelay""#, "samples"),
        (r#""signals""#, r#""signs""#, "no trust report that this version of vouch can read"),
    ] {
        let why = join(vec![good(), bad(from, to)]).unwrap_err().to_string();
        assert!(why.contains("bad.json") && why.contains(says), "{from}: {why}");
    }
}

#[test]
fn a_profile_of_a_version_with_more_categories_is_joined() {
    let process = |file: &'static str, pid, categories: Value| {
        let mut source = Process::new(file, pid).thread("main", u64::from(pid), &[(&["main"], 2)]).source();
        let mut meta: Value = source.document.get("meta").unwrap();
        meta["categories"] = categories;
        source.document.set("meta", &meta).unwrap();
        source
    };
    let old = || json!([{ "name": "Other", "subcategories": ["Other"] }, { "name": "JDK" }]);
    let new = || {
        json!([
            { "name": "Other", "subcategories": ["Other", "proven"] }, { "name": "JDK" }, { "name": "Waiting" },
        ])
    };
    for pair in [[old(), new()], [new(), old()]] {
        let [first, second] = pair;
        let (joined, _) = join(vec![process("a", 1, first), process("b", 2, second)]).unwrap();
        let meta: Value = joined.get("meta").unwrap();
        assert_eq!(meta["categories"], new());
    }
    let other = json!([{ "name": "Other", "subcategories": ["proven", "Other"] }, { "name": "JDK" }]);
    let why = join(vec![process("a", 1, new()), process("b", 2, other)]).unwrap_err().to_string();
    assert!(why.contains("versions of Vouch with different tables"), "{why}");
}

/// A profile with one sample, which has no stack.
fn without_stack(file: &'static str, pid: u32) -> Source {
    let mut process = Process::new(file, pid);
    let main = process.recording.add_thread("main", pid.into(), START_NS);
    let stack = process.recording.placeholder_stack(None, &no_stack("outside of Java"), Category::NoStack);
    process.recording.sample(main, proven(1_000_000, stack));
    process.source()
}

/// The same by a Vouch that lacks the first of the reasons for no stack, or has another instead.
fn by_other_version(file: &'static str, pid: u32, instead: Option<&str>) -> Source {
    let Source { file, mut document } = without_stack(file, pid);
    let mut meta: Value = document.get("meta").unwrap();
    let categories = meta["categories"].as_array_mut().unwrap();
    let no_stack = categories.iter_mut().find(|it| it["name"] == "No stack").unwrap();
    let mut reasons: Vec<String> = serde_json::from_value(no_stack["subcategories"].take()).unwrap();
    reasons.splice(1..2, instead.map(str::to_owned));
    let part = reasons.iter().position(|reason| reason == "outside of Java").unwrap();
    no_stack["subcategories"] = json!(reasons);
    document.set("meta", &meta).unwrap();
    let mut shared: Part = document.get("shared").unwrap();
    let mut frames: Part = shared.get("frameTable").unwrap();
    frames.set("subcategory", &[part]).unwrap();
    shared.set("frameTable", &frames).unwrap();
    document.set("shared", &shared).unwrap();
    Source { file, document }
}

#[test]
fn a_profile_of_a_version_with_other_reasons_for_no_stack_is_joined() {
    let new = |pid| without_stack("new", pid);
    let reasons = |profile: &Value| {
        let categories = profile["meta"]["categories"].as_array().unwrap();
        categories.iter().find(|it| it["name"] == "No stack").unwrap()["subcategories"].clone()
    };
    let known = reasons(&value(&new(1).document));
    let mut with_old = known.clone();
    with_old.as_array_mut().unwrap().push("an old reason".into());
    for (first, second, expected) in [
        (by_other_version("old", 1, None), new(2), &known),
        (new(1), by_other_version("old", 2, None), &known),
        (by_other_version("old", 1, None), by_other_version("old", 2, Some("an old reason")), &Value::Null),
        (new(1), by_other_version("old", 2, Some("an old reason")), &with_old),
    ] {
        let profile = value(&join(vec![first, second]).unwrap().0);
        let reasons = reasons(&profile);
        // Both have the same frame, so it is one row.
        let [part] = rows(&profile["shared"]["frameTable"]["subcategory"])[..] else {
            panic!("{}", profile["shared"]["frameTable"])
        };
        assert_eq!(reasons[part], "outside of Java");
        let sorted = |reasons: &Value| {
            let mut names: Vec<String> = serde_json::from_value(reasons.clone()).unwrap();
            names.sort_unstable();
            names
        };
        assert!(expected.is_null() || sorted(&reasons) == sorted(expected), "{reasons}");
    }
}
