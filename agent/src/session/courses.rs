//! What is drawn as a graph beside the threads: the heap, and what groups of tasks spend.
//!
//! It is looked at between two drains, by the agent's own thread.

use jni::JNIEnv;
use vouch_recording::{Recording, kinds};

use crate::clock;
use crate::events::{self, Chosen, heap::Heap};
use crate::groups::{groups, spending::Spending};

#[derive(Debug)]
pub struct Courses {
    /// Collections are read beside what they have collected.
    heap: Option<Heap>,
    spending: Spending,
}

impl Courses {
    /// The recording has begun; `told`: the events that are recorded.
    pub fn of(told: Chosen) -> Self {
        let heap = events::are_chosen(told, &kinds::COLLECTION).then(Heap::default);
        Self { heap, spending: Spending::begin(clock::monotonic()) }
    }

    pub fn look(&mut self, recording: &mut Recording, env: &mut JNIEnv<'_>) {
        if let Some(heap) = &mut self.heap {
            heap.look(recording, env);
        }
        self.spending.look(groups(), recording);
    }

    /// The report is to be made just now, and the graphs are to end with what it says.
    pub fn finish(&mut self, recording: &mut Recording) {
        self.spending.tell(groups(), recording, clock::monotonic());
    }
}
