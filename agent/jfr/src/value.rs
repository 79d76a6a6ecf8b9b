//! The values of event fields.

/// The value of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Integer(i64),
    Float(f64),
    Boolean(bool),
    Text(String),
    /// An object: its type id, and a value for each field of the type.
    Object(i64, Vec<Value>),
    List(Vec<Value>),
    /// A reference into the constant pool: type id and index.
    Constant(i64, i64),
}

impl Value {
    /// Returns the number of values inside of this one, itself included.
    pub fn size(&self) -> usize {
        match self {
            Self::Object(_, values) | Self::List(values) => 1 + values.iter().map(Self::size).sum::<usize>(),
            _ => 1,
        }
    }
}
