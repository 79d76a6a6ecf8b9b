/**
 * Attaches a program's contexts, traces, task groups and markers to the samples of the profiler
 * Vouch.
 */
module dev.vouch {
    exports dev.vouch;
}
