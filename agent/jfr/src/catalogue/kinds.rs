//! The catalogue, as it is kept and read.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// All kinds of all JDKs that were asked.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Catalogue {
    /// Which build of each JDK it was.
    pub jdks: BTreeMap<u32, String>,
    pub kinds: Vec<Kind>,
}

/// A kind of events.
#[derive(Debug, Serialize, Deserialize)]
pub struct Kind {
    pub name: String,
    pub label: String,
    /// From the widest to the narrowest.
    pub category: Vec<String>,
    /// As it is in some JDKs, and in later ones.
    pub shapes: Vec<Shape>,
    /// One of a real recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
    #[serde(skip)]
    pub tells: &'static str,
    #[serde(skip)]
    pub lacks: &'static str,
}

/// What a kind is in some JDKs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    pub jdks: Vec<u32>,
    #[serde(flatten)]
    pub form: Form,
    /// How it is recorded by JFR's two sets of settings.
    pub default: String,
    pub profile: String,
}

/// What an event of a kind has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    pub fields: Vec<Field>,
    pub duration: bool,
    pub thread: bool,
    pub stack: bool,
}

/// What one says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    pub name: String,
    pub label: String,
    /// Of what unit or type it is.
    pub what: String,
}

impl Catalogue {
    /// The kind of this name, which may lack the `jdk.`.
    pub fn find(&self, name: &str) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.name == name || kind.name.strip_prefix("jdk.") == Some(name))
    }

    /// Those in whose name or label this stands, whatever the case.
    pub fn like<'c>(&'c self, part: &str) -> impl Iterator<Item = &'c Kind> {
        let part = part.to_lowercase();
        self.kinds.iter().filter(move |kind| {
            [&kind.name, &kind.label].iter().any(|text| text.to_lowercase().contains(&part))
        })
    }
}

impl Kind {
    /// In which JDKs it is: `11 to 17`, `25 and later`.
    pub fn jdks(&self, all: &BTreeMap<u32, String>) -> String {
        let own: Vec<u32> = self.shapes.iter().flat_map(|shape| shape.jdks.iter().copied()).collect();
        versions(&own, all)
    }

    /// As it is in the newest JDK that has it.
    pub fn newest(&self) -> Option<&Shape> {
        self.shapes.last()
    }

    /// As it is in a JDK.
    pub fn of_jdk(&self, major: u32) -> Option<&Shape> {
        self.shapes.iter().find(|shape| shape.jdks.contains(&major))
    }
}

impl Form {
    /// What it has besides its fields: `duration, thread, stack`.
    pub fn has(&self) -> String {
        let all = [(self.duration, "duration"), (self.thread, "thread"), (self.stack, "stack")];
        let all: Vec<&str> = all.into_iter().filter(|(has, _)| *has).map(|(_, what)| what).collect();
        if all.is_empty() { "a time".to_owned() } else { all.join(", ") }
    }
}

/// Of all JDKs in order, these, in words.
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

/// What each kind tells and lacks, by its name without the `jdk.`.
pub(crate) fn words() -> HashMap<&'static str, (&'static str, &'static str)> {
    let lines = include_str!("words.txt").lines().filter(|line| !line.starts_with('#'));
    let mut above = "";
    lines
        .filter_map(|line| {
            let mut parts = line.split(" | ");
            let (name, tells, lacks) = (parts.next()?, parts.next()?, parts.next()?);
            // "As above" stands for what was above, which the next kind may stand without.
            above = if lacks.starts_with("As above") { above } else { lacks };
            Some((name, (tells, above)))
        })
        .collect()
}

/// The catalogue.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| {
        let read = serde_json::from_str(include_str!("kinds.json"));
        let mut catalogue: Catalogue = read.unwrap_or_default();
        let words = words();
        for kind in &mut catalogue.kinds {
            let name = kind.name.strip_prefix("jdk.").unwrap_or(&kind.name);
            (kind.tells, kind.lacks) = words.get(name).copied().unwrap_or_default();
        }
        catalogue
    })
}
