//! Tests of folded stacks: they are merged over threads and lines, and sorted. Each is a single
//! line, whatever the names contain.

use std::ops::Range;

use vouch_recording::{Category, Func, Recording, Sample};

use crate::common::{START_NS, busy_thread, sample, stack, write};

fn folded(recording: &Recording) -> String {
    let mut text = Vec::new();
    write(recording, ".folded", &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn threads_are_merged_and_lines_sorted() {
    let mut recording = Recording::new();
    let inner = stack(&mut recording, &["main", "run", "work"]);
    let outer = stack(&mut recording, &["main", "run"]);
    let early = stack(&mut recording, &["boot"]);
    busy_thread(&mut recording, "a", inner, 3);
    let thread = busy_thread(&mut recording, "b", outer, 2);
    recording.sample(thread, Sample { weight: 10, ..sample(1, inner) });
    recording.sample(thread, sample(2, early));
    assert_eq!(folded(&recording), "boot 1\nmain;run 2\nmain;run;work 13\n");
}

#[test]
fn lines_of_one_function_are_merged() {
    let mut recording = Recording::new();
    let root = stack(&mut recording, &["main"]);
    let thread = recording.add_thread("main", 1, START_NS);
    for (line, category) in [(1, Category::Application), (2, Category::Application), (2, Category::Library)] {
        let func = recording.func(Func {
            name: "run",
            category,
            source: None,
            line: None,
            resource: None,
            java: true,
        });
        let frame = recording.frame(func, Some(line));
        let stack = recording.stack(Some(root), frame);
        recording.sample(thread, sample(1, stack));
    }
    assert_eq!(folded(&recording), "main;run 3\n");
}

#[test]
fn no_name_breaks_a_line_or_a_frame() {
    let mut recording = Recording::new();
    let odd = stack(&mut recording, &["a;b\nc", " ", "last\r"]);
    busy_thread(&mut recording, "main", odd, 1);
    assert_eq!(folded(&recording), "a:b c;[no name];last  1\n");
}

#[test]
fn a_deep_stack_has_both_of_its_ends_in_a_line() {
    let line = |depth: usize| {
        let mut recording = Recording::new();
        let names: Vec<String> = (0..depth).map(|at| format!("f{at}")).collect();
        let deep = stack(&mut recording, &names.iter().map(String::as_str).collect::<Vec<_>>());
        busy_thread(&mut recording, "main", deep, 1);
        folded(&recording)
    };
    let frames = |range: Range<usize>| range.map(|at| format!("f{at}")).collect::<Vec<_>>().join(";");
    for whole in [255, 256, 257, 511, 512] {
        assert_eq!(line(whole), format!("{} 1\n", frames(0..whole)));
    }
    for depth in [513, 100_000] {
        let ends = format!("{};[frames left out];{} 1\n", frames(0..256), frames(depth - 256..depth));
        assert_eq!(line(depth), ends, "of {depth}");
    }
}

#[test]
fn deep_stacks_with_the_same_ends_share_a_line() {
    let mut recording = Recording::new();
    for depth in [3_000, 50_000] {
        let deep = stack(&mut recording, &vec!["f"; depth]);
        busy_thread(&mut recording, "main", deep, 2);
    }
    let text = folded(&recording);
    assert_eq!((text.lines().count(), text.matches(";f").count()), (1, 511));
    assert!(text.ends_with(" 4\n"), "both count");
}
