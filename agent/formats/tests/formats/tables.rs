//! Tests of the shared tables: no row is stored twice, parents come first, and the columns are
//! those of version 66.

use serde_json::Value;
use vouch_recording::{Category, Func, Recording, VmPart, no_stack};

use crate::common::{numbers, stack, written};

fn lengths(profile: &Value) -> Vec<u64> {
    let tables = ["sources", "resourceTable", "funcTable", "frameTable", "stackTable"];
    tables.map(|table| profile["shared"][table]["length"].as_u64().unwrap()).to_vec()
}

#[test]
fn a_row_that_is_added_twice_is_stored_once() {
    let mut recording = Recording::new();
    let mut make = || {
        let source = recording.source("shop/Cart.java");
        let resource = recording.resource("app.jar");
        let func = recording.func(Func {
            name: "shop.Cart.total()",
            category: Category::Application,
            source: Some(source),
            line: Some(10),
            resource: Some(resource),
            java: true,
        });
        let frame = recording.frame(func, Some(12));
        let root = recording.stack(None, frame);
        (source, resource, func, frame, root, recording.stack(Some(root), frame))
    };
    assert_eq!(make(), make());
    let profile = written(&recording);
    assert_eq!(lengths(&profile), [1, 1, 1, 1, 2]);
    assert_eq!(profile["shared"]["stringArray"].as_array().unwrap().len(), 3);
}

#[test]
fn a_function_differs_by_any_of_its_fields() {
    let mut recording = Recording::new();
    let (a, b) = (recording.source("A.java"), recording.source("B.java"));
    let (jar, lib) = (recording.resource("app.jar"), recording.resource("lib.jar"));
    let func = Func {
        name: "run",
        category: Category::Application,
        source: Some(a),
        line: Some(1),
        resource: Some(jar),
        java: true,
    };
    let variants = [
        Func { name: "stop", ..func },
        Func { category: Category::Library, ..func },
        Func { source: Some(b), ..func },
        Func { source: None, ..func },
        Func { line: Some(2), ..func },
        Func { resource: Some(lib), ..func },
        Func { java: false, ..func },
    ];
    let first = recording.func(func);
    let mut ids: Vec<_> = variants.into_iter().map(|variant| recording.func(variant)).collect();
    ids.push(first);
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), variants.len() + 1);
}

#[test]
fn line_0_is_no_line() {
    let mut recording = Recording::new();
    let func = recording.func(Func {
        name: "run",
        category: Category::Other,
        source: None,
        line: Some(0),
        resource: None,
        java: true,
    });
    assert_eq!(recording.frame(func, Some(0)), recording.frame(func, None));
    let profile = written(&recording);
    assert_eq!(profile["shared"]["funcTable"]["lineNumber"][0], Value::Null);
    assert_eq!(profile["shared"]["frameTable"]["line"][0], Value::Null);
}

#[test]
fn a_stack_says_how_far_back_its_parent_is() {
    let mut recording = Recording::new();
    stack(&mut recording, &["main", "a", "b"]);
    stack(&mut recording, &["main", "c"]);
    stack(&mut recording, &["other"]);
    let profile = written(&recording);
    assert_eq!(numbers(&profile["shared"]["stackTable"]["prefixOffset"]), [0, 1, 1, 3, 0]);
}

#[test]
fn a_frame_has_file_line_category_and_no_address() {
    let mut recording = Recording::new();
    let source = recording.source("shop/Cart.java");
    let resource = recording.resource("app.jar");
    let func = recording.func(Func {
        name: "shop.Cart.total()",
        category: Category::Vm(VmPart::Jit),
        source: Some(source),
        line: Some(10),
        resource: Some(resource),
        java: false,
    });
    recording.frame(func, Some(12));
    let shared = &written(&recording)["shared"];
    let (frames, funcs) = (&shared["frameTable"], &shared["funcTable"]);
    assert_eq!((&frames["line"][0], &frames["address"][0]), (&12.into(), &(-1).into()));
    assert_eq!((&frames["category"][0], &frames["subcategory"][0]), (&5.into(), &2.into()));
    assert_eq!((&funcs["lineNumber"][0], &funcs["isJS"][0]), (&10.into(), &false.into()));
    let text = |cell: &Value| shared["stringArray"][usize::try_from(cell.as_u64().unwrap()).unwrap()].clone();
    assert_eq!(text(&funcs["name"][0]), "shop.Cart.total()");
    assert_eq!(text(&shared["sources"]["filename"][0]), "shop/Cart.java");
    assert_eq!(text(&shared["resourceTable"]["name"][0]), "app.jar");
}

#[test]
fn a_function_without_a_resource_says_so_by_minus_1() {
    let mut recording = Recording::new();
    stack(&mut recording, &["main"]);
    let funcs = &written(&recording)["shared"]["funcTable"];
    assert_eq!((&funcs["resource"][0], &funcs["source"][0]), (&(-1).into(), &Value::Null));
}

#[test]
fn the_columns_are_those_of_version_66() {
    let mut recording = Recording::new();
    stack(&mut recording, &["main", "run"]);
    recording.source("Main.java");
    recording.resource("app.jar");
    let profile = written(&recording);
    assert_eq!(profile["meta"]["preprocessedProfileVersion"], 66);
    let expected: [(&str, &[&str]); 8] = [
        ("stackTable", &["frame", "prefixOffset"]),
        (
            "frameTable",
            &[
                "address",
                "category",
                "column",
                "func",
                "inlineDepth",
                "innerWindowID",
                "line",
                "nativeSymbol",
                "originalLocation",
                "subcategory",
            ],
        ),
        (
            "funcTable",
            &[
                "columnNumber",
                "isJS",
                "lineNumber",
                "name",
                "originalLocation",
                "relevantForJS",
                "resource",
                "source",
            ],
        ),
        ("resourceTable", &["host", "lib", "name", "type"]),
        ("nativeSymbols", &["address", "functionSize", "libIndex", "name"]),
        ("sources", &["content", "filename", "id", "sourceMapURL", "startColumn", "startLine"]),
        ("sourceLocationTable", &["column", "line", "source"]),
        ("stringArray", &[]),
    ];
    for (table, columns) in expected {
        let Some(written) = profile["shared"][table].as_object() else {
            assert!(columns.is_empty() && profile["shared"][table].is_array(), "{table}");
            continue;
        };
        let mut names: Vec<_> = written.keys().map(String::as_str).filter(|&key| key != "length").collect();
        names.sort_unstable();
        assert_eq!(names, columns, "{table}");
        for column in columns {
            let cells = written[*column].as_array().unwrap().len();
            assert_eq!(Some(cells as u64), written["length"].as_u64(), "{table}.{column}");
        }
    }
}

#[test]
fn the_reason_for_an_unknown_stack_is_a_subcategory() {
    let mut recording = Recording::new();
    for why in ["in Java, unknown code", "a reason of another profiler's", "outside of Java"] {
        recording.placeholder_stack(None, &no_stack(why), Category::NoStack);
    }
    let profile = written(&recording);
    let frames = &profile["shared"]["frameTable"];
    let category = numbers(&frames["category"])[0];
    let parts = &profile["meta"]["categories"][usize::try_from(category).unwrap()];
    assert_eq!(parts["name"], "No stack");
    let part = |row: i64| parts["subcategories"][usize::try_from(row).unwrap()].as_str().unwrap();
    let parts: Vec<&str> = numbers(&frames["subcategory"]).into_iter().map(part).collect();
    assert_eq!(parts, ["in Java, unknown code", "Other", "outside of Java"]);
}
