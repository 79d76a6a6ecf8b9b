//! Facts about event kinds in a recording: their fields, and how they were recorded.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{Read, Seek};

use crate::catalogue::kinds::{EventParts, Field};
use crate::chunk::{Chunk, Reader};
use crate::error::Error;
use crate::metadata::{Type, Unit};
use crate::value::Value;

/// The facts about one event kind in a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub label: String,
    pub category: Vec<String>,
    pub form: EventParts,
    /// The settings with which the kind was recorded, such as `on, 20 ms and more, with stacks`.
    pub setting: String,
    /// The number of this kind's events in the recording.
    pub count: u64,
}

/// The facts about all event kinds in a recording.
#[derive(Debug, Default)]
pub struct Recorded {
    /// The JVM's version, such as `17.0.1+12`.
    pub jvm: Option<String>,
    /// The event kinds by name, including the program's own.
    pub kinds: BTreeMap<String, Facts>,
    /// An error for each part that could not be read.
    pub damage: Vec<Error>,
}

impl Recorded {
    /// Reads the facts from a recording. A chunk that occurs twice counts once. An error is the end
    /// of a sentence.
    pub fn read(file: impl Read + Seek) -> Result<Self, Error> {
        let mut reader = Reader::new(file)?;
        let mut recorded = Self::default();
        let mut known_chunks = HashSet::new();
        while let Some(chunk) = reader.next_chunk()? {
            match chunk {
                Ok(chunk) if known_chunks.insert(chunk.identity()) => {
                    recorded.add(&chunk);
                }
                Ok(_) => {}
                Err(why) => recorded.damage.push(why),
            }
        }
        if recorded.kinds.is_empty() {
            return Err(recorded.damage.pop().unwrap_or(Error::Empty));
        }
        Ok(recorded)
    }

    fn add(&mut self, chunk: &Chunk) {
        if let Some(damage) = chunk.damage {
            self.damage.push(Error::PartUnreadable(damage));
        }
        let mut settings: HashMap<i64, BTreeMap<String, String>> = HashMap::new();
        let mut counts: HashMap<i64, u64> = HashMap::new();
        for event in chunk.events().flatten() {
            *counts.entry(event.kind.id).or_default() += 1;
            let has_facts = ["jdk.ActiveSetting", "jdk.JVMInformation"].contains(&event.kind.name.as_str());
            let Some(values) = Some(event).filter(|_| has_facts).and_then(|event| event.values().ok()) else {
                continue;
            };
            let value = |name: &str| event.kind.field(name).and_then(|row| values.get(row));
            let text = |name: &str| value(name).and_then(|value| text(chunk, value));
            if let Some(version) = text("jvmVersion") {
                let inner = version.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
                self.jvm = Some(inner.map_or(version.as_str(), |(inner, _)| inner).to_owned());
            }
            if let (Some(id), Some(name), Some(value)) =
                (event.kind.integer_field(&values, "id"), text("name"), text("value"))
            {
                settings.entry(id).or_default().insert(name, value);
            }
        }
        let none = BTreeMap::new();
        for kind in chunk.types().filter(|kind| kind.event) {
            let count = counts.get(&kind.id).copied().unwrap_or(0);
            let has = |name| kind.field(name).is_some();
            let setting = setting(settings.get(&kind.id).unwrap_or(&none), has("stackTrace"));
            let fields = kind.own_fields();
            let form = EventParts {
                fields: fields
                    .map(|(_, field)| Field::from_metadata(field, chunk.type_of(field.type_id)))
                    .collect(),
                duration: has("duration"),
                thread: has("eventThread"),
                stack: has("stackTrace"),
            };
            let facts =
                Facts { label: kind.label.clone(), category: kind.category.clone(), form, setting, count };
            let known =
                self.kinds.entry(kind.name.clone()).or_insert_with(|| Facts { count: 0, ..facts.clone() });
            *known = Facts { count: known.count + count, ..facts };
        }
    }
}

fn text(chunk: &Chunk, value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Constant(type_id, index) => match chunk.constant(*type_id, *index)? {
            Value::Text(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Describes the settings of an event kind, such as `on, 20 ms and more, with stacks`.
fn setting(settings: &BTreeMap<String, String>, has_stack: bool) -> String {
    let get = |name: &str| settings.get(name).map(String::as_str).filter(|value| !value.is_empty());
    if get("enabled") != Some("true") {
        return "off".to_owned();
    }
    let mut parts = vec!["on".to_owned()];
    parts.extend(
        get("threshold").filter(|least| !least.starts_with("0 ")).map(|least| format!("{least} and more")),
    );
    parts.extend(get("period").map(|period| match period {
        "everyChunk" => "at the begin and the end of each chunk".to_owned(),
        "beginChunk" => "at the begin of each chunk".to_owned(),
        "endChunk" => "at the end of each chunk".to_owned(),
        period => format!("each {period}"),
    }));
    parts.extend(
        get("throttle")
            .filter(|most| *most != "off")
            .map(|most| format!("at most {}", most.replace('/', " in 1 "))),
    );
    if has_stack && get("stackTrace") == Some("true") {
        parts.push("with stacks".to_owned());
    }
    parts.join(", ")
}

impl Field {
    fn from_metadata(field: &crate::Field, value_type: Option<&Type>) -> Self {
        let name = value_type.map_or("", |value_type| value_type.name.as_str());
        let what = match (field.unit, name) {
            (Unit::Bytes, _) => "bytes",
            (Unit::Bits, _) => "bits",
            (Unit::Percentage, _) => "share",
            (Unit::Address, _) => "address",
            (Unit::Hertz, _) => "Hz",
            (Unit::Span(_) | Unit::SpanTicks, _) => "duration",
            (Unit::Time(_) | Unit::TimeTicks, _) => "time",
            (Unit::Plain, "byte" | "short" | "int" | "long" | "float" | "double") => "number",
            (Unit::Plain, "java.lang.String") => "text",
            (Unit::Plain, "boolean") => "yes or no",
            (Unit::Plain, name) => name.rsplit('.').next().unwrap_or(name),
        };
        let what = if field.rate && field.unit != Unit::Hertz {
            format!("{what} a second")
        } else {
            what.to_owned()
        };
        let what = if field.list { format!("list of {what}") } else { what };
        Self { name: field.name.clone(), label: field.title().to_owned(), what }
    }
}
