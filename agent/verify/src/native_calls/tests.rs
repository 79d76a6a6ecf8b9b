//! Tests with machine code that is written by hand. Addresses are offsets in one piece of memory.
#![cfg(target_arch = "x86_64")]

use super::*;

/// Memory from address 0x1000 on, in which functions begin at these addresses.
struct Code {
    bytes: Vec<u8>,
    begins: Vec<usize>,
    loader: Range<usize>,
    linkage_table: Range<usize>,
}

const BASE: usize = 0x1000;
/// Each function has this many bytes.
const SIZE: usize = 0x20;
const RET: u8 = 0xc3;

/// The address of a function.
fn at(index: usize) -> usize {
    BASE + index * SIZE
}

impl Code {
    /// Makes functions of their bytes, which are padded with `int3`.
    fn new(functions: &[&[u8]]) -> Self {
        let mut bytes = Vec::new();
        for function in functions {
            bytes.extend_from_slice(function);
            bytes.resize(bytes.len().next_multiple_of(SIZE), 0xcc);
        }
        Self { bytes, begins: (0..functions.len()).map(at).collect(), loader: 0..0, linkage_table: 0..0 }
    }
}

impl NativeCode for Code {
    fn read(&self, address: usize, bytes: &mut [u8]) -> usize {
        let found = address.checked_sub(BASE).and_then(|from| self.bytes.get(from..)).unwrap_or_default();
        let count = found.len().min(bytes.len());
        bytes[..count].copy_from_slice(&found[..count]);
        count
    }

    fn function(&mut self, address: usize) -> Option<Range<usize>> {
        let end = BASE + self.bytes.len();
        let after = self.begins.partition_point(|begin| *begin <= address);
        let begin = *self.begins.get(after.checked_sub(1)?)?;
        (address < end).then(|| begin..self.begins.get(after).copied().unwrap_or(end))
    }

    fn is_in_linkage_table(&mut self, address: usize) -> bool {
        self.linkage_table.contains(&address)
    }

    fn is_loader(&self, address: usize) -> bool {
        self.loader.contains(&address)
    }
}

/// A direct call or jump from an address, by its opcode.
fn near(opcode: u8, from: usize, to: usize) -> Vec<u8> {
    let distance = i32::try_from(to.cast_signed() - (from + 5).cast_signed()).unwrap();
    [&[opcode][..], &distance.to_le_bytes()].concat()
}

fn call(from: usize, to: usize) -> Vec<u8> {
    near(0xe8, from, to)
}

fn jump(from: usize, to: usize) -> Vec<u8> {
    near(0xe9, from, to)
}

/// `jmp *slot(%rip)`, or with `call` as the second byte's bits a call.
fn by_slot(bits: u8, from: usize, slot: usize) -> Vec<u8> {
    let distance = i32::try_from(slot.cast_signed() - (from + 6).cast_signed()).unwrap();
    [&[0xff, bits][..], &distance.to_le_bytes()].concat()
}

const JUMP_BY_SLOT: u8 = 0x25;
const CALL_BY_SLOT: u8 = 0x15;

fn judge(code: &mut Code, return_address: usize, callee: usize) -> CallVerdict {
    CallJudge::default().judge(return_address, callee, code)
}

fn refuted_target(target: usize) -> CallVerdict {
    CallVerdict::Refuted(RefutedCall::OtherFunction(target))
}

#[test]
fn a_direct_call_is_proven_for_its_function_and_refuted_for_another() {
    let mut code = Code::new(&[&call(at(0), at(1)), &[RET], &[RET]]);
    assert_eq!(judge(&mut code, at(0) + 5, at(1)), CallVerdict::Proven);
    assert_eq!(judge(&mut code, at(0) + 5, at(1) + 7), CallVerdict::Proven, "anywhere in the function");
    assert_eq!(judge(&mut code, at(0) + 5, at(2)), refuted_target(at(1)));
    assert!(instruction_before(at(0) + 5, &mut code).contains("call"));
}

#[test]
fn a_return_address_is_after_a_call() {
    let call = call(at(0) + 1, at(1));
    let mut code = Code::new(&[&[&[0x55][..], &call, &[0x90, RET]].concat(), &[RET]]);
    let no_call = CallVerdict::Refuted(RefutedCall::NoCall);
    let verdicts: Vec<CallVerdict> = (1..=8).map(|size| judge(&mut code, at(0) + size, at(1))).collect();
    assert_eq!(verdicts[5], CallVerdict::Proven);
    for (index, verdict) in verdicts.iter().enumerate().filter(|(index, _)| *index != 5) {
        assert_eq!(*verdict, no_call, "after {} bytes", index + 1);
    }
    assert_eq!(instruction_before(at(0) + 3, &mut code), "", "the function begins 3 bytes before");
}

#[test]
fn a_call_that_does_not_return_may_be_the_last_instruction() {
    let padding = [0x90; SIZE - 5];
    let code = [&padding[..], &call(at(0) + SIZE - 5, at(1))].concat();
    assert_eq!(judge(&mut Code::new(&[&code, &[RET]]), at(1), at(1)), CallVerdict::Proven);
}

