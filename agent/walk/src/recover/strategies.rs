//! Where a caller may be found that AsyncGetCallTrace did not find.
//!
//! A call leaves its return address on the stack, or in a register whose content the callee pushes.
//! What is called may push the frame pointer below it, and then has a frame that the frame pointer
//! leads to; compiled Java has a frame of a fixed size and no use for a frame pointer. Where calls
//! push nothing, C++ keeps its return address at the near end of its frame: how large that is
//! nobody knows, and so not where its caller's begins.

use super::interrupted_thread::Scene;
use super::strategy::{Step, Strategy};
use crate::context::{CALL_PUSHES, Registers};

const WORD: usize = size_of::<usize>();
/// How many words of the stack are looked at, and links of a chain of frame pointers.
const WORDS: usize = 64;
const LINKS: usize = 16;

/// How many strategies there are.
pub const STRATEGIES: usize = 4;

/// The strategies, in the order in which they are tried.
pub static ALL: [Strategy; STRATEGIES] = [
    Strategy { name: "left_java", keeps_leaf: true, sure: true, propose: left_java },
    // What a register has may be from before some words were pushed.
    Strategy { name: "top", keeps_leaf: false, sure: CALL_PUSHES, propose: top },
    Strategy { name: "probe", keeps_leaf: false, sure: false, propose: probe },
    Strategy { name: "frame_pointer", keeps_leaf: false, sure: false, propose: frame_pointer },
];

/// The thread has left Java, and said with which registers, but not yet, or no longer, from where.
fn left_java(scene: &Scene<'_>, number: usize) -> Step {
    if !CALL_PUSHES {
        return Step::End;
    }
    let (sp, fp) = scene.left_java();
    let pc = sp.checked_sub(WORD).and_then(|below| scene.word(below)).and_then(|pc| calling(scene, pc));
    match pc {
        Some(pc) if number == 0 => Step::Try(Registers { pc, sp, fp }),
        _ => Step::End,
    }
}

/// Nothing has been pushed since the call, or the frame pointer alone.
fn top(scene: &Scene<'_>, number: usize) -> Step {
    let Registers { sp, fp, .. } = scene.at;
    match number {
        0 => match scene.link().map(|link| calling(scene, link)) {
            Some(Some(pc)) => Step::Try(Registers { pc, sp, fp }),
            None if CALL_PUSHES => returned(scene, sp, fp),
            _ => Step::Skip,
        },
        1 => match scene.word(sp) {
            Some(pushed) => returned(scene, sp.wrapping_add(WORD), pushed),
            None => Step::End,
        },
        _ => Step::End,
    }
}

/// Words of the stack, the nearest first, whatever lies between.
fn probe(scene: &Scene<'_>, number: usize) -> Step {
    // The first two have been looked at.
    let place = scene.at.sp.wrapping_add(number.wrapping_add(2).wrapping_mul(WORD));
    if number >= WORDS || !scene.is_stack(place) || !ends_frames(scene) {
        return Step::End;
    }
    // Where a frame pointer was pushed it stands below the return address, and leads further out.
    let pushed =
        scene.word(place.wrapping_sub(WORD)).filter(|pushed| scene.is_stack(*pushed) && *pushed > place);
    returned(scene, place, pushed.unwrap_or(scene.at.fp))
}

