//! Computes how many intervals a sample weighs, and for how many of them it has a stack.
//!
//! A stack must never weigh time that passed while its thread's signals were skipped.

use core::sync::atomic::Ordering;

use vouch_sample::Reason;
use vouch_unwind::kernel::own_cpu;

use crate::cause::Cause;
use crate::pending_intervals::PendingIntervals;
use crate::sampler::{STRIDE, Sampler};
use crate::slots::Slot;

/// The request that sets a perf event's period: `_IOW('$', 4, u64)`.
const PERF_EVENT_IOC_PERIOD: libc::Ioctl = 0x4008_2404;

/// The weight of a sample in intervals, and how much of it the sample's stack covers.
pub struct Weight {
    pub intervals: u32,
    /// The reason why the current stack is not the stack of the sample's intervals, or `None` if it
    /// is.
    pub no_stack: Option<Reason>,
    /// The number of intervals before the sample that its stack does not cover, and the reason.
    pub earlier: Option<(Reason, u32)>,
}

impl Weight {
    /// Splits off the `earlier` intervals of a weight. They have no stack, for the reason
    /// `no_stack`.
    fn split(weight: u32, no_stack: Reason, earlier: u32) -> Option<Self> {
        match weight.saturating_sub(earlier) {
            _ if weight == 0 => None,
            0 => Some(Self { intervals: weight, no_stack: Some(no_stack), earlier: None }),
            rest => Some(Self {
                intervals: rest,
                no_stack: None,
                earlier: Some((no_stack, earlier)).filter(|_| earlier > 0),
            }),
        }
    }
}

/// Returns the weight of the sample, or `None` if nothing is due yet.
///
/// The weight is the thread's CPU time since its last sample. The number of signals would be wrong:
/// a signal that comes while another is pending is lost, for example during long work of the
/// kernel. And a perf event's timer also runs while the core serves other interrupts, which the
/// clock does not count. ([`PendingIntervals::perf_weight`] allows for both.)
pub fn weight(sampler: &Sampler, slot: Option<&Slot>, cause: &Cause, cpu: u64) -> Option<Weight> {
    let Some(slot) = slot else {
        return Weight::split(cause.weight_without_slot()?, Reason::PASSED_OVER, 0);
    };
    if matches!(cause, Cause::ThreadEnd) {
        // The agent made the thread signal itself, and has counted this weight. Its time is over,
        // so the current stack would be false.
        let end_weight = slot.take_end_weight();
        return Weight::split(end_weight, Reason::THREAD_ENDED, end_weight);
    }
    // Both are read before the stride changes.
    let (skipped, stride) = (slot.pending.take_skipped(), slot.pending.stride());
    let wanted = STRIDE.load(Ordering::Relaxed);
    let weight = if let Cause::AgentSignal { weight: weight @ 1.. } = cause {
        slot.pending.seen_weight(cpu, sampler.interval, *weight)
    } else if !weighs_by_signals(sampler, cause) {
        // A change of the stride needs all pending intervals to be counted before.
        let stays = wanted <= slot.pending.stride();
        let is_regular = matches!(cause, Cause::Perf) && slot.beginning().is_none() && stays;
        let weigh = if is_regular { PendingIntervals::perf_weight } else { PendingIntervals::due };
        weigh(&slot.pending, cpu, sampler.interval)
    } else if slot.beginning().is_none() {
        slot.take_signals()
    } else {
        // Before the regular period a signal does not cover a stride, but at most two due times.
        slot.take_signals();
        // `clamp` may panic, and only the optimiser could prove that it does not here.
        let stride = slot.pending.stride();
        slot.pending.due(cpu, sampler.interval).min(stride.saturating_mul(2)).max(stride)
    };
    slot.pending.count(weight);
    if matches!(cause, Cause::Perf) {
        keep_stride(slot, cpu, sampler.interval, wanted);
    }
    let own_intervals = if let Cause::AgentSignal { weight: own @ 1.. } = cause { *own } else { stride };
    Weight::split(weight, Reason::PASSED_OVER, skipped.min(weight.saturating_sub(own_intervals)))
}

/// True if the weight is the number of signals, as [`Sampler::user_only`] explains.
pub fn weighs_by_signals(sampler: &Sampler, cause: &Cause) -> bool {
    sampler.user_only && matches!(cause, Cause::Perf)
}

/// Records the intervals that are pending at a skipped signal. The next sample's stack does not
/// cover them.
pub fn skip_signal(sampler: &Sampler, slot: &Slot, cause: &Cause, cpu: u64) {
    let due = if weighs_by_signals(sampler, cause) {
        slot.signals()
    } else {
        slot.pending.due(cpu, sampler.interval)
    };
    slot.pending.skip(due);
}

/// Sets the next period of a perf event. The first period differs from the regular one (see
/// [`crate::phase`]), the stride may grow, and the period varies (see [`crate::jitter`]).
fn keep_stride(slot: &Slot, cpu: u64, interval: u64, stride: u32) {
    let longer = stride > slot.pending.stride();
    if longer {
        slot.pending.lengthen_stride(cpu, interval, stride);
    }
    if let Some(descriptor) = slot.beginning().or_else(|| slot.event().filter(|_| longer)) {
        set_period(descriptor, slot.next_period(cpu, interval));
    } else if let Some(descriptor) = slot.event()
        && let Some(period) = slot.pending.next_period(cpu, interval)
    {
        if set_period(descriptor, period) {
            slot.pending.begin_period(own_cpu());
        } else {
            slot.pending.keep_regular_period();
        }
    }
}

fn set_period(descriptor: i32, period: u64) -> bool {
    // SAFETY: the request reads one u64. If the descriptor was closed meanwhile, the call fails. It
    // also fails if the program has reused the number, unless for another perf event. An event of
    // Vouch keeps right weights at any period.
    unsafe { libc::ioctl(descriptor, PERF_EVENT_IOC_PERIOD, &raw const period) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_does_not_stand_for_skipped_intervals() {
        let split = |weight, earlier| {
            Weight::split(weight, Reason::PASSED_OVER, earlier)
                .map(|it| (it.intervals, it.no_stack, it.earlier))
        };
        assert_eq!(split(0, 0), None);
        assert_eq!(split(3, 0), Some((3, None, None)));
        assert_eq!(split(7, 6), Some((1, None, Some((Reason::PASSED_OVER, 6)))));
        assert_eq!(split(7, 7), Some((7, Some(Reason::PASSED_OVER), None)), "one sample without a stack");
    }
}
