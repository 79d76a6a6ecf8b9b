//! The handler of SIGPROF, which takes one sample for each signal.
//!
//! The handler counts the signal, finds the thread's slot and claims a lane. Each walker writes its
//! candidate stack there. If they fail, a walker walks again from repaired contexts. The walker of
//! native frames follows, and the sample is then published. Failures are counted. The handler must
//! never wait (except in
//! [`crate::witness_rendezvous`]), allocate, lock, panic or change errno.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::Ordering;

use vouch_sample::{Cut, Head, Reason};
use vouch_unwind::context::registers;
use vouch_unwind::guard;
use vouch_unwind::kernel::{Errno, clock, own_cpu, own_tid};
use vouch_unwind::recover::Recovery;
use vouch_unwind::walker::{FRAME_WORDS, ResumePoint, Room, StackInfo, Subject, Walker};

use crate::cause::Cause;
use crate::frame_owner::{
    MountedVthread, fallback_walker, is_virtual, mounted_vthread, strip_carrier_frames,
};
use crate::handler_cost::HANDLER_COST;
use crate::kernel_frames::Found;
use crate::otel_thread_context::OTEL_THREAD_CONTEXT;
use crate::sample_layout::{MAX_RECOVERED, Origin, Sample};
use crate::sampler::{GATE, Sampler};
use crate::slots::Slot;
use crate::subject::{is_on_small_stack, subject};
use crate::thread_context::{ThreadContext, Trace};
use crate::unread_names::UNREAD_NAMES;
use crate::vthread_contexts::VTHREAD_CONTEXTS;
use crate::walk_request;
use crate::weight::{Weight, skip_signal, weighs_by_signals, weight};
use crate::witness_rendezvous::{MAX_WITNESSED_DEPTH, PostedThread};

/// The number of words of a sample up to which the drain's time to read it is not counted as a
/// cost. Most samples are no longer than this.
const FREE_WORDS: usize = 2_048;

/// The number of faults in the JVM's code after which a recording stops to call that code for
/// walks. Each fault abandoned that code halfway.
pub const MAX_CRASHES: u64 = 1_000;

/// Handles SIGPROF. It must be installed by `sigaction` with SA_SIGINFO.
///
/// # Safety
/// Only the kernel may call this, as a signal handler, with the interrupted thread's `context`.
pub unsafe extern "C" fn on_sigprof(_signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let _errno = Errno::save();
    walk_request::serve(own_tid, context);
    let Some(entered) = GATE.enter() else { return };
    // SAFETY: the agent keeps a published sampler alive until the gate is closed and empty.
    let sampler = unsafe { &*entered.value() };
    // SAFETY: the kernel passes a siginfo to a handler that was installed with SA_SIGINFO.
    let cause = unsafe { Cause::read(info) };
    take_sample(sampler, &cause, context);
}

fn take_sample(sampler: &Sampler, cause: &Cause, context: *mut c_void) {
    let time = clock(libc::CLOCK_MONOTONIC);
    let tid = own_tid();
    let slot = sampler.slots.find(tid);
    if slot.is_some_and(Slot::excluded) {
        return;
    }
    let cpu = own_cpu();
    if !wants_sample(sampler, slot, cause, cpu) {
        return;
    }
    // The lane is claimed before the pending intervals are taken. If no lane has space, they stay
    // pending.
    let sample = begin(sampler, tid, cause);
    if let (None, Some(slot)) = (&sample, slot) {
        sampler.counters.skipped_no_lane.fetch_add(1, Ordering::Relaxed);
        skip_signal(sampler, slot, cause, cpu);
        return;
    }
    let Some(Weight { intervals: weight, no_stack, earlier }) = weight(sampler, slot, cause, cpu) else {
        return;
    };
    let number = sampler.counters.count(weight);
    let Some(mut sample) = sample else {
        sampler.counters.count_dropped(weight);
        return;
    };
    // SAFETY: the kernel passed this context to the handler of this thread.
    let at = unsafe { registers(context) };
    let (walked, MountedVthread { id: mounted, is_unread }) =
        walk(sampler, slot, &mut sample, number, (no_stack, at.pc, context));
    let java_words = sample.words();
    // SAFETY: the kernel passed this context to the handler of this thread.
    unsafe { walk_native(sampler, slot.filter(|_| no_stack.is_none()), cause, &mut sample, context) };
    let serial = slot.map_or(0, Slot::serial);
    let (context, trace) = slot.map_or((0, [0; 3]), |slot| thread_context_of(slot, mounted));
    // The CPU clock is used because a handler may be preempted.
    let now = own_cpu();
    let handler_ns = now.saturating_sub(cpu);
    if matches!(cause, Cause::Perf) {
        HANDLER_COST.add_nanos(handler_ns);
    }
    if let Some(slot) = slot {
        rest(sampler, slot, now, (handler_ns, sample.words()));
    }
    let handler_ns = u32::try_from(handler_ns).unwrap_or(u32::MAX);
    let is_shallow = walked && java_words <= MAX_WITNESSED_DEPTH.saturating_mul(FRAME_WORDS);
    let witnessed = slot.filter(|_| is_shallow && take_witness_request(sampler));
    let head = Head {
        time,
        cpu,
        tid,
        serial,
        weight,
        handler_ns,
        context,
        trace,
        mounted_vthread: mounted,
        wants_witness: witnessed.is_some(),
    };
    let Some(slot) = witnessed else {
        sample.publish(&head);
        publish_earlier(sampler, earlier, &head, at.pc);
        if is_unread && UNREAD_NAMES.is_wanted(mounted, time) {
            sampler.outlet.wake();
        }
        return;
    };
    slot.begin_witnessed_handler();
    // The thread is posted before the sample is published. Publishing makes the agent want the next
    // witness, and the rendezvous must then have this thread or be free.
    let round = sampler.rendezvous.post(&PostedThread { tid, serial, time, at });
    sample.publish(&head);
    publish_earlier(sampler, earlier, &head, at.pc);
    sampler.outlet.wake();
    if let Some(round) = round {
        // SAFETY: the slot has this thread's own JNIEnv, which only this thread removes.
        unsafe { sampler.rendezvous.wait(round, slot.env()) };
    }
    slot.end_witnessed_handler(own_cpu());
}

