//! Writes rows to a Parquet file, a group of rows at a time.
//!
//! It must never hold more rows in memory than a group has, however many profiles a file has.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use super::columns::{Column, Columns, Row, SCHEMA, VERSION, VERSION_KEY};

/// A group has at most about this many rows, and frames. An engine reads groups side by side.
const GROUP_ROWS: usize = 100_000;
const GROUP_FRAMES: usize = 2_000_000;

pub struct TableWriter<'o> {
    /// What is written of the file. It goes to `out` after each group.
    file: SerializedFileWriter<Vec<u8>>,
    columns: Columns,
    rows: u64,
    out: &'o mut dyn Write,
}

impl<'o> TableWriter<'o> {
    pub fn new(out: &'o mut dyn Write) -> io::Result<Self> {
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let version = KeyValue::new(VERSION_KEY.to_owned(), VERSION.to_owned());
        // No engine selects by the range of a frame, so frames have no statistics.
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("vouch {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![version]))
            .set_statistics_enabled(EnabledStatistics::Chunk);
        for field in ["method", "file", "line", "kind"] {
            let path = ["stack", "list", "element", field].map(str::to_owned).to_vec();
            properties =
                properties.set_column_statistics_enabled(ColumnPath::new(path), EnabledStatistics::None);
        }
        let file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))?;
        Ok(Self { file, columns: Columns::default(), rows: 0, out })
    }

    /// Adds a row.
    pub fn add(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.columns.add(row);
        self.rows += 1;
        if self.columns.rows() >= GROUP_ROWS || self.columns.frames() >= GROUP_FRAMES {
            self.write_group()?;
        }
        Ok(())
    }

    /// Returns the number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the rest of the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.write_group()?;
        self.out.write_all(&self.file.into_inner()?)
    }

    fn write_group(&mut self) -> io::Result<()> {
        if self.columns.rows() == 0 {
            return Ok(());
        }
        write_columns(self.file.next_row_group()?, &mut self.columns)?;
        self.file.flush()?;
        let written = self.file.inner_mut();
        self.out.write_all(written)?;
        written.clear();
        Ok(())
    }
}

/// Writes the columns in the order of the schema.
fn write_columns(mut group: SerializedRowGroupWriter<'_, Vec<u8>>, columns: &mut Columns) -> Result<()> {
    let group_writer = &mut group;
    write_column::<ByteArrayType>(group_writer, &mut columns.service)?;
    write_column::<ByteArrayType>(group_writer, &mut columns.version)?;
    write_column::<ByteArrayType>(group_writer, &mut columns.host)?;
    write_column::<Int64Type>(group_writer, &mut columns.process_id)?;
    for times in &mut columns.times {
        write_column::<Int64Type>(group_writer, times)?;
    }
    write_column::<ByteArrayType>(group_writer, &mut columns.measure)?;
    write_column::<ByteArrayType>(group_writer, &mut columns.unit)?;
    write_column::<Int64Type>(group_writer, &mut columns.value)?;
    write_column::<Int64Type>(group_writer, &mut columns.count)?;
    write_column::<ByteArrayType>(group_writer, &mut columns.thread)?;
    write_column::<Int64Type>(group_writer, &mut columns.thread_id)?;
    for texts in &mut columns.texts {
        write_column::<ByteArrayType>(group_writer, texts)?;
    }
    write_column::<ByteArrayType>(group_writer, &mut columns.method)?;
    write_column::<ByteArrayType>(group_writer, &mut columns.frame_method)?;
    write_column::<ByteArrayType>(group_writer, &mut columns.frame_file)?;
    write_column::<Int32Type>(group_writer, &mut columns.frame_line)?;
    write_column::<ByteArrayType>(group_writer, &mut columns.frame_kind)?;
    group.close()?;
    Ok(())
}

/// Writes the values of the next column, and removes them.
fn write_column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    column: &mut Column<T::T>,
) -> Result<()> {
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    let levels = |levels: &'_ Vec<i16>| !levels.is_empty();
    let definition = Some(column.definition.as_slice()).filter(|_| levels(&column.definition));
    let repetition = Some(column.repetition.as_slice()).filter(|_| levels(&column.repetition));
    writer.typed::<T>().write_batch(&column.values, definition, repetition)?;
    column.clear();
    writer.close()
}