#[test]
fn an_indirect_call_is_plausible() {
    // call *%rax; call *0x28(%rax)
    let mut code = Code::new(&[&[0xff, 0xd0, 0xff, 0x50, 0x28, RET], &[RET]]);
    for size in [2, 5] {
        let verdict = judge(&mut code, at(0) + size, at(1));
        assert_eq!(verdict, CallVerdict::Plausible(Plausible::Indirect));
    }
}

#[test]
fn a_call_goes_through_stubs_and_slots() {
    let pointer = |index: usize| at(index).to_le_bytes();
    // call stub; the stub with and without endbr64, the slot.
    let endbr = [&[0xf3, 0x0f, 0x1e, 0xfa][..], &by_slot(JUMP_BY_SLOT, at(1) + 4, at(4))].concat();
    let plain = by_slot(JUMP_BY_SLOT, at(1), at(4));
    for stub in [endbr, plain] {
        let mut code = Code::new(&[&call(at(0), at(1)), &stub, &[RET], &[RET], &pointer(2)]);
        // It may be a function that jumps by a variable.
        let anywhere = CallVerdict::Plausible(Plausible::IndirectTailCall);
        assert_eq!(judge(&mut code, at(0) + 5, at(2)), CallVerdict::Plausible(Plausible::TailCall));
        assert_eq!(judge(&mut code, at(0) + 5, at(3)), anywhere);
        code.linkage_table = at(1)..at(2);
        assert_eq!(judge(&mut code, at(0) + 5, at(1)), CallVerdict::Proven, "the stub itself");
        assert_eq!(judge(&mut code, at(0) + 5, at(2)), CallVerdict::Proven);
        assert_eq!(judge(&mut code, at(0) + 5, at(3)), refuted_target(at(1)));
        code.loader = at(3)..at(4);
        assert_eq!(judge(&mut code, at(0) + 5, at(3)), CallVerdict::Plausible(Plausible::LazyBinding));
    }
    let mut code = Code::new(&[&by_slot(CALL_BY_SLOT, at(0), at(3)), &[RET], &[RET], &pointer(1)]);
    assert_eq!(judge(&mut code, at(0) + 6, at(1)), CallVerdict::Proven);
    // The slot may be a variable.
    assert_eq!(judge(&mut code, at(0) + 6, at(2)), CallVerdict::Plausible(Plausible::Indirect));
}

#[test]
fn an_unbound_stub_is_not_followed() {
    let stub = by_slot(JUMP_BY_SLOT, at(1), at(3));
    let mut code = Code::new(&[&call(at(0), at(1)), &stub, &[RET], &[0; 8]]);
    code.linkage_table = at(1)..at(2);
    assert_eq!(judge(&mut code, at(0) + 5, at(2)), CallVerdict::Plausible(Plausible::UnknownTarget));
}

#[test]
fn a_tail_call_explains_another_function() {
    let tail = CallVerdict::Plausible(Plausible::TailCall);
    // jne to the next function; ret.
    let conditional = [&[0x0f, 0x85][..], &[0x1a, 0, 0, 0], &[RET]].concat();
    let mut code = Code::new(&[&call(at(0), at(1)), &conditional, &jump(at(2), at(3)), &[RET], &[RET]]);
    assert_eq!(judge(&mut code, at(0) + 5, at(2)), tail);
    assert_eq!(judge(&mut code, at(0) + 5, at(3)), tail, "by two jumps");
    assert_eq!(judge(&mut code, at(0) + 5, at(4)), refuted_target(at(1)));
}

#[test]
fn a_function_may_run_on_into_the_next_one() {
    let nops = [0x90; SIZE];
    let push = [0x55; SIZE];
    let functions: [&[u8]; 4] = [&call(at(0), at(1)), &push, &[RET], &nops];
    let mut code = Code::new(&functions);
    assert_eq!(judge(&mut code, at(0) + 5, at(2)), CallVerdict::Plausible(Plausible::TailCall));
    assert_eq!(judge(&mut code, at(0) + 5, at(3)), refuted_target(at(1)));
}

