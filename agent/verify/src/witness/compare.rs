//! Compares a walk and a witness of the same stack, in which every frame must agree.
//!
//! The frames of the two are aligned by their methods. Then each pair is compared in every field. A
//! frame without a partner is a difference, and its position decides which kind.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use vouch_sample::{Frame, MethodId, Stack};

use crate::witness::difference::Difference;
use crate::witness::rules;

/// The result of comparing a walk with its witness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The differences, each kind at most once. It is empty if the two stacks agree.
    pub differences: Vec<Difference>,
    /// Both stacks side by side, leaf first. It is empty if there was no walk.
    pub rows: Vec<Row>,
}

/// A row of two stacks side by side. Its fields are indexes of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    /// The two stacks' frames in this row agree.
    Same { walk: usize, witness: usize },
    /// The two stacks' frames in this row differ in method, bci or kind.
    Differs { walk: usize, witness: usize },
    /// Only the witness has the frame of this row.
    Missing { witness: usize },
    /// Only the walk has the frame of this row.
    Extra { walk: usize },
    /// Only the witness has the frame of this row, since the walk is cut there.
    LeftOut { witness: usize },
}

/// Compares all frames of a walk with all frames of its witness.
pub fn compare(walk: Stack<'_>, witness: &[Frame]) -> Comparison {
    let mut comparable = witness.to_vec();
    let cut = rules::cut_like_walk(&mut comparable, walk);
    let mut rows = align(walk.frames, &comparable);
    let mut differences = Tally::from_rows(&rows, walk.frames, &comparable).differences();
    if let Some((from, missing)) = cut {
        let is_before = |row: &mut Row| row.witness().is_some_and(|witness| *witness < from);
        let at = rows.iter_mut().rposition(is_before).map_or(0, |last| last + 1);
        for witness in rows[at..].iter_mut().filter_map(Row::witness) {
            *witness += missing;
        }
        rows.splice(at..at, (from..from + missing).map(|witness| Row::LeftOut { witness }));
        differences.push(Difference::Cut { missing });
    }
    Comparison { differences, rows }
}

impl Row {
    /// Returns the index of the witness's frame in the row, if the row has one.
    fn witness(&mut self) -> Option<&mut usize> {
        match self {
            Self::Same { witness, .. }
            | Self::Differs { witness, .. }
            | Self::Missing { witness }
            | Self::LeftOut { witness } => Some(witness),
            Self::Extra { .. } => None,
        }
    }
}

/// Compares the frames that must be in both stacks: those of the walk from index `top` on. The
/// witness may have other frames on top of them.
///
/// The thread has run to its next safepoint poll since the walk, and no further. So its topmost
/// compiled frame may have returned with all that was inlined into it, and others may have been
/// called. The frames outside of it are the same. Only the first of them may have another bci: that
/// of an exception handler.
pub fn compare_outside_top(walk: &[Frame], top: usize, witness: &[Frame]) -> Vec<Difference> {
    if agrees_outside_top(walk, top, witness) {
        return Vec::new();
    }
    let walk = &walk[top.min(walk.len())..];
    let rows = align(walk, witness);
    let new = rows.iter().take_while(|row| matches!(row, Row::Missing { .. })).count();
    Tally::from_rows(&rows[new..], walk, witness).differences()
}

/// True if the two stacks agree in the frames from index `top` of the walk on.
pub fn agrees_outside_top(walk: &[Frame], top: usize, witness: &[Frame]) -> bool {
    let walk = &walk[top.min(walk.len())..];
    let Some(new) = witness.len().checked_sub(walk.len()) else { return false };
    let witness = &witness[new..];
    let (Some((first, outer)), Some((theirs, others))) = (walk.split_first(), witness.split_first()) else {
        return true;
    };
    // The interpreter goes to an exception handler without a poll. A frame that returns has polled.
    let caught = || match (*first, *theirs) {
        (Frame::Java { method, .. }, Frame::Java { method: same, .. }) => top > 0 && method == same,
        _ => false,
    };
    outer == others && (first == theirs || caught())
}

/// Counts the frames with each kind of difference.
#[derive(Debug, Default)]
struct Tally {
    truncated: usize,
    gap: usize,
    extra: usize,
    wrong_method: usize,
    wrong_bci: usize,
    null_method: usize,
    nativeness: usize,
}

