//! Where this JVM has who holds the monitor that a thread is about to wait for: by its own tables,
//! from JDK 17 on, which put the monitor into the thread before they tell of the wait.
//!
//! Nothing is asked of the JVM: it would have to stand still for the answer. What has not been
//! written down anywhere is not told.

use crate::HotSpot;
use crate::fields;
use crate::java_thread::JavaThread;
use crate::vmstructs::{Table, stack};

/// The first JDK whose threads say what they want before they tell of it.
const SINCE: u32 = 17;
/// From this JDK on a monitor has the id of its owner, as Java calls it.
const BY_ID_SINCE: u32 = 24;
/// What stands for an owner that only its own list of locks tells, from JDK 21 on where locks are
/// of that kind.
const ON_ITS_LIST: usize = 1;
/// The JVM itself has it, which is about to give the monitor back, and will not since it is wanted.
const GIVEN_BACK: usize = 2;
/// A thread's list has room for so many.
const LISTED: usize = 8;
const WORD: usize = size_of::<usize>();

/// The places.
#[derive(Debug)]
pub struct Monitors {
    /// Of its JNIEnv in a JavaThread,
    env: usize,
    /// of the monitor that it wants,
    wanted: usize,
    /// of the end of its stack, and how long that is,
    stack: (usize, usize),
    /// of where its list of locks ends (by bytes of the JavaThread), and where it begins.
    list: Option<(usize, usize)>,
    /// Of the owner, in a monitor.
    owner: usize,
    by_id: bool,
}

/// Who has a monitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// By what the monitor has of him: his id, or his JavaThread's place, or one of his stack.
    Word(usize),
    /// Whoever has it on his list.
    Listed,
}

impl Monitors {
    /// Reads the exported tables; in each JavaThread its JNIEnv lies at `env`.
    pub fn of(hotspot: &HotSpot, jdk: u32, env: usize) -> Option<Self> {
        let table = Table::of(hotspot).filter(|_| jdk >= SINCE)?;
        let list = || {
            let list = table.offset(&fields::JAVA_THREAD_LOCK_STACK)?;
            let (top, base) = (&fields::LOCK_STACK_TOP, &fields::LOCK_STACK_BASE);
            Some((list + table.offset(top)?, list + table.offset(base)?))
        };
        Some(Self {
            env,
            wanted: table.offset(&fields::JAVA_THREAD_CURRENT_PENDING_MONITOR)?,
            stack: stack(&table)?,
            list: list(),
            owner: table.offset(&fields::OBJECT_MONITOR_OWNER)?,
            by_id: jdk >= BY_ID_SINCE,
        })
    }

    /// Whether a monitor has the id of its owner.
    pub fn by_id(&self) -> bool {
        self.by_id
    }

    /// Who has the monitor that the calling thread is about to wait for; `None` if nobody has it at
    /// this moment.
    ///
    /// # Safety
    /// `env` must be the calling thread's, which is told at this moment that it begins to wait.
    pub unsafe fn owner(&self, env: usize) -> Option<Owner> {
        // SAFETY: by the caller's promise it is in a JavaThread, the calling thread's own, which
        // has this field.
        let monitor = unsafe { word(env.wrapping_sub(self.env) + self.wanted) };
        if monitor == 0 {
            return None;
        }
        // SAFETY: a thread that is about to wait for a monitor keeps it from being given back.
        match unsafe { word(monitor + self.owner) } {
            0 => None,
            GIVEN_BACK if self.by_id => None,
            ON_ITS_LIST => Some(Owner::Listed),
            owner => Some(Owner::Word(owner)),
        }
    }

    /// Whether what a monitor has of its owner is a place of a thread's stack: so it is of one who
    /// had locked before anybody else wanted to.
    pub fn is_on_stack(&self, owner: usize, thread: &JavaThread) -> bool {
        let stack = thread.word(self.stack.0).zip(thread.word(self.stack.1));
        stack.is_some_and(|(end, size)| (end.wrapping_sub(size)..end).contains(&owner))
    }

    /// Whether a thread has an object on its list.
    pub fn has_listed(&self, object: usize, thread: &JavaThread) -> bool {
        let listed = self.list.and_then(|(top, base)| Some((thread.low_u32(top)? as usize, base)));
        listed.is_some_and(|(top, base)| {
            let listed = top.saturating_sub(base) / WORD;
            (0..listed.min(LISTED)).any(|at| thread.word(base + at * WORD) == Some(object))
        })
    }
}

/// # Safety
/// There must be an aligned word.
unsafe fn word(place: usize) -> usize {
    // SAFETY: by the caller's promise; other threads write whole words.
    unsafe { (place as *const usize).read_volatile() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MONITORS: Monitors = Monitors {
        env: 2 * WORD,
        wanted: WORD,
        stack: (3 * WORD, 4 * WORD),
        list: Some((5 * WORD, 6 * WORD)),
        owner: WORD,
        by_id: false,
    };

    /// A JavaThread that wants a monitor, with a stack from 800 to 900, and a list whose end is
    /// given.
    fn thread(monitor: &[usize; 2], top: usize) -> [usize; 8] {
        [0, monitor.as_ptr() as usize, 0, 900, 100, top * WORD, 71, 72]
    }

    #[test]
    fn the_owner_is_what_the_monitor_has() {
        let owner = |owner| {
            let monitor = [0, owner];
            let thread = thread(&monitor, 6);
            // SAFETY: it stands for the calling thread's JavaThread, and has its monitor.
            unsafe { MONITORS.owner(thread.as_ptr() as usize + MONITORS.env) }
        };
        assert_eq!(owner(0), None, "it has been given away a moment ago");
        assert_eq!(owner(ON_ITS_LIST), Some(Owner::Listed));
        assert_eq!(owner(5_000), Some(Owner::Word(5_000)));
        assert_eq!(owner(GIVEN_BACK), Some(Owner::Word(GIVEN_BACK)), "only where owners have ids");
    }

    #[test]
    fn an_owner_is_known_by_his_stack_or_his_list() {
        let thread = thread(&[0; 2], 7);
        // SAFETY: `thread` lives until the test ends.
        let java_thread = unsafe { JavaThread::that_stays(thread.as_ptr() as usize) };
        let is = |owner| MONITORS.is_on_stack(owner, &java_thread);
        assert!(is(800) && is(899) && !is(900) && !is(799));
        let has = |object| MONITORS.has_listed(object, &java_thread);
        assert!(has(71) && !has(72), "the second place is free");
    }
}
