//! Tests that only the chosen events are added, and that the profile's own values do not change.

use serde_json::json;
use vouch_jfr::testing::{event, long, text};

use super::common::{
    ENVIRONMENT, FLAG, SETTING, choice, markers, merged, order, profile, recording, try_merged,
};

#[test]
fn what_the_profile_said_it_says_still() {
    let before = profile();
    let (after, _) = merged(&[order(500_000, 2_000, 1, "moe"), order(600_000, 1, 3, "larry")], 0);
    assert_eq!(after["meta"]["vouch"], before["meta"]["vouch"]);
    for (row, thread) in before["threads"].as_array().unwrap().iter().enumerate() {
        assert_eq!(after["threads"][row]["samples"], thread["samples"]);
    }
    for table in ["funcTable", "frameTable", "stackTable"] {
        for (column, cells) in before["shared"][table].as_object().unwrap() {
            if let Some(cells) = cells.as_array() {
                assert_eq!(after["shared"][table][column].as_array().unwrap()[..cells.len()], cells[..]);
            }
        }
    }
    assert_eq!(markers(&after, "gc_pause").len(), 4);
}

#[test]
fn what_was_asked_for_is_shown() {
    let setting = event(SETTING, &[long(0), long(FLAG), text("period"), text("everyChunk")]);
    let flag = event(FLAG, &[long(400_000_000), long(1)]);
    let events = [setting, flag, order(500_000, 0, 1, "moe"), order(9_000_000, 0, 1, "late")];
    let (profile, told) = merged(&events, 0);
    assert_eq!((told.left_out.join(" "), told.outside), ("jdk.LongFlag".to_owned(), 1));
    assert_eq!(markers(&profile, "jfr.shop.Order").len(), 1);
    let asked = |patterns: &[&str]| try_merged(&self::profile(), &recording(&events, 0), &choice(patterns));
    let (profile, told) = asked(&["jdk.*Flag"]).unwrap();
    assert_eq!((markers(&profile, "jfr.jdk.LongFlag").len(), told.kinds.len()), (1, 1));
    let mistake = asked(&["shop.Ordr"]).unwrap_err().to_string();
    assert!(mistake.contains("shop.Ordr") && mistake.contains("shop.Order"), "{mistake}");
}

#[test]
fn many_events_are_cut_to_the_longest() {
    let events: Vec<_> = (0..1_000).map(|row| order(500_000 + row, row, 1, "moe")).collect();
    let (profile, told) = merged(&events, 0);
    assert_eq!((told.kinds[0].count, told.kinds[0].shown), (1_000, 100));
    let shortest =
        markers(&profile, "jfr.shop.Order").into_iter().map(|(_, start, end, _)| end.unwrap() - start);
    assert!(shortest.fold(f64::INFINITY, f64::min) > 0.899);
}

#[test]
fn what_is_not_shown_is_nowhere_in_the_profile() {
    let mut events = vec![event(ENVIRONMENT, &[long(400_000_000), text("TOKEN"), text("a secret")])];
    events.push(order(400_000, 0, 1, "too short"));
    events.extend((0..400).map(|_| order(500_000, 1_000, 1, "moe")));
    events.push(order(5_000_000, 9_000, 1, "too late"));
    let (profile, told) = merged(&events, 0);
    let all = profile.to_string();
    for text in ["TOKEN", "a secret", "too short", "too late"] {
        assert!(!all.contains(text), "{text}");
    }
    assert!(all.contains("moe"));
    assert_eq!(told.left_out, ["jdk.InitialEnvironmentVariable"]);
    let asked = choice(&["jdk.InitialEnvironmentVariable"]);
    let (profile, _) = try_merged(&self::profile(), &recording(&events, 0), &asked).unwrap();
    let all = profile.to_string();
    assert!(
        all.contains("a secret") && !all.contains("moe") && !all.contains("shop.Cart.sum\",\"java"),
        "{all}"
    );
    assert_eq!(profile["shared"]["funcTable"]["length"], 1, "no stack of what is not shown");
}

#[test]
fn of_many_events_those_within_the_profile_are_counted_and_shown() {
    // The recording has a hundred events before, during and after the profile. The longest are
    // outside of it.
    let mut before = profile();
    before["meta"]["profilingStartTime"] = json!(400);
    before["meta"]["profilingEndTime"] = json!(500);
    let events: Vec<_> =
        (0..300).map(|row| order(300_000 + row * 1_000, (row - 150).abs() + 1, 1, "moe")).collect();
    let file = recording(&events, 0);
    let (profile, told) = try_merged(&before, &file, &choice(&[])).unwrap();
    let found = markers(&profile, "jfr.shop.Order");
    assert_eq!((told.kinds[0].count, told.kinds[0].shown, found.len(), told.outside), (101, 100, 100, 199));
    assert!(found.iter().all(|(_, start, ..)| (400.0..=500.0).contains(start)));
}
