//! What each page implements.

/// A page, or a part of one, with its options.
pub trait Page: clap::Args {
    /// The name in `cargo xtask page NAME`.
    const NAME: &'static str;
    /// The file that is written, from the repository's top.
    const DOCUMENT: &'static str;

    /// Runs what the page is about, and writes the page.
    fn make(self) -> Result<(), String>;
}
