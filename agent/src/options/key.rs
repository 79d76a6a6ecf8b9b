//! Lists the keys and words, and applies each to the options.

use std::path::PathBuf;
use std::time::Duration;

use regex_lite::Regex;
use vouch_recording::{MEASURES, Measure};
use vouch_report::options::pattern::PatternValues;
use vouch_report::options::value::{Form, choice, rate};
use vouch_report::options::{AllowedWith, EVERY, Key, WORDS, explained, terminal};

use vouch_formats::{Format, VirtualThreads};
use vouch_report::Detail;

use crate::error::{Error, ValueError};
use crate::events::event_choice::chosen;
use crate::lab_hooks::lab;
use crate::recovery;

use super::choices::{KernelWish, NativeWish, OnDisk, OnError, Verb, WalkerWish};
use super::fields::{Options, Output, Report};
use vouch_collect::choices::{FunctionNames, Refuted, Witnessing};
use vouch_sampling::engine::choose::EngineWish;
use vouch_sampling::signal::Signal;

/// The word, and key, of the truth lab.
const LAB_WORD: &str = "lab";
/// The interval of `wall=on`.
const WALL_INTERVAL: Duration = Duration::from_millis(10);
/// The engines that the user can ask for.
const ENGINES: [(&str, EngineWish); 5] = [
    ("auto", EngineWish::Auto),
    ("perf", EngineWish::Perf),
    ("timer", EngineWish::Timer),
    ("itimer", EngineWish::Itimer),
    ("poll", EngineWish::Poll),
];
const WALKERS: [(&str, WalkerWish); 4] = [
    ("auto", WalkerWish::Auto),
    ("asgct", WalkerWish::Asgct),
    ("own", WalkerWish::Own),
    ("both", WalkerWish::Both),
];

/// Applies one `name` or `name=value`. `words` counts the verbs in the text.
pub fn apply(
    options: &mut Options,
    name: &str,
    value: Option<&str>,
    place: &PatternValues<'_>,
    words: &mut u32,
) -> Result<(), Error> {
    let key = vouch_report::options::find(name);
    let is_for_tests = |key: &Key| match value {
        Some(value) => key.allowed_with == AllowedWith::Lab || key.form.is_for_tests(value),
        None => name == LAB_WORD,
    };
    if key.is_some_and(is_for_tests) {
        return apply_for_lab(options, name, value, words);
    }
    let Some(value) = value else {
        options.verb = match name {
            "start" => Verb::Start,
            "stop" => Verb::Stop,
            "dump" => Verb::Dump,
            "status" => Verb::Status,
            "groups" => Verb::Groups,
            "check" => Verb::Check,
            "quiet" | "verbose" => {
                options.detail = if name == "quiet" { Detail::Quiet } else { Detail::Verbose };
                return Ok(());
            }
            _ if key.is_some() => {
                return Err(Error::NeedsValue { name: name.to_owned() });
            }
            _ => return Err(unknown(name)),
        };
        *words += 1;
        return Ok(());
    };
    match set(options, name, value, place) {
        Ok(true) => Ok(()),
        Ok(false) => match name {
            "quiet" | "verbose" | "help" | "version" | "stop" | "dump" | "status" | "groups" | "check" => {
                Err(Error::TakesNoValue(name.to_owned()))
            }
            _ => Err(unknown(name)),
        },
        Err(why) => Err(Error::Value { key: name.to_owned(), value: value.to_owned(), why }),
    }
}

