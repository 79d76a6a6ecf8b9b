//! A profile of a few threads, and recordings made by hand, put together.

use std::io::Cursor;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use vouch_jfr::testing::{Constants, Declared, DeclaredField, chunk, constant, event, long, plain, text};

use vouch_document::Part;

use crate::{Choice, Merged, merge};

const LONG: i64 = 20;
const STRING: i64 = 21;
const BOOLEAN: i64 = 22;
const INT: i64 = 23;
const LABEL: i64 = 30;
const SPAN: i64 = 31;
const AMOUNT: i64 = 32;
const THREAD: i64 = 40;
const CLASS: i64 = 41;
const METHOD: i64 = 42;
const FRAME: i64 = 43;
const STACK: i64 = 44;
const CAUSE: i64 = 45;
const ORDER: i64 = 100;
const PAUSE: i64 = 101;
const JVM: i64 = 102;
const SETTING: i64 = 103;
const FLAG: i64 = 104;
const ENVIRONMENT: i64 = 105;

const fn kind<'a>(id: i64, name: &'a str, event: bool, fields: &'a [DeclaredField<'a>]) -> Declared<'a> {
    Declared { id, name, annotations: &[], event, fields }
}

const fn annotated<'a>(name: &'a str, type_id: i64, annotations: &'a [(i64, &'a str)]) -> DeclaredField<'a> {
    DeclaredField { annotations, ..plain(name, type_id) }
}

const TYPES_OF_VALUES: &[Declared<'_>] = &[
    kind(LONG, "long", false, &[]),
    kind(INT, "int", false, &[]),
    kind(STRING, "java.lang.String", false, &[]),
    kind(BOOLEAN, "boolean", false, &[]),
];

const TYPES: &[Declared<'_>] = &[
    kind(LONG, "long", false, &[]),
    kind(INT, "int", false, &[]),
    kind(STRING, "java.lang.String", false, &[]),
    kind(BOOLEAN, "boolean", false, &[]),
    kind(LABEL, "jdk.jfr.Label", false, &[]),
    kind(SPAN, "jdk.jfr.Timespan", false, &[]),
    kind(AMOUNT, "jdk.jfr.DataAmount", false, &[]),
    kind(
        THREAD,
        "java.lang.Thread",
        false,
        &[
            plain("osName", STRING),
            plain("osThreadId", LONG),
            plain("javaName", STRING),
            plain("virtual", BOOLEAN),
        ],
    ),
    kind(CLASS, "java.lang.Class", false, &[plain("name", STRING)]),
    kind(METHOD, "jdk.types.Method", false, &[constant("type", CLASS), plain("name", STRING)]),
    kind(FRAME, "jdk.types.StackFrame", false, &[constant("method", METHOD), plain("lineNumber", INT)]),
    kind(
        STACK,
        "jdk.types.StackTrace",
        false,
        &[plain("truncated", BOOLEAN), DeclaredField { list: true, ..plain("frames", FRAME) }],
    ),
    kind(CAUSE, "jdk.types.GCCause", false, &[plain("cause", STRING)]),
    Declared {
        id: ORDER,
        name: "shop.Order",
        annotations: &[(LABEL, "Order")],
        event: true,
        fields: &[
            plain("startTime", LONG),
            plain("duration", LONG),
            constant("eventThread", THREAD),
            constant("stackTrace", STACK),
            annotated("user", STRING, &[(LABEL, "User")]),
            annotated("size", LONG, &[(AMOUNT, "BYTES")]),
            annotated("type", LONG, &[(SPAN, "MILLISECONDS")]),
            constant("why", CAUSE),
        ],
    },
    kind(PAUSE, "jdk.GCPhasePause", true, &[plain("startTime", LONG), plain("duration", LONG)]),
    kind(JVM, "jdk.JVMInformation", true, &[plain("startTime", LONG), plain("pid", LONG)]),
    kind(
        SETTING,
        "jdk.ActiveSetting",
        true,
        &[plain("startTime", LONG), plain("id", LONG), plain("name", STRING), plain("value", STRING)],
    ),
    kind(
        ENVIRONMENT,
        "jdk.InitialEnvironmentVariable",
        true,
        &[plain("startTime", LONG), plain("key", STRING), plain("value", STRING)],
    ),
    kind(FLAG, "jdk.LongFlag", true, &[plain("startTime", LONG), plain("value", LONG)]),
];

