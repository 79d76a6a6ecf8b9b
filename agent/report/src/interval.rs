//! Confidence intervals for shares of samples.

use vouch_recording::WeightSum;

use crate::time::float;

/// Returns Wilson's 95 % confidence interval for a share of `count` samples. Unlike the normal
/// approximation, this interval has a width even if the share is 0.
pub fn wilson(share: f64, count: f64) -> (f64, f64) {
    const Z: f64 = 1.96;
    if count <= 0.0 {
        return (0.0, 1.0);
    }
    let middle = share + Z * Z / (2.0 * count);
    let width = Z * (share * (1.0 - share) / count + Z * Z / (4.0 * count * count)).max(0.0).sqrt();
    let scale = 1.0 + Z * Z / count;
    (((middle - width) / scale).max(0.0), ((middle + width) / scale).min(1.0))
}

/// Returns the number of equally weighted samples that would give a share with the same precision.
/// Statisticians call this Kish's effective sample size.
pub fn effective(all: WeightSum) -> f64 {
    let weight = float(all.weight);
    weight * weight / float(all.squares).max(1.0)
}

/// Returns half the width of the 95 % confidence interval of a share of `count` samples, in
/// percentage points. It is for a share of one half, which has the widest interval.
pub fn points_off(count: f64) -> f64 {
    let (least, most) = wilson(0.5, count);
    50.0 * (most - least)
}

/// Returns the share that `part` has in `all`, with the share's 95 % confidence interval.
pub fn share(part: WeightSum, all: WeightSum) -> (f64, (f64, f64)) {
    let share = float(part.weight) / float(all.weight).max(1.0);
    (share, wilson(share, effective(all)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_its_share_and_shrinks_with_the_count() {
        let near = |(least, most): (f64, f64), expected: (f64, f64)| {
            assert!((least - expected.0).abs() < 1e-3 && (most - expected.1).abs() < 1e-3, "{least} {most}");
        };
        near(wilson(0.5, 100.0), (0.404, 0.596));
        near(wilson(0.0, 100.0), (0.0, 0.037));
        near(wilson(1.0, 100.0), (0.963, 1.0));
        near(wilson(0.3, 0.0), (0.0, 1.0));
        near(wilson(0.3, 1e9), (0.3, 0.3));
    }

    #[test]
    fn heavy_samples_are_worth_fewer() {
        let mut sums = [WeightSum::default(); 3];
        let [part, even, uneven] = &mut sums;
        for at in 0..100 {
            even.add(4);
            uneven.add(if at % 2 == 0 { 1 } else { 7 });
        }
        assert!((effective(*even) - 100.0).abs() < 1e-9 && (effective(*uneven) - 64.0).abs() < 1e-9);
        (0..25).for_each(|_| part.add(4));
        let width = |all: WeightSum| {
            let (share, (least, most)) = share(*part, all);
            assert!((share - 0.25).abs() < 1e-9, "{share}");
            most - least
        };
        assert!(width(*uneven) > 1.2 * width(*even));
        assert_eq!(share(WeightSum::default(), WeightSum::default()), (0.0, (0.0, 1.0)));
    }

    #[test]
    fn samples_that_share_a_weight_are_the_same_one_by_one() {
        for (samples, weight) in [(0, 0), (0, 7), (1, 7), (7, 0), (7, 3), (7, 7), (3, 1_000), (2, u64::MAX)] {
            let [mut together, mut one_by_one] = [WeightSum::default(); 2];
            together.add_samples(samples, weight);
            for at in 0..samples {
                one_by_one.add(weight / samples + u64::from(at < weight % samples));
            }
            assert_eq!(together, one_by_one, "{samples} samples of {weight}");
        }
    }
}
