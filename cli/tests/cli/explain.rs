//! Tests of `vouch explain` for good and bad files, with the real binary.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::common;

fn report(count: usize) -> Value {
    let refutation = |number: usize| {
        json!({
            "number": number, "count": 60 - number, "kind": "other_callee", "caller": "shop/Cart.add:()V", "bci": 17,
            "expected": "invokevirtual shop/Cart.total:()I", "found": "shop/Item.price:()I",
            "stack": ["shop.Item.price(Item.java:3) @ 4", "shop.Cart.add(Cart.java:9) @ 17", "java.lang.Thread.run @ 7"],
            "at": 1, "code": ["     14: aload_0", "→    17: invokevirtual shop/Cart.total:()I"],
        })
    };
    json!({ "vouch": "0.1.0", "refutations": (1..=count).map(refutation).collect::<Vec<_>>() })
}

/// Writes a file for the test with this name.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    common::file("explain", name, bytes)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn explain(path: &PathBuf, number: Option<&str>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vouch")).arg("explain").arg(path).args(number).output().unwrap()
}

fn good(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Checks that the output is one sentence on stderr and nothing else, and returns it.
fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("vouch: "), "{text}");
    text
}

#[test]
fn the_list_also_says_why_stacks_are_plausible() {
    let mut report = report(1);
    report["weight_ms"] = json!({ "signals": 200.0 });
    report["plausible_because"] = json!({
        "class_loading": { "samples": 3, "weight_ms": 5.0, "alone_ms": 5.0 },
        "approximate_top_frame": { "samples": 9, "weight_ms": 20.0, "alone_ms": 18.0 },
    });
    let text = good(&explain(&file("plausible", report.to_string().as_bytes()), None));
    let (refutations, reasons) = text.split_once("\nwhy stacks are plausible, not proven").unwrap();
    assert!(refutations.contains("shop.Item.price"), "{text}");
    let rows: Vec<Vec<&str>> = reasons.lines().skip(1).map(|row| row.split_whitespace().collect()).collect();
    assert_eq!(rows[0].join(" "), "9 10.0 % an uncertain top method (approximate_top_frame)");
    assert_eq!(rows[1].join(" "), "3 2.5 % class loading (class_loading)");
    assert!(!text.contains("DebugNonSafepoints"), "{text}");
}

#[test]
fn the_list_says_what_helps_code_compiled_before_the_attach() {
    let mut report = report(1);
    report["plausible_because"] =
        json!({ "compiled_before_attach": { "samples": 9, "weight_ms": 20.0, "alone_ms": 18.0 } });
    let text = good(&explain(&file("attached", report.to_string().as_bytes()), None));
    let row = "an uncertain top method in code compiled before the attach (compiled_before_attach)\n\nCode compiled";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("-XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints"), "{text}");
}

#[test]
fn the_list_says_what_helps_code_without_full_debug_information() {
    let mut report = report(1);
    report["plausible_because"] =
        json!({ "without_debug_info": { "samples": 9, "weight_ms": 20.0, "alone_ms": 18.0 } });
    let text = good(&explain(&file("undescribed", report.to_string().as_bytes()), None));
    let row = "an uncertain top method in code without full debug information (without_debug_info)\n\n-XX:-DebugNonSafepoints";
    assert!(text.contains(row), "{text}");
    assert!(text.contains("start the JVM without this option"), "{text}");
}

#[test]
fn reasons_with_the_same_words_share_a_row() {
    let mut report = report(0);
    report["weight_ms"] = json!({ "signals": 200.0 });
    report["plausible_because"] = json!({
        "method_handle": { "samples": 3, "weight_ms": 5.0, "alone_ms": 5.0 },
        "handle_target": { "samples": 4, "weight_ms": 7.0, "alone_ms": 7.0 },
    });
    let text = good(&explain(&file("same-words", report.to_string().as_bytes()), None));
    let rows: Vec<&str> = text.lines().filter(|row| row.contains("method handle")).collect();
    let [row] = rows[..] else { panic!("{text}") };
    let words: Vec<&str> = row.split_whitespace().collect();
    let expected = "≤ 7 ≤ 6.0 % a call through a method handle or reflection (handle_target, method_handle)";
    assert_eq!(words.join(" "), expected);
}