impl Tally {
    fn from_rows(rows: &[Row], walk: &[Frame], witness: &[Frame]) -> Self {
        let mut tally = Self::default();
        let last = rows.iter().rposition(|row| matches!(row, Row::Same { .. } | Row::Differs { .. }));
        for (index, row) in rows.iter().enumerate() {
            let at_root = || last.is_none_or(|last| index > last);
            match *row {
                Row::Differs { walk: ours, witness: theirs } => tally.pair(walk[ours], witness[theirs]),
                Row::Missing { .. } if at_root() => tally.truncated += 1,
                Row::Missing { .. } => tally.gap += 1,
                Row::Extra { .. } => tally.extra += 1,
                Row::Same { .. } | Row::LeftOut { .. } => {}
            }
        }
        tally
    }

    /// Counts the differences between the two frames of a row.
    fn pair(&mut self, walk: Frame, witness: Frame) {
        if walk.method() != witness.method() {
            *(if walk.method().is_none() { &mut self.null_method } else { &mut self.wrong_method }) += 1;
        }
        match (walk, witness) {
            (Frame::Java { .. }, Frame::JavaNative { .. })
            | (Frame::JavaNative { .. }, Frame::Java { .. }) => {
                self.nativeness += 1;
            }
            _ => self.wrong_bci += usize::from(walk.bci() != witness.bci()),
        }
    }

    fn differences(&self) -> Vec<Difference> {
        [
            (self.truncated, Difference::Truncated { missing: self.truncated }),
            (self.gap, Difference::Gap { missing: self.gap }),
            (self.extra, Difference::Extra { frames: self.extra }),
            (self.wrong_method, Difference::WrongMethod { frames: self.wrong_method }),
            (self.wrong_bci, Difference::WrongBci { frames: self.wrong_bci }),
            (self.null_method, Difference::NullMethod { frames: self.null_method }),
            (self.nativeness, Difference::Nativeness { frames: self.nativeness }),
        ]
        .into_iter()
        .filter_map(|(frames, difference)| (frames > 0).then_some(difference))
        .collect()
    }
}

/// Aligns a walk and a witness by their methods, in rows.
fn align(walk: &[Frame], witness: &[Frame]) -> Vec<Row> {
    let methods = |frames: &[Frame]| frames.iter().map(|frame| frame.method()).collect::<Vec<_>>();
    let mut rows = Vec::with_capacity(walk.len().max(witness.len()));
    for op in aligned(&methods(walk), &methods(witness)) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                pairs(&mut rows, walk, witness, old_index, new_index, len);
            }
            DiffOp::Delete { old_index, old_len, .. } => extra(&mut rows, old_index, old_len),
            DiffOp::Insert { new_index, new_len, .. } => missing(&mut rows, new_index, new_len),
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                // Frames without a method are paired in their order. A single method instead of
                // another one is a wrong method. Longer runs are not paired.
                let nulls = walk[old_index..old_index + old_len].iter().all(|frame| frame.method().is_none());
                let paired = match (old_len, new_len) {
                    (1, 1) => 1,
                    _ if nulls => old_len.min(new_len),
                    _ => 0,
                };
                pairs(&mut rows, walk, witness, old_index, new_index, paired);
                extra(&mut rows, old_index + paired, old_len - paired);
                missing(&mut rows, new_index + paired, new_len - paired);
            }
        }
    }
    rows
}

/// Finds the edits that turn `ours` into `theirs`. The time for that grows with the square of the
/// length. So if the parts between the equal ends are too long, one part replaces the other as a
/// whole.
fn aligned(ours: &[MethodId], theirs: &[MethodId]) -> Vec<DiffOp> {
    const MAX_ALIGNED: usize = 4_096;
    let head = ours.iter().zip(theirs).take_while(|(one, other)| one == other).count();
    let rest = [&ours[head..], &theirs[head..]];
    let tail = rest[0].iter().rev().zip(rest[1].iter().rev()).take_while(|(one, other)| one == other).count();
    let [old_len, new_len] = rest.map(|rest| rest.len() - tail);
    if old_len.max(new_len) <= MAX_ALIGNED {
        return capture_diff_slices(Algorithm::Myers, ours, theirs);
    }
    vec![
        DiffOp::Equal { old_index: 0, new_index: 0, len: head },
        DiffOp::Replace { old_index: head, old_len, new_index: head, new_len },
        DiffOp::Equal { old_index: head + old_len, new_index: head + new_len, len: tail },
    ]
}

