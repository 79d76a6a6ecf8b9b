//! Tests what the governor asks of the agent.

use once_cell::sync::Lazy;

use super::*;
use crate::services::{self, Services};
use crate::task_sums::TaskSums;

static REPORTED: Lazy<Reported> = Lazy::new(Reported::default);

/// Services that keep what is printed and published.
#[derive(Debug, Default)]
struct Reported {
    messages: Mutex<Vec<String>>,
    acts: Mutex<Vec<Act>>,
}

impl Services for Reported {
    fn run_guarded(&self, body: Box<dyn FnOnce() + '_>) {
        body();
    }

    fn say(&self, message: &str) {
        self.messages.lock().push(message.to_owned());
    }

    fn publish(&self, act: Act) {
        self.acts.lock().push(act);
    }

    fn take_thread_sums(&self, _group: u32) -> Option<&'static TaskSums> {
        None
    }

    fn return_thread_sums(&self, _group: u32, _sums: &'static TaskSums) {}
}

#[test]
fn an_engine_that_is_stopped_early_is_reported_once() {
    services::set(&*REPORTED);
    let terms = Terms {
        interval: Duration::from_millis(1),
        stride: 1,
        cost: None,
        wish: EngineWish::Auto,
        budget: None,
        free: Duration::ZERO,
    };
    begin(None, &terms);
    stop("the program has taken the signal");
    stop("again");
    let message = "the engine is stopped, and what the program does from here on is not sampled: the program has taken the \
                   signal";
    assert_eq!(*REPORTED.messages.lock(), [message]);
    assert!(matches!(REPORTED.acts.lock()[..], [Act::Stopped { .. }]));
    let Story { stopped, notes, warnings, .. } = story();
    assert!(stopped && notes == [message] && warnings == [message]);
    begin(None, &terms);
    assert!(!story().stopped && story().notes.is_empty(), "the next recording begins anew");
}
