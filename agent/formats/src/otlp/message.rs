//! Writes the fields of a protobuf message one by one, for messages that are too large for memory.

use std::io::{self, Write};

use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint, key_len};

/// Returns the length of a field that contains a message of this length.
pub fn field_len(tag: u32, length: usize) -> usize {
    key_len(tag) + encoded_len_varint(length as u64) + length
}

/// Writes the beginning of a field that contains a message of this length. The message follows.
pub fn begin_message(out: &mut impl Write, tag: u32, length: usize) -> io::Result<()> {
    let mut head = Vec::with_capacity(16);
    encode_key(tag, WireType::LengthDelimited, &mut head);
    encode_varint(length as u64, &mut head);
    out.write_all(&head)
}

/// Writes a field that contains a message.
pub fn write_message(out: &mut impl Write, tag: u32, message: &impl Message) -> io::Result<()> {
    begin_message(out, tag, message.encoded_len())?;
    out.write_all(&message.encode_to_vec())
}
