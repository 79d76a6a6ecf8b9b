//! The walker on a JVM that a test wrote, word by word: a thread's stack, a heap of code, methods.

mod call_site_cache;
mod chunks;
mod compiled;
mod interpreted;
mod jvm;
mod methods;
mod outside;
mod total;
mod vframe_array;
