//! Where a JavaThread of this JVM has what says that it is to be stopped: its poll word, and the
//! queue of its handshakes.
//!
//! No table of HotSpot's tells these places, so they are found in the calling thread's own
//! JavaThread by what stands there. Nothing rests on their being right: a handler that does not see
//! its own arming there, with the asker's operation in the queue, takes nothing for granted (see
//! `vouch_signal::witness_rendezvous`).

use std::thread::available_parallelism;

use vouch_signal::witness_rendezvous::{MAX_HANDSHAKE_QUEUES, PollOffsets};

use crate::HotSpot;
use crate::fields;
use crate::vmstructs::Table;

/// What a poll word is that is not armed.
const AT_REST: usize = !1;
/// The smallest page there is.
const PAGE: usize = 4096;
const WORD: usize = size_of::<usize>();

/// Finds them in the JavaThread at `own`, the calling thread's, whose JNIEnv is given. `None` where
/// a JVM has none, at this moment, or there is nobody who could ask while a handler stays.
///
/// # Safety
/// `own` must be the calling thread's JavaThread.
pub unsafe fn find(hotspot: &HotSpot, own: usize, env: usize) -> Option<PollOffsets> {
    let size = Table::of(hotspot)?.size(&fields::JAVA_THREAD)?;
    let offset = env.checked_sub(own).filter(|offset| *offset < size)?;
    // SAFETY: a JavaThread is so large, by the JVM's own word, and aligned; what other threads
    // write in it is whole words.
    let words = (0..size / WORD)
        .map(|index| unsafe { std::ptr::read_volatile((own as *const usize).add(index)) })
        .collect::<Vec<usize>>();
    let (word, queues) = places(&words, own)?;
    let several = available_parallelism().is_ok_and(|processors| processors.get() > 1);
    several.then_some(PollOffsets { env: offset, word, queues })
}

/// The one poll word, which stands before the address of the page that older polls touch; and what
/// may be queues, each of which stands behind a pointer to the thread itself.
fn places(words: &[usize], own: usize) -> Option<(usize, [usize; MAX_HANDSHAKE_QUEUES])> {
    let pairs = || words.windows(2).enumerate().map(|(index, pair)| (index * WORD, pair[0], pair[1]));
    let is_page = |word: usize| word != 0 && word.is_multiple_of(PAGE);
    let mut polls = pairs().filter(|(_, first, second)| *first == AT_REST && is_page(*second));
    let (word, ..) = polls.next()?;
    if polls.next().is_some() {
        return None;
    }
    let mut queues = [0; MAX_HANDSHAKE_QUEUES];
    let found = pairs().filter(|(_, first, second)| *first == own && *second == 0);
    for (queue, (place, ..)) in queues.iter_mut().zip(found) {
        *queue = place + WORD;
    }
    (queues[0] != 0).then_some((word, queues))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: usize = 0x7f00_1000;
    const PAGES: usize = 0x7f77_3000;

    #[test]
    fn they_are_found_by_what_stands_there() {
        let words = [7, AT_REST, PAGES, OWN, 3, OWN, 0, AT_REST, 5];
        assert_eq!(places(&words, OWN), Some((8, [48, 0, 0, 0])));
    }

    #[test]
    fn what_is_not_certain_is_not_found() {
        assert_eq!(places(&[AT_REST, PAGES, OWN, 3], OWN), None, "no queue");
        assert_eq!(places(&[1, PAGES, OWN, 0], OWN), None, "an armed thread's");
        assert_eq!(places(&[AT_REST, PAGES, AT_REST, PAGES, OWN, 0], OWN), None, "two that may be it");
    }
}
