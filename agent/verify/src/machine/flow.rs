//! Finds the basic blocks and natural loops of a method's machine code.
//!
//! Dominators are found by the iterative algorithm of Cooper, Harvey and Kennedy.

use std::collections::BTreeMap;

use crate::machine::instruction::{Flow, Instruction};

/// The number of a basic block. Blocks are numbered in the order of their addresses.
pub type BlockId = usize;

/// A basic block: instructions that are executed one after the other.
#[derive(Debug)]
pub struct Block {
    pub start: usize,
    pub end: usize,
    pub successors: Vec<BlockId>,
    predecessors: Vec<BlockId>,
    is_padding: bool,
}

/// A loop: the numbers of its blocks, in order.
#[derive(Debug, PartialEq, Eq)]
pub struct Loop(pub Vec<BlockId>);

impl Loop {
    pub fn contains(&self, block: BlockId) -> bool {
        self.0.binary_search(&block).is_ok()
    }

    fn is_within(&self, outer: &Self) -> bool {
        self.0.iter().all(|block| outer.contains(*block))
    }
}

/// The control flow of a compiled method: its basic blocks and its loops.
#[derive(Debug)]
pub struct ControlFlow {
    pub blocks: Vec<Block>,
    /// The loops, the smallest first. So the first one that has a block is the block's innermost
    /// loop.
    pub loops: Vec<Loop>,
    innermost: Vec<Option<usize>>,
}

impl ControlFlow {
    /// Finds the blocks and loops of a method. `is_last_call` returns whether a call of an address
    /// never returns.
    pub fn new(instructions: &[Instruction], is_last_call: impl Fn(usize) -> bool) -> Self {
        let mut blocks = blocks(instructions, is_last_call);
        link(&mut blocks);
        let loops = loops(&blocks);
        let mut innermost = vec![None; blocks.len()];
        for (number, it) in loops.iter().enumerate().rev() {
            for block in &it.0 {
                innermost[*block] = Some(number);
            }
        }
        Self { blocks, loops, innermost }
    }

    /// Returns the block that contains an address.
    pub fn block_at(&self, address: usize) -> Option<BlockId> {
        let id = self.blocks.partition_point(|block| block.start <= address).checked_sub(1)?;
        (address < self.blocks[id].end).then_some(id)
    }

    /// Returns the index of the innermost loop that contains a block.
    pub fn innermost(&self, block: BlockId) -> Option<usize> {
        self.innermost[block]
    }

    /// True if the loop `inner` is within the loop `outer`, or is the same loop.
    pub fn encloses(&self, outer: usize, inner: usize) -> bool {
        self.loops[inner].is_within(&self.loops[outer])
    }
}

/// Cuts the code into blocks where control flow enters or leaves.
fn blocks(instructions: &[Instruction], is_last_call: impl Fn(usize) -> bool) -> Vec<Block> {
    let mut leaders: Vec<usize> = instructions.first().map(|it| it.start).into_iter().collect();
    for instruction in instructions {
        match instruction.flow {
            Flow::Branch(target) | Flow::Jump(Some(target)) => leaders.extend([target, instruction.end]),
            Flow::Jump(None) | Flow::Stop => leaders.push(instruction.end),
            Flow::Next | Flow::Call(_) => {}
        }
    }
    leaders.sort_unstable();
    leaders.dedup();
    let mut found: Vec<Block> = Vec::new();
    let mut rest = instructions;
    while let Some(first) = rest.first() {
        let next = leaders.partition_point(|leader| *leader <= first.start);
        let limit = leaders.get(next).copied().unwrap_or(usize::MAX);
        let length = rest.iter().take_while(|it| it.start < limit).count().max(1);
        let (block, others) = rest.split_at(length);
        rest = others;
        let Some(last) = block.last() else { break };
        // Padding after a call that does not return is not executed.
        let meaningful = block.iter().rfind(|it| !it.is_padding);
        let mut targets = Vec::new();
        if let Flow::Branch(target) | Flow::Jump(Some(target)) = last.flow {
            targets.push(target);
        }
        if meaningful.is_none_or(|it| it.falls_through(&is_last_call)) {
            targets.push(last.end);
        }
        found.push(Block {
            start: first.start,
            end: last.end,
            successors: targets,
            predecessors: Vec::new(),
            is_padding: meaningful.is_none(),
        });
    }
    // Successors are addresses so far. They become numbers of blocks.
    let starts: Vec<usize> = found.iter().map(|block| block.start).collect();
    for block in &mut found {
        block.successors =
            block.successors.iter().filter_map(|target| starts.binary_search(target).ok()).collect();
    }
    found
}

fn link(blocks: &mut [Block]) {
    let mut is_target = vec![false; blocks.len()];
    for block in blocks.iter() {
        for successor in &block.successors {
            is_target[*successor] = true;
        }
    }
    for id in 0..blocks.len() {
        // Padding that no jump leads to is not executed, even if it falls through to code.
        if blocks[id].is_padding && !is_target[id] {
            blocks[id].successors.clear();
        }
        for successor in blocks[id].successors.clone() {
            blocks[successor].predecessors.push(id);
        }
    }
}

