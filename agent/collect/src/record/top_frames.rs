//! Corrects the innermost frames of a walk by the machine code. It runs before the walk is checked.

use vouch_sample::{Certainty, Cut, Frame};

use crate::jvm::{CodeAt, DebugInfoAt, InlinedFrames, Jvm, Site};
use crate::witness::JvmStack;

/// The result of correcting the inlined frames of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrected {
    pub is_changed: bool,
    pub known: TopKnown,
}

/// How certain a walk's innermost frames are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopKnown {
    pub certainty: Certainty,
    /// The instructions of the compiled code that have debug information.
    pub described: DebugInfoAt,
}

impl From<Certainty> for TopKnown {
    fn from(certainty: Certainty) -> Self {
        Self { certainty, described: DebugInfoAt::AllInstructions }
    }
}

/// Corrects the inlined frames at a site in compiled code. They follow the `first` innermost
/// frames. Returns how certain they are. The witness compared the uncorrected walk, so its count of
/// top frames is adjusted.
pub fn correct(
    (frames, cut): (&mut Vec<Frame>, &mut Option<Cut>),
    first: usize,
    jvm_stack: Option<&mut JvmStack>,
    site: Site,
    jvm: &mut dyn Jvm,
) -> Corrected {
    let unchanged = |known| Corrected { is_changed: false, known };
    let Some(inlined) = frames.get(first..).and_then(|walked| jvm.inlined_at(site, walked)) else {
        let is_compiled = matches!(jvm.code_at(site.pc), CodeAt::Method(_) | CodeAt::Unknown);
        let certainty = if is_compiled { Certainty::Approximate } else { Certainty::Exact };
        return unchanged(certainty.into());
    };
    let InlinedFrames { found, right, certainty, described } = inlined;
    let known = TopKnown { certainty, described };
    let Some(right) = right else { return unchanged(known) };
    let end = first + found;
    // Frames are missing among them, or the witness compared every one of them.
    let is_cut = cut.is_some_and(|cut| (cut.at as usize) < end);
    let is_witnessed =
        jvm_stack.as_ref().is_some_and(|jvm_stack| jvm_stack.differs || jvm_stack.top.is_none());
    if is_cut || is_witnessed {
        return unchanged(TopKnown { certainty: Certainty::Approximate, described });
    }
    let shifted = |count: usize| (count + right.len()).saturating_sub(found);
    if let Some(cut) = cut {
        cut.at = u32::try_from(shifted(cut.at as usize)).unwrap_or(u32::MAX);
    }
    if let Some(top) = jvm_stack.and_then(|jvm_stack| jvm_stack.top.as_mut()?.frame.as_mut()) {
        top.frames = shifted(top.frames);
    }
    frames.splice(first..end, right);
    Corrected { is_changed: true, known }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jvm::fake::FakeJvm;
    use crate::jvm::{Top, TopFrame};
    use vouch_sample::MethodId;

    const SITE: Site = Site { pc: 77, is_call: false };

    fn frame(method: usize) -> Frame {
        Frame::new(MethodId(method), 0)
    }

    /// Corrects a walk of four frames. The second and the third frame are one compiled frame, to
    /// which three other frames belong according to the machine code.
    fn corrected(cut: Option<Cut>, jvm_stack: Option<&mut JvmStack>) -> (bool, Vec<usize>, Option<Cut>) {
        let mut jvm = FakeJvm::default();
        let right = [7, 8, 9].map(frame);
        jvm.inlined.insert(
            SITE,
            InlinedFrames {
                found: 2,
                right: Some(right.into()),
                certainty: Certainty::MethodCertain,
                described: DebugInfoAt::AllInstructions,
            },
        );
        let (mut frames, mut cut) = ([1, 2, 3, 4].map(frame).to_vec(), cut);
        let corrected = correct((&mut frames, &mut cut), 1, jvm_stack, SITE, &mut jvm);
        (corrected.is_changed, frames.iter().map(|frame| frame.method().0).collect(), cut)
    }

    fn jvm_stack(frames: Option<usize>, differs: bool) -> JvmStack {
        let frame = |frames| TopFrame { frames, outermost: None };
        let top = frames.map(|frames| Top { frame: Some(frame(frames)), away: false });
        JvmStack { frames: Vec::new(), top, differs }
    }

    #[test]
    fn the_frames_of_a_compiled_frame_are_replaced_and_those_around_it_stay() {
        assert_eq!(corrected(None, None), (true, vec![1, 7, 8, 9, 4], None));
    }

    #[test]
    fn what_is_said_of_a_place_in_the_walk_moves_with_it() {
        let at = |at| Some(Cut { at, missing: 5 });
        assert_eq!(corrected(at(3), None).2, at(4));
        let mut witnessed = jvm_stack(Some(3), false);
        assert!(corrected(None, Some(&mut witnessed)).0);
        assert_eq!(witnessed.top.and_then(|top| top.frame).map(|frame| frame.frames), Some(4));
    }

    #[test]
    fn what_is_cut_there_or_was_seen_by_the_jvm_itself_stays_as_it_is() {
        let same = vec![1, 2, 3, 4];
        let cut = Some(Cut { at: 2, missing: 5 });
        assert_eq!(corrected(cut, None), (false, same.clone(), cut));
        for mut jvm_stack in [jvm_stack(None, false), jvm_stack(Some(3), true)] {
            assert_eq!(corrected(None, Some(&mut jvm_stack)), (false, same.clone(), None));
        }
    }
}
