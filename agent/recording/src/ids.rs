//! Row numbers as types: the id of one table cannot be used for another.
//!
//! Only tables make ids, so each id has a row. An id stores the row plus 1 in a `NonZeroU32`, so
//! that a stack row with an optional parent takes 8 bytes.

/// The number of a row in one of the tables.
pub trait Id: Copy {
    /// Makes an id. Only tables may call this.
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
    /// A row of the string table.
    StringId;
    /// A source file.
    SourceId;
    /// A jar, module or library that has functions.
    ResourceId;
    /// A function: a Java method, or a placeholder.
    FuncId;
    /// A function at one of its lines.
    FrameId;
    /// A stack: a frame, and through its parent all of its callers.
    StackId;
    /// A thread under one of its names.
    ThreadId;
    /// A refutation.
    RefutationId;
    /// A kind of markers.
    MarkerKindId;
    /// A kind of contexts.
    ContextKindId;
    /// A counter of the process.
    CounterId;
    /// A context, and through its outer context all that it is nested in.
    ContextId;
}
