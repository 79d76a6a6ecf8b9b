//! The types of the catalogue of event kinds, and the code that reads it.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// The event kinds of all JDKs in the catalogue.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Catalogue {
    /// The build of each JDK, by major version.
    pub jdks: BTreeMap<u32, String>,
    pub kinds: Vec<JfrEventKind>,
}

/// An event kind of the JDK, such as `jdk.GarbageCollection`.
#[derive(Debug, Serialize, Deserialize)]
pub struct JfrEventKind {
    pub name: String,
    pub label: String,
    /// The names of the kind's category, from the widest to the narrowest.
    pub category: Vec<String>,
    /// The shapes of the kind in all JDKs, those of the oldest JDKs first.
    pub shapes: Vec<Shape>,
    /// An example of an event, from a real recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    #[serde(skip)]
    pub reports: &'static str,
    #[serde(skip)]
    pub lacks: &'static str,
}

/// The shape that an event kind has in some JDKs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    pub jdks: Vec<u32>,
    #[serde(flatten)]
    pub form: EventParts,
    /// The way in which JFR's default settings record the kind.
    pub default: String,
    pub profile: String,
}

/// The parts of an event: its fields, and whether it has a duration, a thread and a stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventParts {
    pub fields: Vec<Field>,
    pub duration: bool,
    pub thread: bool,
    pub stack: bool,
}

/// A field of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    pub name: String,
    pub label: String,
    /// The unit or the type of the field's values.
    pub what: String,
}

impl Catalogue {
    /// Returns the kind with this name. The `jdk.` may be omitted.
    pub fn find(&self, name: &str) -> Option<&JfrEventKind> {
        self.kinds.iter().find(|kind| kind.name == name || kind.name.strip_prefix("jdk.") == Some(name))
    }

    /// Returns the kinds with this text in their name or label, ignoring case.
    pub fn search<'c>(&'c self, part: &str) -> impl Iterator<Item = &'c JfrEventKind> {
        let part = part.to_lowercase();
        self.kinds.iter().filter(move |kind| {
            [&kind.name, &kind.label].iter().any(|text| text.to_lowercase().contains(&part))
        })
    }
}

impl JfrEventKind {
    /// Returns the JDKs that have this kind as text, such as `11 to 17` or `25 and later`.
    pub fn jdks(&self, all: &BTreeMap<u32, String>) -> String {
        let own: Vec<u32> = self.shapes.iter().flat_map(|shape| shape.jdks.iter().copied()).collect();
        versions(&own, all)
    }

    /// Returns the kind's shape in the newest JDK that has the kind.
    pub fn newest(&self) -> Option<&Shape> {
        self.shapes.last()
    }

    /// Returns the kind's shape in a JDK.
    pub fn of_jdk(&self, major: u32) -> Option<&Shape> {
        self.shapes.iter().find(|shape| shape.jdks.contains(&major))
    }
}

impl EventParts {
    /// Returns the parts of an event besides its fields as text, such as `duration, thread, stack`.
    pub fn in_words(&self) -> String {
        let all = [(self.duration, "duration"), (self.thread, "thread"), (self.stack, "stack")];
        let all: Vec<&str> = all.into_iter().filter(|(has, _)| *has).map(|(_, what)| what).collect();
        if all.is_empty() { "a time".to_owned() } else { all.join(", ") }
    }
}

/// Returns a text for some of all JDKs, such as `11 to 17`.
pub fn versions(own: &[u32], all: &BTreeMap<u32, String>) -> String {
    let known: Vec<u32> = all.keys().copied().collect();
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for major in own {
        let place = known.iter().position(|known| known == major);
        let before = place.and_then(|place| place.checked_sub(1)).map(|place| known[place]);
        match parts.last_mut() {
            Some((_, last)) if Some(*last) == before => *last = *major,
            _ => parts.push((*major, *major)),
        }
    }
    let newest = known.last().copied();
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(first, last)| match (first, last) {
            _ if Some(last) == newest && first != last => format!("{first} and later"),
            (first, last) if first == last => first.to_string(),
            (first, last) => format!("{first} to {last}"),
        })
        .collect();
    parts.join(", ")
}

/// Returns what each kind reports and lacks, by the kind's name without the `jdk.`.
pub(crate) fn words() -> HashMap<&'static str, (&'static str, &'static str)> {
    let lines = include_str!("words.txt").lines().filter(|line| !line.starts_with('#'));
    let mut above = "";
    lines
        .filter_map(|line| {
            let mut parts = line.split(" | ");
            let (name, reports, lacks) = (parts.next()?, parts.next()?, parts.next()?);
            // "As above" repeats the text above, because readers see each kind alone.
            above = if lacks.starts_with("As above") { above } else { lacks };
            Some((name, (reports, above)))
        })
        .collect()
}

/// Returns the catalogue, which is parsed only once.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let read = serde_json::from_str(include_str!("kinds.json"));
        let mut catalogue: Catalogue = read.unwrap_or_default();
        let words = words();
        for kind in &mut catalogue.kinds {
            let name = kind.name.strip_prefix("jdk.").unwrap_or(&kind.name);
            (kind.reports, kind.lacks) = words.get(name).copied().unwrap_or_default();
        }
        catalogue
    })
}
