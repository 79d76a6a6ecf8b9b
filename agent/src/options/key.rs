//! Lists the keys and words, and applies each to the options.

use std::path::PathBuf;
use std::time::Duration;

use regex_lite::Regex;
use vouch_recording::{MEASURES, Measure};
use vouch_report::options::pattern::PatternValues;
use vouch_report::options::value::{Form, choice, count, rate};
use vouch_report::options::{AllowedWith, Key, WORDS, explained, terminal};
use vouch_walk::broken;

use vouch_formats::{Format, VirtualThreads};
use vouch_report::Detail;

use crate::events::event_choice::chosen;
use crate::recovery;

use super::choices::{NativeWish, OnDisk, OnError, Verb, WalkerWish};
use super::fields::{Options, Output};
use vouch_collect::choices::{FunctionNames, Refuted, Witnessing};
use vouch_sampling::engine::choose::EngineWish;
use vouch_sampling::signal::Signal;

/// The engines that the user can ask for.
const ENGINES: [(&str, EngineWish); 6] = [
    ("auto", EngineWish::Auto),
    ("perf", EngineWish::Perf),
    ("timer", EngineWish::Timer),
    ("itimer", EngineWish::Itimer),
    ("poll", EngineWish::Poll),
    ("hammer", EngineWish::Hammer),
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
) -> Result<(), String> {
    let Some(value) = value else {
        options.verb = match name {
            "start" => Verb::Start,
            "stop" => Verb::Stop,
            "dump" => Verb::Dump,
            "status" => Verb::Status,
            "groups" => Verb::Groups,
            "check" => Verb::Check,
            "lab" => Verb::Lab,
            "quiet" | "verbose" => {
                options.detail = if name == "quiet" { Detail::Quiet } else { Detail::Verbose };
                return Ok(());
            }
            _ if vouch_report::options::find(name).is_some() => {
                return Err(format!("{name} needs a value: {name}=…"));
            }
            _ => return Err(unknown(name)),
        };
        *words += 1;
        return Ok(());
    };
    let named = |why: String| format!("{name}={value}: {why}");
    let form = vouch_report::options::find(name).map_or(Form::Text, |key| key.form);
    form.check(value).map_err(named)?;
    match name {
        "out" => {
            let (path, format) = profile_path(value, place).map_err(named)?;
            options.outputs.push(Output { path, format });
        }
        "report" => options.report = Some(report_path(value, place).map_err(named)?),
        "measure" => options.measure = Some(measure(value).map_err(named)?),
        "jfr" => options.jfr = Some(recording_path(value, place).map_err(named)?),
        "sources" => options.sources = source_paths(value, place).map_err(named)?,
        "recording" => {
            let wishes = [("on", OnDisk::On), ("keep", OnDisk::Keep), ("off", OnDisk::Off)];
            options.on_disk = choice(value, &wishes).map_err(named)?;
        }
        "recording-limit" => options.most_on_disk = form.size(value).map_err(named)?,
        "interval" => {
            options.interval = form.length(value).map_err(named)?;
            options.budget = None;
        }
        "engine" => options.engine = choice(value, &ENGINES).map_err(named)?,
        "signal" => options.signal = Signal::parse(value).map_err(named)?,
        "depth" => options.depth = form.count(value).map_err(named)?,
        "threads" => {
            let regex = Regex::new(value).map_err(|why| named(format!("not a regular expression: {why}")))?;
            options.threads = Some(regex);
        }
        "start" => options.start = form.length(value).map_err(named)?,
        "walker" => options.walker = choice(value, &WALKERS).map_err(named)?,
        "native" => {
            let wishes = [("auto", NativeWish::Auto), ("on", NativeWish::On), ("off", NativeWish::Off)];
            options.native = choice(value, &wishes).map_err(named)?;
        }
        "witness" => {
            options.witness = match value {
                "off" => Witnessing::Off,
                "sparing" => Witnessing::Auto,
                _ => Witnessing::Every(rate(value).map_err(named)?),
            }
        }
        "refuted" => {
            let wishes = [("isolate", Refuted::Isolate), ("keep", Refuted::Keep), ("drop", Refuted::Drop)];
            options.showing.refuted = choice(value, &wishes).map_err(named)?;
        }
        "vthreads" => {
            let choices = [("carrier", VirtualThreads::Carrier), ("own", VirtualThreads::Own)];
            options.virtual_threads = choice(value, &choices).map_err(named)?;
        }
        "names" => {
            let names = [("full", FunctionNames::Full), ("short", FunctionNames::Short)];
            options.showing.names = choice(value, &names).map_err(named)?;
        }
        "recovery" => options.recovery = recovery::chosen(value).map_err(named)?,
        "events" => options.events = chosen(value).map_err(named)?,
        "on-error" => {
            let wishes = [("stop", OnError::Stop), ("run", OnError::Run)];
            options.on_error = choice(value, &wishes).map_err(named)?;
        }
        "lab" => lab(options, value, words).map_err(named)?,
        "break" => {
            let (kind, every) = value.split_once('/').unwrap_or((value, "1"));
            let every = count(every, 1, 1_000_000).map_err(named)?;
            let how = choice(kind, &broken::BREAKS).map_err(named)?;
            options.break_walker = Some((how, u32::try_from(every).unwrap_or(1)));
        }
        terminal::KEY => options.terminal = Some(PathBuf::from(value)),
        "duration" => options.duration = Some(form.length(value).map_err(named)?),
        "quiet" | "verbose" | "help" | "version" | "stop" | "dump" | "status" | "groups" | "check" => {
            return Err(format!("{name} takes no value"));
        }
        _ => return Err(unknown(name)),
    }
    Ok(())
}

