//! Makes a profile of a few threads, and recordings to merge into it, and reads merged profiles.

use std::io::Cursor;

use crate::document::Part;
use serde_json::{Value as Json, json};
use vouch_jfr::testing::{Constants, Declared, DeclaredField, chunk, constant, event, long, plain, text};

use crate::merge::{Choice, Merged, merge};

pub const LONG: i64 = 20;
pub const STRING: i64 = 21;
const BOOLEAN: i64 = 22;
const INT: i64 = 23;
pub const LABEL: i64 = 30;
pub const SPAN: i64 = 31;
pub const AMOUNT: i64 = 32;
const THREAD: i64 = 40;
pub const CLASS: i64 = 41;
pub const METHOD: i64 = 42;
pub const FRAME: i64 = 43;
const STACK: i64 = 44;
pub const CAUSE: i64 = 45;
pub const ORDER: i64 = 100;
const PAUSE: i64 = 101;
pub const JVM: i64 = 102;
pub const SETTING: i64 = 103;
pub const FLAG: i64 = 104;
pub const ENVIRONMENT: i64 = 105;

pub const fn kind<'a>(id: i64, name: &'a str, event: bool, fields: &'a [DeclaredField<'a>]) -> Declared<'a> {
    Declared { id, name, annotations: &[], event, fields }
}

pub const fn annotated<'a>(
    name: &'a str,
    type_id: i64,
    annotations: &'a [(i64, &'a str)],
) -> DeclaredField<'a> {
    DeclaredField { annotations, ..plain(name, type_id) }
}

pub const TYPES_OF_VALUES: &[Declared<'_>] = &[
    kind(LONG, "long", false, &[]),
    kind(INT, "int", false, &[]),
    kind(STRING, "java.lang.String", false, &[]),
    kind(BOOLEAN, "boolean", false, &[]),
];

pub const TYPES: &[Declared<'_>] = &[
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
        // The frames of a stack are innermost first.
        (STACK, vec![(1, [vec![0], long(2), frame(2, 7), frame(1, 5)].concat())]),
        (CAUSE, vec![(1, text("hurry"))]),
    ]
}

/// Makes an event `Order` that begins at this time of the recording, in microseconds.
pub fn order(start_us: i64, took_us: i64, thread: i64, user: &str) -> Vec<u8> {
    let body = [long(start_us * 1_000), long(took_us * 1_000), long(thread), long(1), text(user)];
    event(ORDER, &[body.concat(), long(512), long(3), long(1)])
}

pub fn pause(start_us: i64, took_us: i64) -> Vec<u8> {
    event(PAUSE, &[long(start_us * 1_000), long(took_us * 1_000)])
}

/// The epoch time at which the profile's clock was 0, in milliseconds.
pub const ZERO_MS: i64 = 1_700_000_000_000;

/// Makes a recording with the profile's clock. The time of day in its header is off by `off_us`.
pub fn recording(events: &[Vec<u8>], off_us: i64) -> Vec<u8> {
    chunk(TYPES, &constants(), events, (0, ZERO_MS * 1_000_000 + off_us * 1_000))
}

pub fn profile() -> Json {
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
            // The kernel used the same id for two threads, one after the other.
            thread("early", json!(12), [json!(0), json!(200)], none.clone()),
            thread("worker", json!("12.2"), [json!(300), json!(null)], none),
            many,
        ],
    })
}

pub fn choice(events: &[&str]) -> Choice {
    Choice {
        recording: "app.jfr".to_owned(),
        events: events.iter().map(|event| (*event).to_owned()).collect(),
        most: 100,
    }
}

pub fn try_merged(profile: &Json, recording: &[u8], choice: &Choice) -> Result<(Json, Merged), crate::Error> {
    let (part, merged) = merge(Part::from_value(profile).unwrap(), Cursor::new(recording), choice)?;
    Ok((serde_json::to_value(&part).unwrap(), merged))
}

pub fn merged(events: &[Vec<u8>], off_us: i64) -> (Json, Merged) {
    try_merged(&profile(), &recording(events, off_us), &choice(&[])).unwrap()
}

/// Returns the markers of a kind: the track, the start, the end, and the data of each.
pub fn markers(profile: &Json, kind: &str) -> Vec<(String, f64, Option<f64>, Json)> {
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

pub fn string<'a>(profile: &'a Json, row: &Json) -> &'a str {
    let row = usize::try_from(row.as_u64().unwrap()).unwrap();
    profile["shared"]["stringArray"][row].as_str().unwrap()
}
