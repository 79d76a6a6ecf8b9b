//! What a frame is called, by whoever writes names: async-profiler and what is made of its recordings, `perf`, pprof, Vouch itself.
//!
//! It must never take a native function for a method: what is none of Java's is between the two that stand around it.

use vouch_recording::{LEFT_OUT, why_no_stack};

use crate::foreign::{Foreign, meaning};

/// A frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'t> {
    /// `class` as in `java/lang/String`, with whatever the VM has added; 0 is no line.
    Java {
        class: String,
        name: &'t str,
        line: u16,
    },
    Failed(&'t str),
    Foreign(Foreign),
    LeftOut,
    Remark,
}

/// What Vouch's own profiles have in the place of stacks of threads that run no Java,
const OUTSIDE: [&str; 5] = ["outside Java", "JIT compiler", "GC", "VM", "native"];
/// and of methods that nobody could name; `perf` has the last.
const UNNAMED: [&str; 3] = ["unknown method", "no name", "unknown"];
/// What they say of a frame, or of all that stands on it.
const REMARKS: [&str; 3] = ["refuted: ", "✗ ", "a method that is being entered or left"];
const ENDED: &str = "the walk ended: ";
const NO_FRAMES: &str = "no frames";
/// What compilers of other languages put behind a name.
const NATIVE_ENDINGS: [&str; 6] = ["so", "cold", "part", "isra", "constprop", "llvm"];
/// Of the kernel; what async-profiler says of others is how they were compiled.
const KERNEL: &str = "k";

pub fn frame(text: &str) -> Frame<'_> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return stand_in(text, inner);
    }
    let (text, how) = annotated(text);
    if how == Some(KERNEL) {
        return Frame::Foreign(Foreign::Native);
    }
    java(text).unwrap_or_else(|| foreign(text))
}

/// async-profiler's own words, which stand in brackets or not.
fn foreign(text: &str) -> Frame<'_> {
    match meaning("", text) {
        Foreign::Failed => Frame::Failed(text),
        foreign => Frame::Foreign(foreign),
    }
}

/// What stands in brackets is no method.
fn stand_in<'t>(text: &'t str, inner: &'t str) -> Frame<'t> {
    if text == LEFT_OUT {
        return Frame::LeftOut;
    }
    if let Some(why) = why_no_stack(text).or_else(|| inner.strip_prefix(ENDED)) {
        return Frame::Failed(why);
    }
    match inner {
        NO_FRAMES => Frame::Failed(NO_FRAMES),
        _ if REMARKS.iter().any(|remark| inner.starts_with(remark)) => Frame::Remark,
        _ if OUTSIDE.contains(&inner) => Frame::Foreign(Foreign::Beginning),
        _ if UNNAMED.contains(&inner) => Frame::Foreign(Foreign::Unnamed),
        _ => foreign(inner),
    }
}

/// A name without what async-profiler says of it: `foo_[j]`.
fn annotated(text: &str) -> (&str, Option<&str>) {
    let split = text.strip_suffix(']').and_then(|text| text.rsplit_once("_["));
    match split {
        Some((name, how)) if how.len() == 1 => (name, Some(how)),
        _ => (text, None),
    }
}

fn java(text: &str) -> Option<Frame<'_>> {
    // perf's maps of Java have `Lcom/foo/Bar;::baz`.
    if let Some((class, name)) = text.strip_prefix('L').and_then(|text| text.split_once(";::")) {
        return (is_class(class) && is_name(name)).then(|| Frame::Java {
            class: class.to_owned(),
            name,
            line: 0,
        });
    }
    if text.contains("::") {
        return None;
    }
    let (text, line) = with_line(text);
    let text = text.split_once('(').map_or(text, |(name, _)| name);
    let (class, name) = text.rsplit_once('.')?;
    // In a hidden class's name there may be slashes behind the dots.
    let (plain, added) = class.split_at(vouch_proof::hidden_part(class).unwrap_or(class.len()));
    let is_java = is_class(plain) && is_name(name) && !NATIVE_ENDINGS.contains(&name);
    is_java.then(|| Frame::Java { class: plain.replace('.', "/") + added, name, line })
}