fn pairs(rows: &mut Vec<Row>, ours: &[Frame], theirs: &[Frame], first: usize, other: usize, count: usize) {
    rows.extend((0..count).map(|step| {
        let (walk, witness) = (first + step, other + step);
        if ours[walk] == theirs[witness] {
            Row::Same { walk, witness }
        } else {
            Row::Differs { walk, witness }
        }
    }));
}

fn extra(rows: &mut Vec<Row>, first: usize, count: usize) {
    rows.extend((first..first + count).map(|walk| Row::Extra { walk }));
}

fn missing(rows: &mut Vec<Row>, first: usize, count: usize) {
    rows.extend((first..first + count).map(|witness| Row::Missing { witness }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use vouch_sample::MethodId;

    fn stack(methods: &[usize]) -> Vec<Frame> {
        methods.iter().map(|method| Frame::new(MethodId(*method), 5)).collect()
    }

    fn found(walk: &[usize], witness: &[usize]) -> Vec<Difference> {
        compare(Stack::whole(&stack(walk)), &stack(witness)).differences
    }

    #[test]
    fn equal_stacks_have_no_difference() {
        assert_eq!(found(&[], &[]), []);
        assert_eq!(found(&[1, 2, 2, 3], &[1, 2, 2, 3]), []);
    }

    #[test]
    fn missing_frames_are_named_by_their_position() {
        assert_eq!(found(&[1, 2], &[1, 2, 3, 4]), [Difference::Truncated { missing: 2 }]);
        assert_eq!(found(&[1, 4], &[1, 2, 3, 4]), [Difference::Gap { missing: 2 }]);
        assert_eq!(found(&[3, 4], &[1, 2, 3, 4]), [Difference::Gap { missing: 2 }]);
        let both = [Difference::Truncated { missing: 1 }, Difference::Gap { missing: 1 }];
        assert_eq!(found(&[1, 3], &[1, 2, 3, 4]), both);
        assert_eq!(found(&[], &[1, 2]), [Difference::Truncated { missing: 2 }]);
    }

    #[test]
    fn deep_stacks_with_nothing_in_common_are_compared_quickly() {
        let deep =
            |seed: usize| -> Vec<usize> { (0..50_000).map(|at| 3 + at * seed % 7_919 + seed).collect() };
        let (ours, theirs) = ([deep(31), vec![1, 2]].concat(), [deep(57), vec![1, 2]].concat());
        let frames = 50_000;
        assert_eq!(
            found(&ours, &theirs),
            [Difference::Gap { missing: frames }, Difference::Extra { frames }]
        );
    }

    #[test]
    fn a_recursion_that_is_cut_short_is_truncated() {
        assert_eq!(found(&[1, 7, 7, 7], &[1, 7, 7, 7, 7, 7, 2]), [Difference::Truncated { missing: 3 }]);
        assert_eq!(found(&[1, 7, 7, 7, 2], &[1, 7, 7, 7, 7, 7, 2]), [Difference::Gap { missing: 2 }]);
    }

    #[test]
    fn frames_that_only_the_walk_has_are_extra() {
        assert_eq!(found(&[1, 2, 8, 9], &[1, 2]), [Difference::Extra { frames: 2 }]);
        assert_eq!(found(&[1, 8, 2], &[1, 2]), [Difference::Extra { frames: 1 }]);
    }

    #[test]
    fn another_root_is_extra_and_truncated() {
        // A walk of a thawed virtual thread may have two of its frames, then its carrier's.
        let found = found(&[1, 2, 90, 91, 92], &[1, 2, 3, 4, 5, 6]);
        assert_eq!(found, [Difference::Truncated { missing: 4 }, Difference::Extra { frames: 3 }]);
    }

    #[test]
    fn another_method_is_wrong_and_a_missing_one_is_null() {
        assert_eq!(found(&[1, 9, 3], &[1, 2, 3]), [Difference::WrongMethod { frames: 1 }]);
        assert_eq!(found(&[1, 0, 3], &[1, 2, 3]), [Difference::NullMethod { frames: 1 }]);
        assert_eq!(found(&[0, 0, 0], &[1, 2, 3]), [Difference::NullMethod { frames: 3 }]);
    }

    #[test]
    fn every_field_of_a_frame_is_compared() {
        let witness = stack(&[1, 2, 3]);
        let mut walk = witness.clone();
        walk[1] = Frame::new(MethodId(2), 6);
        assert_eq!(compare(Stack::whole(&walk), &witness).differences, [Difference::WrongBci { frames: 1 }]);
        walk[1] = Frame::JavaNative { method: MethodId(2) };
        assert_eq!(
            compare(Stack::whole(&walk), &witness).differences,
            [Difference::Nativeness { frames: 1 }]
        );
    }

    #[test]
    fn the_rows_have_every_frame_once() {
        let (walk, witness) = (stack(&[1, 9, 3, 0, 8]), stack(&[1, 2, 4, 5, 3, 6]));
        let rows = compare(Stack::whole(&walk), &witness).rows;
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for row in rows {
            match row {
                Row::Same { walk, witness } | Row::Differs { walk, witness } => {
                    ours.push(walk);
                    theirs.push(witness);
                }
                Row::Missing { witness } => theirs.push(witness),
                Row::Extra { walk } => ours.push(walk),
                Row::LeftOut { .. } => panic!("no frame was left out"),
            }
        }
        assert_eq!((ours, theirs), ((0..5).collect(), (0..6).collect()));
    }

    fn frames(frames: &[(usize, i32)]) -> Vec<Frame> {
        frames.iter().map(|(method, bci)| Frame::new(MethodId(*method), *bci)).collect()
    }

    const WALK: [(usize, i32); 5] = [(5, 9), (4, 8), (3, 7), (2, 6), (1, 5)];

    fn found_outside(top: usize, witness: &[(usize, i32)]) -> Vec<&'static str> {
        compare_outside_top(&frames(&WALK), top, &frames(witness)).into_iter().map(Difference::kind).collect()
    }

    #[test]
    fn frames_on_top_may_have_returned_or_been_replaced() {
        let none: [&str; 0] = [];
        assert_eq!(found_outside(2, &WALK), none);
        assert_eq!(found_outside(2, &[(3, 7), (2, 6), (1, 5)]), none);
        assert_eq!(found_outside(2, &[(9, 1), (8, 1), (7, 1), (3, 7), (2, 6), (1, 5)]), none);
        assert_eq!(found_outside(9, &[(1, 1)]), none, "nothing is outside");
    }

    #[test]
    fn the_first_frame_outside_may_have_caught_an_exception() {
        assert!(found_outside(2, &[(3, 70), (2, 6), (1, 5)]).is_empty());
        assert_eq!(found_outside(2, &[(3, 70), (2, 60), (1, 5)]), ["wrong_bci"]);
        assert_eq!(found_outside(2, &[(30, 7), (2, 6), (1, 5)]), ["wrong_method"]);
    }

    #[test]
    fn a_frame_outside_that_is_gone_is_a_difference() {
        assert_eq!(found_outside(1, &[(3, 7), (2, 6), (1, 5)]), ["extra"]);
        assert_eq!(found_outside(2, &[(2, 6), (1, 5)]), ["extra"]);
    }

    #[test]
    fn every_method_and_bci_outside_must_agree() {
        assert_eq!(found_outside(2, &[(3, 7), (2, 7), (1, 5)]), ["wrong_bci"]);
        assert_eq!(found_outside(0, &[(5, 8), (4, 8), (3, 7), (2, 6), (1, 5)]), ["wrong_bci"]);
        assert_eq!(found_outside(2, &[(3, 7), (9, 6), (1, 5)]), ["wrong_method"]);
        assert_eq!(found_outside(2, &[(3, 7), (1, 5)]), ["extra"]);
        assert!(found_outside(2, &[(3, 7), (2, 6), (1, 5), (0, 0)]).contains(&"truncated"));
        assert!(found_outside(2, &[(5, 9), (4, 8), (3, 7), (7, 7), (2, 6), (1, 5)]).contains(&"gap"));
    }
}
