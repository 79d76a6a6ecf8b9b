//! Reads the metadata of a chunk: the types of its events, with fields, labels and units.
//!
//! The metadata are a tree of elements with attributes, all of them texts. Unknown parts are
//! skipped, because each JDK adds some.

use foldhash::HashMap;

use crate::bytes::{ByteCursor, Damage, Text};
use crate::value::Value;

/// How the bytes of a value are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Boolean,
    Byte,
    Short,
    Int,
    Long,
    Float,
    Double,
    Char,
    String,
    /// An object, with its fields encoded one after another.
    Object,
}

impl Form {
    /// Returns the encoding of the values of a type with this name.
    fn from_type_name(name: &str) -> Self {
        match name {
            "boolean" => Self::Boolean,
            "byte" => Self::Byte,
            "short" => Self::Short,
            "int" => Self::Int,
            "long" => Self::Long,
            "float" => Self::Float,
            "double" => Self::Double,
            "char" => Self::Char,
            "java.lang.String" => Self::String,
            _ => Self::Object,
        }
    }
}

/// The unit of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unit {
    #[default]
    Plain,
    Bytes,
    Bits,
    /// A share, where 1 means all.
    Percentage,
    Address,
    Hertz,
    /// A duration in multiples of this many nanoseconds.
    Span(u64),
    /// A duration in ticks of the chunk's clock.
    SpanTicks,
    /// A time since 1970 in multiples of this many nanoseconds.
    Time(u64),
    /// A time in ticks of the chunk's clock.
    TimeTicks,
}

/// A field of a type.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the format has them")]
pub struct Field {
    pub name: String,
    pub label: String,
    pub description: String,
    pub unit: Unit,
    pub type_id: i64,
    pub form: Form,
    /// True if the field's value is a reference into the constant pool.
    pub constant: bool,
    pub list: bool,
    /// True for an integer without a sign.
    pub unsigned: bool,
    /// True if the value is a number of something per second.
    pub rate: bool,
}

/// A type of events, or a type of the values in their fields.
#[derive(Debug, Clone)]
pub struct Type {
    pub id: i64,
    pub name: String,
    pub form: Form,
    pub label: String,
    pub description: String,
    /// The names of the type's category, from the widest to the narrowest.
    pub category: Vec<String>,
    pub fields: Vec<Field>,
    /// The number of fields, if all fields are integers or constants. With variable-length numbers
    /// this number is enough to skip a value.
    pub(crate) variable_length_fields: Option<usize>,
    /// True if the type is a type of events.
    pub event: bool,
}

/// The fields that every event has.
const COMMON_FIELDS: [&str; 4] = ["startTime", "duration", "eventThread", "stackTrace"];

impl Type {
    pub fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }

    /// Returns the fields that only some event types have, with their row numbers.
    pub fn own_fields(&self) -> impl Iterator<Item = (usize, &Field)> {
        self.fields.iter().enumerate().filter(|(_, field)| !COMMON_FIELDS.contains(&field.name.as_str()))
    }

    /// Returns the integer in the field with this name, from the values of an object of this type.
    pub fn integer_field(&self, values: &[Value], name: &str) -> Option<i64> {
        match values.get(self.field(name)?)? {
            Value::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the type's label, or its name if it has no label.
    pub fn title(&self) -> &str {
        if self.label.is_empty() { &self.name } else { &self.label }
    }
}

impl Field {
    fn is_variable_length(&self) -> bool {
        !self.list && (self.constant || matches!(self.form, Form::Short | Form::Int | Form::Long))
    }

    /// Returns the field's label, or its name if it has no label.
    pub fn title(&self) -> &str {
        if self.label.is_empty() { &self.name } else { &self.label }
    }
}

/// The types of a chunk, by their ids.
#[derive(Debug, Default)]
pub struct Types(HashMap<i64, Type>);

/// All names, labels and other texts have at most this many bytes. A text occurs in the file once,
/// but may be referred to often.
const MAX_TEXT_BYTES: usize = 64 << 20;

/// A tree of metadata has at most this depth: metadata, classes, fields, annotations. A deeper one
/// is damaged.
const MAX_DEPTH: usize = 8;

struct Element<'s> {
    name: &'s str,
    attributes: Vec<(&'s str, &'s str)>,
    children: Vec<Element<'s>>,
}

