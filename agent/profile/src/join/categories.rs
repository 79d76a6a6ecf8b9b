//! Joins profiles that versions of Vouch with more or fewer categories wrote.
//!
//! Samples refer to a category and its subcategory by number, so a later version may only add at
//! the end. Profiles in which a number means something else must be refused.

use serde_json::Value;

use super::opened::Opened;
use crate::error::Error;

/// Gives all profiles the categories of the profile that has the most.
pub fn share_categories(all: &mut [Opened]) -> Result<(), Error> {
    let Some(longest) = all.iter().max_by_key(|opened| size(&opened.categories)) else { return Ok(()) };
    let (categories, file) = (longest.categories.clone(), longest.file.clone());
    for opened in all {
        if !extends(&categories, &opened.categories) {
            return Err(Error::OtherTables { file: opened.file.clone(), other: file });
        }
        opened.meta.set("categories", &categories)?;
    }
    Ok(())
}

/// Returns the number of categories and subcategories.
fn size(categories: &[Value]) -> usize {
    categories.len() + categories.iter().map(|category| parts(category).len()).sum::<usize>()
}

fn parts(category: &Value) -> &[Value] {
    category["subcategories"].as_array().map_or(&[], Vec::as_slice)
}

/// True if the categories begin with those of the other profile, and so do their subcategories.
fn extends(categories: &[Value], other: &[Value]) -> bool {
    other.len() <= categories.len()
        && categories
            .iter()
            .zip(other)
            .all(|(one, other)| one["name"] == other["name"] && parts(one).starts_with(parts(other)))
}
