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

use call::{Call, Calls, calls_before};
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
        let verdict = match calls {
            // Several readings of the bytes are possible only where no function begins before them.
            Calls::Known(calls) => {
                calls.iter().map(|call| self.judge_call(*call, &function, code)).min_by_key(rank)
            }
            Calls::Hidden => Some(CallVerdict::Plausible(Plausible::UnknownCode)),
            Calls::None => None,
        };
        match verdict.unwrap_or(CallVerdict::Refuted(RefutedCall::NoCall)) {
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
            let way = through_stubs(jump, callee, code);
            if way.has_stub && code.is_loader(callee.start) {
                add(Plausible::LazyBinding);
            }
            if way.has_variable {
                add(Plausible::IndirectTailCall);
            }
            let Some(function) = way.end.and_then(|address| code.function(address)) else {
                add(Plausible::UnknownTarget);
                continue;
            };
            if function.start == callee.start {
                let is_called = seen.is_empty() && !way.has_variable;
                return if is_called {
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

/// Where a jump to an address leads.
#[derive(Default)]
struct Way {
    /// The address after all stubs, or `None` if that is not known.
    end: Option<usize>,
    /// True if it goes through a stub of the procedure linkage table.
    has_stub: bool,
    /// True if it goes through another function that jumps by a variable alone. The variable may
    /// have had another value.
    has_variable: bool,
}

/// Follows a jump through stubs, to the callee if it passes it.
fn through_stubs(mut address: usize, callee: &Range<usize>, code: &mut impl NativeCode) -> Way {
    let mut way = Way::default();
    for _ in 0..MAX_STUBS {
        let slot = if callee.contains(&address) { None } else { call::stub_slot(address, code) };
        let Some(slot) = slot else { return Way { end: Some(address), ..way } };
        if code.is_in_linkage_table(address) {
            way.has_stub = true;
        } else {
            way.has_variable = true;
        }
        match code.word(slot) {
            Some(target) => address = target,
            None => return way,
        }
    }
    way
}

/// True if a signal's handler returns to this address, or the callee is the code to which it does.
fn is_signal_return(return_address: usize, callee: usize, code: &impl NativeCode) -> bool {
    /// `mov $15, %rax; syscall`, which is `rt_sigreturn`. Debuggers look for these bytes, too.
    const SIGNAL_RETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
    /// Where the second instruction begins.
    const SECOND: usize = 7;
    // The callee's address is that before its return address, or where the thread is.
    [return_address, callee.wrapping_add(1), callee, callee.wrapping_sub(SECOND)].iter().any(|at| {
        let mut bytes = [0; SIGNAL_RETURN.len()];
        code.read(*at, &mut bytes) == bytes.len() && bytes == SIGNAL_RETURN
    })
}

/// Returns the instruction that ends at a return address, as text. It is empty if the code is not
/// readable.
pub fn instruction_before(return_address: usize, code: &mut impl NativeCode) -> String {
    call::text_before(return_address, code).unwrap_or_default()
}