fn constants() -> Vec<Constants> {
    let thread = |tid, name: &str, is_virtual| [text(name), long(tid), text(name), vec![is_virtual]].concat();
    let frame = |method, line| [long(method), long(line)].concat();
    vec![
        (
            THREAD,
            vec![
                (1, thread(11, "main", 0)),
                (2, thread(12, "worker", 0)),
                (3, thread(0, "fiber", 1)),
                (4, thread(99, "unheard of", 0)),
                (5, thread(13, "pool-3", 0)),
                (6, thread(12, "pool-4", 0)),
                (7, thread(98, "unheard of", 0)),
            ],
        ),
        (CLASS, vec![(1, text("shop/Cart")), (2, text("java/util/List"))]),
        (METHOD, vec![(1, [long(1), text("sum")].concat()), (2, [long(2), text("get")].concat())]),
        // Innermost first.
        (STACK, vec![(1, [vec![0], long(2), frame(2, 7), frame(1, 5)].concat())]),
        (CAUSE, vec![(1, text("hurry"))]),
    ]
}

/// From when on in the recording, in microseconds.
fn order(start_us: i64, took_us: i64, thread: i64, user: &str) -> Vec<u8> {
    let body = [long(start_us * 1_000), long(took_us * 1_000), long(thread), long(1), text(user)];
    event(ORDER, &[body.concat(), long(512), long(3), long(1)])
}

fn pause(start_us: i64, took_us: i64) -> Vec<u8> {
    event(PAUSE, &[long(start_us * 1_000), long(took_us * 1_000)])
}

/// When the profile's clock was 0, in milliseconds since 1970.
const ZERO_MS: i64 = 1_700_000_000_000;

/// Its clock is that of the profile, but for what its header says of the time of day.
fn recording(events: &[Vec<u8>], off_us: i64) -> Vec<u8> {
    chunk(TYPES, &constants(), events, (0, ZERO_MS * 1_000_000 + off_us * 1_000))
}

fn profile() -> Json {
    let thread = |name: &str, tid: Json, life: [Json; 2], markers: Json| {
        let [began, ended] = life;
        json!({
            "name": name, "tid": tid, "pid": "7", "registerTime": began, "unregisterTime": ended,
            "processStartupTime": 0, "isMainThread": name == "main",
            "samples": {"length": 1, "stack": [0], "timeDeltas": [1.5], "weight": [1], "weightType": "samples"},
            "markers": markers,
        })
    };
    let none = json!({"length": 0, "data": [], "name": [], "startTime": [], "endTime": [], "phase": [], "category": []});
    let pauses = json!({
        "length": 4,
        "data": [{"type": "gc_pause"}, {"type": "gc_pause"}, {"type": "gc_pause"}, {"type": "gc_pause"}],
        "name": [0, 0, 0, 0],
        "startTime": [99.995, 199.995, 299.995, 399.995], "endTime": [110.005, 210.005, 310.005, 410.005],
        "phase": [1, 1, 1, 1], "category": [2, 2, 2, 2],
    });
    let mut many = thread("pool-# (2 threads)", json!(13), [json!(0), json!(null)], none.clone());
    many["vouchTids"] = json!([[14, 0, 100], [13, 100, null], [12, 210, 290]]);
    json!({
        "meta": {
            "startTime": ZERO_MS, "profilingStartTime": 0, "profilingEndTime": 1_000,
            "categories": [{"name": "Other"}, {"name": "Application"}, {"name": "VM"}, {"name": "JDK"}],
            "markerSchema": [{"name": "gc_pause"}], "extra": [{"label": "Vouch", "entries": []}],
            "vouch": {"number": 0.1},
        },
        "libs": [],
        "shared": {
            "stringArray": ["GC pause", "shop.Cart.sum"],
            "funcTable": {"length": 1, "name": [1], "isJS": [false], "relevantForJS": [true], "resource": [0], "odd": [3]},
            "frameTable": {"length": 1, "func": [0], "address": [-1], "inlineDepth": [0], "category": [1], "subcategory": [1], "line": [5]},
            "stackTable": {"length": 1, "frame": [0], "prefixOffset": [0]},
        },
        "threads": [
            thread("main", json!(11), [json!(0), json!(null)], pauses),
            // The kernel gave the number to two threads.
            thread("early", json!(12), [json!(0), json!(200)], none.clone()),
            thread("worker", json!("12.2"), [json!(300), json!(null)], none),
            many,
        ],
    })
}

fn choice(events: &[&str]) -> Choice {
    Choice {
        recording: "app.jfr".to_owned(),
        events: events.iter().map(|event| (*event).to_owned()).collect(),
        most: 100,
    }
}

fn try_merged(profile: &Json, recording: &[u8], choice: &Choice) -> Result<(Json, Merged), String> {
    let (part, merged) = merge(Part::of(profile).unwrap(), Cursor::new(recording), choice)?;
    Ok((serde_json::to_value(&part).unwrap(), merged))
}

fn merged(events: &[Vec<u8>], off_us: i64) -> (Json, Merged) {
    try_merged(&profile(), &recording(events, off_us), &choice(&[])).unwrap()
}

