//! Joins profiles that versions of Vouch with more or fewer categories wrote.
//!
//! Samples refer to a category by its number, so a later version may only add categories at the
//! end. Profiles in which a number means something else must be refused. Subcategories have names:
//! those of "No stack" are sorted, so a new reason moves the others.

use indexmap::IndexSet;
use serde_json::Value;

use super::opened::Opened;
use crate::document::Part;
use crate::error::Error;

const FRAMES: &str = "frameTable";

/// Gives all profiles the categories of the profile that has the most, and all subcategories.
pub fn share_categories(all: &mut [Opened]) -> Result<(), Error> {
    let Some(longest) = all.iter().max_by_key(|opened| size(&opened.categories)) else { return Ok(()) };
    let (mut categories, file) = (longest.categories.clone(), longest.file.clone());
    for opened in &*all {
        if !extends(&categories, &opened.categories) {
            return Err(Error::OtherTables { file: opened.file.clone(), other: file });
        }
    }
    for (row, category) in categories.iter_mut().enumerate() {
        let own = parts(category).to_vec();
        let others = all.iter().filter_map(|opened| opened.categories.get(row)).flat_map(parts);
        let union: IndexSet<Value> = own.into_iter().chain(others.cloned()).collect();
        if !union.is_empty() {
            category["subcategories"] = union.into_iter().collect();
        }
    }
    for opened in all {
        renumber(&mut opened.shared, &opened.categories, &categories)
            .map_err(|why| why.in_file(&opened.file))?;
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

/// True if the categories begin with those of the other profile. The first subcategory is the
/// category itself, so it must be the same.
fn extends(categories: &[Value], other: &[Value]) -> bool {
    other.len() <= categories.len()
        && categories.iter().zip(other).all(|(one, other)| {
            one["name"] == other["name"]
                && parts(other).first().is_none_or(|first| parts(one).first() == Some(first))
        })
}

/// Changes the subcategories of a profile's frames from its own numbers to those of `new`.
fn renumber(shared: &mut Part, own: &[Value], new: &[Value]) -> Result<(), Error> {
    if own.iter().zip(new).all(|(own, new)| parts(new).starts_with(parts(own))) {
        return Ok(());
    }
    let mut frames: Part = shared.get(FRAMES)?;
    let category: Vec<Option<usize>> = frames.get("category")?;
    let mut subcategory: Vec<Option<usize>> = frames.get("subcategory")?;
    for (category, part) in category.into_iter().zip(&mut subcategory) {
        let Some((category, row)) = category.zip(*part).filter(|(_, row)| *row > 0) else { continue };
        let name = own.get(category).and_then(|category| parts(category).get(row));
        let is_named = |other: &Value| Some(other) == name;
        let renumbered = new.get(category).and_then(|category| parts(category).iter().position(is_named));
        *part = Some(renumbered.ok_or_else(|| Error::NoRow { table: "subcategories".to_owned(), row })?);
    }
    frames.set("subcategory", &subcategory)?;
    shared.set(FRAMES, &frames)
}
