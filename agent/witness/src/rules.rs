//! The rules by which the two accounts are put into one language. Each is something that may differ for a good reason.
//!
//! | rule | the walk says | the witness says | because |
//! |---|---|---|---|
//! | [`NATIVE`](vouch_sample::NATIVE) | bci -3 | location -1 | both mean a native method |
//! | [`ENTRY`] | bci -1 | location 0 | a compiled method that has not begun: the one has no bci for it, the other its first |
//! | [`limit`] | as many frames as were asked for | more | the walk may have been cut; what is there is compared, and the cut is told |
//!
//! A rule must never hide a frame, a method or a bci that the walker got wrong.

use vouch_sample::{Bci, ENTRY, Frame, MethodId};

/// What a witness has for the location of a native method.
pub const NATIVE_LOCATION: i64 = -1;

/// What a witness has for a compiled method's entry.
const FIRST: Bci = 0;

/// A frame of a walk, by the rule [`ENTRY`].
pub fn of_walk(frame: Frame) -> Frame {
    match frame {
        Frame::Java { method, bci: ENTRY } => Frame::Java { method, bci: FIRST },
        other => other,
    }
}

/// A frame of a witness, by the rule of [`NATIVE`](vouch_sample::NATIVE). No method is so long that its locations are no bcis.
pub fn of_witness(method: MethodId, location: i64) -> Frame {
    if location == NATIVE_LOCATION {
        return Frame::Native { method };
    }
    Frame::Java { method, bci: Bci::try_from(location).unwrap_or(Bci::MAX) }
}

/// The rule of the depth limit: how much of the witness a walk of at most `limit` frames can be held to, if it may have
/// been cut. Gives the part of the witness that is comparable, and whether the walk was cut.
pub fn limit<'w>(walk: &[Frame], witness: &'w [Frame], limit: usize) -> (&'w [Frame], bool) {
    let cut = walk.len() == limit && witness.len() > limit;
    (if cut { &witness[..limit] } else { witness }, cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Difference, compare};

    fn java(method: usize, bci: Bci) -> Frame {
        Frame::Java { method: MethodId(method), bci }
    }

    fn walk(bci: Bci) -> Frame {
        of_walk(Frame::of(MethodId(7), bci))
    }

    fn witness(location: i64) -> Frame {
        of_witness(MethodId(7), location)
    }

    #[test]
    fn native_is_native_in_both_languages() {
        assert_eq!(walk(-3), witness(-1));
        assert_ne!(walk(-3), witness(3));
        assert_ne!(walk(-1), witness(-1), "a walk's -1 is no native method");
    }

    #[test]
    fn a_compiled_methods_entry_is_its_first_instruction() {
        assert_eq!(walk(-1), witness(0));
        assert_ne!(walk(-1), witness(4), "elsewhere a missing bci is a difference");
    }

    #[test]
    fn a_walk_at_the_limit_is_held_to_what_it_has() {
        let whole = [java(1, 1), java(2, 2), java(3, 3)];
        assert_eq!(compare(&whole[..2], &whole, 2).differences, [Difference::Cut { missing: 1 }]);
        // Below the limit the same is a lie.
        assert_eq!(compare(&whole[..2], &whole, 9).differences, [Difference::Truncated { missing: 1 }]);
        // And a cut hides no other difference.
        let wrong = [java(1, 1), java(9, 2)];
        let found = compare(&wrong, &whole, 2).differences;
        assert_eq!(found, [Difference::WrongMethod { frames: 1 }, Difference::Cut { missing: 1 }]);
        // Exactly at the limit nothing is missing.
        assert_eq!(compare(&whole, &whole, 3).differences, []);
    }
}
