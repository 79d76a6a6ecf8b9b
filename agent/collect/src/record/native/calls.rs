//! Judges the calls between native frames, each different one once, and counts the verdicts.

use std::collections::BTreeMap;
use std::time::Duration;

use foldhash::HashMap;
use vouch_report::{NativeCallReport, RefutedNativeCall};
use vouch_unwind::kernel::{own_cpu, peek_bytes};
use vouch_unwind::native::symbols::Symbols;
use vouch_verify::native_calls::{CallJudge, CallVerdict, NativeCode, RefutedCall, instruction_before};

/// How many calls have their verdict kept. A program makes far fewer again and again.
const MAX_KNOWN: usize = 1 << 16;
/// How many refuted calls are described.
const MAX_REFUTED: usize = 1_000;

/// The calls of a recording.
#[derive(Debug, Default)]
pub struct NativeCalls {
    judge: CallJudge,
    /// The verdict and the count of each call in the present libraries, by its return address and
    /// the beginning of the called function.
    known: HashMap<(usize, usize), (CallVerdict, u64)>,
    /// The counts of calls that are not in `known` any more.
    before: NativeCallReport,
    refuted: HashMap<(usize, usize), RefutedNativeCall>,
    took_ns: u64,
}

/// The code of the libraries that are loaded.
struct LoadedCode<'s>(&'s mut Symbols);

impl NativeCode for LoadedCode<'_> {
    fn read(&self, address: usize, bytes: &mut [u8]) -> usize {
        peek_bytes(address, bytes)
    }

    fn function(&mut self, address: usize) -> Option<std::ops::Range<usize>> {
        self.0.function(address)
    }

    fn is_in_linkage_table(&mut self, address: usize) -> bool {
        self.0.is_in_linkage_table(address)
    }

    fn is_loader(&self, address: usize) -> bool {
        // Such as `ld-linux-x86-64.so.2` or `ld-musl-x86_64.so.1`.
        self.0.offset(address).is_some_and(|(name, _)| name.starts_with("ld-"))
    }
}

impl NativeCalls {
    /// Forgets all verdicts, since other libraries may be at their addresses. The counts stay.
    pub fn forget(&mut self) {
        self.before = self.counted();
        self.known.clear();
        self.refuted.clear();
        self.judge.forget();
    }

    /// Judges and counts a call. An address or a function that is not known is `None`.
    pub fn judge(
        &mut self,
        return_address: Option<usize>,
        (begin, callee): (Option<usize>, usize),
        symbols: &mut Symbols,
    ) -> CallVerdict {
        let Some(key) = return_address.zip(begin) else {
            self.before.checked += 1;
            self.before.unjudged += 1;
            return CallVerdict::Unjudged;
        };
        if let Some((verdict, count)) = self.known.get_mut(&key) {
            *count += 1;
            return *verdict;
        }
        let began = own_cpu();
        if self.known.len() >= MAX_KNOWN {
            self.forget();
        }
        let mut code = LoadedCode(symbols);
        let verdict = self.judge.judge(key.0, callee, &mut code);
        if let (CallVerdict::Refuted(refuted), true) = (verdict, self.refuted.len() < MAX_REFUTED) {
            self.refuted.insert(key, described(key.0, callee, refuted, &mut code));
        }
        self.known.insert(key, (verdict, 1));
        self.took_ns += own_cpu().saturating_sub(began);
        verdict
    }

    /// Returns the counts of all calls.
    pub fn report(&self) -> NativeCallReport {
        let took_ms = Duration::from_nanos(self.took_ns).as_secs_f64() * 1_000.0;
        NativeCallReport { took_ms, ..self.counted() }
    }

    fn counted(&self) -> NativeCallReport {
        let mut report = self.before.clone();
        for (verdict, count) in self.known.values() {
            add(&mut report, *verdict, *count);
        }
        let refuted = self.refuted.iter().map(|(key, refuted)| {
            let count = self.known.get(key).map_or(0, |(_, count)| *count);
            RefutedNativeCall { count, ..refuted.clone() }
        });
        report.refutations.extend(refuted);
        report.sort_refutations();
        report
    }
}

/// Adds `count` calls with this verdict.
fn add(report: &mut NativeCallReport, verdict: CallVerdict, count: u64) {
    report.checked += count;
    report.distinct += 1;
    match verdict {
        CallVerdict::Proven => report.proven += count,
        CallVerdict::Plausible(why) => {
            let reasons: &mut BTreeMap<String, u64> = &mut report.plausible;
            *reasons.entry(why.name().to_owned()).or_default() += count;
        }
        CallVerdict::Refuted(_) => report.refuted += count,
        CallVerdict::Unjudged => report.unjudged += count,
    }
}

