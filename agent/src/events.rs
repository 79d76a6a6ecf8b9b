//! The events that there are: a row each, which lies in a file of its own beside those who know of it.
//!
//! A row has all of it: how the JVM is to tell of the event, if it is one of the JVM's, and how the event reads in a timeline.
//! Nobody else has to know it.

mod row;

use crate::governor;

pub use row::Row;

/// All of them.
pub type Rows = &'static [&'static Row];

/// See [`Rows`].
pub static EVENTS: Rows = &[&governor::PAUSED, &governor::LENGTHENED, &governor::STOPPED];