impl Element<'_> {
    fn attribute(&self, key: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    fn number(&self, key: &str) -> Option<i64> {
        self.attribute(key)?.parse().ok()
    }

    /// Returns the bytes of text in this element and below it. All of them may be copied.
    fn text_bytes(&self) -> usize {
        let own: usize = self.attributes.iter().map(|(_, value)| value.len()).sum();
        own.saturating_add(self.children.iter().map(Self::text_bytes).fold(0, usize::saturating_add))
    }

    fn children(&self, name: &str) -> impl Iterator<Item = &Self> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

impl Types {
    /// Reads the metadata event, starting after its size and type.
    pub fn read(bytes: &mut ByteCursor<'_>) -> Result<Self, Damage> {
        let (_start, _duration, _number) = (bytes.long()?, bytes.long()?, bytes.long()?);
        let count = bytes.count()?;
        let mut strings = Vec::new();
        for _ in 0..count {
            strings.push(match bytes.text()? {
                Text::Inline(text) => text,
                Text::Null => String::new(),
                Text::Constant(_) => return Err(bytes.damage("a text of the metadata that is elsewhere")),
            });
        }
        let root = parse_element(bytes, &strings, 0)?;
        let classes: Vec<_> =
            root.children("metadata").flat_map(|metadata| metadata.children("class")).collect();
        let names: HashMap<i64, &str> = classes
            .iter()
            .filter_map(|class| Some((class.number("id")?, class.attribute("name")?)))
            .collect();
        let mut types = HashMap::default();
        let mut bytes_left = MAX_TEXT_BYTES;
        for class in classes {
            bytes_left = bytes_left
                .checked_sub(class.text_bytes())
                .ok_or_else(|| bytes.damage("metadata with more text than can be meant"))?;
            if let Some(declared) = parse_type(class, &names) {
                types.insert(declared.id, declared);
            }
        }
        Ok(Self(types))
    }

    pub fn get(&self, id: i64) -> Option<&Type> {
        self.0.get(&id)
    }

    pub fn all(&self) -> impl Iterator<Item = &Type> {
        self.0.values()
    }
}

fn parse_element<'s>(
    bytes: &mut ByteCursor<'_>,
    strings: &'s [String],
    depth: usize,
) -> Result<Element<'s>, Damage> {
    if depth > MAX_DEPTH {
        return Err(bytes.damage("metadata that are nested too deep"));
    }
    let text = |bytes: &mut ByteCursor<'_>| {
        let row = usize::try_from(bytes.int()?).ok();
        let text = row.and_then(|row| strings.get(row)).map(String::as_str);
        text.ok_or_else(|| bytes.damage("a text of the metadata that is not there"))
    };
    let name = text(bytes)?;
    let mut attributes = Vec::new();
    for _ in 0..bytes.count()? {
        attributes.push((text(bytes)?, text(bytes)?));
    }
    let mut children = Vec::new();
    for _ in 0..bytes.count()? {
        children.push(parse_element(bytes, strings, depth + 1)?);
    }
    Ok(Element { name, attributes, children })
}

