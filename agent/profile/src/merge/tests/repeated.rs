//! Tests of recordings that the profile already contains, wholly or partly, and of profiles that no
//! recording can be added to.

use serde_json::{Value as Json, json};
use vouch_jfr::testing::{event, long};

use super::common::{FLAG, choice, markers, order, profile, recording, try_merged};

#[test]
fn a_profile_of_several_processes_is_none_of_the_recordings() {
    let mut joined = profile();
    let process = |pid: &str, spans: Json| json!({ "pid": pid, "identity": null, "spans": spans });
    let file = recording(&[order(500_000, 0, 1, "moe")], 0);
    joined["meta"]["vouchProcesses"] =
        json!([process("7", json!([[0.0, 1.0]])), process("8 (JFR)", json!([]))]);
    assert!(
        try_merged(&joined, &file, &choice(&[])).is_ok(),
        "what a recording has brought is no process of Vouch's"
    );
    joined["meta"]["vouchProcesses"] =
        json!([process("7", json!([[0.0, 1.0]])), process("8", json!([[0.0, 1.0]]))]);
    let mistake = try_merged(&joined, &file, &choice(&[])).unwrap_err().to_string();
    assert_eq!(mistake, crate::Error::SeveralProcesses.to_string());
}

#[test]
fn a_recording_is_merged_once() {
    let file = recording(&[order(500_000, 0, 1, "moe")], 0);
    let (once, _) = try_merged(&profile(), &file, &choice(&[])).unwrap();
    assert_eq!(
        try_merged(&once, &file, &choice(&[])).unwrap_err().to_string(),
        "app.jfr is in the profile already"
    );
    let other = recording(&[order(600_000, 0, 1, "moe")], 1);
    let (twice, _) = try_merged(&once, &other, &choice(&[])).unwrap();
    assert_eq!(markers(&twice, "jfr.shop.Order").len(), 2);
    let names = twice["meta"]["markerSchema"].as_array().unwrap();
    assert_eq!(names.iter().filter(|schema| schema["name"] == "jfr.shop.Order").count(), 1);
}

#[test]
fn a_later_dump_of_the_same_recording_adds_what_is_new() {
    let first = recording(&[order(500_000, 0, 1, "moe")], 0);
    let second = recording(&[order(600_000, 0, 1, "larry")], 7);
    let (profile, _) = try_merged(&profile(), &first, &choice(&[])).unwrap();
    let (profile, told) = try_merged(&profile, &[first, second.clone()].concat(), &choice(&[])).unwrap();
    assert_eq!((told.shown(), markers(&profile, "jfr.shop.Order").len()), (1, 2));
    assert!(try_merged(&profile, &second, &choice(&[])).is_err());
}

#[test]
fn a_recording_that_was_audited_has_its_events_already() {
    let mut audited = profile();
    audited["meta"]["vouch"]["recorder"] = "Flight Recorder".into();
    let file = recording(&[order(500_000, 0, 1, "moe")], 0);
    let mistake = try_merged(&audited, &file, &choice(&[])).unwrap_err().to_string();
    assert!(mistake.contains("contains its events already"), "{mistake}");
}

#[test]
fn what_was_merged_in_part_is_not_taken_for_all_of_it() {
    let events: Vec<_> = (0..10).map(|row| order(500_000 + row, 0, 1, "moe")).collect();
    let (some, all) = (recording(&events[..4], 0), recording(&events, 0));
    let (once, _) = try_merged(&profile(), &some, &choice(&[])).unwrap();
    let mistake = try_merged(&once, &all, &choice(&[])).unwrap_err().to_string();
    assert!(mistake.contains("a part of app.jfr was merged into the profile before"), "{mistake}");
    assert!(
        try_merged(&once, &some, &choice(&[])).unwrap_err().to_string().contains("in the profile already")
    );
    // The recording had no events of the other kinds.
    let flag = event(FLAG, &[long(400_000_000), long(1)]);
    let both = recording(&[&events[..], &[flag]].concat(), 0);
    let (once, _) = try_merged(&profile(), &both, &choice(&["jdk.LongFlag"])).unwrap();
    let (twice, told) = try_merged(&once, &both, &choice(&[])).unwrap();
    assert_eq!((told.shown(), markers(&twice, "jfr.shop.Order").len()), (10, 10));
    // A file joined from others may contain a chunk twice, once incomplete.
    for joined in [[&some[..], &all].concat(), [&all[..], &all].concat(), [&all[..], &some].concat()] {
        let (joined, told) = try_merged(&profile(), &joined, &choice(&[])).unwrap();
        assert_eq!((told.kinds[0].count, markers(&joined, "jfr.shop.Order").len()), (10, 10));
    }
}
