//! Converts the fields of events to fields of markers. Labels and units come from the recording's
//! metadata.
//!
//! The code must not depend on particular kinds of events, because any program may declare some.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use vouch_jfr::{Chunk, Field, Header, Type, Unit, Value};
use vouch_report::in_template;

use crate::merge::names::{self, Words};
use crate::merge::profile::Profile;

/// A marker's text has at most this many characters. Some texts are longer, such as a dump of all
/// threads.
const MAX_TEXT_CHARS: usize = 1_000;
/// Nested fields are shown up to this depth.
const DEEPEST: usize = 3;
/// A kind's markers have at most this many fields.
const FIELDS: usize = 100;
/// At most this many fields of a kind are checked.
const LOOKED_AT: usize = 2_000;

/// The cache contains at most this many values of constants.
const KEPT: usize = 1 << 20;
/// At most this many values are read for the fields of all markers.
const READ: usize = 1 << 27;

/// The keys of marker fields that the front-end reserves.
const TAKEN: [&str; 6] = ["type", "cause", "stack", "category", "name", "color"];

/// Returns the key for a field in a marker. It differs from the field's name if the front-end
/// reserves that name.
pub fn field_key(name: &str) -> String {
    if TAKEN.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// A field of an event as the markers show it.
#[derive(Debug, Clone)]
pub struct Shown {
    pub key: Rc<str>,
    label: String,
    shape: Shape,
    unsigned: bool,
    /// The path of field indices from the event to the value.
    path: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Text,
    Unit(Unit),
    Decimal,
}

/// Returns the fields that markers of this kind show.
pub fn fields(chunk: &Chunk, kind: &Type) -> Vec<Shown> {
    let mut shown = Fields { shown: Vec::new(), left: LOOKED_AT };
    // The start time and other fields of every event are parts of the marker itself.
    for (row, field) in kind.own_fields() {
        let key = field_key(&field.name);
        shown.add(chunk, field, key, field.title(), vec![row]);
    }
    shown.shown
}

/// Collects the fields that markers of one kind show.
struct Fields {
    shown: Vec<Shown>,
    left: usize,
}

impl Fields {
    fn add(&mut self, chunk: &Chunk, field: &Field, key: String, label: &str, path: Vec<usize>) {
        let Some(of) = chunk.type_of(field.type_id) else { return };
        if self.left == 0 || self.shown.len() >= FIELDS {
            return;
        }
        self.left -= 1;
        let shape = match of.name.as_str() {
            _ if field.list => Some(Shape::Text),
            "jdk.types.StackTrace" => return,
            "float" | "double" if field.unit == Unit::Plain => Some(Shape::Decimal),
            "byte" | "short" | "int" | "long" | "float" | "double" => Some(Shape::Unit(field.unit)),
            // Booleans and characters are shown as texts.
            "boolean" | "char" => Some(Shape::Text),
            name if names::has_text(name) || of.fields.is_empty() => Some(Shape::Text),
            // A type may contain itself.
            _ if path.len() >= DEEPEST => return,
            _ => None,
        };
        if let Some(shape) = shape {
            // The front-end lacks these units, so the values are converted to others.
            let unit = match shape {
                Shape::Unit(Unit::Hertz) => " (Hz)",
                Shape::Unit(Unit::Bits) if field.rate => " (bits per second)",
                Shape::Unit(Unit::Bits) => " (bits)",
                Shape::Unit(_) if field.rate => " (per second)",
                _ => "",
            };
            let label = format!("{label}{unit}");
            let mut key = key;
            while self.shown.iter().any(|other| *other.key == *key) {
                key.push('_');
            }
            self.shown.push(Shown { key: key.into(), label, shape, unsigned: field.unsigned, path });
            return;
        }
        for (row, inner) in of.fields.iter().enumerate().take(LOOKED_AT) {
            let path = path.iter().copied().chain([row]).collect();
            if of.fields.len() == 1 {
                self.add(chunk, inner, key.clone(), label, path);
            } else {
                let label = format!("{label}: {}", inner.title());
                self.add(chunk, inner, format!("{key}_{}", inner.name), &label, path);
            }
        }
    }
}

impl Shown {
    /// Returns the field's part of a marker's label. A number is preceded by the field's name.
    pub fn labelled(&self) -> String {
        let value = format!("{{marker.data.{}}}", self.key);
        if self.shape == Shape::Text { value } else { format!("{} {value}", in_template(&self.label)) }
    }

    /// True if the field may contain numbers that are too long for the front-end.
    pub fn may_be_long(&self) -> bool {
        matches!(self.shape, Shape::Unit(Unit::Plain | Unit::Bits | Unit::Bytes))
    }

    /// Returns the field with its numbers as texts.
    pub fn as_text(&self) -> Self {
        Self { shape: Shape::Text, ..self.clone() }
    }

    /// Returns the front-end's name for the format of the field.
    pub fn format(&self) -> &'static str {
        match self.shape {
            // The front-end's times count from the start of the profile, so they are not for dates.
            Shape::Text | Shape::Unit(Unit::Address | Unit::Time(_) | Unit::TimeTicks) => "unique-string",
            Shape::Decimal | Shape::Unit(Unit::Hertz) => "decimal",
            Shape::Unit(Unit::Plain | Unit::Bits) => "integer",
            Shape::Unit(Unit::Bytes) => "bytes",
            Shape::Unit(Unit::Percentage) => "percentage",
            Shape::Unit(Unit::Span(_) | Unit::SpanTicks) => "duration",
        }
    }

    /// Returns the description of the field for the marker schema.
    pub fn schema(&self) -> Json {
        json!({ "key": &*self.key, "label": self.label, "format": self.format() })
    }
}

