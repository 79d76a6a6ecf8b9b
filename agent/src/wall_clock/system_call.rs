//! Reads which system call a thread of this process is in.

use std::fs;

use libc::c_long;
use vouch_collect::record::wall_clock::SystemCall;

/// The system calls in which threads usually wait.
const NAMES: [(c_long, &str); 27] = [
    (libc::SYS_read, "read"),
    (libc::SYS_write, "write"),
    (libc::SYS_readv, "readv"),
    (libc::SYS_writev, "writev"),
    (libc::SYS_pread64, "pread64"),
    (libc::SYS_pwrite64, "pwrite64"),
    (libc::SYS_preadv, "preadv"),
    (libc::SYS_pwritev, "pwritev"),
    (libc::SYS_recvfrom, "recvfrom"),
    (libc::SYS_sendto, "sendto"),
    (libc::SYS_recvmsg, "recvmsg"),
    (libc::SYS_sendmsg, "sendmsg"),
    (libc::SYS_accept, "accept"),
    (libc::SYS_accept4, "accept4"),
    (libc::SYS_connect, "connect"),
    (libc::SYS_ppoll, "ppoll"),
    (libc::SYS_pselect6, "pselect6"),
    (libc::SYS_epoll_pwait, "epoll_pwait"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_openat, "openat"),
    (libc::SYS_wait4, "wait4"),
    (libc::SYS_waitid, "waitid"),
    (libc::SYS_nanosleep, "nanosleep"),
    (libc::SYS_clock_nanosleep, "clock_nanosleep"),
    (libc::SYS_flock, "flock"),
    (libc::SYS_fcntl, "fcntl"),
];

/// The system calls that newer processors' kernels do not have.
#[cfg(target_arch = "x86_64")]
const OLD_NAMES: [(c_long, &str); 4] = [
    (libc::SYS_poll, "poll"),
    (libc::SYS_select, "select"),
    (libc::SYS_epoll_wait, "epoll_wait"),
    (libc::SYS_open, "open"),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_NAMES: [(c_long, &str); 0] = [];

/// Returns the system call that a thread waits in. Returns `None` if it runs, or if the kernel does
/// not say.
pub fn current(tid: u32) -> Option<SystemCall> {
    let text = fs::read_to_string(format!("/proc/self/task/{tid}/syscall")).ok()?;
    parse(&text)
}

fn parse(text: &str) -> Option<SystemCall> {
    // The text is `running`, or begins with the call's number; -1 means outside of system calls.
    let number: c_long = text.split_ascii_whitespace().next()?.parse().ok().filter(|number| *number >= 0)?;
    if number == libc::SYS_futex {
        return Some(SystemCall::Futex);
    }
    let known = NAMES.iter().chain(&OLD_NAMES).find(|(known, _)| *known == number);
    Some(SystemCall::Other(known.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_call_is_read_from_the_kernels_line() {
        let other = |name: &str| Some(SystemCall::Other(name.to_owned()));
        let line = |number: c_long| format!("{number} 0x7 0x7ffd 0x1 0x0 0x0 0x0 0x7ffd12 0x7f34\n");
        assert_eq!(parse(&line(libc::SYS_futex)), Some(SystemCall::Futex));
        assert_eq!(parse(&line(libc::SYS_ppoll)), other("ppoll"));
        assert_eq!(parse(&line(99_999)), other("99999"));
        for none in ["running\n", "-1 0x7ffd 0x7f34\n", ""] {
            assert_eq!(parse(none), None, "{none:?}");
        }
    }
}
