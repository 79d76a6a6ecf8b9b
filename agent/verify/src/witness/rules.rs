//! The rules by which the two accounts are put into one language. Each is something that may differ
//! for a good reason.
//!
//! | rule | the walk says | the witness says | because |
//! |---|---|---|---|
//! | [`NATIVE`](vouch_sample::NATIVE) | bci -3 | location -1 | both mean a native method |
//! | [`ENTRY`] | bci -1 | location 0 | a compiled method that has not begun: the one has no bci for it, the other its first |
//! | [`cut_alike`] | some frames, and where it is cut | all of them | there was no room for more; what is there is compared, and the cut is told |
//!
//! A rule must never hide a frame, a method or a bci that the walker got wrong.

use vouch_sample::{Bci, ENTRY, Frame, MethodId, Stack};

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

/// A frame of a witness, by the rule of [`NATIVE`](vouch_sample::NATIVE). No method is so long that
/// its locations are no bcis.
pub fn of_witness(method: MethodId, location: i64) -> Frame {
    if location == NATIVE_LOCATION {
        return Frame::Native { method };
    }
    Frame::Java { method, bci: Bci::try_from(location).unwrap_or(Bci::MAX) }
}

/// The rule of what there was no room for: takes out of a witness what the walk lacks, and gives
/// from where on and how much that was. Where the walk goes on behind its cut the witness's root is
/// its own: what ran on top meanwhile moves nothing there.
pub fn cut_alike(witness: &mut Vec<Frame>, walk: Stack<'_>) -> Option<(usize, usize)> {
    let cut = walk.cut?;
    let outer = walk.outer().len();
    let (begin, end) = if outer == 0 {
        ((cut.at as usize).min(witness.len()), witness.len())
    } else {
        // If the two have not as many, that is a difference.
        let end = witness.len().checked_sub(outer)?;
        (end.checked_sub(cut.missing as usize)?, end)
    };
    witness.drain(begin..end);
    Some((begin, end - begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::witness::{Difference, Row, compare};
    use vouch_sample::Cut;

    fn java(method: usize, bci: Bci) -> Frame {
        Frame::Java { method: MethodId(method), bci }
    }

    fn walk(bci: Bci) -> Frame {
        of_walk(Frame::new(MethodId(7), bci))
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

    fn cut(frames: &[Frame], at: u32, lacking: u32) -> Stack<'_> {
        Stack { frames, cut: Some(Cut { at, missing: lacking }) }
    }

    #[test]
    fn a_walk_that_is_cut_is_held_to_what_it_has() {
        let whole = [java(1, 1), java(2, 2), java(3, 3)];
        assert_eq!(compare(cut(&whole[..2], 2, 0), &whole).differences, [Difference::Cut { missing: 1 }]);
        // If it does not say so, the same is a lie.
        let short = Stack::whole(&whole[..2]);
        assert_eq!(compare(short, &whole).differences, [Difference::Truncated { missing: 1 }]);
        // And a cut hides no other difference.
        let wrong = [java(1, 1), java(9, 2)];
        let found = compare(cut(&wrong, 2, 0), &whole).differences;
        assert_eq!(found, [Difference::WrongMethod { frames: 1 }, Difference::Cut { missing: 1 }]);
    }

    #[test]
    fn of_a_walk_that_is_cut_in_the_middle_both_ends_are_compared() {
        let whole: Vec<Frame> = (1..=9).map(|method| java(method, 0)).collect();
        let ends = [whole[0], whole[1], whole[7], whole[8]];
        assert_eq!(compare(cut(&ends, 2, 5), &whole).differences, [Difference::Cut { missing: 5 }]);
        let rows = compare(cut(&ends, 2, 5), &whole).rows;
        let left_out: Vec<usize> = (2..7).collect();
        let found: Vec<usize> = rows
            .iter()
            .filter_map(|row| if let Row::LeftOut { witness } = row { Some(*witness) } else { None })
            .collect();
        assert_eq!((rows[1], found), (Row::Same { walk: 1, witness: 1 }, left_out));
        assert_eq!(rows[7..], [Row::Same { walk: 2, witness: 7 }, Row::Same { walk: 3, witness: 8 }]);
        // Fewer or more than it says are a difference.
        for said in [4, 6, 90] {
            let found = compare(cut(&ends, 2, said), &whole).differences;
            assert!(found.iter().any(|it| !matches!(it, Difference::Cut { .. })), "{said}: {found:?}");
        }
        let wrong = [whole[0], whole[1], whole[6], whole[8]];
        let found = compare(cut(&wrong, 2, 5), &whole).differences;
        assert_eq!(found, [Difference::WrongMethod { frames: 1 }, Difference::Cut { missing: 5 }]);
    }
}