/// The clock of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct Ticks(pub Header);

impl Ticks {
    /// Converts ticks to nanoseconds from the start of the chunk.
    pub fn at(self, ticks: i64) -> f64 {
        self.lasting(ticks.wrapping_sub(self.0.start_ticks))
    }

    /// Converts a number of ticks to nanoseconds.
    pub fn lasting(self, ticks: i64) -> f64 {
        number(ticks) * (1e9 / number(self.0.ticks_per_second))
    }

    /// Converts ticks to the time of day by the chunk's header. The result is exact enough only for
    /// people.
    fn unix_ms(self, ticks: i64) -> f64 {
        (number(self.0.start_unix_ns) + self.at(ticks)) / 1e6
    }
}

/// Formats a date from milliseconds since 1970. `None` if it is out of range.
fn date(unix_ms: f64) -> Option<Cell> {
    const LAST_MS: f64 = 253_402_300_799_000.0;
    if !(0.0..LAST_MS).contains(&unix_ms) {
        return None;
    }
    // The fraction is cut off later, so half a millisecond is added against rounding errors.
    let since = Duration::try_from_secs_f64((unix_ms.round() + 0.5) / 1e3).ok()?;
    Some(Cell::Text(humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string().into()))
}

#[expect(clippy::cast_precision_loss, reason = "what JavaScript reads has no more digits")]
pub fn number(whole: i64) -> f64 {
    whole as f64
}

/// A cache of constants from one chunk.
#[derive(Debug)]
pub struct Constants {
    words: HashMap<(i64, i64), Option<Rc<str>>>,
    /// The cached objects, by type id and index. `room` limits their size.
    objects: HashMap<(i64, i64), Rc<Value>>,
    room: usize,
    /// The number of further values that may be read. A limit is needed because each event may
    /// refer to another constant, as large as the chunk.
    left: usize,
}

impl Default for Constants {
    fn default() -> Self {
        Self { words: HashMap::new(), objects: HashMap::new(), room: KEPT, left: READ }
    }
}

impl Constants {
    /// Returns the value of a constant. It is `Nothing` if the limit is reached.
    fn object(&mut self, chunk: &Chunk, type_id: i64, index: i64) -> Rc<Value> {
        if let Some(known) = self.objects.get(&(type_id, index)) {
            return Rc::clone(known);
        }
        if self.left == 0 {
            return Rc::new(Value::Null);
        }
        let value = Rc::new(chunk.resolve(&Value::Constant(type_id, index)));
        let size = value.size();
        self.left = self.left.saturating_sub(size);
        if size > self.room {
            self.objects.clear();
            self.room = KEPT;
        }
        if let Some(room) = self.room.checked_sub(size) {
            self.room = room;
            self.objects.insert((type_id, index), Rc::clone(&value));
        }
        value
    }
}

/// The value of a marker's field.
#[derive(Debug, Clone)]
pub enum Cell {
    Plain(Json),
    /// A text. It is added to the profile only when its marker is, because texts of other events
    /// must not be in it.
    Text(Rc<str>),
}

/// The fields of a marker.
pub type Data = Vec<(Rc<str>, Cell)>;

/// Returns the fields that have a value.
pub fn data(chunk: &Chunk, fields: &[Shown], values: &[Value], constants: &mut Constants) -> Data {
    let cell = |field: &Shown| Some((field.key.clone(), cell(chunk, field, &field.path, values, constants)?));
    fields.iter().filter_map(cell).collect()
}

