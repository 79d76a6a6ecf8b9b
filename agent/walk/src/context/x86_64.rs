//! x86-64: registers of a context, the call that can be left from a fault, and the JVM's own trial
//! of an address.

use core::arch::{asm, naked_asm};
use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;

use super::registers::{Interpreting, Registers};

/// A program's memory lies at addresses of so many bits.
pub const ADDRESS_BITS: u32 = 47;
/// A walk can be left here.
pub const GUARDS: bool = true;
/// A call leaves its return address on the stack.
pub const CALL_PUSHES: bool = true;
/// So far from the thread pointer glibc has the table of what libraries have for themselves in this
/// thread.
pub const MODULES: usize = 8;

/// Gives the thread's place its value from before, takes back the registers that a callee must
/// keep, and returns.
macro_rules! back {
    () => {
        "add rsp, 8
         pop rcx
         pop rdx
         mov [rdx], rcx
         pop r15
         pop r14
         pop r13
         pop r12
         pop rbx
         pop rbp
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
        "push rbp",
        "mov rbp, rsp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push rdi",
        "push qword ptr [rdi]",
        "sub rsp, 8",
        "mov [rdi], rsp",
        "mov rdi, rdx",
        "call rsi",
        back!(),
    )
}

/// Where a walk goes on that is left.
#[unsafe(naked)]
unsafe extern "C" fn left() {
    naked_asm!("cld", back!())
}

/// Has the thread go on behind the walk when it returns from the handler of its fault.
///
/// # Safety
/// `context` must be that of a fault inside of [`guarded`], and `sp` what that left in its place.
pub unsafe fn leave(context: *mut c_void, sp: usize) {
    // SAFETY: by the caller's promise.
    unsafe {
        set(context, libc::REG_RSP, sp);
        set(context, libc::REG_RIP, left as *const () as usize);
    }
}

/// True if the instruction that faulted at `address` is the load of the JVM's SafeFetch, whose
/// fault the JVM answers itself: a load, and its two ways out, as all versions of HotSpot have
/// them.
///
/// # Safety
/// `context` must be that of a fault.
pub unsafe fn is_safe_fetch(context: *mut c_void, address: usize) -> bool {
    const WAYS: [&[u8]; 6] = [
        // mov eax, [rdi]; ret; mov eax, esi; ret: and the same of 64 bits.
        &[0x8b, 0x07, 0xc3, 0x89, 0xf0, 0xc3],
        &[0x48, 0x8b, 0x07, 0xc3, 0x48, 0x89, 0xf0, 0xc3],
        // Generated code of older versions: mov esi, [rdi]; mov rax, rsi; ret. The assembler knows
        // two ways to move.
        &[0x8b, 0x37, 0x48, 0x8b, 0xc6, 0xc3],
        &[0x8b, 0x37, 0x48, 0x89, 0xf0, 0xc3],
        &[0x48, 0x8b, 0x37, 0x48, 0x8b, 0xc6, 0xc3],
        &[0x48, 0x8b, 0x37, 0x48, 0x89, 0xf0, 0xc3],
    ];
    // SAFETY: by the caller's promise.
    let pc = unsafe { get(context, libc::REG_RIP) };
    // What could not be fetched cannot be read.
    let fetched = pc != address && pc >> ADDRESS_BITS == 0 && pc > 0xfff;
    // SAFETY: the instruction at `pc` was fetched, and no byte is read behind one that is not as
    // expected.
    let is =
        |way: &&[u8]| way.iter().enumerate().all(|(at, byte)| unsafe { *((pc + at) as *const u8) } == *byte);
    fetched && WAYS.iter().any(is)
}

/// Faults, each time in another way of four: by nothing, by no address at all, by a call to
/// nowhere, and at `address`.
pub fn fault(way: u32, address: usize) {
    // SAFETY: none of them comes back but through the guard, which needs nothing of this
    // function's.
    unsafe {
        match way % 4 {
            0 => asm!("mov eax, [{0}]", in(reg) 8_usize, out("eax") _),
            1 => asm!("mov [{0}], eax", in(reg) 0xdead_0000_0000_beef_usize),
            2 => asm!("call {0}", in(reg) 16_usize, clobber_abi("C")),
            _ => asm!("mov eax, [{0}]", in(reg) address, out("eax") _),
        }
    }
}

/// Where the calling thread's own variables are counted from.
#[inline]
pub fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: by the ABI the word there is its own address.
    unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
    pointer
}

/// Where the calling thread is.
#[inline(always)]
#[expect(clippy::inline_always, reason = "a separate frame would be gone when the function returns")]
pub fn here() -> Registers {
    let (pc, sp, fp);
    // SAFETY: reads three registers.
    unsafe {
        asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) pc, out(reg) sp, out(reg) fp,
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
    let get = |register| unsafe { get(context, register) };
    Registers { pc: get(libc::REG_RIP), sp: get(libc::REG_RSP), fp: get(libc::REG_RBP) }
}

/// What the interpreter has in the registers that it keeps, if the thread is in it.
///
/// # Safety
/// `context` must be a ucontext.
pub unsafe fn interpreting(context: *mut c_void) -> Interpreting {
    // SAFETY: by the caller's promise.
    let get = |register| unsafe { get(context, register) };
    Interpreting { bytecode: get(libc::REG_R13), method: get(libc::REG_RBX), returns: get(libc::REG_RAX) }
}

/// No register has where the last call returns to.
///
/// # Safety
/// It does nothing.
pub unsafe fn link(_: *mut c_void) -> Option<usize> {
    None
}

/// Has a context say that the thread stands there.
///
/// # Safety
/// `context` must be a ucontext, and nobody's to return to.
pub unsafe fn repair(context: *mut c_void, Registers { pc, sp, fp }: Registers) {
    // SAFETY: by the caller's promise.
    unsafe {
        set(context, libc::REG_RIP, pc);
        set(context, libc::REG_RSP, sp);
        set(context, libc::REG_RBP, fp);
    }
}

unsafe fn get(context: *mut c_void, register: i32) -> usize {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: by the caller's promise; the register is one of the machine's.
    unsafe {
        (&raw const (*context).uc_mcontext.gregs).cast::<usize>().add(register.unsigned_abs() as usize).read()
    }
}

unsafe fn set(context: *mut c_void, register: i32, value: usize) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: as above.
    unsafe {
        (&raw mut (*context).uc_mcontext.gregs)
            .cast::<usize>()
            .add(register.unsigned_abs() as usize)
            .write(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(code: &[u8], address: usize) -> bool {
        // SAFETY: all zero is a valid ucontext.
        let mut context: libc::ucontext_t = unsafe { core::mem::zeroed() };
        let context = (&raw mut context).cast();
        // SAFETY: a ucontext, whose instruction lies in `code`.
        unsafe {
            set(context, libc::REG_RIP, code.as_ptr() as usize);
            is_safe_fetch(context, address)
        }
    }

    #[test]
    fn the_jvms_own_trial_of_an_address_is_none_of_ours() {
        let load = [0x48, 0x8b, 0x07, 0xc3, 0x48, 0x89, 0xf0, 0xc3];
        assert!(at(&load, 8));
        // Code that was not there to be fetched: the address is the instruction's own.
        assert!(!at(&load, load.as_ptr() as usize));
        // Any other load: of the same bytes, but for what follows.
        assert!(!at(&[0x48, 0x8b, 0x07, 0xc3, 0x48, 0x89, 0xf0, 0x90], 8));
        assert!(!at(&[0x48, 0x8b, 0x47, 0x08, 0xc3, 0, 0, 0], 8));
    }
}
