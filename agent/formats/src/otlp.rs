//! The profiles format of OpenTelemetry (`v1development`), as a file with a `ProfilesData` message.
//! A request to a Collector has the same content.
//!
//! It must never hold the whole document in memory. The length of a message comes before it, so the
//! samples are made twice: first to add up their lengths, and again to write them.
//!
//! A profile has one type of values, so each value of each measure is a profile. Observations with
//! the same stack, thread, context and trust are one sample with several times and values.

mod dictionary;
mod message;
mod samples;

use std::io::{self, BufWriter, Write};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::profiles::v1development::{Profile, ValueType};
use opentelemetry_proto::tonic::resource::v1::Resource;
use prost::Message;
use vouch_recording::measures::CPU;
use vouch_recording::{MEASURES, Measure, Recording};
use vouch_report::TrustReport;

use crate::labels::value_types;
use crate::meta::Meta;
use dictionary::Dictionary;
use message::{begin_message, field_len, write_message};
use samples::{Samples, Which};

// The numbers of the fields that are written piece by piece.
const RESOURCE_PROFILES: u32 = 1;
const DICTIONARY: u32 = 2;
const RESOURCE: u32 = 1;
const SCOPE_PROFILES: u32 = 2;
const SCOPE: u32 = 1;
const PROFILES: u32 = 2;
const SAMPLES: u32 = 2;

/// Writes a recording.
pub fn write(recording: &Recording, meta: &Meta, out: &mut dyn Write) -> io::Result<()> {
    let mut dictionary = Dictionary::new(recording);
    let samples = Samples::new(recording, meta);
    let times = samples.time_range(meta);
    let mut profiles = Vec::new();
    for measure in MEASURES.into_iter().filter(|measure| samples.has(measure)) {
        for (which, name, unit) in values(measure, &meta.report) {
            let sample_type =
                ValueType { type_strindex: dictionary.string(&name), unit_strindex: dictionary.string(unit) };
            let interval_ns = i64::try_from(meta.report.run.interval_ns).unwrap_or(i64::MAX);
            let period = if *measure == CPU && unit == "nanoseconds" { interval_ns } else { 0 };
            let header = Profile {
                sample_type: Some(sample_type),
                time_unix_nano: times.begin_unix_ns,
                duration_nano: times.duration_ns(),
                period_type: (period > 0).then_some(sample_type),
                period,
                ..Profile::default()
            };
            let mut length = header.encoded_len();
            samples.each(measure, which, &mut dictionary, |sample| {
                length += field_len(SAMPLES, sample.encoded_len());
                Ok(())
            })?;
            profiles.push((measure, which, header, length));
        }
    }
    let (resource, scope) = (resource(meta), scope(meta));
    let scope_length = field_len(SCOPE, scope.encoded_len())
        + profiles.iter().map(|(.., length)| field_len(PROFILES, *length)).sum::<usize>();
    let resource_length =
        field_len(RESOURCE, resource.encoded_len()) + field_len(SCOPE_PROFILES, scope_length);
    let mut out = BufWriter::with_capacity(64 << 10, out);
    begin_message(&mut out, RESOURCE_PROFILES, resource_length)?;
    write_message(&mut out, RESOURCE, &resource)?;
    begin_message(&mut out, SCOPE_PROFILES, scope_length)?;
    write_message(&mut out, SCOPE, &scope)?;
    for (measure, which, header, length) in profiles {
        begin_message(&mut out, PROFILES, length)?;
        out.write_all(&header.encode_to_vec())?;
        samples.each(measure, which, &mut dictionary, |sample| write_message(&mut out, SAMPLES, sample))?;
    }
    dictionary.write(&mut out, DICTIONARY)?;
    out.flush()
}

/// Returns the values of a measure that are profiles, each with its name and unit.
fn values(measure: &Measure, report: &TrustReport) -> Vec<(Which, String, &'static str)> {
    let mut types = value_types(measure, report);
    let amount = types.pop().map(|(name, unit)| (Which::Amount, name, unit));
    let events = types.pop().filter(|_| measure.has_event_counts());
    let events = events.map(|(name, unit)| (Which::Events, name, unit));
    amount.into_iter().chain(events).collect()
}

fn resource(meta: &Meta) -> Resource {
    let text = |key: &str, value: &str| attribute(key, Value::StringValue(value.to_owned()));
    let mut attributes: Vec<KeyValue> = meta.resource.iter().map(|(key, value)| text(key, value)).collect();
    let own = [
        attribute("process.pid", Value::IntValue(meta.pid.into())),
        text("process.runtime.description", &meta.report.run.jdk),
        text("os.type", "linux"),
    ];
    for attribute in own {
        if attributes.iter().all(|known| known.key != attribute.key) {
            attributes.push(attribute);
        }
    }
    Resource { attributes, ..Resource::default() }
}

fn scope(meta: &Meta) -> InstrumentationScope {
    InstrumentationScope {
        name: "vouch".to_owned(),
        version: meta.report.run.vouch.clone(),
        ..InstrumentationScope::default()
    }
}

fn attribute(key: &str, value: Value) -> KeyValue {
    let value = Some(AnyValue { value: Some(value) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}
