//! The classes that ran, as far as they are there: of all copies of a class the one that every
//! frame of the recording fits.
//!
//! A class that does not fit is not the one that ran: that is a result of its own, and must never
//! refute a stack.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use vouch_classes::{ClassFile, Copy, DeclaredMethod, Library};

use crate::generated_class::Rule;
use crate::index::{CodeLocation, Method, RecordingIndex};

/// Classes above each other that are more stand in a circle.
pub const MAX_SUPERCLASSES: usize = 1_000;

/// A class of the recording's.
#[derive(Debug)]
pub enum Version {
    /// This one ran.
    Loaded(LoadedClass),
    /// There is none of this name that the recording fits.
    Other { location: String, why: String },
    /// No file has it, since the JVM or a library made it: by this rule.
    Generated(Rule),
    /// It was looked for, and not found.
    NotFound,
}

/// A class that ran.
#[derive(Debug)]
pub struct LoadedClass {
    pub location: String,
    pub file: ClassFile,
    /// A line of the recording's is where the class has it: it is this very version.
    pub confirmed: bool,
    /// It is of the JDK that ran.
    pub of_jdk: bool,
    /// Another copy, which is not the same, fits as well.
    pub ambiguous: bool,
}

/// A class by its name, and by its loader: two may have one name.
type Class = (Rc<str>, Rc<str>);

/// All of them.
#[derive(Debug, Default)]
pub struct Versions {
    classes: HashMap<Class, Version>,
    /// The first one that ran, by name alone; None: it is not known which did.
    by_name: HashMap<Rc<str>, Option<Class>>,
    /// The JDK's own classes are those that ran.
    of_jdk: bool,
    /// All of them are: whoever asks says so.
    exact: bool,
    /// Classes that no frame is of, which stand between others.
    other_classes: HashMap<Box<str>, Option<ClassFile>>,
}

/// A copy that does not fit, and why.
struct Mismatch(String);

impl Versions {
    /// Finds the classes of all methods. `progress` is told how many are done, of how many.
    pub fn find(
        index: &RecordingIndex,
        library: &Library,
        of_jdk: bool,
        mut progress: impl FnMut(usize, usize),
    ) -> Self {
        let mut classes: BTreeMap<Class, Vec<usize>> = BTreeMap::new();
        let mut locations: HashMap<usize, Vec<CodeLocation>> = HashMap::new();
        for (row, method) in index.methods.iter().enumerate() {
            classes.entry((method.class.clone(), method.loader.clone())).or_default().push(row);
        }
        for location in &index.locations {
            locations.entry(location.method.row()).or_default().push(*location);
        }
        let mut versions = Self { of_jdk, ..Self::default() };
        let all = classes.len();
        for (done, (class, methods)) in classes.into_iter().enumerate() {
            progress(done, all);
            let (name, loader) = &class;
            let hidden = methods.iter().any(|method| index.methods[*method].hidden);
            let version = if hidden {
                Version::Generated(Rule::from_hidden(name))
            } else {
                match choose_copy(
                    library.copies(name, loader.is_empty()),
                    of_jdk,
                    index,
                    &methods,
                    &locations,
                ) {
                    Version::NotFound => {
                        Rule::from_missing(name).map_or(Version::NotFound, Version::Generated)
                    }
                    version => version,
                }
            };
            let named = versions.by_name.entry(name.clone()).or_default();
            if matches!(version, Version::Loaded(_)) {
                named.get_or_insert_with(|| class.clone());
            }
            versions.classes.insert(class, version);
        }
        progress(all, all);
        versions
    }

    /// That of a method's class.
    pub fn get(&self, method: &Method) -> &Version {
        let class = (method.class.clone(), method.loader.clone());
        self.classes.get(&class).unwrap_or(&Version::NotFound)
    }

    /// A class that ran, by its name.
    pub fn loaded(&self, class: &str) -> Option<&LoadedClass> {
        match self.classes.get(self.by_name.get(class)?.as_ref()?)? {
            Version::Loaded(loaded) => Some(loaded),
            _ => None,
        }
    }

    /// Whoever asks says that all of them are the ones that ran.
    pub fn trust_all(&mut self) {
        (self.exact, self.of_jdk) = (true, true);
    }

    /// A method, as the class that ran declares it.
    pub fn declared(&self, method: &Method) -> Option<&DeclaredMethod> {
        match self.get(method) {
            Version::Loaded(loaded) => loaded.file.method(&method.name, &method.descriptor),
            _ => None,
        }
    }

    pub fn all(&self) -> impl Iterator<Item = (&str, &Version)> {
        self.classes.iter().map(|((name, _), version)| (&**name, version))
    }

    /// True if it is not known which of several copies a method's class is.
    pub fn is_ambiguous(&self, method: &Method) -> bool {
        matches!(self.get(method), Version::Loaded(LoadedClass { ambiguous: true, .. }))
    }

    /// True if a method's class is known to be the one that was loaded.
    pub fn is_certain(&self, method: &Method) -> bool {
        matches!(self.get(method), Version::Loaded(LoadedClass { of_jdk, .. }) if *of_jdk || self.exact)
    }

