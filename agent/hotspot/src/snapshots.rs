//! What JDKs say of the rows of [`fields`], so that the layout of each is tested without a JDK.
//!
//! `snapshots/JDK.txt` has a line for each name that the JDK has on x86-64, with its offset, size
//! or value. A static field has no value there, because its address changes.

use std::collections::HashMap;
use std::ffi::{CStr, CString};

use crate::fields::{self, JdkName, Kind, Row};
use crate::vmstructs::{CodeLayout, Table};
use crate::walker_layout::Tables;

const JDKS: [(u32, &str); 7] = [
    (8, include_str!("snapshots/8.txt")),
    (11, include_str!("snapshots/11.txt")),
    (17, include_str!("snapshots/17.txt")),
    (21, include_str!("snapshots/21.txt")),
    (25, include_str!("snapshots/25.txt")),
    (26, include_str!("snapshots/26.txt")),
    (27, include_str!("snapshots/27.txt")),
];

/// How a line calls the table that has a name. Flags and functions are in no snapshot.
fn word(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Field => Some("field"),
        Kind::StaticField => Some("static"),
        Kind::Type => Some("type"),
        Kind::Constant => Some("constant"),
        Kind::Flag | Kind::Function => None,
    }
}

/// The values of a snapshot, by the words before them.
fn values(snapshot: &str) -> HashMap<&str, usize> {
    snapshot
        .lines()
        .map(|line| match line.rsplit_once(' ') {
            Some((name, value)) if !line.starts_with("static") => (name, value.parse().unwrap()),
            _ => (line, 0),
        })
        .collect()
}

fn key(kind: Kind, name: &JdkName) -> Option<String> {
    Some(format!("{} {name}", word(kind)?))
}

#[test]
fn each_name_is_in_the_jdks_that_its_row_says() {
    for (jdk, snapshot) in JDKS {
        let values = values(snapshot);
        let mut names = 0;
        for (kind, row) in fields::ALL {
            for name in row.names {
                let Some(key) = key(*kind, name) else { continue };
                let is_there = values.contains_key(key.as_str());
                assert_eq!(is_there, name.is_in(jdk), "JDK {jdk}: {key}");
                names += usize::from(is_there);
            }
        }
        assert_eq!(names, values.len(), "JDK {jdk} has lines of names that no row has");
    }
}

/// Memory that is never freed, as a JVM's tables are not.
fn leak(words: Vec<usize>) -> usize {
    words.leak().as_ptr() as usize
}

fn text(text: &str) -> usize {
    CString::new(text).unwrap().into_raw() as usize
}

/// The tables that a JVM of this JDK exports, with entries of four words: a type's name, a field's
/// name, an offset, size or value, and an address.
fn table(jdk: u32, values: &HashMap<&str, usize>) -> Table {
    let interpreter = interpreter(values);
    let mut entries = [(); 3].map(|()| Vec::new());
    let is = |row: &Row, other: &Row| std::ptr::eq(row, other);
    for (kind, row) in fields::ALL {
        for name in row.names {
            let value = key(*kind, name).and_then(|key| values.get(key.as_str()).copied());
            let Some(value) = value else { continue };
            let named = text(name.type_name.unwrap_or(name.name));
            let (table, address) = match kind {
                Kind::Type => (1, 0),
                Kind::Constant => (2, 0),
                // What a static field refers to has only zeros, but for these.
                _ if is(row, &fields::ABSTRACT_INTERPRETER_CODE.0) => (0, leak(vec![interpreter])),
                _ if is(row, &fields::VM_MAJOR_VERSION.0) => {
                    (0, leak(vec![if jdk == 8 { 25 } else { jdk as usize }]))
                }
                _ if is(row, &fields::VM_MINOR_VERSION.0) => (0, leak(vec![60])),
                _ => (0, leak(vec![leak(vec![0; 64])])),
            };
            entries[table].extend([named, text(name.name), value, address]);
        }
    }
    let [fields, types, constants] = entries.map(|mut entries| {
        entries.extend([0; 4]);
        leak(entries)
    });
    let symbol = |name: &CStr| {
        let word = match name.to_str().unwrap() {
            "gHotSpotVMStructs" => fields,
            "gHotSpotVMTypes" => types,
            "gHotSpotVMIntConstants" => constants,
            name if name.ends_with("ArrayStride") => 32,
            name if name.ends_with("FieldNameOffset") => 8,
            name if name.ends_with("NameOffset") => 0,
            name if name.ends_with("AddressOffset") => 24,
            _ => 16,
        };
        Some(leak(vec![word]))
    };
    Table::new(symbol).unwrap()
}

/// A StubQueue with a piece of the interpreter for each name that the walker looks for.
fn interpreter(values: &HashMap<&str, usize>) -> usize {
    const PIECE: usize = 64;
    let value = |name: &str| values[format!("field {name}").as_str()];
    let [size, description] = [&fields::INTERPRETER_CODELET_SIZE, &fields::INTERPRETER_CODELET_DESCRIPTION]
        .map(|field| value(&field.0.to_string()));
    let names =
        ["method entry point (kind = zerolocals)", "return entry points", "deoptimization entry points"];
    let mut pieces = vec![0; names.len() * PIECE / 8];
    for (piece, name) in pieces.chunks_mut(PIECE / 8).zip(names) {
        piece[size / 8] = PIECE;
        piece[description / 8] = text(name);
    }
    let mut queue = vec![0_usize; 8];
    queue[value(&fields::STUB_QUEUE_STUB_BUFFER.0.to_string()) / 8] = leak(pieces);
    let limit = value(&fields::STUB_QUEUE_BUFFER_LIMIT.0.to_string());
    queue[limit / 8] |= (names.len() * PIECE) << (limit % 8 * 8);
    leak(queue)
}

#[test]
fn the_layout_of_each_jdk_is_found() {
    for (jdk, snapshot) in JDKS {
        let values = values(snapshot);
        let table = table(jdk, &values);
        assert_eq!(table.missing(jdk), Vec::<String>::new(), "JDK {jdk}");
        let code = CodeLayout::new(&table).unwrap();
        let jvm = code.jvm_layout(0).unwrap();
        let layout = Tables(table).layout(&jvm, &code).unwrap();
        assert_eq!(layout.state, values["field JavaThread::_thread_state"], "JDK {jdk}");
        assert_eq!(layout.in_java, 8, "JDK {jdk}");
        assert_eq!(layout.upcall.is_some(), jdk >= 25, "JDK {jdk}");
        assert!(layout.vframe_array.is_some(), "JDK {jdk}");
        let handlers = layout.compiled.deopt_handlers.map(|handler| handler.is_some());
        assert_eq!(handlers, [true, jdk < 26], "JDK {jdk}");
    }
}

#[test]
fn a_field_that_a_jdk_has_no_more_is_a_sentence() {
    let mut values = values(JDKS[6].1);
    values.remove("field JavaThread::_vthread");
    values.remove("field nmethod::_comp_level");
    let expected = [
        "this JVM does not publish nmethod::_comp_level: compiled code has no tier",
        "this JVM does not publish JavaThread::_vthread: samples of virtual threads cannot be assigned to them",
    ];
    assert_eq!(table(27, &values).missing(27), expected);
}
