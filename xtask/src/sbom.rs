//! Lists the content of a release: all packages that are in it, in the CycloneDX format, and the
//! texts of their licences.
//!
//! It must list only packages that are linked into the released files, and never those that only
//! build or test them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Value, json};

/// The names of the packages that are released.
const RELEASED: [&str; 2] = ["vouch", "vouch-cli"];

/// Reads what is linked besides cargo's packages, in groups of four: name, version, licence, and
/// the file with the licence's text, or nothing.
fn others(told: &[PathBuf]) -> Result<Vec<Value>> {
    let fours = told.chunks(4).map(|told| match told {
        [name, version, license, text] => {
            let said = |path: &PathBuf| path.to_string_lossy().into_owned();
            Ok(json!({ "name": said(name), "version": said(version), "license": said(license), "license_file": said(text) }))
        }
        _ => Err(anyhow!("what is linked besides has a name, a version, a licence, and a file for that")),
    });
    fours.collect()
}

/// Writes both files into a folder. `metadata` is the output of `cargo metadata --filter-platform
/// …`.
pub fn write(metadata: &Path, folder: &Path, besides: &[PathBuf]) -> Result<()> {
    let metadata: Value =
        serde_json::from_str(&fs::read_to_string(metadata).with_context(|| metadata.display().to_string())?)?;
    let packages = linked(&metadata)?;
    let (own, mut foreign): (Vec<_>, Vec<_>) =
        packages.into_iter().partition(|package| package["source"].is_null());
    let besides = others(besides)?;
    foreign.extend(&besides);
    let version =
        own.iter().find_map(|package| package["version"].as_str()).context("no package is our own")?;
    let list = serde_json::to_string_pretty(&list(version, &foreign))?;
    let name = || folder.display().to_string();
    fs::write(folder.join("sbom.cdx.json"), list + "\n").with_context(name)?;
    fs::write(folder.join("THIRD-PARTY.txt"), texts(&foreign)?).with_context(name)
}

/// Returns the released packages, and all packages that are linked with them, by name.
fn linked(metadata: &Value) -> Result<Vec<&Value>> {
    let all = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: HashMap<String, &Value> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|package| (text(&package["id"]), package))
        .collect();
    let nodes: HashMap<String, Value> =
        all(&metadata["resolve"]["nodes"]).into_iter().map(|node| (text(&node["id"]), node)).collect();
    let is_macro = |id: &String| {
        packages.get(id).is_some_and(|package| {
            all(&package["targets"]).iter().any(|target| {
                target["kind"].as_array().is_some_and(|kind| kind.contains(&json!("proc-macro")))
            })
        })
    };
    let mut open: Vec<String> = packages
        .iter()
        .filter(|(_, package)| {
            package["source"].is_null() && RELEASED.contains(&package["name"].as_str().unwrap_or_default())
        })
        .map(|(id, _)| id.clone())
        .collect();
    if open.len() != RELEASED.len() {
        bail!("cargo metadata does not have the packages that are released");
    }
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if is_macro(&id) || !seen.insert(id.clone()) {
            continue;
        }
        for other in nodes.get(&id).map(|node| all(&node["deps"])).unwrap_or_default() {
            if all(&other["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()) {
                open.push(text(&other["pkg"]));
            }
        }
    }
    let mut linked: Vec<&Value> = seen.iter().filter_map(|id| packages.get(id).copied()).collect();
    linked.sort_by_key(|package| (text(&package["name"]), text(&package["version"])));
    Ok(linked)
}

fn list(version: &str, packages: &[&Value]) -> Value {
    let component = |package: &&Value| {
        let [name, version, license, repository] =
            ["name", "version", "license", "repository"].map(|key| package[key].as_str());
        let (name, version) = (name.unwrap_or_default(), version.unwrap_or_default());
        let mut component = json!({
            "type": "library",
            "bom-ref": format!("{name}@{version}"),
            "name": name,
            "version": version,
            // Some packages still write a slash instead of OR.
            "licenses": [{ "expression": license.unwrap_or("NOASSERTION").replace('/', " OR ") }],
        });
        if package["manifest_path"].is_string() {
            component["purl"] = json!(format!("pkg:cargo/{name}@{version}"));
        }
        if let Some(repository) = repository {
            component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
        }
        component
    };
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "vouch",
                "name": "vouch",
                "version": version,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": packages.iter().map(component).collect::<Vec<_>>(),
    })
}

