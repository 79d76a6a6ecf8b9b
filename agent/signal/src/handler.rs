//! One signal, one sample: the SIGPROF handler.
//!
//! It counts the signal, finds the thread's slot, claims a lane, lets each walker write its account
//! there, has what failed walked again from repaired contexts, and publishes. Whatever it cannot do
//! it counts. It must never wait (but for a witness, see
//! [`crate::witness_rendezvous`]), allocate, lock, panic or change errno.

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::Ordering;

use vouch_sample::{Head, Reason};
use vouch_walk::context::registers;
use vouch_walk::guard;
use vouch_walk::kernel::{Errno, clock, own_tid};
use vouch_walk::recover::Recovery;
use vouch_walk::walker::{FRAME_WORDS, ResumePoint, StackInfo, Subject, Walker};

use crate::cause::Cause;
use crate::frame_owner::{Mounted, carried, cure, is_virtual, own_part};
use crate::handler_cost::SPENT;
use crate::otel_thread_context::PUBLISHED;
use crate::sample_layout::{Origin, RECOVERED, Sample};
use crate::sampler::{GATE, Sampler};
use crate::slots::Slot;
use crate::subject::subject;
use crate::thread_context::{Purpose, Trace};
use crate::unread_names::UNREAD;
use crate::vthread_contexts::VIRTUALS;
use crate::walk_request;
use crate::weight::{Weight, by_signals, pass_over, weight};
use crate::witness_rendezvous::{DEEPEST, Post};

/// A thread does not rest for what the drain takes for so many words of a sample: most stacks are
/// no longer.
const FREE_WORDS: usize = 2_048;

/// After so many walks that faulted in one recording there are no more: each was left halfway
/// through the JVM's own code.
pub const MOST_CRASHES: u64 = 1_000;

/// The handler itself, for `sigaction` with SA_SIGINFO.
///
/// # Safety
/// To be called by the kernel alone, as a signal handler; `context` is the interrupted thread's.
pub unsafe extern "C" fn on_sigprof(_signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    let _errno = Errno::save();
    walk_request::answer(own_tid, context);
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
    let cpu = clock(libc::CLOCK_THREAD_CPUTIME_ID);
    if !asks_for_sample(sampler, slot, cause, cpu) {
        return;
    }
    // Before what is due is taken: what finds no room stays due.
    let sample = begin(sampler, tid, cause);
    if let (None, Some(slot)) = (&sample, slot) {
        sampler.counters.crowded.fetch_add(1, Ordering::Relaxed);
        pass_over(sampler, slot, cause, cpu);
        return;
    }
    let Some(Weight { intervals: weight, why, earlier }) = weight(sampler, slot, cause, cpu) else { return };
    let number = sampler.counters.count(weight);
    let Some(mut sample) = sample else {
        sampler.counters.count_dropped(weight);
        return;
    };
    // SAFETY: the context is the kernel's, of this thread.
    let at = unsafe { registers(context) };
    let (walked, Mounted { id: carried, is_unread }) =
        walk(sampler, slot, &mut sample, number, (why, at.pc, context));
    let serial = slot.map_or(0, Slot::serial);
    let (context, trace) = slot.map_or((0, [0; 3]), |slot| purpose_of(slot, carried));
    // By the CPU clock: a handler may be preempted like anything else.
    let now = clock(libc::CLOCK_THREAD_CPUTIME_ID);
    let took = now.saturating_sub(cpu);
    if matches!(cause, Cause::Perf) {
        SPENT.took(took);
    }
    if let Some(slot) = slot {
        rest(sampler, slot, now, (took, sample.words()));
    }
    let took = u32::try_from(took).unwrap_or(u32::MAX);
    let asked = walked && sample.words() <= DEEPEST.saturating_mul(FRAME_WORDS);
    let witnessed = slot.filter(|_| asked && take_wish(sampler));
    let head = Head {
        time,
        cpu,
        tid,
        serial,
        weight,
        took,
        context,
        trace,
        carried,
        witnessed: witnessed.is_some(),
    };
    let Some(slot) = witnessed else {
        sample.publish(&head);
        publish_earlier(sampler, earlier, &head, at.pc);
        if is_unread && UNREAD.is_wanted(carried, time) {
            sampler.outlet.wake();
        }
        return;
    };
    slot.enter_witnessed();
    // Before it is published: then the agent wants the next one, and the place must be this
    // thread's or free.
    let round = sampler.stay.post(&Post { tid, serial, time, at });
    sample.publish(&head);
    publish_earlier(sampler, earlier, &head, at.pc);
    sampler.outlet.wake();
    if let Some(round) = round {
        // SAFETY: its slot has this thread's own JNIEnv, which only this thread takes away.
        unsafe { sampler.stay.stay(round, slot.env()) };
    }
    slot.leave_witnessed(clock(libc::CLOCK_THREAD_CPUTIME_ID));
}

