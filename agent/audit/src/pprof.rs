//! Reads pprof files: threads, functions, lines and counts.
//!
//! It must never follow a number out of the file's own tables, or read a file beyond a size limit.

use std::collections::HashMap;
use std::io::Read;

use prost::Message;
use vouch_formats::pprof::{Profile, THREAD_LABELS};

use crate::error::Error;
use crate::names_reader::{MAX_DEPTH, NamedFrame, NamesReader};

/// A larger file is refused, because all of it is in memory at once.
const MAX_FILE_BYTES: u64 = 32 << 20;
/// The unit of the value that counts samples.
const COUNT_UNIT: &str = "count";
impl NamesReader<'_> {
    /// Adds all samples of an uncompressed file. The error is the rest of a sentence.
    pub fn pprof(&mut self, file: impl Read) -> Result<(), Error> {
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(Error::PprofUnreadable)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(Error::PprofTooLarge { max_bytes: MAX_FILE_BYTES });
        }
        let profile = Profile::decode(&*bytes)?;
        if profile.sample.is_empty() {
            return Err(Error::PprofEmpty);
        }
        self.add_samples(&profile);
        Ok(())
    }

    fn add_samples(&mut self, profile: &Profile) {
        let text = |row| profile.text(row);
        let names: HashMap<u64, &str> = profile.function.iter().map(|it| (it.id, text(it.name))).collect();
        // Inlined functions come innermost first, as all frames do.
        let locations: HashMap<u64, Vec<NamedFrame>> = profile
            .location
            .iter()
            .map(|location| {
                let frames = location.line.iter().map(|line| {
                    let name = names.get(&line.function_id).copied().unwrap_or_default();
                    self.frame(
                        if name.is_empty() { "[unknown]" } else { name },
                        u32::try_from(line.line).unwrap_or(0),
                    )
                });
                (location.id, frames.collect())
            })
            .collect();
        let unknown = [self.frame("[unknown]", 0)];
        let counts = || {
            (0..profile.sample_type.len()).filter(|row| text(profile.sample_type[*row].unit) == COUNT_UNIT)
        };
        let mut frames = Vec::new();
        for sample in &profile.sample {
            let name = THREAD_LABELS.iter().find_map(|key| profile.label(sample, key)).unwrap_or_default();
            // A file may have several counts. Each sample uses one of them: the first above 0.
            let counted = |row: usize| sample.value.get(row).and_then(|count| u64::try_from(*count).ok());
            let count = counts().filter_map(counted).find(|count| *count > 0);
            let count = if counts().next().is_some() { count } else { Some(1) };
            let Some(count) = count else { continue };
            // Files of several processes may be merged, so a thread id is not unique.
            let thread = self.thread(name, 0);
            frames.clear();
            for id in &sample.location_id {
                frames.extend(locations.get(id).map_or(&unknown[..], Vec::as_slice));
                // One frame beyond the limit shows that the stack is deeper.
                if frames.len() > MAX_DEPTH {
                    break;
                }
            }
            frames.truncate(MAX_DEPTH + 1);
            frames.reverse();
            self.stack(thread, &frames, count);
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use vouch_formats::pprof::{Function, Label, Line, Location, Sample, ValueType};

    use crate::index::{FrameDetail, RecordingIndex};

    /// Makes a pprof file with two valid stacks, and one with an unknown location.
    pub fn bytes() -> Vec<u8> {
        file().encode_to_vec()
    }

    fn file() -> Profile {
        let strings = [
            "",
            "Main.main",
            "Shop.open",
            "Cart.sum",
            "cpu",
            "count",
            "nanoseconds",
            "thread",
            "worker",
            "tid",
        ];
        let pprof_location = |id, lines: &[(u64, i64)]| Location {
            id,
            mapping_id: 0,
            line: lines
                .iter()
                .map(|(function_id, line)| Line { function_id: *function_id, line: *line })
                .collect(),
        };
        let label = |key, str| Label { key, str, num: 0 };
        Profile {
            sample_type: [6, 5].map(|unit| ValueType { r#type: 0, unit }).to_vec(),
            sample: vec![
                Sample {
                    location_id: vec![20, 10],
                    value: vec![70, 7],
                    label: vec![label(9, 0), label(7, 8)],
                },
                // One sample has the count 0, and one has an unknown location.
                Sample { location_id: vec![20, 10], value: vec![0, 0], label: Vec::new() },
                Sample { location_id: vec![20, 99, 10], value: vec![10, 1], label: Vec::new() },
            ],
            // `sum` was inlined into `open`.
            location: vec![pprof_location(10, &[(1, 10)]), pprof_location(20, &[(3, 40), (2, 30)])],
            function: (1..=3)
                .map(|id| Function { id, name: i64::try_from(id).unwrap(), filename: 0, start_line: 0 })
                .collect(),
            string_table: strings.map(str::to_owned).to_vec(),
            ..Profile::default()
        }
    }

    fn stacks(index: &RecordingIndex) -> Vec<(String, u64, String, u64)> {
        let mut all: Vec<_> = index
            .counts
            .iter()
            .map(|((_, thread, stack), count)| {
                let thread = &index.threads[thread.row()];
                let frames = index.nodes_from(index.stacks[stack.row()].leaf).map(|node| {
                    let location = index.location(node.location);
                    let gap = if node.gap { "…" } else { "" };
                    format!("{gap}{}:{}", index.method(location.method).name, location.line)
                });
                (thread.name.to_string(), thread.tid, frames.collect::<Vec<_>>().join(" "), *count)
            })
            .collect();
        all.sort();
        all
    }

    #[test]
    fn stacks_are_read_from_root_to_leaf_with_inlined_functions() {
        let mut index = RecordingIndex::default();
        NamesReader::new(&mut index, "pprof", false).pprof(&*file().encode_to_vec()).unwrap();
        let stack = |frames: &str| frames.to_owned();
        assert_eq!(
            stacks(&index),
            [
                ("[threads not separated]".to_owned(), 0, stack("sum:40 …open:30 main:10"), 1),
                ("worker".to_owned(), 0, stack("sum:40 open:30 main:10"), 7),
            ]
        );
        assert_eq!(index.frame_detail, FrameDetail::Lines);
    }

    #[test]
    fn a_file_that_is_not_pprof_is_an_error() {
        let error = |bytes: &[u8]| {
            NamesReader::new(&mut RecordingIndex::default(), "pprof", false)
                .pprof(bytes)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(error(&[]), "has no samples, or is not a pprof file");
        let whole = file().encode_to_vec();
        assert!(error(&whole[..whole.len() - 3]).starts_with("is a damaged pprof file: "));
        let large = std::io::repeat(0);
        assert_eq!(error_of(large), "is larger than 32 MiB, unpacked");
    }

    fn error_of(file: impl Read) -> String {
        NamesReader::new(&mut RecordingIndex::default(), "pprof", false).pprof(file).unwrap_err().to_string()
    }
}
