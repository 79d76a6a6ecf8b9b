//! Implements `vouch events`, which lists the JVM events that Vouch can record, or can add from a
//! Flight Recorder file.
//!
//! It must print nothing that is not in the catalogues.

use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use vouch_jfr::catalogue::{Catalogue, Facts, JfrEventKind, Recorded, Shape, catalogue};
use vouch_recording::kinds::{EVENTS, EventKind};
use vouch_report::{grouped, plain};

use crate::error::Error;

/// Lists all event kinds in a line each, or describes one of them in full.
pub fn events(word: Option<&str>, of: Option<&Path>) -> Result<String, Error> {
    if let Some(of) = of {
        return recorded(of, word);
    }
    let Some(word) = word else { return Ok(list()) };
    let catalogue = catalogue();
    if let Some(kind) = EVENTS.iter().find(|kind| kind.word == word) {
        return Ok(describe(kind));
    }
    if let Some(kind) = catalogue.find(word) {
        return Ok(one_of_jfr(kind, catalogue));
    }
    let like: Vec<&JfrEventKind> =
        if word == "jfr" { catalogue.kinds.iter().collect() } else { catalogue.search(word).collect() };
    let own: Vec<&EventKind> = EVENTS.into_iter().filter(|kind| mentions(kind, word)).collect();
    if like.is_empty() && own.is_empty() {
        let known = EVENTS.map(|kind| kind.word).to_vec();
        return Err(Error::UnknownEvent { word: word.to_owned(), known });
    }
    let mut text = String::new();
    for kind in own {
        let _ =
            writeln!(text, "{:<34} {}", format!("events={}", kind.word), in_short(kind.marker.description));
    }
    for kind in like {
        let _ = writeln!(text, "{:<34} {}", kind.name, first_sentence(kind.reports));
    }
    Ok(text)
}

/// True if the name or the description of one of Vouch's own event kinds contains the word.
fn mentions(kind: &EventKind, word: &str) -> bool {
    let marker = &kind.marker;
    [kind.word, marker.label, marker.description]
        .iter()
        .any(|text| text.to_lowercase().contains(&word.to_lowercase()))
}

fn list() -> String {
    let mut text = String::from("word       JDK  default  what\n");
    for EventKind { word, since, by_default, marker, .. } in EVENTS {
        let default = if *by_default { "yes" } else { "" };
        let _ = writeln!(text, "{word:<10} {since:>3}  {default:<7}  {}", in_short(marker.description));
    }
    let _ = writeln!(
        text,
        "\nRecord some of them with --events WORD+WORD, or default, all or off. `vouch events WORD` describes one.\n\
         `vouch merge` can add {} more kinds from a Flight Recorder file: `vouch events jfr` lists them.\n\
         `vouch events lock` lists the kinds of either with `lock` in their names or descriptions.",
        catalogue().kinds.len()
    );
    text
}

fn describe(kind: &EventKind) -> String {
    let EventKind { word, marker, .. } = kind;
    let mut text = format!("{word}: {}\n{}\n\n", marker.label, marker.description);
    for (title, what) in kind.about() {
        let _ = writeln!(text, "{:<12}{what}", format!("{title}:"));
    }
    text
}

fn one_of_jfr(kind: &JfrEventKind, catalogue: &Catalogue) -> String {
    let mut text =
        format!("{}: {} (JFR: {})\n{}\n\n", kind.name, kind.label, kind.category.join(", "), kind.reports);
    let _ = writeln!(text, "{:<12}{}", "Lacks:", kind.lacks);
    if let Some(example) = &kind.example {
        let _ = writeln!(text, "{:<12}{example}", "Example:");
    }
    for shape in kind.shapes.iter().rev() {
        let Shape { jdks, form, default, profile } = shape;
        let _ = writeln!(text, "\nJDK {}", vouch_jfr::catalogue::versions(jdks, &catalogue.jdks));
        let _ =
            writeln!(text, "  has       {}\n  default   {default}\n  profile   {profile}", form.in_words());
        for field in &form.fields {
            let _ = writeln!(text, "  {:<24}  {:<14} {}", field.name, field.what, field.label);
        }
    }
    text
}

