//! Tests of the page: names are data, not markup, and the page loads nothing.
//! `scripts/lib/check-page` tests in a browser what it shows.

use serde_json::{Value, json};
use vouch_recording::measures::ALLOCATED;
use vouch_recording::{Amount, Certainty, Id, Leaf, MEASURES, Recording, Trust};

use crate::common::{START_NS, busy_thread, stack, write};

const BEGIN: &str = "<script id=\"data\" type=\"application/json\">";

fn page(recording: &Recording) -> String {
    let mut text = Vec::new();
    write(recording, ".html", &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// Returns the data of a page as a browser reads it: up to the first end of a script.
fn data(page: &str) -> Value {
    let (_, after) = page.split_once(BEGIN).unwrap();
    let (data, _) = after.split_once("</script").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn no_name_ends_the_data() {
    let names = ["</script><script>alert(1)</script>", "<!--<script>", "<", "a\u{2028}b"];
    let mut recording = Recording::new();
    let odd = stack(&mut recording, &names);
    busy_thread(&mut recording, "<b>main</b>", odd, 3);
    let page = page(&recording);
    let data = data(&page);
    for name in names {
        assert!(data["names"].as_array().unwrap().iter().any(|known| known == name), "{name:?}");
    }
    assert_eq!(data["threads"][0]["name"], "<b>main</b>");
    assert!(!page.contains("<b>") && !page.contains("alert(1)</script>"));
    // The page loads nothing, and its policy forbids it.
    assert!(page.contains("default-src 'none'") && !page.contains("http:") && !page.contains("https:"));
}

#[test]
fn a_stack_with_a_guessed_top_method_is_flagged() {
    let mut recording = Recording::new();
    let plain = stack(&mut recording, &["main"]);
    let func = recording.leaf(plain).func;
    for trust in [Trust::Plausible, Trust::Refuted] {
        for top_frame in Certainty::ALL.map(Some) {
            let leaf = recording.leaf_frame(func, None, Leaf { trust, top_frame });
            recording.stack(None, leaf);
        }
    }
    assert_eq!(data(&page(&recording))["stacks"]["uncertain"], json!([0, 0, 0, 1, 1, 1, 1]));
}

#[test]
fn samples_keep_stack_weight_and_fate() {
    let mut recording = Recording::new();
    let inner = stack(&mut recording, &["main", "run"]);
    busy_thread(&mut recording, "worker", inner, 5);
    let data = data(&page(&recording));
    let thread = &data["threads"][0];
    let weights = thread["weight"].as_array().unwrap();
    assert_eq!(weights.iter().map(|weight| weight.as_u64().unwrap()).sum::<u64>(), 5);
    let names: Vec<&str> = std::iter::successors(thread["stack"][0].as_i64(), |row| {
        let parent = data["stacks"]["parent"][usize::try_from(*row).unwrap()].as_i64().unwrap();
        (parent >= 0).then_some(parent)
    })
    .map(|row| {
        let function = data["stacks"]["function"][usize::try_from(row).unwrap()].as_u64().unwrap();
        let name = data["functions"]["name"][usize::try_from(function).unwrap()].as_u64().unwrap();
        data["names"][usize::try_from(name).unwrap()].as_str().unwrap()
    })
    .collect();
    assert_eq!(names, ["run", "main"]);
}

#[test]
fn the_page_has_each_measure_that_was_recorded() {
    let mut recording = Recording::new();
    let outer = stack(&mut recording, &["main"]);
    let make = stack(&mut recording, &["make"]);
    let leaf = Leaf { trust: Trust::Plausible, top_frame: Some(Certainty::Approximate) };
    let frame = recording.leaf_frame(recording.leaf(make).func, None, leaf);
    let inner = recording.stack(Some(outer), frame);
    let thread = busy_thread(&mut recording, "worker", inner, 5);
    let with_class = recording.stack_of_class(Some(inner), "byte[]");
    for (time_ns, amount) in [(2_000_000, 300), (1_000_000, 200)] {
        let amount =
            Amount { time_ns: START_NS + time_ns, stack: with_class, amount, events: 1, context: None };
        recording.amount(thread, &ALLOCATED, amount);
    }
    let data = data(&page(&recording));
    let keys: Vec<&str> =
        data["measures"].as_array().unwrap().iter().map(|measure| measure["key"].as_str().unwrap()).collect();
    assert_eq!(keys, MEASURES.map(|measure| measure.key));
    assert_eq!((&data["measures"][1]["unit"], &data["measure"]), (&json!("bytes"), &json!("cpu")));
    let allocated = &data["threads"][0]["amounts"]["alloc"];
    assert_eq!(allocated["weight"], json!([200, 300]));
    assert_eq!(allocated["time"], json!([1_000, 1_000]), "in microseconds since the one before");
    let stacks = &data["stacks"];
    assert_eq!(stacks["fate"][with_class.row()], stacks["fate"][inner.row()], "a class has its stack's fate");
    assert_ne!(stacks["fate"][with_class.row()], stacks["fate"][outer.row()]);
    assert_eq!(stacks["uncertain"][with_class.row()], 1);
}
