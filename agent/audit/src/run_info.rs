//! What a recording says of the run that it is of: the JVM, its command line, where its classes
//! lie, who recorded it, and what was lost.
//!
//! It must never take what is not told for something: a recording without it is audited as well.

use std::collections::{BTreeMap, BTreeSet};

use vouch_jfr::{Chunk, Event, Value};
use vouch_report::Clock;

use crate::async_profiler::{self, Sampled};
use crate::index::{Seen, add};
use crate::jfr_names;
use crate::kinds;

/// What is known of a file of names.
#[derive(Debug, Clone, Copy)]
pub struct Whose<'t> {
    /// What its samples are called, and who wrote it.
    pub kind: &'t str,
    pub by: &'t str,
    /// The JVM that ran, by name and version, and its flags, if the file says so.
    pub jdk: &'t str,
    pub flags: &'t str,
    /// Frames of classes that have no name of their own are known to be among them.
    pub shows_hidden: bool,
}

/// What was told.
#[derive(Debug, Default)]
pub struct Told {
    /// The name of the JVM, and its version.
    pub jvm: String,
    pub version: String,
    pub flags: String,
    pub command: String,
    pub pid: u32,
    /// The machine's processors, and those that the JVM may use.
    hardware_threads: u64,
    effective_processors: u64,
    pub properties: BTreeMap<String, String>,
    /// Who recorded it, where that is known from elsewhere.
    recorder: Option<String>,
    /// What recordings were called: async-profiler's says what it is.
    pub recordings: Vec<String>,
    /// What tells one run from another.
    runs: BTreeSet<String>,
    sampled: Sampled,
    /// How often there is a sample, in nanoseconds, by its kind.
    pub periods: BTreeMap<String, Period>,
    pub changes: Changes,
    /// Bytes of events for which the recorder had no room.
    pub lost_bytes: u64,
    /// From when to when, since 1970.
    pub from_ns: i64,
    pub until_ns: i64,
}

/// What samples stand for, which need not be the same for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub least_ns: u64,
    /// The largest that each of them is a multiple of.
    pub common_ns: u64,
}

impl Period {
    pub fn of(ns: u64) -> Self {
        Self { least_ns: ns, common_ns: ns }
    }

    /// That of the samples of both.
    pub fn and(self, other: Self) -> Self {
        let (mut one, mut rest) = (self.common_ns, other.common_ns);
        while rest > 0 {
            (one, rest) = (rest, one % rest);
        }
        Self { least_ns: self.least_ns.min(other.least_ns), common_ns: one }
    }
}

/// Whether classes are as their files have them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changes {
    #[default]
    None,
    /// An agent may have changed them when they were loaded.
    Loading,
    /// They were redefined meanwhile: of one method there may be code of two versions.
    Meanwhile,
}

/// Whose samples are told to be lost, by the kind that tells it.
const LOST: [(&str, &str, &str); 1] = [("jdk.CPUTimeSamplesLost", "lostSamples", kinds::CPU_TIME)];

/// The kinds that tell of the run besides.
const TELLERS: [&str; 7] = [
    "jdk.CPUInformation",
    "jdk.ContainerConfiguration",
    "jdk.JVMInformation",
    "jdk.InitialSystemProperty",
    RECORDING,
    SETTING,
    "jdk.DataLoss",
];
/// What tells that classes are not what they were.
const REDEFINES: [&str; 3] = ["jdk.RedefineClasses", "jdk.RetransformClasses", "jdk.ClassRedefinition"];
/// What a recording tells of itself.
const RECORDING: &str = "jdk.ActiveRecording";
/// Whose settings async-profiler's own are.
const ASYNC_PROFILERS: [&str; 3] = ["", RECORDING, kinds::EXECUTION];
/// The kind of the settings.
const SETTING: &str = "jdk.ActiveSetting";
/// async-profiler writes its own before all else; Flight Recorder has none of these, and many
/// events.
const SETTINGS_WITHIN: usize = 10_000;
/// async-profiler's limit, unless it says another one.
const DEPTH: usize = 2_048;

impl Told {
    /// True if events of this kind say something of the run.
    pub fn tells(kind: &str) -> bool {
        TELLERS.contains(&kind)
            || REDEFINES.contains(&kind)
            || LOST.iter().any(|(teller, _, _)| *teller == kind)
    }

    /// A chunk is of this time.
    pub fn chunk(&mut self, chunk: &Chunk) {
        let header = chunk.header;
        let until = header.start_unix_ns.saturating_add(header.duration_ns.max(0));
        let first = self.from_ns == 0 && self.until_ns == 0;
        self.from_ns = if first { header.start_unix_ns } else { self.from_ns.min(header.start_unix_ns) };
        self.until_ns = self.until_ns.max(until);
        self.sampled.chunk();
    }

