//! Tests with small profiles, and with sources in folders and archives, of the wrong version and
//! damaged ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::document::Part;
use serde_json::{Value, json};

use crate::sources::matching::is_version;
use crate::sources::{DEFAULT_MAX_BYTES, Embedded, embed};

/// A folder for one test, which is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("vouch-sources-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let file = self.0.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
        file
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A source file for a test: its path, its jar or module, the lines in which code ran, and the
/// number of samples with it on top.
type File<'a> = (&'a str, &'a str, &'a [u32], usize);

/// Makes a profile with one function for each file, one frame for each line, and one stack for each
/// frame.
fn profile(files: &[File<'_>]) -> Value {
    let mut strings = Vec::new();
    let (mut frames, mut lines, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (path, resource, ran, count)) in files.iter().enumerate() {
        strings.extend([*path, *resource]);
        samples.extend(std::iter::repeat_n(frames.len(), *count));
        frames.extend(ran.iter().map(|_| at));
        lines.extend(ran.iter().copied());
    }
    let rows = files.len();
    let texts: Vec<usize> = (0..rows).map(|at| 2 * at).collect();
    json!({
        "meta": { "vouch": { "jdk": "OpenJDK 64-Bit Server VM 25.0.3+9-LTS" } },
        "shared": {
            "stringArray": strings,
            "sources": { "length": rows, "filename": texts, "content": vec![Value::Null; rows] },
            "resourceTable": { "length": rows, "name": texts.iter().map(|at| at + 1).collect::<Vec<_>>() },
            "funcTable": {
                "length": rows, "source": (0..rows).collect::<Vec<_>>(), "resource": (0..rows).collect::<Vec<_>>(),
                "lineNumber": files.iter().map(|(_, _, ran, _)| ran[0]).collect::<Vec<_>>(),
            },
            "frameTable": { "length": frames.len(), "func": frames, "line": lines },
            "stackTable": { "length": frames.len(), "frame": (0..frames.len()).collect::<Vec<_>>() },
        },
        "threads": [{ "samples": { "stack": samples, "weight": Value::Null } }],
    })
}

/// Adds sources to a profile, and returns the texts by row and the result.
fn embedded(profile: &Value, paths: &[&Path], max_bytes: u64) -> (Vec<Option<String>>, Embedded) {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path.to_path_buf()).collect();
    let mut document = Part::from_value(profile).unwrap();
    let embedded = embed(&mut document, &paths, max_bytes).unwrap();
    let sources: Part = document.get::<Part>("shared").unwrap().get("sources").unwrap();
    (sources.get("content").unwrap(), embedded)
}

/// Returns the text of the only file, or the reason why it has none.
fn text_of(file: File<'_>, paths: &[&Path]) -> Result<String, String> {
    let (mut texts, mut embedded) = embedded(&profile(&[file]), paths, DEFAULT_MAX_BYTES);
    let why = embedded.left_out.pop().map(|(_, why)| why);
    texts.pop().unwrap().ok_or_else(|| why.unwrap_or_else(|| "not found".to_owned()))
}

const BAR: &str = "package com.foo;\n\nclass Bar {\n  void a() { }\n}\n";

#[test]
fn a_text_is_found_below_any_folder() {
    let scratch = Scratch::new("below");
    scratch.file("shop/src/main/java/com/foo/Bar.java", BAR);
    scratch.file(".git/com/foo/Bar.java", "package com.foo;\n\n\nclass Hidden { }\n");
    assert_eq!(text_of(("com/foo/Bar.java", "", &[4], 1), &[&scratch.0]).unwrap(), BAR);
    let named = scratch.0.join("shop/src/main/java/com/foo/Bar.java");
    assert_eq!(text_of(("com/foo/Bar.java", "", &[4], 1), &[&named]).unwrap(), BAR, "named itself");
}

#[test]
fn a_text_that_does_not_match_is_rejected_with_the_reason() {
    let scratch = Scratch::new("fits");
    scratch.file("com/foo/Bar.java", BAR);
    let why = |path, lines| text_of((path, "", lines, 1), &[&scratch.0]).unwrap_err();
    assert!(why("com/foo/Bar.java", &[4, 6]).contains("code ran in line 6, and it has 5"));
    assert!(why("com/foo/Bar.java", &[4, 2]).contains("no code in its line 2"));
    assert!(why("com/other/Bar.java", &[4]).contains("is of package com.foo"));
    assert!(why("Bar.java", &[4]).contains("is of package com.foo"));
    assert_eq!(why("com/foo/Baz.java", &[4]), "not found");
    scratch.file("default/Main.java", "// a program\nclass Main { int x = 1; }\n");
    assert!(why("com/foo/Main.java", &[2]).contains("is of no package"));
    assert!(why("Main.java", &[1]).contains("no code in its line 1"));
    assert!(text_of(("Main.java", "", &[2], 1), &[&scratch.0]).is_ok());
}

