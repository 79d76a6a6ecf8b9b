//! Judges how certain it is which inlined method an instruction belongs to.

use vouch_sample::Certainty;

use crate::machine::local::{guarded, may_check_receiver, sides, whole_end};
use crate::machine::loops::{Fitting, Loops};
use crate::machine::nmethod::{DebugPoint, Neighbours, Nmethod};

/// The number of separate runs with the same state from which on the state proves nothing. C2 gives
/// many instructions a state that is left over from parsing.
pub(crate) const REPEATED: usize = 3;

/// Returns how certain it is that the instruction that ends at `charged_end` belongs to the PcDesc
/// `index`. The candidates are the runs of PcDescs on both sides of the instruction. In a loop with
/// a known owner they are the runs that fit the owner.
pub fn certainty(
    nmethod: &impl Nmethod,
    charged_end: usize,
    index: usize,
    loops: Option<&Loops>,
) -> Certainty {
    let charged_end = whole_end(nmethod, charged_end);
    // The JVM itself depends on such a PcDesc.
    if nmethod.is_safepoint(index, charged_end) || guarded(nmethod, charged_end) == Some(index) {
        return Certainty::Exact;
    }
    let (Some(chosen), Some(after)) = (nmethod.point(index), nmethod.index_at(charged_end)) else {
        return Certainty::Approximate;
    };
    let fitting = loops.and_then(|loops| loops.fitting(charged_end, after));
    let is_known = loops.and_then(|loops| loops.is_known(charged_end));
    let is_described = nmethod.has_reliable_notes() && nmethod.end(after) == Some(charged_end);
    if is_known == Some(false) && !is_described {
        return Certainty::Approximate;
    }
    let compared = |at: usize| {
        // In a loop of known methods, a repeated state comes from unrolling the loop.
        if is_known != Some(true) && nmethod.repetitions(at) >= REPEATED {
            return Some(Certainty::Approximate);
        }
        nmethod.point(at).map(|point| same(&chosen, &point))
    };
    let candidates = candidates(nmethod, charged_end, after, (loops, fitting));
    // An instruction that checks the receiver of a call that was inlined late rightly has the
    // call's state.
    let left_over = nmethod.left_over_at(charged_end);
    let checks = left_over.filter(|_| may_check_receiver(nmethod, after, charged_end));
    let compared = candidates.into_iter().flatten().filter_map(compared);
    compared.chain(checks.map(|point| same(&chosen, &point))).min().unwrap_or(Certainty::Approximate)
}

/// Returns the PcDescs of the runs that an instruction may belong to. `after` is the first run that
/// ends at the instruction's end or later, and `fitting` has the runs that fit the owner of its
/// loop.
fn candidates(
    nmethod: &impl Nmethod,
    charged_end: usize,
    after: usize,
    (loops, fitting): (Option<&Loops>, Option<Fitting>),
) -> Neighbours {
    let is_end = nmethod.end(after) == Some(charged_end);
    let candidates = match fitting {
        // The instruction's own state fits the loop.
        Some(Fitting { neighbours: [_, next], .. }) if next == Some(after) && is_end => [next, None],
        Some(Fitting { neighbours, by_poll: true }) => neighbours,
        Some(Fitting { neighbours: [before, next], .. }) => {
            let near = sides(nmethod, charged_end);
            let fits = |(near, fitting): (&Option<usize>, Option<usize>)| near.is_none() || *near == fitting;
            // If one of the runs does not fit, the instruction may belong to the next run that
            // does.
            if near.iter().zip([before, next]).all(fits) { near } else { [before, next] }
        }
        None => sides(nmethod, charged_end),
    };
    let end_before = after.checked_sub(1).and_then(|before| nmethod.end(before));
    match (candidates, loops, end_before) {
        // Control may come from elsewhere between the run before and the instruction.
        ([first @ Some(_), None], Some(loops), Some(end))
            if !is_end && !loops.is_one_block(end.wrapping_sub(1), charged_end.wrapping_sub(1)) =>
        {
            [first, Some(after)]
        }
        _ => candidates,
    }
}

