//! Other profilers' recordings, held to the bytecode as Vouch's own stacks are: afterwards, and
//! without the process.
//!
//! An [`Audit`] reads Flight Recorder files, whoever wrote them, and files of names and lines,
//! finds the classes that ran, and says of each stack how far it holds.
//!
//! What this crate never does: refute by a class that may not be the one that ran, keep an event,
//! or believe a file.
//!
//! # Invariants
//!
//! **Invariant 31.** An audit refutes nothing that is true. It reports apart what cannot be judged,
//! and what only code refutes that may not be the code that ran. Held by: `audit/src/tests`;
//! `java-tests/command/Audited.java`, `AuditedNames.java`; `scripts/profilers-on-trial`, with true
//! stacks that must all hold; `java-tests/trial`.
#![forbid(unsafe_code)]

mod async_profiler;
mod chunk_reader;
mod cpu_time;
mod folded;
mod functions;
mod generated_calls;
mod generated_class;
mod index;
mod jfr_names;
mod judge;
mod kinds;
mod names_reader;
mod overloads;
mod power;
mod pprof;
mod profile;
mod profile_plan;
mod progress;
mod pseudo_frames;
mod refutation_report;
mod report;
mod run_info;
mod stack_builder;
mod stacks;
mod summary;
mod unique_chunks;
mod unjudged;
mod versions;

#[cfg(test)]
mod tests;

use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

use vouch_classes::Library;
use vouch_report::{MAX_LISTED, grouped, is_of_jdk};

use chunk_reader::{Moment, Reading};
use cpu_time::Cpu;
use functions::Names;
use index::{Says, Seen};
use judge::Judge;
use profile::Found;
use run_info::Told;
use stacks::Verdicts;
use unique_chunks::Chunks;
use unjudged::Unjudged;
use versions::{Version, Versions};

pub use index::ThreadId;
pub use names_reader::{Named, Word};
pub use profile::{Audited, Profile};
pub use progress::Progress;
pub use report::{AuditReport, ClassReport, EdgeReport, KindReport, Stranger, ThreadReport};
pub use run_info::Whose;
pub use summary::side_by_side;

/// Where classes are looked for, besides where the recording says that they lie.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub classes: Vec<PathBuf>,
    pub jdk: Option<PathBuf>,
    /// These are the very classes that ran: whoever asks says so.
    pub exact: bool,
}

/// A recording that is read, and not judged yet. Several files of one run are one.
#[derive(Debug, Default)]
pub struct Audit {
    seen: Seen,
    told: Told,
    cpu: Cpu,
    files: Vec<String>,
    chunks: Chunks,
    /// How many could be read.
    whole: usize,
    unreadable: u64,
    damage: Vec<String>,
    /// How many chunks more are damaged.
    more_damage: u64,
}

/// Of a file of names that are others.
const NO_METHODS: &str =
    "no frame in it is called as a method of Java's is: java/util/List.size, or java.util.List.size";
/// So much damage is told.
const MOST_DAMAGE: usize = 20;

impl Audit {
    /// Reads a file; an error is one of the disk's. What is damaged is told in the report.
    pub fn read(
        &mut self,
        name: &str,
        file: impl Read + Seek,
        progress: impl FnMut(Progress),
    ) -> Result<(), String> {
        self.files.push(name.to_owned());
        let mut chunks = std::mem::take(&mut self.chunks);
        let read = chunks.each(name, file, progress, |chunk| match chunk {
            Ok((chunk, deepest)) => {
                self.whole += 1;
                self.told.chunk(chunk);
                self.chunk(name, chunk, deepest);
            }
            Err(wrong) => self.damaged(name, &wrong),
        });
        self.chunks = chunks;
        read
    }

