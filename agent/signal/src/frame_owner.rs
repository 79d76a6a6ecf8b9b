//! Whose the frames of a walk are: the thread's own, or the virtual thread's that it carries.
//!
//! Our own walker knows, also where another one has walked: it tells whom the thread carries, takes
//! off what is the carrier's, and says of a stack that lacks frames that it is torn. It must never
//! give frames to a virtual thread that its carrier has, nor take a torn stack for a whole one.

use vouch_sample::{Answer, Cut, Head, Reason};
use vouch_walk::hotspot::HotspotWalker;
use vouch_walk::hotspot::mounted_vthread::{CurrentThread, VthreadName};
use vouch_walk::walker::{OwnFrames, Subject, Walker};

use crate::sample_layout::Sample;

/// The virtual thread that a thread runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mounted {
    /// As a head has it.
    pub id: u64,
    /// The id is known, and the name could not be read.
    pub is_unread: bool,
}

/// The virtual thread that the thread carries; what it is called is written into the sample.
pub fn carried(own: Option<&HotspotWalker>, subject: &Subject<'_>, sample: &mut Sample<'_, '_>) -> Mounted {
    let Some(own) = own else { return Mounted::default() };
    let mut name = VthreadName::default();
    // SAFETY: the subject is the calling thread, as its signal's handler was given it.
    match unsafe { own.current_thread(subject, &mut name) } {
        CurrentThread::Itself => Mounted::default(),
        CurrentThread::Unknown => Mounted { id: Head::UNKNOWN, ..Mounted::default() },
        CurrentThread::Virtual(id) => {
            sample.name(&name);
            Mounted { id, is_unread: name.unread }
        }
    }
}

/// True if the stack that was written is a virtual thread's. While the JDK does something as the
/// carrier in the midst of it the thread runs as that, and nobody can tell whose the frames are.
pub fn is_virtual(own: Option<&HotspotWalker>, sample: &Sample<'_, '_>, answer: Answer) -> bool {
    let (Some(own), Ok(count)) = (own, answer) else { return false };
    // SAFETY: the walker has written so many, where there was room for them.
    own.is_virtual(unsafe { sample.written(count) })
}

/// A walker's answer without what is a virtual thread's carrier's, as far as our own walker knows,
/// which leaves that out itself. One that lacks frames before that is none, but torn, unless
/// another one has been taken already, with which it is to be compared; and then it is our own that
/// may find them, though it may have taken the thread for one that runs no Java.
pub fn own_part(
    parts: Option<&HotspotWalker>,
    walker: &dyn Walker,
    sample: &Sample<'_, '_>,
    (answer, cut): (Answer, Option<Cut>),
    walked: bool,
) -> (Answer, Option<Cut>, bool) {
    let Ok(count) = answer else { return (answer, None, false) };
    let Some(own) = parts.filter(|own| !core::ptr::addr_eq(walker, *own)) else {
        return (answer, cut, false);
    };
    // SAFETY: the walker has written so many, where there was room for them.
    match own.own_frames(unsafe { sample.written(count) }) {
        OwnFrames::First(count) => (Ok(count), None, false),
        OwnFrames::Torn if !walked => (Err(Reason::NOT_WALKABLE_JAVA), None, true),
        OwnFrames::All | OwnFrames::Torn => (answer, cut, false),
    }
}

/// Who may find a stack where this walker has none: itself, or the first of all, if that is our
/// own. A torn one AsyncGetCallTrace would only tear again, or take the carrier's for it; and of a
/// thread outside of Java it does not look at the context, so that there is nothing to repair.
pub fn cure(
    (first, parts): (Option<&'static dyn Walker>, Option<&HotspotWalker>),
    walker: &'static dyn Walker,
    answer: Answer,
    torn: bool,
) -> Option<&'static dyn Walker> {
    if torn {
        let own = parts.filter(|own| !own.is_stopped())?;
        return first.filter(|first| core::ptr::addr_eq(*first, own));
    }
    answer.err().filter(|why| why.is_in_java()).map(|_| walker)
}
