//! What proof says: proven, explained and how, or refuted and how. The names are part of the trust
//! report.

use std::fmt;

/// What is to be said of one edge, of a leaf, or of a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The bytecode says so.
    Proven,
    /// Nothing contradicts it, and this is why it may be.
    Explained(Explanation),
    /// It cannot be.
    Refuted(Refutation),
}

macro_rules! named {
    ($(#[$doc:meta])* $kind:ident { $($(#[$case_doc:meta])* $case:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind { $($(#[$case_doc])* $case,)* }

        impl $kind {
            /// All of them, in the order in which they are declared.
            pub const ALL: &'static [Self] = &[$(Self::$case,)*];

            /// Its name in the report.
            pub fn name(self) -> &'static str {
                match self { $(Self::$case => $name,)* }
            }

            /// The one of this name.
            pub fn of(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|each| each.name() == name)
            }
        }

        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

named! {
    /// Why an edge may be though the bytecode does not name its callee. The table in
    /// `docs/proof.md` says for each which instructions and which callees it allows.
    Explanation {
        /// What an invokedynamic is linked to, or a method handle or var handle is invoked through.
        MethodHandle = "method_handle",
        /// What a method handle's own code ends in: the target, by the shape of its descriptor.
        HandleTarget = "handle_target",
        /// The VM calls the class library to link a call site, a constant or a handle.
        Linkage = "linkage",
        ClassInit = "class_initialisation",
        /// The VM asks a class loader.
        ClassLoad = "class_loading",
        /// Classes of a method's signature, loaded before the method is compiled.
        Compilation = "compilation",
        /// An exception that the VM makes by itself.
        ImplicitException = "implicit_exception",
        /// Native code may call what it likes.
        NativeCaller = "native_caller",
        /// The VM hands a new object with a finaliser to the Finalizer.
        Finaliser = "finaliser",
        /// A static method found in a superclass of the one that is named.
        Inherited = "inherited_static",
        /// The caller's class was unloaded before its code could be read.
        Unloaded = "class_unloaded",
        /// The caller's class was redefined: the code that ran is no longer there.
        Redefined = "class_redefined",
        /// The JVM did not give the caller's code, or a name in it that can be read.
        Unread = "code_unread",
        /// The JVM has no id for a method that our own walker has found: it has not given one yet,
        /// or the class was redefined.
        NoId = "no_id",
        /// A stack's end: a call from native code into the VM's door for it.
        JniEntry = "jni_entry",
        /// A stack's end: the VM itself called this.
        VmEntry = "vm_entry",
    }
}

named! {
    /// How a stack cannot be.
    Refutation {
        NotAnInvoke = "not_an_invoke",
        OtherCallee = "other_callee",
        BciPastEnd = "bci_past_end",
        BciInsideInstruction = "bci_inside_instruction",
        /// A native method with a bci, or bytecode without one.
        Nativeness = "nativeness",
        NullMethod = "null_method",
        UnknownMethod = "unknown_method",
        WrongRoot = "wrong_root",
        /// Not by bytecode: the JVM's own account of the same moment is another one.
        Witness = "witness",
    }
}

impl Refutation {
    /// For a person, who sees it in a row of the timeline or in a stack.
    pub fn words(self) -> &'static str {
        match self {
            Self::NotAnInvoke => "there is no call",
            Self::OtherCallee => "no such call",
            Self::BciPastEnd => "a bci past the method's end",
            Self::BciInsideInstruction => "a bci inside an instruction",
            Self::Nativeness => "native code taken for Java, or the reverse",
            Self::NullMethod => "a method without an id",
            Self::UnknownMethod => "an unknown method",
            Self::WrongRoot => "no thread begins here",
            Self::Witness => "the JVM itself says otherwise",
        }
    }
}

impl Verdict {
    pub fn is_refuted(self) -> bool {
        matches!(self, Self::Refuted(_))
    }

    /// True if a stack that is a guess cannot stand with it: refuted, or excused by code or a
    /// method that nobody can read any more, which would excuse any.
    pub fn fails_a_guess(self) -> bool {
        let excuses_any = [Explanation::Redefined, Explanation::NoId].map(Self::Explained);
        self.is_refuted() || excuses_any.contains(&self)
    }
}
