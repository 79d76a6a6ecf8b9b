//! Facts about the run that was recorded: the JVM, its command line and class path, the recorder,
//! and what was lost.
//!
//! It must never invent a fact that the recording lacks. Such a recording is audited as well.

use std::collections::{BTreeMap, BTreeSet};

use vouch_jfr::{Chunk, Event, Value};
use vouch_report::Clock;

use crate::async_profiler::{self, AsyncProfilerSettings};
use crate::error::Error;
use crate::index::{RecordingIndex, add};
use crate::jfr_names;
use crate::kinds;

/// The facts about a file that has only names.
#[derive(Debug, Clone, Copy)]
pub struct NamesFileInfo<'t> {
    /// The event kind under which the file's samples are counted.
    pub kind: &'t str,
    /// The name of the program that wrote the file.
    pub recorder: &'t str,
    /// The JVM by name and version, if the file says so, such as `OpenJDK 64-Bit Server VM
    /// 17.0.1+12`.
    pub jdk: &'t str,
    /// The JVM's flags, or an empty text.
    pub flags: &'t str,
    /// True if it is known that frames of hidden classes are shown.
    pub shows_hidden: bool,
}

/// The facts about the run that a recording contains.
#[derive(Debug, Default)]
pub struct RunInfo {
    /// The JVM's name.
    pub jvm: String,
    /// The JVM's version, or a sentence of JFR that contains the version.
    pub version: String,
    pub flags: String,
    pub command: String,
    pub pid: u32,
    /// The number of the machine's processors, as `jdk.CPUInformation` has it. It is 0 if unknown.
    hardware_threads: u64,
    /// The number of processors that the JVM may use in its container. It is 0 if unknown.
    effective_processors: u64,
    pub properties: BTreeMap<String, String>,
    /// The recorder's name, if the caller knows it.
    recorder: Option<String>,
    /// The names of the JFR recordings. async-profiler writes its own name there.
    pub recordings: Vec<String>,
    /// The distinct runs, by JVM version, arguments and pid.
    runs: BTreeSet<String>,
    async_profiler: AsyncProfilerSettings,
    /// The sampling period of each event kind.
    pub periods: BTreeMap<String, Period>,
    pub changes: Changes,
    /// The bytes of events that the recorder dropped because its buffers were full.
    pub lost_bytes: u64,
    /// The start of the first chunk, in nanoseconds since 1970.
    pub from_ns: i64,
    /// The end of the last chunk, in nanoseconds since 1970.
    pub until_ns: i64,
}

/// The time that one sample represents, which may differ between files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// The shortest period.
    pub least_ns: u64,
    /// The greatest common divisor of all periods.
    pub common_ns: u64,
}

impl Period {
    /// The period of samples that all represent the same time.
    pub fn new(ns: u64) -> Self {
        Self { least_ns: ns, common_ns: ns }
    }

    /// The combined period of two groups of samples.
    pub fn and(self, other: Self) -> Self {
        let (mut one, mut rest) = (self.common_ns, other.common_ns);
        while rest > 0 {
            (one, rest) = (rest, one % rest);
        }
        Self { least_ns: self.least_ns.min(other.least_ns), common_ns: one }
    }
}

/// The degree to which classes may differ from their files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changes {
    #[default]
    None,
    /// A Java agent may have changed the classes at load time.
    Loading,
    /// Classes were redefined while the program ran, so one method may have two versions of code.
    Meanwhile,
}

/// Events that report lost samples: the event, its field, and the kind of the lost samples.
const LOST_SAMPLES: [(&str, &str, &str); 1] = [("jdk.CPUTimeSamplesLost", "lostSamples", kinds::CPU_TIME)];

