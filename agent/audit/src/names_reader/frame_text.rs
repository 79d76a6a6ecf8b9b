//! Parses the text of a frame as async-profiler, its converters, pprof and Vouch write it.
//!
//! It must never take a native function for a method. A text that is not clearly Java becomes a
//! frame between its neighbours.

use vouch_recording::{FRAMES_LEFT_OUT, why_no_stack};

use crate::pseudo_frames::{PseudoFrame, classify};

/// A frame as parsed from its text.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame<'t> {
    /// A Java method. The class is written as in `java/lang/String`, with suffixes of the VM, and
    /// line 0 means no line.
    Java {
        class: String,
        name: &'t str,
        line: u16,
    },
    Failed(&'t str),
    Pseudo(PseudoFrame),
    LeftOut,
    Remark,
}

/// The text that Vouch's profiles have instead of stacks of threads that run no Java.
const OUTSIDE_JAVA: [&str; 5] = ["outside Java", "JIT compiler", "GC", "VM", "native"];
/// The text for methods without a name; `perf` writes the last one.
const UNKNOWN_METHODS: [&str; 3] = ["unknown method", "no name", "unknown"];
/// Remarks of Vouch's profiles about a frame or a stack.
const REMARKS: [&str; 3] = ["refuted: ", "✗ ", "a method that is being entered or left"];
/// The prefix of the reason for which a walk broke off, in Vouch's profiles.
const WALK_ENDED: &str = "the walk ended: ";
const NO_FRAMES: &str = "no frames";
/// Suffixes that compilers of other languages add to names. A Java method may have these names,
/// too.
const NATIVE_ENDINGS: [&str; 5] = ["cold", "part", "isra", "constprop", "llvm"];
/// The name of the interpreter's code in `perf`'s maps. That code may run any method.
const INTERPRETER: &str = "Interpreter";
/// async-profiler's annotation for frames of the kernel. Its other annotations say how a method was
/// compiled.
const KERNEL_ANNOTATION: &str = "k";

/// Parses the text of one frame.
pub fn parse(text: &str) -> Frame<'_> {
    let text = text.trim();
    if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return parse_bracketed(text, inner);
    }
    let (text, how) = split_annotation(text);
    if how == Some(KERNEL_ANNOTATION) {
        return Frame::Pseudo(PseudoFrame::Native);
    }
    parse_java(text).unwrap_or_else(|| parse_pseudo_frame(text))
}

/// Parses a frame that is not Java, in brackets or not.
fn parse_pseudo_frame(text: &str) -> Frame<'_> {
    match classify("", text) {
        PseudoFrame::WalkFailed => Frame::Failed(text),
        other => Frame::Pseudo(other),
    }
}

/// Parses a text in brackets, which is never a method.
fn parse_bracketed<'t>(text: &'t str, inner: &'t str) -> Frame<'t> {
    if text == FRAMES_LEFT_OUT {
        return Frame::LeftOut;
    }
    if let Some(why) = why_no_stack(text).or_else(|| inner.strip_prefix(WALK_ENDED)) {
        return Frame::Failed(why);
    }
    match inner {
        NO_FRAMES => Frame::Failed(NO_FRAMES),
        _ if REMARKS.iter().any(|remark| inner.starts_with(remark)) => Frame::Remark,
        _ if OUTSIDE_JAVA.contains(&inner) => Frame::Pseudo(PseudoFrame::ThreadStart),
        _ if UNKNOWN_METHODS.contains(&inner) => Frame::Pseudo(PseudoFrame::UnknownMethod),
        _ => parse_pseudo_frame(inner),
    }
}

/// Splits a name from async-profiler's annotation: `foo_[j]`.
fn split_annotation(text: &str) -> (&str, Option<&str>) {
    let split = text.strip_suffix(']').and_then(|text| text.rsplit_once("_["));
    match split {
        Some((name, how)) if how.len() == 1 => (name, Some(how)),
        _ => (text, None),
    }
}

/// Parses a Java frame. Returns `None` if the text is not Java. In doubt the frame is an unknown
/// method, which separates the frames around it.
fn parse_java(text: &str) -> Option<Frame<'_>> {
    const UNKNOWN: Option<Frame<'_>> = Some(Frame::Pseudo(PseudoFrame::UnknownMethod));
    if text == INTERPRETER {
        return UNKNOWN;
    }
    if text.contains("::") || is_library(text) {
        return None;
    }
    let (text, line) = split_line(text);
    let Some(text) = without_descriptor(text) else { return UNKNOWN };
    let (class, name) = text.rsplit_once('.')?;
    // A hidden class may have slashes after its dots.
    let (plain, added) = class.split_at(vouch_verify::proof::hidden_part(class).unwrap_or(class.len()));
    let plain = without_module(plain);
    let is_alone = !plain.contains(['.', '/']);
    if !is_class(plain) || !is_name(name) || is_alone && NATIVE_ENDINGS.contains(&name) {
        return UNKNOWN;
    }
    Some(Frame::Java { class: plain.replace('.', "/") + added, name, line })
}

/// True for the name of a native library, such as `libfoo.so` or `libc.so.6`.
fn is_library(text: &str) -> bool {
    text.ends_with(".so") || text.contains(".so.")
}

/// Returns the method's name without its descriptor, which is `baz` for `baz(I)V`. Returns `None`
/// if the parentheses are not a descriptor: Kotlin's names may have some, and other tools write
/// source types.
fn without_descriptor(text: &str) -> Option<&str> {
    match text.split_once('(') {
        None => Some(text),
        Some((name, rest)) => {
            let (parameters, result) = rest.split_once(')')?;
            let is_type = matches!(result.as_bytes().first(), Some(b'[' | b'L')) && result.ends_with(';')
                || matches!(
                    result.trim_start_matches('['),
                    "V" | "Z" | "B" | "C" | "S" | "I" | "J" | "F" | "D"
                );
            (is_type && !parameters.contains([' ', '.', '('])).then_some(name)
        }
    }
}

