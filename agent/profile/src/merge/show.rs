//! How what stands in an event's fields is shown: as the fields of a marker, with labels and units
//! out of the recording's own metadata.
//!
//! It must never know a kind of event: any program declares its own.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use vouch_jfr::{Chunk, Field, Header, Type, Unit, Value};
use vouch_report::in_template;

use crate::merge::names::{self, Words};
use crate::merge::profile::Profile;

/// A text of a marker is this long at most, in letters: the dump of all threads is one.
const LONGEST: usize = 1_000;
/// Fields of fields are shown, so deep.
const DEEPEST: usize = 3;
/// A kind's markers have so many fields at most, and so many are looked at for them.
const FIELDS: usize = 100;
const LOOKED_AT: usize = 2_000;

/// So many values of constants are kept, and so many are read in all for the fields of markers.
const KEPT: usize = 1 << 20;
const READ: usize = 1 << 27;

/// What the front-end takes for its own.
const TAKEN: [&str; 6] = ["type", "cause", "stack", "category", "name", "color"];

/// By which name a field that a program calls so stands in a marker.
pub fn field_key(name: &str) -> String {
    if TAKEN.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// A field of a marker.
#[derive(Debug, Clone)]
pub struct Shown {
    pub key: Rc<str>,
    label: String,
    shape: Shape,
    unsigned: bool,
    /// Which field, of that which, …
    path: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Text,
    Unit(Unit),
    Decimal,
}

/// The fields of a kind's markers.
pub fn fields(chunk: &Chunk, kind: &Type) -> Vec<Shown> {
    let mut shown = Fields { shown: Vec::new(), left: LOOKED_AT };
    // What every event has a marker says in its own way.
    for (row, field) in kind.own_fields() {
        let key = field_key(&field.name);
        shown.add(chunk, field, key, field.title(), vec![row]);
    }
    shown.shown
}

/// A kind's fields while they are looked for.
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
            // Their texts.
            "boolean" | "char" => Some(Shape::Text),
            name if names::has_text(name) || of.fields.is_empty() => Some(Shape::Text),
            // A type may hold itself.
            _ if path.len() >= DEEPEST => return,
            _ => None,
        };
        if let Some(shape) = shape {
            // The front-end has no such units.
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
    /// As it stands in a marker's label: a text speaks for itself, of a number it is said what it
    /// is.
    pub fn labelled(&self) -> String {
        let value = format!("{{marker.data.{}}}", self.key);
        if self.shape == Shape::Text { value } else { format!("{} {value}", in_template(&self.label)) }
    }

    /// True if its numbers may have more digits than the front-end can read.
    pub fn may_be_long(&self) -> bool {
        matches!(self.shape, Shape::Unit(Unit::Plain | Unit::Bits | Unit::Bytes))
    }

    /// The same, with its numbers as texts.
    pub fn as_text(&self) -> Self {
        Self { shape: Shape::Text, ..self.clone() }
    }

    /// How the front-end shows it.
    pub fn format(&self) -> &'static str {
        match self.shape {
            // What the front-end calls a time is one from the profile's begin, which a date is not.
            Shape::Text | Shape::Unit(Unit::Address | Unit::Time(_) | Unit::TimeTicks) => "unique-string",
            Shape::Decimal | Shape::Unit(Unit::Hertz) => "decimal",
            Shape::Unit(Unit::Plain | Unit::Bits) => "integer",
            Shape::Unit(Unit::Bytes) => "bytes",
            Shape::Unit(Unit::Percentage) => "percentage",
            Shape::Unit(Unit::Span(_) | Unit::SpanTicks) => "duration",
        }
    }

    /// As the schema of the markers has it.
    pub fn schema(&self) -> Json {
        json!({ "key": &*self.key, "label": self.label, "format": self.format() })
    }
}

/// The clock of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct Ticks(pub Header);

impl Ticks {
    /// In nanoseconds from the chunk's begin.
    pub fn at(self, ticks: i64) -> f64 {
        self.lasting(ticks.wrapping_sub(self.0.start_ticks))
    }

    /// How many nanoseconds so many ticks are.
    pub fn lasting(self, ticks: i64) -> f64 {
        number(ticks) * (1e9 / number(self.0.ticks_per_second))
    }

