//! Finds the poll word and the handshake queue of a JavaThread, which HotSpot writes to stop the
//! thread.
//!
//! VMStructs does not publish the two offsets, so they are found by the values in the calling
//! thread's JavaThread. A wrong offset does no harm: a handler checks that its thread was armed and
//! that the asker's operation is queued (see `vouch_signal::witness_rendezvous`).

use std::thread::available_parallelism;

use vouch_signal::witness_rendezvous::{MAX_HANDSHAKE_QUEUES, PollOffsets};

use crate::HotSpot;
use crate::fields;
use crate::vmstructs::VmStructs;

/// The value of a poll word that is not armed.
const DISARMED: usize = !1;
/// The smallest size of a page, in bytes.
const PAGE: usize = 4096;
const WORD: usize = size_of::<usize>();

/// Finds the offsets of the poll word and of the handshake queue in the JavaThread of the calling
/// thread. `env` is the address of its JNIEnv.
///
/// The result is `None` if the words cannot be found now, or if the process has one processor. Then
/// no other thread could ask while a handler waits.
///
/// # Safety
/// `java_thread` must be the calling thread's JavaThread.
pub unsafe fn find(hotspot: &HotSpot, java_thread: usize, env: usize) -> Option<PollOffsets> {
    let size = VmStructs::find(hotspot)?.size(&fields::JAVA_THREAD)?;
    let offset = env.checked_sub(java_thread).filter(|offset| *offset < size)?;
    // SAFETY: the JVM publishes the size of a JavaThread. Its words are aligned, and other threads
    // write whole words.
    let words = (0..size / WORD)
        .map(|index| unsafe { std::ptr::read_volatile((java_thread as *const usize).add(index)) })
        .collect::<Vec<usize>>();
    let (word, queues) = offsets_in(&words, java_thread)?;
    let several = available_parallelism().is_ok_and(|processors| processors.get() > 1);
    several.then_some(PollOffsets { env: offset, word, queues })
}

/// Returns the offset of the poll word, and the offsets of words that may be handshake queues.
///
/// The poll word comes before the address of the polling page, and must be the only such word. An
/// empty handshake queue comes after a pointer to the JavaThread itself.
fn offsets_in(words: &[usize], java_thread: usize) -> Option<(usize, [usize; MAX_HANDSHAKE_QUEUES])> {
    let pairs = || words.windows(2).enumerate().map(|(index, pair)| (index * WORD, pair[0], pair[1]));
    let is_page = |word: usize| word != 0 && word.is_multiple_of(PAGE);
    let mut polls = pairs().filter(|(_, first, second)| *first == DISARMED && is_page(*second));
    let (word, ..) = polls.next()?;
    if polls.next().is_some() {
        return None;
    }
    let mut queues = [0; MAX_HANDSHAKE_QUEUES];
    let found = pairs().filter(|(_, first, second)| *first == java_thread && *second == 0);
    for (queue, (offset, ..)) in queues.iter_mut().zip(found) {
        *queue = offset + WORD;
    }
    (queues[0] != 0).then_some((word, queues))
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: usize = 0x7f00_1000;
    const PAGES: usize = 0x7f77_3000;

    #[test]
    fn the_poll_word_and_the_queue_are_found_by_their_values() {
        let words = [7, DISARMED, PAGES, THREAD, 3, THREAD, 0, DISARMED, 5];
        assert_eq!(offsets_in(&words, THREAD), Some((8, [48, 0, 0, 0])));
    }

    #[test]
    fn uncertain_offsets_are_not_used() {
        assert_eq!(offsets_in(&[DISARMED, PAGES, THREAD, 3], THREAD), None, "no queue");
        assert_eq!(offsets_in(&[1, PAGES, THREAD, 0], THREAD), None, "the thread is armed");
        let two = [DISARMED, PAGES, DISARMED, PAGES, THREAD, 0];
        assert_eq!(offsets_in(&two, THREAD), None, "two words may be the poll word");
    }
}