/// The other event kinds that contain facts about the run.
const RUN_EVENTS: [&str; 7] = [
    "jdk.CPUInformation",
    "jdk.ContainerConfiguration",
    "jdk.JVMInformation",
    "jdk.InitialSystemProperty",
    RECORDING,
    SETTING,
    "jdk.DataLoss",
];
/// Events that show that classes were redefined.
const REDEFINITIONS: [&str; 3] = ["jdk.RedefineClasses", "jdk.RetransformClasses", "jdk.ClassRedefinition"];
/// The name of the event that contains a recording's name.
const RECORDING: &str = "jdk.ActiveRecording";
/// The event kinds to which async-profiler attaches its own settings.
const SETTINGS_OWNERS: [&str; 3] = ["", RECORDING, kinds::EXECUTION];
/// The name of the event that contains one setting.
const SETTING: &str = "jdk.ActiveSetting";
/// Settings are searched in only this many events. async-profiler writes its settings first, and
/// Flight Recorder writes many events and none of these settings.
const MAX_EVENTS_TO_SETTINGS: usize = 10_000;
/// async-profiler's default limit for the depth of stacks, in frames.
const DEFAULT_DEPTH: usize = 2_048;

impl RunInfo {
    /// True if events of this kind have facts about the run.
    pub fn is_about_run(kind: &str) -> bool {
        RUN_EVENTS.contains(&kind)
            || REDEFINITIONS.contains(&kind)
            || LOST_SAMPLES.iter().any(|(event_name, _, _)| *event_name == kind)
    }

    /// Extends the recording's time span by a chunk.
    pub fn start_chunk(&mut self, chunk: &Chunk) {
        let header = chunk.header;
        let until = header.start_unix_ns.saturating_add(header.duration_ns.max(0));
        let first = self.from_ns == 0 && self.until_ns == 0;
        self.from_ns = if first { header.start_unix_ns } else { self.from_ns.min(header.start_unix_ns) };
        self.until_ns = self.until_ns.max(until);
        self.async_profiler.start_chunk();
    }

    /// Adds the facts of an event. Returns false if its bytes cannot be read.
    pub fn add_event(&mut self, chunk: &Chunk, event: &Event<'_>, index: &mut RecordingIndex) -> bool {
        match event.kind.name.as_str() {
            "jdk.JVMInformation" => self.read_fields(chunk, event, Self::set_jvm),
            "jdk.CPUInformation" => self.read_fields(chunk, event, |run_info, _, number| {
                run_info.hardware_threads = number("hwThreads");
            }),
            "jdk.ContainerConfiguration" => self.read_fields(chunk, event, |run_info, _, number| {
                run_info.effective_processors = number("effectiveCpuCount");
            }),
            "jdk.InitialSystemProperty" => self.read_fields(chunk, event, |run_info, text, _| {
                run_info.properties.insert(text("key"), text("value"));
            }),
            RECORDING => self.read_fields(chunk, event, |run_info, text, _| {
                let name = text("name");
                if !run_info.recordings.contains(&name) {
                    run_info.recordings.push(name);
                }
            }),
            SETTING => self.read_fields(chunk, event, |run_info, text, number| {
                let event_type = i64::try_from(number("id")).ok().and_then(|id| chunk.type_of(id));
                let wall_has_own_event = || chunk.types().any(|kind| kind.name == kinds::WALL);
                run_info.add_setting(
                    &text("name"),
                    &text("value"),
                    event_type.map_or("", |event_type| &event_type.name),
                    wall_has_own_event,
                );
            }),
            name if REDEFINITIONS.contains(&name) => {
                self.changes = Changes::Meanwhile;
                true
            }
            "jdk.DataLoss" => self.read_fields(chunk, event, |run_info, _, number| {
                add(&mut run_info.lost_bytes, number("amount"));
            }),
            name => match LOST_SAMPLES.iter().find(|(event_name, _, _)| *event_name == name) {
                Some((_, field, kind)) => {
                    let mut lost = 0;
                    let read = self.read_fields(chunk, event, |_, _, number| lost = number(field));
                    let kind = index.kind_id(kind, kind, true);
                    add(&mut index.kinds[kind.row()].lost, lost);
                    read
                }
                None => true,
            },
        }
    }

