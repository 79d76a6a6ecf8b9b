//! What the rest of the agent does for sampling: it catches the panics of the agent's threads,
//! prints and shows what the governor does, and keeps the groups of tasks.
//!
//! The agent sets its implementation once, when it is loaded. Tests run without one.

use std::fmt::Debug;

use once_cell::sync::OnceCell;

use crate::governor::act::Act;
use crate::task_sums::TaskSums;

/// What sampling asks of the agent.
pub trait Services: Debug + Sync {
    /// Runs the body of one of the agent's threads. A panic in it must not reach the JVM.
    fn run_guarded(&self, body: Box<dyn FnOnce() + '_>);

    /// Prints a message to the user.
    fn say(&self, message: &str);

    /// Shows an act of the governor on the timeline.
    fn publish(&self, act: Act);

    /// Returns sums of a group for one thread, or `None` if there are too many.
    fn take_thread_sums(&self, group: u32) -> Option<&'static TaskSums>;

    /// Takes back the sums of a thread that runs no Java code any more.
    fn return_thread_sums(&self, group: u32, sums: &'static TaskSums);
}

/// The services of a process without an agent.
#[derive(Debug)]
struct NoServices;

impl Services for NoServices {
    fn run_guarded(&self, body: Box<dyn FnOnce() + '_>) {
        body();
    }

    fn say(&self, _message: &str) {}

    fn publish(&self, _act: Act) {}

    fn take_thread_sums(&self, _group: u32) -> Option<&'static TaskSums> {
        None
    }

    fn return_thread_sums(&self, _group: u32, _sums: &'static TaskSums) {}
}

static SERVICES: OnceCell<&'static dyn Services> = OnceCell::new();

/// Sets the agent's services. The call must precede the first agent thread.
pub fn set(services: &'static dyn Services) {
    SERVICES.get_or_init(|| services);
}

pub(crate) fn services() -> &'static dyn Services {
    SERVICES.get().copied().unwrap_or(&NoServices)
}