/// The context and the trace that the thread works in: its own, or those of the virtual thread that
/// it carries; or the trace that is published for it.
fn purpose_of(slot: &Slot, carried: u64) -> (u32, Trace) {
    let purpose = slot.purpose().or_else(|| match carried {
        // SAFETY: its slot has the thread's own JNIEnv, or null.
        0 | Head::UNKNOWN => unsafe { VIRTUALS.purpose_by_owner(slot.env()) },
        id => VIRTUALS.purpose(id),
    });
    let (context, trace) = purpose.map_or((0, None), Purpose::read);
    // What the program itself says of its traces comes first, also that it is in none.
    (context, trace.or_else(|| PUBLISHED.read()).unwrap_or_default())
}

/// True for the one walk that the agent wants to witness.
fn take_wish(sampler: &Sampler) -> bool {
    let wish = &sampler.witness_wanted;
    wish.load(Ordering::Relaxed) && wish.swap(false, Ordering::AcqRel)
}

/// Counts the signal; false if it is none of ours, or comes while its thread rests.
fn asks_for_sample(sampler: &Sampler, slot: Option<&Slot>, cause: &Cause, cpu: u64) -> bool {
    if matches!(cause, Cause::Perf) {
        SPENT.signal();
    }
    // What was answered while it was paused is to be seen by whoever finds that it is so no more.
    let paused = sampler.paused.load(Ordering::Acquire);
    let Some(slot) = slot else { return !paused && cause.weight_of_a_stranger().is_some() };
    if by_signals(sampler, cause) {
        slot.count_signal();
    }
    match cause {
        _ if paused => false,
        Cause::Foreign => false,
        Cause::Own => true,
        _ if slot.resting(cpu) => {
            sampler.counters.rested.fetch_add(1, Ordering::Relaxed);
            pass_over(sampler, slot, cause, cpu);
            false
        }
        _ => true,
    }
}

/// A sample to be written. One that a thread owes at its end has no stack and cannot come later: it
/// claims no room for frames.
fn begin(sampler: &Sampler, tid: u32, cause: &Cause) -> Option<Sample<'static, 'static>> {
    let depth = if matches!(cause, Cause::Own) { 0 } else { sampler.depth };
    Some(Sample::new(sampler.outlet.claim(tid, sampler.longest(depth))?, depth))
}

/// Publishes the time before a sample that its stack does not cover, as a sample without a stack.
/// That sample is in no context: the thread may have worked for another one then.
fn publish_earlier(sampler: &Sampler, earlier: Option<(Reason, u32)>, head: &Head, pc: usize) {
    let Some((why, weight)) = earlier else { return };
    sampler.counters.count(weight);
    let Some(claim) = sampler.outlet.claim(head.tid, sampler.longest(0)) else {
        sampler.counters.count_dropped(weight);
        return;
    };
    let mut sample = Sample::new(claim, 0);
    sample.add(Err(why), None, Origin::FIRST, pc);
    let carried = if head.carried == 0 { 0 } else { Head::UNKNOWN };
    let Head { time, cpu, tid, serial, .. } = *head;
    sample.publish(&Head { time, cpu, tid, serial, weight, carried, ..Head::default() });
}

/// A walk that is long against the period would leave the program no time: the next signal would be
/// due when the handler returns. And what it has written has to be read: the drain would not be
/// done with many deep stacks before the next ones come. So the thread rests until both are a tenth
/// of its time. The next sample's stack does not stand for the rest: see [`Weight`].
fn rest(sampler: &Sampler, slot: &Slot, now: u64, (took, words): (u64, usize)) {
    const SHARE: u64 = 10;
    if !sampler.rests {
        // A signal that came meanwhile would find the thread where this one did.
        slot.rest(now.saturating_add(sampler.interval));
        return;
    }
    let period = sampler.interval.saturating_mul(slot.dues.stride().into());
    let read = words.saturating_sub(FREE_WORDS) as u64;
    let lasts =
        slot.usual.lasting(took.saturating_add(sampler.price.load(Ordering::Relaxed).saturating_mul(read)));
    if lasts.saturating_mul(SHARE) > period {
        slot.rest(now.saturating_add(lasts.saturating_mul(SHARE - 1)));
    }
}

