//! aarch64: registers of a context, the call that can be left from a fault, and the JVM's own trial
//! of an address.

use core::arch::{asm, naked_asm};
use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;

use super::registers::{Interpreting, Registers};

/// A program's memory lies at addresses of so many bits, where the kernel gives it as many as the
/// processor has.
pub const ADDRESS_BITS: u32 = 52;
// Stacks and libraries lie there.
const _: () = assert!(0xffff_ffff_f000_usize >> ADDRESS_BITS == 0);
/// A walk can be left here.
pub const GUARDS: bool = true;
/// A call leaves its return address in a register.
pub const CALL_PUSHES: bool = false;
/// So far from the thread pointer glibc has the table of what libraries have for themselves in this
/// thread.
pub const MODULES: usize = 0;

/// The numbers of registers in a context: what the interpreter keeps, the frame pointer, and what a
/// call leaves where it returns to.
const METHOD: usize = 12;
const BYTECODE: usize = 22;
const FP: usize = 29;
const LINK: usize = 30;

/// Gives the thread's place its value from before, takes back the registers that a callee must
/// keep, and returns.
macro_rules! back {
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

/// Calls the function; it comes back, or is left by [`leave`]. Meanwhile `place` has the stack
/// pointer to return to.
///
/// # Safety
/// `call` must take the argument, and may be left anywhere; `place` must be the calling thread's.
#[unsafe(naked)]
pub unsafe extern "C" fn guarded(
    place: &AtomicUsize,
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
        back!(),
    )
}

/// Where a walk goes on that is left.
#[unsafe(naked)]
unsafe extern "C" fn left() {
    naked_asm!(back!())
}

/// Has the thread go on behind the walk when it returns from the handler of its fault.
///
/// # Safety
/// `context` must be that of a fault inside of [`guarded`], and `sp` what that left in its place.
pub unsafe fn leave(context: *mut c_void, sp: usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        let machine = machine(context);
        (*machine).sp = word(sp);
        (*machine).pc = word(left as *const () as usize);
    }
}

/// True if the instruction that faulted at `address` is the load of the JVM's SafeFetch, whose
/// fault the JVM answers itself: a load, and its two ways out, as all versions of HotSpot have
/// them.
///
/// # Safety
/// `context` must be that of a fault.
pub unsafe fn is_safe_fetch(context: *mut c_void, address: usize) -> bool {
    const RETURN: u32 = 0xd65f_03c0;
    // mov x0, x1.
    const OTHER: u32 = 0xaa01_03e0;
    const WAYS: [&[u32]; 5] = [
        // ldr w0, [x0]; ret; mov x0, x1; ret: and the same of 64 bits.
        &[0xb940_0000, RETURN, OTHER, RETURN],
        &[0xf940_0000, RETURN, OTHER, RETURN],
        // Generated code of older versions: ldr x1, [x0]; mov x0, x1; ret: and two of 32 bits.
        &[0xb940_0001, OTHER, RETURN],
        &[0xb980_0001, OTHER, RETURN],
        &[0xf940_0001, OTHER, RETURN],
    ];
    // SAFETY: by the caller's promise.
    let pc = unsafe { registers(context) }.pc;
    // What could not be fetched cannot be read.
    let fetched =
        pc != address && pc.is_multiple_of(size_of::<u32>()) && pc >> ADDRESS_BITS == 0 && pc > 0xfff;
    let is = |way: &&[u32]| {
        way.iter().enumerate().all(|(at, instruction)| {
            let place = pc.wrapping_add(at.wrapping_mul(size_of::<u32>())) as *const u32;
            // SAFETY: the instruction at `pc` was fetched, and none is read behind one that is not
            // as expected.
            unsafe { place.read() == *instruction }
        })
    };
    fetched && WAYS.iter().any(is)
}

/// Faults, each time in another way of four: by nothing, by no address at all, by a call to
/// nowhere, and at `address`.
pub fn fault(way: u32, address: usize) {
    // SAFETY: none of them comes back but through the guard, which needs nothing of this
    // function's.
    unsafe {
        match way % 4 {
            0 => asm!("ldr w9, [{0}]", in(reg) 8_usize, out("x9") _),
            1 => asm!("str w9, [{0}]", in(reg) 0xdead_0000_0000_beef_usize, out("x9") _),
            2 => asm!("blr {0}", in(reg) 16_usize, clobber_abi("C")),
            _ => asm!("ldr w9, [{0}]", in(reg) address, out("x9") _),
        }
    }
}

