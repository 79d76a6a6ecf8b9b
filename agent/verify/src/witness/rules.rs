//! The rules that make a walk and a witness comparable. Each rule covers a difference that is no
//! mistake.
//!
//! | rule | the walk has | the witness has | reason |
//! |---|---|---|---|
//! | [`NATIVE`](vouch_sample::NATIVE) | bci -3 | location -1 | both mean a native method |
//! | [`ENTRY`] | bci -1 | location 0 | the method is compiled and has not begun: GetStackTrace returns its first bci |
//! | [`cut_like_walk`] | some frames, and a cut | all frames | the stack was deeper than the walk may be: the other frames are compared, and the cut is reported |
//!
//! A rule must never hide a frame, a method or a bci that the walker got wrong.

use vouch_sample::{Bci, ENTRY, Frame, MethodId, Stack};

/// The location of a native method in GetStackTrace's frames.
pub const NATIVE_LOCATION: i64 = -1;

/// The bci that GetStackTrace returns for a compiled method that has not begun.
const FIRST: Bci = 0;

/// Converts a frame of a walk by the rule [`ENTRY`], so that it can be compared with a witness's.
pub fn normalise_walk_frame(frame: Frame) -> Frame {
    match frame {
        Frame::Java { method, bci: ENTRY } => Frame::Java { method, bci: FIRST },
        other => other,
    }
}

/// Makes a frame of a method and a location from GetStackTrace. The location of a native method
/// becomes [`NATIVE`](vouch_sample::NATIVE), and every other location is a bci.
pub fn frame_from_witness(method: MethodId, location: i64) -> Frame {
    if location == NATIVE_LOCATION {
        return Frame::JavaNative { method };
    }
    Frame::Java { method, bci: Bci::try_from(location).unwrap_or(Bci::MAX) }
}

/// Removes from a witness the frames that its walk lacks because it was cut. It returns the index
/// of the first removed frame and their number, or `None` without a cut.
///
/// If the walk has frames after its cut, the frames to remove are counted from the root, since
/// calls on top of the stack do not move them.
pub fn cut_like_walk(witness: &mut Vec<Frame>, walk: Stack<'_>) -> Option<(usize, usize)> {
    let cut = walk.cut?;
    let outer = walk.outer().len();
    let (begin, end) = if outer == 0 {
        ((cut.at as usize).min(witness.len()), witness.len())
    } else {
        // If the witness has too few frames, nothing is removed, and the comparison differs.
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
        normalise_walk_frame(Frame::new(MethodId(7), bci))
    }

    fn witness(location: i64) -> Frame {
        frame_from_witness(MethodId(7), location)
    }

    #[test]
    fn a_native_method_is_equal_in_both() {
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
    fn the_frames_of_a_cut_walk_are_compared() {
        let whole = [java(1, 1), java(2, 2), java(3, 3)];
        assert_eq!(compare(cut(&whole[..2], 2, 0), &whole).differences, [Difference::Cut { missing: 1 }]);
        // Without a cut the same frames are truncated.
        let short = Stack::whole(&whole[..2]);
        assert_eq!(compare(short, &whole).differences, [Difference::Truncated { missing: 1 }]);
        // A cut hides no other difference.
        let wrong = [java(1, 1), java(9, 2)];
        let found = compare(cut(&wrong, 2, 0), &whole).differences;
        assert_eq!(found, [Difference::WrongMethod { frames: 1 }, Difference::Cut { missing: 1 }]);
    }

    #[test]
    fn both_ends_of_a_walk_cut_in_the_middle_are_compared() {
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
        // Fewer or more missing frames than the cut has are a difference.
        for said in [4, 6, 90] {
            let found = compare(cut(&ends, 2, said), &whole).differences;
            assert!(found.iter().any(|it| !matches!(it, Difference::Cut { .. })), "{said}: {found:?}");
        }
        let wrong = [whole[0], whole[1], whole[6], whole[8]];
        let found = compare(cut(&wrong, 2, 5), &whole).differences;
        assert_eq!(found, [Difference::WrongMethod { frames: 1 }, Difference::Cut { missing: 5 }]);
    }
}