/// The markers of a kind: the track, when they begin and end, what they say.
fn markers(profile: &Json, kind: &str) -> Vec<(String, f64, Option<f64>, Json)> {
    let mut found = Vec::new();
    for thread in profile["threads"].as_array().unwrap() {
        let table = &thread["markers"];
        for (row, data) in table["data"].as_array().unwrap().iter().enumerate() {
            if data["type"] == kind {
                let name = thread["name"].as_str().unwrap().to_owned();
                let time = |column: &str| table[column][row].as_f64();
                found.push((name, time("startTime").unwrap(), time("endTime"), data.clone()));
            }
        }
        let starts: Vec<f64> =
            table["startTime"].as_array().unwrap().iter().filter_map(Json::as_f64).collect();
        assert!(starts.is_sorted(), "{starts:?}");
        assert_eq!(table["length"], starts.len());
    }
    found
}

fn string<'a>(profile: &'a Json, row: &Json) -> &'a str {
    let row = usize::try_from(row.as_u64().unwrap()).unwrap();
    profile["shared"]["stringArray"][row].as_str().unwrap()
}

#[test]
fn an_event_becomes_a_marker_with_its_fields() {
    let (profile, merged) = merged(&[order(500_000, 2_000, 1, "moe")], 0);
    let found = markers(&profile, "jfr.shop.Order");
    let [(track, start, end, data)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((track.as_str(), *start, *end), ("main", 500.0, Some(502.0)));
    assert_eq!(
        (string(&profile, &data["user"]), &data["size"], &data["type_"]),
        ("moe", &json!(512), &json!(3.0))
    );
    assert_eq!(string(&profile, &data["why"]), "hurry", "a type of one field is that field");
    let schema = profile["meta"]["markerSchema"].as_array().unwrap().last().unwrap();
    assert_eq!(schema["name"], "jfr.shop.Order");
    let field =
        |key: &str| schema["fields"].as_array().unwrap().iter().find(|field| field["key"] == key).unwrap();
    assert_eq!(field("user"), &json!({"key": "user", "label": "User", "format": "unique-string"}));
    assert_eq!(field("size")["format"], "bytes");
    assert_eq!(field("type_")["format"], "duration");
    assert_eq!((merged.kinds.len(), merged.kinds[0].count, merged.kinds[0].shown), (1, 1, 1));
}

#[test]
fn a_stack_is_named_as_that_of_jfr() {
    let (profile, _) = merged(&[order(500_000, 0, 1, "moe")], 0);
    let cause = &markers(&profile, "jfr.shop.Order")[0].3["cause"];
    let shared = &profile["shared"];
    let cell = |table: &str, column: &str, row: usize| {
        usize::try_from(shared[table][column][row].as_u64().unwrap()).unwrap()
    };
    let mut stack = usize::try_from(cause["stack"].as_u64().unwrap()).unwrap();
    let mut frames = Vec::new();
    loop {
        let frame = cell("stackTable", "frame", stack);
        let name = string(&profile, &shared["funcTable"]["name"][cell("frameTable", "func", frame)]);
        frames.push((
            name,
            shared["frameTable"]["line"][frame].as_u64(),
            cell("frameTable", "category", frame),
        ));
        match cell("stackTable", "prefixOffset", stack) {
            0 => break,
            offset => stack -= offset,
        }
    }
    assert_eq!(
        frames,
        [
            ("java.util.List.get", Some(7), 3),
            ("shop.Cart.sum", Some(5), 1),
            ("[JFR's stack, not checked]", None, 0)
        ]
    );
    for table in ["funcTable", "frameTable", "stackTable"] {
        for (column, cells) in shared[table].as_object().unwrap() {
            let length =
                cells.as_array().map_or(shared[table]["length"].as_u64(), |cells| Some(cells.len() as u64));
            assert_eq!(length, shared[table]["length"].as_u64(), "{column}");
        }
    }
}

#[test]
fn what_the_profile_said_it_says_still() {
    let before = profile();
    let (after, _) = merged(&[order(500_000, 2_000, 1, "moe"), order(600_000, 1, 3, "larry")], 0);
    assert_eq!(after["meta"]["vouch"], before["meta"]["vouch"]);
    for (row, thread) in before["threads"].as_array().unwrap().iter().enumerate() {
        assert_eq!(after["threads"][row]["samples"], thread["samples"]);
    }
    for table in ["funcTable", "frameTable", "stackTable"] {
        for (column, cells) in before["shared"][table].as_object().unwrap() {
            if let Some(cells) = cells.as_array() {
                assert_eq!(after["shared"][table][column].as_array().unwrap()[..cells.len()], cells[..]);
            }
        }
    }
    assert_eq!(markers(&after, "gc_pause").len(), 4);
}

#[test]
fn an_event_stands_in_the_track_of_its_thread() {
    let events = [
        order(100_000, 0, 2, "before the worker"),
        order(500_000, 0, 2, "worker"),
        order(500_000, 0, 3, "virtual"),
        order(500_000, 0, 4, "new"),
        order(500_000, 0, 5, "of many"),
        // Three threads had its number.
        order(250_000, 0, 6, "of another one of many"),
        order(500_000, 0, 0, "of all"),
        // The constant with this number is not there.
        order(500_000, 0, 77, "of somebody"),
    ];
    let (profile, _) = merged(&events, 0);
    let mut tracks: Vec<_> = markers(&profile, "jfr.shop.Order")
        .into_iter()
        .map(|(track, _, _, data)| (string(&profile, &data["user"]).to_owned(), track))
        .collect();
    tracks.sort();
    let tracks: Vec<_> = tracks.iter().map(|(user, track)| (user.as_str(), track.as_str())).collect();
    assert_eq!(
        tracks,
        [
            ("before the worker", "worker"),
            ("new", "unheard of"),
            ("of all", "main"),
            ("of another one of many", "pool-# (2 threads)"),
            ("of many", "pool-# (2 threads)"),
            ("of somebody", "other threads (JFR)"),
            ("virtual", "virtual threads (JFR)"),
            ("worker", "worker"),
        ]
    );
    let new = profile["threads"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&new["pid"], &new["samples"]["length"], &new["samples"]["stack"]),
        (&json!("7"), &json!(0), &json!([]))
    );
}

