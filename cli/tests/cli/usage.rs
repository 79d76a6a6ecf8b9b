//! Tests of how `vouch` answers to command lines, with the real binary.

use std::fs::OpenOptions;
use std::process::{Command, Output};

fn vouch(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vouch")).args(arguments).output().unwrap()
}

fn error(arguments: &[&str]) -> String {
    let output = vouch(arguments);
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn the_version_is_a_flag_and_a_word() {
    let [flag, word] = ["--version", "version"].map(|word| vouch(&[word]));
    assert!(flag.status.success() && word.status.success(), "{word:?}");
    assert_eq!(flag.stdout, word.stdout);
    let help = String::from_utf8(vouch(&["--help"]).stdout).unwrap();
    assert!(!help.contains("  version "), "{help}");
}

#[test]
fn a_help_that_cannot_be_written_is_an_error() {
    for arguments in [&["--help"] as &[&str], &["run", "--help"], &["--version"], &["events"]] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_vouch")).args(arguments).stdout(full).output().unwrap();
        let why = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.code() == Some(1) && why.contains("could not be written"),
            "{arguments:?}: {why}"
        );
    }
}

#[test]
fn a_number_of_rows_is_checked() {
    for verb in [&["top", "a.json"] as &[&str], &["diff", "a.json", "b.json"]] {
        for wrong in ["x", "-1", "1.5", ""] {
            let why = error(&[verb, &["--rows", wrong]].concat());
            assert!(why.contains("--rows <N>") && why.contains("must be a whole number from 0 up"), "{why}");
        }
    }
}

#[test]
fn the_help_of_a_recording_fits_a_screen_and_names_the_longer_one() {
    for verb in ["run", "attach", "start"] {
        let [short, flag, all] = ["-h", "--help", "--help-all"]
            .map(|flag| String::from_utf8(vouch(&[verb, flag]).stdout).unwrap());
        assert_eq!(short, flag);
        assert!(
            short.lines().count() <= 40 && short.contains(&format!("`vouch {verb} --help-all`")),
            "{short}"
        );
        assert!(!short.contains("--walker") && all.contains("--walker") && all.contains("--out"), "{all}");
        for test_only in ["hammer", "--lab", "--break"] {
            assert!(!all.contains(test_only), "{all}");
        }
    }
}

#[test]
fn a_wrong_value_is_found_before_a_jvm_is_started() {
    let why = error(&["run", "--interval", "1xs", "--engine", "prof", "java"]);
    assert!(
        why.starts_with("vouch: interval=1xs: must be a whole number with us, ms, s, m, h or d"),
        "{why}"
    );
    assert!(why.contains("engine=prof: must be one of auto, perf, timer, itimer, poll;"), "{why}");
}
