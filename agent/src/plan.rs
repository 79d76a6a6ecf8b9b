//! Turns options into a plan: every decision that is possible before the program starts.

use std::path::PathBuf;

use vouch_recording::Measure;
use vouch_recording::kinds::{self, EventKind};
use vouch_recording::measures::{ALLOCATED, BLOCKED, EXCEPTIONS, LIVE, WALL_CLOCK};
use vouch_report::Detail;
use vouch_report::options::{DEFAULT_OUT, DEFAULT_OUT_OF_PERIOD};

use crate::events::event_choice::are_chosen;
use crate::options::choices::{KernelWish, NativeWish, OnDisk, Verb};
use crate::options::fields::{Options, Output, Report};
use crate::options::parse::{Request, parse};
use vouch_report::options::pattern::PatternValues;
use vouch_sampling::clock;
use vouch_sampling::engine::choose::{Choice, choose};
use vouch_sampling::governor::{Terms, policy};

/// The options, with every decision made.
#[derive(Debug, Clone)]
pub struct Plan {
    pub options: Options,
    pub choice: Choice,
    /// How many intervals one signal counts for at the start.
    pub stride: u32,
    /// The profiles to write. The list is never empty.
    pub outputs: Vec<Output>,
    pub report: Option<Report>,
}

impl Plan {
    /// Returns what the governor keeps to.
    pub fn terms(&self) -> Terms {
        let Options { interval, engine: wish, budget, free, .. } = self.options;
        Terms { interval, stride: self.stride, cost: self.choice.cost, wish, budget, free }
    }

    /// Returns all files that the run writes.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        paths(&self.outputs, self.report.as_ref())
    }

    /// Names all files after this time.
    pub fn name_files(&mut self, time: &str) {
        for out in &mut self.outputs {
            out.path = PathBuf::from(out.name.at(time));
        }
        if let Some(report) = &mut self.report {
            report.path = PathBuf::from(report.name.at(time));
        }
    }

    /// Returns true if the user has passed another value of this option than its default.
    pub fn is_set_by_user(&self, key: &str) -> bool {
        self.options.altered.iter().any(|option| option.split('=').next() == Some(key))
    }
}

/// The environment variables with options for every JVM.
const INHERITED: [&str; 3] = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"];

/// Reads an option text. Its patterns use the values of this process.
pub fn request(text: &str) -> Request {
    let variable = |name: &str| std::env::var(name).ok();
    let given = format!("={text}");
    let inherited = INHERITED
        .into_iter()
        .filter_map(variable)
        .any(|options| !text.is_empty() && options.contains("-agent") && options.contains(&given));
    let place = PatternValues {
        pid: std::process::id(),
        time: Some(clock::file_stamp()),
        variable: &variable,
        inherited,
    };
    parse(text, &place)
}

/// Makes every decision that is possible before the program starts. All mistakes are returned at
/// once, after those in `mistakes`.
pub fn plan(options: Options, mut mistakes: Vec<String>) -> Result<Plan, Vec<String>> {
    let outputs = match &options.outputs[..] {
        [] => default_output(options.every.is_some()),
        outputs => outputs.to_vec(),
    };
    mistakes.extend(of_periods(&options, &outputs));
    for path in paths(&outputs, options.report.as_ref()) {
        mistakes.extend(vouch_log::output::check_writable(path).err().map(|why| why.to_string()));
    }
    let additions =
        [(options.jfr.is_some(), "jfr= puts events"), (!options.sources.is_empty(), "sources= puts text")];
    for (_, what) in
        additions.iter().filter(|(wanted, _)| *wanted && outputs.iter().all(|out| !out.format.opens))
    {
        mistakes.push(format!("{what} into a profile that is .json or .json.gz: name one with out="));
    }
    mistakes.extend(unmeasured(&options));
    if options.kernel == KernelWish::On && options.native != NativeWish::On {
        mistakes.push("kernel=on shows the kernel's frames on top of native ones: add native=on".to_owned());
    }
    mistakes.extend(missing(&options.sources));
    mistakes.extend(twice(&outputs, options.report.as_ref()));
    match choose(options.engine, options.signal) {
        Ok(mut choice) if mistakes.is_empty() => {
            let (stride, why) = policy::first_stride(options.interval, choice.cost, choice.most);
            choice.rarer = why;
            if options.kernel != KernelWish::Off && options.native == NativeWish::On {
                choice.engine = choice.engine.with_kernel_frames().unwrap_or(choice.engine);
            }
            Ok(Plan { choice, stride, outputs, report: options.report.clone(), options })
        }
        Ok(_) => Err(mistakes),
        Err(why) => {
            mistakes.push(why.to_string());
            Err(mistakes)
        }
    }
}

