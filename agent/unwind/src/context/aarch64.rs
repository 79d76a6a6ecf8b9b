//! The registers of a context on aarch64, the call that a fault can unwind, and the JVM's
//! SafeFetch.

use core::arch::{asm, naked_asm};
use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;

use super::registers::{InterpreterRegisters, Registers};

/// The number of bits in an address of user space, with the largest address space that the kernel
/// offers.
pub const ADDRESS_BITS: u32 = 52;
// Addresses of stacks and libraries have fewer bits.
const _: () = assert!(0xffff_ffff_f000_usize >> ADDRESS_BITS == 0);
/// True: the guard can end a faulting walk on aarch64.
pub const CAN_GUARD: bool = true;
/// False: on aarch64 a call leaves its return address in a register instead of on the stack.
pub const CALL_PUSHES: bool = false;
/// Distance of glibc's dynamic thread vector (DTV) from the thread pointer, in bytes.
pub const DTV_OFFSET: usize = 0;

/// The indices of registers in a context: the interpreter's `Method` and bcp, the frame pointer,
/// and the link register.
const METHOD: usize = 12;
const BCP: usize = 22;
const FP: usize = 29;
const LINK: usize = 30;

/// Assembly that restores the previous value of the thread's guard slot and the callee-saved
/// registers, and returns.
macro_rules! restore_and_return {
    () => {
        "ldp x9, x10, [sp, #160]
         str x10, [x9]
         ldp x19, x20, [sp, #16]
         ldp x21, x22, [sp, #32]
         ldp x23, x24, [sp, #48]
         ldp x25, x26, [sp, #64]
         ldp x27, x28, [sp, #80]
         ldp d8, d9, [sp, #96]
         ldp d10, d11, [sp, #112]
         ldp d12, d13, [sp, #128]
         ldp d14, d15, [sp, #144]
         ldp x29, x30, [sp], #176
         ret"
    };
}

/// Calls the function `call`, which either returns or is unwound by [`unwind_to`]. Meanwhile the
/// thread's guard slot has the stack pointer to unwind to.
///
/// # Safety
/// `call` must accept the argument, and it may be abandoned at any instruction. The slot must be
/// the calling thread's.
#[unsafe(naked)]
pub unsafe extern "C" fn guarded(
    slot: &AtomicUsize,
    call: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    naked_asm!(
        "stp x29, x30, [sp, #-176]!",
        "mov x29, sp",
        "stp x19, x20, [sp, #16]",
        "stp x21, x22, [sp, #32]",
        "stp x23, x24, [sp, #48]",
        "stp x25, x26, [sp, #64]",
        "stp x27, x28, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "ldr x9, [x0]",
        "stp x0, x9, [sp, #160]",
        "mov x9, sp",
        "str x9, [x0]",
        "mov x0, x2",
        "blr x1",
        restore_and_return!(),
    )
}

/// Runs in a thread after its walk was unwound: restores the registers and returns from
/// [`guarded`].
#[unsafe(naked)]
unsafe extern "C" fn after_unwind() {
    naked_asm!(restore_and_return!())
}

/// Changes the context of a fault, so that the thread continues after the call of [`guarded`] when
/// the handler returns.
///
/// # Safety
/// `context` must be that of a fault inside of [`guarded`], and `sp` the value in the thread's
/// slot.
pub unsafe fn unwind_to(context: *mut c_void, sp: usize) {
    // SAFETY: the caller promised a ucontext.
    unsafe {
        let machine = machine(context);
        (*machine).sp = word(sp);
        (*machine).pc = word(after_unwind as *const () as usize);
    }
}

/// True if the instruction that faulted at `address` is the load of the JVM's SafeFetch. The JVM
/// handles that fault itself. The instructions that follow the load identify it in all versions of
/// HotSpot.
///
/// # Safety
/// `context` must be that of a fault.
pub unsafe fn is_safe_fetch(context: *mut c_void, address: usize) -> bool {
    const RETURN: u32 = 0xd65f_03c0;
    // mov x0, x1.
    const OTHER: u32 = 0xaa01_03e0;
    const WAYS: [&[u32]; 5] = [
        // ldr w0, [x0]; ret; mov x0, x1; ret. The second way has 64 bits.
        &[0xb940_0000, RETURN, OTHER, RETURN],
        &[0xf940_0000, RETURN, OTHER, RETURN],
        // Generated code of older versions: ldr x1, [x0]; mov x0, x1; ret. Two more have 32 bits.
        &[0xb940_0001, OTHER, RETURN],
        &[0xb980_0001, OTHER, RETURN],
        &[0xf940_0001, OTHER, RETURN],
    ];
    // SAFETY: the caller promised a ucontext.
    let pc = unsafe { registers(context) }.pc;
    // An instruction that could not be fetched cannot be read.
    let fetched =
        pc != address && pc.is_multiple_of(size_of::<u32>()) && pc >> ADDRESS_BITS == 0 && pc > 0xfff;
    let is = |way: &&[u32]| {
        way.iter().enumerate().all(|(at, instruction)| {
            let instruction_at = pc.wrapping_add(at.wrapping_mul(size_of::<u32>())) as *const u32;
            // SAFETY: the instruction at `pc` was fetched, so it is readable. The comparison
            // stops at the first word that differs.
            unsafe { instruction_at.read() == *instruction }
        })
    };
    fetched && WAYS.iter().any(is)
}

/// Returns the calling thread's thread pointer. Offsets of thread-local variables are relative to
/// it.
#[inline]
pub fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the instruction only reads a register.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// Returns the pc, stack pointer and frame pointer of the caller, into which this function is
/// inlined.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a separate frame would be gone when the function returns")]
pub fn current_registers() -> Registers {
    let (pc, sp, fp);
    // SAFETY: the instructions only read three registers.
    unsafe {
        asm!("adr {}, .", "mov {}, sp", "mov {}, x29", out(reg) pc, out(reg) sp, out(reg) fp,
            options(nomem, nostack, preserves_flags));
    }
    Registers { pc, sp, fp }
}

/// Reads the registers with which the thread was interrupted.
///
/// # Safety
/// `context` must be a ucontext.
pub unsafe fn registers(context: *mut c_void) -> Registers {
    // SAFETY: the caller promised a ucontext.
    let machine = unsafe { &*machine(context) };
    Registers { pc: address(machine.pc), sp: address(machine.sp), fp: address(machine.regs[FP]) }
}

/// Reads the registers in which the interpreter keeps its state. Their values mean nothing if the
/// thread was not interpreting.
///
/// # Safety
/// `context` must be a ucontext.
pub unsafe fn interpreter_registers(context: *mut c_void) -> InterpreterRegisters {
    // SAFETY: the caller promised a ucontext.
    let kept = unsafe { &(*machine(context)).regs };
    InterpreterRegisters {
        bcp: address(kept[BCP]),
        method: address(kept[METHOD]),
        return_address: address(kept[LINK]),
    }
}

/// Reads the link register of a context, which has the return address of the last call.
///
/// # Safety
/// `context` must be a ucontext.
pub unsafe fn link_register(context: *mut c_void) -> Option<usize> {
    // SAFETY: the caller promised a ucontext.
    Some(address(unsafe { (*machine(context)).regs[LINK] }))
}

/// Writes a pc, a stack pointer and a frame pointer into a context.
///
/// # Safety
/// `context` must be a ucontext, and no thread may resume from it.
pub unsafe fn repair(context: *mut c_void, Registers { pc, sp, fp }: Registers) {
    // SAFETY: the caller promised a ucontext.
    let machine = unsafe { &mut *machine(context) };
    (machine.pc, machine.sp, machine.regs[FP]) = (word(pc), word(sp), word(fp));
}

/// Returns a pointer to the machine context inside a ucontext.
///
/// # Safety
/// `context` must be a ucontext.
unsafe fn machine(context: *mut c_void) -> *mut libc::mcontext_t {
    // SAFETY: the caller promised a ucontext.
    unsafe { &raw mut (*context.cast::<libc::ucontext_t>()).uc_mcontext }
}

/// Converts a register's value to an address. Both have 64 bits.
fn address(register: u64) -> usize {
    usize::try_from(register).unwrap_or(0)
}

/// Converts an address to a register's value. Both have 64 bits.
fn word(address: usize) -> u64 {
    u64::try_from(address).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(code: &[u32], address: usize) -> bool {
        // SAFETY: a ucontext of zeros is valid, since it is plain data.
        let mut context: libc::ucontext_t = unsafe { core::mem::zeroed() };
        let context = (&raw mut context).cast();
        // SAFETY: the context is a ucontext, and its pc is in `code`.
        unsafe {
            (*machine(context)).pc = word(code.as_ptr() as usize);
            is_safe_fetch(context, address)
        }
    }

    #[test]
    fn a_safe_fetch_of_the_jvm_is_recognised() {
        let load = [0xf940_0000, 0xd65f_03c0, 0xaa01_03e0, 0xd65f_03c0];
        assert!(at(&load, 8));
        // The code itself is unmapped: the fault is at the instruction's own address.
        assert!(!at(&load, load.as_ptr() as usize));
        // Other loads: the same instruction with different successors, and a different instruction.
        assert!(!at(&[0xf940_0000, 0xd65f_03c0, 0xaa01_03e0, 0xd503_201f], 8));
        assert!(!at(&[0xf940_0400, 0xd65f_03c0, 0xaa01_03e0, 0xd65f_03c0], 8));
    }
}
