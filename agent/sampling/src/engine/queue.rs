//! A signal with a value, by which the handler recognises the agent as its sender.

use vouch_signal::{cause, signal_number};

/// Signals a thread of this process. The sample weighs this many intervals of elapsed time. Weight
/// 0 means the CPU time that the thread used since its last sample.
pub fn signal(tid: u32, weight: u32) {
    // SAFETY: all zero is a valid siginfo.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let signal = signal_number::get();
    info.si_signo = signal;
    info.si_code = libc::SI_QUEUE;
    // SAFETY: a siginfo is 128 bytes, and with SI_QUEUE these members of its union are the value
    // and the sender's user.
    unsafe {
        (&raw mut info).cast::<usize>().add(cause::SIGINFO_VALUE_WORD).write(cause::marker());
        (&raw mut info).cast::<u32>().add(cause::SIGINFO_WEIGHT_U32).write(weight);
    }
    // SAFETY: reads the siginfo. The signal has a handler of the agent's, and the kernel refuses a
    // thread that has ended.
    unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, libc::getpid(), tid, signal, &raw const info) };
}