    /// Adds a setting of an event type. `wall_has_own_event` says whether wall-clock samples have
    /// their own event kind.
    fn add_setting(
        &mut self,
        name: &str,
        value: &str,
        event_type: &str,
        wall_has_own_event: impl Fn() -> bool,
    ) {
        if name == "period" {
            let period = humantime::parse_duration(value).ok().map(|period| period.as_nanos());
            self.add_period(event_type, period.and_then(|ns| u64::try_from(ns).ok()));
        // An event kind of the program may have settings of the same names.
        } else if SETTINGS_OWNERS.contains(&event_type) {
            for (kind, ns) in self.async_profiler.add_setting(name, value, wall_has_own_event) {
                self.add_period(kind, Some(ns));
            }
        }
    }

    /// Returns the clock of a kind of samples, if it is known.
    pub fn clock(&self, kind: &str) -> Option<Clock> {
        match kind {
            kind if kinds::is_cpu_time(kind) => Some(Clock::Cpu),
            kind if kinds::is_wall(kind) => Some(Clock::Wall),
            // async-profiler's samples follow its settings. Flight Recorder samples a few threads
            // that run Java, which is neither clock.
            kinds::EXECUTION => self.async_profiler.clock(),
            _ => None,
        }
    }

    /// Returns the period that a kind of samples has if the recording states none.
    pub fn default_period_ns(&self, kind: &str) -> u64 {
        let by_wall =
            kind == kinds::WALL || kind == kinds::EXECUTION && self.clock(kind) == Some(Clock::Wall);
        if by_wall {
            async_profiler::DEFAULT_WALL_INTERVAL_NS
        } else {
            async_profiler::DEFAULT_CPU_INTERVAL_NS
        }
    }

    /// True if samples of this kind may count wall-clock time or no time: async-profiler's, unless
    /// its settings say CPU time.
    pub fn may_not_be_cpu_time(&self, kind: &str) -> bool {
        kind == kinds::EXECUTION
            && self.async_profiler.is_async_profiler()
            && self.clock(kind) != Some(Clock::Cpu)
    }

    /// Returns the event that samples of this kind count, if they do not count time.
    pub fn counted_event(&self, kind: &str) -> Option<String> {
        self.async_profiler.event().filter(|_| kind == kinds::EXECUTION)
    }

    /// Returns a note that samples count no time, since a reader would expect time.
    pub fn no_time_note(&self, index: &RecordingIndex) -> Option<String> {
        self.async_profiler.no_time_note().filter(|_| index.kinds.contains_key(kinds::EXECUTION))
    }

    /// Returns the depth at which async-profiler cuts stacks, from the settings in a chunk.
    pub fn stack_depth_limit(chunk: &Chunk) -> Option<usize> {
        let setting = chunk.types().find(|kind| kind.name == SETTING)?;
        let first = chunk.events().flatten().take(MAX_EVENTS_TO_SETTINGS);
        let settings = first.filter(|event| event.kind.id == setting.id);
        let depths = settings.filter_map(|event| {
            let values = event.values().ok()?;
            let text = |name: &str| jfr_names::text(chunk, values.get(setting.field(name)?)?);
            (text("name")? == "jstackdepth").then(|| text("value")?.parse().ok())
        });
        depths.last().map(|depth| depth.unwrap_or(DEFAULT_DEPTH))
    }

    /// Adds the period of a kind of samples.
    pub fn add_period(&mut self, kind: &str, ns: Option<u64>) {
        let Some(period) = ns.filter(|ns| *ns > 0).map(Period::new) else { return };
        match self.periods.get_mut(kind) {
            Some(known) => *known = known.and(period),
            None => drop(self.periods.insert(kind.to_owned(), period)),
        }
    }

