//! Any other processor: nobody knows yet how a frame is left there, so nothing is proposed.

use super::scene::Scene;
use super::{STRATEGIES, Step, Strategy};

pub const ALL: [Strategy; STRATEGIES] =
    [none("left_java"), none("top"), none("probe"), none("frame_pointer")];

const fn none(name: &'static str) -> Strategy {
    Strategy { name, keeps_leaf: false, sure: false, propose: nothing }
}

fn nothing(_: &Scene<'_>, _: usize) -> Step {
    Step::End
}
