//! Tests of `vouch recover`: the real binary on recordings that are complete, in use, or not
//! recordings at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use vouch_formats::Meta;
use vouch_log::{State, Writer};
use vouch_recording::{Category, Func, Leaf, Recording, Sample, Trust};
use vouch_report::Run;

pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("recover").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a recording with one sample.
pub fn recording(folder: &Path, name: &str) -> Writer {
    let mut recording = Recording::new();
    let java = Category::Application;
    let func = recording.func(Func {
        name: "shop.Cart.add",
        category: java,
        source: None,
        line: None,
        resource: None,
        java: true,
    });
    let frame = recording.leaf_frame(func, Some(3), Leaf::new(Trust::Proven));
    let stack = recording.stack(None, frame);
    let main = recording.add_thread("main", 7, 1_000);
    let trust = Trust::Proven;
    let sample = Sample { time_ns: 2_000, cpu_ns: 500, stack, weight: 1, trust, context: None };
    recording.sample(main, sample);
    let (mut writer, _) = Writer::create(&folder.join(name), u64::MAX).unwrap();
    let state = State::new(Meta::default(), Run { interval_ns: 1_000_000, ..Run::default() }, false);
    writer.append(&mut recording, 3_000, Some(&state)).unwrap();
    writer
}

fn recover(folder: &Path, arguments: &[&str]) -> Output {
    let vouch = env!("CARGO_BIN_EXE_vouch");
    Command::new(vouch).arg("recover").args(arguments).current_dir(folder).output().unwrap()
}

fn output_texts(output: &Output) -> (String, String) {
    let [out, err] = [&output.stdout, &output.stderr].map(|told| String::from_utf8(told.clone()).unwrap());
    (out, err)
}

#[test]
fn each_recording_has_its_profile_and_one_that_is_none_costs_no_other() {
    let folder = folder("several");
    drop(recording(&folder, "a"));
    let living = recording(&folder, "b");
    fs::write(folder.join("none.vouch"), "something else").unwrap();
    // A JVM that was killed right after the begin of a period leaves such a file.
    fs::write(folder.join("empty.vouch"), "").unwrap();
    let output = recover(&folder, &["a.vouch", "none.vouch", "empty.vouch", "b.vouch"]);
    let (out, err) = output_texts(&output);
    assert_eq!(output.status.code(), Some(1));
    let none = "vouch: none.vouch is not a recording (.vouch) by Vouch";
    let empty =
        "empty.vouch is empty, since its JVM had recorded nothing yet: remove it if that JVM has ended";
    assert_eq!(err, format!("{none}; {empty}\n"));
    assert!(
        out.contains("its process was killed or crashed") && out.contains("its process is still running"),
        "{out}"
    );
    for name in ["a.recovered.json.gz", "b.recovered.json.gz"] {
        assert!(folder.join(name).exists() && out.contains(name), "{out}");
    }
    drop(living);
}

#[test]
fn a_cut_recording_is_not_called_nearly_whole() {
    let folder = folder("cut");
    drop(recording(&folder, "a"));
    let whole = fs::read(folder.join("a.vouch")).unwrap();
    fs::write(folder.join("cut.vouch"), [&whole[..], b"the first bytes of one more"].concat()).unwrap();
    let (out, err) = output_texts(&recover(&folder, &["cut.vouch"]));
    assert!(
        out.contains("it ends in the middle of a block") && !out.contains("killed or crashed"),
        "{out}{err}"
    );
}

#[test]
fn a_file_that_is_no_profile_is_refused_with_what_makes_one() {
    let folder = folder("kinds");
    drop(recording(&folder, "a"));
    fs::write(folder.join("b.jfr"), b"FLR\0and so on").unwrap();
    for (file, says) in [("a.vouch", "`vouch recover a.vouch`"), ("b.jfr", "`vouch audit b.jfr --out FILE`")]
    {
        for command in ["top", "explain", "flame"] {
            let vouch =
                Command::new(env!("CARGO_BIN_EXE_vouch")).args([command, file]).current_dir(&folder).output();
            let (_, err) = output_texts(&vouch.unwrap());
            assert!(err.contains(says), "{command}: {err}");
        }
    }
}