    /// True if whoever asks says that a method's class, which is not the JDK's, ran as its file has
    /// it. (Flight Recorder changes its events' classes, however far up it is said that they are
    /// such.)
    pub fn is_declared_exact(&mut self, method: &Method, library: &Library) -> bool {
        if !self.exact {
            return false;
        }
        let Version::Loaded(LoadedClass { of_jdk: false, file, .. }) = self.get(method) else { return false };
        let mut superclass = file.superclass.clone();
        for _ in 0..MAX_SUPERCLASSES {
            match superclass.as_deref() {
                None | Some("java/lang/Object") => return true,
                Some(event) if event.starts_with(EVENT_CLASSES) => return false,
                Some(class) => match self.file(class, library) {
                    Some(file) => superclass = file.superclass.clone(),
                    None => return false,
                },
            }
        }
        false
    }

    /// A class by its name, whether or not a frame is of it; None if the one that ran is not known.
    pub fn file(&mut self, class: &str, library: &Library) -> Option<&ClassFile> {
        if self.by_name.contains_key(class) {
            return self.loaded(class).filter(|loaded| !loaded.ambiguous).map(|loaded| &loaded.file);
        }
        let of_jdk = self.of_jdk;
        self.other_classes
            .entry(class.into())
            .or_insert_with(|| only_copy(library.copies(class, true), of_jdk))
            .as_ref()
    }
}

/// What all copies of a class are, if they are one; those of a JDK that is not the one that ran are
/// nobody's.
fn only_copy(copies: Vec<Copy>, of_jdk: bool) -> Option<ClassFile> {
    let mut copies = copies.into_iter().filter(|copy| of_jdk || !copy.of_jdk);
    let first = copies.next()?;
    copies.all(|copy| copy.hash == first.hash).then_some(first.file.ok()?)
}

/// The first copy that fits; if none does, the first one's reason. What cannot be read is nothing,
/// and told elsewhere.
fn choose_copy(
    copies: Vec<Copy>,
    jdk_is_the_one: bool,
    index: &RecordingIndex,
    methods: &[usize],
    locations: &HashMap<usize, Vec<CodeLocation>>,
) -> Version {
    let (mut mismatch, mut loaded) = (None, None::<(LoadedClass, u64)>);
    for Copy { location, file, hash, of_jdk } in copies {
        let Ok(file) = file else { continue };
        match (fits(&file, index, methods, locations), &mut loaded) {
            (Ok(_), Some((loaded, first))) => loaded.ambiguous |= *first != hash,
            (Ok(confirmed), None) => {
                loaded = Some((
                    LoadedClass {
                        location,
                        file,
                        confirmed,
                        of_jdk: of_jdk && jdk_is_the_one,
                        ambiguous: false,
                    },
                    hash,
                ));
            }
            // Flight Recorder puts methods into its events' classes.
            (Err(_), _) if is_event(&file) => {
                mismatch.get_or_insert(Version::Generated(Rule::FlightRecorder));
            }
            (Err(Mismatch(why)), _) => drop(mismatch.get_or_insert(Version::Other { location, why })),
        }
    }
    loaded.map(|(loaded, _)| Version::Loaded(loaded)).or(mismatch).unwrap_or(Version::NotFound)
}

/// True for the class of events of Flight Recorder's.
fn is_event(file: &ClassFile) -> bool {
    file.superclass.as_deref().is_some_and(|superclass| superclass.starts_with(EVENT_CLASSES))
}

/// Where the classes are that those of events extend.
const EVENT_CLASSES: &str = "jdk/jfr/";

/// Whether all frames of a class are where this copy has them, and one of them has a line to say
/// so.
fn fits(
    file: &ClassFile,
    index: &RecordingIndex,
    methods: &[usize],
    locations: &HashMap<usize, Vec<CodeLocation>>,
) -> Result<bool, Mismatch> {
    let mut confirmed = false;
    for row in methods {
        let method = &index.methods[*row];
        let shown = || format!("{}{}", method.name, method.descriptor);
        let locations = || locations.get(row).into_iter().flatten();
        if method.descriptor.is_empty() {
            confirmed |= fits_by_name(file, &method.name, locations())?;
            continue;
        }
        let declared = file.method(&method.name, &method.descriptor);
        let declared = declared.ok_or_else(|| Mismatch(format!("it has no method {}", shown())))?;
        if declared.is_static != method.is_static {
            return Err(Mismatch(format!("its method {} is another one", shown())));
        }
        for location in locations() {
            if !has_line_at(declared, *location) {
                let CodeLocation { bci, line, .. } = location;
                return Err(Mismatch(format!(
                    "its method {} has bci {bci} in another line than {line}",
                    shown()
                )));
            }
            confirmed |= location.line > 0 && declared.has_lines() && location.bci >= 0;
        }
    }
    Ok(confirmed)
}

/// The same of a method of which the recording has the name alone: some method of that name has
/// each of the lines.
fn fits_by_name<'p>(
    file: &ClassFile,
    name: &str,
    locations: impl Iterator<Item = &'p CodeLocation>,
) -> Result<bool, Mismatch> {
    let named: Vec<&DeclaredMethod> = file.named(name).collect();
    if named.is_empty() {
        return Err(Mismatch(format!("it has no method {name}")));
    }
    let mut confirmed = false;
    for line in locations.map(|location| location.line).filter(|line| *line > 0) {
        if !named.iter().any(|declared| declared.may_be_on(line)) {
            return Err(Mismatch(format!("its method {name} has no line {line}")));
        }
        confirmed |= named.iter().any(|declared| declared.has_lines());
    }
    Ok(confirmed)
}

fn has_line_at(method: &DeclaredMethod, location: CodeLocation) -> bool {
    let Ok(bci) = u16::try_from(location.bci) else { return true };
    location.line == 0 || !method.has_lines() || method.is_on(bci, location.line)
}