/// Sets one option. Returns false if no option with a value has this name.
fn set(
    options: &mut Options,
    name: &str,
    value: &str,
    place: &PatternValues<'_>,
) -> Result<bool, ValueError> {
    let form = vouch_report::options::find(name).map_or(Form::Text, |key| key.form);
    form.check(value)?;
    match name {
        "out" => {
            options.outputs.push(output(value, place)?);
        }
        "report" => options.report = Some(report(value, place)?),
        "measure" => options.measure = Some(measure(value)?),
        "jfr" => options.jfr = Some(recording_path(value, place)?),
        "sources" => options.sources = source_paths(value, place)?,
        "recording" => {
            let wishes = [("on", OnDisk::On), ("keep", OnDisk::Keep), ("off", OnDisk::Off)];
            options.on_disk = choice(value, &wishes)?;
        }
        "recording-limit" => options.most_on_disk = form.size(value)?,
        "interval" => {
            options.interval = form.length(value)?;
            options.budget = None;
        }
        "wall" => {
            options.wall = match value {
                "off" => None,
                "on" => Some(WALL_INTERVAL),
                _ => Some(form.length(value)?),
            }
        }
        "engine" => options.engine = choice(value, &ENGINES)?,
        "signal" => options.signal = Signal::parse(value)?,
        "depth" => options.depth = form.count(value)?,
        "threads" => {
            options.threads = Some(Regex::new(value)?);
        }
        "start" => options.start = form.length(value)?,
        "walker" => options.walker = choice(value, &WALKERS)?,
        "native" => {
            let wishes = [("auto", NativeWish::Auto), ("on", NativeWish::On), ("off", NativeWish::Off)];
            options.native = choice(value, &wishes)?;
        }
        "kernel" => {
            let wishes = [("auto", KernelWish::Auto), ("on", KernelWish::On), ("off", KernelWish::Off)];
            options.kernel = choice(value, &wishes)?;
        }
        "witness" => {
            options.witness = match value {
                "off" => Witnessing::Off,
                "sparing" => Witnessing::Auto,
                _ => Witnessing::Every(rate(value)?),
            }
        }
        "refuted" => {
            let wishes = [("isolate", Refuted::Isolate), ("keep", Refuted::Keep), ("drop", Refuted::Drop)];
            options.showing.refuted = choice(value, &wishes)?;
        }
        "vthreads" => {
            let choices = [("carrier", VirtualThreads::Carrier), ("own", VirtualThreads::Own)];
            options.virtual_threads = choice(value, &choices)?;
        }
        "names" => {
            let names = [("full", FunctionNames::Full), ("short", FunctionNames::Short)];
            options.showing.names = choice(value, &names)?;
        }
        "recovery" => options.recovery = recovery::chosen(value)?,
        "events" => options.events = chosen(value)?,
        "on-error" => {
            let wishes = [("stop", OnError::Stop), ("run", OnError::Run)];
            options.on_error = choice(value, &wishes)?;
        }
        terminal::KEY => options.terminal = Some(PathBuf::from(value)),
        "duration" => options.duration = Some(form.length(value)?),
        EVERY => options.every = Some(form.length(value)?),
        "maxage" => options.max_age = Some(form.length(value)?),
        "maxsize" => options.max_bytes = Some(form.size(value)?),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Applies an option, or a value of an option, that only tests use.
fn apply_for_lab(
    options: &mut Options,
    name: &str,
    value: Option<&str>,
    words: &mut u32,
) -> Result<(), Error> {
    let text = || value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}"));
    let lab = lab().ok_or_else(|| Error::ForTests(text()))?;
    lab.apply(&mut options.lab, name, value).map_err(|why| Error::Value {
        key: name.to_owned(),
        value: value.unwrap_or_default().to_owned(),
        why: why.into(),
    })?;
    if let Some(free) = options.lab.free {
        options.free = free;
    }
    if let Some(engine) = options.lab.engine {
        options.engine = EngineWish::External(engine);
    }
    if name == LAB_WORD && options.lab.records_nothing {
        options.verb = Verb::Lab;
        *words += 1;
    }
    Ok(())
}

/// Returns the keys that have no effect on the verb.
pub fn misplaced(verb: Verb, seen: &[&str]) -> Vec<String> {
    let (word, allowed) = match verb {
        Verb::Start => return Vec::new(),
        Verb::Stop => ("stop", Some(AllowedWith::Writing)),
        Verb::Dump => ("dump", Some(AllowedWith::Writing)),
        Verb::Status => ("status", None),
        Verb::Groups => ("groups", None),
        Verb::Check => ("check", None),
        Verb::Lab => ("lab", Some(AllowedWith::Lab)),
    };
    let is_allowed = |key: &Key| key.allowed_with == AllowedWith::Any || Some(key.allowed_with) == allowed;
    let wrong = seen.iter().filter(|key| !vouch_report::options::find(key).is_some_and(is_allowed));
    wrong
        .map(|key| format!("{key} has no meaning beside {word}: give it when the recording starts"))
        .collect()
}

fn unknown(name: &str) -> Error {
    let keys: Vec<&str> = explained().map(|key| key.name).collect();
    let near = keys
        .iter()
        .chain(&WORDS)
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .min_by_key(|(distance, _)| *distance);
    match near {
        Some((distance, known)) if distance <= 1 + known.len() / 3 => {
            Error::Misspelt { name: name.to_owned(), near: known }
        }
        _ => Error::UnknownKey { name: name.to_owned(), keys },
    }
}

fn measure(value: &str) -> Result<&'static Measure, ValueError> {
    Measure::from_key(value).ok_or_else(|| ValueError::Measure(MEASURES.map(|measure| measure.key).to_vec()))
}

fn output(value: &str, place: &PatternValues<'_>) -> Result<Output, ValueError> {
    let path = place.expand_own(value)?;
    let format = Format::from_file_name(&path).ok_or_else(|| ValueError::ProfileEnding(Format::endings()))?;
    Ok(Output { path: PathBuf::from(path), name: place.expand_but_time(value)?, format })
}

fn recording_path(value: &str, place: &PatternValues<'_>) -> Result<PathBuf, ValueError> {
    let path = place.expand(value)?;
    if path.ends_with(".jfr") { Ok(PathBuf::from(path)) } else { Err(ValueError::JfrEnding) }
}

fn source_paths(value: &str, place: &PatternValues<'_>) -> Result<Vec<PathBuf>, ValueError> {
    let parts = value.split(':').filter(|part| !part.is_empty());
    let paths: Vec<PathBuf> =
        parts.map(|part| place.expand(part).map(PathBuf::from)).collect::<Result<_, _>>()?;
    if paths.is_empty() { Err(ValueError::NoSources) } else { Ok(paths) }
}

fn report(value: &str, place: &PatternValues<'_>) -> Result<Report, ValueError> {
    let path = place.expand_own(value)?;
    if !path.ends_with(".json") {
        return Err(ValueError::ReportEnding);
    }
    Ok(Report { path: PathBuf::from(path), name: place.expand_but_time(value)? })
}
