//! Adds up the results of comparing stacks with GetStackTrace over several runs.

use std::collections::BTreeMap;

use vouch_report::{WitnessPower, WitnessReport};

/// The sums of all runs.
#[derive(Debug, Clone, Default)]
pub struct Sum {
    pub asked: u64,
    pub whole: u64,
    pub frames: u64,
    /// For each fate from proof: the numbers of confirmed and contradicted stacks.
    pub fates: BTreeMap<String, (u64, u64)>,
    pub power: BTreeMap<String, WitnessPower>,
    /// The numbers of differences in fully compared stacks, by their kind.
    pub differences: BTreeMap<String, u64>,
}

impl Sum {
    pub fn add(&mut self, witness: &WitnessReport) {
        let WitnessReport { exact, all_but_top, confirmed, contradicted, power, differences, .. } = witness;
        self.asked += witness.asked;
        self.whole += exact.asked + all_but_top.asked;
        self.frames += exact.frames + all_but_top.frames;
        for (fate, count) in confirmed {
            self.fates.entry(fate.clone()).or_default().0 += count;
        }
        for (fate, count) in contradicted {
            self.fates.entry(fate.clone()).or_default().1 += count;
        }
        for (corruption, WitnessPower { tried, by_proof, by_witness, by_either }) in power {
            let sum = self.power.entry(corruption.clone()).or_default();
            sum.tried += tried;
            sum.by_proof += by_proof;
            sum.by_witness += by_witness;
            sum.by_either += by_either;
        }
        for (kind, count) in differences.iter().filter(|(kind, _)| !kind.starts_with("root_")) {
            *self.differences.entry(kind.clone()).or_default() += count;
        }
    }

    /// Returns the number of stacks with this fate that the JVM contradicts.
    pub fn contradicted(&self, fate: &str) -> u64 {
        self.fates.get(fate).map_or(0, |(_, contradicted)| *contradicted)
    }
}
