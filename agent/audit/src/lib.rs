//! This crate audits recordings of other profilers. It checks each stack against the bytecode, as
//! Vouch checks its own stacks, but after the program ended.
//!
//! An [`Audit`] reads Flight Recorder files, whichever profiler wrote them, and files that have
//! only names and lines. It finds the classes that ran, and reports for each stack how far it can
//! be trusted.
//!
//! It must never refute a stack by a class that may not have run, keep an event in memory, or trust
//! a number in a file.
//!
//! # Invariants
//!
//! **Invariant 31.** An audit refutes nothing that is true. It counts separately what cannot be
//! judged, and what is refuted only by code that may not have run. Held by: `audit/src/tests`;
//! `java-tests/command/AuditCommand.java`, `AuditByNames.java`; `cargo xtask page trial`, with
//! true stacks that must all hold; `java-tests/trial`.
#![forbid(unsafe_code)]

mod async_profiler;
mod chunk_reader;
mod cpu_time;
mod error;
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

use chunk_reader::{ChunkReader, StackEvent};
use cpu_time::CpuTimes;
use functions::Functions;
use index::{FrameDetail, RecordingIndex};
use judge::Judge;
use profile::Findings;
use run_info::RunInfo;
use stacks::Verdicts;
use unique_chunks::UniqueChunks;
use unjudged::Unjudged;
use versions::{Version, Versions};

pub use error::Error;
pub use index::ThreadId;
pub use names_reader::{NamedFrame, NamesReader};
pub use profile::{Audited, Profile};
pub use progress::Progress;
pub use report::{AuditReport, ClassReport, EdgeReport, KindReport, ThreadReport, UnusableClass};
pub use run_info::NamesFileInfo;
pub use summary::side_by_side;

/// The user's options for where an audit finds classes. The audit also searches the class path that
/// the recording names.
#[derive(Debug, Clone, Default)]
pub struct ClassPaths {
    /// The folders and archives with the program's classes.
    pub classes: Vec<PathBuf>,
    /// The home folder of the JDK that ran the program.
    pub jdk: Option<PathBuf>,
    /// True if the user says by `--exact` that these are exactly the classes that ran.
    pub exact: bool,
}

/// A recording that was read and is not judged yet. Several files of one run form one recording.
#[derive(Debug, Default)]
pub struct Audit {
    index: RecordingIndex,
    run_info: RunInfo,
    cpu: CpuTimes,
    files: Vec<String>,
    chunks: UniqueChunks,
    /// The number of chunks, or of files of names, that could be read.
    readable: usize,
    unreadable: u64,
    damage: Vec<String>,
    /// The number of damaged chunks that `damage` does not list.
    more_damage: u64,
}

/// The note for a file of names in which no frame looks like a Java method.
const NO_METHODS_NOTE: &str =
    "no frame in it is called as a method of Java's is: java/util/List.size, or java.util.List.size";
/// The report lists at most this many damaged chunks, and counts the others.
const MAX_DAMAGE: usize = 20;

impl Audit {
    /// Reads a JFR file. Damage is listed in the report. An error means that the disk could not be
    /// read.
    pub fn read(
        &mut self,
        name: &str,
        file: impl Read + Seek,
        progress: impl FnMut(Progress),
    ) -> Result<(), Error> {
        self.files.push(name.to_owned());
        let mut chunks = std::mem::take(&mut self.chunks);
        let read = chunks.for_each(name, file, progress, |chunk| match chunk {
            Ok((chunk, depth_limit)) => {
                self.readable += 1;
                self.run_info.start_chunk(chunk);
                self.add_chunk(name, chunk, depth_limit);
            }
            Err(wrong) => self.add_damage(name, &wrong.to_string()),
        });
        self.chunks = chunks;
        read
    }

