//! Random numbers that a seed determines, so that a result can be made again.

/// The generator SplitMix64.
#[derive(Debug)]
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws up to this many items, each at most once.
    pub fn draw<T>(&mut self, mut items: Vec<T>, count: usize) -> Vec<T> {
        let mut drawn = Vec::new();
        while drawn.len() < count {
            let Some(index) = self.next().checked_rem(items.len() as u64) else { break };
            drawn.push(items.swap_remove(usize::try_from(index).unwrap_or_default()));
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn a_seed_always_draws_the_same_items_and_none_twice() {
        let items: Vec<u32> = (0..1_000).collect();
        let mut drawn = SplitMix64(85).draw(items.clone(), 60);
        assert_eq!(drawn, SplitMix64(85).draw(items.clone(), 60));
        assert_ne!(drawn, SplitMix64(86).draw(items, 60));
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 60);
    }

    #[test]
    fn no_more_items_are_drawn_than_there_are() {
        assert_eq!(SplitMix64(1).draw(vec![7], 3), [7]);
    }
}
