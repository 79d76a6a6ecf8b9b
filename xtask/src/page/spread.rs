//! Formats the values of many runs as one cell of a table.

use anyhow::{Result, bail};

/// Returns the median of these values, with the middle half in parentheses: `1.2 (1.0 to 1.5)`.
///
/// Fails without a value: a run without a result must not look like one.
pub fn middle(values: &[f64], show: impl Fn(f64) -> String) -> Result<String> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len();
    if count == 0 {
        bail!("no run has a value for this cell");
    }
    // Values are counted from 1. The median is at (count + 1) / 2, and a quarter is left out at
    // each end.
    let cut = count.div_ceil(4);
    let [median, low, high] = [count.div_ceil(2), cut, count + 1 - cut].map(|at| show(sorted[at - 1]));
    Ok(format!("{median} ({low} to {high})"))
}

#[cfg(test)]
mod tests {
    use super::middle;

    #[test]
    fn the_median_and_the_middle_half_are_shown() {
        let show = |value: f64| format!("{value:+.1}");
        assert_eq!(middle(&[3.0, -1.0, 2.0], show).unwrap(), "+2.0 (-1.0 to +3.0)");
        let ten: Vec<f64> = (1..=10).rev().map(f64::from).collect();
        assert_eq!(middle(&ten, |value| format!("{value}")).unwrap(), "5 (3 to 8)");
        assert!(middle(&[], show).is_err());
    }
}