/// Returns the blocks in an order in which each block precedes its successors, except for backward
/// edges of loops. The second list says of each block if control enters it from elsewhere.
fn reverse_postorder(blocks: &[Block]) -> (Vec<BlockId>, Vec<bool>) {
    let mut seen = vec![false; blocks.len()];
    let mut is_entry = seen.clone();
    let mut postorder = Vec::with_capacity(blocks.len());
    // A block without a predecessor is entered from elsewhere, such as a handler of exceptions.
    let entries = (0..blocks.len()).filter(|id| *id == 0 || blocks[*id].predecessors.is_empty());
    for entry in entries.rev().chain(0..blocks.len()) {
        if seen[entry] {
            continue;
        }
        // A cycle that no block leads into may be entered at any of its blocks.
        (seen[entry], is_entry[entry]) = (true, true);
        let mut path = vec![(entry, 0)];
        while let Some((block, next)) = path.last_mut() {
            if let Some(successor) = blocks[*block].successors.get(*next) {
                *next += 1;
                if !seen[*successor] {
                    seen[*successor] = true;
                    path.push((*successor, 0));
                }
            } else {
                postorder.push(*block);
                path.pop();
            }
        }
    }
    postorder.reverse();
    (postorder, is_entry)
}

/// The immediate dominator of each block, by the block's index in reverse postorder. A root before
/// all blocks dominates the entries.
struct Dominators {
    place: Vec<usize>,
    immediate: Vec<usize>,
}

impl Dominators {
    fn new(blocks: &[Block], order: &[BlockId], is_entry: &[bool]) -> Self {
        const UNKNOWN: usize = usize::MAX;
        let mut place = vec![0; blocks.len()];
        // The root has 0.
        for (at, block) in order.iter().enumerate() {
            place[*block] = at + 1;
        }
        let mut immediate = vec![UNKNOWN; blocks.len() + 1];
        immediate[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for (at, id) in order.iter().enumerate() {
                let block = &blocks[*id];
                let mut found = if is_entry[*id] { 0 } else { UNKNOWN };
                for predecessor in &block.predecessors {
                    let other = place[*predecessor];
                    if immediate[other] == UNKNOWN {
                        continue;
                    }
                    found = if found == UNKNOWN { other } else { common(&immediate, found, other) };
                }
                if immediate[at + 1] != found {
                    immediate[at + 1] = found;
                    changed = true;
                }
            }
        }
        Self { place, immediate }
    }

    fn dominates(&self, dominator: BlockId, block: BlockId) -> bool {
        let (dominator, mut at) = (self.place[dominator], self.place[block]);
        while at > dominator {
            at = self.immediate[at];
        }
        at == dominator
    }
}

fn common(immediate: &[usize], mut one: usize, mut other: usize) -> usize {
    while one != other {
        if one > other {
            one = immediate[one];
        } else {
            other = immediate[other];
        }
    }
    one
}

/// The maximal number of loop headers times blocks. No compiler generates code with more.
const MAX_BODIES: usize = 1 << 24;

/// Finds the natural loops. An edge back to a block that dominates the edge's source closes a loop.
fn loops(blocks: &[Block]) -> Vec<Loop> {
    let (order, is_entry) = reverse_postorder(blocks);
    let dominators = Dominators::new(blocks, &order, &is_entry);
    let mut bodies: BTreeMap<BlockId, Vec<bool>> = BTreeMap::new();
    for (id, block) in blocks.iter().enumerate() {
        for header in &block.successors {
            if !dominators.dominates(*header, id) {
                continue;
            }
            if (bodies.len() + 1) * blocks.len() > MAX_BODIES {
                return Vec::new();
            }
            let body = bodies.entry(*header).or_insert_with(|| vec![false; blocks.len()]);
            body[*header] = true;
            let mut waiting = vec![id];
            while let Some(next) = waiting.pop() {
                if !std::mem::replace(&mut body[next], true) {
                    waiting.extend(&blocks[next].predecessors);
                }
            }
        }
    }
    let ids = |body: Vec<bool>| body.iter().enumerate().filter(|(_, is)| **is).map(|(id, _)| id).collect();
    let mut found: Vec<Loop> = bodies.into_values().map(|body| Loop(ids(body))).collect();
    found.sort_by_key(|it| it.0.len());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the control flow of a method for tests: each instruction has one byte and one of these
    /// flows.
    fn flow(flows: &[Flow]) -> ControlFlow {
        let instruction = |(start, flow): (usize, &Flow)| Instruction {
            start,
            end: start + 1,
            flow: *flow,
            is_padding: false,
            is_poll: false,
            may_check_receiver: true,
        };
        let instructions: Vec<Instruction> = flows.iter().enumerate().map(instruction).collect();
        ControlFlow::new(&instructions, |_| false)
    }

    fn loops(flows: &[Flow]) -> Vec<Vec<usize>> {
        let flow = flow(flows);
        let starts = |it: &Loop| it.0.iter().map(|block| flow.blocks[*block].start).collect();
        flow.loops.iter().map(starts).collect()
    }

    #[test]
    fn the_innermost_loop_comes_first() {
        let nested = [Flow::Next, Flow::Next, Flow::Branch(1), Flow::Branch(0), Flow::Stop];
        assert_eq!(loops(&nested), [vec![1], vec![0, 1, 3]]);
        let found = flow(&nested);
        let innermost = |address| found.innermost(found.block_at(address).unwrap());
        assert_eq!([0, 2, 3, 4].map(innermost), [Some(1), Some(0), Some(1), None]);
        assert!(found.encloses(1, 0) && !found.encloses(0, 1));
        assert_eq!(found.block_at(5), None);
    }

    #[test]
    fn a_way_back_from_code_out_of_line_is_no_loop() {
        // Block 1 may go to block 3, which goes back to block 2.
        assert_eq!(loops(&[Flow::Next, Flow::Branch(3), Flow::Stop, Flow::Jump(Some(2))]), [[0; 0]; 0]);
    }

    #[test]
    fn circles_that_nothing_leads_into_come_to_an_end() {
        let circles = [
            Flow::Stop,
            Flow::Branch(4),
            Flow::Branch(3),
            Flow::Jump(Some(1)),
            Flow::Branch(2),
            Flow::Jump(Some(1)),
        ];
        assert!(!loops(&circles).is_empty());
    }
}