/// Returns the texts of a package's licences. They are beside its manifest. A package without a
/// manifest has the path of its licence's file instead.
fn texts_of(package: &Value) -> Result<Vec<String>> {
    let Some(manifest) = package["manifest_path"].as_str() else {
        let named = package["license_file"].as_str().filter(|file| !file.is_empty());
        let read = |file: &str| fs::read_to_string(file).with_context(|| file.to_owned());
        return named.map(read).into_iter().collect();
    };
    let folder = Path::new(manifest).parent().context("a package has no folder")?;
    let files = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    let is_text = |name: &str| {
        ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|word| name.to_uppercase().starts_with(word))
    };
    let texts = files.flatten().filter(|file| is_text(&file.file_name().to_string_lossy()));
    Ok(texts.filter_map(|file| fs::read_to_string(file.path()).ok()).collect())
}

/// Returns each licence text once, with the packages that have it.
fn texts(packages: &[&Value]) -> Result<String> {
    let mut packages_by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without = Vec::new();
    for package in packages {
        let [name, version] = ["name", "version"].map(|key| package[key].as_str().unwrap_or_default());
        let label = format!("{name} {version} ({})", package["license"].as_str().unwrap_or("see below"));
        let texts = texts_of(package)?;
        if texts.is_empty() {
            without.push(label.clone());
        }
        for text in texts {
            packages_by_text.entry(text.trim().to_owned()).or_default().push(label.clone());
        }
    }
    let mut all: Vec<_> = packages_by_text
        .into_iter()
        .map(|(text, mut packages)| {
            packages.sort();
            packages.dedup();
            (packages, text)
        })
        .collect();
    all.sort();
    let mut told = String::from("What Vouch is built of, with the licences of each.\n");
    for (packages, text) in all {
        let _ = write!(told, "\n{}\n{}\n\n{text}\n", "-".repeat(78), packages.join("\n"));
    }
    if !without.is_empty() {
        let _ = write!(
            told,
            "\n{}\nTheir packages carry no text of the licence that they name:\n{}\n",
            "-".repeat(78),
            without.join("\n")
        );
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests a list in which Vouch is linked with `a`, and `a` with `b`. A macro, and packages for
    /// a build and a test, must not be listed.
    #[test]
    fn what_is_linked_is_listed_and_nothing_else() {
        let package = |name: &str, kind: &str, own: bool| {
            let source = if own { json!(null) } else { json!("registry") };
            json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source, "targets": [{ "kind": [kind] }],
                "manifest_path": format!("{}/Cargo.toml", env!("CARGO_MANIFEST_DIR")) })
        };
        let node = |name: &str, deps: &[(&str, Option<&str>)]| {
            let deps: Vec<Value> = deps
                .iter()
                .map(|(name, kind)| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] }))
                .collect();
            json!({ "id": name, "deps": deps })
        };
        let metadata = json!({
            "packages": [
                package("vouch", "cdylib", true), package("vouch-cli", "bin", true), package("a", "lib", false), package("b", "lib", false),
                package("derive", "proc-macro", false), package("builds", "lib", false), package("tests", "lib", false),
            ],
            "resolve": { "nodes": [
                node("vouch", &[("a", None), ("derive", None), ("builds", Some("build")), ("tests", Some("dev"))]),
                node("vouch-cli", &[]), node("a", &[("b", None)]), node("b", &[]), node("derive", &[("tests", None)]),
            ] },
        });
        let linked = linked(&metadata).unwrap();
        let names: Vec<&str> = linked.iter().map(|package| package["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "b", "vouch", "vouch-cli"]);
        let list = list("0.1.0", &linked[..2]);
        assert_eq!(list["components"][1]["purl"], "pkg:cargo/b@1.0.0");
        assert_eq!(list["components"][1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert!(texts(&linked[..2]).unwrap().contains("a 1.0.0 (MIT/Apache-2.0)"));
    }

    #[test]
    fn what_the_linker_brings_is_listed_with_its_licence() {
        let file = std::env::temp_dir().join(format!("vouch-licence-{}", std::process::id()));
        fs::write(&file, "do as you like\n").unwrap();
        let told = ["musl", "1.2", "MIT"].map(PathBuf::from);
        let besides = others(&[told.to_vec(), vec![file.clone()]].concat()).unwrap();
        let besides: Vec<&Value> = besides.iter().collect();
        assert_eq!(list("1", &besides)["components"][0]["name"], "musl");
        assert_eq!(list("1", &besides)["components"][0]["purl"], Value::Null);
        let told_of = texts(&besides).unwrap();
        assert!(told_of.contains("musl 1.2 (MIT)") && told_of.contains("do as you like"), "{told_of}");
        fs::remove_file(&file).unwrap();
        assert!(texts(&besides).is_err());
        assert!(others(&told).is_err());
    }
}
