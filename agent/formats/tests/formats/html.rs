//! Tests of the page: names are data, not markup, and the page loads nothing.
//! `scripts/lib/check-page` tests in a browser what it shows.

use serde_json::{Value, json};
use vouch_recording::measures::ALLOCATED;
use vouch_recording::{Amount, Certainty, Leaf, MEASURES, Recording, Trust};

use crate::common::{START_NS, busy_thread, numbers, sample, stack, write};

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

/// Returns the fate (0 is proven) and the flag of a guessed top method of a row of stacks.
fn state(data: &Value, row: usize) -> (u8, bool) {
    let letter = data["stacks"]["state"].as_str().unwrap().as_bytes()[row] - b'a';
    (letter / 2, letter % 2 == 1)
}

/// Returns the row of a stack's caller.
fn parent(data: &Value, row: usize) -> Option<usize> {
    let above = usize::try_from(data["stacks"]["above"][row].as_u64().unwrap()).unwrap();
    (above > 0).then(|| row - above)
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
    let thread = busy_thread(&mut recording, "worker", plain, 1);
    for trust in [Trust::Plausible, Trust::Refuted] {
        for top_frame in Certainty::ALL.map(Some) {
            let leaf = recording.leaf_frame(func, None, Leaf { trust, top_frame });
            let stack = recording.stack(None, leaf);
            recording.sample(thread, sample(1_000_000, stack));
        }
    }
    let data = data(&page(&recording));
    let rows = numbers(&data["threads"][0]["stack"]);
    let flags = rows.iter().map(|row| u8::from(state(&data, usize::try_from(*row).unwrap()).1));
    assert_eq!(flags.collect::<Vec<_>>(), [0, 0, 0, 1, 1, 1, 1]);
}

#[test]
fn stacks_that_differ_by_lines_share_a_row_and_unused_ones_are_left_out() {
    let mut recording = Recording::new();
    let outer = stack(&mut recording, &["main"]);
    stack(&mut recording, &["main", "not sampled"]);
    let func = recording.leaf(outer).func;
    let thread = busy_thread(&mut recording, "worker", outer, 1);
    for line in [3, 4] {
        let frame = recording.frame(func, Some(line));
        let stack = recording.stack(Some(outer), frame);
        recording.sample(thread, sample(2_000_000, stack));
    }
    let data = data(&page(&recording));
    assert_eq!(data["stacks"]["above"], json!([0, 1]));
    assert_eq!(data["threads"][0]["stack"], json!([0, 1, 1]));
    assert_eq!(data["names"], json!(["main"]));
}

#[test]
fn the_page_has_a_colour_for_each_kind_of_function() {
    let page = page(&Recording::new());
    let data = data(&page);
    let (_, colours) = page.split_once("const COLOURS = {").unwrap();
    let (colours, _) = colours.split_once("};").unwrap();
    for kind in data["kinds"].as_array().unwrap() {
        let key = format!(" {}: '#", kind[1].as_str().unwrap());
        assert!(colours.contains(&key), "{kind}");
    }
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
    let leaf = usize::try_from(thread["stack"][0].as_u64().unwrap()).unwrap();
    let names: Vec<&str> = std::iter::successors(Some(leaf), |row| parent(&data, *row))
        .map(|row| {
            let function = data["stacks"]["function"][row].as_u64().unwrap();
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
    let row = |samples: &Value| usize::try_from(samples["stack"][0].as_u64().unwrap()).unwrap();
    let (with_class, inner) = (row(allocated), row(&data["threads"][0]));
    let outer = parent(&data, inner).unwrap();
    assert_eq!(parent(&data, with_class), Some(inner));
    assert_eq!(state(&data, with_class), state(&data, inner), "a class has its stack's fate");
    assert_ne!(state(&data, with_class).0, state(&data, outer).0);
    assert!(state(&data, with_class).1);
}
