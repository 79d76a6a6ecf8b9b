//! Compares the roots of a walk and of its witness, for a thread that has run between the two.
//!
//! Frames have been called and have returned in the meantime. Only the outermost frame must be in
//! both stacks, since a thread ends where it began. An agreement proves nothing of other frames.

use vouch_sample::Frame;

/// The result of comparing the roots of a walk and of its witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootSide {
    /// The walk and its witness have the same outermost method.
    Agrees,
    /// The walk's outermost frames are in the middle of the witness: the walk misses the frames
    /// that are further out.
    Truncated,
    /// The witness's outermost frames are in the middle of the walk. The walk has outer frames that
    /// do not belong to the thread.
    Extra,
    /// The two stacks have no frames, or too few, in common.
    Differs,
}

impl RootSide {
    /// Returns the name of the difference in the trust report, or `None` if the roots agree.
    pub fn kind(self) -> Option<&'static str> {
        match self {
            Self::Agrees => None,
            Self::Truncated => Some("root_truncated"),
            Self::Extra => Some("root_extra"),
            Self::Differs => Some("root_other"),
        }
    }
}

/// The number of outermost frames of one stack that must be found in the other. A single frame may
/// be there by chance.
const MIN_COMMON_FRAMES: usize = 2;

/// Compares the roots of two stacks of one thread. Neither of them may be cut.
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

/// True if the outermost frames of `inner` are somewhere in `outer`. All methods must be equal. Of
/// the bcis only that of the outermost frame must be, since those of inner frames change when a
/// thread runs.
fn within(inner: &[Frame], outer: &[Frame]) -> bool {
    let outermost = &inner[inner.len().saturating_sub(MIN_COMMON_FRAMES)..];
    if outermost.len() < MIN_COMMON_FRAMES {
        return false;
    }
    outer.windows(MIN_COMMON_FRAMES).any(|window| {
        window.iter().zip(outermost).all(|(one, other)| one.method() == other.method())
            && window.last().map(|frame| frame.bci()) == outermost.last().map(|frame| frame.bci())
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
    fn stacks_that_begin_in_the_same_method_agree() {
        assert_eq!(root_side(&stack(&[1, 2, 3]), &stack(&[7, 8, 9, 3])), RootSide::Agrees);
    }

    #[test]
    fn a_root_within_the_other_stack_is_found() {
        assert_eq!(root_side(&stack(&[1, 2, 3]), &stack(&[9, 2, 3, 4])), RootSide::Truncated);
        assert_eq!(root_side(&stack(&[9, 2, 3, 4]), &stack(&[1, 2, 3])), RootSide::Extra);
        assert_eq!(root_side(&stack(&[1, 2]), &stack(&[3, 4])), RootSide::Differs);
    }

    #[test]
    fn one_common_frame_is_not_enough() {
        assert_eq!(root_side(&stack(&[3]), &stack(&[2, 3, 4])), RootSide::Differs);
    }
}
