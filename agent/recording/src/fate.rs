//! What became of the samples, counted.
//!
//! Every sample has exactly one fate, and the fates must add up to the signals delivered: nothing
//! here may count a sample twice, or leave one out because it is of no use.

/// What became of one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Every edge proven, and the root right.
    Proven,
    /// Nothing contradicts the stack, but not all of it is proven.
    Plausible,
    /// Something contradicts the stack.
    Refuted,
    /// The thread was running Java, and no walk gave frames.
    Unwalked,
    /// The thread was running no Java at all.
    Outside,
    /// There was no room to record it.
    Dropped,
}

impl Fate {
    /// True if its thread ran Java.
    pub fn is_java(self) -> bool {
        matches!(self, Self::Proven | Self::Plausible | Self::Refuted | Self::Unwalked)
    }

    /// Its name in the report.
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

/// A figure for each fate.
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

    /// The figure itself.
    pub fn of(&mut self, fate: Fate) -> &mut T {
        match fate {
            Fate::Proven => &mut self.proven,
            Fate::Plausible => &mut self.plausible,
            Fate::Refuted => &mut self.refuted,
            Fate::Unwalked => &mut self.unwalked,
            Fate::Outside => &mut self.outside,
            Fate::Dropped => &mut self.dropped,
        }
    }

    /// The same of each figure.
    pub fn map<U>(&self, figure: impl Fn(T) -> U) -> ByFate<U> {
        ByFate {
            proven: figure(self.proven),
            plausible: figure(self.plausible),
            refuted: figure(self.refuted),
            unwalked: figure(self.unwalked),
            outside: figure(self.outside),
            dropped: figure(self.dropped),
        }
    }
}

impl ByFate<u64> {
    /// All fates together. Counts out of a damaged file may be of any size.
    pub fn sum(&self) -> u64 {
        self.java().saturating_add(self.outside).saturating_add(self.dropped)
    }

    /// The sums of two.
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

    /// Of threads that were running Java.
    pub fn java(&self) -> u64 {
        let Self { proven, plausible, refuted, unwalked, .. } = self;
        [plausible, refuted, unwalked].into_iter().fold(*proven, |sum, more| sum.saturating_add(*more))
    }
}

impl ByFate<f64> {
    /// All fates together.
    pub fn sum(&self) -> f64 {
        self.proven + self.plausible + self.refuted + self.unwalked + self.outside + self.dropped
    }
}

/// Samples and their weight, by fate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    pub samples: ByFate<u64>,
    /// In intervals.
    pub weight: ByFate<u64>,
}

impl Tally {
    pub(crate) fn add(&mut self, fate: Fate, samples: u64, weight: u64) {
        *self.samples.of(fate) += samples;
        *self.weight.of(fate) += weight;
    }
}
