//! Tests of files with only names, with or without lines. A call is refuted only if every method
//! and every bci that the names may mean refutes it.

use std::fs;
use std::io::Read as _;

use proptest::prelude::*;
use vouch_classes::testing::{Call, INVOKESTATIC, Written, WrittenMethod};
use vouch_recording::ByFate;
use vouch_verify::proof::Refutation;

use super::damaged_input::check_property;
use super::program::{CLASSES, ClassFolder, jdk, jdk_with};
use crate::{Audit, AuditReport, ClassPaths, NamesFileInfo, pprof};

const INVOKEINTERFACE: u8 = 0xb9;
const WITH_HIDDEN: NamesFileInfo<'_> =
    NamesFileInfo { kind: "folded", recorder: "a test", jdk: "", flags: "", shows_hidden: true };
/// Describes a file that may leave out frames of lambdas.
const WITHOUT_HIDDEN: NamesFileInfo<'_> = NamesFileInfo { shows_hidden: false, ..WITH_HIDDEN };

fn audit_file(info: NamesFileInfo<'_>, folded: &str, paths: &ClassPaths) -> AuditReport {
    let mut audit = Audit::default();
    let wrong = audit.names_file("test.folded", info).folded(folded.as_bytes(), |_| {}).unwrap();
    audit.add_unreadable(wrong);
    audit.judge(paths, |_| {}).unwrap().report
}

/// Audits a file with a JDK that certainly ran.
fn audit(name: &str, folded: &str) -> AuditReport {
    audit_file(WITH_HIDDEN, folded, &by_jdk(&jdk(name)))
}

fn by_jdk(jdk: &ClassFolder) -> ClassPaths {
    ClassPaths { classes: Vec::new(), jdk: Some(jdk.0.clone()), exact: true }
}

fn fates(report: &AuditReport) -> ByFate<u64> {
    report.samples.fates
}

const TRUE: &str = "Main.main;Shop.open;Cart.sum 9\nMain.main;Shop.open;Cart.clear 2\n";

#[test]
fn a_call_that_any_instruction_makes_is_proven() {
    let report = audit("names-true", TRUE);
    assert_eq!(fates(&report), ByFate { proven: 11, ..ByFate::default() });
    assert_eq!((report.edges.distinct, report.edges.proven, report.edges.refuted), (3, 3, 0));
    assert_eq!((&*report.recorder, report.kinds["folded"].fates.signals), ("a test", 11));
}

#[test]
fn a_call_that_no_method_of_a_name_makes_is_refuted_and_shown() {
    let report = audit("names-lacking", &format!("{TRUE}Main.main;Cart.clear 3\n"));
    assert_eq!(fates(&report), ByFate { proven: 11, refuted: 3, ..ByFate::default() });
    let [refutation] = &report.refutations[..] else { panic!("{:?}", report.refutations) };
    assert_eq!((refutation.kind, refutation.line), (Refutation::OtherCallee, Some(0)));
    assert_eq!(refutation.expected, "invokestatic Shop.open:()V or invokedynamic run:()Ljava/lang/Runnable;");
    assert_eq!(refutation.stack, ["Cart.clear(Written.java)", "Main.main(Written.java)"]);
    assert_eq!(refutation.position(), "");
}

#[test]
fn a_line_selects_the_call_within_a_method() {
    let lines = "Main.main:10;Shop.open:30;Cart.sum:40 9\nMain.main:10;Shop.open:31;Cart.clear 5\n";
    let report = audit("names-lines", lines);
    assert_eq!(fates(&report).refuted, 0);
    let report = audit("names-wrong-line", &format!("{lines}Main.main:10;Shop.open:30;Cart.clear 3\n"));
    assert_eq!(fates(&report), ByFate { proven: 14, refuted: 3, ..ByFate::default() });
    let [refutation] = &report.refutations[..] else { panic!("{:?}", report.refutations) };
    assert_eq!((refutation.line, &*refutation.expected), (Some(30), "invokestatic Cart.sum:()V"));
    assert_eq!(refutation.position(), " in line 30");
    assert_eq!(refutation.stack[1], "Shop.open(Written.java:30)");
}

const VERSION: &str = "A JVM 17.0.1+2";

/// Writes the JDK's release file with this version.
fn write_version(jdk: &ClassFolder) {
    fs::write(jdk.0.join("release"), "JAVA_VERSION=\"17.0.1\"\nJAVA_RUNTIME_VERSION=\"17.0.1+2\"\n").unwrap();
}

