//! Tests with valid and damaged recordings.

use std::io::Cursor;

use crate::testing::{Declared, DeclaredField, chunk, constant, event, long, plain, text};
use crate::{Chunk, Reader, Unit, Value};
use proptest::prelude::*;

const LONG: i64 = 20;
const STRING: i64 = 21;
const LABEL: i64 = 22;
const SPAN: i64 = 23;
const CATEGORY: i64 = 24;
const CLASS: i64 = 25;
const BYTE: i64 = 26;
const UNSIGNED: i64 = 27;
const ORDER: i64 = 100;

const TYPES: &[Declared<'_>] = &[
    simple(LONG, "long"),
    simple(STRING, "java.lang.String"),
    simple(LABEL, "jdk.jfr.Label"),
    simple(SPAN, "jdk.jfr.Timespan"),
    simple(CATEGORY, "jdk.jfr.Category"),
    // The type of classes refers to itself.
    Declared {
        id: CLASS,
        name: "java.lang.Class",
        annotations: &[],
        event: false,
        fields: &[plain("name", STRING), constant("outer", CLASS)],
    },
    Declared {
        id: ORDER,
        name: "shop.Order",
        annotations: &[(LABEL, "Order"), (CATEGORY, "Shop")],
        event: true,
        fields: &[
            plain("startTime", LONG),
            plain("user", STRING),
            constant("class", CLASS),
            DeclaredField {
                list: true,
                annotations: &[(LABEL, "Steps"), (SPAN, "MILLISECONDS")],
                ..plain("steps", LONG)
            },
        ],
    },
];

const fn simple(id: i64, name: &str) -> Declared<'_> {
    Declared { id, name, annotations: &[], event: false, fields: &[] }
}

fn order(start: i64, user: &str, class: i64) -> Vec<u8> {
    event(ORDER, &[long(start), text(user), long(class), long(2), long(3), long(-4)])
}

fn valid_chunk() -> Vec<u8> {
    let classes =
        vec![(1, [text("shop/Cart"), long(2)].concat()), (2, [text("shop/Shop"), long(1)].concat())];
    let events = [order(5, "moe", 1), order(6, "larry", 7)];
    chunk(TYPES, &[(CLASS, classes)], &events, (1_000, 2_000))
}

/// Reads all chunks of a file, and the errors for damaged chunks.
fn read(file: &[u8]) -> (Vec<Chunk>, Vec<String>) {
    let (mut chunks, mut errors) = (Vec::new(), Vec::new());
    let mut reader = Reader::new(Cursor::new(file)).unwrap();
    while let Some(chunk) = reader.next_chunk().unwrap() {
        match chunk {
            Ok(chunk) => chunks.push(chunk),
            Err(error) => errors.push(error.to_string()),
        }
    }
    (chunks, errors)
}

fn events(chunk: &Chunk) -> Vec<Vec<Value>> {
    chunk.events().map(|event| event.unwrap().values().unwrap()).collect()
}

#[test]
fn a_chunk_describes_its_own_events() {
    let (chunks, errors) = read(&[valid_chunk(), valid_chunk()].concat());
    assert_eq!((chunks.len(), errors.len()), (2, 0));
    let chunk = &chunks[1];
    assert_eq!((chunk.header.start_ticks, chunk.header.start_unix_ns), (1_000, 2_000));
    let kind = chunk.type_of(ORDER).unwrap();
    assert_eq!(
        (kind.label.as_str(), &kind.category[..], kind.event),
        ("Order", &["Shop".to_owned()][..], true)
    );
    let steps = &kind.fields[3];
    assert_eq!((steps.label.as_str(), steps.unit, steps.list), ("Steps", Unit::Span(1_000_000), true));
    let list = Value::List(vec![Value::Integer(3), Value::Integer(-4)]);
    let wanted = |start, user: &str, class| {
        vec![Value::Integer(start), Value::Text(user.to_owned()), Value::Constant(CLASS, class), list.clone()]
    };
    assert_eq!(events(chunk), [wanted(5, "moe", 1), wanted(6, "larry", 7)]);
    let cart = vec![Value::Text("shop/Cart".to_owned()), Value::Constant(CLASS, 2)];
    assert_eq!(chunk.constant(CLASS, 1), Some(Value::Object(CLASS, cart)));
    assert_eq!(chunk.constant(CLASS, 7), None);
}

#[test]
fn selected_values_equal_all_values() {
    let chunks = read(&valid_chunk()).0;
    for event in chunks[0].events().map(Result::unwrap) {
        let all = event.values().unwrap();
        for first in 0..all.len() {
            for second in first + 1..all.len() {
                assert_eq!(
                    event.selected_values(&[first, second]),
                    Ok(vec![all[first].clone(), all[second].clone()])
                );
            }
        }
        assert_eq!(event.selected_values(&[]), Ok(Vec::new()));
    }
    let named = chunks[0].resolve(&Value::Constant(CLASS, 1));
    assert!(matches!(named, Value::Object(CLASS, _)), "{named:?}");
    assert_eq!(chunks[0].resolve(&Value::Constant(CLASS, 7)), Value::Null);
}

