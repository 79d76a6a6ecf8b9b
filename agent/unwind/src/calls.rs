//! Recognises a return address by the call instruction before it, for the processors that have
//! files in [`crate::context`].
//!
//! An operand that looks like a call must never be taken for a call. The functions only read bytes,
//! so code of any processor can be examined on any other.

use crate::memory::Memory;

/// True if a call instruction ends at the address `pc`, so that `pc` may be a return address.
pub fn follows_call(memory: &impl Memory, pc: usize) -> bool {
    if cfg!(target_arch = "aarch64") {
        follows_branch(memory, pc)
    } else {
        cfg!(target_arch = "x86_64") && follows_x86_call(memory, pc)
    }
}

fn follows_x86_call(memory: &impl Memory, pc: usize) -> bool {
    let byte = |back: usize| memory.byte(pc.wrapping_sub(back));
    // call r/m: FF /2, and the bytes of its operand.
    let indirect = |back: usize| {
        let Some(operand) = byte(back.wrapping_sub(1)) else { return false };
        let length = match (operand >> 6, operand & 7) {
            (3, _) | (0, 0..=3 | 6..) => 2,
            (0, 4) | (1, 0..=3 | 5..) => 3,
            (1, _) => 4,
            (2, 4) => 7,
            _ => 6,
        };
        byte(back) == Some(0xff) && operand & 0x38 == 0x10 && length == back
    };
    // call rel32.
    byte(5) == Some(0xe8) || [2, 3, 4, 6, 7].into_iter().any(indirect)
}

/// True if an aarch64 `bl`, or a `blr` with any register, ends at `pc`. All instructions of aarch64
/// have four bytes.
fn follows_branch(memory: &impl Memory, pc: usize) -> bool {
    let before = memory.bytes(pc.wrapping_sub(4), 4);
    let calls = |code: usize| code >> 26 == 0b10_0101 || code & 0xffff_fc1f == 0xd63f_0000;
    pc.trailing_zeros() >= 2 && before.is_some_and(calls)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;

    /// The address at which the code of these tests begins.
    const CODE: usize = 0x1000;

    /// Returns the offsets in `code` at which a call instruction ends.
    fn ends<const N: usize>(code: [u8; N], follows: fn(&Code<N>, usize) -> bool) -> std::vec::Vec<usize> {
        (0..=N).filter(|end| follows(&Code(code), CODE + end)).collect()
    }

    struct Code<const N: usize>([u8; N]);

    impl<const N: usize> Memory for Code<N> {
        fn word(&self, at: usize) -> Option<usize> {
            let byte = |index| at.checked_sub(CODE).and_then(|at| self.0.get(at + index)).copied();
            byte(0)?;
            Some(usize::from_le_bytes(core::array::from_fn(|index| byte(index).unwrap_or(0))))
        }
    }

    #[test]
    fn x86_calls_are_recognised_by_opcode_and_length() {
        // call rel32; call r10; call [rip + disp32]; call [rsp + disp8]; nop; jmp rel32; jmp rax.
        let code = [
            0xe8, 1, 2, 3, 4, 0x41, 0xff, 0xd2, 0xff, 0x15, 1, 2, 3, 4, 0xff, 0x54, 0x24, 8, 0x90, 0xe9, 1,
            2, 3, 4, 0xff, 0xe0,
        ];
        assert_eq!(ends(code, follows_x86_call), [5, 8, 14, 18]);
    }

    #[test]
    fn aarch64_calls_are_branches_with_link() {
        let code = [
            0x9400_0001_u32, // bl
            0xd63f_0100,     // blr x8
            0x97ff_fffe,     // bl backwards
            0xd63f_03c0,     // blr x30
            0x1400_0001,     // b
            0xd61f_0100,     // br x8
            0xd65f_03c0,     // ret
        ];
        let mut bytes = [0; 28];
        for (bytes, code) in bytes.chunks_exact_mut(4).zip(code) {
            bytes.copy_from_slice(&code.to_le_bytes());
        }
        assert_eq!(ends(bytes, follows_branch), [4, 8, 12, 16]);
    }
}
