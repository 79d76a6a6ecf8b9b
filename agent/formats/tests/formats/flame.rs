//! Tests of the flame graph: each visible frame is as wide as its time, and no name breaks the
//! file.

use vouch_formats::{Format, Meta};
use vouch_recording::measures::{ALLOCATED, CPU};
use vouch_recording::{Amount, Recording};
use vouch_report::Clock;

use crate::common::{START_NS, busy_thread, meta, stack, write};

/// Returns the title of each drawn frame, such as `main (80 ms, 100%)`.
fn titles(recording: &Recording) -> Vec<String> {
    let mut text = Vec::new();
    write(recording, ".svg", &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let titles = text.split("<title>").skip(1).map(|part| part.split_once("</title>").unwrap().0.to_owned());
    titles.collect()
}

#[test]
fn frames_are_as_wide_as_their_time() {
    let mut recording = Recording::new();
    for (frames, samples) in [(vec!["main", "a;<b>"], 30), (vec!["main", "cold"], 10), (vec!["main"], 40)] {
        let stack = stack(&mut recording, &frames);
        busy_thread(&mut recording, "main", stack, samples);
    }
    let titles = titles(&recording);
    for frame in ["main (80 ms, 100", "a:&lt;b&gt; (30 ms, 37.50", "cold (10 ms, 12.50"] {
        assert_eq!(titles.iter().filter(|title| title.starts_with(frame)).count(), 1, "{frame}: {titles:?}");
    }
}

#[test]
fn time_of_invisible_frames_is_their_callers() {
    let mut recording = Recording::new();
    let narrow = stack(&mut recording, &["main", "narrow"]);
    busy_thread(&mut recording, "main", narrow, 2);
    let deep: Vec<String> = (0..20_000).map(|at| format!("f{at}")).collect();
    let deep = stack(&mut recording, &deep.iter().map(String::as_str).collect::<Vec<_>>());
    busy_thread(&mut recording, "main", deep, 9_998);
    let titles = titles(&recording);
    // The graph has the common root, the 400 visible frames of the deep stack, and main.
    assert_eq!(titles.len(), 1 + 400 + 1);
    assert!(titles.iter().any(|title| title.starts_with("[frames left out] (9,998 ms")));
    assert!(titles.iter().any(|title| title.starts_with("main (2 ms")));
}

#[test]
fn a_run_without_samples_has_a_picture_that_says_so() {
    let titles = titles(&Recording::new());
    assert!(titles.iter().any(|title| title.starts_with("[no samples were taken] (0 ms")), "{titles:?}");
}

#[test]
fn a_name_that_ends_in_a_number_is_a_name() {
    let mut recording = Recording::new();
    let numbered = stack(&mut recording, &["main", "it costs 42"]);
    busy_thread(&mut recording, "main", numbered, 7);
    let titles = titles(&recording);
    assert!(titles.iter().any(|title| title.starts_with("it costs\u{a0}42 (7 ms")), "{titles:?}");
}

#[test]
fn the_title_names_the_clock() {
    let drawn = |clock| {
        let (mut meta, mut text) = (meta(), Vec::new());
        meta.report.clock = clock;
        Format::from_file_name(".svg").unwrap().write(&Recording::new(), &meta, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    };
    assert!(drawn(None).contains("CPU time of shop.Main"));
    let wall = drawn(Some(Clock::Wall));
    assert!(wall.contains("wall-clock time of shop.Main") && !wall.contains("CPU"), "{wall}");
}

#[test]
fn samples_without_a_time_unit_have_no_milliseconds() {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    busy_thread(&mut recording, "main", stack, 8);
    let (mut meta, mut text) = (meta(), Vec::new());
    meta.report = meta.report.taken_by(None, Some("cache-misses".to_owned()));
    Format::from_file_name(".svg").unwrap().write(&recording, &meta, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("samples of cache-misses of shop.Main"), "{text}");
    assert!(text.contains("<title>main (8 samples, 100"), "{text}");
}

#[test]
fn too_much_text_is_drawn_with_fewer_frames() {
    let mut recording = Recording::new();
    for number in 0..600 {
        let frames: Vec<String> = (0..390).map(|depth| format!("{number:0>70}-{depth}-")).collect();
        let stack = stack(&mut recording, &frames.iter().map(String::as_str).collect::<Vec<_>>());
        busy_thread(&mut recording, "main", stack, 1);
    }
    let titles = titles(&recording);
    let of = |depth: u32| titles.iter().filter(|title| title.contains(&format!("-{depth}- (1 ms"))).count();
    assert_eq!((of(199), of(200)), (600, 0));
}

#[test]
fn pictures_count_the_chosen_measure() {
    let mut recording = Recording::new();
    let inner = stack(&mut recording, &["main", "make"]);
    let thread = busy_thread(&mut recording, "main", inner, 5);
    let with_class = recording.stack_of_class(Some(inner), "byte[]");
    let amount = Amount { time_ns: START_NS, stack: with_class, amount: 3_000, events: 1, context: None };
    recording.amount(thread, &ALLOCATED, amount);
    let written = |ending: &str, measure| {
        let mut text = Vec::new();
        Format::from_file_name(ending)
            .unwrap()
            .write(&recording, &Meta { measure, ..meta() }, &mut text)
            .unwrap();
        String::from_utf8(text).unwrap()
    };
    assert_eq!(written(".folded", &CPU), "main;make 5\n");
    assert_eq!(written(".folded", &ALLOCATED), "main;make;byte[] 3000\n");
    let picture = written(".svg", &ALLOCATED);
    assert!(picture.contains("byte[] (3,000 bytes, 100"), "{picture}");
    assert!(picture.contains("allocated bytes of shop.Main"), "{picture}");
}
