//! Checks whether a native function has called another, by the machine code of the caller.
//!
//! A return address must be after a call instruction. If the call is direct, also through the
//! procedure linkage table, it must call the function that the next frame is in, or one that can
//! jump there. [`Plausible`] is the closed list of what is neither proven nor refuted.
//!
//! This module reads code through the trait [`NativeCode`], and must never trust what it reads: the
//! library may be gone. Only code of x86-64 is judged.

mod call;
mod code;
mod exits;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::VecDeque;
use std::ops::Range;

use foldhash::HashMap;

use call::{Call, calls_before};
use exits::Exits;

pub use code::NativeCode;
pub use verdict::{CallVerdict, Plausible, RefutedCall};

/// The most functions that one call may lead to by jumps alone.
const MAX_FOLLOWED: usize = 64;
/// The most stubs of the procedure linkage table that one jump goes through.
const MAX_STUBS: usize = 4;
/// How many functions have their exits kept.
const MAX_KNOWN: usize = 1 << 14;

/// Judges calls, and keeps where functions jump to.
#[derive(Debug, Default)]
pub struct CallJudge {
    exits: HashMap<usize, Exits>,
}

impl CallJudge {
    /// Forgets all functions, since other libraries may be at their addresses.
    pub fn forget(&mut self) {
        self.exits.clear();
    }

    /// Judges whether the call that returns to `return_address` has led to `callee`, an address in
    /// the function of the next frame.
    pub fn judge(&mut self, return_address: usize, callee: usize, code: &mut impl NativeCode) -> CallVerdict {
        if cfg!(target_arch = "x86_64") {
            self.judge_x86_64(return_address, callee, code)
        } else {
            CallVerdict::Unjudged
        }
    }

    fn judge_x86_64(
        &mut self,
        return_address: usize,
        callee: usize,
        code: &mut impl NativeCode,
    ) -> CallVerdict {
        let (Some(function), Some(calls)) = (code.function(callee), calls_before(return_address, code))
        else {
            return CallVerdict::Unjudged;
        };
        // Several readings of the bytes are possible only where no function begins before them.
        let best = calls.iter().map(|call| self.judge_call(*call, &function, code)).min_by_key(rank);
        match best.unwrap_or(CallVerdict::Refuted(RefutedCall::NoCall)) {
            CallVerdict::Refuted(_) if is_signal_return(return_address, callee, code) => {
                CallVerdict::Plausible(Plausible::SignalFrame)
            }
            verdict => verdict,
        }
    }

    fn judge_call(&mut self, call: Call, callee: &Range<usize>, code: &mut impl NativeCode) -> CallVerdict {
        match call {
            Call::Direct(target) => self.judge_target(target, callee, code),
            Call::Slot(slot) => {
                let target = code.word(slot);
                // A variable may have had another value.
                let verdict = target.map(|target| self.judge_target(target, callee, code));
                match verdict {
                    Some(verdict @ (CallVerdict::Proven | CallVerdict::Plausible(Plausible::TailCall))) => {
                        verdict
                    }
                    _ => CallVerdict::Plausible(Plausible::Indirect),
                }
            }
            Call::Indirect => CallVerdict::Plausible(Plausible::Indirect),
        }
    }

    /// Judges a call of an address: directly, or by jumps of the called functions.
    fn judge_target(
        &mut self,
        target: usize,
        callee: &Range<usize>,
        code: &mut impl NativeCode,
    ) -> CallVerdict {
        let (mut next, mut seen) = (VecDeque::from([target]), Vec::new());
        let mut unclear = None;
        let mut add = |why| unclear = Some(unclear.map_or(why, |known: Plausible| known.max(why)));
        while let Some(jump) = next.pop_front() {
            let (address, is_stub) = through_stubs(jump, code);
            if is_stub && code.is_loader(callee.start) {
                add(Plausible::LazyBinding);
            }
            let Some(function) = address.and_then(|address| code.function(address)) else {
                add(Plausible::UnknownTarget);
                continue;
            };
            if function.start == callee.start || callee.contains(&jump) {
                let is_first = seen.is_empty();
                return if is_first {
                    CallVerdict::Proven
                } else {
                    CallVerdict::Plausible(Plausible::TailCall)
                };
            }
            if seen.contains(&function.start) {
                continue;
            }
            if seen.len() == MAX_FOLLOWED {
                add(Plausible::UnknownCode);
                break;
            }
            seen.push(function.start);
            let exits = self.exits(function, code);
            next.extend(&exits.jumps);
            exits.unclear.into_iter().for_each(&mut add);
        }
        match unclear {
            Some(why) => CallVerdict::Plausible(why),
            None => CallVerdict::Refuted(RefutedCall::OtherFunction(target)),
        }
    }

    fn exits(&mut self, function: Range<usize>, code: &mut impl NativeCode) -> &Exits {
        if self.exits.len() >= MAX_KNOWN {
            self.exits.clear();
        }
        self.exits.entry(function.start).or_insert_with(|| Exits::read(function, code))
    }
}

/// Orders verdicts by what they say for a call.
fn rank(verdict: &CallVerdict) -> u8 {
    match verdict {
        CallVerdict::Proven => 0,
        CallVerdict::Plausible(_) => 1,
        CallVerdict::Unjudged => 2,
        CallVerdict::Refuted(_) => 3,
    }
}

/// Returns the function that a jump to an address reaches, and whether it goes through a stub of
/// the procedure linkage table.
fn through_stubs(mut address: usize, code: &impl NativeCode) -> (Option<usize>, bool) {
    for stubs in 0..MAX_STUBS {
        match call::stub_slot(address, code) {
            None => return (Some(address), stubs > 0),
            Some(slot) => match code.word(slot) {
                Some(target) => address = target,
                None => return (None, true),
            },
        }
    }
    (None, true)
}

/// True if a signal's handler returns to this address, or the callee is the code to which it does.
fn is_signal_return(return_address: usize, callee: usize, code: &impl NativeCode) -> bool {
    /// `mov $15, %rax; syscall`, which is `rt_sigreturn`. Debuggers look for these bytes, too.
    const SIGNAL_RETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
    // The callee's address is that before its return address.
    [return_address, callee.wrapping_add(1), callee].iter().any(|at| {
        let mut bytes = [0; SIGNAL_RETURN.len()];
        code.read(*at, &mut bytes) == bytes.len() && bytes == SIGNAL_RETURN
    })
}

/// Returns the instruction that ends at a return address, as text. It is empty if the code is not
/// readable.
pub fn instruction_before(return_address: usize, code: &mut impl NativeCode) -> String {
    call::text_before(return_address, code).unwrap_or_default()
}
