//! Tests that every verb that reads a profile can handle a damaged one: with changed bytes, or with
//! one impossible value.
//!
//! A verb must print its result, or one line that says what is wrong with the file. It must never
//! end otherwise.

#[path = "../../agent/recording/tests/common/mod.rs"]
mod common;
#[path = "../../agent/recording/tests/common/contexts.rs"]
mod contexts;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{env, fs};

use clap::Parser as _;
use common::{START_NS, sample, stack};
use contexts::{context, kind};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use vouch_formats::{Format, Identity, Meta};
use vouch_recording::{Marker, Recording, Refutation, Refuted, Sample, Trust, kinds};
use vouch_report::{Run, TrustReport};

use crate::{Arguments, answer, in_a_line};

const MS: u64 = 1_000_000;
/// Control characters that a terminal would execute, escaped as in JSON.
const ODD: &str = r"\u0000\n\u001b[31m";

/// The intact profile from which the damaged profiles are made.
static WHOLE: LazyLock<String> = LazyLock::new(|| profile("now", 2));

/// Makes a profile that uses every table. `boot` is the id of its machine's boot, and `weight` is
/// the weight of each sample.
fn profile(boot: &str, weight: u32) -> String {
    let mut recording = Recording::new();
    let main = recording.add_thread("main", 1, START_NS);
    let other = recording.add_thread("other", 2, START_NS);
    let [serve, add] = [["main", "serve"], ["main", "Cart.add"]].map(|names| stack(&mut recording, &names));
    let request = kind(&mut recording, "Request", &["user"]);
    let outer = context(&mut recording, None, request, &["moe"]);
    let inner = context(&mut recording, Some(outer), request, &["larry"]);
    let how = recording.refutation(Refutation {
        kind: "other_callee",
        words: "calls another",
        caller: "Cart.add",
        bci: 3,
        expected: "Price.of",
        found: "Price.at",
    });
    for n in 1_u64..20 {
        let (thread, stack, trust) =
            [(main, serve, Trust::Proven), (other, add, Trust::Refuted)][usize::from(n % 3 == 0)];
        let context = [None, Some(outer), Some(inner)][usize::from(n % 7 == 0) + usize::from(n % 2 == 0)];
        recording.sample(thread, Sample { trust, context, weight, ..sample(n * MS, stack) });
        if trust == Trust::Refuted {
            recording.refuted(thread, Refuted { time_ns: START_NS + n * MS, stack, weight, how });
        }
    }
    for event in kinds::EVENTS {
        let kind = recording.marker_kind(event.marker);
        let marker =
            Marker { kind, began_ns: START_NS, ended_ns: START_NS + MS, values: [0; _], stack: Some(serve) };
        recording.add_marker(Some(main), marker);
    }
    let refutation = |number: usize| {
        json!({
            "number": number, "count": 6, "kind": "other_callee", "caller": "Cart.add", "bci": 3, "expected": "Price.of",
            "found": "Price.at", "stack": ["Price.at(Price.java:3) @ 1", "Cart.add(Cart.java:9) @ 3"], "at": 1, "code": ["→ 3: invokestatic"],
            "witness": { "grade": "exact", "stack": ["Price.of(Price.java:3) @ 1"] },
        })
    };
    let refutations = serde_json::from_value(json!([refutation(1)])).unwrap();
    let mut run = Run { interval_ns: MS, cpu_ms: Some(40.0), refutations, ..Run::default() };
    run.witness.contradictions = serde_json::from_value(json!([refutation(2)])).unwrap();
    let meta = Meta {
        started_ns: START_NS,
        ended_ns: START_NS + 100 * MS,
        identity: Some(Identity { boot: boot.to_owned(), namespace: 1, pid: 1, started_ticks: 1 }),
        report: TrustReport::from_recording(&recording, run),
        ..Meta::default()
    };
    let mut text = Vec::new();
    Format::from_file_name(".json").unwrap().write(&recording, &meta, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// The command lines to test. `{}` is the damaged profile, and `OTHER` is a good profile of another
/// process.
const QUESTIONS: [&[&str]; 10] = [
    &["top", "{}"],
    &["top", "{}", "--lines", "--sort", "total"],
    &["top", "{}", "--by", "user", "--json"],
    &["flame", "{}", "--out", "OUT.svg"],
    &["diff", "{}", "OTHER", "--all"],
    &["explain", "{}"],
    &["explain", "{}", "1"],
    &["explain", "{}", "w1"],
    &["embed", "{}", "SOURCES", "--out", "OUT.json"],
    &["merge", "{}", "OTHER", "--out", "OUT.json"],
];

/// Runs all command lines, and returns the errors.
fn run_all_commands(folder: &Path, profile: &[u8]) -> Vec<String> {
    let place = |name: &str| folder.join(name).to_string_lossy().into_owned();
    let file = place("damaged.json");
    fs::write(&file, profile).unwrap();
    let mut mistakes = Vec::new();
    for question in QUESTIONS {
        let words = question.iter().map(|word| match *word {
            "{}" => file.clone(),
            "OTHER" => place("other.json"),
            "SOURCES" => place("sources"),
            out if out.starts_with("OUT") => place(out),
            word => word.to_owned(),
        });
        let arguments = Arguments::try_parse_from(["vouch".to_owned()].into_iter().chain(words)).unwrap();
        if let Err(mistake) = answer(arguments.verb) {
            let mistake = mistake.to_string();
            let told = in_a_line(&mistake);
            assert!(!mistake.is_empty() && !told.contains(char::is_control), "{question:?}: {told:?}");
            // If the profile has no control characters, the error must not have any either.
            let odd = profile.windows(ODD.len()).any(|part| part == ODD.as_bytes());
            assert!(odd || !mistake.contains(char::is_control), "{question:?}: {mistake:?}");
            mistakes.push(mistake);
        }
    }
    mistakes
}

fn folder(name: &str) -> PathBuf {
    // The folder is beside this program, among the other files of a build.
    let folder = env::current_exe().unwrap().with_file_name("damaged").join(name);
    fs::create_dir_all(folder.join("sources")).unwrap();
    fs::write(folder.join("other.json"), profile("then", 3)).unwrap();
    folder
}

/// Returns the number of values in a document.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// Replaces the value with this number. Values are counted from the document's root.
fn replace(value: &mut Value, place: &mut usize, by: &Value) {
    if *place == 0 {
        value.clone_from(by);
    }
    *place = place.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, place, by)),
        Value::Object(fields) => fields.values_mut().for_each(|item| replace(item, place, by)),
        _ => {}
    }
}