#[test]
fn a_file_that_is_not_a_recording_is_refused_with_a_reason() {
    let error_of = |file: &[u8]| read(file).1.concat();
    assert_eq!(read(&[]).1, [""; 0]);
    assert_eq!(error_of(b"PK\x03\x04 and some more"), "it is not a Flight Recorder file");
    assert_eq!(error_of(&[b'x'; 200]), "it is not a Flight Recorder file");
    let with = |at: usize, byte: u8| {
        let mut file = valid_chunk();
        file[at] = byte;
        file
    };
    assert_eq!(error_of(&with(5, 9)), "it has format 9, and this version of vouch can read 1 and 2");
    assert!(error_of(&with(8, 1)).contains("at most 1,024 are read"));
    let mut begun = valid_chunk();
    begun[8..16].fill(0);
    assert_eq!(error_of(&begun), "its last chunk is still empty");
    assert!(error_of(&with(20, 9)).is_empty(), "constants elsewhere cost the constants alone");
    assert!(read(&with(20, 9)).0[0].damage.is_some());
    assert!(error_of(&with(28, 9)).contains("an offset without such an event"));
}

#[test]
fn overlapping_constant_pools_are_read_once() {
    // The last constant pool refers to another one that is inside of it.
    let head = |delta| [long(0), long(0), long(delta), vec![0]].concat();
    let inner = event(1, &[head(0), long(1), long(STRING), long(1), long(1), text("inner")]);
    let mut file = valid_chunk();
    let at = i64::try_from(file.len()).unwrap();
    let outer = event(1, &[head(7), long(1), long(STRING), long(1), long(2), text("outer"), inner]);
    file.extend(outer);
    let length = i64::try_from(file.len()).unwrap();
    file[8..16].copy_from_slice(&length.to_be_bytes());
    file[16..24].copy_from_slice(&at.to_be_bytes());
    let chunk = &read(&file).0[0];
    assert_eq!(chunk.constant(STRING, 2), Some(Value::Text("outer".to_owned())));
    assert_eq!(chunk.constant(STRING, 1), None);
    assert!(chunk.damage.is_some());
}

#[test]
fn unsigned_numbers_are_not_sign_extended() {
    let field = |name, type_id| DeclaredField { annotations: &[(UNSIGNED, "")], ..plain(name, type_id) };
    let types = [
        simple(LONG, "long"),
        simple(BYTE, "byte"),
        simple(UNSIGNED, "jdk.jfr.Unsigned"),
        Declared {
            id: ORDER,
            name: "shop.Order",
            annotations: &[],
            event: true,
            fields: &[field("small", BYTE), plain("signed", BYTE)],
        },
    ];
    let file = chunk(&types, &[], &[event(ORDER, &[vec![200, 200]])], (0, 0));
    assert_eq!(events(&read(&file).0[0]), [[Value::Integer(200), Value::Integer(-56)]]);
}

#[test]
fn the_complete_part_of_a_truncated_file_is_read() {
    let whole = [valid_chunk(), valid_chunk()].concat();
    let first = valid_chunk().len();
    for length in [first + 1, first + 30, first + 100, whole.len() - 1] {
        let (chunks, errors) = read(&whole[..length]);
        assert_eq!(errors.len(), 1, "at {length}");
        assert_eq!(events(&chunks[0]).len(), 2);
    }
}

#[test]
fn an_event_that_is_too_long_ends_its_chunk() {
    let mut file = valid_chunk();
    let second = 68 + order(5, "moe", 1).len();
    file[second..second + 4].copy_from_slice(&[0xff, 0xff, 0xff, 0x7f]);
    let (chunks, _) = read(&file);
    let results: Vec<_> =
        chunks[0].events().map(|event| event.map(|_| ()).map_err(|damage| damage.what)).collect();
    assert_eq!(results, [Ok(()), Err("an event of a size that cannot be")]);
    // An event of an undeclared type has a size, so the next event is read.
    let mut file = valid_chunk();
    file[68 + 4] = 99;
    let (chunks, _) = read(&file);
    let results: Vec<_> = chunks[0].events().map(|event| event.is_ok()).collect();
    assert_eq!(results, [false, true]);
    // A zero-sized event must not loop forever.
    file[second..second + 4].fill(0x80);
    let (chunks, _) = read(&file);
    assert_eq!(chunks[0].events().count(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(5_000), failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is changed in a file, reading it must end without a panic, within the memory that
    /// its size allows.
    #[test]
    fn a_damaged_file_is_read_to_its_end(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut file = [valid_chunk(), valid_chunk()].concat();
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if is_cut {
            file.truncate(cut.index(file.len()));
        }
        let (chunks, _) = read(&file);
        for chunk in chunks {
            for event in chunk.events().flatten() {
                let _ = event.values();
            }
            for index in 0..3 {
                let _ = chunk.constant(CLASS, index);
            }
        }
    }
}
