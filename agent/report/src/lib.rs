//! The trust report: how far a recording can be trusted, in figures for machines and in words for
//! people.
//!
//! [`TrustReport::of`] takes from a recording what that can tell, and from a [`Run`] what only the
//! caller knows. The summary on stderr, the panel in the front-end and what `vouch explain` says
//! are made from it. [`options`] has the options, which agent and command share.
//!
//! What this crate never does: know a JVM, read a clock, open a file.
#![forbid(unsafe_code)]

mod brief;
mod clock;
mod contexts;
mod events;
mod groups;
mod hottest;
mod interval;
mod jvm;
pub mod options;
mod plausible;
mod process;
mod proof;
mod report;
mod several;
mod summary;
mod text;
mod time;
mod top_frame;
mod weight_unit;
mod witness;

pub use clock::Clock;
pub use contexts::{ContextsReport, FieldReport, KindReport, ValueReport};
pub use groups::{GroupReport, LIMITS};
pub use hottest::Hottest;
pub use interval::{effective, points_off, share, wilson};
pub use jvm::{ClassReport, CompilerReport, EventReport, SafepointReport, WaitingReport};
pub use plausible::{
    APPROXIMATE_TOP_FRAME, FRAMES_LEFT_OUT, PlausibleReport, TOP_FRAME_PUT_BACK, UNKNOWN_TOP_FRAME, reason,
};
pub use process::ProcessTime;
pub use proof::{Account, Conservation, EdgeReport, LISTED, Power, RefutationReport, WitnessPower, sign};
pub use report::{
    AgreementReport, Delivered, HandlerTime, Rate, RecordingFile, RecoveryReport, Run, Signals, ThreadReport,
    TrustReport,
};
pub use several::{Renumbered, Several, add_groups};
pub use summary::{Detail, FATES, Files, LIMIT_REACHED, most_frequent, noticed};
pub use text::{duration, escaped, grouped, in_template, is_of_jdk, percent, plain, readable, shortened};
pub use time::{float, micros, millis};
pub use top_frame::{Counted, TopFrameReport};
pub use vouch_recording::Weighed;
pub use weight_unit::CPU_TIME;
pub use witness::{GradeReport, WitnessReport};
