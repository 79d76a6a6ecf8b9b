//! Faults and damaged contexts. Tests show with them that a walk that faults ends, and nothing
//! else.

use std::arch::asm;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

use vouch_unwind::context::{registers, repair};

/// Faults on purpose. The four ways are a load near null, a store to a non-canonical address, a
/// call of an unmapped address, and a load from `address`.
///
/// # Safety
/// The guard must be armed on this thread, and a read of `address` must fault. The guard unwinds
/// all callers up to its own frame, so none of them may own anything.
#[cfg(target_arch = "x86_64")]
pub unsafe fn fault(way: u32, address: usize) {
    // SAFETY: each of them faults, and the caller promised an armed guard, which then unwinds.
    unsafe {
        match way % 4 {
            0 => asm!("mov eax, [{0}]", in(reg) 8_usize, out("eax") _),
            1 => asm!("mov [{0}], eax", in(reg) 0xdead_0000_0000_beef_usize),
            2 => asm!("call {0}", in(reg) 16_usize, clobber_abi("C")),
            _ => asm!("mov eax, [{0}]", in(reg) address, out("eax") _),
        }
    }
}

/// Faults on purpose, as on x86-64.
///
/// # Safety
/// As on x86-64.
#[cfg(target_arch = "aarch64")]
pub unsafe fn fault(way: u32, address: usize) {
    // SAFETY: each of them faults, and the caller promised an armed guard, which then unwinds.
    unsafe {
        match way % 4 {
            0 => asm!("ldr w9, [{0}]", in(reg) 8_usize, out("x9") _),
            1 => asm!("str w9, [{0}]", in(reg) 0xdead_0000_0000_beef_usize, out("x9") _),
            2 => asm!("blr {0}", in(reg) 16_usize, clobber_abi("C")),
            _ => asm!("ldr w9, [{0}]", in(reg) address, out("x9") _),
        }
    }
}

/// Returns a mapped address without a page. It is past the end of the mapped file, so a read
/// faults.
pub fn past_end() -> usize {
    static ADDRESS: OnceLock<usize> = OnceLock::new();
    // SAFETY: makes an empty file and maps a page of it. Only a walker that is broken on purpose
    // reads it.
    *ADDRESS.get_or_init(|| unsafe {
        // The call uses the number: older C libraries have no function of that name.
        let file = libc::syscall(libc::SYS_memfd_create, c"empty".as_ptr(), libc::MFD_CLOEXEC);
        let file = i32::try_from(file).unwrap_or(-1);
        let page = libc::mmap(null_mut(), 1, libc::PROT_READ, libc::MAP_SHARED, file, 0);
        libc::close(file);
        page as usize
    })
}

/// Damages a context. The stack pointer, the pc and the frame pointer get values near
/// the real ones, or any values.
///
/// # Safety
/// `context` must be a ucontext, and no thread may resume from it.
pub unsafe fn damage(context: *mut c_void, random: u64) {
    let near = |value: &mut usize, shift: u32| {
        let by = usize::try_from(random >> shift & 0xfff8).unwrap_or(0);
        // Three of four values stay near the real ones, because walkers refuse distant ones early.
        *value = if (random >> 62) == 3 {
            *value ^ (by << 24)
        } else {
            value.wrapping_add(by).wrapping_sub(0x1000)
        };
    };
    // SAFETY: the caller promised a ucontext.
    let mut at = unsafe { registers(context) };
    if random & 1 == 0 {
        near(&mut at.sp, 8);
    }
    if random & 4 == 0 {
        near(&mut at.pc, 20);
    }
    if random & 3 != 2 {
        near(&mut at.fp, 32);
    }
    // SAFETY: the caller promised a ucontext from which no thread resumes.
    unsafe { repair(context, at) };
}
