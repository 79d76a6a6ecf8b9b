//! The interface that each page implements.

use anyhow::Result;

/// A page, or a part of one, with its options.
pub trait Page: clap::Args {
    /// The name of the page in `cargo xtask page NAME`.
    const NAME: &'static str;
    /// The file that the page writes, as a path from the repository's top.
    const DOCUMENT: &'static str;

    /// Runs the programs that the page is about, and writes the page.
    fn make(self) -> Result<()>;
}