#[test]
fn a_whole_one_has_all_answers() {
    assert_eq!(run_all_commands(&folder("whole"), WHOLE.as_bytes()), [""; 0]);
}

#[test]
fn control_characters_of_a_profile_are_escaped_in_errors() {
    // The errors list the name of a context's field, which contains control characters here.
    let named = WHOLE.replace(r#""user""#, &format!(r#""us{ODD}er""#));
    let mistakes = run_all_commands(&folder("names"), named.as_bytes());
    assert!(mistakes.len() == 1 && mistakes[0].contains("\n\u{1b}[31mer"), "{mistakes:?}");
    let told = in_a_line(&mistakes[0]);
    assert!(told.contains(r"us\u{0}\n\u{1b}[31mer"), "which letters are wrong can be read: {told}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(200), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_bytes_are_reported(
        damage in prop::collection::vec((any::<Index>(), any::<u8>()), 1..4),
        cut in prop::option::weighted(0.2, any::<Index>()),
    ) {
        let mut bytes = WHOLE.clone().into_bytes();
        for (place, byte) in damage {
            *place.get_mut(&mut bytes) = byte;
        }
        bytes.truncate(cut.map_or(usize::MAX, |cut| cut.index(WHOLE.len())));
        run_all_commands(&folder("bytes"), &bytes);
    }

    #[test]
    fn impossible_values_are_reported(place in any::<Index>(), by in any::<Index>()) {
        let odd = [
            json!(null), json!(-1), json!(0), json!(1), json!(3), json!(u64::MAX), json!(u32::MAX), json!(1e300), json!(-1e300), json!(0.5),
            json!(""), json!("\u{0}\n\u{1b}[31m"), json!([]), json!([null]), json!([0, 1, 2]), json!({}), json!(true),
        ];
        let mut value: Value = serde_json::from_str(&WHOLE).unwrap();
        let mut place = place.index(count(&value));
        replace(&mut value, &mut place, &odd[by.index(odd.len())]);
        run_all_commands(&folder("values"), value.to_string().as_bytes());
    }
}