/// Describes a refuted call. Its count is set when the report is made.
fn described(
    return_address: usize,
    callee: usize,
    refuted: RefutedCall,
    code: &mut LoadedCode<'_>,
) -> RefutedNativeCall {
    let instruction = instruction_before(return_address, code);
    let mut name = |address| code.0.find(address).map(|symbol| symbol.full_name()).unwrap_or_default();
    let calls = match refuted {
        RefutedCall::OtherFunction(target) => name(target),
        RefutedCall::NoCall => String::new(),
    };
    // The caller may end at the return address.
    let before = return_address.saturating_sub(1);
    let (caller, callee) = (name(before), name(callee));
    let offset = code.0.offset(before).map(|(library, offset)| format!("{library}+{:#x}", offset + 1));
    RefutedNativeCall {
        count: 0,
        kind: refuted.name().to_owned(),
        caller,
        return_address: offset.unwrap_or_default(),
        instruction,
        calls,
        callee,
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::hint::black_box;
    use vouch_unwind::native::libraries::loaded;

    #[inline(never)]
    fn callee(number: usize) -> usize {
        black_box(number).wrapping_add(7)
    }

    #[inline(never)]
    fn other(number: usize) -> usize {
        black_box(number).wrapping_add(9)
    }

    #[inline(never)]
    fn caller(number: usize) -> usize {
        callee(number).wrapping_add(1)
    }

    fn begin(function: fn(usize) -> usize) -> usize {
        (function as *const ()).addr()
    }

    /// Judges a call from each byte of `caller` that may be a return address.
    fn judged(calls: &mut NativeCalls, symbols: &mut Symbols, callee: usize) -> Vec<CallVerdict> {
        let own = symbols.function(begin(caller)).unwrap();
        let judge = |at| calls.judge(Some(at), (Some(callee), callee), symbols);
        (own.start + 1..own.end).map(judge).collect()
    }

    fn symbols() -> Symbols {
        let mut symbols = Symbols::default();
        symbols.set_libraries(loaded().unwrap());
        symbols
    }

    #[test]
    fn one_address_of_the_caller_is_after_the_call_of_the_callee() {
        black_box([caller(1), other(1)]);
        let (mut calls, mut symbols) = (NativeCalls::default(), symbols());
        let is_proven = |verdict: &&CallVerdict| **verdict == CallVerdict::Proven;
        let is_refuted = |verdict: &&CallVerdict| matches!(verdict, CallVerdict::Refuted(_));
        for _ in 0..2 {
            let verdicts = judged(&mut calls, &mut symbols, begin(callee));
            assert_eq!(verdicts.iter().filter(is_proven).count(), 1, "{verdicts:?}");
            assert_eq!(verdicts.iter().filter(is_refuted).count(), verdicts.len() - 1, "{verdicts:?}");
        }
        let verdicts = judged(&mut calls, &mut symbols, begin(other));
        assert_eq!(verdicts.iter().filter(is_refuted).count(), verdicts.len(), "{verdicts:?}");

        let report = calls.report();
        let tried = verdicts.len() as u64;
        assert_eq!((report.checked, report.distinct, report.proven), (3 * tried, 2 * tried, 2));
        let wrong = report.refutations.iter().find(|it| it.kind == "other_function").unwrap();
        let names = [&wrong.caller, &wrong.calls, &wrong.callee];
        for (name, end) in names.into_iter().zip(["::caller", "::callee", "::other"]) {
            assert!(name.ends_with(end), "{wrong:?}");
        }
        assert!(wrong.instruction.contains("call") && wrong.return_address.contains("+0x"), "{wrong:?}");
        assert_eq!(report.refutations[0].count, 2);
    }

    #[test]
    fn counts_stay_when_libraries_change_and_unknown_code_is_not_judged() {
        let (mut calls, mut symbols) = (NativeCalls::default(), symbols());
        judged(&mut calls, &mut symbols, begin(callee));
        let before = calls.report();
        symbols.set_libraries(Vec::new());
        calls.forget();
        assert!(calls.report() == before, "{} of {}", calls.report().checked, before.checked);
        assert!(before.refutations.iter().all(|refuted| refuted.count == 1));
        let (mut again, mut symbols) = (NativeCalls::default(), self::symbols());
        for _ in 0..2 {
            judged(&mut again, &mut symbols, begin(callee));
            again.forget();
        }
        let rows = again.report().refutations;
        assert_eq!(rows.len(), before.refutations.len(), "a call that is judged again has the same row");
        assert!(rows.iter().all(|refuted| refuted.count == 2));
        let mut symbols = Symbols::default();
        calls.judge(Some(begin(caller) + 1), (Some(begin(callee)), begin(callee)), &mut symbols);
        calls.judge(None, (Some(begin(callee)), begin(callee)), &mut symbols);
        calls.judge(Some(begin(caller) + 1), (None, 7), &mut symbols);
        let after = calls.report();
        assert_eq!((after.unjudged, after.checked - before.checked), (3, 3));
        assert_eq!(after.refuted + after.proven, before.checked);
    }
}
