//! The verdicts of proof: proven, explained or refuted. Their names are part of the trust report.

use std::fmt;

/// The verdict on an edge, a leaf or a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The caller's bytecode has exactly this call.
    Proven,
    /// The bytecode does not name this callee, but the JVM can call it there for this reason.
    Explained(Explanation),
    /// The stack is impossible, for this reason.
    Refuted(Refutation),
}

macro_rules! named {
    ($(#[$doc:meta])* $kind:ident { $($(#[$case_doc:meta])* $case:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind { $($(#[$case_doc])* $case,)* }

        impl $kind {
            /// All variants of this type, in the order of their declaration.
            pub const ALL: &'static [Self] = &[$(Self::$case,)*];

            /// Returns the name of the variant in the trust report.
            pub fn name(self) -> &'static str {
                match self { $(Self::$case => $name,)* }
            }

            /// Finds the variant with this name in the trust report.
            pub fn from_name(name: &str) -> Option<Self> {
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
    /// Why an edge is possible though the caller's bytecode does not name the callee. The table in
    /// `docs/proof.md` has the instructions and the callees that each explanation allows.
    Explanation {
        /// An invokedynamic is linked to the callee, or the callee belongs to the code of a method
        /// handle or var handle that was invoked.
        MethodHandle = "method_handle",
        /// The code of a method handle called its target. The target is known only by the basic
        /// types of its descriptor.
        HandleTarget = "handle_target",
        /// The VM called the class library to link a call site, a constant or a handle.
        Linkage = "linkage",
        /// The VM initialised a class before it executed the instruction.
        ClassInit = "class_initialisation",
        /// The VM called a class loader.
        ClassLoad = "class_loading",
        /// The VM loaded the classes of a method's signature before it compiled the method.
        Compilation = "compilation",
        /// The VM created an exception.
        ImplicitException = "implicit_exception",
        /// The caller is native code, which may call any method.
        NativeCaller = "native_caller",
        /// The VM registered a new object with the Finalizer.
        Finaliser = "finaliser",
        /// The callee is a static method of a superclass of the named class.
        Inherited = "inherited_static",
        /// The caller's class was unloaded before its code was read.
        Unloaded = "class_unloaded",
        /// The caller's class was redefined, so the code that ran can no longer be read.
        Redefined = "class_redefined",
        /// The JVM did not return the caller's code, or a name in its constants cannot be read.
        Unread = "code_unread",
        /// Vouch's own walker found a method without a `jmethodID`. The JVM has not created one
        /// yet, or the class was redefined.
        NoId = "no_id",
        /// The root of the stack was called by native code, through JNI.
        JniEntry = "jni_entry",
        /// The root of the stack was called by the VM itself.
        VmEntry = "vm_entry",
    }
}

named! {
    /// The reason why a stack is impossible.
    Refutation {
        /// The caller's instruction is no invoke, and no explanation allows the callee there.
        NotAnInvoke = "not_an_invoke",
        /// The caller's instruction invokes another method than the callee in the stack.
        OtherCallee = "other_callee",
        /// The frame's bci is past the end of the method's code.
        BciPastEnd = "bci_past_end",
        /// The frame's bci is in the middle of an instruction.
        BciInsideInstruction = "bci_inside_instruction",
        /// A native method has a bci, or a method with bytecode has none.
        Nativeness = "nativeness",
        /// The frame has no method id, so it names no method.
        NullMethod = "null_method",
        /// The frame's method id belongs to no method that the JVM has had.
        UnknownMethod = "unknown_method",
        /// A thread that was started like this one does not begin in the outermost method of the
        /// stack.
        WrongRoot = "wrong_root",
        /// GetStackTrace found another stack at the same moment. This refutation does not come from
        /// bytecode.
        Witness = "witness",
    }
}

impl Refutation {
    /// Returns the text with which users see a refutation, in a row of the timeline or in a stack.
    pub fn description(self) -> &'static str {
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
    /// True if the verdict is that the stack is impossible.
    pub fn is_refuted(self) -> bool {
        matches!(self, Self::Refuted(_))
    }

    /// True if this verdict discards a stack from a repaired context, which is only a guess.
    /// [`Explanation::Redefined`] and [`Explanation::NoId`] discard it like a refutation, since
    /// they would explain any stack.
    pub fn fails_a_guess(self) -> bool {
        let explains_any = [Explanation::Redefined, Explanation::NoId].map(Self::Explained);
        self.is_refuted() || explains_any.contains(&self)
    }
}
