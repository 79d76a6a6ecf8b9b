//! Vouch's version, as it is reported.

pub const VERSION: &str = env!("CARGO_PKG_VERSION");
