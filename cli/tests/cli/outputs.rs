//! Tests that a verb replaces an existing file only if the user names it, with the real binary.

use std::fs;
use std::process::Command;

use crate::recover::{folder, recording};

#[test]
fn only_a_file_that_the_user_names_is_replaced() {
    let folder = folder("outputs");
    for name in ["a", "b"] {
        drop(recording(&folder, name));
    }
    let vouch = |arguments: &[&str]| {
        let run = Command::new(env!("CARGO_BIN_EXE_vouch")).args(arguments).current_dir(&folder).output();
        let run = run.unwrap();
        assert!(run.status.success(), "{arguments:?}: {run:?}");
        String::from_utf8([run.stdout, run.stderr].concat()).unwrap()
    };
    let earlier = |name: &str| fs::write(folder.join(name), "earlier").unwrap();
    vouch(&["recover", "a.vouch", "--out", "c.json.gz"]);
    for (arguments, stem, ending) in [
        (vec!["recover", "a.vouch"], "a.recovered", ".json.gz"),
        (vec!["merge", "a.vouch", "b.vouch"], "a.merged", ".json.gz"),
        (vec!["embed", "c.json.gz", "."], "c.sources", ".json.gz"),
        (vec!["flame", "c.json.gz"], "c.flame", ".svg"),
    ] {
        let (default, second) = (format!("{stem}{ending}"), format!("{stem}-2{ending}"));
        earlier(&default);
        let text = vouch(&arguments);
        assert!(text.contains(&second) && !text.contains("replaced"), "{arguments:?}: {text}");
        assert_eq!(fs::read(folder.join(&default)).unwrap(), b"earlier", "{arguments:?}");
        assert!(folder.join(&second).is_file(), "{arguments:?}: {text}");

        let named = format!("named{ending}");
        earlier(&named);
        let text = vouch(&[&arguments[..], &["--out", &named]].concat());
        assert!(text.contains(&format!("{named} (replaced an earlier file)")), "{arguments:?}: {text}");
        assert_ne!(fs::read(folder.join(&named)).unwrap(), b"earlier", "{arguments:?}");
    }
}
