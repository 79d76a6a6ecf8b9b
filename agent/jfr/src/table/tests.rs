//! Tests that the rows of a table equal the values that are decoded from the same bytes.

use std::io::Cursor;

use proptest::prelude::*;

use crate::testing::{Constants, Declared, DeclaredField, chunk, constant, long, plain};
use crate::{Chunk, Reader, Value};

const LONG: i64 = 20;
const INT: i64 = 21;
const BYTE: i64 = 22;
const BOOLEAN: i64 = 23;
const METHOD: i64 = 40;
const FRAME: i64 = 41;
const STACK: i64 = 42;

const fn declared<'a>(id: i64, name: &'a str, fields: &'a [DeclaredField<'a>]) -> Declared<'a> {
    Declared { id, name, annotations: &[], event: false, fields }
}

/// Writes stacks of frames, with a byte field or with variable-length numbers alone, and reads the
/// file.
fn read(with_byte: bool, frames: &[(i64, i32, i32)], cut: bool) -> Chunk {
    const PACKED: &[DeclaredField<'_>] = &[constant("method", METHOD), plain("line", INT), plain("bci", INT)];
    const MIXED: &[DeclaredField<'_>] =
        &[constant("method", METHOD), plain("type", BYTE), plain("line", INT), plain("bci", INT)];
    let method = [plain("id", LONG)];
    let stack =
        [DeclaredField { list: true, ..plain("frames", FRAME) }, plain("cut", BOOLEAN), plain("id", LONG)];
    let types = [
        declared(LONG, "long", &[]),
        declared(INT, "int", &[]),
        declared(BYTE, "byte", &[]),
        declared(BOOLEAN, "boolean", &[]),
        declared(METHOD, "Method", &method),
        declared(FRAME, "Frame", if with_byte { MIXED } else { PACKED }),
        declared(STACK, "Stack", &stack),
    ];
    // The JVM writes a negative int with nine bytes.
    let frame = |(method, line, bci): &(i64, i32, i32)| {
        let kind = if with_byte { vec![0xff] } else { vec![] };
        [long(*method), kind, long((*line).into()), long((*bci).into())].concat()
    };
    let count = long(i64::try_from(frames.len()).unwrap());
    let all: Vec<u8> = frames.iter().flat_map(frame).collect();
    let constants: Constants = (STACK, vec![(7, [count, all, vec![u8::from(cut)], long(-3)].concat())]);
    let bytes = chunk(&types, &[constants], &[], (0, 0));
    Reader::new(Cursor::new(bytes)).unwrap().next_chunk().unwrap().unwrap().unwrap()
}

/// Reads the rows of all stacks by decoding their values.
fn rows_by_values(chunk: &Chunk) -> Vec<[i64; 3]> {
    let Some(Value::Object(_, fields)) = chunk.constant(STACK, 7) else { panic!("no stack") };
    let Value::List(frames) = &fields[0] else { panic!("no frames") };
    let rows = frames.iter().map(|frame| {
        let Value::Object(type_id, values) = frame else { panic!("no frame") };
        let frame_type = chunk.type_of(*type_id).unwrap();
        ["method", "line", "bci"].map(|name| match values[frame_type.field(name).unwrap()] {
            Value::Integer(number) | Value::Constant(METHOD, number) => number,
            ref other => panic!("{other:?}"),
        })
    });
    rows.collect()
}

proptest! {
    #[test]
    fn rows_equal_decoded_values(
        with_byte in any::<bool>(),
        frames in prop::collection::vec(any::<(i64, i32, i32)>(), 0..20),
        cut in any::<bool>(),
        most in 0_usize..25,
    ) {
        let chunk = read(with_byte, &frames, cut);
        prop_assert!(chunk.damage.is_none());
        let table = chunk.table(STACK, "frames", "cut", ["method", "line", "bci"]).unwrap();
        prop_assert_eq!([0, 1, 2].map(|column| table.constants(column)), [Some(METHOD), None, None]);
        let mut rows = vec![[1, 2, 3]];
        let read = chunk.rows(&table, 7, most, &mut rows).unwrap();
        let all = rows_by_values(&chunk);
        // Nothing after a list that is too long is read.
        prop_assert_eq!(read, (cut && frames.len() <= most, frames.len()));
        prop_assert_eq!(&rows[1..], &all[..most.min(all.len())]);
        prop_assert!(chunk.rows(&table, 8, most, &mut rows).is_none());
    }
}

#[test]
fn a_list_without_integer_columns_is_not_a_table() {
    let chunk = read(true, &[(1, 2, 3)], false);
    let table = |list, columns| chunk.table(STACK, list, "cut", columns).is_some();
    assert!(table("frames", ["method", "line", "bci"]));
    assert!(!table("id", ["method", "line", "bci"]) && !table("frames", ["method", "line", "nothing"]));
    assert!(chunk.table(METHOD, "frames", "cut", ["method"]).is_none());
}
