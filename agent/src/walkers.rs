//! Whom a sample is walked by: a list, in which a walker is a row, and our own one held to what the
//! JVM says of a stack.
//!
//! The handler asks them in their order. A list must never change under a handler: whoever wants
//! others makes a new one.

use std::sync::atomic::{AtomicU32, Ordering};

use jni::JNIEnv;
use parking_lot::Mutex;
use vouch_hotspot::HotSpot;
use vouch_sample::{Frame, Stack};
use vouch_verify::witness::compare;
use vouch_walk::broken::{Break, BrokenWalker};
use vouch_walk::hotspot::HotspotWalker;
use vouch_walk::walker::{RawFrame, Walker};

use crate::clock::own_tid;
use crate::facade::Jvmti;
use crate::guard;
use crate::options::choices::WalkerWish;
use crate::single_walk::SingleWalk;
use crate::threads::registry;

/// The walkers, in the order in which they are asked.
pub type List = &'static [&'static dyn Walker];

/// Where two walkers are there the second one is asked where the first has no stack; and in one of
/// so many samples anyhow.
const COMPARED: u32 = 16;

/// Whom a recording's samples are walked by.
#[derive(Debug, Clone)]
pub struct Walkers {
    pub list: List,
    /// In one of so many samples all of them are asked.
    pub compare: u32,
    /// Our own, if it is among them.
    pub own: Option<&'static HotspotWalker>,
    /// Our own, which tells whom a thread carries, whoever walks.
    pub reads: Option<&'static HotspotWalker>,
    /// Our own, which tells what of another walker's stack is not the thread's own, also where it
    /// does not walk; not where AsyncGetCallTrace is asked for alone, whose word is then shown as
    /// it is.
    pub parts: Option<&'static HotspotWalker>,
    /// Why our own is missing.
    pub missing: Option<String>,
}

impl Walkers {
    /// Their names in the report, in the order in which they are asked.
    pub fn names(&self) -> &'static [&'static str] {
        match (self.own, self.list.len()) {
            (None, _) => &["asgct"],
            (Some(_), 1) => &["own"],
            (Some(_), _) => &["own", "asgct"],
        }
    }

    /// True if our own was among them and was found wrong.
    pub fn wrong(&self) -> bool {
        self.own.is_some_and(|own| own.wrong.load(Ordering::Relaxed))
    }
}

/// Those that are wished for. One that is broken stands alone: nobody is to make good for it.
///
/// What is made here stays for as long as the process, since a handler may hold it at any time: one
/// list for each recording, and for each time that a test breaks a walker or mends it.
pub fn of(
    hotspot: &HotSpot,
    own: Result<&'static HotspotWalker, &str>,
    wish: WalkerWish,
    broken: Option<(Break, u32)>,
) -> Walkers {
    let asgct: &'static dyn Walker = Box::leak(Box::new(hotspot.asgct));
    let reads = own.ok();
    if let Some(own) = reads {
        own.unguarded.store(guard::unguarded().is_some(), Ordering::Relaxed);
    }
    let own = own.and_then(able);
    let alone = |walker| Walkers {
        list: vec![walker].leak(),
        compare: 1,
        own: None,
        reads,
        parts: None,
        missing: None,
    };
    if let Some((how, every)) = broken {
        let own = own.ok().filter(|_| wish == WalkerWish::Own);
        let whole = own.map_or(asgct, |own| own as &dyn Walker);
        let broken: &'static BrokenWalker =
            Box::leak(Box::new(BrokenWalker::new(whole, how, every, guard::past_end())));
        // What becomes of a context that no thread had says nothing of who walks it.
        if own.is_some() && how.spoils() {
            *HELD.lock() = Some(broken);
        }
        return Walkers { own, ..alone(broken) };
    }
    if wish == WalkerWish::Asgct {
        return alone(asgct);
    }
    if let Ok(own) = own {
        *HELD.lock() = Some(own);
    }
    match (own, wish) {
        (Ok(own), WalkerWish::Own) => Walkers { own: Some(own), ..alone(own) },
        (Ok(own), _) => {
            let compare = if wish == WalkerWish::Both { 1 } else { COMPARED };
            let list = vec![own as &dyn Walker, asgct].leak();
            Walkers { list, compare, own: Some(own), reads, parts: reads, missing: None }
        }
        (Err(why), _) => {
            let missing = Some(format!("AsyncGetCallTrace alone has walked: {why}"));
            Walkers { parts: reads, missing, ..alone(asgct) }
        }
    }
}