/// The chain of frame pointers, up to the first caller that is Java: C++ has such frames.
fn frame_pointer(scene: &Scene<'_>, number: usize) -> Step {
    if number > 0 {
        return Step::End;
    }
    let mut fp = scene.at.fp;
    for _ in 0..LINKS {
        let (Some(next), Some(pc)) = (scene.word(fp), scene.word(fp.wrapping_add(WORD))) else { break };
        let sp = fp.wrapping_add(2 * WORD);
        if let Some(calling) = calling(scene, pc) {
            // The interpreter needs no more than its frame pointer.
            if !scene.is_interpreter(pc) && !ends_frames(scene) {
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

/// True if a return address on the stack is where its frame ends.
fn ends_frames(scene: &Scene<'_>) -> bool {
    CALL_PUSHES || scene.is_in_code()
}

/// The caller, if what lies at `place` is a return address into Java.
fn returned(scene: &Scene<'_>, place: usize, fp: usize) -> Step {
    let pc = scene.word(place).and_then(|pc| calling(scene, pc));
    pc.map_or(Step::Skip, |pc| Step::Try(Registers { pc, sp: place.wrapping_add(WORD), fp }))
}

/// Where a caller is, if this is a return address into Java.
///
/// AsyncGetCallTrace takes the place where it is to begin for an instruction that was interrupted,
/// and looks for what stands behind it. What is known of a call stands at its return address, so it
/// must be asked for the byte before.
fn calling(scene: &Scene<'_>, pc: usize) -> Option<usize> {
    if scene.is_interpreter(pc) {
        return Some(pc);
    }
    let within = pc.wrapping_sub(1);
    (scene.is_barrier(pc) || scene.is_method(within) && Scene::follows_call(pc)).then_some(within)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::code_cache::Blobs;
    use crate::jvm_layout::Ground;
    use crate::walker::Subject;
    use core::cell::Cell;
    use core::sync::atomic::AtomicUsize;
    use std::boxed::Box;
    use std::vec::Vec;

    /// Where in the code a call ends, by the kinds of calls that HotSpot's assemblers write; and
    /// what is none.
    #[cfg(target_arch = "x86_64")]
    const CODE: [u8; 64] = {
        let mut code = [0x90; 64];
        // call rel32: 8. call r10: 19. call [rip + disp32]: 30. call [rsp + disp8]: 40.
        code[3] = 0xe8;
        (code[16], code[17], code[18]) = (0x41, 0xff, 0xd2);
        (code[24], code[25]) = (0xff, 0x15);
        (code[36], code[37], code[38]) = (0xff, 0x54, 0x24);
        // jmp rel32, to 56: no call.
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
        // b and br x8, to 52 and 48: no calls.
        code[51] = 0x14;
        (code[44], code[45], code[46], code[47]) = (0x00, 0x01, 0x1f, 0xd6);
        code
    };
    #[cfg(target_arch = "aarch64")]
    const CALLS: [usize; 4] = [8, 20, 28, 40];
    /// What an interrupted thread has in the other registers.
    const NOWHERE: usize = 0x1234_5678;
    /// The code that frames return to whose callers lie elsewhere.
    const BARRIER: usize = 0x8765_4321;

    /// Words of the block that the code lies in: its head, a method's head with name, size and
    /// state, and the code.
    const BLOCK: usize = 2 + 6 + CODE.len() / WORD;

    /// A thread with a stack, and a method's code of 64 bytes whose last eight are the
    /// interpreter's.
    struct Thread {
        stack: Vec<usize>,
        /// Base, size, and the registers that it left Java with: sp, pc, fp.
        jvms: Box<[usize; 5]>,
        block: Box<[usize; BLOCK]>,
        /// The ends of a heap's memory, its map, the logarithm of a segment's size.
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
            let mut thread = Self { stack, jvms: Box::new([0; 5]), block, heap };
            let size = thread.stack.len() * WORD;
            (thread.jvms[0], thread.jvms[1]) = (thread.place(0) + size, size);
            thread
        }

        /// The address of a word of the stack.
        fn place(&self, word: usize) -> usize {
            self.stack.as_ptr() as usize + word * WORD
        }

        /// The thread, interrupted in code.
        fn at(&self, sp: usize, fp: usize) -> Registers {
            Registers { pc: self.code(61), sp, fp }
        }

        fn code(&self, at: usize) -> usize {
            self.block.as_ptr() as usize + 8 * WORD + at
        }

        /// All that a strategy proposes where the thread stands there.
        fn proposed(&self, strategy: &str, at: Registers) -> Option<Vec<Registers>> {
            self.proposed_with(strategy, at, None)
        }

        /// The same, where a register has where the last call returns to, and there is somebody
        /// else's code, too.
        fn proposed_with(
            &self,
            strategy: &str,
            at: Registers,
            other: Option<(usize, &Self)>,
        ) -> Option<Vec<Registers>> {
            let (link, others) = other.map(|(link, other)| (link, other.heap.as_ptr() as usize)).unzip();
            let ground = Ground {
                env: 0,
                stack_base: 0,
                stack_size: WORD,
                last_sp: 2 * WORD,
                last_pc: 3 * WORD,
                last_fp: 4 * WORD,
                blobs: Blobs {
                    heaps: [self.heap.as_ptr() as usize, others.unwrap_or(0), 0, 0, 0, 0, 0, 0],
                    low: 0,
                    high: WORD,
                    map: 2 * WORD,
                    segment: 3 * WORD,
                    used: 0,
                    head: 2 * WORD,
                    name: 0,
                    size: WORD,
                    state: 2 * WORD,
                    dead: 3,
                },
                interpreter: self.code(56)..self.code(64),
            };
            let (walking, told) = (AtomicUsize::new(0), Cell::default());
            let env = self.jvms.as_ptr().cast_mut().cast();
            let subject =
                Subject { env, context: core::ptr::null_mut(), calls: false, told: &told, walking: &walking };
            // SAFETY: the ground says where things lie in this thread.
            let scene = unsafe { Scene::of(at, link, &subject, &ground, BARRIER..BARRIER + 0x10) }?;
            let strategy = ALL.iter().find(|known| known.name == strategy).unwrap();
            let mut proposed = Vec::new();
            for number in 0..10_000 {
                match (strategy.propose)(&scene, number) {
                    Step::Try(candidate) => proposed.push(candidate),
                    Step::Skip => {}
                    Step::End => return Some(proposed),
                }
            }
            panic!("{} has no end", strategy.name);
        }
    }

    // Where a call leaves its return address on the stack.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_caller_is_where_a_call_ends_and_in_the_interpreter_anywhere() {
        let mut thread = Thread::new(std::vec![0; 8]);
        let found: Vec<usize> = (0..64)
            .filter(|end| {
                thread.stack[2] = thread.code(*end);
                let here = thread.at(thread.place(2), NOWHERE);
                let callers = thread.proposed("top", here).unwrap();
                // Within the call, as the walker must be asked; the interpreter has no such.
                let caller = thread.code(*end) - usize::from(*end < 56);
                let expected = Registers { pc: caller, sp: thread.place(3), fp: NOWHERE };
                assert!(callers.is_empty() || callers == [expected], "{end}: {callers:?}");
                !callers.is_empty()
            })
            .collect();
        assert_eq!(found, CALLS.into_iter().chain(56..64).collect::<Vec<usize>>());
    }

    // Where a call leaves its return address on the stack.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_method_that_was_given_up_calls_nobody() {
        let mut thread = Thread::new(std::vec![0; 8]);
        thread.stack[2] = thread.code(CALLS[0]);
        let here = thread.at(thread.place(2), NOWHERE);
        assert_eq!(thread.proposed("top", here).unwrap().len(), 1);
        thread.block[4] = 3;
        assert_eq!(thread.proposed("top", here).unwrap(), []);
    }

    #[test]
    fn a_frame_pointer_that_was_pushed_alone_is_the_callers() {
        let mut thread = Thread::new(std::vec![0; 8]);
        (thread.stack[2], thread.stack[3]) = (thread.place(7), thread.code(CALLS[0]));
        let expected = Registers { pc: thread.code(7), sp: thread.place(4), fp: thread.place(7) };
        assert_eq!(thread.proposed("top", thread.at(thread.place(2), NOWHERE)).unwrap(), [expected]);
    }

    #[test]
    fn a_register_that_has_where_a_call_returns_to_is_the_callers_unless_the_call_was_ones_own() {
        let mut thread = Thread::new(std::vec![0; 8]);
        let stub = Thread::new(Vec::new());
        let linked = |thread: &Thread, pc, end: usize| {
            let here = Registers { pc, ..thread.at(thread.place(2), NOWHERE) };
            thread.proposed_with("top", here, Some((thread.code(end), &stub))).unwrap()
        };
        let expected = Registers { pc: thread.code(CALLS[0] - 1), sp: thread.place(2), fp: NOWHERE };
        assert_eq!(linked(&thread, stub.code(12), CALLS[0]), [expected]);
        assert_eq!(linked(&thread, stub.code(12), CALLS[0] + 4), [], "no call ends there");
        assert_eq!(linked(&thread, NOWHERE, CALLS[0]), [], "of C++ nobody knows what it has pushed");
        // From the same method, and from the interpreter, something else has been called, and has
        // come back.
        assert_eq!(linked(&thread, thread.code(12), CALLS[0]), []);
        assert_eq!(linked(&thread, thread.code(60), CALLS[0]), []);
        // It has been saved since, so the stack was another one then.
        thread.stack[5] = thread.code(CALLS[0]);
        assert_eq!(linked(&thread, stub.code(12), CALLS[0]), []);
    }

    #[test]
    fn words_are_looked_at_from_the_nearest_on_and_not_for_ever() {
        let mut thread = Thread::new(std::vec![0; 200]);
        for word in [0, 1, 5, 9, 65, 66] {
            thread.stack[word] = thread.code(CALLS[1]);
        }
        // One that was pushed leads further out.
        (thread.stack[4], thread.stack[8]) = (thread.place(2), thread.place(30));
        let here = thread.at(thread.place(0), NOWHERE);
        let places: Vec<(usize, usize)> =
            thread.proposed("probe", here).unwrap().iter().map(|it| (it.sp, it.fp)).collect();
        let behind = |word: usize| thread.place(word + 1);
        // The nearest two are another strategy's.
        assert_eq!(places, [(behind(5), NOWHERE), (behind(9), thread.place(30)), (behind(65), NOWHERE)]);
    }

    #[test]
    fn a_candidate_may_be_where_frames_return_to_whose_callers_lie_elsewhere() {
        let mut thread = Thread::new(std::vec![0; 16]);
        (thread.stack[5], thread.stack[9]) = (BARRIER, BARRIER + 0x10);
        let here = thread.at(thread.place(0), NOWHERE);
        let expected = Registers { pc: BARRIER - 1, sp: thread.place(6), fp: NOWHERE };
        assert_eq!(thread.proposed("probe", here).unwrap(), [expected]);
    }

    #[test]
    fn a_chain_of_frame_pointers_leads_to_the_first_java_caller() {
        let mut thread = Thread::new(std::vec![0; 16]);
        // Two frames of C++, and one that Java called.
        for (frame, next, pc) in [(2, 5, NOWHERE), (5, 9, NOWHERE), (9, 12, thread.code(CALLS[2]))] {
            (thread.stack[frame], thread.stack[frame + 1]) = (thread.place(next), pc);
        }
        let here = thread.at(thread.place(0), thread.place(2));
        let expected =
            Registers { pc: thread.code(CALLS[2] - 1), sp: thread.place(11), fp: thread.place(12) };
        assert_eq!(thread.proposed("frame_pointer", here).unwrap(), [expected]);
        // None leads back.
        (thread.stack[5], thread.stack[4]) = (thread.place(3), thread.code(CALLS[2]));
        assert_eq!(thread.proposed("frame_pointer", here).unwrap(), []);
    }

    // Where a call leaves its return address on the stack.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_thread_that_has_left_java_is_where_it_said_once_it_has_called() {
        let mut thread = Thread::new(std::vec![0; 16]);
        thread.stack[8] = thread.code(CALLS[3]);
        (thread.jvms[2], thread.jvms[4]) = (thread.place(9), thread.place(12));
        let expected = Registers { pc: thread.code(CALLS[3] - 1), sp: thread.place(9), fp: thread.place(12) };
        assert_eq!(thread.proposed("left_java", thread.at(thread.place(3), NOWHERE)).unwrap(), [expected]);
        // It has not called yet: what lies below is from before.
        assert_eq!(thread.proposed("left_java", thread.at(thread.place(9), NOWHERE)).unwrap(), []);
        thread.jvms[3] = thread.code(CALLS[3]);
        assert!(
            thread.proposed("left_java", thread.at(thread.place(3), NOWHERE)).is_none(),
            "it said from where"
        );
    }

    #[test]
    fn whatever_the_registers_nothing_is_read_or_proposed_outside_of_the_thread() {
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 16).unwrap()
        };
        let mut proposed = 0;
        for _ in 0..100_000 {
            let mut thread = Thread::new(std::vec![0; 12]);
            let (stack, code) = (thread.place(0), thread.code(0));
            // Somewhere in the stack, near its ends, in the code, or anywhere at all.
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
                thread.jvms[word] = any();
            }
            let here = Registers { pc: any(), sp: any(), fp: any() };
            let own = stack..stack + 12 * WORD;
            for strategy in &ALL {
                let Some(candidates) = thread.proposed(strategy.name, here) else { continue };
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
        assert!(proposed > 10_000, "{proposed} candidates say little");
    }
}
