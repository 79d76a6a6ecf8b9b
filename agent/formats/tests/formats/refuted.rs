//! Tests of refuted stacks: they have their own category and markers, and fates are subcategories.

use serde_json::{Value, json};
use vouch_formats::is_guess;
use vouch_recording::{
    Category, Certainty, Func, FuncId, Id, Leaf, Recording, Refutation, Refuted, Sample, StackId, Trust,
};

use crate::common::{START_NS, sample, stack, written};

fn func(recording: &mut Recording, category: Category) -> FuncId {
    recording.func(Func { name: "a.B.c", category, source: None, line: None, resource: None, java: true })
}

fn refutation(kind: &str) -> Refutation<'_> {
    let caller = if kind == "wrong_root" { "" } else { "a.B.c()" };
    Refutation {
        kind,
        words: "so it is",
        caller,
        bci: 17,
        expected: "invokevirtual a.B.d()",
        found: "a.B.e()",
    }
}

#[test]
fn a_function_of_a_refuted_stack_is_another_one() {
    let mut recording = Recording::new();
    let (sound, refuted) = (func(&mut recording, Category::Jdk), func(&mut recording, Category::Refuted));
    assert_ne!(sound, refuted);
    let frame = recording.frame(refuted, Some(3));
    let stack = recording.stack(None, frame);
    let thread = recording.add_thread("main", 1, START_NS);
    recording.sample(thread, Sample { trust: Trust::Refuted, ..sample(1, stack) });
    let profile = written(&recording);
    let category = profile["shared"]["frameTable"]["category"][0].as_u64().unwrap();
    assert_eq!(profile["meta"]["categories"][usize::try_from(category).unwrap()]["name"], "Refuted");
}

#[test]
fn the_subcategory_of_a_leaf_is_its_fate() {
    let mut recording = Recording::new();
    let application = func(&mut recording, Category::Application);
    let plain = recording.frame(application, Some(7));
    let leaves = [Trust::Proven, Trust::Plausible, Trust::Refuted]
        .map(|trust| recording.leaf_frame(application, Some(7), Leaf::new(trust)));
    assert!(leaves.iter().all(|leaf| *leaf != plain));
    recording.stack(None, plain);
    let profile = written(&recording);
    let parts = &profile["shared"]["frameTable"]["subcategory"];
    assert_eq!(parts, &json!([0, 1, 2, 3]));
}

#[test]
fn the_subcategory_of_a_leaf_says_how_its_top_frame_is_known() {
    let mut recording = Recording::new();
    let application = func(&mut recording, Category::Application);
    for trust in [Trust::Proven, Trust::Plausible, Trust::Refuted] {
        for top_frame in Certainty::ALL.map(Some) {
            let leaf = recording.leaf_frame(application, Some(7), Leaf { trust, top_frame });
            recording.stack(None, leaf);
        }
    }
    let profile = written(&recording);
    let names = &profile["meta"]["categories"][1]["subcategories"];
    let parts = profile["shared"]["frameTable"]["subcategory"].as_array().unwrap();
    let shown: Vec<&str> = parts
        .iter()
        .map(|part| names[usize::try_from(part.as_u64().unwrap()).unwrap()].as_str().unwrap())
        .collect();
    let expected = [
        "proven",
        "proven, line uncertain",
        // A stack with an approximate top method is never proven.
        "proven",
        "plausible",
        "plausible, line uncertain",
        "plausible, top method uncertain",
        "refuted",
        "refuted",
        "refuted",
    ];
    assert_eq!(shown, expected);
}

/// The names of the category and subcategory of a stack's leaf, as a profile has them.
fn category_of_leaf(profile: &Value, stack: StackId) -> [&str; 2] {
    let cell = |column: &Value, row: usize| usize::try_from(column[row].as_u64().unwrap()).unwrap();
    let (shared, categories) = (&profile["shared"], &profile["meta"]["categories"]);
    let frame = cell(&shared["stackTable"]["frame"], stack.row());
    let category = &categories[cell(&shared["frameTable"]["category"], frame)];
    let part = &category["subcategories"][cell(&shared["frameTable"]["subcategory"], frame)];
    [category["name"].as_str().unwrap(), part.as_str().unwrap()]
}

#[test]
fn a_class_and_a_state_of_a_wait_have_the_trust_of_their_stack() {
    for (trust, part) in
        [(Trust::Proven, "proven"), (Trust::Plausible, "plausible"), (Trust::Refuted, "refuted")]
    {
        let mut recording = Recording::new();
        let application = func(&mut recording, Category::Application);
        let leaf = recording.leaf_frame(application, None, Leaf::new(trust));
        let stack = recording.stack(None, leaf);
        let class = recording.stack_of_class(Some(stack), "byte[]");
        let state = recording.placeholder_func("[sleeping]", Category::Waiting);
        let leaf = recording.leaf_frame(state, None, Leaf::new(trust));
        let wait = recording.stack(Some(stack), leaf);
        let profile = written(&recording);
        assert_eq!(category_of_leaf(&profile, class), ["Allocated class", part]);
        assert_eq!(category_of_leaf(&profile, wait), ["Waiting", part]);
    }
}

