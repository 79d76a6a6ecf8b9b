//! The moments that both saw: the pauses for the collector.
//!
//! JVMTI is told before JFR's clock of a pause begins and after it has ended, so that each pause is a bound on both sides. Two that may
//! not be one pause must never bound anything.

use crate::clock::{Bound, Relation};

/// A pause, from when to when, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Pause {
    pub began: f64,
    pub ended: f64,
}

/// The profile has whole microseconds.
const ROUNDED: f64 = 1_000.0;
/// How far the one time of day can be from the other: a thread may lose its processor between two readings, and the JVM's was in whole
/// milliseconds once.
const TIME_OF_DAY: f64 = 1_500_000.0;
/// Pauses are looked for from there on, and always twice as far: where the drift is not known, soon any would do.
const FIRST_LOOK: f64 = 2e9;
/// So few pauses may be chance.
const FEW: usize = 3;

/// How the clocks relate, and by how many pauses it is known. `recorded` is by the recording's clock, and so is `by_day`: at such a time
/// so much is to be added, says the time of day. None: there is not even that.
pub fn relate(by_day: &[(f64, f64)], seen: &[Pause], recorded: &[Pause]) -> Option<(Relation, usize)> {
    let days: Vec<Bound> = by_day
        .iter()
        .map(|(at, add)| Bound { at: *at, least: add - TIME_OF_DAY, most: add + TIME_OF_DAY })
        .collect();
    let by_day = Relation::of(&days)?;
    let first = days.first()?.at;
    let last = recorded.iter().map(|pause| pause.began).fold(first, f64::max);
    let mut seen = seen.to_vec();
    seen.sort_by(|one, other| one.began.total_cmp(&other.began));
    let (mut found, mut far) = (None, FIRST_LOOK);
    loop {
        let known = found.as_ref().map_or(&by_day, |(relation, _)| relation);
        let near = recorded.iter().filter(|pause| pause.began - first <= far);
        let bounds: Vec<_> = near.filter_map(|pause| bound(&seen, pause, known)).collect();
        if bounds.len() >= FEW
            && let Some(relation) = Relation::of(&bounds)
        {
            found = Some((relation, bounds.len()));
        }
        if first + far > last {
            return Some(found.unwrap_or((by_day, 0)));
        }
        far *= 2.0;
    }
}

/// That of a pause with the only one that it can be; where there are more, it is none.
fn bound(seen: &[Pause], pause: &Pause, known: &Relation) -> Option<Bound> {
    let about = known.profile_ns(pause.began);
    let off = known.uncertainty_ns(pause.began, pause.began) + ROUNDED;
    let mut candidates = seen[seen.partition_point(|seen| seen.ended < about - off)..]
        .iter()
        .take_while(|seen| seen.began <= about + off);
    let only = candidates.next().filter(|_| candidates.next().is_none())?;
    // Of some pauses JVMTI tells a part: these bound nothing, and must not be taken for another one either.
    if only.ended - only.began + 2.0 * ROUNDED < pause.ended - pause.began {
        return None;
    }
    let (least, most) = (only.began - ROUNDED - pause.began, only.ended + ROUNDED - pause.ended);
    Some(Bound { at: pause.began, least, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pauses by both clocks; the recording's is 7 s and 40 millionths off, the time of day a millisecond more.
    fn both(count: u32) -> (Vec<Pause>, Vec<Pause>, (f64, f64)) {
        let truth = |at: f64| at + 7e9 + 40e-6 * at;
        let recorded: Vec<Pause> = (0..count)
            .map(|row| Pause { began: f64::from(row * row % 97) * 1e6 + f64::from(row) * 200e6, ended: 0.0 })
            .map(|pause| Pause { ended: pause.began + 3e6, ..pause })
            .collect();
        let seen = recorded.iter().zip(0_u32..).map(|(pause, row)| Pause {
            began: truth(pause.began) - 5_000.0 - f64::from(row * 31 % 60) * 1_000.0,
            ended: truth(pause.ended) + 4_000.0 + f64::from(row * 17 % 50) * 1_000.0,
        });
        (seen.collect(), recorded, (0.0, 7e9 + 1e6))
    }

    #[test]
    fn pauses_that_both_saw_relate_the_clocks() {
        let (seen, recorded, day) = both(3_000);
        let (relation, pauses) = relate(&[day], &seen, &recorded).unwrap();
        assert!(pauses > 2_900, "{pauses}");
        let uncertainty = relation.uncertainty_ns(0.0, 600e9);
        assert!(uncertainty < 10_000.0, "{uncertainty}");
        assert!((relation.profile_ns(300e9) - (300e9 + 7e9 + 12e6)).abs() <= uncertainty);
    }

    #[test]
    fn without_them_there_is_the_time_of_day() {
        let (seen, recorded, day) = both(2);
        for (seen, recorded) in [(&seen[..], &recorded[..]), (&[], &recorded[..]), (&seen[..], &[])] {
            let (relation, pauses) = relate(&[day], seen, recorded).unwrap();
            assert_eq!(pauses, 0);
            assert!(relation.uncertainty_ns(0.0, 0.0) >= 1e6);
        }
    }

    #[test]
    fn pauses_of_another_run_relate_nothing() {
        let (seen, recorded, day) = both(300);
        let other: Vec<Pause> =
            seen.iter().map(|pause| Pause { began: pause.began + 60e6, ended: pause.ended + 60e6 }).collect();
        let (_, pauses) = relate(&[day], &other, &recorded).unwrap();
        assert!(pauses < 30, "{pauses}");
    }
}