#[test]
fn threads_of_one_name_are_not_one() {
    let events = [order(500_000, 0, 4, "one"), order(500_000, 0, 7, "other"), order(600_000, 0, 4, "one")];
    let (profile, _) = merged(&events, 0);
    let tracks = profile["threads"].as_array().unwrap();
    let of = |tid: &str| {
        let track =
            tracks.iter().find(|track| track["tid"].as_str().is_some_and(|own| own.ends_with(tid))).unwrap();
        assert_eq!(track["name"], "unheard of");
        track["markers"]["length"].as_u64().unwrap()
    };
    assert_eq!((of("/99"), of("/98")), (2, 1));
    // A later recording finds each of them again.
    let (profile, _) =
        try_merged(&profile, &recording(&[order(700_000, 0, 7, "other")], 1), &choice(&[])).unwrap();
    assert_eq!(profile["threads"].as_array().unwrap().len(), tracks.len());
}

#[test]
fn a_profile_of_several_processes_is_none_of_the_recordings() {
    let mut joined = profile();
    let process = |pid: &str, spans: Json| json!({ "pid": pid, "identity": null, "spans": spans });
    let file = recording(&[order(500_000, 0, 1, "moe")], 0);
    joined["meta"]["vouchProcesses"] =
        json!([process("7", json!([[0.0, 1.0]])), process("8 (JFR)", json!([]))]);
    assert!(
        try_merged(&joined, &file, &choice(&[])).is_ok(),
        "what a recording has brought is no process of Vouch's"
    );
    joined["meta"]["vouchProcesses"] =
        json!([process("7", json!([[0.0, 1.0]])), process("8", json!([[0.0, 1.0]]))]);
    let mistake = try_merged(&joined, &file, &choice(&[])).unwrap_err();
    assert_eq!(mistake, crate::OF_SEVERAL);
}

#[test]
fn a_number_that_is_not_whole_has_its_unit_too() {
    const DOUBLE: i64 = 35;
    let odd = [
        plain("startTime", LONG),
        annotated("took", DOUBLE, &[(SPAN, "SECONDS")]),
        annotated("ticks", DOUBLE, &[(SPAN, "TICKS")]),
        plain("share", DOUBLE),
    ];
    let more = [
        kind(DOUBLE, "double", false, &[]),
        kind(SPAN, "jdk.jfr.Timespan", false, &[]),
        kind(ORDER, "shop.Odd", true, &odd),
    ];
    let types = [TYPES_OF_VALUES, &more].concat();
    let double = |value: f64| value.to_be_bytes().to_vec();
    let events = [event(ORDER, &[long(500_000_000), double(2.5), double(3e6), double(0.5)])];
    let file = chunk(&types, &[], &events, (0, ZERO_MS * 1_000_000));
    let (profile, _) = try_merged(&profile(), &file, &choice(&[])).unwrap();
    let data = &markers(&profile, "jfr.shop.Odd")[0].3;
    assert_eq!((&data["took"], &data["ticks"], &data["share"]), (&json!(2_500.0), &json!(3.0), &json!(0.5)));
}