/// Returns the context and the trace of the thread, or of the virtual thread that it has mounted. A
/// trace that a tracer has published is used only if the program has set none.
fn thread_context_of(slot: &Slot, mounted: u64) -> (u32, Trace) {
    let thread_context = slot.thread_context().or_else(|| match mounted {
        // SAFETY: the slot has the thread's own JNIEnv, or null.
        0 | Head::UNKNOWN_VTHREAD => unsafe { VTHREAD_CONTEXTS.get_current(slot.env()) },
        id => VTHREAD_CONTEXTS.get(id),
    });
    let (context, trace) = thread_context.map_or((0, None), ThreadContext::read);
    // The program's own call decides about the trace, even if it reports no trace.
    (context, trace.or_else(|| OTEL_THREAD_CONTEXT.read()).unwrap_or_default())
}

/// True for a single walk after each request of the agent: the agent then compares that walk with
/// GetStackTrace.
fn take_witness_request(sampler: &Sampler) -> bool {
    let wanted = &sampler.witness_wanted;
    wanted.load(Ordering::Relaxed) && wanted.swap(false, Ordering::AcqRel)
}

/// Counts the signal, and returns whether to take a sample. The result is false if another program
/// sent the signal, or if the thread rests.
fn wants_sample(sampler: &Sampler, slot: Option<&Slot>, cause: &Cause, cpu: u64) -> bool {
    if matches!(cause, Cause::Perf) {
        HANDLER_COST.count_signal();
    }
    // The acquire pairs with the end of a pause: the intervals that were counted during the pause
    // must be visible then.
    let paused = sampler.paused.load(Ordering::Acquire);
    let Some(slot) = slot else { return !paused && cause.weight_without_slot().is_some() };
    if weighs_by_signals(sampler, cause) {
        slot.count_signal();
    }
    match cause {
        _ if paused => false,
        Cause::Foreign => false,
        Cause::ThreadEnd => true,
        _ if slot.resting(cpu) => {
            sampler.counters.skipped_resting.fetch_add(1, Ordering::Relaxed);
            skip_signal(sampler, slot, cause, cpu);
            false
        }
        _ => true,
    }
}

/// Claims a lane for the sample. The sample at a thread's end has no stack, so it needs no space
/// for frames.
fn begin(sampler: &Sampler, tid: u32, cause: &Cause) -> Option<Sample<'static, 'static>> {
    let depth = if matches!(cause, Cause::ThreadEnd) { 0 } else { sampler.depth };
    Some(Sample::new(sampler.outlet.claim(tid, sampler.max_words(depth))?, depth))
}

