//! What stands in a field of an event.

/// What stands in a field.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Nothing,
    Whole(i64),
    Number(f64),
    Truth(bool),
    Text(String),
    /// Of a type, with as many values as it has fields.
    Object(i64, Vec<Value>),
    List(Vec<Value>),
    /// Of a type, by its number there.
    Constant(i64, i64),
}

impl Value {
    /// How many values it consists of.
    pub fn size(&self) -> usize {
        match self {
            Self::Object(_, values) | Self::List(values) => 1 + values.iter().map(Self::size).sum::<usize>(),
            _ => 1,
        }
    }
}
