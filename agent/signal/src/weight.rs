//! How many intervals a sample weighs, and for how many of them it has a stack.
//!
//! A stack must never weigh time that passed while its thread's signals were skipped.

use core::sync::atomic::Ordering;

use vouch_sample::Reason;
use vouch_walk::kernel::clock;

use crate::cause::Cause;
use crate::pending_intervals::Dues;
use crate::sampler::{STRIDE, Sampler};
use crate::slots::Slot;

/// The request that sets a perf event's period: `_IOW('$', 4, u64)`.
const PERF_EVENT_IOC_PERIOD: libc::Ioctl = 0x4008_2404;

/// What a sample weighs, in intervals.
pub struct Weight {
    pub intervals: u32,
    /// Why this moment's stack is not the stack of those intervals.
    pub why: Option<Reason>,
    /// Intervals before the sample that its stack does not stand for, and why.
    pub earlier: Option<(Reason, u32)>,
}

impl Weight {
    /// Of this weight, so much passed before, and has no stack for this reason.
    fn split(weight: u32, why: Reason, earlier: u32) -> Option<Self> {
        match weight.saturating_sub(earlier) {
            _ if weight == 0 => None,
            0 => Some(Self { intervals: weight, why: Some(why), earlier: None }),
            rest => Some(Self {
                intervals: rest,
                why: None,
                earlier: Some((why, earlier)).filter(|_| earlier > 0),
            }),
        }
    }
}

/// What the sample weighs; `None` if it comes before anything is due.
///
/// It is what the thread ran since its last sample, by its CPU clock, whatever the signal says: one
/// that comes while another is pending is lost, as when the kernel works for the thread for longer
/// than the interval; and a perf event's timer also runs while the core serves others' interrupts,
/// which the clock leaves out. ([`Dues::fired`] regards both.)
pub fn weight(sampler: &Sampler, slot: Option<&Slot>, cause: &Cause, cpu: u64) -> Option<Weight> {
    let Some(slot) = slot else {
        return Weight::split(cause.weight_of_a_stranger()?, Reason::PASSED_OVER, 0);
    };
    if matches!(cause, Cause::Own) {
        // The agent made the thread signal itself, and has answered this weight. Its time is over:
        // the stack of this moment would be a false one.
        let owed = slot.take_owed();
        return Weight::split(owed, Reason::THREAD_ENDED, owed);
    }
    // Before the stride changes.
    let (passed_over, stride) = (slot.dues.take_passed_over(), slot.dues.stride());
    let wanted = STRIDE.load(Ordering::Relaxed);
    let weight = if let Cause::Seen { weight: weight @ 1.. } = cause {
        slot.dues.seen(cpu, sampler.interval, *weight)
    } else if !by_signals(sampler, cause) {
        // Before the stride changes all that is due has to be answered.
        let stays = wanted <= slot.dues.stride();
        let is_regular = matches!(cause, Cause::Perf) && slot.beginning().is_none() && stays;
        let weigh = if is_regular { Dues::fired } else { Dues::due };
        weigh(&slot.dues, cpu, sampler.interval)
    } else if slot.beginning().is_none() {
        slot.take_signals()
    } else {
        // Until the regular period begins no signal stands for a stride, and each answers two due
        // times at most.
        slot.take_signals();
        // (No `clamp`: that can panic, and only the optimiser knew that here it does not.)
        let stride = slot.dues.stride();
        slot.dues.due(cpu, sampler.interval).min(stride.saturating_mul(2)).max(stride)
    };
    slot.dues.answer(weight);
    if matches!(cause, Cause::Perf) {
        keep_stride(slot, cpu, sampler.interval, wanted);
    }
    let own = if let Cause::Seen { weight: own @ 1.. } = cause { *own } else { stride };
    Weight::split(weight, Reason::PASSED_OVER, passed_over.min(weight.saturating_sub(own)))
}

/// True if what the signals say is the weight: see `user_only`.
pub fn by_signals(sampler: &Sampler, cause: &Cause) -> bool {
    sampler.user_only && matches!(cause, Cause::Perf)
}

/// Notes what is due at a signal that is skipped: the next sample's stack does not stand for it.
pub fn pass_over(sampler: &Sampler, slot: &Slot, cause: &Cause, cpu: u64) {
    let due = if by_signals(sampler, cause) { slot.signals() } else { slot.dues.due(cpu, sampler.interval) };
    slot.dues.pass_over(due);
}

/// Sets a perf event's period. It begins with another one than the regular period, see
/// [`crate::phase`]; it may become longer; and it changes now and then, see [`crate::jitter`].
fn keep_stride(slot: &Slot, cpu: u64, interval: u64, stride: u32) {
    let longer = stride > slot.dues.stride();
    if longer {
        slot.dues.lengthen(cpu, interval, stride);
    }
    if let Some(descriptor) = slot.beginning().or_else(|| slot.event().filter(|_| longer)) {
        set_period(descriptor, slot.next_period(cpu, interval));
    } else if let Some(descriptor) = slot.event()
        && let Some(period) = slot.dues.next_period(cpu, interval)
    {
        if set_period(descriptor, period) {
            slot.dues.begin_period(clock(libc::CLOCK_THREAD_CPUTIME_ID));
        } else {
            slot.dues.keep_regular_period();
        }
    }
}

fn set_period(descriptor: i32, period: u64) -> bool {
    // SAFETY: the request reads one u64. A descriptor that was closed meanwhile is refused, as is
    // what the program has opened in its place, unless that is a perf event, too: one of ours has
    // its weight by the clock at any period.
    unsafe { libc::ioctl(descriptor, PERF_EVENT_IOC_PERIOD, &raw const period) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_stands_for_what_was_not_passed_over() {
        let split = |weight, earlier| {
            Weight::split(weight, Reason::PASSED_OVER, earlier).map(|it| (it.intervals, it.why, it.earlier))
        };
        assert_eq!(split(0, 0), None);
        assert_eq!(split(3, 0), Some((3, None, None)));
        assert_eq!(split(7, 6), Some((1, None, Some((Reason::PASSED_OVER, 6)))));
        assert_eq!(split(7, 7), Some((7, Some(Reason::PASSED_OVER), None)), "one sample without a stack");
    }
}
