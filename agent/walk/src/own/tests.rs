//! The walker on a JVM that a test wrote, word by word: a thread's stack, a heap of code, methods.

mod again;
mod chunks;
mod compiled;
mod interpreted;
mod jvm;
mod methods;
mod outside;
mod total;
mod unpacked;
