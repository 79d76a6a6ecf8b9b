//! Snapshots of VMStructs: for each JDK, the exported values of the names in
//! [`fields`](crate::fields).
//!
//! `snapshots/JDK.txt` has a line for each name that the JDK has on x86-64, with its offset, size
//! or value. A static field has no value there, because its address changes. The tests check the
//! rows and the layout of each JDK with them, so no JDK is needed.

use crate::fields::RowKind;

/// The snapshots of VMStructs, each with its JDK.
pub const JDKS: [(u32, &str); 7] = [
    (8, include_str!("snapshots/8.txt")),
    (11, include_str!("snapshots/11.txt")),
    (17, include_str!("snapshots/17.txt")),
    (21, include_str!("snapshots/21.txt")),
    (25, include_str!("snapshots/25.txt")),
    (26, include_str!("snapshots/26.txt")),
    (27, include_str!("snapshots/27.txt")),
];

/// Returns the first word of the lines that a snapshot has for this kind of rows. Flags and
/// functions are in no snapshot.
pub fn line_prefix(kind: RowKind) -> Option<&'static str> {
    match kind {
        RowKind::Field => Some("field"),
        RowKind::StaticField => Some("static"),
        RowKind::Type => Some("type"),
        RowKind::Constant => Some("constant"),
        RowKind::Flag | RowKind::Function => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::ffi::{CStr, CString};

    use super::*;
    use crate::fields::{self, JdkName, Row};
    use crate::vmstructs::{CodeLayout, VmStructs};
    use crate::walker_layout::RequiredVmStructs;

    /// Parses a snapshot: the value of each line, by the text before it.
    fn values(snapshot: &str) -> HashMap<&str, usize> {
        snapshot
            .lines()
            .map(|line| match line.rsplit_once(' ') {
                Some((name, value)) if !line.starts_with("static") => (name, value.parse().unwrap()),
                _ => (line, 0),
            })
            .collect()
    }

    fn key(kind: RowKind, name: &JdkName) -> Option<String> {
        Some(format!("{} {name}", line_prefix(kind)?))
    }

    #[test]
    fn each_jdk_has_exactly_the_names_that_the_rows_list_for_it() {
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

    /// Allocates words that are never freed, like the tables of a JVM.
    fn leak(words: Vec<usize>) -> usize {
        words.leak().as_ptr() as usize
    }

    fn text(text: &str) -> usize {
        CString::new(text).unwrap().into_raw() as usize
    }

    /// Makes the tables that a JVM of this JDK exports. An entry has four words: a type's name, a
    /// field's name, an offset, size or value, and an address.
    fn vm_structs(jdk: u32, values: &HashMap<&str, usize>) -> VmStructs {
        let interpreter = interpreter(values);
        let mut entries = [(); 3].map(|()| Vec::new());
        let is = |row: &Row, other: &Row| std::ptr::eq(row, other);
        for (kind, row) in fields::ALL {
            for name in row.names {
                let value = key(*kind, name).and_then(|key| values.get(key.as_str()).copied());
                let Some(value) = value else { continue };
                let named = text(name.type_name.unwrap_or(name.name));
                let (table, address) = match kind {
                    RowKind::Type => (1, 0),
                    RowKind::Constant => (2, 0),
                    // Only these static fields have values; the others point to zeros.
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
        VmStructs::from_symbols(symbol).unwrap()
    }

    /// Makes a StubQueue with a codelet of the interpreter for each name that the walker needs.
    fn interpreter(values: &HashMap<&str, usize>) -> usize {
        const CODELET: usize = 64;
        let value = |name: &str| values[format!("field {name}").as_str()];
        let [size, description] =
            [&fields::INTERPRETER_CODELET_SIZE, &fields::INTERPRETER_CODELET_DESCRIPTION]
                .map(|field| value(&field.0.to_string()));
        let names =
            ["method entry point (kind = zerolocals)", "return entry points", "deoptimization entry points"];
        let mut codelets = vec![0; names.len() * CODELET / 8];
        for (codelet, name) in codelets.chunks_mut(CODELET / 8).zip(names) {
            codelet[size / 8] = CODELET;
            codelet[description / 8] = text(name);
        }
        let mut queue = vec![0_usize; 8];
        queue[value(&fields::STUB_QUEUE_STUB_BUFFER.0.to_string()) / 8] = leak(codelets);
        let limit = value(&fields::STUB_QUEUE_BUFFER_LIMIT.0.to_string());
        queue[limit / 8] |= (names.len() * CODELET) << (limit % 8 * 8);
        leak(queue)
    }

    #[test]
    fn the_layout_of_each_jdk_is_found() {
        for (jdk, snapshot) in JDKS {
            let values = values(snapshot);
            let vm_structs = vm_structs(jdk, &values);
            assert_eq!(vm_structs.losses(jdk), Vec::<String>::new(), "JDK {jdk}");
            let code = CodeLayout::from_vm_structs(&vm_structs).unwrap();
            let jvm = code.jvm_layout(0).unwrap();
            let layout = RequiredVmStructs(vm_structs).layout(&jvm, &code).unwrap();
            assert_eq!(layout.state, values["field JavaThread::_thread_state"], "JDK {jdk}");
            assert_eq!(layout.in_java, 8, "JDK {jdk}");
            assert_eq!(layout.upcall.is_some(), jdk >= 25, "JDK {jdk}");
            assert!(layout.vframe_array.is_some(), "JDK {jdk}");
            let handlers = layout.compiled.deopt_handlers.map(|handler| handler.is_some());
            assert_eq!(handlers, [true, jdk < 26], "JDK {jdk}");
        }
    }

    #[test]
    fn a_missing_field_is_reported_with_what_is_lost() {
        let mut values = values(JDKS[6].1);
        values.remove("field JavaThread::_vthread");
        values.remove("field nmethod::_comp_level");
        let expected = [
            "this JVM does not publish nmethod::_comp_level: compiled code has no tier",
            "this JVM does not publish JavaThread::_vthread: samples of virtual threads cannot be assigned to them",
        ];
        assert_eq!(vm_structs(27, &values).losses(27), expected);
    }
}