#[test]
fn a_package_is_found_where_languages_put_it() {
    let scratch = Scratch::new("package");
    let holds = |name: &str, text: &str, path: &str| {
        let folder = scratch.0.join(name.replace('.', "-"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), text).unwrap();
        text_of((path, "", &[1], 1), &[&folder])
    };
    let licence = "/* package of.another; */ package com.foo; // really\nclass A { }\n";
    assert!(holds("A.java", licence, "com/foo/A.java").is_ok());
    let star = "@Deprecated /* one\n * package x;\n */\npackage com.foo;\n";
    assert!(holds("package-info.java", star, "com/foo/package-info.java").is_ok());
    // Kotlin files need no package folders, and inlined code has lines beyond the end of the file.
    let kotlin = "@file:JvmName(\"K\")\npackage com.`in`.foo\nfun a() = 1\n";
    assert!(holds("K.kt", kotlin, "com/in/foo/K.kt").is_ok());
    assert!(text_of(("com/in/foo/K.kt", "", &[1, 900], 1), &[&scratch.0]).is_ok());
    assert!(holds("S.scala", "package com\npackage foo\nclass S\n", "com/foo/S.scala").is_ok());
    assert!(holds("package.scala", "package com\npackage object foo { }\n", "com/foo/package.scala").is_ok());
    assert!(holds("T.scala", "package com.fo\n", "com/foo/T.scala").is_err());
    assert!(holds("U.scala", "package com\nclass U\n", "com/foo/U.scala").is_err());
    // For other languages only the folder decides whether a text matches.
    assert!(holds("core.clj", "(ns app.core)\n", "app/core.clj").is_err());
    scratch.file("clj/app/core.clj", "(ns app.core)\n");
    assert!(text_of(("app/core.clj", "", &[1], 1), &[&scratch.0.join("clj")]).is_ok());
}

#[test]
fn the_archive_of_the_loaded_jar_has_priority() {
    let scratch = Scratch::new("jars");
    let other = BAR.replace("a()", "b()");
    for (version, text) in [("1.0", BAR), ("2.0", other.as_str())] {
        scratch.file(
            &format!("repo/bar-{version}-sources.jar"),
            vouch_classes::archive::from_texts(&[("com/foo/Bar.java", text)]),
        );
    }
    let text = |jar| text_of(("com/foo/Bar.java", jar, &[4], 1), &[&scratch.0]);
    assert_eq!(text("bar-1.0.jar").unwrap(), BAR);
    assert_eq!(text("bar-2.0.jar").unwrap(), other);
    assert!(text("fat.jar").unwrap_err().contains("both fit, and differ"), "neither is nearer");
    // The first path has priority.
    let first = scratch.0.join("repo/bar-2.0-sources.jar");
    assert_eq!(text_of(("com/foo/Bar.java", "fat.jar", &[4], 1), &[&first, &scratch.0]).unwrap(), other);
}

#[test]
fn an_archive_of_another_version_has_no_text_that_fits_by_chance() {
    let scratch = Scratch::new("version");
    let names: Vec<String> = (0..8).map(|at| format!("com/foo/F{at}.java")).collect();
    let texts: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), BAR)).collect();
    scratch.file("foo-1-sources.jar", vouch_classes::archive::from_texts(&texts));
    // In one of the files code ran in a line that is empty in this text.
    let lines = |at: usize| if at == 3 { &[2_u32][..] } else { &[4] };
    let files: Vec<File<'_>> =
        names.iter().enumerate().map(|(at, name)| (name.as_str(), "foo-2.jar", lines(at), 1)).collect();
    let (texts, result) = embedded(&profile(&files), &[&scratch.0], DEFAULT_MAX_BYTES);
    assert!(texts.iter().all(Option::is_none), "{:?}", result.lines());
    assert_eq!(
        result.left_out.iter().filter(|(_, why)| why.contains("as other files in it show")).count(),
        7
    );
    // In a folder each file is checked separately.
    for name in &names {
        scratch.file(&format!("tree/{name}"), BAR);
    }
    let (texts, _) = embedded(&profile(&files), &[&scratch.0.join("tree")], DEFAULT_MAX_BYTES);
    assert_eq!(texts.iter().filter(|text| text.is_some()).count(), 7);
}

