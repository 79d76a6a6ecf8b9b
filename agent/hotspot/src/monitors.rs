//! Reads the owner of the monitor that a thread is about to wait for.
//!
//! JDK 17 and later write the monitor into the JavaThread before they report the wait, at an offset
//! that VMStructs publishes. JVMTI has a function for the owner, but it needs a safepoint. An owner
//! that HotSpot has not written down is not reported.

use crate::HotSpot;
use crate::fields;
use crate::java_thread::JavaThread;
use crate::vmstructs::{VmStructs, stack_offsets};

/// The first JDK that writes the pending monitor before it reports the wait.
const MIN_JDK: u32 = 17;
/// The first JDK in which an owner word is the id of a `java.lang.Thread`.
const MIN_JDK_WITH_OWNER_IDS: u32 = 24;
/// The owner word of a monitor with an owner that is unknown except to its lock stack:
/// `ANONYMOUS_OWNER` of JDK 21 and later with lightweight locking.
const ANONYMOUS_OWNER: usize = 1;
/// The owner word of a monitor that HotSpot is deflating: `DEFLATER_MARKER`. The deflation is
/// cancelled if a thread waits for the monitor.
const DEFLATER_MARKER: usize = 2;
/// The number of objects that a thread's lock stack can hold.
const LOCK_STACK_CAPACITY: usize = 8;
const WORD: usize = size_of::<usize>();

/// Offsets in a JavaThread and in an ObjectMonitor.
#[derive(Debug)]
pub struct MonitorLayout {
    /// The offset of the JNIEnv in a JavaThread.
    env: usize,
    /// The offset of the pending monitor in a JavaThread.
    pending_monitor: usize,
    /// The offsets of the stack's base (its highest address) and size in a JavaThread.
    stack: (usize, usize),
    /// The offsets of the lock stack's top and first element in a JavaThread. The value of the top
    /// is itself an offset in the JavaThread.
    lock_stack: Option<(usize, usize)>,
    /// The offset of the owner in an ObjectMonitor.
    owner: usize,
    has_owner_ids: bool,
}

/// The owner of a Java monitor, as HotSpot stores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MonitorOwner {
    /// The monitor's owner word: the thread's id, its JavaThread's address, or an address in its
    /// stack.
    Word(usize),
    /// The owner is the thread that has the object on its lock stack.
    Anonymous,
}

impl MonitorLayout {
    /// Reads the offsets of monitors from VMStructs. `env` is the offset of the JNIEnv in a
    /// JavaThread. `None` if the JDK is too old, or does not publish an offset.
    pub fn find(hotspot: &HotSpot, jdk: u32, env: usize) -> Option<Self> {
        let vm_structs = VmStructs::find(hotspot).filter(|_| jdk >= MIN_JDK)?;
        let lock_stack = || {
            let lock_stack = vm_structs.offset(&fields::JAVA_THREAD_LOCK_STACK)?;
            let (top, base) = (&fields::LOCK_STACK_TOP, &fields::LOCK_STACK_BASE);
            Some((lock_stack + vm_structs.offset(top)?, lock_stack + vm_structs.offset(base)?))
        };
        Some(Self {
            env,
            pending_monitor: vm_structs.offset(&fields::JAVA_THREAD_CURRENT_PENDING_MONITOR)?,
            stack: stack_offsets(&vm_structs)?,
            lock_stack: lock_stack(),
            owner: vm_structs.offset(&fields::OBJECT_MONITOR_OWNER)?,
            has_owner_ids: jdk >= MIN_JDK_WITH_OWNER_IDS,
        })
    }

    /// Returns true if this JDK's owner word of a monitor is the id of a `java.lang.Thread`.
    pub fn has_owner_ids(&self) -> bool {
        self.has_owner_ids
    }

