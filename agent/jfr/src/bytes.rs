//! Reads numbers and texts from the bytes of a chunk.
//!
//! It must never read beyond the bytes, or allocate more than they allow.

use std::fmt;

/// Damage in a file: a description, and the offset in the chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    pub what: &'static str,
    pub at: usize,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} of the chunk", self.what, self.at)
    }
}

/// A text in the bytes, or a reference to one in the constant pool.
#[derive(Debug, PartialEq, Eq)]
pub enum Text {
    Null,
    Inline(String),
    Constant(i64),
}

/// A variable-length number takes at most this many bytes.
const MAX_NUMBER_BYTES: usize = 9;

/// A position in the bytes of a chunk.
#[derive(Debug, Clone, Copy)]
pub struct ByteCursor<'a> {
    data: &'a [u8],
    at: usize,
    /// True if integers have variable length (compressed). Otherwise an integer has the length of
    /// its type.
    compressed: bool,
}

impl<'a> ByteCursor<'a> {
    pub fn new(data: &'a [u8], compressed: bool) -> Self {
        Self { data, at: 0, compressed }
    }

    /// Returns a cursor over the same bytes that reads from another offset.
    pub fn starting_at(self, at: usize) -> Self {
        Self { at, ..self }
    }

    /// Returns a cursor over the same bytes that ends at another offset.
    pub fn ending_at(self, end: usize) -> Self {
        Self { data: &self.data[..end.min(self.data.len())], ..self }
    }

    /// True if integers have variable length.
    pub fn is_compressed(&self) -> bool {
        self.compressed
    }

    pub fn position(&self) -> usize {
        self.at
    }

    pub fn remaining(&self) -> usize {
        self.data.len().saturating_sub(self.at)
    }

    pub fn damage(&self, what: &'static str) -> Damage {
        Damage { what, at: self.at }
    }

