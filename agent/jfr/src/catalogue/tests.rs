//! Tests that each kind in the catalogue has facts and words.

use std::collections::{BTreeMap, HashSet};

use crate::catalogue::catalogue;
use crate::catalogue::kinds::{versions, words};

#[test]
fn each_kind_has_words_and_all_words_have_a_kind() {
    let catalogue = catalogue();
    assert!(catalogue.jdks.len() >= 5 && catalogue.kinds.len() > 150, "{:?}", catalogue.jdks);
    for kind in &catalogue.kinds {
        assert!(
            !kind.reports.is_empty() && !kind.lacks.is_empty(),
            "{} has no words in words.txt",
            kind.name
        );
        assert!(!kind.shapes.is_empty() && !kind.label.is_empty(), "{}", kind.name);
    }
    let known: HashSet<_> =
        catalogue.kinds.iter().filter_map(|kind| kind.name.strip_prefix("jdk.")).collect();
    for name in words().keys() {
        assert!(known.contains(name), "{name} has words, and no JDK has it");
    }
}

#[test]
fn a_kind_is_found_by_its_name() {
    let catalogue = catalogue();
    for name in ["jdk.ThreadPark", "ThreadPark"] {
        let kind = catalogue.find(name).unwrap();
        let park = kind.newest().unwrap();
        assert!(
            park.form.duration && park.form.thread && park.form.stack && park.default.starts_with("on, "),
            "{park:?}"
        );
        assert!(
            park.form.fields.iter().any(|field| field.name == "parkedClass" && field.what == "Class"),
            "{park:?}"
        );
    }
    assert!(catalogue.find("Thread").is_none());
    assert!(catalogue.search("threadp").any(|kind| kind.name == "jdk.ThreadPark"));
}

#[test]
fn versions_are_written_in_words() {
    let all: BTreeMap<u32, String> =
        [8, 11, 17, 21, 25].into_iter().map(|major| (major, String::new())).collect();
    for (own, wanted) in [
        (&[8, 11, 17, 21, 25][..], "8 and later"),
        (&[25], "25"),
        (&[8, 11], "8 to 11"),
        (&[8, 17], "8, 17"),
        (&[11, 21, 25], "11, 21 and later"),
    ] {
        assert_eq!(versions(own, &all), wanted);
    }
}