/// Publishes a sample without a stack for time before the present sample that the present stack
/// does not cover. It has no context, because the thread may have had another one then.
fn publish_earlier(sampler: &Sampler, earlier: Option<(Reason, u32)>, head: &Head, pc: usize) {
    let Some((no_stack, weight)) = earlier else { return };
    sampler.counters.count(weight);
    let Some(claim) = sampler.outlet.claim(head.tid, sampler.max_words(0)) else {
        sampler.counters.count_dropped(weight);
        return;
    };
    let mut sample = Sample::new(claim, 0);
    sample.add_candidate(Err(no_stack), None, Origin::FIRST, pc);
    let mounted_vthread = if head.mounted_vthread == 0 { 0 } else { Head::UNKNOWN_VTHREAD };
    let Head { time, cpu, tid, serial, .. } = *head;
    sample.publish(&Head { time, cpu, tid, serial, weight, mounted_vthread, ..Head::default() });
}

/// Makes the thread take no samples for some time, after a slow walk or a long sample.
///
/// If a walk takes most of the period, the next signal is due when the handler returns, and the
/// program makes no progress. The drain must also have time to read deep stacks before the next
/// ones come. So the thread rests until both are a tenth of its time. The next sample's stack does
/// not cover the rest, see [`Weight`].
fn rest(sampler: &Sampler, slot: &Slot, now: u64, (took, words): (u64, usize)) {
    const SHARE: u64 = 10;
    if !sampler.rests_after_slow_walks {
        // An earlier signal would find the thread at the same instruction.
        slot.rest(now.saturating_add(sampler.interval));
        return;
    }
    let period = sampler.interval.saturating_mul(slot.pending.stride().into());
    let read = words.saturating_sub(FREE_WORDS) as u64;
    let cost = slot
        .walk_cost
        .update(took.saturating_add(sampler.drain_ns_per_word.load(Ordering::Relaxed).saturating_mul(read)));
    if cost.saturating_mul(SHARE) > period {
        slot.rest(now.saturating_add(cost.saturating_mul(SHARE - 1)));
    }
}

/// Calls the walkers, unless there is a reason for no stack, and recovers a stack if the first
/// walker fails. The result is whether there is a stack, and the mounted virtual thread.
fn walk(
    sampler: &Sampler,
    slot: Option<&Slot>,
    sample: &mut Sample<'_, '_>,
    number: u64,
    (no_stack, pc, context): (Option<Reason>, usize, *mut c_void),
) -> (bool, MountedVthread) {
    if let Some(no_stack) = no_stack {
        sample.add_candidate(Err(no_stack), None, Origin::FIRST, pc);
        return (false, MountedVthread::default());
    }
    let info = Cell::default();
    // SAFETY: the kernel passed this context to this handler.
    let subject = match unsafe { subject(slot, context, &info) } {
        Ok(subject) => subject,
        Err(no_stack) => {
            sample.add_candidate(Err(no_stack), None, Origin::FIRST, pc);
            return (false, MountedVthread::default());
        }
    };
    let mut mounted = mounted_vthread(sampler.vthread_reader, &subject, sample);
    let compared = number.checked_rem(sampler.compare_every.into()) == Some(0);
    let (mut walked, mut fallback) = (false, None);
    let mut origin = Origin { compared, ..Origin::FIRST };
    for walker in sampler.walkers {
        if walked && !compared {
            break;
        }
        info.set(StackInfo::default());
        // Each crash abandoned the JVM's code halfway, so their number is limited.
        let stopped = walker.runs_jvm() && sampler.counters.jvm_faults.load(Ordering::Relaxed) >= MAX_CRASHES;
        let answer = if stopped {
            Err(Reason::STOPPED)
        } else {
            // SAFETY: the JNIEnv is this thread's own, and is removed from the slot at ThreadEnd
            // before it dies. The claim has space for depth + 1 frames in each candidate. The
            // context is the kernel's.
            unsafe { guard::walk(*walker, &subject, sample.buffer()) }
        };
        let (answer, cut, torn) =
            strip_carrier_frames(sampler.carrier_filter, *walker, sample, (answer, info.get().cut), walked);
        let ResumePoint { pc: called, has_partial_leaf } = info.get().resume_point;
        let (resumed, at) =
            if called == 0 || answer.is_err() { (None, pc) } else { (Some(has_partial_leaf), called) };
        // A torn stack also has frames of a virtual thread, though none of it is kept.
        if mounted.id == 0 && (torn || is_virtual(sampler.vthread_reader, sample, answer)) {
            mounted.id = Head::UNKNOWN_VTHREAD;
        }
        sample.add_candidate(answer, cut, Origin { resumed, ..origin }, at);
        if answer == Err(Reason::CRASHED) {
            let counters = &sampler.counters;
            let faults = if walker.runs_jvm() { &counters.jvm_faults } else { &counters.own_faults };
            faults.fetch_add(1, Ordering::Relaxed);
        }
        walked |= answer.is_ok();
        if !walked {
            fallback = fallback.or(fallback_walker(
                (sampler.walkers.first().copied(), sampler.carrier_filter),
                *walker,
                answer,
                torn,
            ));
        }
        origin.walker = origin.walker.wrapping_add(1);
    }
    // The stack of another walker is no proof, because it may have ended too early. So recovery
    // runs even if there is one.
    let limit = if walked { MAX_RECOVERED - 1 } else { MAX_RECOVERED };
    // SAFETY: the subject is this thread, as for the walks above. The claim has space for as many
    // candidates with all frames as may be recovered.
    let recovered = unsafe { recover(sampler, &subject, sample, fallback, limit) };
    (walked || recovered, mounted)
}