    /// Adds a file that has only a name, and perhaps a line, for each frame. The caller fills the
    /// returned reader.
    pub fn names_file(&mut self, name: &str, info: NamesFileInfo<'_>) -> NamesReader<'_> {
        self.files.push(name.to_owned());
        self.readable += 1;
        self.run_info.set_names_file(&info);
        NamesReader::new(&mut self.index, info.kind, info.shows_hidden)
    }

    /// Counts parts of a file that could not be read, such as malformed lines.
    pub fn add_unreadable(&mut self, parts: u64) {
        self.unreadable += parts;
    }

    fn add_chunk(&mut self, name: &str, chunk: &vouch_jfr::Chunk, depth_limit: Option<usize>) {
        if let Some(what) = chunk.damage {
            self.add_damage(name, &format!("not all constants can be read: {what}"));
        }
        let mut damage = None;
        let mut reader =
            ChunkReader::new(chunk, depth_limit, &mut self.index, &mut self.run_info, Some(&mut self.cpu));
        for event in chunk.events() {
            match event {
                Ok(event) => {
                    let read = reader.read_event(&event, |index, run_info, stack_event| {
                        let StackEvent { kind, thread, stack, events, period_ns, .. } = stack_event;
                        index.count(kind, thread, stack, events);
                        run_info.add_period(index.kind_name(kind), period_ns);
                    });
                    self.unreadable += u64::from(!read);
                }
                Err(what) => damage = Some(what),
            }
        }
        self.cpu.finish_chunk(&self.run_info);
        if let Some(what) = damage {
            self.add_damage(name, &what.to_string());
        }
    }

    /// Lists damage up to a limit, since each chunk of a file may be damaged.
    fn add_damage(&mut self, name: &str, what: &str) {
        if self.damage.len() < MAX_DAMAGE {
            self.damage.push(format!("{name}: {what}"));
        } else {
            self.more_damage += 1;
        }
    }

    /// Finds the classes, judges every stack, and returns the report.
    pub fn judge(self, paths: &ClassPaths, mut progress: impl FnMut(Progress)) -> Result<Audited, Error> {
        let Self { index, run_info, cpu, files, chunks, readable, unreadable, mut damage, more_damage } =
            self;
        let duplicates = chunks.duplicates;
        if readable == 0 {
            return Err(Error::NothingReadable { files, first_damage: damage.into_iter().next() });
        }
        run_info.check_one_run()?;
        if more_damage > 0 {
            damage.push(format!("and {more_damage} more"));
        }
        // This note comes first, because without it a reader would take counts for CPU time.
        let mut notes: Vec<String> = run_info.no_time_note(&index).into_iter().collect();
        if duplicates > 0 {
            notes.push(format!("{duplicates} chunks are there more than once, and were counted once"));
        }
        let library = paths.open_library(&run_info, &mut notes)?;
        let other = other_jdk_note(&library, &run_info);
        let named = index.frame_detail != FrameDetail::Bytecode;
        // A file of names that does not name its JDK may come from any JDK.
        let of_jdk = other.is_none() && (!named || run_info.jdk_version().is_some());
        notes.extend(other);
        notes.extend(rewritten_note(&run_info));
        let mut versions =
            Versions::find(&index, &library, of_jdk, |done, of| progress(Progress::Looking(done, of)));
        let wrong = exact_contradiction(&versions).filter(|_| paths.exact);
        let exact = paths.exact && wrong.is_none();
        if exact {
            versions.trust_all();
        }
        notes.extend(wrong);
        let (index, versions) = if named {
            overloads::resolve(index, &library, versions, run_info.changes)
        } else {
            (index, versions)
        };
        let mut judge = Judge::new(&index, &library, versions, run_info.changes);
        let verdicts = stacks::judge(&index, &mut judge, run_info.main_thread_names());
        let power = power::power(&index, &mut judge, &verdicts.intact_leaves);
        let mut report = AuditReport::new(&index, &run_info, &cpu, &judge, &verdicts);
        env!("CARGO_PKG_VERSION").clone_into(&mut report.vouch);
        report.audited = files;
        let listed = refutation_report::refutations(&index, &judge, &verdicts);
        report.refutations = listed.values().take(MAX_LISTED).cloned().collect();
        report.power = power;
        report.classes.places = library.locations().map(str::to_owned).collect();
        report.classes.unreadable = library.unreadable().map(str::to_owned).collect();
        if named {
            notes.insert(0, names_note(index.frame_detail, exact, &report));
            if index.methods.is_empty() {
                notes.insert(0, NO_METHODS_NOTE.to_owned());
            }
        }
        report.unreadable_events = unreadable;
        report.damage = damage;
        report.notes = notes;
        let functions = Functions::new(&index, &judge, &run_info);
        let Verdicts { outcomes, refutations, .. } = verdicts;
        let refutations = refutations.into_keys().collect();
        Ok(Audited { report, found: Findings { index, run_info, functions, outcomes, refutations, listed } })
    }
}

impl ClassPaths {
    /// Opens the paths that the user named, and the recording's own class path if it exists on this
    /// machine.
    fn open_library(&self, run_info: &RunInfo, notes: &mut Vec<String>) -> Result<Library, Error> {
        let property =
            |key: &str| run_info.properties.get(key).map(String::as_str).filter(|value| !value.is_empty());
        let mut library = Library::default();
        if let Some(home) = &self.jdk {
            library.set_jdk(home)?;
        } else if let Some(home) = property("java.home").map(Path::new).filter(|home| home.exists()) {
            // A recording from another machine may name a path that is something else here.
            notes.extend(library.set_jdk(home).err().map(|why| why.to_string()));
        }
        for path in &self.classes {
            library.add_tree(path);
        }
        let separator = property("path.separator").and_then(|text| text.chars().next()).unwrap_or(':');
        let paths = ["java.class.path", "jdk.module.path"].iter().filter_map(|key| property(key));
        let from = property("user.dir").map(PathBuf::from).unwrap_or_default();
        for path in paths.flat_map(|paths| paths.split(separator)).filter(|path| !path.is_empty()) {
            let path = from.join(path);
            if path.exists() {
                library.add_class_path_entry(&path);
            } else if self.classes.is_empty() {
                notes.push(format!("{} is on the recording's class path, and not here", path.display()));
            }
        }
        Ok(library)
    }
}

/// Describes how calls are judged in a recording that has only names.
fn names_note(what: FrameDetail, exact: bool, report: &AuditReport) -> String {
    let criterion = match what {
        FrameDetail::Lines => {
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
    format!("it has {criterion}{doubt}")
}

/// Returns a note if `--exact` cannot be right. A few classes may not fit because the recording is
/// wrong, but not one in fifty.
fn exact_contradiction(versions: &Versions) -> Option<String> {
    let of_kind = |jdk: bool| {
        let all = || versions.all().filter(move |(class, _)| is_of_jdk(&class.replace('/', ".")) == jdk);
        let ran = all().filter(|(_, version)| matches!(version, Version::Loaded(_))).count();
        let other = all().filter(|(_, version)| matches!(version, Version::Other { .. })).count();
        (other > 1 && other * MAX_MISMATCH_RATIO > ran).then_some((other, ran))
    };
    let (other, ran) = of_kind(true).or_else(|| of_kind(false))?;
    Some(format!(
        "--exact is not believed: {} of {} classes do not fit what the file has of them",
        grouped(other as u64),
        grouped((other + ran) as u64)
    ))
}

/// `--exact` is ignored if more than one of this many classes does not fit.
const MAX_MISMATCH_RATIO: usize = 50;

/// Returns a note if the JDK that was searched is not the JDK that ran.
fn other_jdk_note(library: &Library, run_info: &RunInfo) -> Option<String> {
    let ran = run_info.jdk_version()?;
    match library.jdk_version() {
        None if library.has_jdk() => None,
        None => Some(format!("no JDK was looked into, and this one ran: {ran} (--jdk HOME)")),
        Some(jdk) if is_same(ran, jdk) => None,
        Some(jdk) => Some(format!("the JDK that was looked into is {jdk}, and the one that ran was {ran}")),
    }
}

/// True if both texts name the same version. One may be a prefix of the other.
fn is_same(ran: &str, jdk: &str) -> bool {
    let begins = |long: &str, short: &str| {
        long.strip_prefix(short).is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
    };
    // JDK 8's VM has its own version number, such as 25.472-b08.
    let is_jdk_8_build = |ran: &str| {
        let build = ran.strip_prefix("25.").and_then(|rest| rest.split_once("-b"));
        build.is_some_and(|(update, _)| update.bytes().all(|byte| byte.is_ascii_digit()))
    };
    begins(ran, jdk) || begins(jdk, ran) || jdk.starts_with("1.8.") && is_jdk_8_build(ran)
}

/// Returns a note if a Java agent was loaded, since it may have changed classes.
fn rewritten_note(run_info: &RunInfo) -> Option<String> {
    let agent = run_info.flags.split_whitespace().find(|flag| flag.starts_with("-javaagent:"))?;
    let agent = Path::new(agent).file_name().unwrap_or_default().to_string_lossy().into_owned();
    Some(format!("a Java agent may have changed classes ({agent}): those that do not fit are counted apart"))
}