/// The options of the truth lab beyond its natives.
#[derive(Clone, Copy)]
enum Lab {
    LateIds,
    TrueStacks,
    EarlyBudget,
}

fn lab(options: &mut Options, value: &str, words: &mut u32) -> Result<(), String> {
    let kinds =
        [("late-ids", Lab::LateIds), ("true-stacks", Lab::TrueStacks), ("early-budget", Lab::EarlyBudget)];
    match choice(value, &kinds)? {
        Lab::LateIds => {
            options.late_ids = true;
            options.verb = Verb::Lab;
            *words += 1;
        }
        Lab::TrueStacks => options.true_stacks = true,
        Lab::EarlyBudget => options.free = Duration::from_secs(1),
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

fn unknown(name: &str) -> String {
    let keys: Vec<&str> = explained().map(|key| key.name).collect();
    let near = keys
        .iter()
        .chain(&WORDS)
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .min_by_key(|(distance, _)| *distance);
    match near {
        Some((distance, known)) if distance <= 1 + known.len() / 3 => {
            format!("unknown key {name}: did you mean {known}?")
        }
        _ => format!("unknown key {name}: the keys are {} (help explains them)", keys.join(", ")),
    }
}

fn measure(value: &str) -> Result<&'static Measure, String> {
    Measure::from_key(value).ok_or_else(|| {
        let keys = MEASURES.map(|measure| measure.key).join(" or ");
        format!("not a measure: use {keys}")
    })
}

fn profile_path(value: &str, place: &PatternValues<'_>) -> Result<(PathBuf, &'static Format), String> {
    let path = place.expand_own(value)?;
    let format = Format::from_file_name(&path)
        .ok_or_else(|| format!("its ending says what is written, and must be {}", Format::endings()))?;
    Ok((PathBuf::from(path), format))
}

fn recording_path(value: &str, place: &PatternValues<'_>) -> Result<PathBuf, String> {
    let path = place.expand(value)?;
    let why = "must end in .jfr: the file that the JVM's Flight Recorder writes";
    if path.ends_with(".jfr") { Ok(PathBuf::from(path)) } else { Err(why.to_owned()) }
}

fn source_paths(value: &str, place: &PatternValues<'_>) -> Result<Vec<PathBuf>, String> {
    let parts = value.split(':').filter(|part| !part.is_empty());
    let paths: Vec<PathBuf> =
        parts.map(|part| place.expand(part).map(PathBuf::from)).collect::<Result<_, _>>()?;
    if paths.is_empty() { Err("must be paths, with : between them".to_owned()) } else { Ok(paths) }
}

fn report_path(value: &str, place: &PatternValues<'_>) -> Result<PathBuf, String> {
    let path = place.expand_own(value)?;
    if path.ends_with(".json") { Ok(PathBuf::from(path)) } else { Err("must end in .json".to_owned()) }
}
