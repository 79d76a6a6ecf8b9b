//! The list of walkers for samples, and the check of our own walker against GetStackTrace.
//!
//! The handler calls the walkers in their order. A list must never change under a handler, so each
//! change makes a new list.

use std::sync::atomic::{AtomicU32, Ordering};

use jni::JNIEnv;
use parking_lot::Mutex;
use vouch_hotspot::HotSpot;
use vouch_sample::{Frame, Stack};
use vouch_sampling::clock::own_tid;
use vouch_sampling::threads::registry;
use vouch_unwind::hotspot::HotspotWalker;
use vouch_unwind::walker::{RawFrame, Walker};
use vouch_verify::witness::compare;

use crate::facade::Jvmti;
use crate::guard;
use crate::lab_hooks::WalkerWrapper;
use crate::options::choices::WalkerWish;
use crate::single_walk::SingleWalk;

/// The walkers, in the order in which they are called.
pub type List = &'static [&'static dyn Walker];

/// One of this many samples is walked by both walkers. Otherwise the second walker runs only if the
/// first finds no stack.
const COMPARE_EVERY: u32 = 16;

/// The walkers of a recording.
#[derive(Debug, Clone)]
pub struct Walkers {
    pub list: List,
    /// One of this many samples is walked by all walkers.
    pub compare: u32,
    /// Our own walker, if it is in the list.
    pub own: Option<&'static HotspotWalker>,
    /// Our own walker as the reader of mounted virtual threads, for any walker in the list.
    pub reads: Option<&'static HotspotWalker>,
    /// Our own walker as the filter of frames that do not belong to a thread, in stacks of another
    /// walker. It also runs if our own walker does not walk. It is `None` if only AsyncGetCallTrace
    /// is chosen, so that its stacks stay unchanged.
    pub parts: Option<&'static HotspotWalker>,
    /// The reason why our own walker is missing.
    pub missing: Option<String>,
}

impl Walkers {
    /// Returns the names of the walkers in the report, in the order in which they are called.
    pub fn names(&self) -> &'static [&'static str] {
        match (self.own, self.list.len()) {
            (None, _) => &["asgct"],
            (Some(_), 1) => &["own"],
            (Some(_), _) => &["own", "asgct"],
        }
    }

    /// Returns true if our own walker was in the list and was found wrong.
    pub fn wrong(&self) -> bool {
        self.own.is_some_and(|own| own.wrong.load(Ordering::Relaxed))
    }
}

/// Makes the walkers that are chosen. A walker that a test wraps is alone in its list, so that no
/// other one hides its failures.
///
/// The lists last as long as the process, because a handler may hold one at any time. Each
/// recording adds one, and so does each test that breaks or repairs a walker.
pub fn new(
    hotspot: &HotSpot,
    own: Result<&'static HotspotWalker, &str>,
    wish: WalkerWish,
    wrapper: Option<&dyn WalkerWrapper>,
) -> Walkers {
    let asgct: &'static dyn Walker = Box::leak(Box::new(hotspot.asgct));
    let reads = own.ok();
    if let Some(own) = reads {
        own.unguarded.store(guard::unguarded().is_some(), Ordering::Relaxed);
    }
    let own = own.and_then(usable);
    let alone = |walker| Walkers {
        list: vec![walker].leak(),
        compare: 1,
        own: None,
        reads,
        parts: None,
        missing: None,
    };
    if let Some(wrapper) = wrapper {
        let own = own.ok().filter(|_| wish == WalkerWish::Own);
        let whole = own.map_or(asgct, |own| own as &dyn Walker);
        let wrapped = wrapper.wrap(whole);
        if own.is_some() && wrapper.is_comparable() {
            *CHECKED_WALKER.lock() = Some(wrapped);
        }
        return Walkers { own, ..alone(wrapped) };
    }
    if wish == WalkerWish::Asgct {
        return alone(asgct);
    }
    if let Ok(own) = own {
        *CHECKED_WALKER.lock() = Some(own);
    }
    match (own, wish) {
        (Ok(own), WalkerWish::Own) => Walkers { own: Some(own), ..alone(own) },
        (Ok(own), _) => {
            let compare = if wish == WalkerWish::Both { 1 } else { COMPARE_EVERY };
            let list = vec![own as &dyn Walker, asgct].leak();
            Walkers { list, compare, own: Some(own), reads, parts: reads, missing: None }
        }
        (Err(why), _) => {
            let missing = Some(format!("AsyncGetCallTrace alone has walked: {why}"));
            Walkers { parts: reads, missing, ..alone(asgct) }
        }
    }
}

