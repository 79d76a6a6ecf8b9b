//! Which files a profile shows, in which lines of them code ran, and how much time went there.
//!
//! References that point nowhere must end the reading with a sentence.

use std::collections::{BTreeSet, HashMap};

use crate::document::{Part, Wrong};
use serde::Deserialize;

/// A file whose text is wanted.
#[derive(Debug)]
pub struct Wanted {
    /// In the table of sources.
    pub row: usize,
    /// With the package: `com/foo/Bar.java`.
    pub path: String,
    /// Lines in which code ran, or a method that was seen begins.
    pub lines: BTreeSet<u32>,
    /// Of the samples with a method of this file on top, in intervals.
    pub weight: u64,
    /// The jars or modules of which its classes are.
    pub resources: BTreeSet<String>,
}

impl Wanted {
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The package, as a source declares it; empty for the unnamed one.
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

/// The JVM that the profile is of, as its trust report names it.
pub fn jdk(document: &Part) -> Result<Option<String>, Wrong> {
    let report: Option<Part> = document.get::<Part>("meta")?.find("vouch")?;
    report.map_or(Ok(None), |report| report.find("jdk"))
}

/// All files that functions of the profile are of.
pub fn read(document: &Part, shared: &Part) -> Result<Vec<Wanted>, Wrong> {
    let strings: Vec<String> = shared.get("stringArray")?;
    let Sources { filename } = shared.get("sources")?;
    let Resources { name } = shared.get("resourceTable")?;
    let funcs: Funcs = shared.get("funcTable")?;
    let frames: Frames = shared.get("frameTable")?;
    let Stacks { frame } = shared.get("stackTable")?;
    let mut of_source: HashMap<usize, Wanted> = HashMap::new();
    for ((source, line), resource) in funcs.source.iter().zip(&funcs.line_number).zip(&funcs.resource) {
        let Some(row) = *source else { continue };
        let path = at(&strings, *at(&filename, row)?)?;
        // What the JVM spins itself names its class in the place of a file.
        if !path.rsplit('/').next().unwrap_or(path).contains('.') {
            continue;
        }
        let wanted = of_source.entry(row).or_insert_with(|| Wanted {
            row,
            path: path.clone(),
            lines: BTreeSet::new(),
            weight: 0,
            resources: BTreeSet::new(),
        });
        wanted.lines.extend(line);
        if let Ok(resource) = usize::try_from(*resource) {
            wanted.resources.insert(at(&strings, *at(&name, resource)?)?.clone());
        }
    }
    for (func, line) in frames.func.iter().zip(&frames.line) {
        if let Some(row) = at(&funcs.source, *func)?
            && let Some(wanted) = of_source.get_mut(row)
        {
            wanted.lines.extend(line);
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
            if let Some(wanted) = at(&funcs.source, func)?.and_then(|row| of_source.get_mut(&row)) {
                wanted.weight += weight;
            }
        }
    }
    Ok(of_source.into_values().collect())
}

fn at<T>(rows: &[T], row: usize) -> Result<&T, Wrong> {
    rows.get(row).ok_or_else(|| "it refers to what is not in it: it was damaged".to_owned())
}