#[test]
fn pauses_that_both_saw_correct_the_time_of_day() {
    // The day's time is half a millisecond wrong.
    let mut events: Vec<_> = (1..=4).map(|number| pause(number * 100_000, 10_000)).collect();
    events.push(order(250_000, 0, 1, "moe"));
    let (profile, merged) = merged(&events, 500);
    let (_, start, _, _) = &markers(&profile, "jfr.shop.Order")[0];
    assert_eq!(merged.clock.pauses, 4);
    assert!((start - 250.0).abs() <= merged.clock.uncertainty_ns / 1e6, "{start}");
    assert!((1_000.0..10_000.0).contains(&merged.clock.uncertainty_ns), "{:?}", merged.clock);
    assert!((merged.clock.offset_ns - 500_000.0).abs() < 10_000.0, "{:?}", merged.clock);
}

#[test]
fn another_process_has_tracks_of_its_own() {
    let jvm = event(JVM, &[long(0), long(8)]);
    let (profile, merged) = merged(&[jvm, order(500_000, 0, 1, "moe"), order(500_000, 0, 0, "all")], 0);
    assert_eq!(merged.stranger.as_deref(), Some("8"));
    let mut tracks: Vec<_> =
        markers(&profile, "jfr.shop.Order").into_iter().map(|(track, ..)| track).collect();
    tracks.sort();
    assert_eq!(tracks, ["main", "process (JFR)"]);
    assert_eq!(profile["threads"][4]["pid"], "8 (JFR)", "the profile's own main thread has nothing of it");
    assert_eq!(merged.clock.pauses, 0);
}

#[test]
fn what_was_asked_for_is_shown() {
    let setting = event(SETTING, &[long(0), long(FLAG), text("period"), text("everyChunk")]);
    let flag = event(FLAG, &[long(400_000_000), long(1)]);
    let events = [setting, flag, order(500_000, 0, 1, "moe"), order(9_000_000, 0, 1, "late")];
    let (profile, told) = merged(&events, 0);
    assert_eq!((told.left_out.join(" "), told.outside), ("jdk.LongFlag".to_owned(), 1));
    assert_eq!(markers(&profile, "jfr.shop.Order").len(), 1);
    let asked = |patterns: &[&str]| try_merged(&self::profile(), &recording(&events, 0), &choice(patterns));
    let (profile, told) = asked(&["jdk.*Flag"]).unwrap();
    assert_eq!((markers(&profile, "jfr.jdk.LongFlag").len(), told.kinds.len()), (1, 1));
    let mistake = asked(&["shop.Ordr"]).unwrap_err();
    assert!(mistake.contains("shop.Ordr") && mistake.contains("shop.Order"), "{mistake}");
}

#[test]
fn many_events_are_cut_to_the_longest() {
    let events: Vec<_> = (0..1_000).map(|row| order(500_000 + row, row, 1, "moe")).collect();
    let (profile, told) = merged(&events, 0);
    assert_eq!((told.kinds[0].count, told.kinds[0].shown), (1_000, 100));
    let shortest =
        markers(&profile, "jfr.shop.Order").into_iter().map(|(_, start, end, _)| end.unwrap() - start);
    assert!(shortest.fold(f64::INFINITY, f64::min) > 0.899);
}

#[test]
fn a_recording_is_merged_once() {
    let file = recording(&[order(500_000, 0, 1, "moe")], 0);
    let (once, _) = try_merged(&profile(), &file, &choice(&[])).unwrap();
    assert_eq!(try_merged(&once, &file, &choice(&[])).unwrap_err(), "app.jfr is in the profile already");
    let other = recording(&[order(600_000, 0, 1, "moe")], 1);
    let (twice, _) = try_merged(&once, &other, &choice(&[])).unwrap();
    assert_eq!(markers(&twice, "jfr.shop.Order").len(), 2);
    let names = twice["meta"]["markerSchema"].as_array().unwrap();
    assert_eq!(names.iter().filter(|schema| schema["name"] == "jfr.shop.Order").count(), 1);
}

#[test]
fn what_is_not_shown_is_nowhere_in_the_profile() {
    let mut events = vec![event(ENVIRONMENT, &[long(400_000_000), text("TOKEN"), text("a secret")])];
    events.push(order(400_000, 0, 1, "too short"));
    events.extend((0..400).map(|_| order(500_000, 1_000, 1, "moe")));
    events.push(order(5_000_000, 9_000, 1, "too late"));
    let (profile, told) = merged(&events, 0);
    let all = profile.to_string();
    for text in ["TOKEN", "a secret", "too short", "too late"] {
        assert!(!all.contains(text), "{text}");
    }
    assert!(all.contains("moe"));
    assert_eq!(told.left_out, ["jdk.InitialEnvironmentVariable"]);
    let asked = choice(&["jdk.InitialEnvironmentVariable"]);
    let (profile, _) = try_merged(&self::profile(), &recording(&events, 0), &asked).unwrap();
    let all = profile.to_string();
    assert!(
        all.contains("a secret") && !all.contains("moe") && !all.contains("shop.Cart.sum\",\"java"),
        "{all}"
    );
    assert_eq!(profile["shared"]["funcTable"]["length"], 1, "no stack of what is not shown");
}