    /// Takes in what an event tells, if it is one of those. False: it cannot be read.
    pub fn event(&mut self, chunk: &Chunk, event: &Event<'_>, seen: &mut Seen) -> bool {
        match event.kind.name.as_str() {
            "jdk.JVMInformation" => self.read(chunk, event, Self::jvm),
            "jdk.CPUInformation" => {
                self.read(chunk, event, |told, _, number| told.hardware_threads = number("hwThreads"))
            }
            "jdk.ContainerConfiguration" => self.read(chunk, event, |told, _, number| {
                told.effective_processors = number("effectiveCpuCount");
            }),
            "jdk.InitialSystemProperty" => self.read(chunk, event, |told, text, _| {
                told.properties.insert(text("key"), text("value"));
            }),
            RECORDING => self.read(chunk, event, |told, text, _| {
                let name = text("name");
                if !told.recordings.contains(&name) {
                    told.recordings.push(name);
                }
            }),
            SETTING => self.read(chunk, event, |told, text, number| {
                let of = i64::try_from(number("id")).ok().and_then(|id| chunk.type_of(id));
                let apart = || chunk.types().any(|kind| kind.name == kinds::WALL);
                told.setting(&text("name"), &text("value"), of.map_or("", |of| &of.name), apart);
            }),
            name if REDEFINES.contains(&name) => {
                self.changes = Changes::Meanwhile;
                true
            }
            "jdk.DataLoss" => {
                self.read(chunk, event, |told, _, number| add(&mut told.lost_bytes, number("amount")))
            }
            name => match LOST.iter().find(|(teller, _, _)| *teller == name) {
                Some((_, field, kind)) => {
                    let mut lost = 0;
                    let read = self.read(chunk, event, |_, _, number| lost = number(field));
                    let kind = seen.kind(kind, kind, true);
                    add(&mut seen.kinds[kind.row()].lost, lost);
                    read
                }
                None => true,
            },
        }
    }

    /// `of` is the kind of events that it is about; `apart` tells whether samples by the wall clock
    /// are events of their own.
    fn setting(&mut self, name: &str, value: &str, of: &str, apart: impl Fn() -> bool) {
        if name == "period" {
            let period = humantime::parse_duration(value).ok().map(|period| period.as_nanos());
            self.period(of, period.and_then(|ns| u64::try_from(ns).ok()));
        // A kind of the program's own may have settings of the same names.
        } else if ASYNC_PROFILERS.contains(&of) {
            for (kind, ns) in self.sampled.setting(name, value, apart) {
                self.period(kind, Some(ns));
            }
        }
    }

    /// By which clock samples of this kind are taken, as far as that is told.
    pub fn clock(&self, kind: &str) -> Option<Clock> {
        match kind {
            kind if kinds::is_cpu_time(kind) => Some(Clock::Cpu),
            kind if kinds::is_wall(kind) => Some(Clock::Wall),
            // async-profiler's, by whatever it samples; Flight Recorder looks at a few threads in
            // Java now and then, which is neither.
            kinds::EXECUTION => self.sampled.clock(),
            _ => None,
        }
    }

    /// How often there is one of them where nobody says.
    pub fn usual_ns(&self, kind: &str) -> u64 {
        let by_wall =
            kind == kinds::WALL || kind == kinds::EXECUTION && self.clock(kind) == Some(Clock::Wall);
        if by_wall { async_profiler::WALL_NS } else { async_profiler::CPU_NS }
    }

    /// True if samples of this kind may be by the wall clock, or by what is no time:
    /// async-profiler's, unless it says that they are by CPU time.
    pub fn may_be_no_cpu_time(&self, kind: &str) -> bool {
        kind == kinds::EXECUTION && self.sampled.is_told() && self.clock(kind) != Some(Clock::Cpu)
    }

    /// What samples of this kind count, if it is no time.
    pub fn event_of(&self, kind: &str) -> Option<String> {
        self.sampled.event().filter(|_| kind == kinds::EXECUTION)
    }

    /// That samples count no time, for a reader who would take them for it.
    pub fn counts_no_time(&self, seen: &Seen) -> Option<String> {
        self.sampled.counts_no_time().filter(|_| seen.kinds.contains_key(kinds::EXECUTION))
    }

    /// At so many frames async-profiler ends a stack, by a chunk's settings.
    pub fn deepest(chunk: &Chunk) -> Option<usize> {
        let setting = chunk.types().find(|kind| kind.name == SETTING)?;
        let first = chunk.events().flatten().take(SETTINGS_WITHIN);
        let settings = first.filter(|event| event.kind.id == setting.id);
        let depths = settings.filter_map(|event| {
            let values = event.values().ok()?;
            let text = |name: &str| jfr_names::text(chunk, values.get(setting.field(name)?)?);
            (text("name")? == "jstackdepth").then(|| text("value")?.parse().ok())
        });
        depths.last().map(|depth| depth.unwrap_or(DEPTH))
    }

