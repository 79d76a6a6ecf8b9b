//! How sure a share can be that was counted.

/// Wilson's interval for a share of so many, at 95 %: it does not shrink to nothing where none was found.
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
}