/// Returns the plan with the files and display options of `stop` or `dump`. Where they set none,
/// the recording's own stay.
pub fn places(plan: &Plan, options: Options) -> Result<Plan, Vec<String>> {
    let (mut places, mut mistakes) = (plan.clone(), Vec::new());
    if !options.outputs.is_empty() {
        places.outputs = options.outputs;
    }
    if options.report.is_some() {
        places.report = options.report;
    }
    places.options.measure = options.measure.or(places.options.measure);
    if options.jfr.is_some() {
        places.options.jfr = options.jfr;
    }
    if !options.sources.is_empty() {
        mistakes.extend(missing(&options.sources));
        places.options.sources = options.sources;
    }
    if options.detail != Detail::default() {
        places.options.detail = options.detail;
    }
    mistakes.extend(twice(&places.outputs, places.report.as_ref()));
    let unwritable: Vec<String> = places
        .files()
        .filter_map(|path| vouch_log::output::check_writable(path).err())
        .map(|why| why.to_string())
        .collect();
    if !unwritable.is_empty() {
        let verb = if options.verb == Verb::Stop { "stop" } else { "dump" };
        let report = if places.report.is_some() { " --report FILE.json" } else { "" };
        mistakes.extend(unwritable);
        mistakes.push(format!("name other files: `vouch {verb} PID --out FILE{report}`"));
    }
    if mistakes.is_empty() { Ok(places) } else { Err(mistakes) }
}

/// Returns an error for each source path that does not exist.
fn missing(sources: &[PathBuf]) -> impl Iterator<Item = String> {
    let metadata = sources.iter().map(|path| (path, path.metadata()));
    metadata.filter_map(|(path, metadata)| Some(format!("sources={}: {}", path.display(), metadata.err()?)))
}

/// Returns an error if nothing would be recorded for the measure that files are to count.
fn unmeasured(options: &Options) -> Option<String> {
    let records = |kinds: &[&EventKind]| kinds.iter().any(|kind| are_chosen(options.events, kind));
    let rows: [(&Measure, bool, &str); 5] = [
        (&ALLOCATED, records(&[&kinds::ALLOCATION]), "no allocation would be recorded: add events=alloc"),
        (&LIVE, records(&[&kinds::ALLOCATION]), "no live object would be found: add events=alloc"),
        (&WALL_CLOCK, options.wall.is_some(), "no wall-clock time would be measured: add wall=on"),
        (
            &BLOCKED,
            records(&[&kinds::MONITOR, &kinds::PARK]),
            "no wait for a lock would be recorded: add events=lock",
        ),
        (&EXCEPTIONS, records(&[&kinds::EXCEPTION]), "no exception would be counted: add events=exception"),
    ];
    let measure = options.measure?;
    let (_, is_recorded, why) = rows.into_iter().find(|(row, ..)| *row == measure)?;
    (!is_recorded).then(|| format!("measure={}: {why}", measure.key))
}

/// Returns the paths of all files.
fn paths<'a>(outputs: &'a [Output], report: Option<&'a Report>) -> impl Iterator<Item = &'a PathBuf> {
    outputs.iter().map(|out| &out.path).chain(report.map(|report| &report.path))
}

/// Returns an error for each option that contradicts `every=`, or its absence.
fn of_periods(options: &Options, outputs: &[Output]) -> Vec<String> {
    let Some(every) = options.every else {
        let kept = [("maxage", options.max_age.is_some()), ("maxsize", options.max_bytes.is_some())];
        let useless = kept.iter().filter(|(_, is_set)| *is_set);
        return useless
            .map(|(name, _)| format!("{name}= has no effect without every=: add every=60s"))
            .collect();
    };
    let names = outputs.iter().map(|out| (&out.path, &out.name));
    let names = names.chain(options.report.as_ref().map(|report| (&report.path, &report.name)));
    let alike = names.filter(|(_, name)| !name.has_time()).map(|(path, _)| {
        format!(
            "every={}s: each period would replace {}: put %t into its name, as in app-%t.json.gz",
            every.as_secs(),
            path.display()
        )
    });
    let merged = options.jfr.as_ref().map(|_| {
        "jfr= is for one file of the whole run, not for every=: add the events later by `vouch merge`"
            .to_owned()
    });
    let kept = (options.on_disk == OnDisk::Keep).then(|| {
        "recording=keep would keep a recording of each period, which maxsize= and maxage= do not limit: leave it out"
            .to_owned()
    });
    alike.chain(merged).chain(kept).collect()
}

fn default_output(is_of_period: bool) -> Vec<Output> {
    let name = if is_of_period { DEFAULT_OUT_OF_PERIOD } else { DEFAULT_OUT };
    match request(&format!("out={name}")) {
        Request::Run(options, _) => options.outputs,
        Request::Help | Request::Version => Vec::new(),
    }
}

/// Returns an error if two files have the same path, however it is spelt. One would overwrite the
/// other.
fn twice(outputs: &[Output], report: Option<&Report>) -> Option<String> {
    let paths = paths(outputs, report);
    let mut places: Vec<_> =
        paths.filter_map(|path| Some((vouch_log::output::identity(path)?, path))).collect();
    places.sort();
    let same = places.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
    Some(format!("{} is named twice: give each file its own name", same[0].1.display()))
}
