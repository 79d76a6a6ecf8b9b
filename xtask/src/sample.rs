//! `cargo xtask sample --seed N`: draws doc comments and names at random, for a reading test.
//!
//! A reader who does not know the project counts how many are clear at first reading. The same seed
//! and the same files give the same sample.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use crate::words::lexer;
use crate::words::repository::{Language, source_files};
use crate::words::rules::declarations;

const SAMPLE_SIZE: usize = 60;

/// Prints the sample: each comment and each name with its file and line.
pub fn run(arguments: &[String]) -> Result<String> {
    let seed = match arguments {
        [option, seed] if option == "--seed" => seed.parse::<u64>().ok(),
        _ => None,
    };
    let mut random = SplitMix64(seed.context("sample: needs a number: cargo xtask sample --seed 1")?);
    let mut comments = Vec::new();
    let mut names = Vec::new();
    for file in source_files()?.iter().filter(|file| file.language == Language::Rust) {
        let parts = lexer::rust(&file.text);
        let docs = parts.comments.iter().filter(|comment| comment.is_doc);
        comments.extend(docs.map(|comment| format!("{}:{}\n{}", file.path, comment.line, comment.text)));
        let declared = declarations(&parts.code).into_iter();
        names.extend(declared.map(|(line, declaration)| format!("{}:{line}: {declaration}", file.path)));
    }
    let mut out = format!("{} doc comments of {}:\n\n", SAMPLE_SIZE, comments.len());
    for comment in random.draw(comments) {
        let _ = writeln!(out, "{comment}\n");
    }
    let _ = writeln!(out, "{} names of {}:\n", SAMPLE_SIZE, names.len());
    for name in random.draw(names) {
        let _ = writeln!(out, "{name}");
    }
    Ok(out)
}

/// The generator SplitMix64.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Takes `SAMPLE_SIZE` items, each at most once.
    fn draw<T>(&mut self, mut items: Vec<T>) -> Vec<T> {
        let mut drawn = Vec::new();
        while drawn.len() < SAMPLE_SIZE {
            let Some(index) = self.next().checked_rem(items.len() as u64) else { break };
            drawn.push(items.swap_remove(usize::try_from(index).unwrap_or_default()));
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::{SAMPLE_SIZE, SplitMix64};

    #[test]
    fn a_seed_always_draws_the_same_items_and_none_twice() {
        let items: Vec<u32> = (0..1_000).collect();
        let mut drawn = SplitMix64(85).draw(items.clone());
        assert_eq!(drawn, SplitMix64(85).draw(items.clone()));
        assert_ne!(drawn, SplitMix64(86).draw(items));
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), SAMPLE_SIZE);
    }
}