/// The greatest whole number that JavaScript represents exactly.
const EXACT: u64 = 1 << 53;

impl Cell {
    /// True for a number that is too long for the front-end.
    pub fn is_long(&self) -> bool {
        let Self::Plain(Json::Number(number)) = self else { return false };
        number.as_i64().map(i64::unsigned_abs).or(number.as_u64()).is_some_and(|number| number > EXACT)
    }

    /// Converts the value to a text, unless it is one.
    pub fn into_text(self) -> Self {
        match self {
            Self::Plain(json) => Self::Text(json.to_string().into()),
            Self::Text(_) => self,
        }
    }

    /// Converts the value to JSON. A text is added to the profile's table of strings.
    pub fn into_json(self, profile: &mut Profile) -> Json {
        match self {
            Self::Plain(json) => json,
            Self::Text(text) => profile.string(&text).into(),
        }
    }
}

/// Returns the value at the end of a path of fields.
fn cell(
    chunk: &Chunk,
    field: &Shown,
    path: &[usize],
    values: &[Value],
    constants: &mut Constants,
) -> Option<Cell> {
    let (first, path) = path.split_first()?;
    let value = values.get(*first)?;
    if !path.is_empty() {
        return match value {
            Value::Object(_, inner) => cell(chunk, field, path, inner, constants),
            Value::Constant(type_id, index) => match &*constants.object(chunk, *type_id, *index) {
                Value::Object(_, inner) => cell(chunk, field, path, inner, constants),
                _ => None,
            },
            _ => None,
        };
    }
    if field.shape == Shape::Text {
        // Most events share their constants with others, so objects are cached.
        let key = if let Value::Constant(type_id, index) = value { Some((*type_id, *index)) } else { None };
        if let Some(known) = key.and_then(|key| constants.words.get(&key)) {
            return known.clone().map(Cell::Text);
        }
        let text: Option<Rc<str>> = Words::new(chunk).text(value).map(|text| cut(&text).into());
        if let Some(key) = key {
            constants.words.insert(key, text.clone());
        }
        return text.map(Cell::Text);
    }
    let unit = if let Shape::Unit(unit) = field.shape { unit } else { Unit::Plain };
    let ticks = Ticks(chunk.header);
    let of_constant;
    let value = match value {
        Value::Constant(type_id, index) => {
            of_constant = constants.object(chunk, *type_id, *index);
            &*of_constant
        }
        value => value,
    };
    let whole = match value {
        Value::Integer(whole) => *whole,
        Value::Float(number) => return converted(*number, unit, ticks),
        _ => return None,
    };
    // JFR writes the least number to mean "unknown".
    if whole == i64::MIN && !field.unsigned {
        return None;
    }
    // JFR writes the greatest number to mean "forever".
    if whole == i64::MAX && matches!(unit, Unit::Span(_) | Unit::SpanTicks | Unit::Time(_) | Unit::TimeTicks)
    {
        return None;
    }
    Some(Cell::Plain(match unit {
        Unit::Plain | Unit::Bytes | Unit::Bits if field.unsigned => whole.cast_unsigned().into(),
        Unit::Plain | Unit::Bytes | Unit::Bits => whole.into(),
        Unit::Address => return Some(Cell::Text(format!("{whole:#x}").into())),
        // The ticks stay a whole number, because a float would lose some of their digits.
        Unit::TimeTicks => return date(ticks.unix_ms(whole)),
        _ => return converted(number(whole), unit, ticks),
    }))
}

/// Converts a number to the unit of its format. It may have a fraction, since programs may declare
/// any unit.
fn converted(value: f64, unit: Unit, ticks: Ticks) -> Option<Cell> {
    let plain = |value: f64| value.is_finite().then(|| Cell::Plain(json!(value)));
    match unit {
        Unit::Plain | Unit::Bytes | Unit::Bits | Unit::Percentage | Unit::Hertz => plain(value),
        Unit::Address => Some(Cell::Text(value.to_string().into())),
        Unit::Span(ns) => plain(value * number(ns.cast_signed()) / 1e6),
        Unit::SpanTicks => plain(value * ticks.lasting(1) / 1e6),
        Unit::Time(ns) => date(value * number(ns.cast_signed()) / 1e6),
        Unit::TimeTicks => date(ticks.unix_ms(0) + value * ticks.lasting(1) / 1e6),
    }
}

fn cut(text: &str) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}
