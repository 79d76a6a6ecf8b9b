//! Replaces parts of documents that are made from runs.
//!
//! Such a part is between the lines `<!-- NAME -->` and `<!-- end of NAME -->`. The rest of the
//! document must never change.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;

/// Where the tables go.
#[derive(Args, Debug)]
pub struct Output {
    /// Print the tables, and change no page
    #[arg(long)]
    pub no_page: bool,
}

impl Output {
    /// Writes a text and tables into a part of a document, or only prints the tables.
    pub fn put(&self, document: &str, part: &str, text: &str, tables: &str) -> Result<()> {
        let tables = tables.trim_end();
        if self.no_page {
            println!("{tables}");
            return Ok(());
        }
        put_into(Path::new(document), part, &format!("\n{text}\n\n{tables}\n\n"))?;
        println!("{document} has the tables");
        Ok(())
    }
}

/// Writes a document that consists only of generated text.
pub fn write_whole(document: &str, text: &str) -> Result<()> {
    fs::write(document, text).with_context(|| document.to_owned())?;
    println!("{document} is made");
    Ok(())
}

/// Replaces a part of a document.
pub fn put_into(document: &Path, part: &str, text: &str) -> Result<()> {
    let name = || document.display().to_string();
    let old = fs::read_to_string(document).with_context(name)?;
    let new =
        replaced(&old, part, text).with_context(|| format!("{}: it has no part <!-- {part} -->", name()))?;
    fs::write(document, new).with_context(name)
}

/// Returns the document with another text in the part, or `None` if it does not have the part.
fn replaced(document: &str, part: &str, text: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {part} -->\n"), format!("<!-- end of {part} -->\n"));
    let (before, rest) = document.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}{text}{end}{after}"))
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn only_the_part_is_replaced() {
        let document = "# A\n<!-- a -->\nold\n<!-- end of a -->\nrest\n<!-- b -->\nb\n<!-- end of b -->\n";
        let new = replaced(document, "a", "\nnew\n").unwrap();
        assert_eq!(
            new,
            "# A\n<!-- a -->\n\nnew\n<!-- end of a -->\nrest\n<!-- b -->\nb\n<!-- end of b -->\n"
        );
        assert_eq!(replaced(document, "c", ""), None);
        assert_eq!(replaced("<!-- a -->\nwithout an end", "a", ""), None);
    }
}