#[test]
fn every_format_that_marks_uncertain_stacks_marks_the_same_ones_for_every_measure() {
    let mut recording = Recording::new();
    // A refuted stack as the agent shows it: its frames have another category, and no state.
    let caller = recording.placeholder_stack(None, "[refuted: wrong_root]", Category::Refuted);
    let refuted = func(&mut recording, Category::Refuted);
    let frame = recording.frame(refuted, Some(3));
    let cpu = recording.stack(Some(caller), frame);
    let alloc = recording.stack_of_class(Some(cpu), "byte[]");
    let state = recording.placeholder_func("[sleeping]", Category::Waiting);
    let leaf = recording.leaf_frame(state, None, Leaf::new(Trust::Refuted));
    let wall = recording.stack(Some(cpu), leaf);
    let unknown = recording.placeholder_stack(None, "[waited, stack unknown]", Category::Waiting);
    let without_stack = recording.stack_of_class(None, "int[]");
    let profile = written(&recording);
    for (stack, guess) in [(cpu, true), (alloc, true), (wall, true), (unknown, false), (without_stack, false)]
    {
        let [category, part] = category_of_leaf(&profile, stack);
        assert_eq!(is_guess(category, Some(part)), guess, "{category}, {part}");
        assert_eq!(recording.is_guess(recording.leaf(stack)), guess, "{category}, {part}");
    }
}

#[test]
fn a_refuted_sample_has_a_marker_that_says_why() {
    let mut recording = Recording::new();
    let any = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    let (first, second) =
        (recording.refutation(refutation("other_callee")), recording.refutation(refutation("wrong_root")));
    assert_eq!((first.number(), second.number()), (1, 2));
    for (into, how) in [(2_000_000, second), (1_000_000, first)] {
        recording.sample(thread, Sample { trust: Trust::Refuted, ..sample(into, any) });
        recording.refuted(thread, Refuted { time_ns: START_NS + into, stack: any, weight: 2, how });
    }
    let profile = written(&recording);
    let markers = &profile["threads"][0]["markers"];
    let text = |index: &Value| {
        let index = usize::try_from(index.as_u64().unwrap()).unwrap();
        profile["shared"]["stringArray"][index].as_str().unwrap().to_owned()
    };
    assert_eq!(markers["length"], 2);
    assert_eq!(text(&markers["name"][0]), "Refuted: so it is");
    let times = [&markers["startTime"][0], &markers["startTime"][1]].map(|time| time.as_f64().unwrap());
    assert!(times[0] < times[1], "in the order of time: {times:?}");
    // The marker covers the sample's intervals, and has its stack.
    let ends = [&markers["endTime"][0], &markers["endTime"][1]].map(|time| time.as_f64().unwrap());
    assert!((ends[0] - times[0] - 2.001).abs() < 1e-6, "{ends:?}");
    let cause = &markers["data"][0]["cause"];
    let time = cause["time"].as_f64().unwrap();
    assert_eq!(cause["stack"], 0);
    // The marker covers its own sample, and the next marker does not.
    assert!(times[0] <= time && time < ends[0] && time < times[1], "{time} in {times:?} to {ends:?}");
    assert_eq!(profile["threads"][0]["showMarkersInTimeline"], true);
    let data = &markers["data"][0];
    assert_eq!((&data["number"], &data["bci"]), (&json!(1), &json!(17)));
    assert_eq!(text(&data["kind"]), "other_callee");
    assert_eq!(text(&data["expected"]), "invokevirtual a.B.d()");
    assert_eq!(text(&data["found"]), "a.B.e()");
    // Each marker type has a schema, with a label made of its fields. The front-end reserves some
    // names.
    let schemas = profile["meta"]["markerSchema"].as_array().unwrap();
    for row in 0..2 {
        let data = &markers["data"][row];
        let schema = schemas.iter().find(|schema| schema["name"] == data["type"]).unwrap();
        let label = schema["tableLabel"].as_str().unwrap();
        assert_eq!(label.contains("{marker.data.caller}"), data.get("caller").is_some(), "{label}");
        assert_eq!(data[schema["colorField"].as_str().unwrap()], "red");
        let fields = schema["fields"].as_array().unwrap();
        assert!(fields.iter().all(|field| field["key"] != "cause" && field["key"] != "type"));
        assert!(fields.iter().all(|field| data.get(field["key"].as_str().unwrap()).is_some()), "{data}");
    }
}

#[test]
fn the_profile_contains_its_trust_report() {
    let mut recording = Recording::new();
    stack(&mut recording, &["main"]);
    let profile = written(&recording);
    assert_eq!(profile["meta"]["vouch"]["names_lost"], 3);
    let rows = profile["meta"]["extra"][0]["entries"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["label"] == "Losses"), "{rows:?}");
}
