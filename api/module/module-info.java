/** Tells the profiler Vouch whose work a thread does. */
module dev.vouch {
    exports dev.vouch;
}
