//! Reads the values of an event's fields.
//!
//! It must never follow a reference into the constant pool, because constants of a damaged file may
//! refer to each other in a circle.

use crate::bytes::{ByteCursor, Damage, Text};
use crate::metadata::{Field, Form, Type, Types};
use crate::value::Value;

/// Values may be nested at most this deep.
const MAX_NESTING: usize = 16;

/// Reads values by the types of a chunk. `budget` limits their number. Otherwise values that take
/// no bytes could be endless.
pub struct Decoder<'t> {
    pub types: &'t Types,
    pub budget: usize,
}

impl Decoder<'_> {
    /// Reads all fields of a type.
    pub fn fields(
        &mut self,
        bytes: &mut ByteCursor<'_>,
        object_type: &Type,
        depth: usize,
    ) -> Result<Vec<Value>, Damage> {
        let mut values = Vec::with_capacity(object_type.fields.len());
        for field in &object_type.fields {
            values.push(self.field(bytes, field, depth)?);
        }
        Ok(values)
    }

    /// Skips a field.
    pub fn skip_field(
        &mut self,
        bytes: &mut ByteCursor<'_>,
        field: &Field,
        depth: usize,
    ) -> Result<(), Damage> {
        let count = if field.list { bytes.count()? } else { 1 };
        if !field.constant && field.form == Form::Object {
            return self.skip_objects(bytes, field.type_id, count, depth + 1);
        }
        for _ in 0..count {
            if field.constant {
                bytes.long()?;
            } else {
                self.skip_scalar(bytes, field.form)?;
            }
        }
        Ok(())
    }

    fn skip_objects(
        &mut self,
        bytes: &mut ByteCursor<'_>,
        type_id: i64,
        count: usize,
        depth: usize,
    ) -> Result<(), Damage> {
        let variable_length_fields = self
            .types
            .get(type_id)
            .and_then(|of| of.variable_length_fields)
            .filter(|_| bytes.is_compressed());
        if let Some(numbers) = variable_length_fields.filter(|_| depth <= MAX_NESTING) {
            // Each number takes at least one byte, so the bytes limit them.
            return bytes.skip_numbers(count.saturating_mul(numbers));
        }
        (0..count).try_for_each(|_| self.skip_value(bytes, type_id, depth))
    }

    /// Skips a value of a type.
    pub fn skip_value(
        &mut self,
        bytes: &mut ByteCursor<'_>,
        type_id: i64,
        depth: usize,
    ) -> Result<(), Damage> {
        let object_type =
            self.types.get(type_id).ok_or_else(|| bytes.damage("a type that was not declared"))?;
        match object_type.form {
            Form::Object if depth > MAX_NESTING => Err(bytes.damage("values that are nested too deep")),
            Form::Object => {
                self.spend_budget(bytes)?;
                object_type.fields.iter().try_for_each(|field| self.skip_field(bytes, field, depth))
            }
            form => self.skip_scalar(bytes, form),
        }
    }

    /// Skips a value that is not an object.
    fn skip_scalar(&mut self, bytes: &mut ByteCursor<'_>, form: Form) -> Result<(), Damage> {
        self.spend_budget(bytes)?;
        match form {
            Form::Boolean | Form::Byte => bytes.byte().map(|_| ()),
            Form::Short => bytes.short().map(|_| ()),
            Form::Char => bytes.utf16_unit().map(|_| ()),
            Form::Int => bytes.int().map(|_| ()),
            Form::Long => bytes.long().map(|_| ()),
            Form::Float => bytes.float().map(|_| ()),
            Form::Double => bytes.double().map(|_| ()),
            Form::String => bytes.skip_text(),
            Form::Object => Ok(()),
        }
    }

    /// Counts one value against the budget.
    fn spend_budget(&mut self, bytes: &ByteCursor<'_>) -> Result<(), Damage> {
        self.budget = self.budget.checked_sub(1).ok_or_else(|| bytes.damage("more values than bytes"))?;
        Ok(())
    }

    pub fn field(
        &mut self,
        bytes: &mut ByteCursor<'_>,
        field: &Field,
        depth: usize,
    ) -> Result<Value, Damage> {
        if !field.list {
            return self.element(bytes, field, depth);
        }
        let mut values = Vec::new();
        for _ in 0..bytes.count()? {
            values.push(self.element(bytes, field, depth)?);
        }
        Ok(Value::List(values))
    }

    /// Reads an integer, or the index of a constant.
    pub fn number(&mut self, bytes: &mut ByteCursor<'_>, field: &Field) -> Result<i64, Damage> {
        if field.constant {
            return bytes.long();
        }
        self.spend_budget(bytes)?;
        Ok(field.fit(integer(bytes, field.form)?))
    }

    fn element(&mut self, bytes: &mut ByteCursor<'_>, field: &Field, depth: usize) -> Result<Value, Damage> {
        if field.constant {
            self.spend_budget(bytes)?;
            return Ok(Value::Constant(field.type_id, bytes.long()?));
        }
        let value = match field.form {
            Form::Object => self.value(bytes, field.type_id, depth + 1)?,
            form => self.scalar(bytes, form, field.type_id)?,
        };
        Ok(match value {
            Value::Integer(number) => Value::Integer(field.fit(number)),
            value => value,
        })
    }

    /// Reads a value of the type with this id.
    pub fn value(&mut self, bytes: &mut ByteCursor<'_>, type_id: i64, depth: usize) -> Result<Value, Damage> {
        let object_type =
            self.types.get(type_id).ok_or_else(|| bytes.damage("a type that was not declared"))?;
        match object_type.form {
            Form::Object if depth > MAX_NESTING => Err(bytes.damage("values that are nested too deep")),
            Form::Object => {
                self.spend_budget(bytes)?;
                Ok(Value::Object(type_id, self.fields(bytes, object_type, depth)?))
            }
            form => self.scalar(bytes, form, type_id),
        }
    }

    /// Reads a value that is not an object.
    fn scalar(&mut self, bytes: &mut ByteCursor<'_>, form: Form, type_id: i64) -> Result<Value, Damage> {
        self.spend_budget(bytes)?;
        Ok(match form {
            Form::Boolean => Value::Boolean(bytes.byte()? != 0),
            Form::Byte | Form::Short | Form::Int | Form::Long => Value::Integer(integer(bytes, form)?),
            Form::Float => Value::Float(bytes.float()?.into()),
            Form::Double => Value::Float(bytes.double()?),
            Form::Char => Value::Text(String::from_utf16_lossy(&[bytes.utf16_unit()?])),
            Form::String => match bytes.text()? {
                Text::Null => Value::Null,
                Text::Inline(text) => Value::Text(text),
                Text::Constant(index) => Value::Constant(type_id, index),
            },
            Form::Object => Value::Null,
        })
    }
}

/// Reads an integer with its sign. It is an error if values of this form are not integers.
fn integer(bytes: &mut ByteCursor<'_>, form: Form) -> Result<i64, Damage> {
    Ok(match form {
        Form::Byte => i64::from(bytes.byte()?.cast_signed()),
        Form::Short => sign_extend(bytes.short()?, 16),
        Form::Int => sign_extend(bytes.int()?, 32),
        Form::Long => bytes.long()?,
        _ => return Err(bytes.damage("no whole number")),
    })
}

impl Field {
    /// Fits an integer to the width and the sign of this field. A long, and the index of a
    /// constant, stay unchanged.
    pub fn fit(&self, number: i64) -> i64 {
        let bits = match self.form {
            _ if self.constant => return number,
            Form::Byte => 8,
            Form::Short => 16,
            Form::Int => 32,
            _ => return number,
        };
        if self.unsigned { number & !(-1 << bits) } else { sign_extend(number, bits) }
    }
}

/// Sign-extends the lowest bits, because a variable-length number has only the bytes that it needs.
fn sign_extend(number: i64, bits: u32) -> i64 {
    number << (64 - bits) >> (64 - bits)
}