/// `com.foo.Bar.baz:12`; async-profiler's converter can write the bci, too, as `baz@7`, or in the place of the line.
fn with_line(text: &str) -> (&str, u16) {
    let number =
        |between| text.rsplit_once(between).and_then(|(name, number)| Some((name, number.parse().ok()?)));
    match (number(':'), number('@')) {
        (Some(split), _) => split,
        (None, Some((name, _))) => (name, 0),
        (None, None) => (text, 0),
    }
}

fn is_name(name: &str) -> bool {
    let special = matches!(name, "<init>" | "<clinit>");
    special || is_part(name) && !name.starts_with(|first: char| first.is_ascii_digit())
}

fn is_class(class: &str) -> bool {
    let parts = class.split(['.', '/']);
    !class.is_empty() && parts.into_iter().all(is_part)
}

/// The JVM allows nearly all letters; native code's names have those that it does not, or that no compiler of a JVM's languages makes.
fn is_part(part: &str) -> bool {
    !part.is_empty()
        && !part.contains(|letter: char| ";[]<>()*&~@,=\"".contains(letter) || letter.is_control())
}

/// True for classes without a name of their own, where what the VM has added is left out.
pub fn is_hidden(class: &str) -> bool {
    let form = class.strip_prefix("java/lang/invoke/LambdaForm$");
    class.contains("$$Lambda") || form.is_some_and(|form| form.starts_with("MH") || form.starts_with("DMH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_known_by_whoever_wrote_them() {
        for (text, class, name, line) in [
            ("java.util.HashMap.getNode", "java/util/HashMap", "getNode", 0),
            ("java/util/HashMap.getNode_[j]", "java/util/HashMap", "getNode", 0),
            ("Main.<init>:12", "Main", "<init>", 12),
            ("com.foo.Bar$1.run(ILjava/lang/String;)V_[0]", "com/foo/Bar$1", "run", 0),
            ("Lcom/foo/Bar;::baz", "com/foo/Bar", "baz", 0),
            ("a.B$$Lambda.0x00007f15a001c7f8.run", "a/B$$Lambda.0x00007f15a001c7f8", "run", 0),
            ("a.B$$Lambda$14/0x0000000800c03000.run_[i]", "a/B$$Lambda$14/0x0000000800c03000", "run", 0),
            ("com/foo/Bar.baz@17_[i]", "com/foo/Bar", "baz", 0),
            ("com.foo.ShopKt.my test", "com/foo/ShopKt", "my test", 0),
        ] {
            assert_eq!(frame(text), Frame::Java { class: class.to_owned(), name, line }, "{text}");
        }
    }

    #[test]
    fn what_is_none_of_javas_is_no_method() {
        let foreign = Frame::Foreign;
        for (text, what) in [
            ("do_syscall_64_[k]", foreign(Foreign::Native)),
            ("libc.so.6", foreign(Foreign::Native)),
            ("libjvm.so", foreign(Foreign::Native)),
            ("memcpy.cold", foreign(Foreign::Native)),
            ("std::vector<int>::push_back(int)", foreign(Foreign::Native)),
            ("main", foreign(Foreign::Native)),
            ("start_thread", foreign(Foreign::Beginning)),
            ("[unknown_Java]", Frame::Failed("unknown_Java")),
            ("break_deopt", Frame::Failed("break_deopt")),
            ("[no_Java_frame]", foreign(Foreign::NoJava)),
            ("[libc.so.6]", foreign(Foreign::Native)),
            ("[unknown]", foreign(Foreign::Unnamed)),
            ("[outside Java]", foreign(Foreign::Beginning)),
            ("[no stack: in a safepoint]", Frame::Failed("in a safepoint")),
            ("[the walk ended: break_deopt]", Frame::Failed("break_deopt")),
            ("[frames left out]", Frame::LeftOut),
            ("[refuted: wrong_root]", Frame::Remark),
            ("[✗ no such call: the bytecode calls A.b()]", Frame::Remark),
        ] {
            assert_eq!(frame(text), what, "{text}");
        }
    }
}