    fn set_jvm(&mut self, text: &dyn Fn(&str) -> String, number: &dyn Fn(&str) -> u64) {
        let run = format!("{} {} {}", text("jvmVersion"), text("javaArguments"), number("pid"));
        self.runs.insert(run);
        self.jvm = text("jvmName");
        self.version = text("jvmVersion");
        self.set_flags(text("jvmArguments"));
        self.command = text("javaArguments");
        self.pid = u32::try_from(number("pid")).unwrap_or(0);
    }

    fn set_flags(&mut self, flags: String) {
        if ["-javaagent:", "-agentlib:jdwp"].iter().any(|agent| flags.contains(agent)) {
            self.changes = self.changes.max(Changes::Loading);
        }
        self.flags = flags;
    }

    fn read_fields(
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
            Some(Value::Integer(number)) => u64::try_from(*number).unwrap_or(0),
            _ => 0,
        };
        take(self, &text, &number);
        true
    }

    /// Returns the JVM's version. JFR has it in parentheses within a sentence.
    pub fn jdk_version(&self) -> Option<&str> {
        let property =
            ["java.runtime.version", "java.vm.version"].iter().find_map(|key| self.properties.get(*key));
        let in_parentheses = || Some(self.version.split_once('(')?.1.split_once(')')?.0);
        let version = property.map(String::as_str).or_else(in_parentheses).unwrap_or(&self.version);
        (!version.is_empty()).then_some(version)
    }

    /// Returns an error if the files are from several runs.
    pub fn check_one_run(&self) -> Result<(), Error> {
        if self.runs.len() > 1 { Err(Error::SeveralRuns(self.runs.len())) } else { Ok(()) }
    }

    /// Returns the number of processors that the JVM uses, if it is known.
    pub fn processors(&self) -> Option<u64> {
        let flag =
            self.flags.split_whitespace().find_map(|flag| flag.strip_prefix("-XX:ActiveProcessorCount="));
        let asked = flag.and_then(|count| count.parse().ok());
        asked.into_iter().chain([self.effective_processors, self.hardware_threads]).find(|count| *count > 0)
    }

    /// Returns the main class, as in `java/lang/String`. Returns `None` if the program is a jar, or
    /// unknown.
    pub fn main_class(&self) -> Option<String> {
        let first = self.command.split(' ').next().filter(|first| !first.is_empty())?;
        // The command is `module/class` or `class`.
        let class = first.rsplit('/').next().filter(|_| !first.ends_with(".jar"))?;
        Some(class.replace('.', "/"))
    }

    /// Returns the program's name: its main class without the package, or its jar.
    pub fn program(&self) -> String {
        let first = self.command.split(' ').next().unwrap_or_default();
        let last = first.rsplit('/').next().unwrap_or_default();
        let name = if last.ends_with(".jar") { last } else { last.rsplit('.').next().unwrap_or_default() };
        if name.is_empty() { "java" } else { name }.to_owned()
    }

    /// Takes the facts of a file of names: its recorder, and perhaps its JVM.
    pub fn set_names_file(&mut self, NamesFileInfo { recorder, jdk, flags, .. }: &NamesFileInfo<'_>) {
        self.recorder = Some((*recorder).to_owned());
        self.set_flags((*flags).to_owned());
        // A Vouch report has the JVM's name, and its version after the last space.
        let (jvm, version) = jdk.rsplit_once(' ').unwrap_or(("", jdk));
        (self.jvm, self.version) = (jvm.to_owned(), version.to_owned());
    }

    /// Returns the names of the main thread if the `java` launcher created the JVM. async-profiler
    /// writes a thread's last name for all of its samples. A native launcher may have other roots.
    pub fn main_thread_names(&self) -> &'static [&'static str] {
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

    /// Returns the name of the recorder.
    pub fn recorder(&self) -> &str {
        if let Some(known) = &self.recorder {
            return known;
        }
        let named = self.recordings.iter().find(|name| name.starts_with("async-profiler"));
        named.map_or("Flight Recorder", String::as_str)
    }
}
