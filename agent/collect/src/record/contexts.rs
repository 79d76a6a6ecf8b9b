//! Adds the contexts of samples to the recording. Each number that the program uses is resolved
//! once.
//!
//! A virtual thread is the outermost context, and needs no name from the program. The trace that
//! the program works in is within it. The program's own contexts are within both.

use std::collections::HashMap;

use vouch_recording::{ContextField, ContextId, ContextKind, ContextKindId, ContextRow, Recording};
use vouch_sample::Head;
use vouch_signal::unread_names::UNREAD_NAMES;

use super::mounted_vthread::MountedVthreads;
use super::traces::Traces;
use crate::contexts::{Contexts, ProgramContextKind};

/// The maximum number of contexts within virtual threads and traces. Further ones are added within
/// the context that all other virtual threads or traces share.
const MAX_WITHIN: usize = 1 << 18;

/// The contexts of the recording in which samples were taken.
#[derive(Debug)]
pub struct SampleContexts {
    contexts: &'static Contexts,
    /// The recording's contexts, by the program's number and by the enclosing virtual thread or
    /// trace.
    known: HashMap<(Option<ContextId>, u32), Option<ContextId>>,
    vthreads: MountedVthreads,
    traces: Traces,
    /// The recording's id of each kind of contexts, by the number that the program uses for the
    /// kind.
    kinds: HashMap<u32, ContextKindId>,
}

impl SampleContexts {
    pub fn new(contexts: &'static Contexts) -> Self {
        UNREAD_NAMES.clear();
        Self {
            contexts,
            known: HashMap::new(),
            vthreads: MountedVthreads::default(),
            traces: Traces::default(),
            kinds: HashMap::new(),
        }
    }

    /// Sets the name of the virtual thread with this id.
    pub fn set_name(&mut self, id: u64, name: Option<impl Iterator<Item = u16>>, recording: &mut Recording) {
        self.vthreads.set_name(id, name, recording);
    }

    /// Returns true if the virtual thread with this id was sampled and its name is still unknown.
    pub fn lacks_name(&self, id: u64, recording: &Recording) -> bool {
        self.vthreads.lacks_name(id, recording)
    }

    /// Returns the context in which a sample was taken. `None` if there was none or its number is
    /// unknown.
    pub fn context(&mut self, head: &Head, recording: &mut Recording) -> Option<ContextId> {
        let vthread = self.vthreads.context(head.mounted_vthread, recording);
        let around = self.traces.context(vthread, head.trace, recording);
        self.within(around, head.context, recording)
    }

    fn within(
        &mut self,
        around: Option<ContextId>,
        number: u32,
        recording: &mut Recording,
    ) -> Option<ContextId> {
        if number == 0 {
            return around;
        }
        if let Some(known) = self.known.get(&(around, number)) {
            return *known;
        }
        if let Some(one) = around.filter(|_| self.known.len() >= MAX_WITHIN) {
            let others = Some(if self.traces.is_one(one, recording) {
                let outer =
                    recording.contexts().get(one).outer.map(|_| self.vthreads.shared_beyond_limit(recording));
                self.traces.shared_beyond_limit(outer, recording)
            } else {
                self.vthreads.shared_beyond_limit(recording)
            });
            if around != others {
                return self.within(others, number, recording);
            }
        }
        let found = self.contexts.get(number).map(|(context, kind)| {
            // The outer context was added before this one, so the recursion ends.
            let outer = self.within(around, context.outer, recording);
            let kinds = &mut self.kinds;
            let kind = *kinds.entry(context.kind).or_insert_with(|| add_kind(&kind, recording));
            let values = context.values.iter().map(|value| recording.string(value)).collect();
            recording.context(ContextRow { outer, kind, values })
        });
        let found = found.or(around);
        self.known.insert((around, number), found);
        found
    }
}

fn add_kind(kind: &ProgramContextKind, recording: &mut Recording) -> ContextKindId {
    let fields = kind
        .fields
        .iter()
        .map(|(key, label)| ContextField { key: recording.string(key), label: recording.string(label) })
        .collect();
    let (class, label) = (recording.string(&kind.class), recording.string(&kind.label));
    recording.context_kind(ContextKind { class, label, fields })
}
