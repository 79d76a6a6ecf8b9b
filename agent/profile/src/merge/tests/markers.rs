//! Tests that an event becomes a marker with its fields, its stack and its time.

use serde_json::{Value as Json, json};
use vouch_jfr::testing::{Declared, chunk, event, long, plain, text};

use super::common::{
    AMOUNT, LABEL, LONG, ORDER, SPAN, STRING, TYPES_OF_VALUES, ZERO_MS, annotated, choice, kind, markers,
    merged, order, pause, profile, recording, string, try_merged,
};

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
    // The recording's time of day is wrong by half a millisecond.
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
    // The same recordings are added in the other order.
    let profile = add(&add(&self::profile(), big, 0), 7, 1);
    let found = markers(&profile, "jfr.shop.Odd");
    assert_eq!(string(&profile, &found[1].3["number"]), "7");
}