/// Adds the frames of the kernel and the native frames of the interrupted thread. A thread in Java
/// code has no native ones.
///
/// # Safety
/// The context must be the one that the kernel passed to the calling handler.
unsafe fn walk_native(
    sampler: &Sampler,
    slot: Option<&Slot>,
    cause: &Cause,
    sample: &mut Sample<'_, '_>,
    context: *mut c_void,
) {
    let (Some(native), Some(slot)) = (sampler.native, slot) else { return };
    // SAFETY: the caller promised that this is the handler's own context.
    if unsafe { is_on_small_stack(context) } {
        return;
    }
    let Some(room) = sample.native_buffer() else { return };
    // SAFETY: the handler of this thread is inside the gate, and the buffer has space for as many
    // frames as it says.
    let kernel = unsafe { read_kernel_frames(sampler, slot, cause, context, room) };
    let info = Cell::default();
    let subject = Subject::interrupted(null_mut(), context, &info, slot.walking());
    // SAFETY: the subject is this thread, with its slot and the context of its handler. The buffer
    // has space for as many frames as it says.
    match unsafe { native.walk(&subject, room.after(kernel)) } {
        Ok(frames) => {
            let cut = info.get().cut.map(|cut| Cut { at: cut.at.saturating_add(kernel), ..cut });
            sample.add_native(frames.saturating_add(kernel), cut);
        }
        Err(_) if kernel == 0 => {}
        // A page fault of Java code.
        Err(Reason::NO_JAVA_FRAME) => sample.add_native(kernel, None),
        Err(_) => sample.add_native(kernel, Some(Cut { at: kernel, missing: 0 })),
    }
    if native.take_wants_libraries() {
        sampler.outlet.wake();
    }
}

/// Writes the kernel's frames of a thread that was interrupted inside the kernel. Returns their
/// number.
///
/// # Safety
/// The context must be the one that the kernel passed to the calling handler, which is inside the
/// gate. The buffer must be as large as `room` says.
unsafe fn read_kernel_frames(
    sampler: &Sampler,
    slot: &Slot,
    cause: &Cause,
    context: *mut c_void,
    room: Room,
) -> u32 {
    if !matches!(cause, Cause::Perf) {
        return 0;
    }
    // SAFETY: the caller promised the context, the gate and the buffer.
    match unsafe { slot.kernel_frames.read(registers(context).pc, room) } {
        Found::Nothing => 0,
        Found::Frames(frames) => {
            sampler.counters.kernel_stacks.fetch_add(1, Ordering::Relaxed);
            frames
        }
        Found::Apart => {
            sampler.counters.kernel_stacks_apart.fetch_add(1, Ordering::Relaxed);
            0
        }
    }
}

/// Recovers up to `limit` stacks: the walker walks again from repaired contexts. True if it found a
/// stack.
///
/// # Safety
/// The subject must be the calling thread, with the context of its signal's handler. The claim must
/// have space for `limit` more stacks.
unsafe fn recover(
    sampler: &Sampler,
    subject: &Subject<'_>,
    sample: &mut Sample<'_, '_>,
    fallback: Option<&dyn Walker>,
    limit: usize,
) -> bool {
    let Some(walker) = fallback else { return false };
    let Some(mut attempts) = sampler.recovery.as_ref().and_then(Recovery::attempts) else { return false };
    let mut recovered = 0;
    while recovered < limit {
        // SAFETY: the caller promised the subject, and space for `limit` candidates in the claim.
        let Some(it) = (unsafe { attempts.next(walker, subject, sample.buffer()) }) else { break };
        let (answer, cut, torn) = strip_carrier_frames(
            sampler.carrier_filter,
            walker,
            sample,
            (it.answer, subject.info.get().cut),
            false,
        );
        if torn {
            continue;
        }
        sample.add_candidate(answer, cut, Origin { strategy: Some(it.strategy), ..Origin::FIRST }, it.pc);
        recovered = recovered.wrapping_add(1);
    }
    recovered > 0
}
