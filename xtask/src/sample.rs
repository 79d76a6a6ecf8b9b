//! `cargo xtask sample --seed N`: draws doc comments and names at random, for a reading test.
//!
//! A reader who does not know the project counts how many are clear at first reading. The same seed
//! and the same files give the same sample.

use std::fmt::Write as _;

use anyhow::{Context, Result};

use crate::random::SplitMix64;
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
    for comment in random.draw(comments, SAMPLE_SIZE) {
        let _ = writeln!(out, "{comment}\n");
    }
    let _ = writeln!(out, "{} names of {}:\n", SAMPLE_SIZE, names.len());
    for name in random.draw(names, SAMPLE_SIZE) {
        let _ = writeln!(out, "{name}");
    }
    Ok(out)
}