#[test]
fn new_tracks_are_seen_at_once() {
    let mut before = profile();
    before["meta"]["initialVisibleThreads"] = json!([0]);
    let file = recording(&[order(500_000, 0, 4, "moe"), order(500_000, 0, 1, "larry")], 0);
    let (profile, _) = try_merged(&before, &file, &choice(&[])).unwrap();
    assert_eq!(profile["meta"]["initialVisibleThreads"], json!([0, 4]));
    // Another recording of the same thread has the same track.
    let other = recording(&[order(600_000, 0, 4, "moe")], 1);
    let (profile, _) = try_merged(&profile, &other, &choice(&[])).unwrap();
    assert_eq!(profile["threads"].as_array().unwrap().len(), 5);
    assert_eq!(
        markers(&profile, "jfr.shop.Order").iter().filter(|marker| marker.0 == "unheard of").count(),
        2
    );
}

#[test]
fn a_later_dump_of_the_same_recording_adds_what_is_new() {
    let first = recording(&[order(500_000, 0, 1, "moe")], 0);
    let second = recording(&[order(600_000, 0, 1, "larry")], 7);
    let (profile, _) = try_merged(&profile(), &first, &choice(&[])).unwrap();
    let (profile, told) = try_merged(&profile, &[first, second.clone()].concat(), &choice(&[])).unwrap();
    assert_eq!((told.shown(), markers(&profile, "jfr.shop.Order").len()), (1, 2));
    assert!(try_merged(&profile, &second, &choice(&[])).is_err());
}

#[test]
fn two_kinds_of_one_name_keep_their_fields_apart() {
    let other = [plain("startTime", LONG), annotated("user", LONG, &[(SPAN, "MILLISECONDS")])];
    let more = [kind(SPAN, "jdk.jfr.Timespan", false, &[]), kind(ORDER, "shop.Order", true, &other)];
    let types = [TYPES_OF_VALUES, &more].concat();
    let second =
        chunk(&types, &[], &[event(ORDER, &[long(600_000_000), long(7)])], (1, ZERO_MS * 1_000_000 + 1));
    let first = recording(&[order(500_000, 0, 1, "moe")], 0);
    let both = [&first[..], &second[..]].concat();
    let at_once = try_merged(&profile(), &both, &choice(&[])).unwrap().0;
    let (once, _) = try_merged(&profile(), &first, &choice(&[])).unwrap();
    let after_each_other = try_merged(&once, &second, &choice(&[])).unwrap().0;
    for profile in [at_once, after_each_other] {
        let found = markers(&profile, "jfr.shop.Order");
        assert_eq!((found.len(), &found[1].3["user_2"]), (2, &json!(7.0)));
        assert_eq!(string(&profile, &found[0].3["user"]), "moe");
        let schema = profile["meta"]["markerSchema"].as_array().unwrap().last().unwrap();
        let keys: Vec<_> = schema["fields"].as_array().unwrap().iter().map(|field| &field["key"]).collect();
        assert!(keys.contains(&&json!("user")) && keys.contains(&&json!("user_2")), "{keys:?}");
    }
}

#[test]
fn a_recording_that_was_audited_has_its_events_already() {
    let mut audited = profile();
    audited["meta"]["vouch"]["recorder"] = "Flight Recorder".into();
    let file = recording(&[order(500_000, 0, 1, "moe")], 0);
    let mistake = try_merged(&audited, &file, &choice(&[])).unwrap_err();
    assert!(mistake.contains("its events are in it already"), "{mistake}");
}