    /// Reads a file that says of a frame its name, and its line perhaps.
    pub fn names(&mut self, name: &str, whose: Whose<'_>) -> Named<'_> {
        self.files.push(name.to_owned());
        self.whole += 1;
        self.told.named(&whose);
        Named::new(&mut self.seen, whose.kind, whose.shows_hidden)
    }

    /// So many parts of a file cannot be read.
    pub fn unreadable(&mut self, parts: u64) {
        self.unreadable += parts;
    }

    fn chunk(&mut self, name: &str, chunk: &vouch_jfr::Chunk, deepest: Option<usize>) {
        if let Some(what) = chunk.damage {
            self.damaged(name, &format!("not all constants can be read: {what}"));
        }
        let mut damage = None;
        let mut reading = Reading::new(chunk, deepest, &mut self.seen, &mut self.told, Some(&mut self.cpu));
        for event in chunk.events() {
            match event {
                Ok(event) => {
                    let read = reading.event(&event, |seen, told, moment| {
                        let Moment { kind, thread, stack, events, period_ns, .. } = moment;
                        seen.count(kind, thread, stack, events);
                        told.period(seen.name(kind), period_ns);
                    });
                    self.unreadable += u64::from(!read);
                }
                Err(what) => damage = Some(what),
            }
        }
        self.cpu.chunk_ends(&self.told);
        if let Some(what) = damage {
            self.damaged(name, &what.to_string());
        }
    }

    /// Of a file that is all damage the first of it is kept.
    fn damaged(&mut self, name: &str, what: &str) {
        if self.damage.len() < MOST_DAMAGE {
            self.damage.push(format!("{name}: {what}"));
        } else {
            self.more_damage += 1;
        }
    }

    /// Judges what was read.
    pub fn judge(self, places: &Places, mut progress: impl FnMut(Progress)) -> Result<Audited, String> {
        let Self { seen, told, cpu, files, chunks, whole, unreadable, mut damage, more_damage } = self;
        let twice = chunks.twice;
        if whole == 0 {
            let why = damage.into_iter().next().unwrap_or_else(|| "it is empty".to_owned());
            return Err(format!("nothing could be read of {}: {why}", files.join(", ")));
        }
        if let Some(why) = told.more_than_one_run() {
            return Err(why);
        }
        if more_damage > 0 {
            damage.push(format!("and {more_damage} more"));
        }
        // First: without it all figures are taken for others.
        let mut notes: Vec<String> = told.counts_no_time(&seen).into_iter().collect();
        if twice > 0 {
            notes.push(format!("{twice} chunks are there more than once, and were counted once"));
        }
        let library = places.open(&told, &mut notes)?;
        let other = other_jdk(&library, &told);
        let named = seen.says != Says::Places;
        // A file of names that does not say which JDK ran may be of any.
        let of_jdk = other.is_none() && (!named || told.jdk_version().is_some());
        notes.extend(other);
        notes.extend(rewritten(&told));
        let mut versions =
            Versions::find(&seen, &library, of_jdk, |done, of| progress(Progress::Looking(done, of)));
        let wrong = inexact(&versions).filter(|_| places.exact);
        let exact = places.exact && wrong.is_none();
        if exact {
            versions.believe();
        }
        notes.extend(wrong);
        let (seen, versions) =
            if named { overloads::resolve(seen, &library, versions, told.changes) } else { (seen, versions) };
        let mut judge = Judge::new(&seen, &library, versions, told.changes);
        let verdicts = stacks::judge(&seen, &mut judge, told.launchers());
        let power = power::power(&seen, &mut judge, &verdicts.whole);
        let mut report = AuditReport::of(&seen, &told, &cpu, &judge, &verdicts);
        env!("CARGO_PKG_VERSION").clone_into(&mut report.vouch);
        report.audited = files;
        let listed = refutation_report::refutations(&seen, &judge, &verdicts);
        report.refutations = listed.values().take(MAX_LISTED).cloned().collect();
        report.power = power;
        report.classes.places = library.places().map(str::to_owned).collect();
        report.classes.unreadable = library.unreadable().map(str::to_owned).collect();
        if named {
            notes.insert(0, says(seen.says, exact, &report));
            if seen.methods.is_empty() {
                notes.insert(0, NO_METHODS.to_owned());
            }
        }
        report.unreadable_events = unreadable;
        report.damage = damage;
        report.notes = notes;
        let names = Names::of(&seen, &judge, &told);
        let Verdicts { outcomes, offences, .. } = verdicts;
        let offences = offences.into_keys().collect();
        Ok(Audited { report, found: Found { seen, told, names, outcomes, offences, listed } })
    }
}

impl Places {
    /// All that was named, and what the recording says of its own, as far as that is here.
    fn open(&self, told: &Told, notes: &mut Vec<String>) -> Result<Library, String> {
        let property =
            |key: &str| told.properties.get(key).map(String::as_str).filter(|value| !value.is_empty());
        let mut library = Library::default();
        if let Some(home) = &self.jdk {
            library.jdk(home)?;
        } else if let Some(home) = property("java.home").map(Path::new).filter(|home| home.exists()) {
            // Of another machine there may be anything at that place.
            notes.extend(library.jdk(home).err());
        }
        for path in &self.classes {
            library.all_below(path);
        }
        let between = property("path.separator").and_then(|text| text.chars().next()).unwrap_or(':');
        let paths = ["java.class.path", "jdk.module.path"].iter().filter_map(|key| property(key));
        let from = property("user.dir").map(PathBuf::from).unwrap_or_default();
        for path in paths.flat_map(|paths| paths.split(between)).filter(|path| !path.is_empty()) {
            let path = from.join(path);
            if path.exists() {
                library.as_the_jvm_looks(&path);
            } else if self.classes.is_empty() {
                notes.push(format!("{} is on the recording's class path, and not here", path.display()));
            }
        }
        Ok(library)
    }
}

/// What a recording of names leaves open.
fn says(what: Says, exact: bool, report: &AuditReport) -> String {
    let says = match what {
        Says::Lines => {
            "names and lines alone: a call is refuted if nothing in its line, in any method of that name, makes it"
        }
        _ => "names alone: a call is refuted if no method of that name makes it",
    };
    let doubted = report.edges.unjudged.get(Unjudged::Unconfirmed.name()).copied().unwrap_or(0);
    let doubt = match (exact, doubted) {
        (false, 0) => "; by classes that need not be those that ran none is (--exact: they are)".to_owned(),
        (false, _) => format!(
            "; by classes that need not be those that ran none is, though bytecode speaks against {} (--exact: they are)",
            grouped(doubted)
        ),
        (true, 0) => String::new(),
        (true, _) => format!(
            "; bytecode speaks against {} more, which are most of what is seen of their methods: these may have been changed",
            grouped(doubted)
        ),
    };
    format!("it has {says}{doubt}")
}

/// That what is said of the classes cannot be: a few may not fit since the recording is wrong.
fn inexact(versions: &Versions) -> Option<String> {
    let of_kind = |jdk: bool| {
        let all = || versions.all().filter(move |(class, _)| is_of_jdk(&class.replace('/', ".")) == jdk);
        let ran = all().filter(|(_, version)| matches!(version, Version::Ran(_))).count();
        let other = all().filter(|(_, version)| matches!(version, Version::Other { .. })).count();
        (other > 1 && other * FEW > ran).then_some((other, ran))
    };
    let (other, ran) = of_kind(true).or_else(|| of_kind(false))?;
    Some(format!(
        "--exact is not believed: {} of {} classes do not fit what the file has of them",
        grouped(other as u64),
        grouped((other + ran) as u64)
    ))
}

/// One in so many.
const FEW: usize = 50;

/// That the JDK is not the one that ran.
fn other_jdk(library: &Library, told: &Told) -> Option<String> {
    let ran = told.jdk_version()?;
    match library.jdk_version() {
        None if library.has_jdk() => None,
        None => Some(format!("no JDK was looked into, and this one ran: {ran} (--jdk HOME)")),
        Some(jdk) if is_same(ran, jdk) => None,
        Some(jdk) => Some(format!("the JDK that was looked into is {jdk}, and the one that ran was {ran}")),
    }
}

/// True if two texts name one version, of which one may be shorter.
fn is_same(ran: &str, jdk: &str) -> bool {
    let begins = |long: &str, short: &str| {
        long.strip_prefix(short).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
    };
    // JDK 8 has another number for its VM: 25.472-b08.
    let of_8 = |ran: &str| {
        let build = ran.strip_prefix("25.").and_then(|rest| rest.split_once("-b"));
        build.is_some_and(|(update, _)| update.bytes().all(|byte| byte.is_ascii_digit()))
    };
    begins(ran, jdk) || begins(jdk, ran) || jdk.starts_with("1.8.") && of_8(ran)
}

/// That classes may have been changed when they were loaded.
fn rewritten(told: &Told) -> Option<String> {
    let agent = told.flags.split_whitespace().find(|flag| flag.starts_with("-javaagent:"))?;
    let agent = Path::new(agent).file_name().unwrap_or_default().to_string_lossy().into_owned();
    Some(format!("a Java agent may have changed classes ({agent}): those that do not fit are counted apart"))
}
