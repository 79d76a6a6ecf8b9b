//! Types for row numbers. Each table has its own type, so an id of one table cannot be used for
//! another.
//!
//! Only tables make ids, so each id has a row. An id stores the row plus 1 in a `NonZeroU32`, so
//! that a stack row with an optional parent takes 8 bytes.

/// The number of a row in one of a recording's tables.
pub trait Id: Copy {
    /// Makes the id of a row. Only tables may call this.
    #[doc(hidden)]
    fn from_row(row: usize) -> Self;
    fn row(self) -> usize;
}

/// Declares types for the ids of tables.
#[macro_export]
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(::std::num::NonZeroU32);

        impl $crate::ids::Id for $name {
            fn from_row(row: usize) -> Self {
                let id = u32::try_from(row + 1).ok().and_then(::std::num::NonZeroU32::new);
                Self(id.expect("a table of more than 4 billion rows is beyond any memory"))
            }

            fn row(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    )*};
}

ids! {
    /// The id of a row of the string table.
    StringId;
    /// The id of a source file.
    SourceId;
    /// The id of a resource: a jar, module or library that has functions.
    ResourceId;
    /// The id of a function: a Java method, or a placeholder.
    FuncId;
    /// The id of a frame: a function at one of its lines.
    FrameId;
    /// The id of a stack: a frame, and through its parent all of its callers.
    StackId;
    /// The id of a thread under one of its names.
    ThreadId;
    /// The id of a refutation.
    RefutationId;
    /// The id of a kind of markers.
    MarkerKindId;
    /// The id of a kind of contexts.
    ContextKindId;
    /// The id of a counter of the process.
    CounterId;
    /// The id of a context, and through its outer context of all that it is nested in.
    ContextId;
}
