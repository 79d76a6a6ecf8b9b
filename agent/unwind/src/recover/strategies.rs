//! The strategies by which recovery finds a Java caller that AsyncGetCallTrace did not find.
//!
//! A call leaves its return address on the stack, or in the link register, which the callee pushes.
//! A callee may push the frame pointer below the return address, and then the frame pointer leads
//! to its frame. Compiled Java has frames of a fixed size and needs no frame pointer. Where calls
//! push nothing, C++ has its return address at the low end of its frame. The size of that frame is
//! unknown, so its caller's stack pointer is unknown, too.

use super::interrupted_thread::InterruptedThread;
use super::strategy::{Step, Strategy};
use crate::context::{CALL_PUSHES, Registers};

const WORD: usize = size_of::<usize>();
/// The maximal number of words of the stack that the strategy `probe` reads.
const MAX_WORDS: usize = 64;
/// The maximal number of links of a chain of frame pointers that are followed.
const MAX_LINKS: usize = 16;

/// The number of recovery strategies.
pub const STRATEGIES: usize = 4;

/// The recovery strategies, in the order in which they are tried.
pub static ALL: [Strategy; STRATEGIES] = [
    Strategy { name: "left_java", keeps_leaf: true, sure: true, propose: left_java },
    // Words may have been pushed since the link register was set.
    Strategy { name: "top", keeps_leaf: false, sure: CALL_PUSHES, propose: top },
    Strategy { name: "probe", keeps_leaf: false, sure: false, propose: probe },
    Strategy { name: "frame_pointer", keeps_leaf: false, sure: false, propose: frame_pointer },
];

/// Proposes the last Java frame, if the thread's anchor has a stack pointer but no pc. Such an
/// anchor is being set or cleared.
fn left_java(thread: &InterruptedThread<'_>, number: usize) -> Step {
    if !CALL_PUSHES {
        return Step::End;
    }
    let (sp, fp) = thread.last_java_sp_and_fp();
    let pc = sp.checked_sub(WORD).and_then(|below| thread.word(below)).and_then(|pc| calling(thread, pc));
    match pc {
        Some(pc) if number == 0 => Step::Try(Registers { pc, sp, fp }),
        _ => Step::End,
    }
}

/// Proposes the caller of a frame that has pushed nothing, or only the frame pointer.
fn top(thread: &InterruptedThread<'_>, number: usize) -> Step {
    let Registers { sp, fp, .. } = thread.at;
    match number {
        0 => match thread.link().map(|link| calling(thread, link)) {
            Some(Some(pc)) => Step::Try(Registers { pc, sp, fp }),
            None if CALL_PUSHES => returned(thread, sp, fp),
            _ => Step::Skip,
        },
        1 => match thread.word(sp) {
            Some(pushed) => returned(thread, sp.wrapping_add(WORD), pushed),
            None => Step::End,
        },
        _ => Step::End,
    }
}

/// Proposes the return addresses among the words of the stack, the nearest first.
fn probe(thread: &InterruptedThread<'_>, number: usize) -> Step {
    // The strategy `top` has tried the first two words.
    let slot = thread.at.sp.wrapping_add(number.wrapping_add(2).wrapping_mul(WORD));
    if number >= MAX_WORDS || !thread.is_stack(slot) || !ends_frames(thread) {
        return Step::End;
    }
    // A pushed frame pointer is just below the return address, and it points further out.
    let pushed =
        thread.word(slot.wrapping_sub(WORD)).filter(|pushed| thread.is_stack(*pushed) && *pushed > slot);
    returned(thread, slot, pushed.unwrap_or(thread.at.fp))
}

/// Proposes the first Java caller in the chain of frame pointers. C++ code may keep such a chain.
fn frame_pointer(thread: &InterruptedThread<'_>, number: usize) -> Step {
    if number > 0 {
        return Step::End;
    }
    let mut fp = thread.at.fp;
    for _ in 0..MAX_LINKS {
        let (Some(next), Some(pc)) = (thread.word(fp), thread.word(fp.wrapping_add(WORD))) else { break };
        let sp = fp.wrapping_add(2 * WORD);
        if let Some(calling) = calling(thread, pc) {
            // An interpreted frame needs only its frame pointer.
            if !thread.is_interpreter(pc) && !ends_frames(thread) {
                break;
            }
            return Step::Try(Registers { pc: calling, sp, fp: next });
        }
        if next <= fp {
            break;
        }
        fp = next;
    }
    Step::End
}