#[test]
fn what_was_merged_in_part_is_not_taken_for_all_of_it() {
    let events: Vec<_> = (0..10).map(|row| order(500_000 + row, 0, 1, "moe")).collect();
    let (some, all) = (recording(&events[..4], 0), recording(&events, 0));
    let (once, _) = try_merged(&profile(), &some, &choice(&[])).unwrap();
    let mistake = try_merged(&once, &all, &choice(&[])).unwrap_err();
    assert!(mistake.contains("a part is in the profile already"), "{mistake}");
    assert!(try_merged(&once, &some, &choice(&[])).unwrap_err().contains("in the profile already"));
    // Of the other kinds there was none.
    let flag = event(FLAG, &[long(400_000_000), long(1)]);
    let both = recording(&[&events[..], &[flag]].concat(), 0);
    let (once, _) = try_merged(&profile(), &both, &choice(&["jdk.LongFlag"])).unwrap();
    let (twice, told) = try_merged(&once, &both, &choice(&[])).unwrap();
    assert_eq!((told.shown(), markers(&twice, "jfr.shop.Order").len()), (10, 10));
    // Joined files may have a chunk twice, once as far as it had come.
    for joined in [[&some[..], &all].concat(), [&all[..], &all].concat(), [&all[..], &some].concat()] {
        let (joined, told) = try_merged(&profile(), &joined, &choice(&[])).unwrap();
        assert_eq!((told.kinds[0].count, markers(&joined, "jfr.shop.Order").len()), (10, 10));
    }
}

#[test]
fn of_many_events_those_within_the_profile_are_counted_and_shown() {
    // A hundred before it begins, while and after; the longest are outside.
    let mut before = profile();
    before["meta"]["profilingStartTime"] = json!(400);
    before["meta"]["profilingEndTime"] = json!(500);
    let events: Vec<_> =
        (0..300).map(|row| order(300_000 + row * 1_000, (row - 150).abs() + 1, 1, "moe")).collect();
    let file = recording(&events, 0);
    let (profile, told) = try_merged(&before, &file, &choice(&[])).unwrap();
    let found = markers(&profile, "jfr.shop.Order");
    assert_eq!((told.kinds[0].count, told.kinds[0].shown, found.len(), told.outside), (101, 100, 100, 199));
    assert!(found.iter().all(|(_, start, ..)| (400.0..=500.0).contains(start)));
}

#[test]
fn whose_an_event_is_in_a_track_of_many_stands_beside_it() {
    let (profile, _) = merged(&[order(500_000, 0, 3, "moe"), order(500_000, 0, 1, "larry")], 0);
    let found = markers(&profile, "jfr.shop.Order");
    let of_many = found.iter().find(|(track, ..)| track.starts_with("virtual")).unwrap();
    assert_eq!(string(&profile, &of_many.3["vouchThread"]), "fiber");
    assert!(found.iter().any(|(track, _, _, data)| track == "main" && data["vouchThread"].is_null()));
    let schema = profile["meta"]["markerSchema"].as_array().unwrap().last().unwrap();
    assert_eq!(schema["fields"][0]["label"], "Thread");
}