/// Where the calling thread's own variables are counted from.
#[inline]
pub fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: reads a register.
    unsafe { asm!("mrs {}, tpidr_el0", out(reg) pointer, options(nomem, nostack, preserves_flags)) };
    pointer
}

/// Where the calling thread is.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a separate frame would be gone when the function returns")]
pub fn here() -> Registers {
    let (pc, sp, fp);
    // SAFETY: reads three registers.
    unsafe {
        asm!("adr {}, .", "mov {}, sp", "mov {}, x29", out(reg) pc, out(reg) sp, out(reg) fp,
            options(nomem, nostack, preserves_flags));
    }
    Registers { pc, sp, fp }
}

/// Where the thread was interrupted.
///
/// # Safety
/// `context` must be a ucontext.
pub unsafe fn registers(context: *mut c_void) -> Registers {
    // SAFETY: by the caller's promise.
    let machine = unsafe { &*machine(context) };
    Registers { pc: place(machine.pc), sp: place(machine.sp), fp: place(machine.regs[FP]) }
}

/// What the interpreter has in the registers that it keeps, if the thread is in it.
///
/// # Safety
/// `context` must be a ucontext.
pub unsafe fn interpreting(context: *mut c_void) -> Interpreting {
    // SAFETY: by the caller's promise.
    let kept = unsafe { &(*machine(context)).regs };
    Interpreting { bytecode: place(kept[BYTECODE]), method: place(kept[METHOD]), returns: place(kept[LINK]) }
}

/// Where the last call returns to, if nothing was called since.
///
/// # Safety
/// `context` must be a ucontext.
pub unsafe fn link(context: *mut c_void) -> Option<usize> {
    // SAFETY: by the caller's promise.
    Some(place(unsafe { (*machine(context)).regs[LINK] }))
}

/// Has a context say that the thread stands there.
///
/// # Safety
/// `context` must be a ucontext, and nobody's to return to.
pub unsafe fn repair(context: *mut c_void, Registers { pc, sp, fp }: Registers) {
    // SAFETY: by the caller's promise.
    let machine = unsafe { &mut *machine(context) };
    (machine.pc, machine.sp, machine.regs[FP]) = (word(pc), word(sp), word(fp));
}

/// # Safety
/// `context` must be a ucontext.
unsafe fn machine(context: *mut c_void) -> *mut libc::mcontext_t {
    // SAFETY: by the caller's promise.
    unsafe { &raw mut (*context.cast::<libc::ucontext_t>()).uc_mcontext }
}

/// A register as an address, and the other way round: both have 64 bits here.
fn place(register: u64) -> usize {
    usize::try_from(register).unwrap_or(0)
}

fn word(address: usize) -> u64 {
    u64::try_from(address).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(code: &[u32], address: usize) -> bool {
        // SAFETY: all zero is a valid ucontext.
        let mut context: libc::ucontext_t = unsafe { core::mem::zeroed() };
        let context = (&raw mut context).cast();
        // SAFETY: a ucontext, whose instruction lies in `code`.
        unsafe {
            (*machine(context)).pc = word(code.as_ptr() as usize);
            is_safe_fetch(context, address)
        }
    }

    #[test]
    fn the_jvms_own_trial_of_an_address_is_none_of_ours() {
        let load = [0xf940_0000, 0xd65f_03c0, 0xaa01_03e0, 0xd65f_03c0];
        assert!(at(&load, 8));
        // Code that was not there to be fetched: the address is the instruction's own.
        assert!(!at(&load, load.as_ptr() as usize));
        // Any other load: of the same instruction, but for what follows.
        assert!(!at(&[0xf940_0000, 0xd65f_03c0, 0xaa01_03e0, 0xd503_201f], 8));
        assert!(!at(&[0xf940_0400, 0xd65f_03c0, 0xaa01_03e0, 0xd65f_03c0], 8));
    }
}
