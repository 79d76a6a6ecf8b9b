//! Tests the option texts that a user may write, and the errors for mistyped ones.

use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use vouch_formats::Format;
use vouch_report::Detail;
use vouch_report::options::pattern::PatternValues;
use vouch_unwind::recover::{self, STRATEGIES};

use super::choices::{OnError, Verb};
use super::fields::Options;
use super::parse::{Request, parse};
use super::{help, key};
use crate::{events, recovery};
use vouch_collect::choices::Witnessing;
use vouch_sampling::engine::choose::EngineWish;

fn read(text: &str) -> Request {
    let variable = |name: &str| (name == "HOST").then(|| "box".to_owned());
    parse(
        text,
        &PatternValues {
            pid: 42,
            time: Some("20260102-030405".to_owned()),
            variable: &variable,
            inherited: false,
        },
    )
}

fn options(text: &str) -> Options {
    match read(text) {
        Request::Run(options, mistakes) if mistakes.is_empty() => *options,
        other => panic!("{text}: {other:?}"),
    }
}

fn mistakes(text: &str) -> Vec<String> {
    match read(text) {
        Request::Run(_, mistakes) => mistakes,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn nothing_at_all_is_a_good_start() {
    let options = options("");
    assert_eq!((options.verb, options.depth), (Verb::Start, 65_536));
    assert_eq!(options.interval, Duration::from_millis(1));
    assert!(options.outputs.is_empty());
}

#[test]
fn every_key_is_understood() {
    let o = options(
        "out=a.json,out=b-%p.json.gz,out=c%{HOST}%%.folded,report=r-%t.json,jfr=f-%p.jfr,sources=src:%{HOST}.jar,interval=250us,engine=timer,\
         depth=20000,threads=^main$,start=5s,duration=2m,witness=20/s,on-error=run,quiet",
    );
    let paths: Vec<_> = o.outputs.iter().map(|o| (o.path.to_str().unwrap(), o.format.ending)).collect();
    assert_eq!(paths, [("a.json", ".json"), ("b-42.json.gz", ".json.gz"), ("cbox%.folded", ".folded")]);
    assert_eq!(o.report.unwrap().path.to_str(), Some("r-20260102-030405.json"));
    assert_eq!(o.jfr.unwrap().to_str(), Some("f-42.jfr"));
    assert_eq!(o.sources, ["src", "box.jar"].map(PathBuf::from));
    assert_eq!(o.interval, Duration::from_micros(250));
    assert_eq!((o.engine, o.depth, o.detail), (EngineWish::Timer, 20_000, Detail::Quiet));
    assert_eq!(o.on_error, OnError::Run);
    assert!(o.threads.unwrap().is_match("main"));
    assert_eq!(o.witness, Witnessing::Every(Duration::from_millis(50)));
    assert_eq!((o.start, o.duration), (Duration::from_secs(5), Some(Duration::from_mins(2))));
}

#[test]
fn a_summary_is_short_unless_its_reader_wants_more_or_none() {
    assert_eq!(options("").detail, Detail::Brief);
    assert_eq!(options("verbose,interval=2ms").detail, Detail::Verbose);
    for both in ["quiet,verbose", "verbose,out=a.json,quiet"] {
        assert_eq!(mistakes(both), ["quiet and verbose exclude each other: give one"]);
    }
}

#[test]
fn what_makes_two_recordings_differ_is_kept_as_it_was_given() {
    let of = |text: &str| options(text).altered.join(" ");
    assert_eq!(of("threads=^main$,out=a.json,names=short,quiet,interval=5ms"), "names=short threads=^main$");
    assert_eq!(of("names=full,refuted=isolate,engine=timer,recording=off"), "");
    assert!(vouch_report::options::find("break").unwrap().alters());
}

#[test]
fn options_for_tests_need_the_library_for_tests() {
    for text in ["lab", "lab=late-ids", "break=gap/5", "engine=hammer"] {
        let mistake = format!(
            "{text} is only for tests of Vouch: it needs their library, libvouch_lab.so (CONTRIBUTING.md)"
        );
        assert_eq!(mistakes(text), [mistake]);
    }
    assert!(key::misplaced(Verb::Lab, &["out"])[0].contains("no meaning beside lab"));
    assert_eq!(key::misplaced(Verb::Lab, &["break"]), [""; 0]);
}

#[test]
fn a_witness_has_a_rate() {
    assert_eq!(options("witness=off").witness, Witnessing::Off);
    assert!(mistakes("witness=10")[0].contains("1/s to 1000/s"));
}

#[test]
fn recovery_is_all_of_it_some_of_it_or_none() {
    let chosen = |text: &str| {
        let names = recover::ALL.iter().zip(options(text).recovery);
        names.filter(|(_, chosen)| *chosen).map(|(strategy, _)| strategy.name).collect::<Vec<&str>>()
    };
    assert_eq!(chosen("").len(), STRATEGIES);
    assert_eq!(chosen("recovery=off"), [""; 0]);
    assert_eq!(chosen("recovery=probe+top"), ["top", "probe"]);
    assert_eq!(chosen("recovery=all"), chosen(""));
    for wrong in ["recovery=all+top", "recovery=top+", "recovery=off+top"] {
        assert!(mistakes(wrong)[0].contains("left_java, top, probe, frame_pointer"), "{wrong}");
    }
    assert!(help::text().contains("left_java, top, probe, frame_pointer"));
}

#[test]
fn words_are_verbs_and_start_is_also_a_key() {
    assert_eq!(options("stop,out=x.json").verb, Verb::Stop);
    assert_eq!(options("status").verb, Verb::Status);
    assert_eq!(options("groups").verb, Verb::Groups);
    assert_eq!(options("dump").verb, Verb::Dump);
    assert_eq!(options("start,start=1s").start, Duration::from_secs(1));
    assert!(matches!(read("interval=oops,help"), Request::Help));
    assert!(matches!(read("version"), Request::Version));
}

#[test]
fn all_mistakes_come_at_once_each_with_its_mend() {
    let said = mistakes("intervall=1ms,engine=prof,depth=0,out=x.txt,interval=10,report=r.xml,stop=now");
    assert_eq!(said.len(), 7, "{said:#?}");
    for (mistake, mend) in said.iter().zip([
        "did you mean interval?",
        "auto, perf, timer, itimer, poll",
        "from 1 to 65536",
        ".json, .json.gz, .folded, .html, .svg, .pb.gz or .otlp.gz",
        "10ms or 10s",
        ".json",
        "takes no value",
    ]) {
        assert!(mistake.contains(mend), "{mistake} should say {mend}");
    }
}

#[test]
fn nonsense_is_refused_kindly() {
    for (text, mend) in [
        ("out=", "a file name is missing"),
        ("out", "out needs a value"),
        ("out=%q.json", "after % there must be"),
        ("out=%{NOWHERE}.json", "NOWHERE is not set"),
        ("interval=0ms", "between 50us and 10s"),
        ("interval=99999999999999999999ms", "between 50us and 10s"),
        ("interval=-1ms", "must be a whole number with us, ms, s, m, h or d"),
        ("threads=[", "not a regular expression"),
        ("depth=2k", "whole number"),
        ("xyzzyplugh=1", "the keys are"),
        ("depth=5,depth=6", "set twice"),
        ("stop,interval=1ms", "no meaning beside stop"),
        ("stop,dump", "give one"),
    ] {
        let said = mistakes(text);
        assert!(said.iter().any(|m| m.contains(mend)), "{text}: {said:?} should say {mend}");
    }
}

#[test]
fn every_key_that_is_explained_is_understood_and_explained_as_it_is() {
    for key in &vouch_report::options::KEYS {
        let told = mistakes(&format!("{}=?", key.name));
        assert!(told.iter().all(|told| !told.contains("unknown key")), "{}: {told:?}", key.name);
        if let Some(default) = key.default {
            options(&format!("{}={default}", key.name));
        }
    }
    let help = help::text();
    for word in Format::endings()
        .split([' ', ','])
        .chain(events::event_choice::words().split(", "))
        .chain(recovery::names().split(", "))
    {
        assert!(help.contains(word), "{word} is not explained");
    }
}

/// Generates texts that are an option's value, or nearly.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{0,25}(ns|us|ms|s|m|h|KB|MB|GB|/s|%)?",
        "[a-z]{0,9}([+:;/-][a-z0-9]{0,9}){0,3}",
        "(/?[a-z]{0,3}(%p|%t|%%|%|%\\{HOST\\}|%\\{[a-z]{0,3}\\}?)?){0,3}\\.(json|json\\.gz|folded|html|jfr|svg)?",
        "[(\\[{*+?|)\\]}^$.]{0,6}",
        any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(3_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_options_or_mistakes_of_a_line_each(
        parts in prop::collection::vec((0..vouch_report::options::KEYS.len(), prop::option::of(value())), 0..6),
        text in prop::option::weighted(0.1, any::<String>()),
    ) {
        let option = |(key, value): &(usize, Option<String>)| {
            let name = vouch_report::options::KEYS[*key].name;
            value.as_ref().map_or(name.to_owned(), |value| format!("{name}={value}"))
        };
        let text = text.unwrap_or_else(|| parts.iter().map(option).collect::<Vec<_>>().join(","));
        if let Request::Run(options, mistakes) = read(&text) {
            for mistake in &mistakes {
                prop_assert!(!mistake.is_empty() && !vouch_report::plain(mistake).contains('\n'));
            }
            // Options without a mistake must allow a recording.
            if mistakes.is_empty() {
                prop_assert!(!options.interval.is_zero() && options.depth > 0);
            }
        }
    }
}
