//! Reads the values of an event's fields.
//!
//! It must never follow a reference into the constant pool, because constants of a damaged file may
//! refer to each other in a circle.

use crate::bytes::{Bytes, Damage, Text};
use crate::metadata::{Field, Form, Type, Types};
use crate::value::Value;

/// The deepest nesting of values.
const DEEPEST: usize = 16;

/// Reads values by the types of a chunk. `budget` limits their number. Otherwise values that take
/// no bytes could be endless.
pub struct Decoder<'t> {
    pub types: &'t Types,
    pub room: usize,
}

impl Decoder<'_> {
    /// Reads all fields of a type.
    pub fn fields(&mut self, bytes: &mut Bytes<'_>, of: &Type, depth: usize) -> Result<Vec<Value>, Damage> {
        let mut values = Vec::with_capacity(of.fields.len());
        for field in &of.fields {
            values.push(self.field(bytes, field, depth)?);
        }
        Ok(values)
    }

    /// Skips a field.
    pub fn pass(&mut self, bytes: &mut Bytes<'_>, field: &Field, depth: usize) -> Result<(), Damage> {
        let count = if field.list { bytes.count()? } else { 1 };
        if !field.constant && field.form == Form::Object {
            return self.pass_objects(bytes, field.type_id, count, depth + 1);
        }
        for _ in 0..count {
            if field.constant {
                bytes.long()?;
            } else {
                self.pass_plain(bytes, field.form)?;
            }
        }
        Ok(())
    }

    fn pass_objects(
        &mut self,
        bytes: &mut Bytes<'_>,
        type_id: i64,
        count: usize,
        depth: usize,
    ) -> Result<(), Damage> {
        let packed = self.types.get(type_id).and_then(|of| of.packed).filter(|_| bytes.is_compressed());
        if let Some(numbers) = packed.filter(|_| depth <= DEEPEST) {
            // Each number takes at least one byte, so the bytes limit them.
            return bytes.pass_packed(count.saturating_mul(numbers));
        }
        (0..count).try_for_each(|_| self.pass_value(bytes, type_id, depth))
    }

    /// Skips a value of a type.
    pub fn pass_value(&mut self, bytes: &mut Bytes<'_>, type_id: i64, depth: usize) -> Result<(), Damage> {
        let of = self.types.get(type_id).ok_or_else(|| bytes.damage("a type that was not declared"))?;
        match of.form {
            Form::Object if depth > DEEPEST => Err(bytes.damage("values that are nested too deep")),
            Form::Object => {
                self.take_room(bytes)?;
                of.fields.iter().try_for_each(|field| self.pass(bytes, field, depth))
            }
            form => self.pass_plain(bytes, form),
        }
    }

    /// Skips a value that is not an object.
    fn pass_plain(&mut self, bytes: &mut Bytes<'_>, form: Form) -> Result<(), Damage> {
        self.take_room(bytes)?;
        match form {
            Form::Truth | Form::Byte => bytes.byte().map(|_| ()),
            Form::Short => bytes.short().map(|_| ()),
            Form::Letter => bytes.letter().map(|_| ()),
            Form::Int => bytes.int().map(|_| ()),
            Form::Long => bytes.long().map(|_| ()),
            Form::Float => bytes.float().map(|_| ()),
            Form::Double => bytes.double().map(|_| ()),
            Form::Text => bytes.pass_text(),
            Form::Object => Ok(()),
        }
    }

    /// Counts one value against the budget.
    fn take_room(&mut self, bytes: &Bytes<'_>) -> Result<(), Damage> {
        self.room = self.room.checked_sub(1).ok_or_else(|| bytes.damage("more values than bytes"))?;
        Ok(())
    }

    pub fn field(&mut self, bytes: &mut Bytes<'_>, field: &Field, depth: usize) -> Result<Value, Damage> {
        if !field.list {
            return self.single(bytes, field, depth);
        }
        let mut values = Vec::new();
        for _ in 0..bytes.count()? {
            values.push(self.single(bytes, field, depth)?);
        }
        Ok(Value::List(values))
    }

    /// Reads an integer, or the index of a constant.
    pub fn number(&mut self, bytes: &mut Bytes<'_>, field: &Field) -> Result<i64, Damage> {
        if field.constant {
            return bytes.long();
        }
        self.take_room(bytes)?;
        Ok(field.fit(whole(bytes, field.form)?))
    }

    fn single(&mut self, bytes: &mut Bytes<'_>, field: &Field, depth: usize) -> Result<Value, Damage> {
        if field.constant {
            self.take_room(bytes)?;
            return Ok(Value::Constant(field.type_id, bytes.long()?));
        }
        let value = match field.form {
            Form::Object => self.value(bytes, field.type_id, depth + 1)?,
            form => self.plain(bytes, form, field.type_id)?,
        };
        Ok(match value {
            Value::Whole(number) => Value::Whole(field.fit(number)),
            value => value,
        })
    }

    /// Reads a value of a type.
    pub fn value(&mut self, bytes: &mut Bytes<'_>, type_id: i64, depth: usize) -> Result<Value, Damage> {
        let of = self.types.get(type_id).ok_or_else(|| bytes.damage("a type that was not declared"))?;
        match of.form {
            Form::Object if depth > DEEPEST => Err(bytes.damage("values that are nested too deep")),
            Form::Object => {
                self.take_room(bytes)?;
                Ok(Value::Object(type_id, self.fields(bytes, of, depth)?))
            }
            form => self.plain(bytes, form, type_id),
        }
    }

    /// Reads a value that is not an object.
    fn plain(&mut self, bytes: &mut Bytes<'_>, form: Form, type_id: i64) -> Result<Value, Damage> {
        self.take_room(bytes)?;
        Ok(match form {
            Form::Truth => Value::Truth(bytes.byte()? != 0),
            Form::Byte | Form::Short | Form::Int | Form::Long => Value::Whole(whole(bytes, form)?),
            Form::Float => Value::Number(bytes.float()?.into()),
            Form::Double => Value::Number(bytes.double()?),
            Form::Letter => Value::Text(String::from_utf16_lossy(&[bytes.letter()?])),
            Form::Text => match bytes.text()? {
                Text::Null => Value::Nothing,
                Text::Here(text) => Value::Text(text),
                Text::Constant(index) => Value::Constant(type_id, index),
            },
            Form::Object => Value::Nothing,
        })
    }
}

/// Reads an integer with its sign; an error for any other form.
fn whole(bytes: &mut Bytes<'_>, form: Form) -> Result<i64, Damage> {
    Ok(match form {
        Form::Byte => i64::from(bytes.byte()?.cast_signed()),
        Form::Short => narrow(bytes.short()?, 16),
        Form::Int => narrow(bytes.int()?, 32),
        Form::Long => bytes.long()?,
        _ => return Err(bytes.damage("no whole number")),
    })
}

impl Field {
    /// Fits an integer to the width and the sign of this field. A long, and the index of a
    /// constant, stay as they are.
    pub fn fit(&self, number: i64) -> i64 {
        let bits = match self.form {
            _ if self.constant => return number,
            Form::Byte => 8,
            Form::Short => 16,
            Form::Int => 32,
            _ => return number,
        };
        if self.unsigned { number & !(-1 << bits) } else { narrow(number, bits) }
    }
}

/// Sign-extends the lowest bits, because a variable-length number has only the bytes that it needs.
fn narrow(number: i64, bits: u32) -> i64 {
    number << (64 - bits) >> (64 - bits)
}