/// Returns our own walker, or the reason why it cannot walk.
pub fn usable<'w>(own: &'static HotspotWalker) -> Result<&'static HotspotWalker, &'w str> {
    match () {
        // A fault in the walker must only end its walk.
        () if guard::unguarded().is_some() => Err("walks are not guarded"),
        () if own.wrong.load(Ordering::Relaxed) => {
            Err("Vouch's own walker found a stack that the JVM does not have")
        }
        () => Ok(own),
    }
}

/// Our own walker, as a recording uses it. If no recording has used it, GetStackTrace is not
/// called. The truth lab must observe the JVM without the ids that GetStackTrace makes.
static CHECKED_WALKER: Mutex<Option<&'static dyn Walker>> = Mutex::new(None);
/// The number of opportunities to check our own walker so far.
static CHECK_OPPORTUNITIES: AtomicU32 = AtomicU32::new(0);
/// The maximum depth of a stack that is checked, in frames.
const MAX_CHECKED_FRAMES: usize = 1 << 10;

/// Checks our own walker against GetStackTrace of the calling thread. It runs at the first
/// opportunity, the second, the fourth and so on. If the stacks differ, the walker is not used any
/// more.
pub fn check_against_jvm(own: &'static HotspotWalker, jvmti: Jvmti, env: &JNIEnv<'_>) {
    let stopped = own.wrong.load(Ordering::Relaxed) || own.unguarded.load(Ordering::Relaxed);
    let Some(walker) = *CHECKED_WALKER.lock() else { return };
    if stopped {
        return;
    }
    let occasion = CHECK_OPPORTUNITIES.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    if !occasion.is_power_of_two() {
        return;
    }
    let Some(slot) = registry().slots().find(own_tid()) else { return };
    let mut walked = vec![RawFrame::EMPTY; MAX_CHECKED_FRAMES + 1];
    // The walk comes before GetStackTrace, which would make missing ids.
    // SAFETY: slot and JNIEnv are the calling thread's.
    let walk = unsafe { SingleWalk { walker, slot, env: env.get_raw().cast() }.direct(&mut walked) };
    // A failed walk does not refute the stacks of other walks.
    let Ok(walk) = walk else { return };
    let mut room = Vec::new();
    // A deeper stack was cut by the walk, so it is not compared.
    let Ok(count) = jvmti.stack_trace(std::ptr::null_mut(), &mut room, MAX_CHECKED_FRAMES + 1) else {
        return;
    };
    let witness: Vec<_> = room[..count].iter().map(|frame| frame.frame()).collect();
    if walk.cut.is_none() && count < MAX_CHECKED_FRAMES && !agrees(&walk.frames, &witness) {
        own.wrong.store(true, Ordering::Relaxed);
    }
}

/// Returns true if a walk contains all frames of the witness of the same moment.
fn agrees(walk: &[Frame], witness: &[Frame]) -> bool {
    // A redefined method has no id in the walk. The frames of a carrier follow those of its virtual
    // thread.
    walk.iter().any(|frame| frame.method().is_none())
        || walk
            .get(..witness.len())
            .is_some_and(|walk| compare(Stack::whole(walk), witness).differences.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use vouch_sample::{MethodId, NATIVE};

    fn frames(frames: &[(usize, i32)]) -> Vec<Frame> {
        frames.iter().map(|(method, bci)| Frame::new(MethodId(*method), *bci)).collect()
    }

    #[test]
    fn a_walker_is_wrong_if_its_stack_differs_from_the_jvms() {
        const STACK: [(usize, i32); 3] = [(1, NATIVE), (2, 7), (3, 9)];
        let agrees = |walk: &[(usize, i32)]| agrees(&frames(walk), &frames(&STACK));
        assert!(agrees(&STACK));
        assert!(agrees(&[(1, NATIVE), (2, 7), (3, 9), (4, 1)]), "the carrier behind a virtual thread");
        assert!(agrees(&[(1, NATIVE), (0, 7)]), "the frame's method is unknown");
        for wrong in [&STACK[..2], &[(1, NATIVE), (2, 8), (3, 9)], &[(1, NATIVE), (3, 7), (2, 9)]] {
            assert!(!agrees(wrong), "{wrong:?}");
        }
    }
}
