//! What a sample costs by the depth of its stack, as docs/cost.md has it: the handler's time with
//! each walker, and how they compare.

use std::collections::BTreeMap;

use vouch_report::{float, grouped};

use crate::report::{Of, table};

/// By mode, JDK and depth: the time that nine of ten handlers of a run took at most, in
/// nanoseconds, by walker.
type Costs = BTreeMap<(String, u32, u32), BTreeMap<String, Vec<u64>>>;

/// The table of these runs, whose mode is `MODE.WALKER.DEPTH.RUN`.
pub fn page(reports: &[Of]) -> Result<String, String> {
    let mut costs = Costs::new();
    for of in reports {
        let parts: Vec<&str> = of.mode.split('.').collect();
        let &[mode, walker, depth, _] = parts.as_slice() else {
            return Err(format!("'{}' is no MODE.WALKER.DEPTH.RUN", of.mode));
        };
        let depth = depth.parse().map_err(|_| format!("'{depth}' is no depth"))?;
        let walkers = costs.entry((mode.to_owned(), of.major, depth)).or_default();
        let handler = of.report.run.handler_ns.ok_or(format!("'{}' reports no handler", of.mode))?;
        walkers.entry(walker.to_owned()).or_default().push(handler.p90);
    }
    let head = ["code", "JDK", "frames", "AsyncGetCallTrace", "own walker", "own / AsyncGetCallTrace"];
    let rows = costs.into_iter().map(|((mode, major, depth), walkers)| {
        let [asgct, own] = ["asgct", "own"].map(|walker| walkers.get(walker).and_then(|runs| middle(runs)));
        let ratio = asgct.zip(own).map(|(asgct, own)| format!("{:.2}", float(own.1) / float(asgct.1)));
        let told = |cost: Option<(u64, u64, u64)>| cost.map_or_else(|| "-".to_owned(), shown);
        let ratio = ratio.unwrap_or_else(|| "-".to_owned());
        vec![mode, major.to_string(), grouped(depth.into()), told(asgct), told(own), ratio]
    });
    Ok(table(&head, rows))
}

/// The least, the middle and the most of these.
fn middle(runs: &[u64]) -> Option<(u64, u64, u64)> {
    let mut runs = runs.to_vec();
    runs.sort_unstable();
    Some((*runs.first()?, *runs.get(runs.len() / 2)?, *runs.last()?))
}

/// `12.3 µs (11.9 to 14)`
fn shown((least, middle, most): (u64, u64, u64)) -> String {
    let micros = |nanos: u64| (float(nanos) / 100.0).round() / 10.0;
    format!("{} µs ({} to {})", micros(middle), micros(least), micros(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::report;
    use vouch_report::HandlerTime;

    fn cost(mode: &str, nanos: u64) -> Of {
        let mut of = report(25, mode, "deep");
        of.report.run.handler_ns = Some(HandlerTime { p90: nanos, ..HandlerTime::default() });
        of
    }

    #[test]
    fn a_row_has_the_middle_of_both_walkers_and_how_they_compare() {
        let runs = [
            ("compiled.asgct.30.1", 4_000),
            ("compiled.asgct.30.2", 6_000),
            ("compiled.asgct.30.3", 5_000),
            ("compiled.own.30.1", 2_500),
            ("interpreted.own.1000.1", 70_040),
        ];
        let page = page(&runs.map(|(mode, nanos)| cost(mode, nanos))).unwrap();
        let rows: Vec<&str> = page.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| compiled | 25 | 30 | 5 µs (4 to 6) | 2.5 µs (2.5 to 2.5) | 0.50 |",
                "| interpreted | 25 | 1,000 | - | 70 µs (70 to 70) | - |"
            ]
        );
    }

    #[test]
    fn a_run_that_is_of_something_else_is_refused() {
        assert!(page(&[cost("g1", 1)]).unwrap_err().contains("'g1'"));
        assert!(page(&[cost("compiled.own.deep.1", 1)]).unwrap_err().contains("'deep'"));
    }
}
