//! Reads files that have only a name for each frame, and perhaps a line: Vouch's own profiles,
//! folded stacks, and pprof.
//!
//! The bytes decide what such a file is. It must never be taken for a recording with bytecode
//! indices, or be read beyond a bound.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use vouch_audit::{Audit, NamedFrame, NamesFileInfo, Progress};

use crate::document;
use crate::error::Error;
use crate::profile::Profile;
use crate::profile::pprof::is_pprof;

const PLAIN_PPROF: NamesFileInfo<'_> =
    NamesFileInfo { kind: "pprof", recorder: "somebody, as pprof", jdk: "", flags: "", shows_hidden: false };
const FOLDED: NamesFileInfo<'_> = NamesFileInfo {
    kind: "folded",
    recorder: "somebody, as folded stacks",
    jdk: "",
    flags: "",
    shows_hidden: false,
};
/// The byte order mark with which some editors begin a text.
const BOM: &[u8] = "\u{feff}".as_bytes();
/// Only this many bytes of a text are used to find out its format.
const LOOKED_AT: u64 = 64 << 10;

/// The format of a file that has only names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A JSON file, which can only be one of Vouch's profiles.
    Profile,
    Folded,
    Pprof,
}

/// Returns the format of a file, or `None` if it is unknown.
pub fn kind(file: &Path) -> Result<Option<Form>, Error> {
    let mut first = Vec::new();
    document::unpacked(file)?
        .take(LOOKED_AT)
        .read_to_end(&mut first)
        .map_err(|why| Error::unreadable(file, why))?;
    let text = first.strip_prefix(BOM).unwrap_or(&first).trim_ascii_start();
    Ok(match text.first() {
        Some(b'{') => Some(Form::Profile),
        _ if is_folded(text) => Some(Form::Folded),
        _ if is_pprof(&first) => Some(Form::Pprof),
        _ => None,
    })
}

/// True if the first line ends with a number, after stacks or a name.
fn is_folded(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let Some(space) = line.iter().rposition(|byte| *byte == b' ') else {
        // The first line may be longer than the bytes that were read, so its number may be missing.
        return line.len() == bytes.len() && line.contains(&b';') && !line.iter().any(u8::is_ascii_control);
    };
    let (stack, count) = (&line[..space], &line[space + 1..]);
    !count.is_empty()
        && count.iter().all(u8::is_ascii_digit)
        && !stack.is_empty()
        && !stack.iter().any(u8::is_ascii_control)
}

/// Adds a file of this format to the audit.
pub fn read(audit: &mut Audit, file: &Path, form: Form, shown: impl FnMut(Progress)) -> Result<(), Error> {
    match form {
        Form::Profile => profile(audit, file),
        Form::Folded => folded(audit, file, shown),
        Form::Pprof => {
            let name = file.display().to_string();
            let bytes = document::unpacked(file)?;
            audit.names_file(&name, PLAIN_PPROF).pprof(bytes).map_err(|why| Error::from(why).of_file(file))
        }
    }
}

fn folded(audit: &mut Audit, file: &Path, mut shown: impl FnMut(Progress)) -> Result<(), Error> {
    let name = file.display().to_string();
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    let mut names = audit.names_file(&name, FOLDED);
    let wrong = names
        .folded(document::unpacked(file)?, |done| shown(Progress::Reading(done.min(size), size)))
        .map_err(|why| Error::unreadable(file, why))?;
    audit.add_unreadable(wrong);
    Ok(())
}

/// Adds a profile of Vouch, which shows all frames.
fn profile(audit: &mut Audit, file: &Path) -> Result<(), Error> {
    let profile = Profile::read(file)?;
    let run = profile.report().map(|report| report.run);
    let recorder = run.as_ref().map_or_else(|| "Vouch".to_owned(), |run| format!("Vouch {}", run.vouch));
    let (jdk, flags) = run.map_or_else(Default::default, |run| (run.jdk, run.vm_flags.join(" ")));
    let info =
        NamesFileInfo { kind: "vouch", recorder: &recorder, jdk: &jdk, flags: &flags, shows_hidden: true };
    let mut names = audit.names_file(&file.display().to_string(), info);
    // Each function with a line is read once.
    let named_frames: Vec<NamedFrame> = (0..profile.stacks())
        .map(|stack| {
            names.frame(profile.function_name(profile.function(stack)), profile.line(stack).unwrap_or(0))
        })
        .collect();
    let threads: Vec<_> =
        profile.threads.iter().map(|thread| names.thread(&thread.name, thread.number())).collect();
    // Each stack of a thread is walked once.
    let mut counts: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for sample in profile.samples() {
        *counts.entry((sample.thread, sample.stack)).or_default() += 1;
    }
    let mut frames = Vec::new();
    for ((thread, stack), count) in counts {
        frames.clear();
        let outwards = std::iter::successors(Some(stack), |stack| profile.caller(*stack));
        frames.extend(outwards.map(|stack| named_frames[stack]));
        frames.reverse();
        names.stack(threads[thread], &frames, count);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folded_stacks_are_lines_that_end_with_a_number() {
        for (text, folded) in [
            ("a;b;c 12\n", true),
            ("[main tid=3];java/lang/Thread.run;Foo.my test 1\r\nx;y 2", true),
            ("main 7", true),
            ("", false),
            ("hello world\n", false),
            ("\u{1}\u{2};x 3\n", false),
            (" 3\n", false),
        ] {
            assert_eq!(is_folded(text.as_bytes().trim_ascii_start()), folded, "{text:?}");
        }
        let looked_at = usize::try_from(LOOKED_AT).unwrap();
        let long = "frame;".repeat(looked_at);
        assert!(is_folded(&long.as_bytes()[..looked_at]));
    }
}
