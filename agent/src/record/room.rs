//! How much of a stack is kept: all that was asked for, until stacks take all the room that they may have.
//!
//! A program that recurses in ever other ways has no two stacks alike, and would have the agent take the machine's memory
//! within minutes. From some number of stacks on, less and less of each new one is kept, of its two ends, at last only the
//! leaf. Classes that are loaded again make new stacks, too, under the same names; and refuted stacks that are shown apart have rows of
//! the recording for themselves. It must
//! never cut a stack without counting it.

/// So many nodes of the tree of stacks, or rows of the recording if they are more, are for whole ones. A node, with its row,
/// takes some 150 bytes, so that is about 300 MiB.
const WHOLE: usize = 2 << 20;
/// Then half of so many frames are kept of a new one.
const DEEPEST: usize = 2_048;
/// With every so many more, half of that again. In the end there are as many nodes more as there are distinct leaves.
const HALVED: usize = WHOLE / 16;

/// What was asked for, and how often there was no room for it.
#[derive(Debug)]
pub struct Room {
    depth: usize,
    /// Samples whose stacks were cut for want of room.
    cut: u64,
}

impl Room {
    pub fn new(depth: usize) -> Self {
        Self { depth, cut: 0 }
    }

    /// How many frames are kept of each stack, while there is room.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// How many frames are kept of a new stack of `frames`, where the tree of stacks has so many nodes; counts it if they are
    /// fewer than were asked for.
    pub fn kept(&mut self, frames: usize, nodes: usize) -> usize {
        let halvings = nodes.checked_sub(WHOLE).map_or(0, |over| 1 + over / HALVED);
        let halvings = u32::try_from(halvings).unwrap_or(u32::MAX);
        let most = if halvings == 0 { self.depth } else { self.depth.min(DEEPEST) };
        let kept = most.checked_shr(halvings).unwrap_or(0).max(1);
        if kept < self.depth && kept < frames {
            self.cut += 1;
        }
        kept
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
        assert_eq!((room.kept(2049, 0), room.kept(2049, WHOLE - 1)), (2048, 2048));
        assert_eq!(room.cut(), 0);
        assert_eq!([0, WHOLE / 4, WHOLE, 2 * WHOLE].map(Room::left), [100, 75, 0, 0]);
    }

    #[test]
    fn without_room_ever_less_is_kept_and_it_is_told() {
        let mut room = Room::new(2048);
        assert_eq!((room.kept(2049, WHOLE), room.kept(2049, WHOLE + HALVED)), (1024, 512));
        assert_eq!(room.kept(100, WHOLE), 1024);
        assert_eq!(room.kept(2049, WHOLE * 2), 1);
        assert_eq!(room.kept(2049, usize::MAX), 1);
        assert_eq!(room.cut(), 4);
    }

    #[test]
    fn the_most_rows_that_there_can_be_are_little_more() {
        let mut room = Room::new(65_536);
        let (mut rows, mut stacks) = (0, 0_u64);
        while room.kept(65_536, rows) > 1 {
            // No two stacks have a place in common.
            rows += room.kept(65_536, rows) + 1;
            stacks += 1;
        }
        assert!(rows < WHOLE * 2, "{rows} rows of {stacks} stacks");
        assert_eq!(Room::new(65_536).kept(90_000, WHOLE), 1_024, "at once");
    }
}