/// Has the walkers write their stacks, unless there is a reason for none. Where the first of them
/// has no stack, or none has, the stack is recovered. True if there is one now; and the virtual
/// thread that is mounted.
fn walk(
    sampler: &Sampler,
    slot: Option<&Slot>,
    sample: &mut Sample<'_, '_>,
    number: u64,
    (why, pc, context): (Option<Reason>, usize, *mut c_void),
) -> (bool, Mounted) {
    if let Some(why) = why {
        sample.add(Err(why), None, Origin::FIRST, pc);
        return (false, Mounted::default());
    }
    let told = Cell::default();
    // SAFETY: the context is the kernel's.
    let subject = match unsafe { subject(slot, context, &told) } {
        Ok(subject) => subject,
        Err(why) => {
            sample.add(Err(why), None, Origin::FIRST, pc);
            return (false, Mounted::default());
        }
    };
    let mut carried = carried(sampler.own, &subject, sample);
    let compared = number.checked_rem(sampler.compare.into()) == Some(0);
    let (mut walked, mut curable) = (false, None);
    let mut origin = Origin { compared, ..Origin::FIRST };
    for walker in sampler.walkers {
        if walked && !compared {
            break;
        }
        told.set(StackInfo::default());
        // Each of those was left halfway.
        let stopped = walker.runs_jvm() && sampler.counters.crashed.load(Ordering::Relaxed) >= MOST_CRASHES;
        let answer = if stopped {
            Err(Reason::STOPPED)
        } else {
            // SAFETY: its JNIEnv is this thread's own, taken from its slot at ThreadEnd before it
            // dies; the claim has room for depth + 1 frames in each account; the context is the
            // kernel's.
            unsafe { guard::walk(*walker, &subject, sample.room()) }
        };
        let (answer, cut, torn) = own_part(sampler.parts, *walker, sample, (answer, told.get().cut), walked);
        let ResumePoint { pc: called, has_partial_leaf: before } = told.get().resume_point;
        let (begun, at) = if called == 0 || answer.is_err() { (None, pc) } else { (Some(before), called) };
        // A torn stack has a virtual thread's frames, too, though none of it is kept.
        if carried.id == 0 && (torn || is_virtual(sampler.own, sample, answer)) {
            carried.id = Head::UNKNOWN;
        }
        sample.add(answer, cut, Origin { begun, ..origin }, at);
        if answer == Err(Reason::CRASHED) {
            let counters = &sampler.counters;
            let crashed = if walker.runs_jvm() { &counters.crashed } else { &counters.astray };
            crashed.fetch_add(1, Ordering::Relaxed);
        }
        walked |= answer.is_ok();
        if !walked {
            curable =
                curable.or(cure((sampler.walkers.first().copied(), sampler.parts), *walker, answer, torn));
        }
        origin.walker = origin.walker.wrapping_add(1);
    }
    // Another walker's word is not taken for it alone: it may have ended too early, and says
    // nothing of that.
    let most = if walked { RECOVERED - 1 } else { RECOVERED };
    // SAFETY: as above; and there is room for as many accounts of all frames as may be recovered.
    let recovered = unsafe { recover(sampler, &subject, sample, curable, most) };
    (walked || recovered, carried)
}

/// Has the first walker whose reason can be cured walk from repaired contexts, for so many stacks;
/// true if that gave one.
///
/// # Safety
/// The subject must be the calling thread, as its signal's handler was given it; and the claim must
/// have room for so many more stacks.
unsafe fn recover(
    sampler: &Sampler,
    subject: &Subject<'_>,
    sample: &mut Sample<'_, '_>,
    curable: Option<&dyn Walker>,
    most: usize,
) -> bool {
    let Some(walker) = curable else { return false };
    let Some(mut attempts) = sampler.recovery.as_ref().and_then(Recovery::attempts) else { return false };
    let mut recovered = 0;
    while recovered < most {
        // SAFETY: as of its walk; the claim has room for so many more accounts.
        let Some(it) = (unsafe { attempts.next(walker, subject, sample.room()) }) else { break };
        let (answer, cut, torn) =
            own_part(sampler.parts, walker, sample, (it.answer, subject.info.get().cut), false);
        if torn {
            continue;
        }
        sample.add(answer, cut, Origin { strategy: Some(it.strategy), ..Origin::FIRST }, it.pc);
        recovered = recovered.wrapping_add(1);
    }
    recovered > 0
}
