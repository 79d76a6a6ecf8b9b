//! Tests of proof: each rule is reached, and a call that nearly satisfies the rule is refuted.

mod edges;
mod explanations;
mod instructions;
mod misses;
mod power;
mod roots;
mod total;
