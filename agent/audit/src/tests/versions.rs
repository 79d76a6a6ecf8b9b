//! Tests that classes that are another version, or missing, never refute a stack.

use vouch_classes::testing::{INVOKESTATIC, Written, WrittenMethod};
use vouch_recording::ByFate;

use super::program::{
    CLASSES, CLEAR, ClassFolder, FIRST, GONE, MAIN, MAIN_THREAD, OPEN, OTHER_SUM, SECOND, SUM, TestStack,
    UNDECLARED, at, audit, audit_after, audited, jvm, recording, recording_after, redefined, stack,
};

fn truth() -> TestStack {
    stack(MAIN_THREAD, 10, &[at(SUM, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)])
}

/// Returns the program with another version of `Shop`.
fn shop(line: u16, callee: &str) -> Vec<Written<'static>> {
    let calls = Box::leak(Box::new([(INVOKESTATIC, ["Cart", &*callee.to_owned().leak(), "()V"])]));
    let methods = Box::leak(Box::new([WrittenMethod {
        name: "open",
        descriptor: "()V",
        is_static: true,
        line,
        calls,
    }]));
    CLASSES
        .iter()
        .map(|class| if class.name == "Shop" { Written { methods, ..*class } } else { *class })
        .collect()
}

#[test]
fn a_class_with_other_lines_is_another_version() {
    let report = audited(recording(&[truth()], 0), &ClassFolder::new("lines", &shop(31, "clear"))).unwrap();
    assert_eq!(report.samples.fates, ByFate { plausible: 10, ..ByFate::default() });
    let [other] = &report.classes.other_version[..] else { panic!("{:?}", report.classes) };
    assert_eq!((&*other.class, other.edges), ("Shop", 10));
    assert!(other.why.contains("bci 0 in another line than 30"), "{}", other.why);
    assert_eq!(report.edges.unjudged["other_version"], 1);
}

#[test]
fn a_class_without_the_method_is_another_version() {
    let report = audit("method", &[truth(), stack(MAIN_THREAD, 1, &[at(UNDECLARED, 0), at(MAIN, FIRST)])]);
    let [other] = &report.classes.other_version[..] else { panic!("{:?}", report.classes) };
    assert_eq!((&*other.class, &*other.why), ("Cart", "it has no method undeclared()V"));
}

#[test]
fn code_without_a_proven_call_refutes_nothing() {
    // All lines fit, but the call is of another method: it was renamed, or the code was changed at
    // load time.
    let report = audited(recording(&[truth()], 0), &ClassFolder::new("renamed", &shop(30, "clear"))).unwrap();
    assert_eq!(report.samples.fates, ByFate { plausible: 10, ..ByFate::default() });
    assert_eq!(report.edges.unjudged["unconfirmed_version"], 1);
    assert!(report.refutations.is_empty());
}

#[test]
fn exact_is_trusted_unless_classes_were_changed() {
    let folder = ClassFolder::new("promised", &shop(30, "clear"));
    let refuted = |folder: &ClassFolder, run_events| {
        let mut audit = crate::Audit::default();
        audit
            .read("test.jfr", std::io::Cursor::new(recording_after(run_events, &[truth()], 0)), |_| {})
            .unwrap();
        let paths = crate::ClassPaths { classes: vec![folder.0.clone()], jdk: None, exact: true };
        audit.judge(&paths, |_| {}).unwrap().report.samples.fates.refuted
    };
    assert_eq!(refuted(&folder, Vec::new()), 10);
    assert_eq!(refuted(&folder, vec![redefined()]), 0);
    // Flight Recorder changes event classes, and those that extend the program's own event classes.
    let event = |superclass, superclass_of_base| {
        let mut classes = shop(30, "clear");
        classes.push(Written { name: "Base", superclass: superclass_of_base, methods: &[] });
        classes
            .iter_mut()
            .filter(|class| class.name == "Shop")
            .for_each(|class| class.superclass = superclass);
        refuted(&ClassFolder::new("event", &classes), Vec::new())
    };
    assert_eq!(event("Base", "java/lang/Object"), 10);
    assert_eq!(
        [event("Base", "jdk/jfr/Event"), event("Base", "Gone"), event("jdk/jfr/Event", "java/lang/Object")],
        [0; 3]
    );
}

#[test]
fn mostly_refuted_code_counts_as_changed() {
    // For example, Flight Recorder adds to a constructor: the old part is proven, and most events
    // are in the new part.
    let added = |times| stack(MAIN_THREAD, times, &[(OPEN, 99, 31), at(MAIN, FIRST)]);
    let report = audit("added", &[truth(), added(30)]);
    assert_eq!(report.samples.fates.refuted, 0);
    assert_eq!(audit("astray", &[truth(), added(3)]).samples.fates.refuted, 3);
}

#[test]
fn redefined_code_refutes_nothing() {
    // A redefinition inserted code before the call of `Cart.clear`. It is now at the bci that
    // `Cart.sum` has in the file.
    let moved = stack(MAIN_THREAD, 2, &[at(CLEAR, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)]);
    let both = stack(MAIN_THREAD, 9, &[at(CLEAR, FIRST), at(OPEN, SECOND), at(MAIN, FIRST)]);
    let stacks = [truth(), both, moved];
    assert_eq!(audit("unmoved", &stacks).samples.fates.refuted, 2);
    assert_eq!(audit_after("moved", vec![redefined()], &stacks).samples.fates.refuted, 0);
}

