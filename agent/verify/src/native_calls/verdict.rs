//! The verdicts on calls of native code.

/// Why a call is neither proven nor refuted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Plausible {
    /// The call is indirect: of a virtual function, or by a pointer.
    Indirect,
    /// The called function jumps to the function of the next frame, or to one that does.
    TailCall,
    /// The called function has an indirect jump, which may lead anywhere.
    IndirectTailCall,
    /// A signal interrupted the caller.
    SignalFrame,
    /// The dynamic loader looks for the called function.
    LazyBinding,
    /// The called address is in no known code.
    UnknownTarget,
    /// The called function, or the caller, has bytes that are no instructions, or too many bytes.
    UnknownCode,
}

impl Plausible {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Indirect => "indirect",
            Self::TailCall => "tail_call",
            Self::IndirectTailCall => "indirect_tail_call",
            Self::SignalFrame => "signal_frame",
            Self::LazyBinding => "lazy_binding",
            Self::UnknownTarget => "unknown_target",
            Self::UnknownCode => "unknown_code",
        }
    }
}

/// Why a call is refuted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RefutedCall {
    /// No call instruction ends at the return address.
    NoCall,
    /// The call is direct, and calls the function at this address.
    OtherFunction(usize),
}

impl RefutedCall {
    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoCall => "no_call",
            Self::OtherFunction(_) => "other_function",
        }
    }
}

/// The verdict on a call of native code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallVerdict {
    /// A direct call of the function that the next frame is in.
    Proven,
    Plausible(Plausible),
    Refuted(RefutedCall),
    /// The code is not readable, or not of x86-64.
    Unjudged,
}
