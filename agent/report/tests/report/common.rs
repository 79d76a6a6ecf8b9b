//! Makes a recording with samples of each fate, and reports on it.

#[path = "../../../recording/tests/common/contexts.rs"]
pub mod contexts;
#[path = "../../../recording/tests/common/mod.rs"]
mod recordings;

use vouch_recording::{Fate, Recording, Sample, Trust};
use vouch_report::{
    AgreementReport, ClassReport, CompilerReport, Delivered, EventReport, HandlerTime, Power, Rate,
    RecoveryReport, RefutationReport, Run, SafepointReport, TrustReport,
};
use vouch_verify::proof::Refutation;

pub use recordings::{START_NS, busy_thread, sample, stack};

pub const FATES: [Fate; 6] =
    [Fate::Proven, Fate::Plausible, Fate::Refuted, Fate::Unwalked, Fate::Outside, Fate::Dropped];
/// One trust for each fate of a recorded sample, in the order of the fates.
const TRUSTS: [Trust; 5] =
    [Trust::Proven, Trust::Plausible, Trust::Refuted, Trust::Unwalked, Trust::Unchecked];

/// Makes a recording of two threads. Each fate has one sample more than the fate before it. Each
/// sample has the weight 2.
pub fn recording() -> Recording {
    let mut recording = Recording::new();
    let stack = stack(&mut recording, &["main"]);
    let main = recording.add_thread("main", 7, START_NS);
    let other = recording.add_thread("other", 8, START_NS);
    recording.set_thread_cpu(main, 29_500_000);
    for (thread, trusts) in [(main, &TRUSTS[..]), (other, &TRUSTS[..2])] {
        for (trust, count) in trusts.iter().zip(1..) {
            for n in 0..count {
                recording.sample(thread, Sample { weight: 2, trust: *trust, ..sample(n, stack) });
            }
        }
    }
    recording.dropped(10, 20);
    recording
}

pub fn report() -> TrustReport {
    TrustReport::from_recording(&recording(), run(28, 56))
}

/// Makes the values of a run with this many signals. All other values are defaults.
pub fn run(signals: u64, weight: u64) -> Run {
    Run { delivered: Delivered { signals, weight }, interval_ns: 1_000_000, ..Run::default() }
}

/// Makes a report on [`recording`] that includes a refutation and the results of proof.
pub fn proven_report() -> TrustReport {
    let refutation = RefutationReport {
        number: 4,
        count: 3,
        kind: Refutation::OtherCallee,
        caller: "shop/Cart.add:()V".into(),
        bci: 17,
        line: None,
        expected: "invokevirtual shop/Cart.total:()I".into(),
        found: "shop/Item.price:()I".into(),
        stack: Vec::new(),
        at: None,
        code: Vec::new(),
        witness: None,
    };
    let mut report = report();
    report.run.options = Some(Vec::new());
    report.run.rate = Some(Rate::default());
    report.run.handler_ns = Some(HandlerTime::default());
    report.run.refutations = vec![refutation];
    report.run.recovery = [("top".to_owned(), RecoveryReport::default())].into();
    report.run.agreement = [("same".to_owned(), AgreementReport::default())].into();
    report.run.events = [("gc".to_owned(), EventReport::default())].into();
    report.run.safepoints = Some(SafepointReport::default());
    report.run.classes = Some(ClassReport::default());
    report.run.compilers = Some(CompilerReport::default());
    report.run.power = [("moved_bcis".to_owned(), Power { tried: 2000, noticed: 1999 })].into();
    report
}
