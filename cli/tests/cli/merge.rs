//! Tests of `vouch merge` with a Flight Recorder file, with the real binary.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use vouch_formats::{Format, Meta};
use vouch_jfr::testing::{Declared, chunk, event, long, plain};
use vouch_recording::Recording;
use vouch_report::{Run, TrustReport};

use crate::common;

const MS: u64 = 1_000_000;
const LONG: i64 = 20;
const ORDER: i64 = 100;

/// Makes a profile of the 50 ms after the machine's start, without a sample.
fn profile() -> Vec<u8> {
    let recording = Recording::new();
    let run = Run { interval_ns: MS, ..Run::default() };
    let report = TrustReport::from_recording(&recording, run);
    let meta = Meta { started_ns: 0, ended_ns: 50 * MS, report, ..Meta::default() };
    let mut bytes = Vec::new();
    Format::from_file_name(".json").unwrap().write(&recording, &meta, &mut bytes).unwrap();
    bytes
}

/// Makes a recording with one event, which began at this time since 1970.
fn recording(start_unix_ns: i64) -> Vec<u8> {
    let kind = |id, name, event, fields| Declared { id, name, annotations: &[], event, fields };
    let fields = [plain("startTime", LONG), plain("duration", LONG)];
    let types = [kind(LONG, "long", false, &[]), kind(ORDER, "shop.Order", true, &fields)];
    chunk(&types, &[], &[event(ORDER, &[long(1_000), long(500)])], (0, start_unix_ns))
}

fn merge(folder: &Path) -> Output {
    let arguments = ["merge", "p.json", "r.jfr", "--out", "m.json"];
    Command::new(env!("CARGO_BIN_EXE_vouch")).args(arguments).current_dir(folder).output().unwrap()
}

#[test]
fn a_recording_of_another_time_is_refused_and_nothing_is_written() {
    let path = common::file("merge", "p.json", profile());
    let folder = path.parent().unwrap();
    let out = folder.join("m.json");
    let _ = fs::remove_file(&out);
    common::file("merge", "r.jfr", recording(0));
    let merged = merge(folder);
    let text = String::from_utf8(merged.stdout).unwrap();
    assert!(merged.status.success() && text.contains("m.json: 1 events of r.jfr"), "{text}");
    fs::remove_file(&out).unwrap();
    common::file("merge", "r.jfr", recording(1_000_000_000_000_000_000));
    let refused = merge(folder);
    assert!(refused.status.code() == Some(1) && refused.stdout.is_empty() && !out.exists(), "{refused:?}");
    assert_eq!(
        String::from_utf8(refused.stderr).unwrap(),
        "vouch: r.jfr adds nothing to p.json, and no file was written: 1 of its events are before or after the \
         profile: name the recording of the same run\n"
    );
}
