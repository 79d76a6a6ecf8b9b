//! Whom a sample is walked by: a list, in which a walker is a row.
//!
//! The handler asks each of them for an account. It must never change under a handler: whoever wants others makes a new list.

use vouch_walk::broken::{Break, Broken};
use vouch_walk::walker::Walker;

use crate::guard;
use crate::hotspot::HotSpot;

/// The walkers, in the order of their accounts; the first one's is judged and shown. (A second one has been tried in the tests of
/// lanes and stages, and in no JVM yet.)
pub type Walkers = &'static [&'static dyn Walker];

/// Those of this JVM; the first one broken in this way, in one of so many walks, if a test wants that.
///
/// What is made here stays for as long as the process, since a handler may hold it at any time: one list for each time that a
/// test breaks it or mends it.
pub fn of(hotspot: &HotSpot, broken: Option<(Break, u32)>) -> Walkers {
    let asgct: &'static dyn Walker = Box::leak(Box::new(hotspot.asgct));
    let first = match broken {
        Some((how, every)) => Box::leak(Box::new(Broken::new(asgct, how, every, guard::past_end()))),
        None => asgct,
    };
    Box::leak(Box::new([first]))
}
