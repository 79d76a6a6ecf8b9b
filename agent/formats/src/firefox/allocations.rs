//! What a track's threads allocated: the front-end's call tree counts it instead of time, where it
//! is asked to.
//!
//! The front-end knows allocations of JavaScript's: what it calls a class name is the class of an
//! object, what it calls the nursery is nothing that the JVM tells.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use vouch_recording::{Allocation, Recording, Thread};

use super::time::Micros;
use crate::json::{Column, Repeat, Row};

/// The table of a track; it has none where nothing was recorded.
pub struct AllocationColumns<'a> {
    recording: &'a Recording,
    allocations: Vec<&'a Allocation>,
}

impl<'a> AllocationColumns<'a> {
    pub fn of(recording: &'a Recording, threads: &[&'a Thread]) -> Option<Self> {
        let mut allocations: Vec<_> = threads.iter().flat_map(|thread| thread.allocations()).collect();
        allocations.sort_by_key(|allocation| allocation.time_ns);
        (!allocations.is_empty()).then_some(Self { recording, allocations })
    }
}

impl Serialize for AllocationColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = || self.allocations.iter();
        let length = self.allocations.len();
        let mut table = serializer.serialize_struct("jsAllocations", 9)?;
        table.serialize_field("time", &Column(|| rows().map(|row| Micros::from_nanos(row.time_ns))))?;
        table.serialize_field(
            "className",
            &Column(|| rows().map(|row| self.recording.strings().get(row.class))),
        )?;
        table.serialize_field("typeName", &Repeat("Object", length))?;
        table.serialize_field("coarseType", &Repeat("Object", length))?;
        table.serialize_field("weight", &Column(|| rows().map(|row| row.stands_for)))?;
        table.serialize_field("weightType", "bytes")?;
        table.serialize_field("inNursery", &Repeat(false, length))?;
        table.serialize_field("stack", &Column(|| rows().map(|row| row.stack.map(Row))))?;
        table.serialize_field("length", &length)?;
        table.end()
    }
}