/// Compares two PcDescs: exact if methods and bcis agree, method certain if only the methods do.
fn same(one: &DebugPoint, other: &DebugPoint) -> Certainty {
    if one.chain == other.chain {
        Certainty::Exact
    } else if one.has_methods_of(other) {
        Certainty::MethodCertain
    } else {
        Certainty::Approximate
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use crate::machine::testing::{CALL, CMP, INC, JL, LOAD_POLL, LOCK_ADD, Method, RET, TEST_POLL};

    const WORK: &[(usize, i32)] = &[(1, 26), (9, 0)];
    const WORK_ELSEWHERE: &[(usize, i32)] = &[(1, 30), (9, 4)];
    const OTHER: &[(usize, i32)] = &[(2, 3), (9, 5)];
    const TASK: &[(usize, i32)] = &[(9, 7)];

    /// Returns the certainty for an instruction without a state, after a run of `before` and in
    /// front of a run of `after`. `chosen` is the PcDesc that it is supposed to belong to.
    fn between(before: &[(usize, i32)], after: &[(usize, i32)], chosen: usize) -> Certainty {
        let mut method = Method::default();
        method.add(&[LOCK_ADD]);
        method.describe(before);
        let end = method.add(&[INC]);
        method.add(&[INC]);
        method.describe(after);
        certainty(&method, end, chosen, None)
    }

    #[test]
    fn between_two_runs_the_methods_are_certain_if_both_name_them() {
        for chosen in [0, 1] {
            assert_eq!(between(WORK, WORK, chosen), Certainty::Exact);
            assert_eq!(between(WORK, WORK_ELSEWHERE, chosen), Certainty::MethodCertain);
            assert_eq!(between(WORK, OTHER, chosen), Certainty::Approximate);
            assert_eq!(between(WORK, TASK, chosen), Certainty::Approximate, "one has fewer frames");
        }
    }

    #[test]
    fn what_a_branch_separates_from_one_run_is_the_other_runs() {
        let mut method = Method::default();
        let begin = method.add(&[LOCK_ADD]);
        let work = method.describe(WORK);
        let inc = method.add(&[INC]);
        method.add(&[CMP]);
        method.jump(JL, begin);
        let load = method.add(&[INC]);
        method.add(&[INC]);
        let other = method.describe(OTHER);
        assert_eq!(certainty(&method, inc, work, None), Certainty::Exact);
        assert_eq!(certainty(&method, load, other, None), Certainty::Exact);
        // If the wrong run had been chosen, the candidate would disagree.
        assert_eq!(certainty(&method, load, work, None), Certainty::Approximate);
    }

    #[test]
    fn a_described_instruction_is_exact_unless_its_state_is_described_again_and_again() {
        let mut method = Method::default();
        let end = method.add(&[LOCK_ADD]);
        let work = method.describe(WORK);
        method.add(&[INC]);
        method.describe(OTHER);
        for runs in 1..5 {
            let expected = if runs < REPEATED { Certainty::Exact } else { Certainty::Approximate };
            assert_eq!(certainty(&method, end, work, None), expected, "{runs} runs");
            method.add(&[INC]);
            method.describe(WORK);
            method.add(&[INC]);
            method.describe(OTHER);
        }
        method.add(&[LOAD_POLL]);
        let poll = method.here();
        let safepoint = method.safepoint(OTHER);
        method.add(&[TEST_POLL, RET]);
        assert_eq!(certainty(&method, poll, safepoint, None), Certainty::Exact, "the JVM depends on it");
    }

    #[test]
    fn in_a_loop_with_an_owner_only_what_fits_the_owner_counts() {
        let mut method = Method::default();
        method.loops.insert(1, vec![8..=32]);
        method.add(&[INC]);
        method.describe(TASK);
        let begin = method.here();
        let first = method.add(&[LOCK_ADD]);
        let own = method.describe(WORK);
        let gap = method.add(&[INC]);
        method.add(&[INC]);
        method.describe(OTHER);
        method.add(&[INC]);
        method.describe(&[(1, 30), (9, 0)]);
        method.add(&[LOAD_POLL]);
        method.safepoint(&[(1, 32), (9, 0)]);
        method.add(&[TEST_POLL, CMP]);
        method.jump(JL, begin);
        method.add(&[RET]);
        assert_eq!(certainty(&method, gap, own, None), Certainty::Approximate);
        let loops = Loops::new(&mut method).unwrap();
        assert_eq!(certainty(&method, gap, own, Some(&loops)), Certainty::MethodCertain);
        assert_eq!(certainty(&method, first, own, Some(&loops)), Certainty::Exact);
    }

    #[test]
    fn in_a_loop_that_only_calls_what_cannot_be_in_it_does_not_count() {
        let mut method = Method::default();
        let begin = method.here();
        method.add(&[LOCK_ADD]);
        let work = method.describe(WORK);
        let gap = method.add(&[INC]);
        method.add(&[INC]);
        method.describe(OTHER);
        method.jump(CALL, 0x20_0000);
        method.safepoint(&[(1, 31), (9, 0)]);
        method.add(&[CMP]);
        method.jump(JL, begin);
        method.add(&[RET]);
        let without = Loops::new(&mut method).unwrap();
        assert_eq!(certainty(&method, gap, work, Some(&without)), Certainty::Approximate);
        method.loops.insert(1, vec![8..=32]);
        let loops = Loops::new(&mut method).unwrap();
        assert_eq!(certainty(&method, gap, work, Some(&loops)), Certainty::MethodCertain);
    }

    #[test]
    fn in_a_loop_without_an_owner_the_methods_are_certain_if_all_of_it_names_them() {
        for (second, expected) in [(WORK, Certainty::Exact), (OTHER, Certainty::Approximate)] {
            let mut method = Method::default();
            let begin = method.here();
            let end = method.add(&[LOCK_ADD]);
            let work = method.describe(WORK);
            // An unrolled loop repeats the same state.
            for _ in 0..REPEATED {
                method.add(&[CMP]);
                method.jump(JL, begin);
                method.add(&[INC]);
                method.describe(second);
                method.add(&[LOCK_ADD]);
                method.describe(WORK);
            }
            method.jump(JL, begin);
            let outside = method.add(&[INC]);
            let after = method.describe(TASK);
            method.add(&[RET]);
            let loops = Loops::new(&mut method).unwrap();
            assert_eq!(certainty(&method, end, work, Some(&loops)), expected);
            assert_eq!(certainty(&method, outside, after, Some(&loops)), Certainty::Exact);
        }
    }

    #[test]
    fn in_a_loop_without_an_owner_a_state_is_believed_where_notes_are_reliable() {
        for (invokes, expected) in [(Some(Vec::new()), Certainty::Exact), (None, Certainty::Approximate)] {
            let mut method = Method::with_invokes(invokes);
            let begin = method.here();
            let described = method.add(&[LOCK_ADD]);
            let work = method.describe(WORK);
            let gap = method.add(&[INC]);
            method.add(&[INC]);
            method.describe(OTHER);
            method.jump(JL, begin);
            method.add(&[RET]);
            let loops = Loops::new(&mut method).unwrap();
            assert_eq!(certainty(&method, described, work, Some(&loops)), expected);
            assert_eq!(certainty(&method, gap, work, Some(&loops)), Certainty::Approximate);
        }
    }

    #[test]
    fn where_control_may_come_from_elsewhere_the_run_before_is_not_enough() {
        let mut method = Method::default();
        let over = method.jump(JL, 0);
        method.add(&[LOCK_ADD]);
        let work = method.describe(WORK);
        let before = method.add(&[INC]);
        method.patch(over, before);
        let end = method.add(&[INC]);
        method.add(&[RET, INC]);
        method.describe(OTHER);
        assert_eq!(certainty(&method, end, work, None), Certainty::Exact);
        let loops = Loops::new(&mut method).unwrap();
        assert_eq!(certainty(&method, before, work, Some(&loops)), Certainty::Exact);
        assert_eq!(certainty(&method, end, work, Some(&loops)), Certainty::Approximate);
    }

    #[test]
    fn a_loop_in_which_nothing_is_described_is_not_certain() {
        let mut method = Method::default();
        method.add(&[LOCK_ADD]);
        let work = method.describe(WORK);
        let begin = method.here();
        let end = method.add(&[INC]);
        method.jump(JL, begin);
        method.add(&[RET]);
        let loops = Loops::new(&mut method).unwrap();
        assert_eq!(certainty(&method, end, work, Some(&loops)), Certainty::Approximate);
    }

    #[test]
    fn where_nothing_is_described_nothing_is_certain() {
        let mut method = Method::default();
        let end = method.add(&[INC, INC]);
        method.finish();
        assert_eq!(certainty(&method, end, 0, None), Certainty::Approximate);
    }
}
