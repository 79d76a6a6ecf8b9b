//! Tests of the track that an event is added to.

use serde_json::json;
use vouch_jfr::testing::{event, long};

use super::common::{JVM, choice, markers, merged, order, profile, recording, string, try_merged};

#[test]
fn an_event_stands_in_the_track_of_its_thread() {
    let events = [
        order(100_000, 0, 2, "before the worker"),
        order(500_000, 0, 2, "worker"),
        order(500_000, 0, 3, "virtual"),
        order(500_000, 0, 4, "new"),
        order(500_000, 0, 5, "of many"),
        // Three threads had this thread's id.
        order(250_000, 0, 6, "of another one of many"),
        order(500_000, 0, 0, "of all"),
        // The file has no thread constant with this index.
        order(500_000, 0, 77, "of somebody"),
    ];
    let (profile, _) = merged(&events, 0);
    let mut tracks: Vec<_> = markers(&profile, "jfr.shop.Order")
        .into_iter()
        .map(|(track, _, _, data)| (string(&profile, &data["user"]).to_owned(), track))
        .collect();
    tracks.sort();
    let tracks: Vec<_> = tracks.iter().map(|(user, track)| (user.as_str(), track.as_str())).collect();
    assert_eq!(
        tracks,
        [
            ("before the worker", "worker"),
            ("new", "unheard of"),
            ("of all", "main"),
            ("of another one of many", "pool-# (2 threads)"),
            ("of many", "pool-# (2 threads)"),
            ("of somebody", "other threads (JFR)"),
            ("virtual", "virtual threads (JFR)"),
            ("worker", "worker"),
        ]
    );
    let new = profile["threads"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&new["pid"], &new["samples"]["length"], &new["samples"]["stack"]),
        (&json!("7"), &json!(0), &json!([]))
    );
}

#[test]
fn threads_of_one_name_are_not_one() {
    let events = [order(500_000, 0, 4, "one"), order(500_000, 0, 7, "other"), order(600_000, 0, 4, "one")];
    let (profile, _) = merged(&events, 0);
    let tracks = profile["threads"].as_array().unwrap();
    let of = |tid: &str| {
        let track =
            tracks.iter().find(|track| track["tid"].as_str().is_some_and(|own| own.ends_with(tid))).unwrap();
        assert_eq!(track["name"], "unheard of");
        track["markers"]["length"].as_u64().unwrap()
    };
    assert_eq!((of("/99"), of("/98")), (2, 1));
    // A later recording must find each of the new tracks again.
    let (profile, _) =
        try_merged(&profile, &recording(&[order(700_000, 0, 7, "other")], 1), &choice(&[])).unwrap();
    assert_eq!(profile["threads"].as_array().unwrap().len(), tracks.len());
}

#[test]
fn another_process_has_tracks_of_its_own() {
    let jvm = event(JVM, &[long(0), long(8)]);
    let (profile, merged) = merged(&[jvm, order(500_000, 0, 1, "moe"), order(500_000, 0, 0, "all")], 0);
    assert_eq!(merged.stranger.as_deref(), Some("8"));
    let mut tracks: Vec<_> =
        markers(&profile, "jfr.shop.Order").into_iter().map(|(track, ..)| track).collect();
    tracks.sort();
    assert_eq!(tracks, ["main", "process (JFR)"]);
    assert_eq!(profile["threads"][4]["pid"], "8 (JFR)", "the profile's own main thread has nothing of it");
    assert_eq!(merged.clock.pauses, 0);
}

#[test]
fn new_tracks_are_seen_at_once() {
    let mut before = profile();
    before["meta"]["initialVisibleThreads"] = json!([0]);
    let file = recording(&[order(500_000, 0, 4, "moe"), order(500_000, 0, 1, "larry")], 0);
    let (profile, _) = try_merged(&before, &file, &choice(&[])).unwrap();
    assert_eq!(profile["meta"]["initialVisibleThreads"], json!([0, 4]));
    // Another recording of the same thread has the same track.
    let other = recording(&[order(600_000, 0, 4, "moe")], 1);
    let (profile, _) = try_merged(&profile, &other, &choice(&[])).unwrap();
    assert_eq!(profile["threads"].as_array().unwrap().len(), 5);
    assert_eq!(
        markers(&profile, "jfr.shop.Order").iter().filter(|marker| marker.0 == "unheard of").count(),
        2
    );
}

#[test]
fn an_event_in_a_shared_track_has_its_thread_as_a_field() {
    let (profile, _) = merged(&[order(500_000, 0, 3, "moe"), order(500_000, 0, 1, "larry")], 0);
    let found = markers(&profile, "jfr.shop.Order");
    let of_many = found.iter().find(|(track, ..)| track.starts_with("virtual")).unwrap();
    assert_eq!(string(&profile, &of_many.3["vouchThread"]), "fiber");
    assert!(found.iter().any(|(track, _, _, data)| track == "main" && data["vouchThread"].is_null()));
    let schema = profile["meta"]["markerSchema"].as_array().unwrap().last().unwrap();
    assert_eq!(schema["fields"][0]["label"], "Thread");
}