    /// A sample of this kind stands for so long.
    pub fn period(&mut self, kind: &str, ns: Option<u64>) {
        let Some(period) = ns.filter(|ns| *ns > 0).map(Period::of) else { return };
        match self.periods.get_mut(kind) {
            Some(known) => *known = known.and(period),
            None => drop(self.periods.insert(kind.to_owned(), period)),
        }
    }

    fn jvm(&mut self, text: &dyn Fn(&str) -> String, number: &dyn Fn(&str) -> u64) {
        let run = format!("{} {} {}", text("jvmVersion"), text("javaArguments"), number("pid"));
        self.runs.insert(run);
        self.jvm = text("jvmName");
        self.version = text("jvmVersion");
        self.flags(text("jvmArguments"));
        self.command = text("javaArguments");
        self.pid = u32::try_from(number("pid")).unwrap_or(0);
    }

    fn flags(&mut self, flags: String) {
        if ["-javaagent:", "-agentlib:jdwp"].iter().any(|agent| flags.contains(agent)) {
            self.changes = self.changes.max(Changes::Loading);
        }
        self.flags = flags;
    }

    fn read(
        &mut self,
        chunk: &Chunk,
        event: &Event<'_>,
        take: impl FnOnce(&mut Self, &dyn Fn(&str) -> String, &dyn Fn(&str) -> u64),
    ) -> bool {
        let Ok(values) = event.values() else { return false };
        let value = |name: &str| values.get(event.kind.field(name)?);
        let text =
            |name: &str| value(name).and_then(|value| jfr_names::text(chunk, value)).unwrap_or_default();
        let number = |name: &str| match value(name) {
            Some(Value::Whole(number)) => u64::try_from(*number).unwrap_or(0),
            _ => 0,
        };
        take(self, &text, &number);
        true
    }

    /// The version of the JVM: JFR's own text has it in a sentence.
    pub fn jdk_version(&self) -> Option<&str> {
        let property =
            ["java.runtime.version", "java.vm.version"].iter().find_map(|key| self.properties.get(*key));
        let in_parentheses = || Some(self.version.split_once('(')?.1.split_once(')')?.0);
        let version = property.map(String::as_str).or_else(in_parentheses).unwrap_or(&self.version);
        (!version.is_empty()).then_some(version)
    }

    /// That recordings of several runs were taken for one.
    pub fn more_than_one_run(&self) -> Option<String> {
        (self.runs.len() > 1).then(|| {
            format!(
                "these are recordings of {} runs, which need not have had the same classes: audit each alone, or with --compare",
                self.runs.len()
            )
        })
    }

    /// How many processors the JVM counts with, as far as that is told.
    pub fn processors(&self) -> Option<u64> {
        let flag =
            self.flags.split_whitespace().find_map(|flag| flag.strip_prefix("-XX:ActiveProcessorCount="));
        let asked = flag.and_then(|count| count.parse().ok());
        asked.into_iter().chain([self.effective_processors, self.hardware_threads]).find(|count| *count > 0)
    }

    /// The class that was started, as a class file has it; None: it is a jar's, or not told.
    pub fn main_class(&self) -> Option<String> {
        let first = self.command.split(' ').next().filter(|first| !first.is_empty())?;
        // `module/class` or `class`.
        let class = first.rsplit('/').next().filter(|_| !first.ends_with(".jar"))?;
        Some(class.replace('.', "/"))
    }

    /// What the program is called: its main class without a package, or its jar.
    pub fn program(&self) -> String {
        let first = self.command.split(' ').next().unwrap_or_default();
        let last = first.rsplit('/').next().unwrap_or_default();
        let name = if last.ends_with(".jar") { last } else { last.rsplit('.').next().unwrap_or_default() };
        if name.is_empty() { "java" } else { name }.to_owned()
    }

    /// What a file of names tells: who wrote it, and perhaps by which JVM.
    pub fn named(&mut self, Whose { by, jdk, flags, .. }: &Whose<'_>) {
        self.recorder = Some((*by).to_owned());
        self.flags((*flags).to_owned());
        // As Vouch's reports have it: the JVM's name, and its version behind the last space.
        let (jvm, version) = jdk.rsplit_once(' ').unwrap_or(("", jdk));
        (self.jvm, self.version) = (jvm.to_owned(), version.to_owned());
    }

    /// What the thread is called that runs `main`, if the `java` command has made the JVM, and no
    /// program that calls it. async-profiler has a thread's last name for all of its life.
    pub fn launchers(&self) -> &'static [&'static str] {
        match self.properties.get("sun.java.launcher") {
            Some(launcher) if launcher == "SUN_STANDARD" => {
                if self.recorder().starts_with("async-profiler") {
                    &["main", "DestroyJavaVM"]
                } else {
                    &["main"]
                }
            }
            _ => &[],
        }
    }

    /// Who recorded it.
    pub fn recorder(&self) -> &str {
        if let Some(known) = &self.recorder {
            return known;
        }
        let named = self.recordings.iter().find(|name| name.starts_with("async-profiler"));
        named.map_or("Flight Recorder", String::as_str)
    }
}