#[test]
fn only_classes_that_are_known_to_be_the_ones_that_ran_refute() {
    let jdk = jdk("names-doubt");
    write_version(&jdk);
    let doubt = ClassPaths { exact: false, ..by_jdk(&jdk) };
    let folded = "Main.main:10;Shop.open:30;Cart.sum:40 9\nMain.main:10;Shop.open:30;Cart.clear 3\n";
    let report = audit_file(WITH_HIDDEN, folded, &doubt);
    assert_eq!((fates(&report).refuted, report.edges.unjudged["unconfirmed_version"]), (0, 1));
    assert!(report.notes[0].contains("speaks against 1 (--exact"), "{:?}", report.notes);
    assert_eq!(fates(&audit_file(WITH_HIDDEN, folded, &by_jdk(&jdk))).refuted, 3);
    // This file names the JDK that ran, so the JDK's classes are certain.
    let with_jdk = NamesFileInfo { jdk: VERSION, ..WITH_HIDDEN };
    assert_eq!(fates(&audit_file(with_jdk, folded, &doubt)).refuted, 3);
    assert_eq!(
        fates(&audit_file(NamesFileInfo { jdk: "A JVM 17.0.2+2", ..WITH_HIDDEN }, folded, &doubt)).refuted,
        0
    );
    assert_eq!(
        fates(&audit_file(NamesFileInfo { flags: "-javaagent:a.jar", ..with_jdk }, folded, &doubt)).refuted,
        0
    );
}

#[test]
fn exact_is_ignored_if_many_classes_do_not_fit() {
    let folded = "Main.main;Shop.open;Cart.sum 9\nMain.main;java/lang/Thread.run 3\n";
    assert_eq!(fates(&audit("names-believed", folded)).refuted, 3);
    let jdk = jdk("names-not-believed");
    write_version(&jdk);
    let misfits = format!("{folded}Shop.close;Cart.close 1\n");
    let report = audit_file(WITH_HIDDEN, &misfits, &by_jdk(&jdk));
    assert_eq!(fates(&report).refuted, 0);
    assert!(
        report.notes.iter().any(|note| note.starts_with("--exact is not believed: 2 of 3")),
        "{:?}",
        report.notes
    );
    // The version that the file has for the JDK still counts.
    assert_eq!(
        fates(&audit_file(NamesFileInfo { jdk: VERSION, ..WITH_HIDDEN }, &misfits, &by_jdk(&jdk))).refuted,
        3
    );
}

#[test]
fn power_is_zero_if_nothing_can_be_judged() {
    let report =
        audit("names-strangers", "My.first;My.second;My.third;My.fourth 9\nYour.a;Your.b;Your.c;Your.d 9\n");
    assert!(report.power.values().any(|power| power.tried > 0), "{:?}", report.power);
    assert!(report.power.values().all(|power| power.noticed == 0), "{:?}", report.power);
    let report = audit("names-none", "std::vector::push;memcpy 9\n");
    assert!(report.notes[0].starts_with("no frame in it is called as a method"), "{:?}", report.notes);
}

#[test]
fn two_fitting_classes_of_one_name_refute_nothing() {
    const FIRST: &[Call<'_>] = &[(INVOKESTATIC, ["Cart", "sum", "()V"])];
    const SECOND: &[Call<'_>] =
        &[(INVOKESTATIC, ["Cart", "sum", "()V"]), (INVOKESTATIC, ["Cart", "clear", "()V"])];
    const fn open<'a>(descriptor: &'a str, calls: &'a [Call<'a>]) -> WrittenMethod<'a> {
        WrittenMethod { name: "open", descriptor, is_static: true, line: 30, calls }
    }
    let shop = |methods| Written { name: "Shop", superclass: "java/lang/Object", methods };
    let mut classes = CLASSES.to_vec();
    classes.retain(|class| class.name != "Shop");
    let others = [open("()V", FIRST)];
    let here = ClassFolder::new("names-first", &[&classes[..], &[shop(&others)]].concat());
    let other = [open("(I)V", SECOND)];
    let there = ClassFolder::new("names-second", &[shop(&other)]);
    let paths_of = |folders: &[&ClassFolder]| ClassPaths {
        classes: folders.iter().map(|folder| folder.0.clone()).collect(),
        jdk: None,
        exact: true,
    };
    let folded = "Main.main:10;Shop.open:30;Cart.sum 9\nMain.main:10;Shop.open:30;Cart.clear 3\n";
    assert_eq!(fates(&audit_file(WITH_HIDDEN, folded, &paths_of(&[&here]))).refuted, 3);
    assert_eq!(fates(&audit_file(WITH_HIDDEN, folded, &paths_of(&[&here, &there]))).refuted, 0);
}

