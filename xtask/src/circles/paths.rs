//! Finds which modules of a crate depend on which, by the paths in their code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ItemMod, UseTree};

/// The modules of one crate, each with the modules that its paths lead to, and those paths. A
/// module's name is its path in the crate (`own::stack`), and empty for the crate's root.
#[derive(Debug, Default)]
pub struct Modules(BTreeMap<String, BTreeMap<String, BTreeSet<String>>>);

impl Modules {
    /// Reads the modules of a crate from its folder.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut files = Vec::new();
        collect(folder, "", &mut files)?;
        Self::parse(files)
    }

    /// Parses the modules of a crate. Each file has the module's name, and its text.
    pub fn parse(files: impl IntoIterator<Item = (String, String)>) -> Result<Self> {
        let files: BTreeMap<String, String> = files.into_iter().collect();
        let names: BTreeSet<String> = files.keys().cloned().collect();
        let mut modules = Self::default();
        for (name, text) in files {
            let file = syn::parse_file(&text).with_context(|| format!("module {name}"))?;
            let mut found =
                Paths { module: &name, names: &names, aliases: BTreeMap::new(), arrows: BTreeMap::new() };
            // The names that `use` brings into scope are read first, because other paths begin with
            // them.
            file.items.iter().for_each(|item| found.read_uses(item));
            found.visit_file(&file);
            let arrows = found.arrows;
            modules.0.insert(name, arrows);
        }
        Ok(modules)
    }

    /// Returns each dependency: the two modules, and the paths that cause it.
    pub fn arrows(&self) -> impl Iterator<Item = (&String, &String, &BTreeSet<String>)> {
        self.0.iter().flat_map(|(from, arrows)| arrows.iter().map(move |(to, paths)| (from, to, paths)))
    }
}

/// Collects the files of a folder and of the folders below it. Files of tests are left out.
fn collect(folder: &Path, parent: &str, files: &mut Vec<(String, String)>) -> Result<()> {
    let name = || folder.display().to_string();
    let entries: Result<Vec<PathBuf>, _> =
        std::fs::read_dir(folder).with_context(name)?.map(|entry| entry.map(|entry| entry.path())).collect();
    for path in entries.with_context(name)? {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if ["tests", "testing"].contains(&stem) {
            continue;
        }
        let name = match (parent, stem) {
            ("", "lib" | "main") => String::new(),
            ("", stem) => stem.to_owned(),
            (parent, stem) => format!("{parent}::{stem}"),
        };
        if path.is_dir() {
            collect(&path, &name, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
            files.push((name, text));
        }
    }
    Ok(())
}

/// Reads the paths in one module.
struct Paths<'a> {
    module: &'a str,
    names: &'a BTreeSet<String>,
    /// The path from the crate's root for each name that a `use` brings into scope.
    aliases: BTreeMap<String, Vec<String>>,
    arrows: BTreeMap<String, BTreeSet<String>>,
}

impl Paths<'_> {
    /// Returns the path from the crate's root. Returns `None` if the path leads out of the crate.
    fn absolute(&self, segments: &[String]) -> Option<Vec<String>> {
        let mut base: Vec<String> = Vec::new();
        if !self.module.is_empty() {
            base.extend(self.module.split("::").map(str::to_owned));
        }
        let mut rest = segments;
        match segments.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = rest.get(1..)?;
            }
            "self" => rest = rest.get(1..)?,
            "super" => {
                while let Some((_, after)) = rest.split_first().filter(|(first, _)| *first == "super") {
                    base.pop();
                    rest = after;
                }
            }
            first => {
                if let Some(alias) = self.aliases.get(first) {
                    base.clone_from(alias);
                    rest = rest.get(1..)?;
                } else {
                    let mut child = base.clone();
                    child.push(first.to_owned());
                    if !self.names.contains(&child.join("::")) {
                        return None;
                    }
                }
            }
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    /// Adds the arrow of a path, if it names something in another module.
    fn add(&mut self, segments: &[String]) {
        let Some(full) = self.absolute(segments) else { return };
        let mut length = full.len();
        while length > 0 && !full.get(..length).is_some_and(|path| self.names.contains(&path.join("::"))) {
            length = length.saturating_sub(1);
        }
        // A path to a module alone is no dependency. What is used from the module is one.
        if length == full.len() {
            return;
        }
        let target = full.get(..length).unwrap_or_default().join("::");
        if target != self.module {
            self.arrows.entry(target).or_default().insert(full.join("::"));
        }
    }

    fn read_uses(&mut self, item: &syn::Item) {
        if let syn::Item::Use(item) = item
            && !is_for_tests(&item.attrs)
        {
            self.read_tree(&item.tree, &mut Vec::new());
        }
    }

    fn read_tree(&mut self, tree: &UseTree, before: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.read_tree(&path.tree, before);
                before.pop();
            }
            UseTree::Name(name) => self.bring(&name.ident.to_string(), &name.ident.to_string(), before),
            UseTree::Rename(name) => self.bring(&name.ident.to_string(), &name.rename.to_string(), before),
            UseTree::Glob(_) => {
                let mut all = before.clone();
                all.push("*".to_owned());
                self.add(&all);
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.read_tree(tree, before)),
        }
    }

    fn bring(&mut self, name: &str, alias: &str, before: &[String]) {
        let mut path = before.to_vec();
        let mut alias = alias;
        if name == "self" {
            alias = before.last().map_or("", String::as_str);
        } else {
            path.push(name.to_owned());
        }
        self.add(&path);
        if let Some(full) = self.absolute(&path) {
            self.aliases.insert(alias.to_owned(), full);
        }
    }

    /// Reads the paths in a macro's arguments, which syn does not parse.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add_if_long(&path);
                        path.clear();
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                other => {
                    self.add_if_long(&path);
                    path.clear();
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.read_tokens(group.stream());
                    }
                }
            }
        }
        self.add_if_long(&path);
    }

    fn add_if_long(&mut self, path: &[String]) {
        if path.len() > 1 {
            self.add(path);
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes: &[Attribute] = match item {
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Static(item) => &item.attrs,
            syn::Item::Const(item) => &item.attrs,
            // The paths of `use` were read before.
            syn::Item::Use(_) => return,
            _ => &[],
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
        self.add_if_long(&segments);
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        // This `use` is inside of a function, or of a module in the same file.
        if !is_for_tests(&item.attrs) {
            self.read_tree(&item.tree, &mut Vec::new());
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.read_tokens(call.tokens.clone());
    }
}

/// True if an attribute says that the item is compiled for tests alone.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.meta.require_list().is_ok_and(|list| {
                let condition = list.tokens.to_string();
                condition == "test"
                    || condition.starts_with("all (test")
                    || condition.starts_with("any (test")
            })
    })
}
