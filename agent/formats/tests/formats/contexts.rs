//! Tests of contexts in the timeline: a marker covers its own samples and no others, and a column
//! has the context of each sample.

use serde_json::{Value, json};
use vouch_recording::{ContextId, Recording, Sample};

use crate::common::contexts::{context, kind};
use crate::common::{START_NS, sample, stack, written};

const MS: u64 = 1_000_000;

fn text(profile: &Value, index: &Value) -> String {
    let index = usize::try_from(index.as_u64().unwrap()).unwrap();
    profile["shared"]["stringArray"][index].as_str().unwrap().to_owned()
}

/// Converts a time of the profile to milliseconds after the beginning of the recording.
fn into(time: &Value) -> f64 {
    let start = f64::from(u32::try_from(START_NS / MS).unwrap());
    ((time.as_f64().unwrap() - start) * 1000.0).round() / 1000.0
}

/// Adds a thread with one sample each millisecond. The samples are in these contexts.
fn thread(recording: &mut Recording, name: &str, contexts: &[Option<ContextId>]) {
    let any = stack(recording, &["main"]);
    let thread = recording.add_thread(name, 1, START_NS);
    for (at, context) in (1..).zip(contexts) {
        recording.sample(thread, Sample { context: *context, ..sample(at * MS, any) });
    }
}

#[test]
fn a_marker_holds_its_samples_and_no_others() {
    let mut recording = Recording::new();
    let request = kind(&mut recording, "Request", &["user", "type"]);
    let step = kind(&mut recording, "Step", &["name"]);
    let moe = context(&mut recording, None, request, &["moe", "store"]);
    let read = context(&mut recording, Some(moe), step, &["read"]);
    let larry = context(&mut recording, None, request, &["larry", "fetch"]);
    thread(&mut recording, "main", &[None, Some(moe), Some(read), Some(moe), Some(larry), None, Some(moe)]);
    let profile = written(&recording);
    let markers = &profile["threads"][0]["markers"];
    assert_eq!(markers["length"], 4);
    let markers: Vec<_> = (0..4)
        .map(|at| {
            let data = &markers["data"][at];
            let field = |key: &str| data.get(key).map(|value| text(&profile, value)).unwrap_or_default();
            let times = (into(&markers["startTime"][at]), into(&markers["endTime"][at]));
            assert_eq!(markers["phase"][at], 1);
            (text(&profile, &markers["name"][at]), field("field1"), field("field2"), times)
        })
        .collect();
    let marker = |name: &str, first: &str, second: &str, times| {
        (name.to_owned(), first.to_owned(), second.to_owned(), times)
    };
    assert_eq!(
        markers,
        [
            marker("Request", "moe", "store", (1.001, 4.001)),
            marker("Step", "read", "", (2.001, 3.001)),
            marker("Request", "larry", "fetch", (4.001, 5.001)),
            marker("Request", "moe", "store", (6.001, 7.001)),
        ]
    );
}

#[test]
fn each_sample_has_its_context_and_each_context_its_fields() {
    let mut recording = Recording::new();
    let request = kind(&mut recording, "Request", &["user"]);
    let step = kind(&mut recording, "Step", &["name"]);
    let moe = context(&mut recording, None, request, &["moe"]);
    let read = context(&mut recording, Some(moe), step, &["read"]);
    thread(&mut recording, "main", &[None, Some(read), Some(moe)]);
    thread(&mut recording, "idle", &[None]);
    let profile = written(&recording);
    assert_eq!(
        profile["threads"][0]["samples"]["vouchContext"],
        json!([null, 1, 0, null, null]),
        "idle in the end"
    );
    assert!(profile["threads"][1]["samples"].get("vouchContext").is_none());
    let table = &profile["meta"]["vouchContexts"];
    assert_eq!(
        (&table["length"], &table["outer"], &table["kind"]),
        (&json!(2), &json!([null, 0]), &json!([0, 1]))
    );
    assert_eq!(text(&profile, &table["kinds"][0]["label"]), "Request");
    assert_eq!(text(&profile, &table["kinds"][0]["fields"][0]), "user");
    assert_eq!(text(&profile, &table["values"][1][0]), "read");
    let schemas = profile["meta"]["markerSchema"].as_array().unwrap();
    let schema = schemas.iter().find(|schema| schema["name"] == "context-1").unwrap();
    assert_eq!(
        (&schema["fields"][0]["key"], &schema["fields"][0]["label"]),
        (&json!("field1"), &json!("USER"))
    );
    assert_eq!(schema["chartLabel"], "{marker.data.field1}");
}

#[test]
fn a_profile_without_contexts_has_no_trace_of_them() {
    let mut recording = Recording::new();
    thread(&mut recording, "main", &[None, None]);
    let text = written(&recording).to_string();
    assert!(!text.contains("vouchContext") && !text.contains("context-"));
}

#[test]
fn a_marker_covers_no_idle_time_and_a_shared_track_has_no_markers() {
    let mut recording = Recording::new();
    let step = kind(&mut recording, "Step", &["name"]);
    let read = context(&mut recording, None, step, &["read"]);
    let any = stack(&mut recording, &["main"]);
    let main = recording.add_thread("main", 1, START_NS);
    // The thread is idle for 100 ms after its second sample, and not after its third one, which is
    // late.
    for (at, cpu) in [(1, 1), (2, 2), (103, 3), (106, 6)] {
        recording.sample(main, Sample { context: Some(read), cpu_ns: cpu * MS, ..sample(at * MS, any) });
    }
    let profile = written(&recording);
    let markers = &profile["threads"][0]["markers"];
    let times: Vec<_> =
        (0..2).map(|at| (into(&markers["startTime"][at]), into(&markers["endTime"][at]))).collect();
    assert_eq!((&markers["length"], times), (&json!(2), vec![(0.0, 2.001), (102.0, 106.001)]));
    for at in 0..1_100 {
        thread(&mut recording, &format!("worker-{at}"), &[Some(read), None, Some(read)]);
    }
    let profile = written(&recording);
    let tracks = profile["threads"].as_array().unwrap();
    let shared =
        tracks.iter().find(|track| track["name"].as_str().unwrap().contains("1,100 threads")).unwrap();
    assert_eq!((&shared["markers"]["length"], tracks[0]["markers"]["length"].as_u64()), (&json!(0), Some(2)));
    assert!(shared["samples"].get("vouchContext").is_some());
}
