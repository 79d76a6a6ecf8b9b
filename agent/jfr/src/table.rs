//! Reads integer columns from a list of objects in a constant. Stacks are such lists, and they take
//! up most of many files. So no value is allocated for each frame.

use crate::bytes::{ByteCursor, Damage};
use crate::chunk::Chunk;
use crate::decoder::Decoder;
use crate::metadata::{Field, Form, Type};

/// The columns to read: the row of the list in its type, and the rows of the columns in the list's
/// objects.
#[derive(Debug, Clone, Copy)]
pub struct Table<const N: usize> {
    type_id: i64,
    list: usize,
    flag: Option<usize>,
    columns: [usize; N],
    /// For each column that refers to constants: the type id of these constants.
    constants: [Option<i64>; N],
}

impl<const N: usize> Table<N> {
    /// Returns the type id of the constants that a column refers to, or `None` for a column of
    /// integers.
    pub fn constants(&self, column: usize) -> Option<i64> {
        self.constants[column]
    }
}

impl Chunk {
    /// Makes a table for a type's list with this name and the boolean field beside it. Returns
    /// `None` if there is no such list, or if a column is not an integer.
    pub fn table<const N: usize>(
        &self,
        type_id: i64,
        list: &str,
        flag: &str,
        columns: [&str; N],
    ) -> Option<Table<N>> {
        let object_type = self.type_of(type_id)?;
        // A list of constants is refused, because each constant would have to be read again for
        // each list.
        let list = object_type
            .field(list)
            .filter(|row| object_type.fields[*row].list && !object_type.fields[*row].constant)?;
        let rows = self.type_of(object_type.fields[list].type_id)?;
        let is_number = |field: &Field| {
            !field.list
                && (field.constant || matches!(field.form, Form::Byte | Form::Short | Form::Int | Form::Long))
        };
        let found = columns.map(|name| rows.field(name).filter(|row| is_number(&rows.fields[*row])));
        if found.contains(&None) {
            return None;
        }
        let columns = found.map(|row| row.unwrap_or(0));
        let constants =
            columns.map(|row| Some(rows.fields[row].type_id).filter(|_| rows.fields[row].constant));
        let flag = object_type
            .field(flag)
            .filter(|row| object_type.fields[*row].form == Form::Boolean && !object_type.fields[*row].list);
        Some(Table { type_id, list, flag, columns, constants })
    }

    /// Adds the rows of a constant, at most `most`. Returns the flag and the number of rows, or
    /// `None` if the constant is missing or damaged.
    pub fn rows<const N: usize>(
        &self,
        table: &Table<N>,
        index: i64,
        most: usize,
        rows: &mut Vec<[i64; N]>,
    ) -> Option<(bool, usize)> {
        let (mut bytes, mut decoder) = self.constant_reader(table.type_id, index)?;
        let (mut flag_value, mut count) = (false, 0);
        for (row, field) in self.type_of(table.type_id)?.fields.iter().enumerate() {
            if row == table.list {
                count = bytes.count().ok()?;
                let of = self.type_of(field.type_id)?;
                for _ in 0..count.min(most) {
                    rows.push(read_row(table, of, &mut bytes, &mut decoder).ok()?);
                }
                if count > most {
                    return Some((flag_value, count));
                }
            } else if table.flag == Some(row) {
                flag_value = bytes.byte().ok()? != 0;
            } else {
                decoder.skip_field(&mut bytes, field, 0).ok()?;
            }
        }
        Some((flag_value, count))
    }
}

fn read_row<const N: usize>(
    table: &Table<N>,
    of: &Type,
    bytes: &mut ByteCursor<'_>,
    decoder: &mut Decoder<'_>,
) -> Result<[i64; N], Damage> {
    let mut found = [0; N];
    if let Some(all) = of.variable_length_fields.filter(|_| bytes.is_compressed()) {
        for row in 0..all {
            let number = bytes.long()?;
            if let Some(column) = table.columns.iter().position(|column| *column == row) {
                found[column] = of.fields[row].fit(number);
            }
        }
        return Ok(found);
    }
    for (row, field) in of.fields.iter().enumerate() {
        match table.columns.iter().position(|column| *column == row) {
            Some(column) => found[column] = decoder.number(bytes, field)?,
            None => decoder.skip_field(bytes, field, 1)?,
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