#[test]
fn a_file_for_another_program_is_named_with_what_to_pass_instead() {
    let folder = folder("other-formats");
    drop(recording(&folder, "a"));
    let (out, err) = output_texts(&recover(
        &folder,
        &["a.vouch", "--out", "a.folded", "--out", "a.html", "--out", "a.svg", "--out", "a.otlp.gz"],
    ));
    assert!(err.is_empty() && folder.join("a.svg").exists(), "{out}{err}");
    for (file, what) in [
        ("a.folded", "a list of folded stacks (.folded)"),
        ("a.html", "a page for a browser"),
        ("a.svg", "a picture"),
        ("a.otlp.gz", "an OpenTelemetry profile (.otlp.gz)"),
    ] {
        for command in ["top", "explain", "view"] {
            let vouch =
                Command::new(env!("CARGO_BIN_EXE_vouch")).args([command, file]).current_dir(&folder).output();
            let (_, err) = output_texts(&vouch.unwrap());
            assert!(err.contains(&format!("{file} is {what}")) && err.contains(".json.gz or .json"), "{err}");
        }
    }
}

#[test]
fn every_format_and_the_report_are_to_be_had() {
    let folder = folder("formats");
    drop(recording(&folder, "a"));
    let output = recover(
        &folder,
        &["a.vouch", "--out", "a.folded", "--out", "a.html", "--out", "a.svg", "--report", "r.json"],
    );
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read_to_string(folder.join("a.folded")).unwrap().contains("shop.Cart.add 1"));
    assert!(fs::read_to_string(folder.join("r.json")).unwrap().contains("unfinished recording"));
    assert!(fs::read_to_string(folder.join("a.svg")).unwrap().contains("<title>shop.Cart.add (1 ms"));
    assert!(folder.join("a.html").exists() && folder.join("a.vouch").exists());
}

#[test]
fn a_recording_is_converted_and_nothing_else_is() {
    let folder = folder("converted");
    drop(recording(&folder, "a"));
    let vouch = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_vouch")).args(arguments).current_dir(&folder).output().unwrap()
    };
    let output = vouch(&["convert", "a.vouch", "--out", "a.json", "--out", "a.folded", "--report", "r.json"]);
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read_to_string(folder.join("a.folded")).unwrap().contains("shop.Cart.add 1"));
    fs::write(folder.join("b.jfr"), b"FLR\0and so on").unwrap();
    for (arguments, says) in [
        (["convert", "a.json", "--out", "b.folded"], "a.json is not a recording (.vouch)"),
        (["convert", "b.jfr", "--out", "b.json"], "b.jfr is a Flight Recorder file"),
        (["convert", "a.vouch", "--out", "a.png"], "cannot be converted into a.png"),
    ] {
        let (_, err) = output_texts(&vouch(&arguments));
        assert!(err.starts_with("vouch: ") && err.lines().count() == 1 && err.contains(says), "{err}");
    }
}