    /// Reads the owner of the monitor that the calling thread is about to wait for. `None` if the
    /// monitor has no owner now.
    ///
    /// # Safety
    /// `env` must be the calling thread's JNIEnv, in the callback that reports its wait.
    pub unsafe fn owner(&self, env: usize) -> Option<MonitorOwner> {
        // SAFETY: by the caller's promise, the JNIEnv is in the calling thread's JavaThread, which
        // has this field.
        let monitor = unsafe { read_word(env.wrapping_sub(self.env) + self.pending_monitor) };
        if monitor == 0 {
            return None;
        }
        // SAFETY: HotSpot does not free a monitor that a thread is about to wait for.
        match unsafe { read_word(monitor + self.owner) } {
            0 => None,
            DEFLATER_MARKER if self.has_owner_ids => None,
            ANONYMOUS_OWNER => Some(MonitorOwner::Anonymous),
            owner => Some(MonitorOwner::Word(owner)),
        }
    }

    /// Returns true if the owner word points into the thread's stack. Then the monitor was inflated
    /// from a stack lock.
    pub fn is_on_stack(&self, owner: usize, thread: &JavaThread) -> bool {
        let stack = thread.word(self.stack.0).zip(thread.word(self.stack.1));
        stack.is_some_and(|(base, size)| (base.wrapping_sub(size)..base).contains(&owner))
    }

    /// Returns true if the thread's lock stack contains the object at this address.
    pub fn is_on_lock_stack(&self, object: usize, thread: &JavaThread) -> bool {
        let lock_stack = self.lock_stack.and_then(|(top, base)| Some((thread.low_u32(top)? as usize, base)));
        lock_stack.is_some_and(|(top, base)| {
            let length = top.saturating_sub(base) / WORD;
            (0..length.min(LOCK_STACK_CAPACITY)).any(|at| thread.word(base + at * WORD) == Some(object))
        })
    }
}

/// Reads a word that other threads may write.
///
/// # Safety
/// `address` must be that of a mapped, aligned word.
unsafe fn read_word(address: usize) -> usize {
    // SAFETY: by the caller's promise; other threads write whole words.
    unsafe { (address as *const usize).read_volatile() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONITORS: MonitorLayout = MonitorLayout {
        env: 2 * WORD,
        pending_monitor: WORD,
        stack: (3 * WORD, 4 * WORD),
        lock_stack: Some((5 * WORD, 6 * WORD)),
        owner: WORD,
        has_owner_ids: false,
    };

    /// Makes the words of a JavaThread with a pending monitor and a stack from 800 to 900. `top` is
    /// the word at which the thread's lock stack ends.
    fn thread(monitor: &[usize; 2], top: usize) -> [usize; 8] {
        [0, monitor.as_ptr() as usize, 0, 900, 100, top * WORD, 71, 72]
    }

    #[test]
    fn the_owner_is_read_from_the_owner_word() {
        let owner = |owner| {
            let monitor = [0, owner];
            let thread = thread(&monitor, 6);
            // SAFETY: the words stand for the calling thread's JavaThread, and point to a monitor.
            unsafe { MONITORS.owner(thread.as_ptr() as usize + MONITORS.env) }
        };
        assert_eq!(owner(0), None, "the owner has just released it");
        assert_eq!(owner(ANONYMOUS_OWNER), Some(MonitorOwner::Anonymous));
        assert_eq!(owner(5_000), Some(MonitorOwner::Word(5_000)));
        let deflater = Some(MonitorOwner::Word(DEFLATER_MARKER));
        assert_eq!(owner(DEFLATER_MARKER), deflater, "a marker only with owner ids");
    }

    #[test]
    fn an_owner_is_found_by_its_stack_or_its_lock_stack() {
        let thread = thread(&[0; 2], 7);
        // SAFETY: `thread` lives until the test ends.
        let java_thread = unsafe { JavaThread::protected(thread.as_ptr() as usize) };
        let is = |owner| MONITORS.is_on_stack(owner, &java_thread);
        assert!(is(800) && is(899) && !is(900) && !is(799));
        let has = |object| MONITORS.is_on_lock_stack(object, &java_thread);
        assert!(has(71) && !has(72), "the second slot is free");
    }
}
