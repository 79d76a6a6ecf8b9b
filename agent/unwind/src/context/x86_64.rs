//! The registers of a context on x86-64, the call that a fault can unwind, and the JVM's SafeFetch.

use core::arch::{asm, naked_asm};
use core::ffi::c_void;
use core::sync::atomic::AtomicUsize;

use super::registers::{InterpreterRegisters, Registers};

/// The number of bits in an address of user space.
pub const ADDRESS_BITS: u32 = 47;
/// True: the guard can end a faulting walk on x86-64.
pub const CAN_GUARD: bool = true;
/// True: on x86-64 a call leaves its return address on the stack.
pub const CALL_PUSHES: bool = true;
/// Distance of glibc's dynamic thread vector (DTV) from the thread pointer, in bytes.
pub const DTV_OFFSET: usize = 8;

/// Assembly that restores the previous value of the thread's guard slot and the callee-saved
/// registers, and returns.
macro_rules! restore_and_return {
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
        restore_and_return!(),
    )
}

/// Runs in a thread after its walk was unwound: restores the registers and returns from
/// [`guarded`].
#[unsafe(naked)]
unsafe extern "C" fn after_unwind() {
    naked_asm!("cld", restore_and_return!())
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
        set(context, libc::REG_RSP, sp);
        set(context, libc::REG_RIP, after_unwind as *const () as usize);
    }
}

/// True if the instruction that faulted at `address` is the load of the JVM's SafeFetch. The JVM
/// handles that fault itself. The instructions that follow the load identify it in all versions of
/// HotSpot.
///
/// # Safety
/// `context` must be that of a fault.
pub unsafe fn is_safe_fetch(context: *mut c_void, address: usize) -> bool {
    const WAYS: [&[u8]; 6] = [
        // mov eax, [rdi]; ret; mov eax, esi; ret. The second way has 64 bits.
        &[0x8b, 0x07, 0xc3, 0x89, 0xf0, 0xc3],
        &[0x48, 0x8b, 0x07, 0xc3, 0x48, 0x89, 0xf0, 0xc3],
        // Generated code of older versions: mov esi, [rdi]; mov rax, rsi; ret. There are two
        // encodings of the move.
        &[0x8b, 0x37, 0x48, 0x8b, 0xc6, 0xc3],
        &[0x8b, 0x37, 0x48, 0x89, 0xf0, 0xc3],
        &[0x48, 0x8b, 0x37, 0x48, 0x8b, 0xc6, 0xc3],
        &[0x48, 0x8b, 0x37, 0x48, 0x89, 0xf0, 0xc3],
    ];
    // SAFETY: the caller promised a ucontext.
    let pc = unsafe { get(context, libc::REG_RIP) };
    // An instruction that could not be fetched cannot be read.
    let fetched = pc != address && pc >> ADDRESS_BITS == 0 && pc > 0xfff;
    // SAFETY: the instruction at `pc` was fetched, so it is readable. The comparison stops at the
    // first byte that differs.
    let is =
        |way: &&[u8]| way.iter().enumerate().all(|(at, byte)| unsafe { *((pc + at) as *const u8) } == *byte);
    fetched && WAYS.iter().any(is)
}

/// Returns the calling thread's thread pointer. Offsets of thread-local variables are relative to
/// it.
#[inline]
pub fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: by the ABI the word at fs:0 contains its own address.
    unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(nostack, preserves_flags, readonly)) };
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
        asm!("lea {}, [rip]", "mov {}, rsp", "mov {}, rbp", out(reg) pc, out(reg) sp, out(reg) fp,
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
    let get = |register| unsafe { get(context, register) };
    Registers { pc: get(libc::REG_RIP), sp: get(libc::REG_RSP), fp: get(libc::REG_RBP) }
}

/// Reads the registers in which the interpreter keeps its state. Their values mean nothing if the
/// thread was not interpreting.
///
/// # Safety
/// `context` must be a ucontext.
pub unsafe fn interpreter_registers(context: *mut c_void) -> InterpreterRegisters {
    // SAFETY: the caller promised a ucontext.
    let get = |register| unsafe { get(context, register) };
    InterpreterRegisters {
        bcp: get(libc::REG_R13),
        method: get(libc::REG_RBX),
        return_address: get(libc::REG_RAX),
    }
}

/// Returns `None`, because x86-64 has no link register.
///
/// # Safety
/// The function reads nothing.
pub unsafe fn link_register(_: *mut c_void) -> Option<usize> {
    None
}

/// Writes a pc, a stack pointer and a frame pointer into a context.
///
/// # Safety
/// `context` must be a ucontext, and no thread may resume from it.
pub unsafe fn repair(context: *mut c_void, Registers { pc, sp, fp }: Registers) {
    // SAFETY: the caller promised a ucontext.
    unsafe {
        set(context, libc::REG_RIP, pc);
        set(context, libc::REG_RSP, sp);
        set(context, libc::REG_RBP, fp);
    }
}

/// Reads a register of a context. `register` is its index in `gregs`.
///
/// # Safety
/// `context` must be a ucontext, and `register` an index of its registers.
unsafe fn get(context: *mut c_void, register: i32) -> usize {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the caller promised a ucontext, and `register` is an index of its registers.
    unsafe {
        (&raw const (*context).uc_mcontext.gregs).cast::<usize>().add(register.unsigned_abs() as usize).read()
    }
}

/// Writes a register of a context. `register` is its index in `gregs`.
///
/// # Safety
/// `context` must be a ucontext, and `register` an index of its registers.
unsafe fn set(context: *mut c_void, register: i32, value: usize) {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the caller promised a ucontext, and `register` is an index of its registers.
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
        // SAFETY: a ucontext of zeros is valid, since it is plain data.
        let mut context: libc::ucontext_t = unsafe { core::mem::zeroed() };
        let context = (&raw mut context).cast();
        // SAFETY: the context is a ucontext, and its pc is in `code`.
        unsafe {
            set(context, libc::REG_RIP, code.as_ptr() as usize);
            is_safe_fetch(context, address)
        }
    }

    #[test]
    fn a_safe_fetch_of_the_jvm_is_recognised() {
        let load = [0x48, 0x8b, 0x07, 0xc3, 0x48, 0x89, 0xf0, 0xc3];
        assert!(at(&load, 8));
        // The code itself is unmapped: the fault is at the instruction's own address.
        assert!(!at(&load, load.as_ptr() as usize));
        // Other loads: the same instruction with different successors, and a different instruction.
        assert!(!at(&[0x48, 0x8b, 0x07, 0xc3, 0x48, 0x89, 0xf0, 0x90], 8));
        assert!(!at(&[0x48, 0x8b, 0x47, 0x08, 0xc3, 0, 0, 0], 8));
    }
}