    /// As the chunk's header has it: exact enough to be read, and not to be compared.
    fn unix_ms(self, ticks: i64) -> f64 {
        (number(self.0.start_unix_ns) + self.at(ticks)) / 1e6
    }
}

/// A date, from milliseconds since 1970; None: no calendar has it.
fn date(unix_ms: f64) -> Option<Cell> {
    const LAST_MS: f64 = 253_402_300_799_000.0;
    if !(0.0..LAST_MS).contains(&unix_ms) {
        return None;
    }
    // In the midst of its millisecond, of which the rest is cut off.
    let since = Duration::try_from_secs_f64((unix_ms.round() + 0.5) / 1e3).ok()?;
    Some(Cell::Text(humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string().into()))
}

#[expect(clippy::cast_precision_loss, reason = "what JavaScript reads has no more digits")]
pub fn number(whole: i64) -> f64 {
    whole as f64
}

/// What a chunk's constants were found to be.
#[derive(Debug)]
pub struct Constants {
    words: HashMap<(i64, i64), Option<Rc<str>>>,
    /// Of those with fields of their own, as many as there is room for.
    objects: HashMap<(i64, i64), Rc<Value>>,
    room: usize,
    /// So many values more may be read for it: each event may be of another one, which may be as
    /// large as its chunk.
    left: usize,
}

impl Default for Constants {
    fn default() -> Self {
        Self { words: HashMap::new(), objects: HashMap::new(), room: KEPT, left: READ }
    }
}

impl Constants {
    /// What a constant stands for; nothing where it cannot be looked at any more.
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

/// What stands in a field of a marker.
#[derive(Debug, Clone)]
pub enum Cell {
    Plain(Json),
    /// The profile has it once it is known that the marker is shown: what nobody asked for must not
    /// be in it.
    Text(Rc<str>),
}

/// What a marker says.
pub type Data = Vec<(Rc<str>, Cell)>;

/// A field for each that has a value.
pub fn data(chunk: &Chunk, fields: &[Shown], values: &[Value], constants: &mut Constants) -> Data {
    let cell = |field: &Shown| Some((field.key.clone(), cell(chunk, field, &field.path, values, constants)?));
    fields.iter().filter_map(cell).collect()
}

/// What JavaScript reads as it stands.
const EXACT: u64 = 1 << 53;

impl Cell {
    /// True for a number of more digits than the front-end can read.
    pub fn is_long(&self) -> bool {
        let Self::Plain(Json::Number(number)) = self else { return false };
        number.as_i64().map(i64::unsigned_abs).or(number.as_u64()).is_some_and(|number| number > EXACT)
    }

    /// The same as a text.
    pub fn into_text(self) -> Self {
        match self {
            Self::Plain(json) => Self::Text(json.to_string().into()),
            Self::Text(_) => self,
        }
    }

    /// As it is written.
    pub fn into_json(self, profile: &mut Profile) -> Json {
        match self {
            Self::Plain(json) => json,
            Self::Text(text) => profile.string(&text).into(),
        }
    }
}

/// What a field has at the end of a path from these values on.
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
        // Most are of a constant that other events have as well.
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
    // What JFR does not know it gives as the least number that there is.
    if whole == i64::MIN && !field.unsigned {
        return None;
    }
    // And for ever as the greatest.
    if whole == i64::MAX && matches!(unit, Unit::Span(_) | Unit::SpanTicks | Unit::Time(_) | Unit::TimeTicks)
    {
        return None;
    }
    Some(Cell::Plain(match unit {
        Unit::Plain | Unit::Bytes | Unit::Bits if field.unsigned => whole.cast_unsigned().into(),
        Unit::Plain | Unit::Bytes | Unit::Bits => whole.into(),
        Unit::Address => return Some(Cell::Text(format!("{whole:#x}").into())),
        // Exact for as long as it is whole.
        Unit::TimeTicks => return date(ticks.unix_ms(whole)),
        _ => return converted(number(whole), unit, ticks),
    }))
}

/// A number in the unit that it is shown in; it need not be whole, since a program may give any
/// unit to one that is not.
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
    match text.char_indices().nth(LONGEST) {
        None => text.into(),
        Some((end, _)) => format!("{}…", &text[..end]).into(),
    }
}
