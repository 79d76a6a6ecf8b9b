//! Row numbers that cannot be mixed up: an id of one table is no id of another.
//!
//! Ids are made by the tables alone, so that an id always names a row. They hold the row plus one
//! in a `NonZeroU32`: a stack row with an optional parent is 8 bytes.

/// The number of a row in one of the tables.
pub trait Id: Copy {
    /// For the tables.
    #[doc(hidden)]
    fn from_row(row: usize) -> Self;
    fn row(self) -> usize;
}

/// Ids of tables of one's own.
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
    /// What a function came from: a jar, a module, a library.
    ResourceId;
    /// A function: a Java method, or whatever else a frame stands in.
    FuncId;
    /// A function at one of its lines.
    FrameId;
    /// A frame and, through its parent, all of its callers.
    StackId;
    /// A thread under one of its names.
    ThreadId;
    /// What contradicts a stack.
    RefutationId;
    /// A kind of marks.
    MarkKindId;
    /// A class of contexts.
    ContextKindId;
    /// A figure of the process.
    CounterId;
    /// A context, and through what it is nested in all around it.
    ContextId;
}
