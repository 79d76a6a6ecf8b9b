//! The events that there are: a row each, which lies in a file beside those who know of it.
//!
//! A row has all of it: how the JVM is to tell of the event, if it is one of the JVM's, and how the event reads in a timeline.
//! Nobody else has to know it.

mod row;

use crate::governor;

pub use row::Row;

/// All of them.
pub type Rows = &'static [&'static Row];

/// Those of this agent.
pub static ROWS: Rows = &[&governor::PAUSED, &governor::LENGTHENED, &governor::STOPPED];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use vouch_sample::VALUES;

    #[test]
    fn each_row_can_be_shown() {
        let mut keys = HashSet::new();
        for mark in ROWS.iter().map(|row| row.mark) {
            assert!(keys.insert(mark.key) && mark.key != "refuted", "{} is taken", mark.key);
            assert!(mark.figures.len() <= VALUES, "{} has more figures than an event has values", mark.key);
            let mut names = HashSet::from(["cause", "type"]);
            for figure in mark.figures {
                assert!(names.insert(figure.key), "{}: {} is taken", mark.key, figure.key);
            }
        }
    }
}
