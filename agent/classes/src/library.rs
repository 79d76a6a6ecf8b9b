//! All places where classes are looked for, and what lies there of one name.
//!
//! It must never choose: of two copies of a class the one that ran is for who knows what ran.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::class::ClassFile;
use crate::container::{ClassContainer, Containers, MAX_CLASS_BYTES};
use crate::jdk::Jdk;

/// All places, a JDK's first: what it has no program can have in its stead.
#[derive(Debug, Default)]
pub struct Library {
    jdk: Option<Jdk>,
    containers: Containers,
    locations: Vec<String>,
}

/// A class that lies somewhere.
#[derive(Debug)]
pub struct Copy {
    /// Which file, or archive, or JDK.
    pub location: String,
    pub file: Result<ClassFile, String>,
    /// Of its bytes: two that are the same have the same.
    pub hash: u64,
    /// It is the JDK's own.
    pub of_jdk: bool,
}

impl Library {
    /// Looks into a JDK.
    pub fn set_jdk(&mut self, home: &Path) -> Result<(), String> {
        self.jdk = Some(Jdk::open(home)?);
        self.locations.push(home.display().to_string());
        Ok(())
    }

    /// Looks at all that lies at a path, and below it.
    pub fn add_tree(&mut self, path: &Path) {
        self.containers.add_tree(path);
        self.locations.push(path.display().to_string());
    }

    /// Looks where a JVM would that has this path for an entry of its class path: in an archive, or
    /// in the folders of each package.
    pub fn add_class_path_entry(&mut self, path: &Path) {
        self.containers.add_class_path_entry(path);
        self.locations.push(path.display().to_string());
    }

    /// Where classes are looked for.
    pub fn locations(&self) -> impl Iterator<Item = &str> {
        self.locations.iter().map(String::as_str)
    }

    /// True if there is a JDK.
    pub fn has_jdk(&self) -> bool {
        self.jdk.is_some()
    }

    /// The version of the JDK, if it says so.
    pub fn jdk_version(&self) -> Option<&str> {
        self.jdk.as_ref()?.version.as_deref()
    }

    /// What could not be read.
    pub fn unreadable(&self) -> impl Iterator<Item = &str> {
        let of_jdk = self.jdk.iter().flat_map(|jdk| &jdk.containers.unreadable);
        of_jdk.chain(&self.containers.unreadable).map(String::as_str)
    }

    /// All copies of a class, as in `java/lang/String`, in the order in which they are looked for:
    /// of what the JVM's own loaders have loaded its own come first, and last of all else. What is
    /// a class of another name is none.
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
) -> impl Iterator<Item = (String, Result<Vec<u8>, String>)> + 'a {
    containers.all.iter().flat_map(move |container: &ClassContainer| container.copies(class))
}
