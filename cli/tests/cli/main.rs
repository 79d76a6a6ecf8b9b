//! Tests that run the verbs of the command. They are one program, because separate programs would
//! take longer to link.

mod common;
mod diff;
mod events;
mod explain;
mod flame;
mod mcp;
mod measures;
mod merge;
mod outputs;
mod parquet;
mod pprof;
mod recover;
mod selected;
mod send;
mod top;
mod usage;
mod view;