fn parse_type(class: &Element<'_>, names: &HashMap<i64, &str>) -> Option<Type> {
    let name = class.attribute("name")?.to_owned();
    let fields: Vec<Field> = class.children("field").filter_map(|field| parse_field(field, names)).collect();
    let mut declared = Type {
        id: class.number("id")?,
        form: Form::from_type_name(&name),
        label: String::new(),
        description: String::new(),
        category: Vec::new(),
        variable_length_fields: fields
            .iter()
            .all(Field::is_variable_length)
            .then_some(fields.len())
            .filter(|count| *count > 0),
        fields,
        event: class.attribute("superType") == Some("jdk.jfr.Event"),
        name,
    };
    for (annotation, element) in annotations(class, names) {
        match annotation {
            "jdk.jfr.Label" => declared.label = value(element),
            "jdk.jfr.Description" => declared.description = value(element),
            "jdk.jfr.Category" => {
                let part = |(key, value): &(&str, &str)| {
                    Some((key.strip_prefix("value-")?.parse::<u16>().ok()?, (*value).to_owned()))
                };
                let mut parts: Vec<_> = element.attributes.iter().filter_map(part).collect();
                parts.sort();
                declared.category = parts.into_iter().map(|(_, value)| value).collect();
            }
            _ => {}
        }
    }
    Some(declared)
}

fn parse_field(field: &Element<'_>, names: &HashMap<i64, &str>) -> Option<Field> {
    let type_id = field.number("class")?;
    let mut declared = Field {
        name: field.attribute("name")?.to_owned(),
        form: names.get(&type_id).map_or(Form::Object, |name| Form::from_type_name(name)),
        label: String::new(),
        description: String::new(),
        unit: Unit::Plain,
        type_id,
        constant: field.attribute("constantPool") == Some("true"),
        list: field.number("dimension").is_some_and(|dimension| dimension > 0),
        unsigned: false,
        rate: false,
    };
    for (annotation, element) in annotations(field, names) {
        match annotation {
            "jdk.jfr.Label" => declared.label = value(element),
            "jdk.jfr.Description" => declared.description = value(element),
            "jdk.jfr.Unsigned" => declared.unsigned = true,
            "jdk.jfr.Frequency" => declared.rate = true,
            _ => declared.unit = unit(annotation, &value(element)).unwrap_or(declared.unit),
        }
    }
    if declared.rate && declared.unit == Unit::Plain {
        declared.unit = Unit::Hertz;
    }
    Some(declared)
}

fn annotations<'e, 's>(
    element: &'e Element<'s>,
    names: &HashMap<i64, &'e str>,
) -> impl Iterator<Item = (&'e str, &'e Element<'s>)> {
    element
        .children("annotation")
        .filter_map(|annotation| Some((*names.get(&annotation.number("class")?)?, annotation)))
}

fn value(annotation: &Element<'_>) -> String {
    annotation.attribute("value").unwrap_or_default().to_owned()
}

fn unit(annotation: &str, value: &str) -> Option<Unit> {
    Some(match (annotation, value) {
        ("jdk.jfr.DataAmount", "BITS") => Unit::Bits,
        ("jdk.jfr.DataAmount" | "jdk.jfr.MemoryAmount", _) => Unit::Bytes,
        ("jdk.jfr.Percentage", _) => Unit::Percentage,
        ("jdk.jfr.MemoryAddress", _) => Unit::Address,
        ("jdk.jfr.Timespan", "TICKS") => Unit::SpanTicks,
        ("jdk.jfr.Timespan", "NANOSECONDS") => Unit::Span(1),
        ("jdk.jfr.Timespan", "MICROSECONDS") => Unit::Span(1_000),
        ("jdk.jfr.Timespan", "MILLISECONDS") => Unit::Span(1_000_000),
        ("jdk.jfr.Timespan", "SECONDS") => Unit::Span(1_000_000_000),
        ("jdk.jfr.Timestamp", "TICKS") => Unit::TimeTicks,
        ("jdk.jfr.Timestamp", "NANOSECONDS_SINCE_EPOCH") => Unit::Time(1),
        ("jdk.jfr.Timestamp", "MILLISECONDS_SINCE_EPOCH") => Unit::Time(1_000_000),
        ("jdk.jfr.Timestamp", "SECONDS_SINCE_EPOCH") => Unit::Time(1_000_000_000),
        _ => return None,
    })
}