/// Returns the class without module and loader, which the JDK writes as
/// `java.base/java.lang.Thread` and `app//com.foo.Bar`.
fn without_module(class: &str) -> &str {
    match class.rsplit_once('/') {
        Some((before, rest)) if rest.contains('.') && (before.contains('.') || before.ends_with('/')) => rest,
        _ => class,
    }
}

/// Splits the line from `com.foo.Bar.baz:12`. async-profiler's converter may write a bci instead,
/// as `baz@7`. A line that is too large for a class file is 0.
fn split_line(text: &str) -> (&str, u16) {
    let number = |between| {
        let (name, number) = text.rsplit_once(between)?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| (name, number.parse().unwrap_or(0)))
    };
    match (number(':'), number('@')) {
        (Some(split), _) => split,
        (None, Some((name, _))) => (name, 0),
        (None, None) => (text, 0),
    }
}

fn is_name(name: &str) -> bool {
    matches!(name, "<init>" | "<clinit>")
        || is_part(name)
            && !name.contains(['<', '>'])
            && !name.starts_with(|first: char| first.is_ascii_digit())
}

fn is_class(class: &str) -> bool {
    class.split(['.', '/']).all(is_part)
}

/// True for a part of a class name that the JVM allows.
fn is_part(part: &str) -> bool {
    !part.is_empty() && !part.contains([';', '[', ']']) && !part.contains(char::is_control)
}

/// True for hidden classes in files that leave out the VM's suffixes.
pub fn is_hidden(class: &str) -> bool {
    let form = class.strip_prefix("java/lang/invoke/LambdaForm$");
    class.contains("$$Lambda") || form.is_some_and(|form| form.starts_with("MH") || form.starts_with("DMH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_parsed_in_every_writers_format() {
        for (text, class, name, line) in [
            ("java.util.HashMap.getNode", "java/util/HashMap", "getNode", 0),
            ("java/util/HashMap.getNode_[j]", "java/util/HashMap", "getNode", 0),
            ("Main.<init>:12", "Main", "<init>", 12),
            ("com.foo.Bar$1.run(ILjava/lang/String;)V_[0]", "com/foo/Bar$1", "run", 0),
            ("com.foo.Bar.baz:70000", "com/foo/Bar", "baz", 0),
            ("java.base/java.lang.Thread.run", "java/lang/Thread", "run", 0),
            ("app//a.B.c", "a/B", "c", 0),
            ("shop.Body.part", "shop/Body", "part", 0),
            ("shop.Test$returns 4, when x$1.invoke", "shop/Test$returns 4, when x$1", "invoke", 0),
            ("a.B$$Lambda.0x00007f15a001c7f8.run", "a/B$$Lambda.0x00007f15a001c7f8", "run", 0),
            ("a.B$$Lambda$14/0x0000000800c03000.run_[i]", "a/B$$Lambda$14/0x0000000800c03000", "run", 0),
            ("com/foo/Bar.baz@17_[i]", "com/foo/Bar", "baz", 0),
            ("com.foo.ShopKt.my test", "com/foo/ShopKt", "my test", 0),
        ] {
            assert_eq!(parse(text), Frame::Java { class: class.to_owned(), name, line }, "{text}");
        }
    }

    #[test]
    fn frames_that_are_not_java_are_not_methods() {
        let pseudo = Frame::Pseudo;
        for (text, what) in [
            ("do_syscall_64_[k]", pseudo(PseudoFrame::Native)),
            ("libc.so.6", pseudo(PseudoFrame::Native)),
            ("libjvm.so", pseudo(PseudoFrame::Native)),
            ("memcpy.cold", pseudo(PseudoFrame::UnknownMethod)),
            ("foo.isra.0_[k]", pseudo(PseudoFrame::Native)),
            ("foo.isra.0", pseudo(PseudoFrame::UnknownMethod)),
            ("Body.part", pseudo(PseudoFrame::UnknownMethod)),
            ("a.B.parse(null)", pseudo(PseudoFrame::UnknownMethod)),
            ("a.B.2 plus 2", pseudo(PseudoFrame::UnknownMethod)),
            ("Interpreter", pseudo(PseudoFrame::UnknownMethod)),
            ("std::vector<int>::push_back(int)", pseudo(PseudoFrame::Native)),
            ("main", pseudo(PseudoFrame::Native)),
            ("start_thread", pseudo(PseudoFrame::ThreadStart)),
            ("[unknown_Java]", Frame::Failed("unknown_Java")),
            ("break_deopt", Frame::Failed("break_deopt")),
            ("[no_Java_frame]", pseudo(PseudoFrame::NoJava)),
            ("[libc.so.6]", pseudo(PseudoFrame::Native)),
            ("[unknown]", pseudo(PseudoFrame::UnknownMethod)),
            ("[outside Java]", pseudo(PseudoFrame::ThreadStart)),
            ("[no stack: in a safepoint]", Frame::Failed("in a safepoint")),
            ("[the walk ended: break_deopt]", Frame::Failed("break_deopt")),
            ("[frames left out]", Frame::LeftOut),
            ("[refuted: wrong_root]", Frame::Remark),
            ("[✗ no such call: the bytecode calls A.b()]", Frame::Remark),
        ] {
            assert_eq!(parse(text), what, "{text}");
        }
    }
}
