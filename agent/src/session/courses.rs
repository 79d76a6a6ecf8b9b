//! What is drawn as a graph beside the threads: the heap, compiled code, and what groups of tasks
//! spend.
//!
//! It is looked at between two drains, by the agent's own thread.

use jni::JNIEnv;
use vouch_recording::{Recording, kinds};

use crate::clock;
use crate::events::{self, Chosen, heap::Heap, life::Life};
use crate::groups::{groups, spending::Spending};

#[derive(Debug)]
pub struct Courses {
    /// Collections are read beside what they have collected.
    heap: Option<Heap>,
    life: Option<Life>,
    spending: Spending,
}

impl Courses {
    /// The recording has begun; `told`: the events that are recorded.
    pub fn of(told: Chosen) -> Self {
        let heap = events::are_chosen(told, &kinds::COLLECTION).then(Heap::default);
        let life = Life::of(events::are_chosen(told, &kinds::COMPILATION));
        Self { heap, life, spending: Spending::begin(clock::monotonic()) }
    }

    pub fn look(&mut self, recording: &mut Recording, env: &mut JNIEnv<'_>) {
        if let Some(heap) = &mut self.heap {
            heap.look(recording, env);
        }
        if let Some(life) = &mut self.life {
            life.look(recording);
        }
        self.spending.look(groups(), recording);
    }

    /// Events that are told late are told now: the recording ends, or is to be written.
    pub fn tell_all(&mut self) {
        if let Some(life) = &mut self.life {
            life.finish();
        }
    }

    /// The report is to be made just now, and the graphs are to end with what it says.
    pub fn finish(&mut self, recording: &mut Recording) {
        self.spending.tell(groups(), recording, clock::monotonic());
    }
}
