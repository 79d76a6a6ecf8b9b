//! Reads from a profile which source files it shows, their lines with code, and their time.
//!
//! An invalid reference between the profile's tables is an error.

use std::collections::{BTreeSet, HashMap};

use crate::document::Part;
use crate::error::Error;
use serde::Deserialize;

/// A source file that a profile's functions refer to.
#[derive(Debug)]
pub struct RequestedFile {
    /// The file's row in the table of sources.
    pub row: usize,
    /// The file's path with the package, such as `com/foo/Bar.java`.
    pub path: String,
    /// The lines in which code ran, and the first lines of the sampled methods.
    pub lines: BTreeSet<u32>,
    /// The weight of the samples with a method of this file on top, in intervals.
    pub weight: u64,
    /// The jars or modules that contain the file's classes.
    pub resources: BTreeSet<String>,
}

impl RequestedFile {
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// Returns the package, as source text declares it. It is empty for the unnamed package.
    pub fn package(&self) -> String {
        self.path.rsplit_once('/').map(|(package, _)| package.replace('/', ".")).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct Sources {
    filename: Vec<usize>,
}

#[derive(Deserialize)]
struct Resources {
    name: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Funcs {
    source: Vec<Option<usize>>,
    line_number: Vec<Option<u32>>,
    resource: Vec<i64>,
}

#[derive(Deserialize)]
struct Frames {
    func: Vec<usize>,
    line: Vec<Option<u32>>,
}

#[derive(Deserialize)]
struct Stacks {
    frame: Vec<usize>,
}

#[derive(Deserialize)]
struct Samples {
    stack: Vec<Option<usize>>,
    weight: Option<Vec<u64>>,
}

/// Returns the version of the profiled JVM, from the trust report.
pub fn jdk(document: &Part) -> Result<Option<String>, Error> {
    let report: Option<Part> = document.get::<Part>("meta")?.find("vouch")?;
    report.map_or(Ok(None), |report| report.find("jdk"))
}

/// Returns all source files of the profile's functions.
pub fn read(document: &Part, shared: &Part) -> Result<Vec<RequestedFile>, Error> {
    let strings: Vec<String> = shared.get("stringArray")?;
    let Sources { filename } = shared.get("sources")?;
    let Resources { name } = shared.get("resourceTable")?;
    let funcs: Funcs = shared.get("funcTable")?;
    let frames: Frames = shared.get("frameTable")?;
    let Stacks { frame } = shared.get("stackTable")?;
    let mut by_row: HashMap<usize, RequestedFile> = HashMap::new();
    for ((source, line), resource) in funcs.source.iter().zip(&funcs.line_number).zip(&funcs.resource) {
        let Some(row) = *source else { continue };
        let path = at(&strings, *at(&filename, row)?)?;
        // Code that the JVM generates has the name of its class instead of a file name.
        if !path.rsplit('/').next().unwrap_or(path).contains('.') {
            continue;
        }
        let requested = by_row.entry(row).or_insert_with(|| RequestedFile {
            row,
            path: path.clone(),
            lines: BTreeSet::new(),
            weight: 0,
            resources: BTreeSet::new(),
        });
        requested.lines.extend(line);
        if let Ok(resource) = usize::try_from(*resource) {
            requested.resources.insert(at(&strings, *at(&name, resource)?)?.clone());
        }
    }
    for (func, line) in frames.func.iter().zip(&frames.line) {
        if let Some(row) = at(&funcs.source, *func)?
            && let Some(requested) = by_row.get_mut(row)
        {
            requested.lines.extend(line);
        }
    }
    for thread in document.get::<Vec<Part>>("threads")? {
        let samples: Samples = thread.get("samples")?;
        for (sample, stack) in samples.stack.iter().enumerate() {
            let Some(stack) = *stack else { continue };
            let weight = match &samples.weight {
                Some(weights) => *at(weights, sample)?,
                None => 1,
            };
            let func = *at(&frames.func, *at(&frame, stack)?)?;
            if let Some(requested) = at(&funcs.source, func)?.and_then(|row| by_row.get_mut(&row)) {
                requested.weight += weight;
            }
        }
    }
    Ok(by_row.into_values().collect())
}

fn at<T>(rows: &[T], row: usize) -> Result<&T, Error> {
    rows.get(row).ok_or(Error::SourcesDamaged)
}
