//! Recognises classes that no file contains, because the JVM or a library generates them.

/// The rule by which a class was generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// A class that the JVM generated for a method handle.
    MethodHandleForm,
    /// The class of a lambda or method reference. The class around it names the method that it
    /// calls.
    Lambda,
    /// Any other hidden class.
    HiddenClass,
    /// The accessor that `Method.invoke` uses after several calls.
    ReflectionAccessor,
    /// A class that Flight Recorder generates for its events.
    FlightRecorder,
    /// A class of `java.lang.reflect.Proxy`, which calls its handler.
    Proxy,
    /// A library's marker in the name shows that the library generated it.
    MadeByLibrary,
}

pub const INVOKE: &str = "java/lang/invoke/";
pub const LAMBDA: &str = "$$Lambda";
/// Parts of names that libraries give to generated classes: Spring, Guice, Hibernate, Mockito, Byte
/// Buddy.
const LIBRARY_MARKERS: [&str; 8] = [
    "$$EnhancerBy",
    "$$FastClassBy",
    "$$SpringCGLIB$$",
    "$$FastClass",
    "$HibernateProxy$",
    "$MockitoMock$",
    "$ByteBuddy$",
    "$$KeyFactoryBy",
];

impl Rule {
    /// Returns the rule by which a hidden class was generated.
    pub fn from_hidden(class: &str) -> Self {
        match class {
            _ if class.starts_with(INVOKE) && !class.contains(LAMBDA) => Self::MethodHandleForm,
            _ if class.contains(LAMBDA) => Self::Lambda,
            _ => Self::HiddenClass,
        }
    }

    /// Returns the rule by which a missing class was generated, if its name shows one.
    pub fn from_missing(class: &str) -> Option<Self> {
        let (package, last) = class.rsplit_once('/').unwrap_or(("", class));
        let is_number = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
        match package {
            "java/lang/invoke" if last.contains("$Species_") => Some(Self::MethodHandleForm),
            "sun/reflect" | "jdk/internal/reflect" if last.starts_with("Generated") => {
                Some(Self::ReflectionAccessor)
            }
            "jdk/jfr/internal/handlers" => Some(Self::FlightRecorder),
            _ if last.strip_prefix("$Proxy").is_some_and(is_number) => Some(Self::Proxy),
            _ if LIBRARY_MARKERS.iter().any(|marker| class.contains(marker)) => Some(Self::MadeByLibrary),
            _ => None,
        }
    }

    /// Returns the rule's name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::MethodHandleForm => "method_handle_form",
            Self::Lambda => "lambda",
            Self::HiddenClass => "hidden_class",
            Self::ReflectionAccessor => "reflection_accessor",
            Self::FlightRecorder => "flight_recorder",
            Self::Proxy => "proxy",
            Self::MadeByLibrary => "made_by_a_library",
        }
    }
}
