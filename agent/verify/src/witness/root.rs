//! The comparison by root: the thread has run between the walk and its witness.
//!
//! Calls have come and gone at the leaf, so only the outermost frame is known to be in both; a
//! thread goes on living where it began. It must never say more than that: agreement here proves
//! nothing about the frames above.

use vouch_sample::Frame;

/// What the outermost frames say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootSide {
    Agrees,
    /// The walk's outermost frames stand in the midst of the witness: those below are missing.
    Truncated,
    /// The witness's outermost frames stand in the midst of the walk: those below are not the
    /// thread's.
    Extra,
    /// The two have nothing in common, or too little to tell.
    Differs,
}

impl RootSide {
    /// The name of the difference; `None` if there is none.
    pub fn kind(self) -> Option<&'static str> {
        match self {
            Self::Agrees => None,
            Self::Truncated => Some("root_truncated"),
            Self::Extra => Some("root_extra"),
            Self::Differs => Some("root_other"),
        }
    }
}

/// How many frames must be found again: one alone may be there by chance.
const TELLING: usize = 2;

/// Compares the root sides of two stacks of one thread, neither of which was cut.
pub fn root_side(walk: &[Frame], witness: &[Frame]) -> RootSide {
    let method = |frames: &[Frame]| frames.last().map(|frame| frame.method());
    if method(walk) == method(witness) {
        RootSide::Agrees
    } else if within(walk, witness) {
        RootSide::Truncated
    } else if within(witness, walk) {
        RootSide::Extra
    } else {
        RootSide::Differs
    }
}

/// True if the outermost frames of `inner` stand in `outer`. The leaf's bci moves, and with it that
/// of a caller that goes on: the outermost frame's must be the same, the others' methods.
fn within(inner: &[Frame], outer: &[Frame]) -> bool {
    let telling = &inner[inner.len().saturating_sub(TELLING)..];
    if telling.len() < TELLING {
        return false;
    }
    outer.windows(TELLING).any(|window| {
        window.iter().zip(telling).all(|(one, other)| one.method() == other.method())
            && window.last().map(|frame| frame.bci()) == telling.last().map(|frame| frame.bci())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use vouch_sample::MethodId;

    fn stack(methods: &[usize]) -> Vec<Frame> {
        methods.iter().map(|method| Frame::new(MethodId(*method), 5)).collect()
    }

    #[test]
    fn what_begins_in_the_same_method_agrees() {
        assert_eq!(root_side(&stack(&[1, 2, 3]), &stack(&[7, 8, 9, 3])), RootSide::Agrees);
    }

    #[test]
    fn a_root_in_the_midst_of_the_other_is_told() {
        assert_eq!(root_side(&stack(&[1, 2, 3]), &stack(&[9, 2, 3, 4])), RootSide::Truncated);
        assert_eq!(root_side(&stack(&[9, 2, 3, 4]), &stack(&[1, 2, 3])), RootSide::Extra);
        assert_eq!(root_side(&stack(&[1, 2]), &stack(&[3, 4])), RootSide::Differs);
    }

    #[test]
    fn one_frame_alone_tells_nothing() {
        assert_eq!(root_side(&stack(&[3]), &stack(&[2, 3, 4])), RootSide::Differs);
    }
}
