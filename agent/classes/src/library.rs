//! Searches all containers for the copies of a class.
//!
//! It must never choose between two copies. Only the caller knows which one ran.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::class::ClassFile;
use crate::container::{ClassContainer, Containers, MAX_CLASS_BYTES};
use crate::error::Error;
use crate::jdk::Jdk;

/// All containers of classes. The JDK's come first, since no program can replace its classes.
#[derive(Debug, Default)]
pub struct Library {
    jdk: Option<Jdk>,
    containers: Containers,
    locations: Vec<String>,
}

/// A copy of a class file.
#[derive(Debug)]
pub struct Copy {
    /// The file, archive or JDK that contains the copy.
    pub location: String,
    pub file: Result<ClassFile, Error>,
    /// A hash of the copy's bytes. Equal copies have equal hashes.
    pub hash: u64,
    /// True if the copy is a part of the JDK.
    pub of_jdk: bool,
}

impl Library {
    /// Adds a JDK, which is searched before everything else.
    pub fn set_jdk(&mut self, home: &Path) -> Result<(), Error> {
        self.jdk = Some(Jdk::open(home)?);
        self.locations.push(home.display().to_string());
        Ok(())
    }

    /// Adds everything at a path and below it to the search.
    pub fn add_tree(&mut self, path: &Path) {
        self.containers.add_tree(path);
        self.locations.push(path.display().to_string());
    }

    /// Adds an entry of a JVM's class path to the search: an archive, or a folder of packages.
    pub fn add_class_path_entry(&mut self, path: &Path) {
        self.containers.add_class_path_entry(path);
        self.locations.push(path.display().to_string());
    }

    /// Returns the paths that are searched.
    pub fn locations(&self) -> impl Iterator<Item = &str> {
        self.locations.iter().map(String::as_str)
    }

    /// True if a JDK is searched.
    pub fn has_jdk(&self) -> bool {
        self.jdk.is_some()
    }

    /// The version of the JDK, if it has one.
    pub fn jdk_version(&self) -> Option<&str> {
        self.jdk.as_ref()?.version.as_deref()
    }

    /// Returns a sentence for each file that could not be read.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        let of_jdk = self.jdk.iter().flat_map(|jdk| &jdk.containers.unreadable);
        of_jdk.chain(&self.containers.unreadable).map(String::as_str)
    }

    /// Returns all copies of a class such as `java/lang/String`. With `jdk_first` the JDK's copies
    /// come first, as for the JVM's built-in loaders; otherwise they come last. A file that
    /// contains another class is left out.
    pub fn copies(&self, class: &str, jdk_first: bool) -> Vec<Copy> {
        let mut found = Vec::new();
        if let Some(jdk) = &self.jdk {
            if let Some(image) = jdk.image.as_ref().filter(|image| image.has(class)) {
                found.push((jdk.location.clone(), image.read(class, MAX_CLASS_BYTES), true));
            }
            found.extend(copies_in(&jdk.containers, class).map(|(location, bytes)| (location, bytes, true)));
        }
        found.extend(copies_in(&self.containers, class).map(|(location, bytes)| (location, bytes, false)));
        if !jdk_first {
            found.reverse();
        }
        let copies = found.into_iter().map(|(location, bytes, of_jdk)| {
            let hash = bytes.as_ref().map_or(0, |bytes| {
                let mut hasher = DefaultHasher::new();
                bytes.hash(&mut hasher);
                hasher.finish()
            });
            Copy { location, file: bytes.and_then(|bytes| ClassFile::read(&bytes)), hash, of_jdk }
        });
        copies.filter(|copy| copy.file.as_ref().map_or(true, |file| &*file.class.name == class)).collect()
    }
}

fn copies_in<'a>(
    containers: &'a Containers,
    class: &'a str,
) -> impl Iterator<Item = (String, Result<Vec<u8>, Error>)> + 'a {
    containers.all.iter().flat_map(move |container: &ClassContainer| container.copies(class))
}
