//! Tests of profiles that cannot be joined. The error names the file.

use serde_json::{Value, json};
use vouch_profile::join::{Source, join};

use crate::common::Process;

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