#[test]
fn deep_unjudged_recursion_costs_no_more_than_one_refuted_call() {
    const DEEP: usize = 3_000;
    const MAIN: &[Call<'_>] = &[(INVOKESTATIC, ["Two", "f", "(I)V"])];
    const AGAIN: &[Call<'_>] = &[(INVOKEINTERFACE, ["Any", "f", "()V"])];
    const ITSELF: &[Call<'_>] = &[(INVOKESTATIC, ["Two", "f", "()V"])];
    let method =
        |name, descriptor, calls| WrittenMethod { name, descriptor, is_static: true, line: 1, calls };
    let methods = [method("main", "()V", MAIN), method("f", "(I)V", AGAIN), method("f", "()V", ITSELF)];
    let jdk =
        jdk_with("names-deep", &[Written { name: "Two", superclass: "java/lang/Object", methods: &methods }]);
    let folded = format!("Two.main{} 1\nTwo.f;Two.f 9\nTwo.main;Two.f 9\n", ";Two.f".repeat(DEEP));
    assert_eq!(fates(&audit_file(WITHOUT_HIDDEN, &folded, &by_jdk(&jdk))).refuted, 0);
}

#[test]
fn a_class_without_the_method_or_line_is_another_version() {
    let report =
        audit("names-other", "Main.main;Shop.close;Cart.sum 9\nMain.main:10;Shop.open:99;Cart.clear 5\n");
    assert_eq!(fates(&report).refuted, 0);
    let [other] = &report.classes.other_version[..] else { panic!("{:?}", report.classes) };
    assert_eq!((&*other.class, &*other.why), ("Shop", "it has no method close"));
    let report = audit("names-other-line", "Main.main:10;Shop.open:99;Cart.clear 5\n");
    assert_eq!(report.classes.other_version[0].why, "its method open has no line 99");
}

#[test]
fn all_overloads_are_tried_along_the_whole_stack() {
    const TO_A: &[Call<'_>] = &[(INVOKESTATIC, ["Two", "b", "(I)V"])];
    const TO_B: &[Call<'_>] = &[(INVOKESTATIC, ["Two", "c", "()V"])];
    const TO_D: &[Call<'_>] = &[(INVOKESTATIC, ["Two", "d", "()V"])];
    const NONE: &[Call<'_>] = &[];
    const fn method<'a>(name: &'a str, descriptor: &'a str, calls: &'a [Call<'a>]) -> WrittenMethod<'a> {
        WrittenMethod { name, descriptor, is_static: true, line: 1, calls }
    }
    let classes = [Written {
        name: "Two",
        superclass: "java/lang/Object",
        methods: &[
            method("a", "()V", TO_A),
            method("b", "(I)V", TO_D),
            method("b", "()V", TO_B),
            method("c", "()V", NONE),
            method("d", "()V", NONE),
        ],
    }];
    let jdk = jdk_with("names-overloads", &classes);
    // `a` calls one `b`, and the other `b` calls `c`: each call is possible, but not both.
    let folded = "Two.a;Two.b;Two.d 3\nTwo.b;Two.c 2\nTwo.a;Two.b;Two.c 1\n";
    let report = audit_file(WITH_HIDDEN, folded, &by_jdk(&jdk));
    assert_eq!((fates(&report).plausible, fates(&report).refuted), (5, 1));
}

#[test]
fn a_missing_class_is_judged_as_callee_by_name_and_not_as_caller() {
    let report = audit(
        "names-gone",
        &format!("{TRUE}Main.main;Shop.open;Gone.sum;Cart.sum 1\nMain.main;Shop.open;Gone.away 2\n"),
    );
    assert_eq!(fates(&report).refuted, 0);
    assert_eq!(report.edges.unjudged["class_not_found"], 1);
    assert_eq!(report.edges.unjudged["unknown_overload"], 1);
}

#[test]
fn interface_calls_are_not_judged_if_lambda_frames_may_be_missing() {
    const CALLS: &[Call<'_>] =
        &[(INVOKEINTERFACE, ["Runnable", "run", "()V"]), (INVOKESTATIC, ["Any", "go", "()V"])];
    let mut classes = CLASSES.to_vec();
    let all = [
        WrittenMethod { name: "all", descriptor: "()V", is_static: true, line: 1, calls: CALLS },
        WrittenMethod { name: "go", descriptor: "()V", is_static: true, line: 9, calls: &[] },
    ];
    classes.push(Written { name: "Any", superclass: "java/lang/Object", methods: &all });
    let jdk = jdk_with("names-lambdas", &classes);
    let folded = "Any.all:1;Main.lambda$main$0 1\nAny.all:2;Main.lambda$main$0 2\nAny.all:2;Any.go 9\n";
    let report = audit_file(WITHOUT_HIDDEN, folded, &by_jdk(&jdk));
    assert_eq!((fates(&report).refuted, report.edges.unjudged["hidden_frames"]), (2, 1));
    assert_eq!(fates(&audit_file(WITH_HIDDEN, folded, &by_jdk(&jdk))).refuted, 3);
    // A file with one frame of a lambda shows all such frames.
    let with_lambda = format!("{folded}Main.main;Main$$Lambda.0x0000abcd.run;Main.lambda$main$0 1\n");
    let report = audit_file(WITHOUT_HIDDEN, &with_lambda, &by_jdk(&jdk));
    assert_eq!(fates(&report).refuted, 3);
    assert_eq!(report.classes.generated["lambda"], 1);
}

#[test]
fn frames_that_the_file_marks_as_missing_are_not_judged() {
    let folded = "Main.main;[frames left out];Cart.clear 1\n[frames left out];Shop.open;Cart.sum 2\n[no stack: unknown_Java] 3\n\
                  [outside Java] 4\nstart_thread;GCTaskThread::run 5\nMain.main;[unknown method];Cart.clear 6\n[unknown_Java] 7\n";
    let report = audit("names-ends", folded);
    let expected = ByFate { plausible: 9, unwalked: 10, outside: 9, ..ByFate::default() };
    assert_eq!(fates(&report), expected, "{report:?}");
    assert_eq!(report.unwalked["unknown_Java"], 10);
    assert_eq!(report.kinds["folded"].cut, 2);
}

#[test]
fn threads_with_an_id_keep_their_root() {
    let folded = "[worker tid=7];java/lang/Thread.run;Cart.sum 3\n[worker tid=7];Cart.sum 2\n[other tid=8];Cart.sum 1\n";
    let report = audit("names-roots", folded);
    assert_eq!(fates(&report), ByFate { proven: 3, plausible: 1, refuted: 2, ..ByFate::default() });
    assert_eq!(report.refuted["wrong_root"], 2);
    // Threads without an id cannot be distinguished.
    let report = audit("names-no-threads", "java/lang/Thread.run;Cart.sum 3\nCart.sum 2\n");
    assert_eq!(fates(&report).refuted, 0);
}

#[test]
fn power_depends_on_whether_lines_are_known() {
    let lines =
        "Main.main:10;Shop.open:30;Cart.sum:40;Cart.clear 90\nMain.main:10;Shop.open:31;Cart.clear 90\n";
    let with = audit("names-power-lines", lines).power;
    let without = audit(
        "names-power",
        "Main.main;Shop.open;Cart.sum;Cart.clear 90\nMain.main;Shop.open;Cart.clear 90\n",
    )
    .power;
    let share = |power: &std::collections::BTreeMap<String, vouch_report::Power>, key: &str| {
        let it = &power[key];
        (it.tried > 0, it.noticed, it.tried)
    };
    // The name `open` allows a call of `clear`, but one of its lines does not.
    let (tried, noticed, all) = share(&with, "moved_bcis");
    assert!(tried && noticed > 0 && noticed < all, "{with:?}");
    assert_eq!(share(&without, "moved_bcis").1, 0, "{without:?}");
    assert!(share(&with, "dropped_frames").1 > share(&without, "dropped_frames").1, "{with:?} {without:?}");
    assert!(share(&without, "dropped_frames").1 > 0, "{without:?}");
}

#[test]
fn malformed_lines_are_counted() {
    let report =
        audit("names-damaged", &format!("{TRUE}no number\n;;; 1\n\nMain.main 99999999999999999999999\n"));
    assert_eq!(report.unreadable_events, 2);
}

/// Generates frames of the program, and random frames.
fn frame() -> impl Strategy<Value = String> {
    const KNOWN: [&str; 7] = [
        "Main.main",
        "Shop.open",
        "Cart.sum",
        "Cart.clear",
        "java/lang/Thread.run",
        "[frames left out]",
        "Gone.away",
    ];
    let known = proptest::sample::select(&KNOWN[..]).prop_map(str::to_owned);
    let placed = (known.clone(), 0..60_u16).prop_map(|(name, line)| format!("{name}:{line}"));
    prop_oneof![known, placed, "[ -:<-~]{0,12}"]
}

/// Generates random stacks from a root, with calls that the bytecode makes, with and without lines.
#[test]
fn true_stacks_are_never_refuted() {
    type Choices = (bool, Vec<usize>, bool);
    let choices = (any::<bool>(), proptest::collection::vec(0..9_usize, 0..12), any::<bool>());
    let true_stack = |(by_worker, choices, lines): &Choices| {
        let (mut class, mut name) = if *by_worker { ("java/lang/Thread", "run") } else { ("Main", "main") };
        let mut frames = Vec::new();
        for choice in choices {
            let of = CLASSES.iter().find(|it| it.name == class).unwrap();
            let method = of.methods.iter().find(|it| it.name == name).unwrap();
            let calls =
                method.calls.iter().zip(method.line..).filter(|((opcode, _), _)| *opcode == INVOKESTATIC);
            let calls: Vec<_> = calls.collect();
            if calls.is_empty() {
                break;
            }
            let ((_, [callee, called, _]), line) = calls[choice % calls.len()];
            frames.push(if *lines { format!("{class}.{name}:{line}") } else { format!("{class}.{name}") });
            (class, name) = (callee, called);
        }
        frames.push(format!("{class}.{name}"));
        format!("{} 1\n", frames.join(";"))
    };
    let holds = |stacks: Vec<Choices>, folder: &ClassFolder| {
        let folded: String = stacks.iter().map(true_stack).collect();
        let paths = ClassPaths { classes: vec![folder.0.clone()], jdk: None, exact: true };
        let report = audit_file(WITHOUT_HIDDEN, &folded, &paths);
        prop_assert_eq!(report.samples.fates.refuted, 0, "{}", folded);
        prop_assert!(report.classes.other_version.is_empty(), "{}", folded);
        prop_assert_eq!(report.edges.proven, report.edges.distinct, "{}", folded);
        Ok(())
    };
    check_property(proptest::collection::vec(choices, 1..9), holds, "names-always");
}

#[test]
fn each_random_stack_has_one_fate() {
    let stacks = proptest::collection::vec((proptest::collection::vec(frame(), 0..7), 1..9_u64), 1..6);
    let holds = |stacks: Vec<(Vec<String>, u64)>, folder: &ClassFolder| {
        let lines = stacks.iter().map(|(frames, count)| format!("{} {count}\n", frames.join(";")));
        let paths = ClassPaths { classes: vec![folder.0.clone()], jdk: None, exact: false };
        let report = audit_file(WITHOUT_HIDDEN, &lines.collect::<String>(), &paths);
        let counts: u64 = stacks.iter().map(|(_, count)| count).sum();
        prop_assert_eq!(report.samples.signals, counts);
        prop_assert_eq!(report.samples.fates.sum(), counts);
        Ok(())
    };
    check_property(stacks, holds, "names-any");
}

/// Changes a few bytes of folded stacks and of a pprof file.
#[test]
fn damaged_files_are_read_as_far_as_possible() {
    let whole = [TRUE.as_bytes().to_vec(), pprof::tests::bytes()];
    let damage = proptest::collection::vec((any::<usize>(), any::<u8>()), 1..6);
    let holds = |damage: Vec<(usize, u8)>, folder: &ClassFolder| {
        let mut bytes = whole.clone();
        for (at, byte) in damage {
            for file in &mut bytes {
                let length = file.len();
                file[at % length] = byte;
            }
        }
        let paths = ClassPaths { classes: vec![folder.0.clone()], jdk: None, exact: false };
        let mut audit = Audit::default();
        let _ = audit.names_file("any", WITHOUT_HIDDEN).folded(&*bytes[0], |_| {});
        let _ = audit.names_file("any", WITHOUT_HIDDEN).pprof(&*bytes[1]);
        let report = audit.judge(&paths, |_| {}).unwrap().report;
        prop_assert_eq!(report.samples.signals, report.samples.fates.sum());
        Ok(())
    };
    check_property(damage, holds, "names-bytes");
}

#[test]
fn an_endless_line_counts_as_one_malformed_line() {
    let mut audit = Audit::default();
    let long = std::io::repeat(b'a').take((64 << 20) + 9);
    let lines = long.chain(&b";Cart.sum 9\nMain.main;Cart.sum 2\n"[..]);
    let wrong = audit.names_file("long", WITH_HIDDEN).folded(std::io::BufReader::new(lines), |_| {}).unwrap();
    assert_eq!(
        (wrong, audit.judge(&by_jdk(&jdk("names-long")), |_| {}).unwrap().report.samples.signals),
        (1, 2)
    );
}