#[test]
fn an_indirect_jump_may_lead_anywhere_but_that_of_a_switch_does_not() {
    let by_table = |called: &[u8], entry: usize| {
        let mut code = Code::new(&[&call(at(0), at(1)), called, &[RET], &entry.to_le_bytes()]);
        judge(&mut code, at(0) + 5, at(2))
    };
    let verdict = |called: &[u8]| by_table(called, 0);
    let anywhere = CallVerdict::Plausible(Plausible::IndirectTailCall);
    // mov 8(%rdi), %rax; jmp *%rax, and jmp *0x28(%rax).
    assert_eq!(verdict(&[0x48, 0x8b, 0x47, 0x08, 0xff, 0xe0]), anywhere);
    assert_eq!(verdict(&[0xff, 0x60, 0x28]), anywhere);
    // movslq (%rdx,%rdi,4), %rax; add %rdx, %rax; jmp *%rax.
    let table = [0x48, 0x63, 0x04, 0xba, 0x48, 0x01, 0xd0, 0xff, 0xe0];
    assert_eq!(verdict(&table), refuted_target(at(1)));
    // notrack jmp *%rax.
    assert_eq!(verdict(&[0x3e, 0xff, 0xe0]), refuted_target(at(1)));
    // jmp *table(,%rdi,8), and mov table(,%rdi,8), %rax; jmp *%rax: to the function, or to others.
    let table = u32::try_from(at(3)).unwrap().to_le_bytes();
    let jump = [&[0xff, 0x24, 0xfd][..], &table].concat();
    let load = [&[0x48, 0x8b, 0x04, 0xfd][..], &table, &[0xff, 0xe0]].concat();
    for called in [&jump, &load] {
        assert_eq!(by_table(called, at(1) + 3), refuted_target(at(1)));
        assert_eq!(by_table(called, at(2)), anywhere);
    }
    // lea table(%rip), %rdx; jmp *(%rdx,%rax,8), and a push before a jump by a variable.
    assert_eq!(verdict(&[0x48, 0x8d, 0x15, 0x39, 0, 0, 0, 0xff, 0x24, 0xc2]), anywhere);
    assert_eq!(by_table(&[&[0x55][..], &by_slot(JUMP_BY_SLOT, at(1) + 1, at(3))].concat(), at(0)), anywhere);
    // call 1f; pause; 1: mov %rax, (%rsp); ret, and push %rax; ret.
    assert_eq!(verdict(&[0xe8, 2, 0, 0, 0, 0xf3, 0x90, 0x48, 0x89, 0x04, 0x24, RET]), anywhere);
    assert_eq!(verdict(&[0x50, RET]), anywhere);
}

#[test]
fn bytes_that_are_no_instructions_refute_nothing_that_may_be_a_call() {
    let unknown = CallVerdict::Plausible(Plausible::UnknownCode);
    // 0x06 is no instruction in 64-bit code.
    let data = [0x06; 8];
    let mut code = Code::new(&[&call(at(0), at(1)), &data, &[RET]]);
    assert_eq!(judge(&mut code, at(0) + 5, at(2)), unknown);
    let caller = [&data[..], &call(at(1) + 8, at(0))].concat();
    let mut code = Code::new(&[&[RET], &caller, &[RET]]);
    assert_eq!(judge(&mut code, at(1) + 13, at(0)), CallVerdict::Proven);
    assert_eq!(judge(&mut code, at(1) + 13, at(2)), refuted_target(at(0)));
    assert_eq!(judge(&mut code, at(1) + 8, at(0)), CallVerdict::Refuted(RefutedCall::NoCall));
}

#[test]
fn data_among_instructions_may_hide_a_call() {
    // jmp +2; two bytes of data, which look like the beginning of `movabs`; the call.
    let caller = [&[0xeb, 2, 0x48, 0xb8][..], &call(at(0) + 4, at(1)), &[RET]].concat();
    let mut code = Code::new(&[&caller, &[RET]]);
    assert_eq!(judge(&mut code, at(0) + 9, at(1)), CallVerdict::Plausible(Plausible::UnknownCode));
}

#[test]
fn a_signal_frame_explains_both_of_its_calls() {
    let signal_return = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
    let mut code = Code::new(&[&[0x55, 0x55, RET], &signal_return, &[RET]]);
    let signal = CallVerdict::Plausible(Plausible::SignalFrame);
    assert_eq!(judge(&mut code, at(1), at(2)), signal, "the handler");
    assert_eq!(judge(&mut code, at(0) + 1, at(1)), signal, "the interrupted function");
    assert_eq!(judge(&mut code, at(0) + 1, at(1) + 7), signal, "in the system call");
    assert_eq!(judge(&mut code, at(0) + 1, at(2)), CallVerdict::Refuted(RefutedCall::NoCall));
}

#[test]
fn code_that_is_gone_is_not_judged() {
    let mut code = Code::new(&[&call(at(0), at(1)), &[RET]]);
    assert_eq!(judge(&mut code, 0x10, at(1)), CallVerdict::Unjudged);
    assert_eq!(judge(&mut code, at(0) + 5, 0x9000), CallVerdict::Unjudged);
    assert_eq!(instruction_before(0x10, &mut code), "");
}

#[test]
fn any_bytes_end_in_a_verdict() {
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..2_000 {
        let bytes: Vec<u8> = (0..4 * SIZE).map(|_| rng.u8(..)).collect();
        let mut code =
            Code { bytes, begins: (0..4).map(at).collect(), loader: 0..0, linkage_table: at(3)..at(4) };
        let (return_address, callee) = (at(0) + rng.usize(..5 * SIZE), at(0) + rng.usize(..5 * SIZE));
        judge(&mut code, return_address, callee);
        instruction_before(return_address, &mut code);
    }
}
