//! The whole comparison: both accounts are of the same stack, so every frame must agree.
//!
//! The two are aligned by their methods, then each pair is compared in every field. What has no partner is missing
//! or too much; where it lies says of which kind.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use vouch_sample::Frame;

use crate::Difference;
use crate::rules;

/// What came of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Empty if the two agree; each kind at most once.
    pub differences: Vec<Difference>,
    /// Both accounts side by side, leaf first; empty if there was no walk.
    pub rows: Vec<Row>,
}

/// A line of the two accounts: frames by their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Row {
    Same { walk: usize, witness: usize },
    Differs { walk: usize, witness: usize },
    Missing { witness: usize },
    Extra { walk: usize },
}

/// Compares a walk that was allowed `limit` frames with the whole witness.
pub fn compare(walk: &[Frame], witness: &[Frame], limit: usize) -> Comparison {
    let (comparable, cut) = rules::limit(walk, witness, limit);
    let rows = align(walk, comparable);
    let mut tally = Tally::default();
    for (index, row) in rows.iter().enumerate() {
        let at_root =
            || rows[index..].iter().all(|row| !matches!(row, Row::Same { .. } | Row::Differs { .. }));
        match *row {
            Row::Same { .. } => {}
            Row::Differs { walk: ours, witness: theirs } => tally.pair(walk[ours], comparable[theirs]),
            Row::Missing { .. } if at_root() => tally.truncated += 1,
            Row::Missing { .. } => tally.gap += 1,
            Row::Extra { .. } => tally.extra += 1,
        }
    }
    let mut differences = tally.differences();
    if cut {
        differences.push(Difference::Cut { missing: witness.len() - limit });
    }
    Comparison { differences, rows }
}

/// How many frames differ in which way.
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
    /// Two frames that stand in one place.
    fn pair(&mut self, walk: Frame, witness: Frame) {
        if walk.method() != witness.method() {
            *(if walk.method().is_none() { &mut self.null_method } else { &mut self.wrong_method }) += 1;
        }
        match (walk, witness) {
            (Frame::Java { .. }, Frame::Native { .. }) | (Frame::Native { .. }, Frame::Java { .. }) => {
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

/// Puts the two side by side, by their methods.
fn align(walk: &[Frame], witness: &[Frame]) -> Vec<Row> {
    let methods = |frames: &[Frame]| frames.iter().map(|frame| frame.method()).collect::<Vec<_>>();
    let mut rows = Vec::with_capacity(walk.len().max(witness.len()));
    for op in capture_diff_slices(Algorithm::Myers, &methods(walk), &methods(witness)) {
        match op {
            DiffOp::Equal { old_index, new_index, len } => {
                pairs(&mut rows, walk, witness, old_index, new_index, len);
            }
            DiffOp::Delete { old_index, old_len, .. } => extra(&mut rows, old_index, old_len),
            DiffOp::Insert { new_index, new_len, .. } => missing(&mut rows, new_index, new_len),
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                // A frame without a method stands where it stands. One method in the place of one other is a wrong
                // method; longer runs have nothing to do with each other.
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

    const LIMIT: usize = 100;

    fn stack(methods: &[usize]) -> Vec<Frame> {
        methods.iter().map(|method| Frame::of(MethodId(*method), 5)).collect()
    }

    fn found(walk: &[usize], witness: &[usize]) -> Vec<Difference> {
        compare(&stack(walk), &stack(witness), LIMIT).differences
    }

    #[test]
    fn what_agrees_is_the_same() {
        assert_eq!(found(&[], &[]), []);
        assert_eq!(found(&[1, 2, 2, 3], &[1, 2, 2, 3]), []);
    }

    #[test]
    fn missing_frames_are_told_by_where_they_are_missing() {
        assert_eq!(found(&[1, 2], &[1, 2, 3, 4]), [Difference::Truncated { missing: 2 }]);
        assert_eq!(found(&[1, 4], &[1, 2, 3, 4]), [Difference::Gap { missing: 2 }]);
        assert_eq!(found(&[3, 4], &[1, 2, 3, 4]), [Difference::Gap { missing: 2 }]);
        let both = [Difference::Truncated { missing: 1 }, Difference::Gap { missing: 1 }];
        assert_eq!(found(&[1, 3], &[1, 2, 3, 4]), both);
        assert_eq!(found(&[], &[1, 2]), [Difference::Truncated { missing: 2 }]);
    }

    #[test]
    fn a_recursion_that_is_cut_short_is_truncated() {
        assert_eq!(found(&[1, 7, 7, 7], &[1, 7, 7, 7, 7, 7, 2]), [Difference::Truncated { missing: 3 }]);
        assert_eq!(found(&[1, 7, 7, 7, 2], &[1, 7, 7, 7, 7, 7, 2]), [Difference::Gap { missing: 2 }]);
    }

    #[test]
    fn frames_that_are_not_there_are_extra() {
        assert_eq!(found(&[1, 2, 8, 9], &[1, 2]), [Difference::Extra { frames: 2 }]);
        assert_eq!(found(&[1, 8, 2], &[1, 2]), [Difference::Extra { frames: 1 }]);
    }

    #[test]
    fn another_root_is_extra_and_truncated() {
        // As a thawed virtual thread's: two frames of its own, then its carrier's.
        let found = found(&[1, 2, 90, 91, 92], &[1, 2, 3, 4, 5, 6]);
        assert_eq!(found, [Difference::Truncated { missing: 4 }, Difference::Extra { frames: 3 }]);
    }

    #[test]
    fn one_method_for_another_is_wrong_and_none_is_null() {
        assert_eq!(found(&[1, 9, 3], &[1, 2, 3]), [Difference::WrongMethod { frames: 1 }]);
        assert_eq!(found(&[1, 0, 3], &[1, 2, 3]), [Difference::NullMethod { frames: 1 }]);
        assert_eq!(found(&[0, 0, 0], &[1, 2, 3]), [Difference::NullMethod { frames: 3 }]);
    }

    #[test]
    fn every_field_of_a_frame_is_compared() {
        let witness = stack(&[1, 2, 3]);
        let mut walk = witness.clone();
        walk[1] = Frame::of(MethodId(2), 6);
        assert_eq!(compare(&walk, &witness, LIMIT).differences, [Difference::WrongBci { frames: 1 }]);
        walk[1] = Frame::Native { method: MethodId(2) };
        assert_eq!(compare(&walk, &witness, LIMIT).differences, [Difference::Nativeness { frames: 1 }]);
    }

    #[test]
    fn the_rows_hold_every_frame_once() {
        let (walk, witness) = (stack(&[1, 9, 3, 0, 8]), stack(&[1, 2, 4, 5, 3, 6]));
        let rows = compare(&walk, &witness, LIMIT).rows;
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
            }
        }
        assert_eq!((ours, theirs), ((0..5).collect(), (0..6).collect()));
    }
}
