//! Reads a recording, and rebuilds the profile and report that its process would have written.
//!
//! A reader must never fail on damage while any block is intact. It must never report a damaged or
//! unfinished run as whole.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

use prost::Message;
use vouch_formats::Meta;
use vouch_recording::{Category, Id, Recording, Thread, why_no_stack};
use vouch_report::{Delivered, TrustReport, grouped};
use vouch_sample::Reason;

use crate::block::Blocks;
use crate::error::Error;
use crate::replay::{Lost, Replay};
use crate::state::State;
use crate::wire::Block;

/// What was recovered from the file of a recording.
#[derive(Debug)]
pub struct Recovered {
    pub recording: Recording,
    /// Metadata of the recorded run, which includes the trust report.
    pub meta: Meta,
    pub found: Found,
}

/// Counts of the intact and the damaged parts of a recording's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Found {
    pub blocks: u64,
    /// Number of blocks that are missing from the file.
    pub blocks_missing: u64,
    /// Number of bytes of the file that belong to no intact block.
    pub bytes_damaged: u64,
    /// Counts of the data lost with the missing blocks.
    pub lost: Lost,
    /// True if the recording ended normally, so that the file is complete.
    pub is_ended: bool,
    /// True if the file ends within a block.
    pub is_torn: bool,
}

/// Reads a recording from its file. An error is a sentence for the user.
pub fn read(mut file: impl Read + Seek) -> Result<Recovered, Error> {
    if file.seek(SeekFrom::End(0)).map_err(Error::Unreadable)? == 0 {
        return Err(Error::Empty);
    }
    let mut blocks = match Blocks::open(file).map_err(Error::Unreadable)? {
        Some(Ok(blocks)) => blocks,
        Some(Err(version)) => return Err(Error::UnknownVersion(version)),
        None => return Err(Error::NotARecording),
    };
    let mut found = Found::default();
    let mut replay = Replay::default();
    let mut state: Option<State> = None;
    let (mut last, mut last_ns) = (None, 0);
    while let Some(bytes) = blocks.next().map_err(Error::Unreadable)? {
        // The sum was right, so another program wrote this block.
        let Ok(block) = Block::decode(bytes.as_slice()) else { continue };
        let next = last.map_or(0, |last: u64| last.saturating_add(1));
        if last.is_some_and(|last| block.number <= last) {
            // The block is a duplicate, or belongs to another file.
            continue;
        }
        found.blocks += 1;
        found.blocks_missing = found.blocks_missing.saturating_add(block.number.saturating_sub(next));
        last = Some(block.number);
        last_ns = last_ns.max(block.time_ns);
        replay.add_block(&block);
        if let Some(newer) = State::from_json(&block.state) {
            state = Some(newer);
        }
        found.is_ended = state.as_ref().is_some_and(|state| state.is_last);
    }
    found.bytes_damaged = blocks.damaged_bytes;
    found.is_torn = blocks.has_torn_tail();
    found.lost = replay.lost;
    let state = state.ok_or(Error::BeginningMissing)?;
    let State { mut meta, mut run, .. } = state;
    let charged_ns = if found.is_ended { 0 } else { replay.add_cpu_after_last_reading(run.interval_ns) };
    let recording = replay.recording;
    if !found.is_ended || found.damage().is_some() {
        // The signals delivered last, and those in missing blocks, are unknown.
        let tally = recording.tally();
        run.delivered = Delivered { signals: tally.samples.sum(), weight: tally.weight.sum() };
    }
    if !found.is_ended {
        run.cpu_ms = run.cpu_ms.map(|cpu_ms| cpu_ms + vouch_report::millis(charged_ns));
        let programs_ms = run.cpu_ms.zip(run.agent_cpu_ms).map(|(all_ms, agents_ms)| all_ms - agents_ms);
        let programs_ms = programs_ms.filter(|programs_ms| *programs_ms > 0.0);
        if let Some((rate, programs_ms)) = run.rate.as_mut().zip(programs_ms) {
            rate.reached_hz = vouch_report::float(run.delivered.signals) / programs_ms * 1000.0;
        }
        let after_state_ns = last_ns.saturating_sub(meta.ended_ns);
        run.wall_ms += vouch_report::millis(after_state_ns);
        meta.ended_ns = meta.ended_ns.max(last_ns);
        let seconds = vouch_report::millis(after_state_ns) / 1000.0;
        run.engine_notes.push(format!(
            "recovered from an unfinished recording: the last samples are missing, and other counts (handlers, witnesses, the JVM's \
             pauses) are {seconds:.1} s older than the samples"
        ));
    }
    // The counts of the state may be from another time, or include samples that are missing.
    run.unwalked = unwalked(&recording);
    run.refuted = refuted(&recording);
    if !found.is_ended || found.damage().is_some() {
        // The state does not cover the later samples, so its reasons are incomplete.
        run.plausible_because.clear();
    }
    if let Some(damage) = found.damage() {
        run.warn(damage);
    }
    meta.report = TrustReport::from_recording(&recording, run);
    Ok(Recovered { recording, meta, found })
}

/// Counts the samples without a stack, by the reason why they have none.
fn unwalked(recording: &Recording) -> BTreeMap<String, u64> {
    let frames = recording.stacks().rows().iter().map(|stack| recording.frames().get(stack.frame));
    let why: Vec<Option<Reason>> = frames
        .map(|frame| {
            let func = recording.funcs().get(frame.func);
            let name = (func.category == Category::NoStack).then(|| recording.strings().get(func.name))?;
            let words = why_no_stack(name)?;
            // An older version may have described its reasons in other words.
            Reason::ALL.into_iter().find(|reason| reason.description() == words).or(Some(Reason::UNNAMED))
        })
        .collect();
    let samples = recording.threads().iter().flat_map(Thread::samples);
    count(samples.filter_map(|sample| Some(why[sample.stack.row()]?.name())))
}

/// Counts the refuted samples, by kind of refutation.
fn refuted(recording: &Recording) -> BTreeMap<String, u64> {
    let refuted = recording.threads().iter().flat_map(Thread::refuted);
    count(refuted.map(|refuted| recording.strings().get(recording.refutations().get(refuted.how).kind)))
}

fn count<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for name in names {
        match counts.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                counts.insert(name.to_owned(), 1);
            }
        }
    }
    counts
}

impl Found {
    /// Describes the data that is missing from the file, or returns `None` if nothing is missing.
    pub fn damage(&self) -> Option<String> {
        let Self { blocks_missing, bytes_damaged, lost, .. } = *self;
        if blocks_missing == 0 && lost.unresolved_events == 0 && lost.samples_without_stack == 0 {
            return None;
        }
        Some(format!(
            "the recording is damaged: {} of its blocks are missing ({} bytes), and with them at least {} samples; the stacks of {} others \
             were in them, which count as dropped, and {} events",
            grouped(blocks_missing),
            grouped(bytes_damaged),
            grouped(lost.samples),
            grouped(lost.samples_without_stack),
            grouped(lost.unresolved_events),
        ))
    }
}
