//! The trust report: how far a recording can be trusted, as JSON for tools and as text for people.
//!
//! [`TrustReport::from_recording`] combines a recording with a [`Run`], which contains what a
//! recording does not. The summary on stderr, the front-end's panel and `vouch explain` print parts
//! of the report. [`options`] has the options, which the agent and the command share.
//!
//! This crate must not depend on a JVM, read a clock or open a file.
#![forbid(unsafe_code)]

mod brief;
mod clock;
mod contexts;
mod error;
mod events;
mod groups;
mod hottest;
mod interval;
mod jvm;
mod measures;
mod native_calls;
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
mod wall_clock;
mod weight_unit;
mod witness;

pub use clock::Clock;
pub use contexts::{ContextsReport, FieldReport, KindReport, ValueReport};
pub use error::Error;
pub use groups::{GroupReport, LIMIT_COUNT};
pub use hottest::Hottest;
pub use interval::{effective, points_off, share, wilson};
pub use jvm::{ClassReport, CompilerReport, EventReport, SafepointReport, WaitingReport};
pub use measures::{ExactTotal, LiveObjectsReport, MeasureReport};
pub use native_calls::{NativeCallReport, RefutedNativeCall};
pub use plausible::{
    APPROXIMATE_TOP_FRAME, COMPILED_BEFORE_ATTACH, FRAMES_LEFT_OUT, PlausibleReport, REMEDIES, Remedy,
    TOP_FRAME_PUT_BACK, UNKNOWN_TOP_FRAME, WITHOUT_DEBUG_INFO, reason,
};
pub use process::ProcessTime;
pub use proof::{
    Conservation, EdgeReport, MAX_LISTED, Power, RefutationReport, WitnessPower, WitnessStack, sign,
};
pub use report::{
    AgreementReport, Delivered, HandlerTime, NativeReport, Rate, RecordingFile, RecoveryReport, Run, Signals,
    ThreadReport, TrustReport,
};
pub use several::{RefutationNumbers, ReportSum, add_groups};
pub use summary::{Detail, FATES, Files, LIMIT_REACHED, most_frequent, noticed};
pub use text::{
    bytes, duration, escaped, grouped, in_template, is_of_jdk, percent, plain, readable, shortened,
};
pub use time::{float, micros, millis};
pub use top_frame::{Counted, TopFrameReport};
pub use vouch_recording::WeightSum;
pub use wall_clock::WallClockReport;
pub use weight_unit::CPU_TIME;
pub use witness::{GradeReport, WitnessReport};
