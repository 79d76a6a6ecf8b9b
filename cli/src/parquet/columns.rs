//! The columns of a Parquet file, and the rows that fill them.

use parquet::data_type::ByteArray;

/// The version of the columns, which a reader checks. A file that has it is Vouch's.
pub const VERSION_KEY: &str = "vouch.columns";
pub const VERSION: &str = "1";

/// The columns, as Parquet describes them. Spark reads no times in nanoseconds.
pub const SCHEMA: &str = "
message vouch {
  REQUIRED BYTE_ARRAY service (STRING);
  OPTIONAL BYTE_ARRAY version (STRING);
  OPTIONAL BYTE_ARRAY host (STRING);
  OPTIONAL INT64 process_id;
  REQUIRED INT64 start_time (TIMESTAMP(MICROS,true));
  REQUIRED INT64 end_time (TIMESTAMP(MICROS,true));
  REQUIRED BYTE_ARRAY measure (STRING);
  REQUIRED BYTE_ARRAY unit (STRING);
  REQUIRED INT64 value;
  REQUIRED INT64 count;
  REQUIRED BYTE_ARRAY thread (STRING);
  OPTIONAL INT64 thread_id;
  OPTIONAL BYTE_ARRAY trace_id (STRING);
  OPTIONAL BYTE_ARRAY span_id (STRING);
  OPTIONAL BYTE_ARRAY fate (STRING);
  OPTIONAL BYTE_ARRAY top_frame (STRING);
  OPTIONAL BYTE_ARRAY category (STRING);
  REQUIRED BYTE_ARRAY method (STRING);
  REQUIRED group stack (LIST) {
    REPEATED group list {
      REQUIRED group element {
        REQUIRED BYTE_ARRAY method (STRING);
        OPTIONAL BYTE_ARRAY file (STRING);
        OPTIONAL INT32 line;
        OPTIONAL BYTE_ARRAY kind (STRING);
      }
    }
  }
}";

/// The process that rows are from.
pub struct Origin {
    pub service: ByteArray,
    pub version: Option<ByteArray>,
    pub host: Option<ByteArray>,
    pub process_id: Option<i64>,
}

#[derive(Clone)]
pub struct Frame {
    pub method: ByteArray,
    pub file: Option<ByteArray>,
    pub line: Option<i32>,
    pub kind: Option<ByteArray>,
}

pub struct Row<'r> {
    pub origin: &'r Origin,
    /// The begin and the end of the interval, in microseconds since 1970.
    pub times_us: [i64; 2],
    pub measure: ByteArray,
    pub unit: ByteArray,
    /// The sum of the samples' values.
    pub value: i64,
    /// The number of samples.
    pub count: i64,
    pub thread: ByteArray,
    pub thread_id: Option<i64>,
    pub trace_id: Option<ByteArray>,
    pub span_id: Option<ByteArray>,
    pub fate: Option<ByteArray>,
    pub top_frame: Option<ByteArray>,
    pub category: Option<ByteArray>,
    /// The leaf first.
    pub stack: &'r [&'r Frame],
}

/// The values of a column that are not written yet, with their levels.
pub struct Column<T> {
    pub values: Vec<T>,
    pub definition: Vec<i16>,
    pub repetition: Vec<i16>,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self { values: Vec::new(), definition: Vec::new(), repetition: Vec::new() }
    }
}

impl<T> Column<T> {
    fn optional(&mut self, value: Option<T>) {
        self.definition.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    /// Adds a field of a frame. `defined` is the level of a frame without the field.
    fn of_frame(&mut self, is_first: bool, defined: i16, value: Option<T>) {
        self.repetition.push(i16::from(!is_first));
        self.definition.push(defined + i16::from(value.is_some()));
        self.values.extend(value);
    }

    /// Adds a list without elements.
    fn empty_list(&mut self) {
        self.repetition.push(0);
        self.definition.push(0);
    }

    pub fn clear(&mut self) {
        self.values.clear();
        self.definition.clear();
        self.repetition.clear();
    }
}

/// Rows that are not written yet, by column in the order of [`SCHEMA`].
#[derive(Default)]
pub struct Columns {
    pub service: Column<ByteArray>,
    pub version: Column<ByteArray>,
    pub host: Column<ByteArray>,
    pub process_id: Column<i64>,
    pub times: [Column<i64>; 2],
    pub measure: Column<ByteArray>,
    pub unit: Column<ByteArray>,
    pub value: Column<i64>,
    pub count: Column<i64>,
    pub thread: Column<ByteArray>,
    pub thread_id: Column<i64>,
    /// `trace_id`, `span_id`, `fate`, `top_frame` and `category`.
    pub texts: [Column<ByteArray>; 5],
    pub method: Column<ByteArray>,
    pub frame_method: Column<ByteArray>,
    pub frame_file: Column<ByteArray>,
    pub frame_line: Column<i32>,
    pub frame_kind: Column<ByteArray>,
}

impl Columns {
    /// Adds a row.
    pub fn add(&mut self, row: &Row<'_>) {
        let Origin { service, version, host, process_id } = row.origin;
        self.service.values.push(service.clone());
        self.version.optional(version.clone());
        self.host.optional(host.clone());
        self.process_id.optional(*process_id);
        for (column, time) in self.times.iter_mut().zip(row.times_us) {
            column.values.push(time);
        }
        self.measure.values.push(row.measure.clone());
        self.unit.values.push(row.unit.clone());
        self.value.values.push(row.value);
        self.count.values.push(row.count);
        self.thread.values.push(row.thread.clone());
        self.thread_id.optional(row.thread_id);
        let texts = [&row.trace_id, &row.span_id, &row.fate, &row.top_frame, &row.category];
        for (column, text) in self.texts.iter_mut().zip(texts) {
            column.optional(text.clone());
        }
        self.method.values.push(row.stack.first().map_or_else(|| "[unknown]".into(), |it| it.method.clone()));
        if row.stack.is_empty() {
            self.frame_method.empty_list();
            self.frame_file.empty_list();
            self.frame_line.empty_list();
            self.frame_kind.empty_list();
        }
        for (depth, frame) in row.stack.iter().enumerate() {
            let is_first = depth == 0;
            // The method is required, so its level is that of the list's element.
            self.frame_method.of_frame(is_first, 0, Some(frame.method.clone()));
            self.frame_file.of_frame(is_first, 1, frame.file.clone());
            self.frame_line.of_frame(is_first, 1, frame.line);
            self.frame_kind.of_frame(is_first, 1, frame.kind.clone());
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.value.values.len()
    }

    /// Returns the number of frames of all rows.
    pub fn frames(&self) -> usize {
        self.frame_method.values.len()
    }
}
