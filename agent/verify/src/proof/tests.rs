//! What can be asked of proof: each rule reached, and a near miss of it refuted.

mod edges;
mod explanations;
mod instructions;
mod misses;
mod power;
mod roots;
mod total;
