//! Verbs as their user meets them: all in one program, since each of its own would be linked anew.

mod common;
mod diff;
mod events;
mod explain;
mod flame;
mod measures;
mod recover;
mod top;
mod view;
