//! Finds the top frame of a thread that waits in its signal handler: a compiled frame with all that
//! is inlined in it, or interpreted frames.
//!
//! The top frame is at the interrupted pc, or at the last Java frame's pc if the thread has left
//! Java. It must be called only while the thread waits. A top frame that is not certain is `None`.

use vouch_hotspot::vmstructs::{CodeLayout, read_u32, read_word};
use vouch_unwind::code_cache::BlobKind;
use vouch_unwind::context::Registers;
use vouch_unwind::memory::Memory;

use vouch_collect::compiled::{CompiledFrame, PcKind};
use vouch_collect::jvm::{CodeAt, Top, TopFrame};

use super::code::CompiledCode;

/// A Java frame, by the code at its pc.
enum JavaFrame {
    Interpreted,
    Compiled(CompiledFrame),
}

/// The code of a JVM, which a pc is looked up in.
#[derive(Debug, Clone, Copy)]
pub struct Code<'c> {
    pub layout: &'c CodeLayout,
    pub compiled: &'c CompiledCode,
}

/// Finds the frames of a thread that may return before its next poll. `at` are the registers at
/// which it was interrupted.
pub fn top(at: Registers, java_thread: usize, code: Code<'_>) -> Top {
    // `_thread_in_native` and `_thread_blocked`. In `_thread_in_vm`, the wrapper of a native method
    // may have done its last poll already.
    const AWAY: [u32; 2] = [4, 10];
    let state = java_thread.checked_add(code.layout.state).and_then(read_u32);
    Top { frame: frame(at, java_thread, code), away: state.is_some_and(|state| AWAY.contains(&state)) }
}

fn frame(at: Registers, java_thread: usize, code: Code<'_>) -> Option<TopFrame> {
    let (frame, fp) = match java_frame(at.pc, PcKind::Interrupted, code) {
        Some(frame) => (frame, Some(at.fp)),
        None => last_java_frame(java_thread, code)?,
    };
    match frame {
        JavaFrame::Compiled(CompiledFrame { method, frames }) => {
            Some(TopFrame { frames, outermost: Some(method) })
        }
        // The interpreter polls before the end of a method. After that poll, the caller may run and
        // return as well.
        JavaFrame::Interpreted => match java_frame(return_address(fp?)?, PcKind::ReturnAddress, code)? {
            JavaFrame::Interpreted => Some(TopFrame { frames: 2, outermost: None }),
            JavaFrame::Compiled(CompiledFrame { method, frames }) => {
                Some(TopFrame { frames: frames + 1, outermost: Some(method) })
            }
        },
    }
}

/// Finds the kind of code at an address.
pub fn code_at(pc: usize, Code { layout, compiled }: Code<'_>, memory: &impl Memory) -> CodeAt {
    if is_interpreter(pc, layout) {
        return CodeAt::Interpreter;
    }
    let unnamed = || match layout.code_cache.and_then(|code_cache| code_cache.kind_at(pc, memory)) {
        Some(BlobKind::Nmethod | BlobKind::Dead) => CodeAt::Unknown,
        Some(BlobKind::Other) | None => CodeAt::Other,
    };
    compiled.method_at(pc).map_or_else(unnamed, CodeAt::Method)
}

/// Returns the top frame for a caller on top of a stack. `pc` is within its call instruction.
pub fn top_at(pc: usize, code: Code<'_>) -> Option<TopFrame> {
    // The debug point of a call is at its return address, after `pc`.
    Some(match java_frame(pc, PcKind::Interrupted, code)? {
        JavaFrame::Interpreted => TopFrame { frames: 1, outermost: None },
        JavaFrame::Compiled(CompiledFrame { method, frames }) => TopFrame { frames, outermost: Some(method) },
    })
}

fn java_frame(pc: usize, kind: PcKind, Code { layout, compiled }: Code<'_>) -> Option<JavaFrame> {
    if is_interpreter(pc, layout) {
        return Some(JavaFrame::Interpreted);
    }
    compiled.frame_at(pc, kind).map(JavaFrame::Compiled)
}

fn is_interpreter(pc: usize, layout: &CodeLayout) -> bool {
    let (begin, end) = layout.interpreter;
    (begin..end).contains(&pc)
}

/// Returns the last Java frame of a thread that has left Java, and its frame pointer.
fn last_java_frame(java_thread: usize, code: Code<'_>) -> Option<(JavaFrame, Option<usize>)> {
    let field = |offset: usize| read_word(java_thread.checked_add(offset)?);
    let sp = field(code.layout.last_sp).filter(|sp| *sp != 0)?;
    let pc = match field(code.layout.last_pc)? {
        0 => read_word(sp.checked_sub(size_of::<usize>())?)?,
        pc => pc,
    };
    Some((java_frame(pc, PcKind::ReturnAddress, code)?, code.layout.last_fp.and_then(field)))
}

