//! How much of a stack is kept: all that was asked for, until stacks take all the room that they
//! may have.
//!
//! A program that recurses in ever other ways has no two stacks alike, and would have the agent
//! take the machine's memory within minutes. From some number of stacks on, less and less of each
//! new one is kept, of its two ends, at last only the leaf. It takes time, too: a new place costs
//! the agent some microsecond, so there may be so many in a second, beyond a supply that is there
//! at first; while there are none, deep stacks are cut, which have most of what is new. Classes
//! that are loaded again make new stacks, too, under the same names; and refuted stacks that are
//! shown apart have rows of the recording for themselves. It must never cut a stack without
//! counting it.

/// So many nodes of the tree of stacks, or rows of the recording if they are more, are for whole
/// ones. A node, with its row, takes 50 to 100 bytes, so that is at most 200 MiB.
const WHOLE: usize = 2 << 20;
/// Then half of so many frames are kept of a new one.
const DEEPEST: usize = 2_048;
/// One stack takes no more than such a part of the room that is left, but may always have so many.
const PART: usize = 16;
/// With every so many more, half of that again. In the end there are as many nodes more as there
/// are distinct leaves.
const HALVED: usize = WHOLE / 16;

/// So many new places there may be at once, and each millisecond so many more: a tenth of a
/// processor's time.
const SUPPLY: i64 = 128 << 10;
const EARNED: i64 = 100;

/// What was asked for, and how often there was no room for it.
#[derive(Debug)]
pub struct Room {
    depth: usize,
    /// How many new places there may be; what there was when that was counted, and when.
    left: i64,
    nodes: usize,
    time: u64,
    /// Samples whose stacks were cut for want of room.
    cut: u64,
}

impl Room {
    pub fn new(depth: usize) -> Self {
        Self { depth, left: SUPPLY, nodes: 0, time: 0, cut: 0 }
    }

    /// How many frames are kept of each stack, while there is room.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// How many frames are kept of a new stack of `frames`, where the tree of stacks has so many
    /// nodes at that time; counts it if they are fewer than were asked for.
    pub fn kept(&mut self, frames: usize, nodes: usize, time: u64) -> usize {
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

    /// Counts what has become new, and what has been earned since.
    fn count(&mut self, nodes: usize, time: u64) {
        let new = i64::try_from(nodes.saturating_sub(self.nodes)).unwrap_or(i64::MAX);
        let millis = i64::try_from(time.saturating_sub(self.time) / 1_000_000).unwrap_or(i64::MAX);
        self.left = self.left.saturating_add(millis.saturating_mul(EARNED)).min(SUPPLY).saturating_sub(new);
        if millis > 0 {
            self.time = time;
        }
        self.nodes = nodes;
    }

    /// How much of it is left, in percent, where the tree of stacks has so many nodes.
    pub fn left(nodes: usize) -> usize {
        100 - nodes.min(WHOLE) * 100 / WHOLE
    }

    /// Of how many samples less of the stack is kept than was asked for.
    pub fn cut(&self) -> u64 {
        self.cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_stacks_are_kept_while_there_is_room() {
        let mut room = Room::new(2048);
        assert_eq!((room.kept(2049, 0, 0), room.kept(2049, WHOLE - 1, 0)), (2048, 2048));
        assert_eq!(room.cut(), 0);
        assert_eq!([0, WHOLE / 4, WHOLE, 2 * WHOLE].map(Room::left), [100, 75, 0, 0]);
    }

    #[test]
    fn without_room_ever_less_is_kept_and_it_is_told() {
        let mut room = Room::new(2048);
        assert_eq!((room.kept(2049, WHOLE, 0), room.kept(2049, WHOLE + HALVED, 0)), (1024, 512));
        assert_eq!(room.kept(100, WHOLE, 0), 1024);
        assert_eq!(room.kept(2049, WHOLE * 2, 0), 1);
        assert_eq!(room.kept(2049, usize::MAX, 0), 1);
        assert_eq!(room.cut(), 4);
    }

    #[test]
    fn the_most_rows_that_there_can_be_are_little_more() {
        let mut room = Room::new(65_536);
        let (mut rows, mut stacks) = (0, 0_u64);
        while room.kept(65_536, rows, 0) > 1 {
            // No two stacks have a place in common.
            rows += room.kept(65_536, rows, 0) + 1;
            stacks += 1;
        }
        assert!(rows < WHOLE * 2, "{rows} rows of {stacks} stacks");
        // Deep ones alone leave room for others.
        let kept = [0, WHOLE / 2, WHOLE / 4 * 3, WHOLE - 1, WHOLE]
            .map(|nodes| Room { nodes, ..Room::new(65_536) }.kept(90_000, nodes, 0));
        assert_eq!(kept, [65_536, 65_536, 32_768, 2_048, 1_024]);
    }

    #[test]
    fn deep_stacks_that_are_never_alike_are_cut_until_there_is_time_for_more() {
        let mut room = Room::new(65_536);
        let (second, mut nodes) = (1_000_000_000, 0);
        let mut kept = |new: usize, time: u64| {
            nodes += new;
            (room.kept(50_000, nodes, time), room.kept(100, nodes, time))
        };
        assert_eq!(kept(0, 100 * second), (65_536, 65_536));
        assert_eq!(kept(100_000, 100 * second).0, 65_536);
        assert_eq!(kept(100_000, 100 * second), (2_048, 2_048), "of the deep alone less is kept");
        assert_eq!(kept(0, 100 * second + second / 2), (2_048, 2_048));
        assert_eq!(kept(0, 101 * second).0, 65_536);
    }
}