/// Our own walker, if nothing speaks against its walking.
pub fn able<'w>(own: &'static HotspotWalker) -> Result<&'static HotspotWalker, &'w str> {
    match () {
        // Its faults are to end its walk and nothing else.
        () if guard::unguarded().is_some() => Err("walks are not guarded"),
        () if own.wrong.load(Ordering::Relaxed) => {
            Err("Vouch's own walker found a stack that the JVM does not have")
        }
        () => Ok(own),
    }
}

/// Our own walker, as it has walked for a recording. If none has, GetStackTrace is not asked: the
/// truth lab has to see the JVM without what that repairs.
static HELD: Mutex<Option<&'static dyn Walker>> = Mutex::new(None);
/// How often there was an occasion to hold our own walker to the JVM's word.
static OCCASIONS: AtomicU32 = AtomicU32::new(0);
/// The deepest stack that is held to it.
const DEEPEST: usize = 1 << 10;

/// Holds our own walker to what the JVM says of the calling thread's stack: at the first occasion,
/// the second, the fourth and so on. If they say something else it walks no more.
pub fn hold(own: &'static HotspotWalker, jvmti: Jvmti, env: &JNIEnv<'_>) {
    let stopped = own.wrong.load(Ordering::Relaxed) || own.unguarded.load(Ordering::Relaxed);
    let Some(walker) = *HELD.lock() else { return };
    if stopped {
        return;
    }
    let occasion = OCCASIONS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    if !occasion.is_power_of_two() {
        return;
    }
    let Some(slot) = registry().slots().find(own_tid()) else { return };
    let mut walked = vec![RawFrame::EMPTY; DEEPEST + 1];
    // The walk before the witness, which would make ids that are lacking.
    // SAFETY: slot and JNIEnv are the calling thread's.
    let walk = unsafe { SingleWalk { walker, slot, env: env.get_raw().cast() }.direct(&mut walked) };
    // That it finds none says nothing about those that it finds.
    let Ok(walk) = walk else { return };
    let mut room = Vec::new();
    // A stack of more was not walked.
    let Ok(count) = jvmti.stack_trace(std::ptr::null_mut(), &mut room, DEEPEST + 1) else { return };
    let witness: Vec<_> = room[..count].iter().map(|frame| frame.frame()).collect();
    if walk.cut.is_none() && count < DEEPEST && !agrees(&walk.frames, &witness) {
        own.wrong.store(true, Ordering::Relaxed);
    }
}

/// True if a walk has all that the witness of the same moment has.
fn agrees(walk: &[Frame], witness: &[Frame]) -> bool {
    // What was redefined has no id for the walk. And behind a virtual thread stands its carrier.
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
    fn a_walker_is_wrong_that_tells_anything_else_than_the_jvm() {
        const STACK: [(usize, i32); 3] = [(1, NATIVE), (2, 7), (3, 9)];
        let agrees = |walk: &[(usize, i32)]| agrees(&frames(walk), &frames(&STACK));
        assert!(agrees(&STACK));
        assert!(agrees(&[(1, NATIVE), (2, 7), (3, 9), (4, 1)]), "the carrier behind a virtual thread");
        assert!(agrees(&[(1, NATIVE), (0, 7)]), "nobody knows whose frame that is");
        for wrong in [&STACK[..2], &[(1, NATIVE), (2, 8), (3, 9)], &[(1, NATIVE), (3, 7), (2, 9)]] {
            assert!(!agrees(wrong), "{wrong:?}");
        }
    }
}
