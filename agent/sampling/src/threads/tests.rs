//! Tests of the registry without a JVM: which threads get an entry, and which must not get a second
//! one.

use std::ptr::null_mut;
use std::time::Duration;

use regex_lite::Regex;

use super::{Registry, Sampling};
use crate::clock;
use crate::engine::Engine;

/// A thread id greater than any that the kernel assigns.
const GONE: u32 = 5_000_000;

/// Makes a registry that records, with an engine that arms no thread by itself.
fn recording() -> Registry {
    recording_of(None)
}

fn recording_of(filter: Option<Regex>) -> Registry {
    let registry = Registry::new(256);
    registry.begin_sampling(sampling(filter));
    registry
}

fn sampling(filter: Option<Regex>) -> Sampling {
    Sampling { engine: Engine::Itimer, interval: Duration::from_millis(1), filter, paused: false }
}

fn names(registry: &Registry) -> Vec<String> {
    let mut names = Vec::new();
    registry.each_life(|life| names.push(life.name(0)));
    names
}

#[test]
fn a_report_about_a_thread_that_has_ended_makes_no_second_record() {
    let registry = recording();
    registry.begin_thread(GONE, 0);
    registry.java_start(GONE, null_mut(), 7, Some("short"));
    registry.leave(GONE);
    // The scan enters it, after it had read the kernel's list and the name. The JVM reports it
    // late.
    registry.enter(GONE);
    registry.native_name(GONE, "short");
    registry.java_end(GONE);
    assert_eq!(names(&registry), ["short"]);
    // The kernel reuses its id for another thread.
    registry.begin_thread(GONE, 0);
    registry.java_start(GONE, null_mut(), 8, Some("next"));
    assert_eq!(names(&registry), ["short", "next"]);
}

#[test]
fn a_thread_that_says_that_it_ends_is_not_found_afterwards() {
    let registry = recording();
    let env = 8 as *mut std::ffi::c_void;
    let entered = |registry: &Registry| registry.slots().find(GONE).map(|slot| !slot.env().is_null());
    // A search found the thread a moment before, and enters it now.
    registry.java_end(GONE);
    assert!(!registry.java_found(GONE, env, 7, Some("ends")));
    assert_eq!((entered(&registry), registry.java_serial(7)), (Some(false), None));
    // The main thread attaches anew. A search that found it before must not restore its old name.
    registry.java_start(GONE, env, 8, Some("main"));
    assert!(!registry.java_found(GONE, null_mut(), 7, Some("main")));
    assert_eq!((entered(&registry), registry.java_serial(8).is_some()), (Some(true), true));
    assert!(registry.java_found(GONE, env, 8, Some("main")));
    registry.java_end(GONE);
    registry.leave(GONE);
    assert!(!registry.java_found(GONE, env, 8, Some("ends")));
    assert_eq!(registry.java_serial(8), None);
}

#[test]
fn a_name_stays_with_its_thread_when_the_jvm_uses_its_place_again() {
    let registry = recording();
    registry.begin_thread(GONE, 0);
    registry.java_start(GONE, null_mut(), 7, Some("first"));
    let first = registry.java_serial(7).unwrap();
    registry.java_end(GONE);
    assert_eq!(registry.java_serial(7), None);
    registry.begin_thread(GONE + 1, 0);
    registry.java_start(GONE + 1, null_mut(), 7, Some("second"));
    assert_ne!(registry.java_serial(7).unwrap(), first);
    registry.leave(GONE);
    registry.begin_thread(GONE, 0);
    registry.java_start(GONE, null_mut(), 9, Some("third"));
    // The name was read from the first thread, and reported late.
    registry.renamed(first, "first, again", clock::monotonic());
    registry.each_life(|life| assert_eq!(life.names(), 1, "{life:?}"));
    assert_eq!(names(&registry), ["first", "second", "third"]);
}

#[test]
fn a_list_that_leaves_out_a_living_thread_does_not_end_it() {
    let registry = recording();
    let living = clock::own_tid();
    registry.java_start(living, null_mut(), 7, Some("living"));
    registry.java_start(GONE, null_mut(), 8, Some("gone"));
    registry.retain(registry.youngest(), |_| false);
    let ended = |registry: &Registry| {
        let mut ended = Vec::new();
        registry.each_life(|life| ended.push(life.ended.is_some()));
        ended
    };
    assert_eq!(ended(&registry), [false, true]);
}

#[test]
fn a_thread_that_has_ended_is_not_found_again_while_a_list_lacks_it() {
    // The thread is not sampled, because this test has no handler for its pending intervals.
    let registry = recording_of(Some(Regex::new("nobody").unwrap()));
    let leaving = clock::own_tid();
    registry.java_start(leaving, null_mut(), 7, Some("leaving"));
    registry.leave(leaving);
    registry.retain(registry.youngest(), |_| false);
    registry.enter(leaving);
    assert_eq!(names(&registry), ["leaving"]);
}

#[test]
fn what_a_thread_ran_before_the_stop_is_settled_once() {
    let registry = recording();
    let own = clock::own_tid();
    registry.java_start(own, null_mut(), 7, Some("own"));
    let until = clock::own_cpu() + 5_000_000;
    while clock::own_cpu() < until {}
    registry.end_sampling();
    let owed = registry.settle();
    // The clock of a thread that is found while a recording runs counts from its zero.
    let ran = clock::own_cpu() / 1_000_000;
    assert_eq!(owed.len(), 1);
    assert!((5..=ran + 1).contains(&u64::from(owed[0].weight)), "{owed:?} after {ran} ms");
    assert!(registry.settle().is_empty());
}
