//! What only the JVM says of the process's threads: which Java threads began before the agent
//! ([`late`]), and what a thread is called from now on ([`rename`]). Both pass it to the registry,
//! which is in crate `vouch-sampling`.

pub mod late;
pub mod rename;