#[test]
fn one_refutation_is_shown_with_its_place() {
    let path = file("one.json", report(2).to_string().as_bytes());
    let text = good(&explain(&path, Some("2")));
    let lines: Vec<&str> = text.lines().collect();
    assert!(text.starts_with("refutation 2, other_callee (58 samples)"), "{text}");
    let at = lines.iter().position(|line| line.contains("→ shop.Cart.add(Cart.java:9) @ 17")).expect(&text);
    assert!(
        lines[at - 1].contains("not in the bytecode") && lines[at - 2].contains("shop.Item.price"),
        "{text}"
    );
    assert!(lines.iter().any(|line| line.trim() == "→    17: invokevirtual shop/Cart.total:()I"), "{text}");
}

#[test]
fn a_profile_carries_the_same() {
    let profile = json!({ "meta": { "vouch": report(1) }, "threads": [] }).to_string();
    let plain = file("profile.json", profile.as_bytes());
    // The bytes decide, not the name.
    let packed = file("packed.json", &gzip(profile.as_bytes()));
    let report = file("report.json", report(1).to_string().as_bytes());
    let expected = good(&explain(&report, Some("1")));
    assert_eq!(good(&explain(&plain, Some("1"))), expected);
    assert_eq!(good(&explain(&packed, Some("1"))), expected);
}

#[test]
fn the_list_fits_a_screen() {
    let path = file("many.json", report(50).to_string().as_bytes());
    let text = good(&explain(&path, None));
    assert!(text.lines().count() <= 24, "{text}");
    assert!(text.contains("and 30 more") && text.contains("shop.Item.price()"), "{text}");
    let none = file("none.json", report(0).to_string().as_bytes());
    assert_eq!(good(&explain(&none, None)), "no stack was refuted\n");
}