/// Reads the return address, which is above the saved frame pointer.
fn return_address(fp: usize) -> Option<usize> {
    read_word(fp.checked_add(size_of::<usize>())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use vouch_collect::compiled;
    use vouch_sample::MethodId;

    const INTERPRETER: usize = 0x9_0000_0000;
    /// The address of compiled code that no other test uses. It has two inlined frames up to the
    /// offset 0x10, and one after it.
    const CODE: usize = 0x9_1000_0000;
    const METHOD: MethodId = MethodId(0x77);
    /// The layout of a JavaThread of four words: its state, and the last Java frame's registers.
    const LAYOUT: CodeLayout = CodeLayout {
        interpreter: (INTERPRETER, INTERPRETER + 0x1000),
        code_cache: None,
        stack: None,
        state: 0,
        last_sp: 8,
        last_pc: 16,
        last_fp: Some(24),
    };
    const CODE_OF_JVM: Code<'_> = Code { layout: &LAYOUT, compiled: &CompiledCode::Reported };
    const JAVA: usize = 8;

    /// Finds the top of a thread that was interrupted at `pc` in a frame with the return address
    /// `caller`. `last_java_pc` is the pc of its last Java frame.
    fn find(pc: usize, caller: usize, state: usize, last_java_pc: Option<usize>) -> Top {
        compiled::on_load(METHOD, CODE, 0x40, [(CODE + 0x10, 2), (CODE + 0x20, 1)].into_iter());
        let frame = [0, caller];
        // The last Java frame's pc is 0, so it is read below the stack pointer.
        let stack = [last_java_pc.unwrap_or(0), 0];
        let last_sp = if last_java_pc.is_some() { stack.as_ptr() as usize + 8 } else { 0 };
        let java_thread = [state, last_sp, 0, frame.as_ptr() as usize];
        let at = Registers { pc, sp: 0, fp: frame.as_ptr() as usize };
        std::hint::black_box((&frame, &stack));
        top(at, java_thread.as_ptr() as usize, CODE_OF_JVM)
    }

    fn frames(top: Top) -> Option<(usize, Option<MethodId>)> {
        top.frame.map(|frame| (frame.frames, frame.outermost))
    }

    #[test]
    fn a_compiled_frame_counts_with_its_inlined_frames() {
        assert_eq!(frames(find(CODE + 8, 0, JAVA, None)), Some((2, Some(METHOD))));
        // An interrupted pc is looked up after a debug point, a return address at it.
        assert_eq!(frames(find(CODE + 0x10, 0, JAVA, None)), Some((1, Some(METHOD))));
        assert_eq!(frames(find(1, 0, 6, Some(CODE + 0x10))), Some((2, Some(METHOD))));
        assert_eq!(frames(find(CODE + 0x40, 0, JAVA, None)), None, "after its end");
    }

    #[test]
    fn an_interpreted_frame_counts_with_its_caller() {
        let interpreted = INTERPRETER + 0x10;
        assert_eq!(frames(find(interpreted, interpreted, JAVA, None)), Some((2, None)));
        assert_eq!(frames(find(interpreted, CODE + 0x10, JAVA, None)), Some((3, Some(METHOD))));
        assert_eq!(frames(find(1, CODE + 0x20, 6, Some(interpreted))), Some((2, Some(METHOD))));
        assert_eq!(frames(find(interpreted, 1, JAVA, None)), None, "an unknown caller");
        assert_eq!(frames(find(1, interpreted, JAVA, None)), None, "it has not left Java");
    }

    #[test]
    fn a_caller_has_the_frames_of_its_return_address() {
        find(0, 0, JAVA, None);
        let caller = |pc| top_at(pc, CODE_OF_JVM).map(|top| (top.frames, top.outermost));
        // Within the calls that return to 0x10 and to 0x11.
        assert_eq!(caller(CODE + 0xf), Some((2, Some(METHOD))));
        assert_eq!(caller(CODE + 0x10), Some((1, Some(METHOD))));
        assert_eq!((caller(INTERPRETER), caller(1)), (Some((1, None)), None));
        let code = [CODE, INTERPRETER, 1].map(|pc| code_at(pc, CODE_OF_JVM, &read_word));
        assert_eq!(code, [CodeAt::Method(METHOD), CodeAt::Interpreter, CodeAt::Other]);
    }

    #[test]
    fn a_thread_is_away_only_in_native_code_or_blocked() {
        let away = (0..16).filter(|state| find(CODE, 0, *state, None).away);
        assert_eq!(away.collect::<Vec<usize>>(), [4, 10]);
    }
}
