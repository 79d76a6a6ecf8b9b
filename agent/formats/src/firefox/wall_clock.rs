//! The wall-clock time of a track's threads. The front-end ignores the table, and `vouch` reads it.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use vouch_recording::measures::WALL_CLOCK;
use vouch_recording::{Amount, Thread};

use super::amounts::amounts;
use super::time::Micros;
use crate::json::{Column, Row};

/// The table of wall-clock time of a track.
pub struct WallClockColumns<'a>(Vec<&'a Amount>);

impl<'a> WallClockColumns<'a> {
    /// Makes the table for these threads. Returns `None` if their wall-clock time was not measured.
    pub fn new(threads: &[&'a Thread]) -> Option<Self> {
        amounts(threads, &WALL_CLOCK).map(Self)
    }
}

impl Serialize for WallClockColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = || self.0.iter();
        let in_contexts = self.0.iter().any(|row| row.context.is_some());
        let mut table = serializer.serialize_struct("vouchWallClock", 5 + usize::from(in_contexts))?;
        table.serialize_field("time", &Column(|| rows().map(|row| Micros::from_nanos(row.time_ns))))?;
        table.serialize_field("weight", &Column(|| rows().map(|row| row.amount)))?;
        table.serialize_field("weightType", "nanoseconds")?;
        table.serialize_field("stack", &Column(|| rows().map(|row| Row(row.stack))))?;
        if in_contexts {
            table.serialize_field("vouchContext", &Column(|| rows().map(|row| row.context.map(Row))))?;
        }
        table.serialize_field("length", &self.0.len())?;
        table.end()
    }
}
