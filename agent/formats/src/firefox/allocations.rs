//! The allocated bytes of a track's threads. The front-end's call tree can count them instead of
//! time.
//!
//! The front-end has a table for allocations of JavaScript. Vouch writes the classes of Java
//! objects to its column of class names. The JVM reports nothing that could fill its column for the
//! nursery.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use vouch_recording::measures::ALLOCATED;
use vouch_recording::{Amount, Recording, Thread};

use super::amounts::amounts;
use super::time::Micros;
use crate::json::{Column, Repeat, Row};

/// The table of allocations of a track.
pub struct AllocationColumns<'a> {
    recording: &'a Recording,
    amounts: Vec<&'a Amount>,
}

impl<'a> AllocationColumns<'a> {
    /// Makes the table for these threads. Returns `None` if none of their allocations was recorded.
    pub fn new(recording: &'a Recording, threads: &[&'a Thread]) -> Option<Self> {
        amounts(threads, &ALLOCATED).map(|amounts| Self { recording, amounts })
    }

    /// Returns the leaf of an allocation's stack, which is the class of the object.
    fn class(&self, amount: &Amount) -> &'a str {
        let func = self.recording.leaf(amount.stack).func;
        self.recording.strings().get(self.recording.funcs().get(func).name)
    }
}

impl Serialize for AllocationColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = || self.amounts.iter();
        let length = self.amounts.len();
        let mut table = serializer.serialize_struct("jsAllocations", 9)?;
        table.serialize_field("time", &Column(|| rows().map(|row| Micros::from_nanos(row.time_ns))))?;
        table.serialize_field("className", &Column(|| rows().map(|row| self.class(row))))?;
        table.serialize_field("typeName", &Repeat("Object", length))?;
        table.serialize_field("coarseType", &Repeat("Object", length))?;
        table.serialize_field("weight", &Column(|| rows().map(|row| row.amount)))?;
        table.serialize_field("weightType", "bytes")?;
        table.serialize_field("inNursery", &Repeat(false, length))?;
        table.serialize_field("stack", &Column(|| rows().map(|row| Row(row.stack))))?;
        table.serialize_field("length", &length)?;
        table.end()
    }
}
