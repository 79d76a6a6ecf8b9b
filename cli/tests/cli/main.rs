//! Verbs as their user meets them: all in one program, since separate ones would be linked each.

mod common;
mod diff;
mod events;
mod explain;
mod flame;
mod measures;
mod merge;
mod recover;
mod top;
mod usage;
mod view;