/// Lists the event kinds in a recording, and how they differ from the catalogue.
fn recorded(file: &Path, word: Option<&str>) -> Result<String, Error> {
    let open = File::open(file).map_err(|why| Error::unreadable(file, why))?;
    let recorded = Recorded::read(BufReader::new(open))
        .map_err(|why| Error::UnreadableJfr { path: file.to_owned(), why })?;
    let catalogue = catalogue();
    let mut kinds: Vec<(&String, &Facts)> =
        recorded.kinds.iter().filter(|(_, facts)| facts.count > 0).collect();
    kinds.retain(|(name, _)| word.is_none_or(|word| name.to_lowercase().contains(&word.to_lowercase())));
    kinds.sort_by(|(one, of_one), (other, of_other)| of_other.count.cmp(&of_one.count).then(one.cmp(other)));
    let mut text = format!("{:>10}  {:<34} what\n", "events", "kind");
    for (name, facts) in kinds {
        let tells = catalogue.find(name).map_or("", |kind| first_sentence(kind.reports));
        let what = if tells.is_empty() { plain(&facts.label) } else { tells.into() };
        let _ = writeln!(text, "{:>10}  {:<34} {what}", grouped(facts.count), plain(name));
    }
    for damage in &recorded.damage {
        let _ = writeln!(text, "\nsome events are not counted: {}", plain(&damage.to_string()));
    }
    let known = recorded.jvm.as_ref().and_then(|jvm| catalogue.jdks.iter().find(|(_, known)| *known == jvm));
    match (known, &recorded.jvm) {
        // A kind that seems to be missing may be in a damaged part.
        _ if !recorded.damage.is_empty() => {}
        (Some((major, jvm)), _) => {
            let differs = differences(&recorded, catalogue, *major);
            if differs.is_empty() {
                let _ =
                    writeln!(text, "\nof JDK {}: all its kinds are as the catalogue has them", plain(jvm));
            }
            for difference in differs {
                let _ = writeln!(text, "\nthe catalogue is wrong: {difference}");
            }
        }
        (None, Some(jvm)) => {
            let _ = writeln!(
                text,
                "\nof JDK {}, which the catalogue was not made of: kinds may differ",
                plain(jvm)
            );
        }
        (None, None) => text.push_str("\nit does not say which JDK wrote it\n"),
    }
    Ok(text)
}

/// In what a recording of a JDK that the catalogue knows is not as that says.
fn differences(recorded: &Recorded, catalogue: &Catalogue, major: u32) -> Vec<String> {
    let mut differs = Vec::new();
    for kind in &catalogue.kinds {
        match (kind.of_jdk(major), recorded.kinds.get(&kind.name)) {
            (Some(shape), Some(facts)) if shape.form == facts.form => {}
            (Some(_), Some(_)) => differs.push(format!("{} has other fields", kind.name)),
            (Some(_), None) => differs.push(format!("{} is missing", kind.name)),
            (None, Some(_)) => differs.push(format!("{} is new", kind.name)),
            (None, None) => {}
        }
    }
    let unknown =
        recorded.kinds.keys().filter(|name| name.starts_with("jdk.") && catalogue.find(name).is_none());
    differs.extend(unknown.map(|name| format!("{name} is unknown to it")));
    differs
}

/// Returns the first sentence of one of Vouch's own descriptions, without its full stop.
fn in_short(description: &str) -> &str {
    description.split_once(". ").map_or(description, |(first, _)| first).trim_end_matches('.')
}

fn first_sentence(text: &str) -> &str {
    text.split_once(": ").or_else(|| text.split_once(". ")).map_or(text, |(first, _)| first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn as_catalogued(catalogue: &Catalogue, major: u32) -> Recorded {
        let facts = |kind: &JfrEventKind| {
            let shape = kind.of_jdk(major)?.clone();
            let facts = Facts {
                label: kind.label.clone(),
                category: kind.category.clone(),
                form: shape.form,
                setting: shape.default,
                count: 0,
            };
            Some((kind.name.clone(), facts))
        };
        Recorded { jvm: None, damage: Vec::new(), kinds: catalogue.kinds.iter().filter_map(facts).collect() }
    }

    #[test]
    fn differences_from_the_catalogue_are_listed() {
        let catalogue = catalogue();
        let mut recorded = as_catalogued(catalogue, 17);
        assert_eq!(differences(&recorded, catalogue, 17), [""; 0]);
        let park = recorded.kinds.remove("jdk.ThreadPark").unwrap();
        recorded.kinds.get_mut("jdk.CPULoad").unwrap().form.fields.pop();
        recorded.kinds.insert("jdk.Unheard".to_owned(), park.clone());
        recorded.kinds.insert("shop.Order".to_owned(), park);
        let differs = differences(&recorded, catalogue, 17);
        assert_eq!(
            differs,
            ["jdk.CPULoad has other fields", "jdk.ThreadPark is missing", "jdk.Unheard is unknown to it"]
        );
        assert!(!differences(&recorded, catalogue, 8).is_empty());
    }

    #[test]
    fn a_kind_has_its_fields_and_a_part_of_a_name_lists_several() {
        let one = events(Some("jdk.ThreadPark"), None).unwrap();
        assert!(
            one.contains("LockSupport.park") && one.contains("parkedClass") && one.contains("JDK 8"),
            "{one}"
        );
        assert_eq!(events(Some("ThreadPark"), None).unwrap(), one);
        assert!(events(Some("xyzzy"), None).unwrap_err().to_string().contains("events jfr"));
        let several = events(Some("thread"), None).unwrap();
        assert!(several.lines().count() > 5 && several.contains("jdk.ThreadPark"), "{several}");
        assert!(events(None, None).unwrap().contains("vouch events jfr"));
        assert!(events(Some("gc"), None).unwrap().starts_with("gc: "), "Vouch's own comes first");
    }
}
