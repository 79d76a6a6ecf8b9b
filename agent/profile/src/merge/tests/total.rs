//! Tests that a damaged recording, or one that no JVM would write, gives a profile or an error.

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use vouch_jfr::testing::{DeclaredField, chunk, constant, event, long, plain};

use super::common::{
    CAUSE, CLASS, FRAME, LONG, METHOD, ORDER, TYPES, TYPES_OF_VALUES, ZERO_MS, choice, kind, markers, order,
    pause, profile, recording, try_merged,
};

#[test]
fn a_chunk_of_another_age_is_no_trap() {
    let first = recording(&[order(500_000, 0, 1, "moe")], 0);
    let mut two = [&first[..], &recording(&[order(500_000, 0, 1, "larry")], 9)].concat();
    let second = first.len();
    assert_eq!(&two[second..second + 4], b"FLR\0");
    two[second + 32] = 0x80;
    let (_, told) = try_merged(&profile(), &two, &choice(&[])).unwrap();
    assert!(told.damage.iter().any(|damage| damage.contains("another day")), "{:?}", told.damage);
}

/// Tests that recordings with circular constants and enormous types are read to an end.
#[test]
fn what_has_no_end_comes_to_one() {
    let wide = vec![plain("wide", CAUSE); 60];
    let wider = vec![plain("wider", METHOD); 60];
    let deep = vec![plain("deep", LONG); 60];
    let (named, listed) =
        ([constant("name", CLASS)], [DeclaredField { list: true, ..constant("name", FRAME) }]);
    let own = [plain("startTime", LONG), constant("class", CLASS), constant("list", FRAME)];
    let own = [&own[..], &wide].concat();
    let more = [
        kind(CLASS, "java.lang.Class", false, &named),
        kind(FRAME, "shop.List", false, &listed),
        kind(METHOD, "shop.Deep", false, &deep),
        kind(CAUSE, "shop.Wide", false, &wider),
        kind(ORDER, "shop.Order", true, &own),
    ];
    let types = [TYPES_OF_VALUES, &more].concat();
    let list = [long(20), vec![1; 20]].concat();
    let constants = [(CLASS, vec![(1, long(1))]), (FRAME, vec![(1, list)])];
    let values = [long(500_000_000), long(1), long(1), vec![0; 60 * 60 * 60]].concat();
    let file = chunk(&types, &constants, &[event(ORDER, &[values])], (0, ZERO_MS * 1_000_000));
    let (profile, told) = try_merged(&profile(), &file, &choice(&[])).unwrap();
    assert_eq!(told.shown(), 1);
    let schema = profile["meta"]["markerSchema"].as_array().unwrap().last().unwrap();
    assert!((2..=300).contains(&schema["fields"].as_array().unwrap().len()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(1_500), failure_persistence: None, ..ProptestConfig::default() })]

    /// Tests that any changed byte in a recording gives a profile or an error, and no panic.
    #[test]
    fn a_damaged_recording_gives_a_profile_or_a_sentence(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let events = [pause(100_000, 10_000), order(500_000, 2_000, 1, "moe"), order(600_000, 1, 2, "larry")];
        let mut file = recording(&events, 0);
        for (at, byte) in changes {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Ok((profile, _)) = try_merged(&profile(), &file, &choice(&[])) {
            markers(&profile, "jfr.shop.Order");
        }
    }
}

#[test]
fn mistakes_are_sentences() {
    let with = |profile: &Json, file: &[u8]| try_merged(profile, file, &choice(&[])).unwrap_err().to_string();
    assert_eq!(with(&profile(), b""), "app.jfr has no readable part: it is empty");
    assert_eq!(
        with(&profile(), &[b'x'; 100]),
        "app.jfr has no readable part: it is not a Flight Recorder file"
    );
    assert!(with(&json!({"meta": {}}), &recording(&[], 0)).starts_with("the profile is not by Vouch: "));
    let two = [recording(&[], 0), chunk(TYPES, &[], &[], (-5, 0))].concat();
    assert!(with(&profile(), &two).contains("more than one run"));
}
