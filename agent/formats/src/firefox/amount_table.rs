//! The samples of a track's threads that count another measure than CPU time, such as wall-clock
//! time. The front-end ignores these tables, and `vouch` reads them.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use vouch_recording::measures::ALLOCATED;
use vouch_recording::{Amount, Measure, Thread};

use super::amounts::amounts;
use super::time::Micros;
use crate::json::{Column, Row};

/// The table of a track's samples of one measure.
pub struct AmountColumns<'a> {
    measure: &'static Measure,
    amounts: Vec<&'a Amount>,
}

impl<'a> AmountColumns<'a> {
    /// Makes the tables of all measures that these threads have samples of, by their keys in a
    /// track. Allocations are not among them: the front-end has its own table for them.
    pub fn tables(threads: &[&'a Thread]) -> BTreeMap<&'static str, Self> {
        let measures = Measure::others().filter(|measure| **measure != ALLOCATED);
        let table = |measure: &'static Measure| {
            Some((measure.table, Self { measure, amounts: amounts(threads, measure)? }))
        };
        measures.filter_map(table).collect()
    }
}

impl Serialize for AmountColumns<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rows = || self.amounts.iter();
        let in_contexts = self.amounts.iter().any(|row| row.context.is_some());
        let has_events = self.measure.has_event_counts();
        let columns = 5 + usize::from(in_contexts) + usize::from(has_events);
        let mut table = serializer.serialize_struct(self.measure.table, columns)?;
        table.serialize_field("time", &Column(|| rows().map(|row| Micros::from_nanos(row.time_ns))))?;
        table.serialize_field("weight", &Column(|| rows().map(|row| row.amount)))?;
        table.serialize_field("weightType", self.measure.unit.name())?;
        if has_events {
            table.serialize_field("vouchEvents", &Column(|| rows().map(|row| row.events)))?;
        }
        table.serialize_field("stack", &Column(|| rows().map(|row| Row(row.stack))))?;
        if in_contexts {
            table.serialize_field("vouchContext", &Column(|| rows().map(|row| row.context.map(Row))))?;
        }
        table.serialize_field("length", &self.amounts.len())?;
        table.end()
    }
}
