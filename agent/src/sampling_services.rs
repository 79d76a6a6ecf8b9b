//! What the agent does for crate `vouch-sampling`.

use vouch_sampling::governor::act::Act;
use vouch_sampling::services::{self, Services};
use vouch_sampling::task_sums::TaskSums;

use crate::events::governor_acts;
use crate::fault::guard;
use crate::groups::groups;
use crate::say::say;

#[derive(Debug)]
struct AgentServices;

/// Passes the agent's services to the crate.
pub fn install() {
    services::set(&AgentServices);
}

impl Services for AgentServices {
    fn run_guarded(&self, body: Box<dyn FnOnce() + '_>) {
        guard((), body);
    }

    fn say(&self, message: &str) {
        say(message);
    }

    fn publish(&self, act: Act) {
        governor_acts::publish(act);
    }

    fn take_thread_sums(&self, group: u32) -> Option<&'static TaskSums> {
        groups().take_thread_sums(group)
    }

    fn return_thread_sums(&self, group: u32, sums: &'static TaskSums) {
        groups().return_thread_sums(group, sums);
    }
}
