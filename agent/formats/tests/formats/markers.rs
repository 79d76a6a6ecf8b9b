//! Tests of markers for events: their values, and the schemas that describe them.

use serde_json::{Value, json};
use vouch_recording::kinds::{COLLECTION, HELD_UP};
use vouch_recording::measures::ALLOCATED;
use vouch_recording::{
    Amount, Category, Id, Marker, MarkerField, MarkerKind, Recording, Sample, Trust, Unit, VmPart,
};

use crate::common::{START_NS, sample, stack, written};

const PAUSE: MarkerKind = MarkerKind {
    key: "pause",
    label: "Pause",
    description: "Nothing ran.",
    category: Category::Vm(VmPart::Gc),
    fields: &[
        MarkerField { key: "threads", label: "Threads", unit: Unit::Count },
        MarkerField { key: "asked", label: "Asked for", unit: Unit::Nanoseconds },
    ],
};
const END: MarkerKind = MarkerKind {
    key: "end",
    label: "End",
    description: "It is over.",
    category: Category::Other,
    fields: &[],
};
const LOCK: MarkerKind = MarkerKind {
    key: "lock",
    label: "Lock",
    description: "It was closed.",
    category: Category::Other,
    fields: &[
        MarkerField { key: "class", label: "Class", unit: Unit::Text },
        MarkerField { key: "size", label: "Size", unit: Unit::Bytes },
    ],
};

