//! Tests of the totals of measures other than CPU time.

use vouch_recording::measures::ALLOCATED;
use vouch_recording::{Amount, Recording};
use vouch_report::{MeasureReport, ReportSum, Run, TrustReport};

#[test]
fn measures_are_summed_over_threads_and_runs() {
    let report = |objects: u64| {
        let mut recording = Recording::new();
        for thread in 0..2 {
            let id = recording.add_thread("worker", thread, 0);
            let stack = recording.stack_of_class(None, "byte[]");
            let amount = Amount { time_ns: 1, stack, amount: 3 << 20, events: objects, context: None };
            recording.amount(id, &ALLOCATED, amount);
        }
        TrustReport::from_recording(&recording, Run::default())
    };
    let one = report(5);
    let expected = MeasureReport { unit: "bytes".to_owned(), amount: 6 << 20, samples: 2, events: 10 };
    assert_eq!(one.measures["alloc"], expected);
    let row = one.panel().find(|(label, _)| *label == "Measured").unwrap();
    assert_eq!(row.1, "6.0 MB of allocated bytes in 2 samples");
    let mut sum = ReportSum::default();
    sum.add(one);
    sum.add(report(1));
    let both = sum.finish(1.0).measures["alloc"].clone();
    assert_eq!((both.amount, both.samples, both.events), (12 << 20, 4, 12));
}
