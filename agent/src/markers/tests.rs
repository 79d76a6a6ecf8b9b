//! Tests of the kinds of markers, their counters, and which markers are shown.

use super::*;

fn kind(class: &str, fields: &[(&str, Unit)]) -> ProgramMarkerKind {
    let fields = fields.iter().map(|(key, unit)| ((*key).to_owned(), key.to_uppercase(), *unit)).collect();
    ProgramMarkerKind {
        class: class.to_owned(),
        label: class.to_lowercase(),
        description: String::new(),
        fields,
    }
}

#[test]
fn a_kind_has_one_number_and_stands_in_a_timeline_under_a_name_of_its_own() {
    let markers: &'static Markers = Box::leak(Box::default());
    let upload = kind(
        "shop.Upload",
        &[("file", Unit::Text), ("type", Unit::Text), ("type_", Unit::Bytes), ("file", Unit::Text)],
    );
    assert_eq!(markers.number(upload.clone()), 1);
    // This is a class with the same name from another class loader.
    assert_eq!(markers.number(kind("shop.Upload", &[("size", Unit::Count)])), 2);
    assert_eq!(markers.number(upload), 1);
    let marker = |number| markers.row(number).unwrap().marker;
    assert_eq!((marker(1).key, marker(1).label), ("marker:shop.Upload", "shop.upload"));
    assert_eq!(marker(2).key, "marker:shop.Upload~2");
    let keys: Vec<_> = marker(1).fields.iter().map(|field| field.key).collect();
    assert_eq!(keys, ["file", "type_", "type__", "file_"], "`type` is the front-end's");
    let row = markers.row(1).unwrap();
    assert!(std::ptr::eq(row, markers.row_of_event(row.number()).unwrap()));
    assert!([0, 3, u32::MAX].into_iter().all(|number| markers.row(number).is_none()));
    assert!(markers.row_of_event(1).is_none());
}

#[test]
fn what_is_too_much_gets_no_number() {
    let markers: &'static Markers = Box::leak(Box::default());
    assert_eq!(markers.number(kind("Wide", &[("field", Unit::Count); MAX_VALUES + 1])), 0);
    let numbers: Vec<u32> = (0..=MAX_KINDS).map(|at| markers.number(kind(&at.to_string(), &[]))).collect();
    assert_eq!(numbers.iter().filter(|number| **number == 0).count(), 1);
    assert_eq!(markers.number(kind("7", &[])), numbers[7], "what is known stays known");
}

#[test]
fn all_are_counted_while_a_recording_runs_and_of_too_many_a_part_is_shown() {
    let markers: &'static Markers = Box::leak(Box::default());
    let number = markers.number(kind("shop.Upload", &[]));
    let row = markers.row(number).unwrap();
    let now = clock::monotonic();
    assert_eq!(markers.shown_times(row, now, now), None, "nobody records");
    assert!(markers.report().is_empty());
    markers.begin();
    assert_eq!(markers.shown_times(row, now, now), Some((now, now)));
    assert_eq!(markers.shown_times(row, now, 0), Some((0, 0)), "the other way round it is an instant");
    let (_, ended) = markers.shown_times(row, now, u64::MAX).unwrap();
    assert!((now..u64::MAX).contains(&ended), "it ends now at the latest");
    let shown =
        (0..3 * MAX_SHOWN_PER_SECOND).filter(|_| markers.shown_times(row, now, now).is_some()).count() as u64;
    assert!((1..=MAX_SHOWN_PER_SECOND).contains(&shown), "{shown} in a second");
    assert_eq!(markers.report()["shop.Upload"].count, 3 * MAX_SHOWN_PER_SECOND + 3);
    markers.count_lost();
    markers.end();
    markers.count_lost();
    assert_eq!((markers.shown_times(row, now, now), markers.lost()), (None, 1));
    markers.begin();
    assert_eq!(markers.lost(), 0);
    assert!(markers.report().is_empty(), "of this recording");
}