#[test]
fn classes_of_one_name_from_two_loaders_are_kept_apart() {
    let plugin = |calls| Written { methods: calls, ..CLASSES[4] };
    let other = plugin(&[WrittenMethod {
        name: "sum",
        descriptor: "()V",
        is_static: true,
        line: 40,
        calls: &[(INVOKESTATIC, ["Shop", "open", "()V"])],
    }]);
    let (app, plug_in) = (ClassFolder::new("app", &CLASSES), ClassFolder::new("plug-in", &[other]));
    let frames = |sum, callee| [at(callee, FIRST), (sum, FIRST, 40), at(OPEN, FIRST), at(MAIN, FIRST)];
    let stacks =
        [stack(MAIN_THREAD, 9, &frames(SUM, CLEAR)), stack(MAIN_THREAD, 3, &frames(OTHER_SUM, OPEN))];
    let mut audit = crate::Audit::default();
    audit.read("test.jfr", std::io::Cursor::new(recording(&stacks, 0)), |_| {}).unwrap();
    let classes = vec![app.0.clone(), plug_in.0.clone()];
    let report = audit.judge(&crate::ClassPaths { classes, jdk: None, exact: false }, |_| {}).unwrap().report;
    assert_eq!(report.samples.fates.refuted, 0, "{:?}", report.refutations);
}

#[test]
fn a_call_that_is_never_proven_may_come_from_another_version() {
    // An older jar, in which two calls are in the other order, or a call that an agent redirected.
    let other = stack(MAIN_THREAD, 2, &[at(CLEAR, FIRST), at(OPEN, FIRST), at(MAIN, FIRST)]);
    let elsewhere = stack(MAIN_THREAD, 9, &[at(CLEAR, FIRST), at(OPEN, SECOND), at(MAIN, FIRST)]);
    let by_folder =
        |stacks: &[TestStack]| audited(recording(stacks, 0), &ClassFolder::new("always", &CLASSES)).unwrap();
    assert_eq!(by_folder(&[elsewhere.clone(), other.clone()]).edges.unjudged["unconfirmed_version"], 1);
    assert_eq!(
        by_folder(&[truth(), elsewhere.clone(), other.clone()]).samples.fates.refuted,
        2,
        "right at other times"
    );
    assert_eq!(audit("certain", &[elsewhere, other]).samples.fates.refuted, 2, "a JDK's own class");
    let inside = stack(MAIN_THREAD, 1, &[(SUM, FIRST, 40), (OPEN, FIRST + 1, 30), at(MAIN, FIRST)]);
    assert_eq!(by_folder(&[truth(), inside]).samples.fates.refuted, 0);
}

#[test]
fn recordings_of_two_runs_are_refused() {
    let read = |run_events: &[&str]| {
        let mut audit = crate::Audit::default();
        for (name, version) in ["a.jfr", "b.jfr"].into_iter().zip(run_events) {
            let bytes = recording_after(vec![jvm(version)], &[truth()], i64::from(*version == "17"));
            audit.read(name, std::io::Cursor::new(bytes), |_| {}).unwrap();
        }
        audit.judge(&crate::ClassPaths::default(), |_| {})
    };
    assert!(read(&["17", "25.0.3"]).unwrap_err().to_string().contains("from 2 runs"));
    let twice = read(&["17", "17"]).unwrap().report;
    assert_eq!(twice.kinds["jdk.ExecutionSample"].fates.signals, 10, "a chunk is counted once");
    assert!(twice.notes[0].contains("1 chunks are there more than once"), "{:?}", twice.notes);
}

#[test]
fn a_missing_class_is_named() {
    let gone = stack(MAIN_THREAD, 4, &[at(CLEAR, FIRST), at(GONE, 3), at(OPEN, FIRST), at(MAIN, FIRST)]);
    let report = audited(recording(&[truth(), gone], 0), &ClassFolder::new("gone", &CLASSES)).unwrap();
    let [missing] = &report.classes.not_found[..] else { panic!("{:?}", report.classes) };
    assert_eq!((&*missing.class, missing.edges), ("Gone", 4));
    assert_eq!(
        report.kinds["jdk.ExecutionSample"].fates.fates.refuted, 4,
        "Shop.open calls no Gone.away there"
    );
    assert!(
        report.summary(vouch_report::Files::default(), &[]).contains("1 classes were not found (Gone)"),
        "{report:?}"
    );
}

#[test]
fn the_copy_that_fits_is_chosen() {
    let other = ClassFolder::new("first", &shop(31, "clear"));
    let right = ClassFolder::new("second", &CLASSES);
    let mut audit = crate::Audit::default();
    audit.read("test.jfr", std::io::Cursor::new(recording(&[truth()], 0)), |_| {}).unwrap();
    let classes = vec![other.0.clone(), right.0.clone()];
    let report = audit.judge(&crate::ClassPaths { classes, jdk: None, exact: false }, |_| {}).unwrap().report;
    assert_eq!(report.samples.fates.proven, 10, "{:?}", report.classes);
}