#[test]
fn a_file_that_is_no_report_is_refused_with_the_reason() {
    let told = |name: &str, bytes: &[u8]| refused(&explain(&file(name, bytes), Some("1")));
    assert!(told("text", b"hello").contains("not JSON"));
    assert!(told("one byte of gzip", &[0x1f]).contains("incomplete gzip file"));
    assert!(told("old.json", b"{\"vouch\":\"0.0.1\"}").contains("older"));
    assert!(told("empty", b"").contains("not JSON"));
    assert!(told("other.json", b"{\"meta\":{\"product\":\"Firefox\"}}").contains("another tool wrote it"));
    assert!(told("list.json", b"[1]").contains("neither"));
    assert!(told("fields.json", b" [\"x\", [], null, {}]").contains("neither"));
    assert!(told("word.json", b"{\"meta\":{\"vouch\":\"9\"}}").contains("newer"));
    assert!(told("newer.json", b"{\"meta\":{\"vouch\":{\"vouch\":2}}}").contains("newer"));
    assert!(told("shape.json", br#"{"vouch":"9","refutations":[{"number":"x"}]}"#).contains("cannot read"));
    let kind = report(1).to_string().replace("other_callee", "no_such_kind");
    assert!(told("kind.json", kind.as_bytes()).contains("no kind \"no_such_kind\""));
    assert!(refused(&explain(&PathBuf::from("nowhere.json"), None)).contains("cannot be read"));
    let bomb = told("bomb.gz", &gzip(&vec![b' '; 80 << 20]));
    assert!(bomb.contains("200 times its size") && bomb.contains("gunzip"), "{bomb}");
    let missing = refused(&explain(&file("three.json", report(3).to_string().as_bytes()), Some("4")));
    assert!(missing.contains("numbers are 1 to 3"), "{missing}");
}

#[test]
fn a_file_that_was_cut_anywhere_is_refused_in_a_sentence() {
    let text = report(1).to_string();
    let packed = gzip(text.as_bytes());
    for length in (0..text.len()).step_by(7) {
        refused(&explain(&file("cut.json", &text.as_bytes()[..length]), Some("1")));
    }
    for length in 0..packed.len() {
        refused(&explain(&file("cut.gz", &packed[..length]), Some("1")));
    }
}

#[test]
fn names_cannot_speak_to_the_terminal() {
    let hostile = report(1).to_string().replace("shop/Item.price", "shop/\\u001b[31mItem\\n.price");
    let text = good(&explain(&file("hostile.json", hostile.as_bytes()), Some("1")));
    assert!(!text.contains('\u{1b}'), "{text:?}");
    assert!(text.contains("Item\u{fffd}.price"), "{text}");
}

#[test]
fn no_more_can_a_files_name() {
    let text = refused(&explain(&PathBuf::from("no\u{1b}[31mwhere"), None));
    assert!(!text.contains('\u{1b}'), "{text:?}");
}

/// Writes a report with changed values in its only refutation.
fn with(changes: &Value) -> PathBuf {
    let mut report = report(1);
    for (key, value) in changes.as_object().unwrap() {
        report["refutations"][0][key] = value.clone();
    }
    file("with.json", report.to_string().as_bytes())
}

#[test]
fn each_kind_has_words_of_its_own() {
    let told = |changes: Value| good(&explain(&with(&changes), Some("1")));
    let leaf = json!({ "kind": "bci_past_end", "found": "", "at": 0 });
    let text = told(leaf.clone());
    assert!(text.contains("was interrupted at bci 17") && text.contains("ends before"), "{text}");
    assert!(!text.contains("called") && !text.contains('✗'), "{text}");
    let list = good(&explain(&with(&leaf), None));
    assert!(list.contains("shop.Cart.add() @ 17 → interrupted there"), "{list}");
    let root = json!({ "kind": "wrong_root", "caller": "", "expected": "the beginning of thread \"main\"" });
    let text = told(root);
    assert!(text.contains("not the beginning of thread \"main\""), "{text}");
    let others = json!({ "caller": "", "found": "", "expected": "one of more than 500 others", "at": null });
    assert!(told(others.clone()).contains("this row is for one of more than 500 others"));
    assert!(good(&explain(&with(&others), None)).contains("one of more than 500 others"));
    assert!(told(json!({ "kind": "nativeness", "bci": -3 })).contains("native method's"));
}

#[test]
fn damage_anywhere_never_ends_in_a_panic() {
    let text = report(1).to_string();
    for (place, damage) in (0..text.len()).step_by(5).zip(b"\0\"{}[]9,\xff-".iter().cycle()) {
        let mut bytes = text.clone().into_bytes();
        bytes[place] = *damage;
        let output = explain(&file("damaged.json", &bytes), Some("1"));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{place}: {output:?}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let path = file("piped.json", report(50).to_string().as_bytes());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let quiet =
        Command::new(env!("CARGO_BIN_EXE_vouch")).arg("explain").arg(&path).stdout(writer).output().unwrap();
    assert!(quiet.status.success() && quiet.stderr.is_empty(), "{quiet:?}");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mute = Command::new(env!("CARGO_BIN_EXE_vouch"))
        .args(["explain", "nowhere"])
        .stderr(writer)
        .status()
        .unwrap();
    assert_eq!(mute.code(), Some(1));
}

#[test]
fn its_name_is_vouch() {
    let output = Command::new(env!("CARGO_BIN_EXE_vouch")).arg("--version").output().unwrap();
    assert_eq!(good(&output), format!("vouch {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn what_the_jvm_itself_contradicts_is_shown_with_both_accounts() {
    let mut with = report(1);
    let contradiction = |number: usize, grade: &str| {
        json!({
            "number": number, "count": 3, "kind": "witness", "caller": "", "bci": 0,
            "expected": "shop.Cart.more(Cart.java:9) @ 9", "found": "shop.Item.price(Item.java:3) @ 4",
            "stack": ["shop.Item.price(Item.java:3) @ 4", "java.lang.Thread.run @ 7"], "at": 0, "code": [],
            "witness": { "grade": grade, "stack": ["shop.Cart.more(Cart.java:9) @ 9", "java.lang.Thread.run @ 7"] },
        })
    };
    with["witness"] =
        json!({ "contradictions": [contradiction(7, "exact"), contradiction(5, "all_but_top")] });
    let path = file("witness.json", with.to_string().as_bytes());
    let list = good(&explain(&path, None));
    assert!(
        list.contains("\n    w1        3  witness: shop.Cart.more(Cart.java:9) @ 9, and shop.Item.price"),
        "{list}"
    );
    let text = good(&explain(&path, Some("w1")));
    assert_eq!(good(&explain(&path, Some("7"))), text);
    assert!(
        text.starts_with("refutation 7, witness (3 samples)") && text.contains("before it ran on"),
        "{text}"
    );
    let both = "  - shop.Item.price(Item.java:3) @ 4\n  + shop.Cart.more(Cart.java:9) @ 9\n    java.lang.Thread.run @ 7\n";
    assert!(text.ends_with(both), "{text}");
    assert!(good(&explain(&path, Some("w2"))).contains("its next safepoint poll"));
    assert!(good(&explain(&path, Some("1"))).contains("not in the bytecode"));
    for which in ["w0", "w3", "4"] {
        assert!(refused(&explain(&path, Some(which))).contains(&format!("{which}:")), "{which}");
    }
    // The report of an older version has no such key.
    let older = file("older.json", report(1).to_string().as_bytes());
    assert!(refused(&explain(&older, Some("w1"))).contains("contradicted no stack"));
}