#[test]
fn sources_of_another_jdk_are_rejected() {
    let scratch = Scratch::new("jdk");
    let string = "package java.lang;\nclass String { }\n";
    scratch.file(
        "jdk/lib/src.zip",
        vouch_classes::archive::from_texts(&[("java.base/java/lang/String.java", string)]),
    );
    let text = |version: &str| {
        scratch.file("jdk/release", format!("JAVA_VERSION=\"{version}\"\n"));
        text_of(("java/lang/String.java", "java.base", &[2], 1), &[&scratch.0.join("jdk")])
    };
    assert_eq!(text("25.0.3").unwrap(), string);
    assert!(text("17.0.2").unwrap_err().contains("is of JDK 17.0.2, and the profile of"));
    assert!(text("25.0").unwrap_err().contains("is of JDK 25.0, "));
    assert!(text("5.0.3").unwrap_err().contains("is of JDK 5.0.3, "));
    assert!(text("1.8.0_402").is_err());
    let eight = "OpenJDK 64-Bit Server VM 25.402-b06";
    assert!(is_version(eight, "1.8.0_402") && !is_version(eight, "1.8.0_40"));
}

#[test]
fn the_hottest_files_come_first_if_the_limit_is_small() {
    let scratch = Scratch::new("room");
    let text = |name: &str| format!("class {name} {{ /* {} */ }}\n", "x".repeat(1000));
    for name in ["A", "B", "C"] {
        scratch.file(&format!("{name}.java"), text(name));
    }
    let files = profile(&[("A.java", "", &[1], 1), ("B.java", "", &[1], 7), ("C.java", "", &[1], 2)]);
    let (texts, result) = embedded(&files, &[&scratch.0], 2_100);
    assert_eq!(texts.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, true]);
    let lines = result.lines();
    assert!(lines[0].contains("2 of 3 files") && lines[0].contains("90.0 %"), "{lines:?}");
    assert!(lines[1].contains("A.java: there is no room"), "{lines:?}");
    // With a larger limit the existing text is kept, and the missing ones are added.
    let mut again = files;
    again["shared"]["sources"]["content"] = json!(["mine", null, null]);
    let (texts, result) = embedded(&again, &[&scratch.0], DEFAULT_MAX_BYTES);
    assert_eq!(texts[0].as_deref(), Some("mine"));
    assert!(result.lines()[0].contains("3 of 3 files"), "{:?}", result.lines());
}

#[test]
fn unreadable_files_are_reported_and_the_search_continues() {
    let scratch = Scratch::new("damage");
    let whole = vouch_classes::archive::from_texts(&[("com/foo/Bar.java", BAR), ("com/foo/Other.java", BAR)]);
    scratch.file("a-sources.jar", &whole[..whole.len() / 2]);
    scratch.file("b-sources.jar", "no archive at all");
    scratch.file("good/com/foo/Bar.java", BAR);
    let (texts, result) =
        embedded(&profile(&[("com/foo/Bar.java", "", &[4], 1)]), &[&scratch.0], DEFAULT_MAX_BYTES);
    assert_eq!(texts[0].as_deref(), Some(BAR));
    assert_eq!(result.unreadable.len(), 2, "{:?}", result.unreadable);
    // An archive with any damaged byte gives the text, an error or nothing, and never another text.
    let damaged = scratch.file("d/d-sources.jar", &whole);
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x41;
        fs::write(&damaged, &bytes).unwrap();
        if let Ok(text) = text_of(("com/foo/Bar.java", "d.jar", &[4], 1), &[&damaged]) {
            assert_eq!(text, BAR, "byte {at}");
        }
    }
    // Opening a pipe without a writer would block forever.
    for name in ["pipes/com/foo/Pipe.java", "pipes/p-sources.jar"] {
        let path = scratch.file(name, "");
        fs::remove_file(&path).unwrap();
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    }
    let why = text_of(("com/foo/Pipe.java", "", &[1], 1), &[&scratch.0.join("pipes")]).unwrap_err();
    assert!(why.contains("is not a file"), "{why}");
    // One text is in Latin-1, and another one is too long.
    scratch.file("x/L.java", b"class L { String s = \"\xe9\"; }\n");
    assert!(text_of(("L.java", "", &[1], 1), &[&scratch.0]).unwrap().contains('é'));
    scratch.file("x/Long.java", vec![b' '; 5 << 20]);
    assert!(text_of(("Long.java", "", &[1], 1), &[&scratch.0]).unwrap_err().contains("longer than 4 MiB"));
}

#[test]
fn a_damaged_profile_is_an_error() {
    let whole = profile(&[("A.java", "", &[1], 1)]);
    for (table, column) in [("funcTable", "source"), ("frameTable", "func"), ("stackTable", "frame")] {
        let mut damaged = whole.clone();
        damaged["shared"][table][column] = json!([7]);
        let wrong =
            embed(&mut Part::from_value(&damaged).unwrap(), &[], DEFAULT_MAX_BYTES).unwrap_err().to_string();
        assert!(wrong.contains("that do not exist"), "{wrong}");
    }
}
