//! The stages from the ring to the recording: the thread, the names and the verdict of each
//! sample.
//!
//! A session passes each entry of a lane to a [`record::Recorder`]. The recorder finds the track of
//! the sample's thread, resolves method ids ([`resolve`]), has each edge judged by the bytecode
//! ([`prove`]) and some stacks by GetStackTrace ([`witness`]), and adds the sample to the
//! recording. [`compiled`] has the code of compiled methods, by address.
//!
//! The stages ask the JVM through the traits in [`jvm`] and the session through the one in
//! [`threads`], so that tests run them without either. They must never call JNI or JVMTI.
// Tests write to lanes as handlers do.
#![cfg_attr(not(test), forbid(unsafe_code))]

pub mod choices;
pub mod compiled;
pub mod contexts;
pub mod events;
pub mod jvm;
pub mod method;
pub mod method_table;
pub mod prove;
pub mod readable;
pub mod record;
pub mod resolve;
pub mod threads;
pub mod wall_clock;
pub mod weak_object;
pub mod witness;