    #[inline]
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let rest = self.data.get(self.at..).and_then(|rest| rest.first_chunk());
        let taken = *rest.ok_or_else(|| self.damage("the bytes end"))?;
        self.at += N;
        Ok(taken)
    }

    pub fn slice(&mut self, length: usize) -> Result<&'a [u8], Damage> {
        let taken = self.at.checked_add(length).and_then(|end| self.data.get(self.at..end));
        let taken = taken.ok_or_else(|| self.damage("the bytes end"))?;
        self.at += length;
        Ok(taken)
    }

    #[inline]
    pub fn byte(&mut self) -> Result<u8, Damage> {
        Ok(u8::from_be_bytes(self.take()?))
    }

    #[inline]
    pub fn short(&mut self) -> Result<i64, Damage> {
        if self.compressed { self.variable_length() } else { Ok(i16::from_be_bytes(self.take()?).into()) }
    }

    #[inline]
    pub fn int(&mut self) -> Result<i64, Damage> {
        if self.compressed { self.variable_length() } else { Ok(i32::from_be_bytes(self.take()?).into()) }
    }

    #[inline]
    pub fn long(&mut self) -> Result<i64, Damage> {
        if self.compressed { self.variable_length() } else { Ok(i64::from_be_bytes(self.take()?)) }
    }

    pub fn float(&mut self) -> Result<f32, Damage> {
        Ok(f32::from_be_bytes(self.take()?))
    }

    pub fn double(&mut self) -> Result<f64, Damage> {
        Ok(f64::from_be_bytes(self.take()?))
    }

    /// Skips this many variable-length numbers.
    pub fn skip_numbers(&mut self, count: usize) -> Result<(), Damage> {
        let rest = self.data.get(self.at..).unwrap_or_default();
        let (mut left, mut run, mut end) = (count, 0, 0);
        for byte in rest {
            if left == 0 {
                break;
            }
            end += 1;
            run = if *byte & 0x80 == 0 || run + 1 == MAX_NUMBER_BYTES { 0 } else { run + 1 };
            left -= usize::from(run == 0);
        }
        if left > 0 {
            return Err(self.damage("the bytes end"));
        }
        self.at += end;
        Ok(())
    }

    /// Reads a variable-length number: seven bits a byte, lowest first. A ninth byte has eight
    /// bits.
    #[inline]
    fn variable_length(&mut self) -> Result<i64, Damage> {
        // Most numbers fit into one byte.
        if let Some(byte) = self.data.get(self.at).filter(|byte| **byte & 0x80 == 0) {
            self.at += 1;
            return Ok((*byte).into());
        }
        self.long_variable_length()
    }

    fn long_variable_length(&mut self) -> Result<i64, Damage> {
        let mut number = 0;
        for shift in (0..56).step_by(7) {
            let byte = self.byte()?;
            number |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Ok(number | i64::from(self.byte()?) << 56)
    }

    /// Reads the number of items that follow. Each item takes at least one byte, so a larger number
    /// is damage.
    #[inline]
    pub fn count(&mut self) -> Result<usize, Damage> {
        let count = usize::try_from(self.int()?).ok().filter(|count| *count <= self.remaining());
        count.ok_or_else(|| self.damage("a number of things that cannot be"))
    }

    pub fn text(&mut self) -> Result<Text, Damage> {
        Ok(match self.byte()? {
            0 => Text::Null,
            1 => Text::Inline(String::new()),
            2 => Text::Constant(self.long()?),
            3 => {
                let length = self.count()?;
                let bytes = self.slice(length)?;
                // The JVM writes modified UTF-8, which other programs cannot always decode.
                let text = cesu8::from_java_cesu8(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes));
                Text::Inline(text.into_owned())
            }
            4 => {
                let length = self.count()?;
                let mut units = Vec::with_capacity(length);
                for _ in 0..length {
                    units.push(self.utf16_unit()?);
                }
                Text::Inline(String::from_utf16_lossy(&units))
            }
            5 => {
                let length = self.count()?;
                Text::Inline(self.slice(length)?.iter().map(|byte| char::from(*byte)).collect())
            }
            _ => return Err(self.damage("a text of a kind that is not known")),
        })
    }

    /// Skips a text.
    pub fn skip_text(&mut self) -> Result<(), Damage> {
        match self.byte()? {
            0 | 1 => {}
            2 => drop(self.long()?),
            3 | 5 => {
                let length = self.count()?;
                self.slice(length)?;
            }
            4 => {
                for _ in 0..self.count()? {
                    self.utf16_unit()?;
                }
            }
            _ => return Err(self.damage("a text of a kind that is not known")),
        }
        Ok(())
    }

    /// Reads a UTF-16 unit, which may be half of a surrogate pair.
    pub fn utf16_unit(&mut self) -> Result<u16, Damage> {
        u16::try_from(self.short()? & 0xffff).map_err(|_| self.damage("a number that is not a character"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_length_numbers_are_read_and_skipped() {
        let read = |bytes: &[u8]| ByteCursor::new(bytes, true).long();
        assert_eq!(read(&[0x85, 0xb0, 0x03]), Ok(55_301));
        assert_eq!(read(&[0xff; 9]), Ok(-1));
        assert_eq!(read(&[0x80, 0x80]), Err(Damage { what: "the bytes end", at: 2 }));
        let all = [0x85, 0xb0, 0x03, 0x07, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let skipped = |count| {
            let mut bytes = ByteCursor::new(&all, true);
            bytes.skip_numbers(count).map(|()| bytes.position())
        };
        assert_eq!([skipped(0), skipped(1), skipped(2), skipped(3), skipped(4)], [0, 3, 4, 13, 14].map(Ok));
        assert!(skipped(5).is_err());
        assert_eq!(ByteCursor::new(&[0, 0, 1, 2], false).int(), Ok(258));
    }

    #[test]
    fn all_five_text_encodings_are_read() {
        let read = |bytes: &[u8]| ByteCursor::new(bytes, true).text();
        assert_eq!(read(&[0]), Ok(Text::Null));
        assert_eq!(read(&[1]), Ok(Text::Inline(String::new())));
        assert_eq!(read(&[2, 7]), Ok(Text::Constant(7)));
        assert_eq!(read(&[3, 3, b'a', 0xc3, 0xa9]), Ok(Text::Inline("aé".to_owned())));
        let smile = [3, 6, 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80];
        assert_eq!(read(&smile), Ok(Text::Inline("😀".to_owned())));
        assert_eq!(read(&[3, 2, b'a', 0xff]), Ok(Text::Inline("a\u{fffd}".to_owned())));
        assert_eq!(read(&[4, 2, b'a', 0xe9, 0x01]), Ok(Text::Inline("aé".to_owned())));
        assert_eq!(read(&[5, 2, b'a', 0xe9]), Ok(Text::Inline("aé".to_owned())));
        assert!(read(&[9]).is_err());
        let endless = [3, 0xff, 0xff, 0xff, 0xff, 0x07];
        assert_eq!(read(&endless).unwrap_err().what, "a number of things that cannot be");
    }
}
