//! What stands in a field of an event.
//!
//! It must never follow a reference of its own accord: constants refer to each other, in a damaged file in a circle.

use crate::bytes::{Bytes, Damage, Text};
use crate::metadata::{Field, Type, Types};

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

/// How deep values stand in each other at most.
const DEEPEST: usize = 16;

/// Reads values of the types of a chunk. `room` is how many at most: there cannot be more than bytes, but for those that take none.
pub struct Decoder<'t> {
    pub types: &'t Types,
    pub room: usize,
}

impl Decoder<'_> {
    /// All fields of a type.
    pub fn fields(&mut self, bytes: &mut Bytes<'_>, of: &Type, depth: usize) -> Result<Vec<Value>, Damage> {
        let mut values = Vec::with_capacity(of.fields.len());
        for field in &of.fields {
            values.push(self.field(bytes, field, depth)?);
        }
        Ok(values)
    }

    fn field(&mut self, bytes: &mut Bytes<'_>, field: &Field, depth: usize) -> Result<Value, Damage> {
        if !field.list {
            return self.single(bytes, field, depth);
        }
        let mut values = Vec::new();
        for _ in 0..bytes.count()? {
            values.push(self.single(bytes, field, depth)?);
        }
        Ok(Value::List(values))
    }

    fn single(&mut self, bytes: &mut Bytes<'_>, field: &Field, depth: usize) -> Result<Value, Damage> {
        if field.constant {
            return Ok(Value::Constant(field.type_id, bytes.long()?));
        }
        let value = self.value(bytes, field.type_id, depth + 1)?;
        Ok(match value {
            Value::Whole(number) if field.unsigned => Value::Whole(self.without_sign(number, field.type_id)),
            value => value,
        })
    }

    /// A long keeps its bits, and is read by who knows of it.
    fn without_sign(&self, number: i64, type_id: i64) -> i64 {
        match self.types.get(type_id).map_or("", |of| of.name.as_str()) {
            "byte" => number & 0xff,
            "short" => number & 0xffff,
            "int" => number & 0xffff_ffff,
            _ => number,
        }
    }

    /// One of a type.
    pub fn value(&mut self, bytes: &mut Bytes<'_>, type_id: i64, depth: usize) -> Result<Value, Damage> {
        let of = self.types.get(type_id).ok_or_else(|| bytes.damage("a type that was not declared"))?;
        self.room = self.room.checked_sub(1).ok_or_else(|| bytes.damage("more values than bytes"))?;
        Ok(match of.name.as_str() {
            "boolean" => Value::Truth(bytes.byte()? != 0),
            "byte" => Value::Whole(i64::from(bytes.byte()?.cast_signed())),
            "short" => Value::Whole(narrow(bytes.short()?, 16)),
            "int" => Value::Whole(narrow(bytes.int()?, 32)),
            "long" => Value::Whole(bytes.long()?),
            "float" => Value::Number(bytes.float()?.into()),
            "double" => Value::Number(bytes.double()?),
            "char" => Value::Text(String::from_utf16_lossy(&[bytes.letter()?])),
            "java.lang.String" => match bytes.text()? {
                Text::Null => Value::Nothing,
                Text::Here(text) => Value::Text(text),
                Text::Constant(index) => Value::Constant(type_id, index),
            },
            _ if depth > DEEPEST => return Err(bytes.damage("values that are nested too deep")),
            _ => Value::Object(type_id, self.fields(bytes, of, depth)?),
        })
    }
}

/// The lowest bits, with their sign: a packed number has no more than it needs.
fn narrow(number: i64, bits: u32) -> i64 {
    number << (64 - bits) >> (64 - bits)
}
