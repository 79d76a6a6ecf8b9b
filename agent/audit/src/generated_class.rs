//! Classes that no file has, since the JVM or a library made them: by which rule that is known.

/// How a class was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// The code of a method handle.
    MethodHandleForm,
    /// Of a lambda, or a reference to a method: the class that it stands in says what it calls.
    Lambda,
    /// Another one without a name of its own.
    HiddenClass,
    /// `Method.invoke`, after some calls.
    ReflectionAccessor,
    /// What Flight Recorder makes for its own events.
    FlightRecorder,
    /// `java.lang.reflect.Proxy`'s: it calls its handler.
    Proxy,
    /// It has a library's mark in its name.
    MadeByLibrary,
}

pub const INVOKE: &str = "java/lang/invoke/";
pub const LAMBDA: &str = "$$Lambda";
/// What libraries put into the names of classes that they make: Spring's, Guice's, Hibernate's,
/// Mockito's, Byte Buddy's.
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
    /// That of a class without a name of its own.
    pub fn from_hidden(class: &str) -> Self {
        match class {
            _ if class.starts_with(INVOKE) && !class.contains(LAMBDA) => Self::MethodHandleForm,
            _ if class.contains(LAMBDA) => Self::Lambda,
            _ => Self::HiddenClass,
        }
    }

    /// That of a class that was looked for, and not found.
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

    /// Its name in the report.
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