#[test]
fn a_marker_is_in_its_threads_track_and_one_of_the_process_in_the_first() {
    let mut recording = Recording::new();
    stack(&mut recording, &["main"]);
    let main = recording.add_thread("main", 1, START_NS);
    let other = recording.add_thread("other", 2, START_NS);
    let (pause, end) = (recording.marker_kind(PAUSE), recording.marker_kind(END));
    assert_eq!(recording.marker_kind(PAUSE), pause, "a kind is added once");
    let marker = |kind, began, ended, values| Marker {
        kind,
        began_ns: START_NS + began,
        ended_ns: START_NS + ended,
        values,
        stack: None,
    };
    recording.add_marker(None, marker(end, 9_000_000, 9_000_000, [0; 8]));
    recording.add_marker(Some(other), marker(pause, 2_000_000, 5_000_000, [7, 3_000_000, 0, 0, 0, 0, 0, 0]));
    recording.add_marker(Some(main), marker(pause, 1_000_000, 1_500_000, [1, 2, 0, 0, 0, 0, 0, 0]));
    let profile = written(&recording);
    let markers = |track: usize| &profile["threads"][track]["markers"];
    let names = |track: usize| -> Vec<&str> {
        let name = |index: &Value| {
            let index = usize::try_from(index.as_u64().unwrap()).unwrap();
            profile["shared"]["stringArray"][index].as_str().unwrap()
        };
        markers(track)["name"].as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!((names(0), names(1)), (vec!["Pause", "End"], vec!["Pause"]));
    assert_eq!(markers(0)["phase"], json!([1, 0]));
    assert_eq!(markers(0)["endTime"][1], Value::Null);
    let times = ["startTime", "endTime"].map(|column| markers(1)[column][0].as_f64().unwrap());
    assert!((times[1] - times[0] - 3.0).abs() < 1e-6, "{times:?}");
    assert_eq!(markers(1)["data"][0], json!({"type": "pause", "threads": 7, "asked": 3_000_000}));
    assert_eq!(markers(0)["data"][1], json!({"type": "end"}));
}

#[test]
fn the_track_with_the_markers_of_the_process_is_shown_at_first() {
    let profile = |marked: bool| {
        let mut recording = Recording::new();
        let any = stack(&mut recording, &["run"]);
        // This thread belongs to a family that has the first track, and it is idle.
        recording.add_thread("worker-1", 1, START_NS);
        let busy = recording.add_thread("worker-2", 2, START_NS);
        recording.sample(busy, sample(1, any));
        let kind = recording.marker_kind(END);
        if marked {
            recording.add_marker(
                None,
                Marker { kind, began_ns: START_NS, ended_ns: START_NS, values: [0; 8], stack: None },
            );
        }
        written(&recording)["meta"]["initialVisibleThreads"].clone()
    };
    assert_eq!((profile(false), profile(true)), (json!([1]), json!([0, 1])));
}

#[test]
fn each_kind_has_a_schema_without_the_front_ends_own_names() {
    let mut recording = Recording::new();
    recording.marker_kind(PAUSE);
    let profile = written(&recording);
    let schemas = profile["meta"]["markerSchema"].as_array().unwrap();
    let pause = schemas.iter().find(|schema| schema["name"] == "pause").unwrap();
    assert_eq!((&pause["tooltipLabel"], &pause["description"]), (&json!("Pause"), &json!("Nothing ran.")));
    assert_eq!(
        pause["fields"],
        json!([
            {"key": "threads", "label": "Threads", "format": "integer"},
            {"key": "asked", "label": "Asked for", "format": "nanoseconds"},
        ])
    );
    for field in schemas.iter().flat_map(|schema| schema["fields"].as_array().unwrap()) {
        assert!(field["key"] != "cause" && field["key"] != "type", "{field}");
    }
}

#[test]
fn a_marker_has_texts_and_the_stack_of_its_thread() {
    let mut recording = Recording::new();
    let stood = stack(&mut recording, &["main", "lock"]);
    let main = recording.add_thread("main", 1, START_NS);
    let kind = recording.marker_kind(LOCK);
    let class = recording.string("shop.Door");
    for (text, stack) in [(Some(class), Some(stood)), (None, None)] {
        let values = [Marker::text_to_value(text), 512, 0, 0, 0, 0, 0, 0];
        let marker = Marker { kind, began_ns: START_NS, ended_ns: START_NS + 2_000_000, values, stack };
        recording.add_marker(Some(main), marker);
    }
    let profile = written(&recording);
    let data = &profile["threads"][0]["markers"]["data"];
    let row = data[0]["class"].as_u64().and_then(|row| usize::try_from(row).ok()).unwrap();
    assert_eq!(profile["shared"]["stringArray"][row], "shop.Door");
    assert_eq!(data[0]["size"], 512);
    assert_eq!(data[0]["cause"]["stack"], stood.row());
    assert_eq!(data[1], json!({"type": "lock", "class": null, "size": 512}));
    let schemas = profile["meta"]["markerSchema"].as_array().unwrap();
    let lock = schemas.iter().find(|schema| schema["name"] == "lock").unwrap();
    assert_eq!(
        (&lock["chartLabel"], &lock["tableLabel"]),
        (&json!("{marker.data.class}"), &json!("{marker.data.class}"))
    );
    assert_eq!(lock["fields"][0]["format"], "unique-string");
    assert_eq!(lock["fields"][1]["format"], "bytes");
}

#[test]
fn a_programs_value_may_be_a_fraction_or_negative() {
    let mut recording = Recording::new();
    let main = recording.add_thread("main", 1, START_NS);
    let field = |key, unit| MarkerField { key, label: key, unit };
    let fields = [
        field("change", Unit::Count),
        field("ratio", Unit::Decimal),
        field("full", Unit::Percentage),
        field("none", Unit::Decimal),
    ];
    let kind = recording.marker_kind(MarkerKind { fields: &fields, ..LOCK });
    let values =
        [(-7_i64).cast_unsigned(), 2.5_f64.to_bits(), 0.25_f64.to_bits(), f64::NAN.to_bits(), 0, 0, 0, 0];
    recording
        .add_marker(Some(main), Marker { kind, began_ns: START_NS, ended_ns: START_NS, values, stack: None });
    let profile = written(&recording);
    let data = &profile["threads"][0]["markers"]["data"][0];
    assert_eq!(*data, json!({"type": "lock", "change": -7, "ratio": 2.5, "full": 0.25, "none": null}));
    let schemas = profile["meta"]["markerSchema"].as_array().unwrap();
    let lock = schemas.iter().find(|schema| schema["name"] == "lock").unwrap();
    let formats: Vec<_> = (0..3).map(|at| &lock["fields"][at]["format"]).collect();
    assert_eq!(formats, ["integer", "decimal", "percentage"]);
}

#[test]
fn allocations_are_weighed_in_bytes_in_the_order_of_time() {
    let mut recording = Recording::new();
    let stood = stack(&mut recording, &["main", "make"]);
    let main = recording.add_thread("main", 1, START_NS);
    recording.add_thread("idle", 2, START_NS);
    let stacks = [None, Some(stood)].map(|below| recording.stack_of_class(below, "byte[]"));
    for (at, stack) in [2_000_000, 1_000_000].into_iter().zip(stacks) {
        let amount = Amount { time_ns: START_NS + at, stack, amount: 4_000 + at, events: 1, context: None };
        recording.amount(main, &ALLOCATED, amount);
    }
    let profile = written(&recording);
    let table = &profile["threads"][0]["jsAllocations"];
    assert_eq!(table["weight"], json!([1_004_000, 2_004_000]));
    assert_eq!(table["stack"], json!([stacks[1].row(), stacks[0].row()]));
    let offsets = &profile["shared"]["stackTable"]["prefixOffset"];
    let caller_rows = stacks.map(|stack| stack.row() as u64 - offsets[stack.row()].as_u64().unwrap());
    assert_eq!(caller_rows, [stacks[0].row() as u64, stood.row() as u64], "the class is the leaf");
    assert_eq!(
        (&table["className"][0], &table["weightType"], &table["length"]),
        (&json!("byte[]"), &json!("bytes"), &json!(2))
    );
    assert_eq!(profile["threads"][1].get("jsAllocations"), None, "a thread that allocated nothing has none");
}

#[test]
fn a_counter_has_the_differences_of_its_readings() {
    let mut recording = Recording::new();
    recording.add_thread("main", 1, START_NS);
    recording.counter("Nothing", "never looked at", Unit::Bytes);
    let heap = recording.counter("Heap", "objects", Unit::Bytes);
    for (at, used) in [(0, 500), (1_000_000, 900), (2_000_000, 100)] {
        recording.count(heap, START_NS + at, used);
    }
    let profile = written(&recording);
    assert_eq!(profile["counters"].as_array().map(Vec::len), Some(1), "one that was never looked at is none");
    let counter = &profile["counters"][0];
    assert_eq!((&counter["name"], &counter["pid"]), (&json!("Heap"), &profile["threads"][0]["pid"]));
    assert_eq!(counter["samples"]["count"], json!([500, 400, -800]));
    assert_eq!(counter["display"]["graphType"], "line-accumulated");
}

#[test]
fn a_counter_of_spent_time_is_drawn_as_a_rate() {
    let mut recording = Recording::new();
    recording.add_thread("main", 1, START_NS);
    let orders = recording.counter("Group orders", "CPU time", Unit::Nanoseconds);
    for (at, spent) in [(0, 0), (1_000_000, 600_600), (2_000_000, 1_600_400)] {
        recording.count(orders, START_NS + at, spent);
    }
    let counter = &written(&recording)["counters"][0];
    assert_eq!(
        counter["samples"]["count"],
        json!([0, 0.601, 0.999]),
        "milliseconds, of which nothing is lost by rounding"
    );
    assert_eq!(
        (&counter["category"], &counter["display"]["graphType"]),
        (&json!("CPU"), &json!("line-rate"))
    );
}

#[test]
fn a_pause_is_in_the_tracks_of_the_threads_that_it_held_up() {
    const MS: u64 = 1_000_000;
    let mut recording = Recording::new();
    let any = stack(&mut recording, &["run"]);
    // Adds a thread with samples. Each sample has its time, and the thread's CPU time until then,
    // in milliseconds.
    let mut track_of = |trust, name: &str, tid, samples: &[(u64, u64)]| {
        let thread = recording.add_thread(name, tid, START_NS);
        for (time, cpu) in samples {
            let (time_ns, cpu_ns) = (START_NS + time * MS, cpu * MS);
            recording.sample(thread, Sample { time_ns, cpu_ns, trust, ..sample(1, any) });
        }
    };
    track_of(Trust::Unchecked, "no Java", 8, &[(99, 90), (152, 92)]);
    let mut track = |name, tid, samples| track_of(Trust::Proven, name, tid, samples);
    track("main", 1, &[(5, 1)]);
    // The pauses are from 100 to 150 ms, and from 200 to 205 ms.
    track("ran", 2, &[(98, 90), (99, 91), (153, 95), (199, 140), (206, 141)]);
    track("waited before", 3, &[(80, 10), (99, 11), (170, 12)]);
    track("in native code", 4, &[(99, 90), (151, 140)]);
    track("waited after", 7, &[(99, 90), (170, 111)]);
    track("never again", 5, &[(99, 90)]);
    track("ended within", 6, &[(99, 90), (120, 95)]);
    let pause = |began, ended| Marker {
        kind: Id::from_row(0),
        began_ns: START_NS + began * MS,
        ended_ns: START_NS + ended * MS,
        values: [Marker::text_to_value(None); 8],
        stack: None,
    };
    assert_eq!(recording.marker_kind(COLLECTION.marker).row(), 0);
    recording.add_marker(None, pause(100, 150));
    recording.add_marker(None, pause(200, 205));
    let held_up = |recording: &Recording| {
        let profile = written(recording);
        let mut held_up = Vec::new();
        for track in profile["threads"].as_array().unwrap() {
            let markers = &track["markers"];
            for (at, data) in markers["data"].as_array().unwrap().iter().enumerate() {
                if data["type"] == "held_up" {
                    let time = |column: &str| markers[column][at].as_f64().unwrap();
                    let ms = (time("endTime") - time("startTime")).round();
                    held_up.push(format!("{} {ms}", track["name"].as_str().unwrap()));
                }
            }
        }
        held_up
    };
    assert_eq!(held_up(&recording), [""; 0], "of a file that does not know of it");
    recording.marker_kind(HELD_UP);
    assert_eq!(held_up(&recording), ["ran 50"]);
}
