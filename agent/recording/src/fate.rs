//! The fates of samples, and how many samples have each fate.
//!
//! Every sample has exactly one fate, and the fates must add up to the signals that were delivered.
//! No code here may count a sample twice, or leave one out.

use crate::execution_mode::ExecutionMode;
use crate::trust::Trust;

/// The fate of a sample: how far its stack can be trusted, or why it has no stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Every edge of the stack is proven, and its root is right.
    Proven,
    /// Nothing contradicts the stack, but not every edge is proven.
    Plausible,
    /// Proof or a witness contradicts the stack.
    Refuted,
    /// The thread was running Java, and no walk found frames.
    Unwalked,
    /// The thread was running no Java.
    Outside,
    /// The sample was not recorded, since no lane or table had space for it.
    Dropped,
}

impl Fate {
    /// Returns the fate of a recorded sample: what the thread was executing, and how far its stack
    /// can be trusted.
    pub fn new(mode: ExecutionMode, trust: Trust) -> Self {
        match (mode, trust) {
            (_, Trust::Proven) => Self::Proven,
            (_, Trust::Plausible) => Self::Plausible,
            (_, Trust::Refuted) => Self::Refuted,
            (ExecutionMode::Java, Trust::Unwalked) => Self::Unwalked,
            (_, Trust::Unwalked | Trust::Unchecked) => Self::Outside,
        }
    }

    /// True if the thread was running Java when the sample with this fate was taken.
    pub fn is_java(self) -> bool {
        matches!(self, Self::Proven | Self::Plausible | Self::Refuted | Self::Unwalked)
    }

    /// Returns the name of the fate in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Plausible => "plausible",
            Self::Refuted => "refuted",
            Self::Unwalked => "unwalked",
            Self::Outside => "outside",
            Self::Dropped => "dropped",
        }
    }
}

/// A table with one value for each fate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ByFate<T> {
    pub proven: T,
    pub plausible: T,
    pub refuted: T,
    pub unwalked: T,
    pub outside: T,
    pub dropped: T,
}

impl<T: Copy> ByFate<T> {
    /// Returns the value for a fate.
    pub fn get(&self, fate: Fate) -> T {
        match fate {
            Fate::Proven => self.proven,
            Fate::Plausible => self.plausible,
            Fate::Refuted => self.refuted,
            Fate::Unwalked => self.unwalked,
            Fate::Outside => self.outside,
            Fate::Dropped => self.dropped,
        }
    }

    /// Returns the value of a fate, so that it can be changed.
    pub fn get_mut(&mut self, fate: Fate) -> &mut T {
        match fate {
            Fate::Proven => &mut self.proven,
            Fate::Plausible => &mut self.plausible,
            Fate::Refuted => &mut self.refuted,
            Fate::Unwalked => &mut self.unwalked,
            Fate::Outside => &mut self.outside,
            Fate::Dropped => &mut self.dropped,
        }
    }

    /// Applies `convert` to the value of each fate.
    pub fn map<U>(&self, convert: impl Fn(T) -> U) -> ByFate<U> {
        ByFate {
            proven: convert(self.proven),
            plausible: convert(self.plausible),
            refuted: convert(self.refuted),
            unwalked: convert(self.unwalked),
            outside: convert(self.outside),
            dropped: convert(self.dropped),
        }
    }
}

impl ByFate<u64> {
    /// Returns the sum over all fates. It saturates, since counts of a damaged file may have any
    /// size.
    pub fn sum(&self) -> u64 {
        self.java().saturating_add(self.outside).saturating_add(self.dropped)
    }

    /// Adds two tables: the values of each fate.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            proven: self.proven.saturating_add(more.proven),
            plausible: self.plausible.saturating_add(more.plausible),
            refuted: self.refuted.saturating_add(more.refuted),
            unwalked: self.unwalked.saturating_add(more.unwalked),
            outside: self.outside.saturating_add(more.outside),
            dropped: self.dropped.saturating_add(more.dropped),
        }
    }

    /// Returns the sum over the fates of samples of threads that were running Java.
    pub fn java(&self) -> u64 {
        let Self { proven, plausible, refuted, unwalked, .. } = self;
        [plausible, refuted, unwalked].into_iter().fold(*proven, |sum, more| sum.saturating_add(*more))
    }
}

impl ByFate<f64> {
    /// Returns the sum of the values for all fates.
    pub fn sum(&self) -> f64 {
        self.proven + self.plausible + self.refuted + self.unwalked + self.outside + self.dropped
    }
}

/// The numbers of samples and their weights, for each fate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    pub samples: ByFate<u64>,
    /// The weights of the samples with each fate, in intervals.
    pub weight: ByFate<u64>,
}

impl Tally {
    pub(crate) fn add(&mut self, fate: Fate, samples: u64, weight: u64) {
        *self.samples.get_mut(fate) += samples;
        *self.weight.get_mut(fate) += weight;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::category::VmPart;

    #[test]
    fn only_a_stack_without_a_check_depends_on_what_the_thread_executed() {
        let (java, vm) = (ExecutionMode::Java, ExecutionMode::Vm(VmPart::Gc));
        for mode in [java, vm, ExecutionMode::Native, ExecutionMode::Kernel, ExecutionMode::Waiting] {
            assert_eq!(Fate::new(mode, Trust::Proven), Fate::Proven);
            assert_eq!(Fate::new(mode, Trust::Plausible), Fate::Plausible);
            assert_eq!(Fate::new(mode, Trust::Refuted), Fate::Refuted);
            assert_eq!(Fate::new(mode, Trust::Unchecked), Fate::Outside);
        }
        assert_eq!(Fate::new(java, Trust::Unwalked), Fate::Unwalked);
        assert_eq!(Fate::new(vm, Trust::Unwalked), Fate::Outside);
    }
}
