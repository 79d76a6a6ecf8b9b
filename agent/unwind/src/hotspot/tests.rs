//! Tests of Vouch's own walker on a JVM that they build word by word: a thread's stack, a code
//! heap, methods.

mod call_site_cache;
mod chunks;
mod compiled;
mod interpreted;
mod jvm;
mod methods;
mod outside;
mod total;
mod vframe_array;
