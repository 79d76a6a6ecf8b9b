//! Whose a sample is: a thread has a track for each of its names.
//!
//! A sample gets the name that its thread had at the sample's time, whatever the thread is called by now.

use std::collections::HashMap;

use vouch_recording::{Category, Outside, Recording, ThreadId, outside};
use vouch_sample::{Event, Head};

use crate::threads::{Life, NameId, Registry, scan};

/// The tracks of all threads that have any.
#[derive(Debug)]
pub struct Tracks {
    registry: &'static Registry,
    /// By serial and name.
    known: HashMap<(u32, NameId), ThreadId>,
    /// Of threads that nobody knows but by the kernel's id.
    strays: HashMap<u32, ThreadId>,
}

impl Tracks {
    pub fn new(registry: &'static Registry) -> Self {
        Self { registry, known: HashMap::new(), strays: HashMap::new() }
    }

    /// The track that a sample belongs to, and what its thread does when it runs no Java.
    pub fn of(&mut self, head: &Head, recording: &mut Recording) -> (ThreadId, Outside) {
        let Self { registry, known, strays } = self;
        let nameless = |life: &Life| !life.java && !life.is_named(head.time);
        if registry.life_at_sample(head.serial, head.cpu, nameless) == Some(true) {
            // Its name tells what it does, and until it has given itself one it has that of the thread that made it: the
            // VM's own thread makes the collector's.
            scan::name(registry, head.tid);
        }
        let of_life = registry.life(head.serial, |life| {
            let name = life.name_at(head.time);
            let track = *known.entry((life.serial, name)).or_insert_with(|| add(recording, life, name));
            (track, outside(life.java, &life.name(name)))
        });
        of_life.unwrap_or_else(|| {
            let name = format!("thread {}", head.tid);
            let track = strays
                .entry(head.tid)
                .or_insert_with(|| recording.add_thread(&name, head.tid.into(), head.time));
            (*track, outside(false, &name))
        })
    }

    /// The track of the thread that an event happened to; `None` if it is none that anybody wants to see.
    pub fn of_event(&mut self, event: &Event, recording: &mut Recording) -> Option<ThreadId> {
        let Self { registry, known, .. } = self;
        let of_life = registry.life(event.serial, |life| {
            if life.own || !life.sampled {
                return None;
            }
            let name = life.name_at(event.began);
            Some(*known.entry((life.serial, name)).or_insert_with(|| add(recording, life, name)))
        });
        of_life.flatten()
    }

    /// Names, ends and CPU times, as far as they are known now. Threads that had no sample get their track here.
    pub fn complete(&mut self, recording: &mut Recording) {
        let Self { registry, known, .. } = self;
        registry.each_life(|life| {
            if life.own || !life.sampled {
                return;
            }
            for name in 0..life.names() {
                // The launcher's first thread, say: it only waits, and is nobody's.
                let native = !life.java && is_native(&life.name(name));
                if native && !known.contains_key(&(life.serial, name)) {
                    continue;
                }
                let track = *known.entry((life.serial, name)).or_insert_with(|| add(recording, life, name));
                recording.set_thread_name(track, &life.name(name));
                recording.set_thread_cpu(track, life.cpu_under(name));
                if let Some(ended) = life.ended {
                    recording.end_thread(track, ended);
                }
            }
        });
    }
}

/// True if a thread without Java is none of the VM's, as far as its name tells.
fn is_native(name: &str) -> bool {
    outside(false, name).category == Category::Native
}

fn add(recording: &mut Recording, life: &Life, name: NameId) -> ThreadId {
    recording.add_thread(&life.name(name), life.tid.into(), life.started)
}
