//! Decides how many frames of a new stack the recording keeps. It keeps the configured depth until
//! the stacks have used up their memory budget.
//!
//! A program that recurses in ever different ways never repeats a stack. Without a budget the agent
//! would use up the machine's memory within minutes. Beyond `WHOLE` nodes it keeps less and less of
//! each new stack: frames from both ends, at last only the leaf.
//!
//! New nodes also cost CPU time, about 1 µs each. A token bucket limits them to `EARNED` a
//! millisecond, with bursts of up to `SUPPLY`. While the bucket is empty deep stacks are cut,
//! because they add most of the new nodes.
//!
//! Reloaded classes add new nodes under the same names. Refuted stacks that are shown separately
//! add rows to the recording. A stack must never be cut without being counted.

/// The number of nodes in the tree of stacks up to which stacks may be kept whole. If the recording
/// has more stack rows than the tree has nodes, the rows count. A node and its row take 50 to 100
/// bytes, so this is at most 200 MiB.
const WHOLE: usize = 2 << 20;
/// The number of frames of a new stack that are kept in any case below `WHOLE` nodes, up to the
/// configured depth. At `WHOLE` nodes half of this is kept.
const DEEPEST: usize = 2_048;
/// The divisor of the unused nodes below `WHOLE`: one stack may take this fraction of them.
/// It may always take `DEEPEST`.
const PART: usize = 16;
/// The number of nodes beyond `WHOLE` after which the kept depth halves once more. Once that depth
/// is one frame, only distinct leaves add nodes.
const HALVED: usize = WHOLE / 16;

/// `SUPPLY` is the capacity of the token bucket, in new nodes. `EARNED` is its refill in nodes a
/// millisecond, about 10 % of a CPU's time.
const SUPPLY: i64 = 128 << 10;
const EARNED: i64 = 100;

/// The budget for stacks: the configured depth, the token bucket, and the count of cut stacks.
#[derive(Debug)]
pub struct StackBudget {
    depth: usize,
    /// New nodes left in the token bucket. `nodes` and `time`, in nanoseconds, date from its last
    /// update.
    left: i64,
    nodes: usize,
    time: u64,
    /// The number of samples with a stack that was cut because the budget was exhausted.
    cut: u64,
}

impl StackBudget {
    pub fn new(depth: usize) -> Self {
        Self { depth, left: SUPPLY, nodes: 0, time: 0, cut: 0 }
    }

    /// Returns the configured depth: the number of frames kept of a stack while the budget lasts.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Decides how many of a new stack's `frames` are kept. `nodes` is the tree's current size,
    /// `time` is in nanoseconds. The stack is counted as cut if fewer frames are kept than
    /// configured.
    pub fn frames_to_keep(&mut self, frames: usize, nodes: usize, time: u64) -> usize {
        self.count(nodes, time);
        let kept = match nodes.checked_sub(WHOLE) {
            None if self.left < 0 => self.depth.min(DEEPEST),
            None => self.depth.min(DEEPEST.max((WHOLE - nodes) / PART)),
            Some(over) => {
                let halvings = u32::try_from(1 + over / HALVED).unwrap_or(u32::MAX);
                self.depth.min(DEEPEST).checked_shr(halvings).unwrap_or(0).max(1)
            }
        };
        if kept < self.depth && kept < frames {
            self.cut += 1;
        }
        kept
    }

    /// Updates the token bucket: adds the refill since the last update, and subtracts the new
    /// nodes.
    fn count(&mut self, nodes: usize, time: u64) {
        let new = i64::try_from(nodes.saturating_sub(self.nodes)).unwrap_or(i64::MAX);
        let millis = i64::try_from(time.saturating_sub(self.time) / 1_000_000).unwrap_or(i64::MAX);
        self.left = self.left.saturating_add(millis.saturating_mul(EARNED)).min(SUPPLY).saturating_sub(new);
        if millis > 0 {
            self.time = time;
        }
        self.nodes = nodes;
    }

    /// Returns the unused percentage of the stack budget at this number of nodes.
    pub fn unused_percent(nodes: usize) -> usize {
        100 - nodes.min(WHOLE) * 100 / WHOLE
    }

    /// Returns the number of samples with a stack that was cut because of the budget.
    pub fn cut(&self) -> u64 {
        self.cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_stacks_are_kept_within_the_budget() {
        let mut budget = StackBudget::new(2048);
        assert_eq!(
            (budget.frames_to_keep(2049, 0, 0), budget.frames_to_keep(2049, WHOLE - 1, 0)),
            (2048, 2048)
        );
        assert_eq!(budget.cut(), 0);
        assert_eq!([0, WHOLE / 4, WHOLE, 2 * WHOLE].map(StackBudget::unused_percent), [100, 75, 0, 0]);
    }

    #[test]
    fn beyond_the_budget_less_is_kept_and_cuts_are_counted() {
        let mut budget = StackBudget::new(2048);
        assert_eq!(
            (budget.frames_to_keep(2049, WHOLE, 0), budget.frames_to_keep(2049, WHOLE + HALVED, 0)),
            (1024, 512)
        );
        assert_eq!(budget.frames_to_keep(100, WHOLE, 0), 1024);
        assert_eq!(budget.frames_to_keep(2049, WHOLE * 2, 0), 1);
        assert_eq!(budget.frames_to_keep(2049, usize::MAX, 0), 1);
        assert_eq!(budget.cut(), 4);
    }

    #[test]
    fn the_number_of_rows_stays_below_twice_the_limit() {
        let mut budget = StackBudget::new(65_536);
        let (mut rows, mut stacks) = (0, 0_u64);
        while budget.frames_to_keep(65_536, rows, 0) > 1 {
            // No two stacks share a frame.
            rows += budget.frames_to_keep(65_536, rows, 0) + 1;
            stacks += 1;
        }
        assert!(rows < WHOLE * 2, "{rows} rows of {stacks} stacks");
        // Deep stacks leave a part of the budget for others.
        let kept = [0, WHOLE / 2, WHOLE / 4 * 3, WHOLE - 1, WHOLE]
            .map(|nodes| StackBudget { nodes, ..StackBudget::new(65_536) }.frames_to_keep(90_000, nodes, 0));
        assert_eq!(kept, [65_536, 65_536, 32_768, 2_048, 1_024]);
    }

    #[test]
    fn deep_stacks_that_are_never_alike_are_cut_until_there_is_time_for_more() {
        let mut budget = StackBudget::new(65_536);
        let (second, mut nodes) = (1_000_000_000, 0);
        let mut kept = |new: usize, time: u64| {
            nodes += new;
            (budget.frames_to_keep(50_000, nodes, time), budget.frames_to_keep(100, nodes, time))
        };
        assert_eq!(kept(0, 100 * second), (65_536, 65_536));
        assert_eq!(kept(100_000, 100 * second).0, 65_536);
        assert_eq!(kept(100_000, 100 * second), (2_048, 2_048), "of the deep alone less is kept");
        assert_eq!(kept(0, 100 * second + second / 2), (2_048, 2_048));
        assert_eq!(kept(0, 101 * second).0, 65_536);
    }
}
