//! Separates the frames of a mounted virtual thread from those of its carrier.
//!
//! Vouch's own walker decides which frames belong to the virtual thread, also in the stacks of
//! other walkers. It finds the mounted virtual thread, removes the carrier's frames, and marks a
//! stack that lacks frames as torn. A carrier's frame must never be shown as the virtual thread's,
//! nor a torn stack as a whole one.

use vouch_sample::{Answer, Cut, Head, Reason};
use vouch_unwind::hotspot::HotspotWalker;
use vouch_unwind::hotspot::mounted_vthread::{CurrentThread, VthreadName};
use vouch_unwind::walker::{OwnFrames, Subject, Walker};

use crate::sample_layout::Sample;

/// The virtual thread that a carrier has mounted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MountedVthread {
    /// The id of the virtual thread, in the encoding of [`Head::mounted_vthread`].
    pub id: u64,
    /// True if the id of the virtual thread is known and its name could not be read.
    pub is_unread: bool,
}

/// Returns the mounted virtual thread, and writes its name into the sample.
pub fn mounted_vthread(
    reader: Option<&HotspotWalker>,
    subject: &Subject<'_>,
    sample: &mut Sample<'_, '_>,
) -> MountedVthread {
    let Some(reader) = reader else { return MountedVthread::default() };
    let mut name = VthreadName::default();
    // SAFETY: the subject is the calling thread, with the context of its signal's handler.
    match unsafe { reader.current_thread(subject, &mut name) } {
        CurrentThread::Itself => MountedVthread::default(),
        CurrentThread::Unknown => MountedVthread { id: Head::UNKNOWN_VTHREAD, ..MountedVthread::default() },
        CurrentThread::Virtual(id) => {
            sample.set_name(&name);
            MountedVthread { id, is_unread: name.unread }
        }
    }
}

/// True if the written stack belongs to a virtual thread. While a virtual thread is mounted, the
/// JDK sometimes makes the carrier the current thread. Then the id of the virtual thread is
/// unknown.
pub fn is_virtual(reader: Option<&HotspotWalker>, sample: &Sample<'_, '_>, answer: Answer) -> bool {
    let (Some(reader), Ok(count)) = (reader, answer) else { return false };
    // SAFETY: the walker has written that many frames into the sample's buffer.
    reader.is_virtual(unsafe { sample.written_frames(count) })
}

/// Removes the frames of a carrier from another walker's stack. Vouch's own walker omits them
/// itself.
///
/// A stack that lacks frames before the carrier's is torn, and the answer is then an error. Vouch's
/// own walker may find the missing frames, even if it took the thread for one without Java. After
/// another walker has succeeded, a torn stack is kept for comparison.
pub fn strip_carrier_frames(
    carrier_filter: Option<&HotspotWalker>,
    walker: &dyn Walker,
    sample: &Sample<'_, '_>,
    (answer, cut): (Answer, Option<Cut>),
    walked: bool,
) -> (Answer, Option<Cut>, bool) {
    let Ok(count) = answer else { return (answer, None, false) };
    let Some(own) = carrier_filter.filter(|own| !core::ptr::addr_eq(walker, *own)) else {
        return (answer, cut, false);
    };
    // SAFETY: the walker has written that many frames into the sample's buffer.
    match own.own_frames(unsafe { sample.written_frames(count) }) {
        OwnFrames::First(count) => (Ok(count), None, false),
        OwnFrames::Torn if !walked => (Err(Reason::NOT_WALKABLE_JAVA), None, true),
        OwnFrames::All | OwnFrames::Torn => (answer, cut, false),
    }
}

/// Returns the walker that may find a stack after a failed walk: the same walker, or Vouch's own
/// one if that is the first.
///
/// A torn stack mixes the frames of a virtual thread and its carrier. A second call of
/// AsyncGetCallTrace would return a torn stack again, or the carrier's. Outside of Java it ignores
/// the context that it is passed, so a repaired context would not help.
pub fn fallback_walker(
    (first, carrier_filter): (Option<&'static dyn Walker>, Option<&HotspotWalker>),
    walker: &'static dyn Walker,
    answer: Answer,
    torn: bool,
) -> Option<&'static dyn Walker> {
    if torn {
        let own = carrier_filter.filter(|own| !own.is_stopped())?;
        return first.filter(|first| core::ptr::addr_eq(*first, own));
    }
    answer.err().filter(|why| why.is_in_java()).map(|_| walker)
}
