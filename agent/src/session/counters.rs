//! The graphs beside the threads: the heap, compiled code, and the costs of task groups.
//!
//! The agent's own thread reads them between two drains.

use jni::JNIEnv;
use vouch_recording::{Recording, kinds};
use vouch_sampling::clock;

use crate::events::{self, Chosen, heap::Heap, life::Life};
use crate::groups::{cpu_graphs::GroupCpuGraphs, groups};

#[derive(Debug)]
pub struct CounterGraphs {
    /// The heap, which is read along with its collections.
    heap: Option<Heap>,
    life: Option<Life>,
    cpu_graphs: GroupCpuGraphs,
}

impl CounterGraphs {
    /// Makes the graphs when the recording begins. `recorded` has the chosen events.
    pub fn new(recorded: Chosen) -> Self {
        let heap = events::are_chosen(recorded, &kinds::COLLECTION).then(Heap::default);
        let life = Life::new(events::are_chosen(recorded, &kinds::COMPILATION));
        Self { heap, life, cpu_graphs: GroupCpuGraphs::begin(clock::monotonic()) }
    }

    /// Begins a period. Its graphs are in another recording. An event that is held back appears in
    /// the period in which it is certain.
    pub fn begin_period(&mut self) {
        if let Some(heap) = &mut self.heap {
            heap.begin_period();
        }
        if let Some(life) = &mut self.life {
            life.begin_period();
        }
        self.cpu_graphs = GroupCpuGraphs::begin(clock::monotonic());
    }

    pub fn read_if_due(&mut self, recording: &mut Recording, env: &mut JNIEnv<'_>) {
        if let Some(heap) = &mut self.heap {
            heap.record_if_due(recording, env);
        }
        if let Some(life) = &mut self.life {
            life.look(recording);
        }
        self.cpu_graphs.read_if_due(groups(), recording);
    }

    /// Reports the events that are held back, because the recording ends or is about to be written.
    pub fn publish_pending(&mut self) {
        if let Some(life) = &mut self.life {
            life.finish();
        }
    }

    /// Adds the last points just before the report is made, so that the graphs end with its values.
    pub fn finish(&mut self, recording: &mut Recording) {
        self.cpu_graphs.add_readings(groups(), recording, clock::monotonic());
    }
}