#[test]
fn what_the_front_end_cannot_read_is_put_into_words() {
    const TIME: i64 = 33;
    const RATE: i64 = 34;
    let odd = [
        plain("startTime", LONG),
        plain("type", STRING),
        plain("type_", STRING),
        annotated("big", LONG, &[(LABEL, "Big {id}")]),
        annotated("when", LONG, &[(TIME, "MILLISECONDS_SINCE_EPOCH")]),
        annotated("speed", LONG, &[(AMOUNT, "BITS"), (RATE, "")]),
    ];
    let more = [
        kind(LABEL, "jdk.jfr.Label", false, &[]),
        kind(TIME, "jdk.jfr.Timestamp", false, &[]),
        kind(AMOUNT, "jdk.jfr.DataAmount", false, &[]),
        kind(RATE, "jdk.jfr.Frequency", false, &[]),
        Declared {
            annotations: &[(LABEL, "Fetch {marker.data.big}")],
            ..kind(ORDER, "shop.Odd", true, &odd)
        },
    ];
    let types = [TYPES_OF_VALUES, &more].concat();
    let values =
        |big| [long(500_000_000), text("one"), text("other"), long(big), long(1_700_000_000_123), long(9)];
    let events = [event(ORDER, &values(1_234_567_890_123_499_005)), event(ORDER, &values(5))];
    let file = chunk(&types, &[], &events, (0, ZERO_MS * 1_000_000));
    let (profile, _) = try_merged(&profile(), &file, &choice(&[])).unwrap();
    let found = markers(&profile, "jfr.shop.Odd");
    let shown = |key: &str| string(&profile, &found[0].3[key]).to_owned();
    assert_eq!((shown("type_"), shown("type__")), ("one".to_owned(), "other".to_owned()));
    assert_eq!((shown("big"), string(&profile, &found[1].3["big"])), ("1234567890123499005".to_owned(), "5"));
    assert_eq!(shown("when"), "2023-11-14T22:13:20.123Z");
    let schema = profile["meta"]["markerSchema"].as_array().unwrap().last().unwrap();
    let labels: Vec<_> =
        schema["fields"].as_array().unwrap().iter().map(|field| field["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["type", "type_", "Big {id}", "when", "speed (bits per second)"]);
    assert_eq!(schema["tooltipLabel"], "Fetch (marker.data.big) (shop.Odd, by JFR)");
}

#[test]
fn a_number_that_was_one_stays_one_when_later_ones_are_too_long() {
    let odd = [plain("startTime", LONG), plain("number", LONG)];
    let types = [TYPES_OF_VALUES, &[kind(ORDER, "shop.Odd", true, &odd)]].concat();
    let file = |number, at| {
        chunk(&types, &[], &[event(ORDER, &[long(500_000_000), long(number)])], (0, ZERO_MS * 1_000_000 + at))
    };
    let big = (1 << 60) + 1;
    let add = |profile: &Json, number, at| try_merged(profile, &file(number, at), &choice(&[])).unwrap().0;
    let profile = add(&add(&add(&profile(), 0, 0), big, 1), 7, 2);
    let found = markers(&profile, "jfr.shop.Odd");
    assert_eq!(found[0].3["number"], 0);
    assert_eq!(string(&profile, &found[1].3["number_"]), big.to_string());
    assert_eq!(found[2].3["number"], 7);
    // The other way round.
    let profile = add(&add(&self::profile(), big, 0), 7, 1);
    let found = markers(&profile, "jfr.shop.Odd");
    assert_eq!(string(&profile, &found[1].3["number"]), "7");
}

#[test]
fn a_chunk_of_another_age_is_no_trap() {
    let first = recording(&[order(500_000, 0, 1, "moe")], 0);
    let mut two = [&first[..], &recording(&[order(500_000, 0, 1, "larry")], 9)].concat();
    let second = first.len();
    assert_eq!(&two[second..second + 4], b"FLR\0");
    two[second + 32] = 0x80;
    let (_, told) = try_merged(&profile(), &two, &choice(&[])).unwrap();
    assert!(told.damage.iter().any(|damage| damage.contains("another day")), "{:?}", told.damage);
}

/// What no JVM writes: names that are what they name, and types that are as wide as they are deep.
#[test]
fn what_has_no_end_comes_to_one() {
    let wide = vec![plain("wide", CAUSE); 60];
    let wider = vec![plain("wider", METHOD); 60];
    let deep = vec![plain("deep", LONG); 60];
    let (named, listed) =
        ([constant("name", CLASS)], [DeclaredField { list: true, ..constant("name", FRAME) }]);
    let own = [plain("startTime", LONG), constant("class", CLASS), constant("list", FRAME)];
    let own = [&own[..], &wide].concat();
    let more = [
        kind(CLASS, "java.lang.Class", false, &named),
        kind(FRAME, "shop.List", false, &listed),
        kind(METHOD, "shop.Deep", false, &deep),
        kind(CAUSE, "shop.Wide", false, &wider),
        kind(ORDER, "shop.Order", true, &own),
    ];
    let types = [TYPES_OF_VALUES, &more].concat();
    let list = [long(20), vec![1; 20]].concat();
    let constants = [(CLASS, vec![(1, long(1))]), (FRAME, vec![(1, list)])];
    let values = [long(500_000_000), long(1), long(1), vec![0; 60 * 60 * 60]].concat();
    let file = chunk(&types, &constants, &[event(ORDER, &[values])], (0, ZERO_MS * 1_000_000));
    let (profile, told) = try_merged(&profile(), &file, &choice(&[])).unwrap();
    assert_eq!(told.shown(), 1);
    let schema = profile["meta"]["markerSchema"].as_array().unwrap().last().unwrap();
    assert!((2..=300).contains(&schema["fields"].as_array().unwrap().len()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1_500), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is changed in a recording, there is a profile or a sentence.
    #[test]
    fn a_damaged_recording_gives_a_profile_or_a_sentence(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let events = [pause(100_000, 10_000), order(500_000, 2_000, 1, "moe"), order(600_000, 1, 2, "larry")];
        let mut file = recording(&events, 0);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Ok((profile, _)) = try_merged(&profile(), &file, &choice(&[])) {
            markers(&profile, "jfr.shop.Order");
        }
    }
}

#[test]
fn mistakes_are_sentences() {
    let with = |profile: &Json, file: &[u8]| try_merged(profile, file, &choice(&[])).unwrap_err();
    assert_eq!(with(&profile(), b""), "nothing could be read of app.jfr: it is empty");
    assert_eq!(
        with(&profile(), &[b'x'; 100]),
        "nothing could be read of app.jfr: it is no Flight Recorder file"
    );
    assert!(with(&json!({"meta": {}}), &recording(&[], 0)).starts_with("the profile is none of Vouch's: "));
    let two = [recording(&[], 0), chunk(TYPES, &[], &[], (-5, 0))].concat();
    assert!(with(&profile(), &two).contains("more than one run"));
}
