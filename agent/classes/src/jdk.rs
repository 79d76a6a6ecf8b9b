//! Finds a JDK's own classes: in its image of modules, in `jmods`, or, before JDK 9, in `rt.jar`
//! and the archives beside it.

use std::path::Path;

use crate::container::Containers;
use crate::error::Error;
use crate::image::Image;

/// A `release` file with more bytes than this is not read.
const MAX_RELEASE_FILE_BYTES: u64 = 64 << 10;

/// A JDK with classes that can be read.
#[derive(Debug)]
pub struct Jdk {
    /// The JDK's version, such as `25.0.3+9-LTS`, if the JDK has a `release` file.
    pub version: Option<String>,
    pub location: String,
    pub image: Option<Image>,
    pub containers: Containers,
}

impl Jdk {
    /// Opens the JDK in this folder. It is an error if the JDK has no classes.
    pub fn open(home: &Path) -> Result<Self, Error> {
        let mut jdk = Self {
            version: version(home),
            location: home.display().to_string(),
            image: None,
            containers: Containers::default(),
        };
        let folders = [home.to_owned(), home.join("jre")];
        let find = |name: &str| folders.iter().map(|folder| folder.join(name)).find(|path| path.exists());
        if let Some(modules) = find("lib/modules") {
            let image = Image::open(&modules)
                .map_err(|why| Error::Image { path: modules.clone(), why: Box::new(why) })?;
            jdk.image = Some(image);
            // A compiler on another JDK reads the image with the archive `jrt-fs.jar`. The archive
            // has other versions of classes than the image.
            let own = modules.with_file_name("jrt-fs.jar");
            if own.exists() {
                jdk.containers.add_tree(&own);
            }
        } else if let Some(runtime) = find("lib/rt.jar") {
            jdk.containers.add_tree(&runtime);
            // The archives beside `rt.jar` are added, and the JDK's tools around its JRE.
            let jre = runtime.ancestors().nth(2).unwrap_or(home);
            let around = jre.parent().filter(|_| jre.ends_with("jre"));
            for lib in
                [jre].into_iter().chain(around).map(|folder| folder.join("lib")).filter(|lib| lib.exists())
            {
                jdk.containers.add_tree(&lib);
            }
        } else if let Some(modules) = find("jmods") {
            jdk.containers.add_tree(&modules);
        } else {
            return Err(Error::NotAJdk(home.to_owned()));
        }
        Ok(jdk)
    }
}

/// Returns the JDK's version as the JVM reports it. The `release` files of older JDKs have only the
/// short version.
fn version(home: &Path) -> Option<String> {
    let release = crate::archive::read_file(&home.join("release"), MAX_RELEASE_FILE_BYTES).ok()?;
    let release = String::from_utf8_lossy(&release);
    let value = |key: &str| {
        release.lines().find_map(|line| line.strip_prefix(key)).map(|value| value.trim_matches('"'))
    };
    let version = value("JAVA_RUNTIME_VERSION=").or_else(|| value("JAVA_VERSION="))?;
    (!version.is_empty()).then(|| version.to_owned())
}
