//! What `vouch` answers to a command line as a whole: the real binary.

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