#[test]
fn recordings_and_profiles_become_one_and_none_of_them_is_lost() {
    let folder = folder("merged");
    for name in ["a", "b"] {
        drop(recording(&folder, name));
    }
    let vouch = |arguments: &[&str]| {
        output_texts(
            &Command::new(env!("CARGO_BIN_EXE_vouch")).args(arguments).current_dir(&folder).output().unwrap(),
        )
    };
    assert!(vouch(&["recover", "b.vouch"]).0.contains("b.recovered.json.gz"));
    let (out, err) = vouch(&["merge", "a.vouch", "b.recovered.json.gz"]);
    assert!(
        out.starts_with("wrote a.merged.json.gz: 2 files, 2 processes, 2 tracks\n") && err.is_empty(),
        "{out}{err}"
    );
    assert!(out.contains("a.vouch: its process was killed or crashed"), "{out}");
    let (out, _) = vouch(&["top", "a.merged.json.gz"]);
    assert!(out.contains("in 2 samples") && out.contains("shop.Cart.add"), "{out}");
    fs::write(folder.join("c.jfr"), b"FLR\0and so on").unwrap();
    std::os::unix::fs::symlink("b.recovered.json.gz", folder.join("link.json.gz")).unwrap();
    let whole = fs::read(folder.join("b.recovered.json.gz")).unwrap();
    let (own, all) = ("b.recovered.json.gz", "a.merged.json.gz");
    for (arguments, says) in [
        (vec!["merge", "a.vouch", own, "--out", own], "is one of the files to merge"),
        (vec!["merge", "a.vouch"], "name at least two files"),
        (vec!["merge", own, all, "c.jfr"], "belongs to the profile of one process"),
        (vec!["merge", "a.vouch", "c.jfr"], "belongs to the profile of one process"),
        (vec!["merge", own, all, "--most", "3"], "need a Flight Recorder file"),
        (vec!["merge", own, "d.json"], "No such file"),
        (vec!["merge", "a.vouch", "link.json.gz", "--out", own], "is one of the files to merge"),
        (vec!["merge", own, "link.json.gz", "--out", "e.json"], "is named twice"),
    ] {
        let (_, err) = vouch(&arguments);
        assert!(err.starts_with("vouch: ") && err.lines().count() == 1 && err.contains(says), "{err}");
    }
    assert_eq!(fs::read(folder.join("b.recovered.json.gz")).unwrap(), whole);
}

#[test]
fn what_it_cannot_do_is_a_sentence_and_the_recording_stays_as_it_is() {
    let folder = folder("refused");
    drop(recording(&folder, "a"));
    fs::copy(folder.join("a.vouch"), folder.join("a.json")).unwrap();
    let whole = fs::read(folder.join("a.json")).unwrap();
    for (arguments, says) in [
        (vec!["a.json", "--out", "a.json"], "is the recording itself"),
        (
            vec!["a.vouch", "--out", "a.txt"],
            "must end in .json, .json.gz, .folded, .html, .svg, .pb.gz or .otlp.gz",
        ),
        (vec!["a.vouch", "--report", "a.vouch"], "must end in .json"),
        (vec!["a.vouch", "--out", "no/a.json"], "create it first"),
        (vec!["a.vouch", "a.json", "--out", "b.json"], "pass only one recording"),
        (vec!["b.vouch"], "No such file"),
    ] {
        let (_, err) = output_texts(&recover(&folder, &arguments));
        assert!(err.starts_with("vouch: ") && err.lines().count() == 1 && err.contains(says), "{err}");
    }
    assert_eq!(fs::read(folder.join("a.json")).unwrap(), whole);
}

#[test]
fn a_replaced_file_is_named_and_the_command_as_it_can_be_called() {
    let folder = folder("replaced");
    drop(recording(&folder, "a"));
    let once = |path: &str| {
        let mut vouch = Command::new(env!("CARGO_BIN_EXE_vouch"));
        let vouch =
            vouch.args(["recover", "a.vouch", "--out", "a.json"]).current_dir(&folder).env("PATH", path);
        String::from_utf8(vouch.output().unwrap().stdout).unwrap()
    };
    let program = Path::new(env!("CARGO_BIN_EXE_vouch"));
    let first = once("/nowhere");
    assert!(first.contains(&format!("wrote a.json; next: {} top a.json,", program.display())), "{first}");
    let second = once(program.parent().unwrap().to_str().unwrap());
    assert!(second.contains("wrote a.json (replaced an earlier file); next: vouch top a.json,"), "{second}");
}
