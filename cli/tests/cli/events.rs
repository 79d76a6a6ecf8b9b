//! Tests of `vouch events`, with the real binary.

use std::process::{Command, Output};

fn vouch(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vouch")).args(arguments).output().unwrap()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn each_event_has_a_line_and_a_page() {
    let list = vouch(&["events"]);
    assert!(list.status.success());
    let list = text(list.stdout);
    let words: Vec<&str> = list
        .lines()
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(words.len() >= 7 && words.contains(&"gc") && words.contains(&"alloc"), "{list}");
    for word in words {
        let page = vouch(&["events", word]);
        assert!(page.status.success());
        let page = text(page.stdout);
        assert!(page.starts_with(&format!("{word}: ")) && page.contains("Lacks:"), "{page}");
        assert!(page.lines().count() < 20, "a screen at most: {page}");
    }
}

#[test]
fn an_unknown_event_is_refused_with_the_known_ones() {
    let refused = vouch(&["events", "lokcs"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = text(refused.stderr);
    assert!(told.starts_with("vouch: unknown event lokcs: use one of gc, monitor,"), "{told}");
}

#[test]
fn a_word_finds_own_events_by_their_description_and_those_of_flight_recorder() {
    let found = text(vouch(&["events", "lock"]).stdout);
    let kinds: Vec<&str> = found.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for kind in ["events=monitor", "events=park", "jdk.JavaMonitorEnter"] {
        assert!(kinds.contains(&kind), "{kind}: {found}");
    }
    assert!(!kinds.contains(&"events=jit"), "{found}");
}