/// True if a frame's return address is at the frame's end, so that its position gives the caller's
/// stack pointer.
fn ends_frames(thread: &InterruptedThread<'_>) -> bool {
    CALL_PUSHES || thread.is_in_code()
}

/// Proposes the caller if the word at `slot` is a return address into Java.
fn returned(thread: &InterruptedThread<'_>, slot: usize, fp: usize) -> Step {
    let pc = thread.word(slot).and_then(|pc| calling(thread, pc));
    pc.map_or(Step::Skip, |pc| Step::Try(Registers { pc, sp: slot.wrapping_add(WORD), fp }))
}

/// Returns the pc to begin a walk from, if `pc` is a return address into Java.
///
/// AsyncGetCallTrace takes its first pc for an interrupted instruction, and looks for the next
/// PcDesc after it. The PcDesc of a call is at its return address, so the walk begins one byte
/// before.
fn calling(thread: &InterruptedThread<'_>, pc: usize) -> Option<usize> {
    if thread.is_interpreter(pc) {
        return Some(pc);
    }
    let within = pc.wrapping_sub(1);
    (thread.is_barrier(pc) || thread.is_method(within) && InterruptedThread::follows_call(pc))
        .then_some(within)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::code_cache::CodeCache;
    use crate::jvm_layout::JvmLayout;
    use crate::walker::Subject;
    use core::cell::Cell;
    use core::sync::atomic::AtomicUsize;
    use std::boxed::Box;
    use std::vec::Vec;

    /// Code with the kinds of calls that HotSpot's assemblers write, and with jumps. Comments
    /// between the lines say where the calls end.
    #[cfg(target_arch = "x86_64")]
    const CODE: [u8; 64] = {
        let mut code = [0x90; 64];
        // call rel32: 8. call r10: 19. call [rip + disp32]: 30. call [rsp + disp8]: 40.
        code[3] = 0xe8;
        (code[16], code[17], code[18]) = (0x41, 0xff, 0xd2);
        (code[24], code[25]) = (0xff, 0x15);
        (code[36], code[37], code[38]) = (0xff, 0x54, 0x24);
        // jmp rel32, which ends at 56, is not a call.
        code[51] = 0xe9;
        code
    };
    #[cfg(target_arch = "x86_64")]
    const CALLS: [usize; 4] = [8, 19, 30, 40];
    #[cfg(target_arch = "aarch64")]
    const CODE: [u8; 64] = {
        let mut code = [0; 64];
        // bl: 8. blr x8: 20. bl backwards: 28. blr x30: 40.
        code[7] = 0x94;
        (code[16], code[17], code[18], code[19]) = (0x00, 0x01, 0x3f, 0xd6);
        (code[24], code[25], code[26], code[27]) = (0xfe, 0xff, 0xff, 0x97);
        (code[36], code[37], code[38], code[39]) = (0xc0, 0x03, 0x3f, 0xd6);
        // b and br x8, which end at 52 and 48, are not calls.
        code[51] = 0x14;
        (code[44], code[45], code[46], code[47]) = (0x00, 0x01, 0x1f, 0xd6);
        code
    };
    #[cfg(target_arch = "aarch64")]
    const CALLS: [usize; 4] = [8, 20, 28, 40];
    /// An address that is in neither the code nor the stack of the test thread.
    const NOWHERE: usize = 0x1234_5678;
    /// The address at which the return barrier begins.
    const BARRIER: usize = 0x8765_4321;

    /// Number of words in the heap block: its header, the blob's name, size and state, and the
    /// code.
    const BLOCK: usize = 2 + 6 + CODE.len() / WORD;

    /// A test thread with a stack, and an nmethod with 64 bytes of code. The last eight bytes are
    /// the interpreter.
    struct Thread {
        stack: Vec<usize>,
        /// The fields of the test's JavaThread: stack base, stack size, and the anchor's sp, pc and
        /// fp.
        fields: Box<[usize; 5]>,
        block: Box<[usize; BLOCK]>,
        /// The fields of the test's code heap: low, high, segmap, log2_segment_size.
        heap: Box<[usize; 4]>,
    }

    impl Thread {
        fn new(stack: Vec<usize>) -> Self {
            static MAP: usize = 0;
            static NAME: usize = usize::from_le_bytes(*b"nmethod\0");
            let mut block = Box::new([0; BLOCK]);
            block[0] = 1;
            (block[2], block[3]) = (&raw const NAME as usize, (BLOCK - 2) * WORD);
            for (word, bytes) in block[8..].iter_mut().zip(CODE.chunks_exact(WORD)) {
                *word = usize::from_le_bytes(bytes.try_into().unwrap());
            }
            let low = block.as_ptr() as usize;
            let heap = Box::new([low, low + BLOCK * WORD, &raw const MAP as usize, 10]);
            let mut thread = Self { stack, fields: Box::new([0; 5]), block, heap };
            let size = thread.stack.len() * WORD;
            (thread.fields[0], thread.fields[1]) = (thread.word_at(0) + size, size);
            thread
        }

        /// Returns the address of the stack's word with this index.
        fn word_at(&self, word: usize) -> usize {
            self.stack.as_ptr() as usize + word * WORD
        }

        /// Returns registers with a pc in the interpreter.
        fn at(&self, sp: usize, fp: usize) -> Registers {
            Registers { pc: self.code(61), sp, fp }
        }

        fn code(&self, at: usize) -> usize {
            self.block.as_ptr() as usize + 8 * WORD + at
        }

        /// Returns all candidates that a strategy proposes for these registers.
        fn candidates_of(&self, strategy: &str, at: Registers) -> Option<Vec<Registers>> {
            self.proposed_with(strategy, at, None)
        }

        /// Returns all candidates that a strategy proposes for these registers and this link
        /// register. A second heap has the code of another thread.
        fn proposed_with(
            &self,
            strategy: &str,
            at: Registers,
            other: Option<(usize, &Self)>,
        ) -> Option<Vec<Registers>> {
            let (link, others) = other.map(|(link, other)| (link, other.heap.as_ptr() as usize)).unzip();
            let jvm = JvmLayout {
                env: 0,
                stack_base: 0,
                stack_size: WORD,
                last_sp: 2 * WORD,
                last_pc: 3 * WORD,
                last_fp: 4 * WORD,
                code_cache: CodeCache {
                    heaps: [self.heap.as_ptr() as usize, others.unwrap_or(0), 0, 0, 0, 0, 0, 0],
                    low: 0,
                    high: WORD,
                    segmap: 2 * WORD,
                    log2_segment_size: 3 * WORD,
                    used: 0,
                    header_size: 2 * WORD,
                    name: 0,
                    size: WORD,
                    state: 2 * WORD,
                    first_dead_state: 3,
                },
                interpreter: self.code(56)..self.code(64),
            };
            let (walking, info) = (AtomicUsize::new(0), Cell::default());
            let env = self.fields.as_ptr().cast_mut().cast();
            let subject = Subject {
                env,
                context: core::ptr::null_mut(),
                is_caller: false,
                info: &info,
                walking: &walking,
            };
            // SAFETY: `jvm` has the offsets of the fields in `fields`.
            let thread =
                unsafe { InterruptedThread::new(at, link, &subject, &jvm, BARRIER..BARRIER + 0x10) }?;
            let strategy = ALL.iter().find(|known| known.name == strategy).unwrap();
            let mut proposed = Vec::new();
            for number in 0..10_000 {
                match (strategy.propose)(&thread, number) {
                    Step::Try(candidate) => proposed.push(candidate),
                    Step::Skip => {}
                    Step::End => return Some(proposed),
                }
            }
            panic!("{} has no end", strategy.name);
        }
    }

    // Only for processors that push return addresses.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn return_addresses_follow_calls_or_are_in_the_interpreter() {
        let mut thread = Thread::new(std::vec![0; 8]);
        let found: Vec<usize> = (0..64)
            .filter(|end| {
                thread.stack[2] = thread.code(*end);
                let here = thread.at(thread.word_at(2), NOWHERE);
                let callers = thread.candidates_of("top", here).unwrap();
                // The walk begins inside the call instruction, except in the interpreter.
                let caller = thread.code(*end) - usize::from(*end < 56);
                let expected = Registers { pc: caller, sp: thread.word_at(3), fp: NOWHERE };
                assert!(callers.is_empty() || callers == [expected], "{end}: {callers:?}");
                !callers.is_empty()
            })
            .collect();
        assert_eq!(found, CALLS.into_iter().chain(56..64).collect::<Vec<usize>>());
    }

    // Only for processors that push return addresses.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_dead_method_is_never_a_caller() {
        let mut thread = Thread::new(std::vec![0; 8]);
        thread.stack[2] = thread.code(CALLS[0]);
        let here = thread.at(thread.word_at(2), NOWHERE);
        assert_eq!(thread.candidates_of("top", here).unwrap().len(), 1);
        thread.block[4] = 3;
        assert_eq!(thread.candidates_of("top", here).unwrap(), []);
    }

    #[test]
    fn a_frame_that_has_pushed_only_the_frame_pointer_has_its_caller_found() {
        let mut thread = Thread::new(std::vec![0; 8]);
        (thread.stack[2], thread.stack[3]) = (thread.word_at(7), thread.code(CALLS[0]));
        let expected = Registers { pc: thread.code(7), sp: thread.word_at(4), fp: thread.word_at(7) };
        assert_eq!(thread.candidates_of("top", thread.at(thread.word_at(2), NOWHERE)).unwrap(), [expected]);
    }

    #[test]
    fn the_link_register_is_the_caller_unless_the_same_code_made_the_call() {
        let mut thread = Thread::new(std::vec![0; 8]);
        let stub = Thread::new(Vec::new());
        let linked = |thread: &Thread, pc, end: usize| {
            let here = Registers { pc, ..thread.at(thread.word_at(2), NOWHERE) };
            thread.proposed_with("top", here, Some((thread.code(end), &stub))).unwrap()
        };
        let expected = Registers { pc: thread.code(CALLS[0] - 1), sp: thread.word_at(2), fp: NOWHERE };
        assert_eq!(linked(&thread, stub.code(12), CALLS[0]), [expected]);
        assert_eq!(linked(&thread, stub.code(12), CALLS[0] + 4), [], "no call ends there");
        assert_eq!(linked(&thread, NOWHERE, CALLS[0]), [], "C++ may have pushed anything");
        // The interrupted method and the interpreter have called other code, which has returned.
        assert_eq!(linked(&thread, thread.code(12), CALLS[0]), []);
        assert_eq!(linked(&thread, thread.code(60), CALLS[0]), []);
        // The link register has been saved since, so the stack pointer is not the caller's.
        thread.stack[5] = thread.code(CALLS[0]);
        assert_eq!(linked(&thread, stub.code(12), CALLS[0]), []);
    }

    #[test]
    fn the_nearest_words_are_probed_first_and_up_to_a_limit() {
        let mut thread = Thread::new(std::vec![0; 200]);
        for word in [0, 1, 5, 9, 65, 66] {
            thread.stack[word] = thread.code(CALLS[1]);
        }
        // A pushed frame pointer leads further out.
        (thread.stack[4], thread.stack[8]) = (thread.word_at(2), thread.word_at(30));
        let here = thread.at(thread.word_at(0), NOWHERE);
        let places: Vec<(usize, usize)> =
            thread.candidates_of("probe", here).unwrap().iter().map(|it| (it.sp, it.fp)).collect();
        let after = |word: usize| thread.word_at(word + 1);
        // The strategy `top` tries the nearest two words.
        assert_eq!(places, [(after(5), NOWHERE), (after(9), thread.word_at(30)), (after(65), NOWHERE)]);
    }

    #[test]
    fn a_candidate_may_be_the_return_barrier() {
        let mut thread = Thread::new(std::vec![0; 16]);
        (thread.stack[5], thread.stack[9]) = (BARRIER, BARRIER + 0x10);
        let here = thread.at(thread.word_at(0), NOWHERE);
        let expected = Registers { pc: BARRIER - 1, sp: thread.word_at(6), fp: NOWHERE };
        assert_eq!(thread.candidates_of("probe", here).unwrap(), [expected]);
    }

    #[test]
    fn the_chain_of_frame_pointers_leads_to_the_first_java_caller() {
        let mut thread = Thread::new(std::vec![0; 16]);
        // Two frames of C++ are between the thread and the frame that Java called.
        for (frame, next, pc) in [(2, 5, NOWHERE), (5, 9, NOWHERE), (9, 12, thread.code(CALLS[2]))] {
            (thread.stack[frame], thread.stack[frame + 1]) = (thread.word_at(next), pc);
        }
        let here = thread.at(thread.word_at(0), thread.word_at(2));
        let expected =
            Registers { pc: thread.code(CALLS[2] - 1), sp: thread.word_at(11), fp: thread.word_at(12) };
        assert_eq!(thread.candidates_of("frame_pointer", here).unwrap(), [expected]);
        // A chain that leads back is refused.
        (thread.stack[5], thread.stack[4]) = (thread.word_at(3), thread.code(CALLS[2]));
        assert_eq!(thread.candidates_of("frame_pointer", here).unwrap(), []);
    }

    // Only for processors that push return addresses.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_thread_with_an_anchor_without_pc_has_its_last_java_frame_found() {
        let mut thread = Thread::new(std::vec![0; 16]);
        thread.stack[8] = thread.code(CALLS[3]);
        (thread.fields[2], thread.fields[4]) = (thread.word_at(9), thread.word_at(12));
        let expected =
            Registers { pc: thread.code(CALLS[3] - 1), sp: thread.word_at(9), fp: thread.word_at(12) };
        assert_eq!(
            thread.candidates_of("left_java", thread.at(thread.word_at(3), NOWHERE)).unwrap(),
            [expected]
        );
        // The thread has not called yet, so the word below is an old one.
        assert_eq!(thread.candidates_of("left_java", thread.at(thread.word_at(9), NOWHERE)).unwrap(), []);
        thread.fields[3] = thread.code(CALLS[3]);
        assert!(
            thread.candidates_of("left_java", thread.at(thread.word_at(3), NOWHERE)).is_none(),
            "the anchor has a pc"
        );
    }

    #[test]
    fn for_any_registers_nothing_outside_of_the_thread_is_read_or_proposed() {
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 16).unwrap()
        };
        let mut proposed = 0;
        for _ in 0..100_000 {
            let mut thread = Thread::new(std::vec![0; 12]);
            let (stack, code) = (thread.word_at(0), thread.code(0));
            // The values are on the stack, near its ends, in the code, or anywhere.
            let mut any = || match next() % 4 {
                0 => stack.wrapping_add(next() % 128).wrapping_sub(16),
                1 => code + CALLS[next() % 4],
                2 => stack + next() % 12 * WORD,
                _ => next() << (next() % 32),
            };
            for word in &mut thread.stack {
                *word = any();
            }
            for word in [2, 4] {
                thread.fields[word] = any();
            }
            let here = Registers { pc: any(), sp: any(), fp: any() };
            let own = stack..stack + 12 * WORD;
            for strategy in &ALL {
                let Some(candidates) = thread.candidates_of(strategy.name, here) else { continue };
                assert!(own.contains(&here.sp));
                for candidate in candidates {
                    proposed += 1;
                    assert!((code..code + 64).contains(&candidate.pc));
                    assert!(
                        candidate.sp > here.sp && candidate.sp <= own.end,
                        "{}: {candidate:x?}",
                        strategy.name
                    );
                }
            }
        }
        assert!(proposed > 10_000, "only {proposed} candidates");
    }
}
