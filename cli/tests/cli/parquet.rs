//! `vouch convert` into Parquet: the table, read by another reader than ours, has each sample that
//! the profile has.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use serde_json::Value;
use vouch_formats::{Format, Meta};
use vouch_recording::{Category, Func, Leaf, Recording, Sample, TRACE, Trust};
use vouch_report::{Run, TrustReport};

use crate::pprof::recording;
use crate::recover;

const START_NS: u64 = 12 * 86_400 * 1_000_000_000;
const START_UNIX_NS: u64 = 1_764_547_200_000_000_000;

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("parquet").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn vouch(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_vouch")).args(arguments).current_dir(folder).output().unwrap()
}

fn good(folder: &Path, arguments: &[&str]) -> String {
    let output = vouch(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = vouch(folder, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// Writes the profile of a recording of this service.
fn write(path: &Path, recording: &Recording, resource: &[(&str, &str)]) {
    let meta = Meta {
        report: TrustReport::from_recording(recording, Run { interval_ns: 1_000_000, ..Run::default() }),
        started_ns: START_NS,
        started_unix_ns: START_UNIX_NS,
        ended_ns: START_NS + 150_000_000_000,
        pid: 42,
        resource: resource.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        ..Meta::default()
    };
    let format = Format::from_file_name(path.to_str().unwrap()).unwrap();
    let mut packed = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
    format.write(recording, &meta, &mut packed).unwrap();
    packed.finish().unwrap().flush().unwrap();
}

fn rows(path: &Path) -> Vec<BTreeMap<String, Field>> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let row = |row: parquet::errors::Result<Row>| row.unwrap().into_columns().into_iter().collect();
    reader.get_row_iter(None).unwrap().map(row).collect()
}

fn number(field: &Field) -> u64 {
    let Field::Long(number) = field else { panic!("{field}") };
    u64::try_from(*number).unwrap()
}

fn text(field: &Field) -> &str {
    match field {
        Field::Str(text) => text,
        Field::Null => "",
        other => panic!("{other}"),
    }
}

#[test]
fn a_table_has_the_sums_of_each_measure_by_method() {
    let folder = folder("sums");
    let recording = recording();
    write(&folder.join("a.json.gz"), &recording, &[]);
    write(&folder.join("a.otlp.gz"), &recording, &[("service.name", "shop")]);
    let said = good(&folder, &["convert", "a.otlp.gz", "--out", "a.parquet"]);
    let rows = rows(&folder.join("a.parquet"));
    assert_eq!(said, format!("wrote a.parquet: 1 profile, {} rows\n", rows.len()));
    for (measure, name, key, unit) in [
        ("cpu", "cpu", "self_ms", 1e-6),
        ("alloc", "alloc_space", "self_bytes", 1.0),
        ("live", "inuse_space", "self_bytes", 1.0),
        ("lock", "delay", "self_ms", 1e-6),
        ("wall", "wall", "self_ms", 1e-6),
    ] {
        let mut sums = BTreeMap::<String, f64>::new();
        let mut samples = 0;
        for row in rows.iter().filter(|row| text(&row["measure"]) == name) {
            #[expect(clippy::cast_precision_loss, reason = "the values are small")]
            let value = number(&row["value"]) as f64 * unit;
            *sums.entry(text(&row["method"]).to_owned()).or_default() += value;
            samples += number(&row["count"]);
        }
        let top = good(&folder, &["top", "a.json.gz", "--json", "--rows", "1000", "--measure", measure]);
        let top: Value = serde_json::from_str(&top).unwrap();
        assert_eq!(top["samples"], samples, "{measure}");
        let expected = top["rows"].as_array().unwrap().iter();
        let expected: BTreeMap<&str, f64> = expected
            .map(|row| (row["name"].as_str().unwrap(), row[key].as_f64().unwrap()))
            .filter(|(_, own)| *own > 0.0)
            .collect();
        assert!(!expected.is_empty(), "{measure}");
        sums.retain(|_, own| *own > 0.0);
        assert!(sums.keys().map(String::as_str).eq(expected.keys().copied()), "{sums:?} {expected:?}");
        for (own, expected) in sums.values().zip(expected.values()) {
            assert!((own - expected).abs() < 1e-9 * expected, "{measure}: {own} {expected}");
        }
    }
}

/// A thread in a trace, with a sample in each of three minutes. Its leaf has a file and a line.
fn traced() -> Recording {
    let mut recording = Recording::new();
    let func = |name| Func {
        name,
        category: Category::Application,
        source: None,
        line: None,
        resource: None,
        java: true,
    };
    let main = recording.func(func("shop.Main.main"));
    let main = recording.frame(main, Some(7));
    let main = recording.stack(None, main);
    let add = recording.func(func("shop.Cart.add"));
    let add = recording.leaf_frame(add, Some(12), Leaf::new(Trust::Proven));
    let stack = recording.stack(Some(main), add);
    let class = recording.string(TRACE);
    let label = recording.string("Trace");
    let fields = ["trace_id", "span_id"].map(|key| {
        let key = recording.string(key);
        vouch_recording::ContextField { key, label: key }
    });
    let kind = recording.context_kind(vouch_recording::ContextKind { class, label, fields: fields.to_vec() });
    let ids = ["0102030405060708090a0b0c0d0e0f10", "a1a2a3a4a5a6a7a8"];
    let values = ids.map(|id| recording.string(id)).to_vec();
    let context = recording.context(vouch_recording::ContextRow { outer: None, kind, values });
    let thread = recording.add_thread("worker", 11, START_NS);
    for (time_s, weight) in [(1, 2), (2, 1), (61, 1), (149, 5)] {
        let time_ns = START_NS + time_s * 1_000_000_000;
        let trust = Trust::Proven;
        recording.sample(
            thread,
            Sample { time_ns, cpu_ns: time_ns, stack, weight, trust, context: Some(context) },
        );
    }
    recording
}

#[test]
fn a_row_has_the_service_the_interval_the_trace_and_the_frames() {
    let folder = folder("columns");
    let resource = [("service.name", "shop"), ("service.version", "2.1"), ("host.name", "h7")];
    write(&folder.join("a.otlp.gz"), &traced(), &resource);
    good(&folder, &["convert", "a.otlp.gz", "--out", "a.parquet", "--service", "other", "--host", "h8"]);
    let rows = rows(&folder.join("a.parquet"));
    let minute = |row: &BTreeMap<String, Field>, key: &str| match row[key] {
        Field::TimestampMicros(us) => (us - i64::try_from(START_UNIX_NS / 1000).unwrap()) / 1_000_000,
        ref other => panic!("{other}"),
    };
    let part = |row: &BTreeMap<String, Field>| {
        let times = ["start_time", "end_time"].map(|key| minute(row, key));
        (times, number(&row["value"]), number(&row["count"]))
    };
    let parts: Vec<_> = rows.iter().map(part).collect();
    let expected = [([0, 60], 3_000_000, 2), ([60, 120], 1_000_000, 1), ([120, 150], 5_000_000, 1)];
    assert_eq!(parts, expected);
    for row in &rows {
        for (key, value) in [
            ("service", "shop"),
            ("version", "2.1"),
            ("host", "h7"),
            ("measure", "cpu"),
            ("unit", "nanoseconds"),
            ("thread", "worker"),
            ("trace_id", "0102030405060708090a0b0c0d0e0f10"),
            ("span_id", "a1a2a3a4a5a6a7a8"),
            ("fate", "proven"),
            ("top_frame", ""),
            ("category", "Application"),
            ("method", "shop.Cart.add"),
        ] {
            assert_eq!(text(&row[key]), value, "{key}");
        }
        assert_eq!([number(&row["process_id"]), number(&row["thread_id"])], [42, 11]);
        let Field::ListInternal(stack) = &row["stack"] else { panic!("{row:?}") };
        let frames: Vec<String> = stack.elements().iter().map(Field::to_string).collect();
        let frame =
            |method, line| format!("{{method: \"{method}\", file: null, line: {line}, kind: \"jvm\"}}");
        assert_eq!(frames, [frame("shop.Cart.add", 12), frame("shop.Main.main", 7)]);
    }
}

#[test]
fn many_profiles_and_a_folder_become_one_table() {
    let folder = folder("many");
    fs::create_dir(folder.join("all")).unwrap();
    for name in ["a", "b", "c"] {
        write(&folder.join(format!("all/{name}.otlp.gz")), &traced(), &[("service.name", name)]);
    }
    drop(recover::recording(&folder.join("all"), "d"));
    fs::write(folder.join("all/notes.txt"), "something else").unwrap();
    // A recording beside its profile is the same, and a file that cannot be read is left out.
    fs::copy(folder.join("all/d.vouch"), folder.join("all/a.vouch")).unwrap();
    fs::write(folder.join("all/empty.vouch"), "").unwrap();
    let options = ["--service", "till", "--service-version", "3"];
    let named = ["convert", "all/b.otlp.gz", "all", "all", "--out", "t.parquet"];
    let said = good(&folder, &[&named, &options[..]].concat());
    let said: Vec<&str> = said.lines().collect();
    assert!(
        said[0].starts_with("left out: all/empty.vouch") || said[1].starts_with("left out: all/empty.vouch"),
        "{said:?}"
    );
    assert_eq!(*said.last().unwrap(), "wrote t.parquet: 4 profiles, 10 rows");
    let mut counts = BTreeMap::new();
    for row in rows(&folder.join("t.parquet")) {
        let key = [&row["service"], &row["version"]].map(|field| text(field).to_owned());
        *counts.entry(key).or_insert(0) += number(&row["count"]);
    }
    let expected = [("a", 4), ("b", 4), ("c", 4), ("till", 1)];
    let expected = expected.map(|(name, count)| ([name.to_owned(), "3".to_owned()], count));
    assert_eq!(counts, BTreeMap::from(expected));
    good(&folder, &["convert", "all/d.vouch", "--out", "d.json", "--out", "d.parquet"]);
    assert_eq!(rows(&folder.join("d.parquet")).len(), 1);
}

#[test]
fn a_table_of_other_files_is_refused_with_what_to_do() {
    let folder = folder("refused");
    write(&folder.join("a.otlp.gz"), &traced(), &[]);
    write(&folder.join("a.json.gz"), &traced(), &[]);
    fs::create_dir(folder.join("empty")).unwrap();
    let mut bytes = fs::read(folder.join("a.otlp.gz")).unwrap();
    bytes.truncate(bytes.len() / 2);
    fs::write(folder.join("cut.otlp.gz"), bytes).unwrap();
    for (arguments, says) in [
        (&["a.json.gz", "--out", "t.parquet"] as &[&str], "record with --out FILE.otlp.gz"),
        (&["empty", "--out", "t.parquet"], "record with --out empty/app-%p-%t.otlp.gz"),
        (&["cut.otlp.gz", "--out", "t.parquet"], "cut.otlp.gz is a damaged or incomplete gzip file"),
        (&["a.otlp.gz", "a.otlp.gz", "--out", "t.json"], "use --out FILE.parquet alone"),
        (&["a.otlp.gz", "--out", "t.parquet", "--out", "t.json"], "use --out FILE.parquet alone"),
        (&["a.otlp.gz", "--out", "t.json", "--service", "x"], "use them with --out FILE.parquet alone"),
        (&["a.otlp.gz", "a.otlp.gz", "--out", "t.parquet"], "a.otlp.gz is named twice"),
        (&["a.otlp.gz", "missing.otlp.gz", "--out", "t.parquet"], "missing.otlp.gz cannot be read"),
    ] {
        let why = refused(&folder, &[&["convert"], arguments].concat());
        assert!(why.starts_with("vouch: ") && why.lines().count() == 1 && why.contains(says), "{why}");
        assert!(!folder.join("t.parquet").exists() && !folder.join("t.json").exists());
    }
}
