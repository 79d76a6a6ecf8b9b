//! Relates the clocks of Vouch and of a Flight Recorder file by moments that both recorded:
//! collector pauses, and waits of the agent's own thread.
//!
//! JVMTI reports a pause before JFR's start of it and after JFR's end. The agent reads its clock
//! before and after it waits. So each moment bounds the difference of the clocks on both sides. Two
//! moments that may be different must not be used.

use crate::merge::clock::{Bound, Relation, span};

/// The start and end of a pause or a wait, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub began: f64,
    pub ended: f64,
}

/// The moments of one kind, as both Vouch and the recording have them.
#[derive(Debug, Default)]
pub struct Moments {
    /// The moments that Vouch recorded, by the profile's clock.
    pub seen: Vec<Moment>,
    /// The moments in the Flight Recorder file, by that file's clock.
    pub recorded: Vec<Moment>,
}

/// The rounding error of a time, in nanoseconds. Times may be rounded to microseconds.
const ROUNDED: f64 = 1_000.0;
/// The greatest error of a time of day, in nanoseconds. A thread may lose its processor between two
/// readings, and older JVMs have whole milliseconds.
const TIME_OF_DAY: f64 = 1_500_000.0;
/// The nanoseconds of a day. The clock of a running machine is never set by more than a day.
pub const A_DAY: f64 = 86_400e9;
/// The least time between two waits of the agent, in nanoseconds.
const APART: f64 = 40e6;
/// The first distance in which moments are searched, in nanoseconds. It is then doubled again and
/// again. While the drift is unknown, farther moments could match by chance.
const FIRST_LOOK: f64 = 2e9;
/// If a profile has more waits than this, the agent may have dropped every second one.
const ALL_KEPT: usize = 1_000;
/// Fewer pauses than this may match by chance, so they are not used.
const FEW: usize = 3;

/// Returns the relation of the clocks, and the number of pauses and of waits that were used for it.
///
/// `by_day` has times of the recording's clock and the difference by the time of day. `range` is
/// the start and end of the profile, by its own clock. `None` if `by_day` is empty.
pub fn relate(
    by_day: &[(f64, f64)],
    mut pauses: Moments,
    mut waits: Moments,
    range: [f64; 2],
) -> Option<(Relation, [usize; 2])> {
    let within = |off: f64| -> Vec<Bound> {
        let day = |(at, add): &(f64, f64)| Bound { at: *at, least: add - off, most: add + off, sure: false };
        by_day.iter().map(day).collect()
    };
    let days = within(TIME_OF_DAY);
    let by_day = Relation::new(&days)?;
    // This is the distance of a moment from the profile's start.
    let distance = |moment: &Moment| (by_day.profile_ns(moment.began) - range[0]).abs();
    let mut farthest = 0.0_f64;
    for Moments { seen, recorded } in [&mut pauses, &mut waits] {
        seen.sort_by(|one, other| one.began.total_cmp(&other.began));
        recorded.sort_by(|one, other| one.began.total_cmp(&other.began));
        // A chunk that was read twice, once incomplete, has the same moments again.
        recorded.dedup_by(|one, other| one.began.total_cmp(&other.began).is_eq());
        farthest = recorded.iter().map(distance).fold(farthest, f64::max);
    }
    if is_astray(&waits, &by_day, range) {
        return Some((Relation::new(&within(A_DAY))?, [0, 0]));
    }
    let (mut found, mut far) = (None, FIRST_LOOK);
    loop {
        let known = found.as_ref().map_or(&by_day, |(relation, _)| relation);
        let bounds = |Moments { seen, recorded }: &Moments, sure| -> Vec<Bound> {
            let near = recorded.iter().filter(|moment| distance(moment) <= far);
            near.filter_map(|moment| bound(seen, moment, known, range, sure)).collect()
        };
        let (mut bounds, waits) = (bounds(&pauses, false), bounds(&waits, true));
        if bounds.len() < FEW {
            bounds.clear();
        }
        let counts = [bounds.len(), waits.len()];
        // The agent's waits are found by their thread, so they cannot match by chance.
        bounds.extend(waits);
        if !bounds.is_empty() {
            // Between the moments the time of day adds nothing, and it may have been adjusted.
            // Before and after them it is the only relation.
            let [first, last] = span(&bounds);
            bounds.extend(days.iter().filter(|day| day.at < first || day.at > last));
        }
        if let Some(relation) = Relation::new(&bounds) {
            found = Some((relation, counts));
        }
        if far > farthest {
            return Some(found.unwrap_or((by_day, [0, 0])));
        }
        far *= 2.0;
    }
}

/// True if the time of day was adjusted during the run, or stopped while the machine slept. In that
/// case the agent's waits do not match it.
fn is_astray(waits: &Moments, by_day: &Relation, range: [f64; 2]) -> bool {
    let Moments { seen, recorded } = waits;
    if seen.len() > ALL_KEPT {
        return false;
    }
    let (mut within, mut matched) = (0, 0);
    for wait in recorded {
        let about = by_day.profile_ns(wait.began);
        // Far from the recording's times of day the relation is less certain.
        let off = APART + by_day.uncertainty_ns(wait.began, wait.began);
        if about - off < range[0] || about + off > range[1] {
            continue;
        }
        within += 1;
        matched += usize::from(seen.iter().any(|seen| (seen.began - about).abs() <= off));
    }
    within >= FEW && matched * 2 < within
}

/// Returns the bound that a recorded moment gives, with the only one of Vouch's moments that it can
/// be.
///
/// `None` if there are several candidates, or if the moment may be before or after the profile. The
/// agent's waits are far apart, so they match even if a clock was slewed.
fn bound(seen: &[Moment], moment: &Moment, known: &Relation, range: [f64; 2], sure: bool) -> Option<Bound> {
    let about = known.profile_ns(moment.began);
    let off = known.uncertainty_ns(moment.began, moment.began) + ROUNDED;
    let off = if sure { off.max(APART) } else { off };
    let lasts = moment.ended - moment.began;
    if !sure && (about - off < range[0] || about + lasts + off > range[1]) {
        return None;
    }
    let mut candidates = seen[seen.partition_point(|seen| seen.ended < about - off)..]
        .iter()
        .take_while(|seen| seen.began <= about + off);
    let only = candidates.next().filter(|_| candidates.next().is_none())?;
    // JVMTI reports only a part of some pauses. These bound nothing, and must match no other pause.
    if only.ended - only.began + 2.0 * ROUNDED < lasts {
        return None;
    }
    let (least, most) = (only.began - ROUNDED - moment.began, only.ended + ROUNDED - moment.ended);
    Some(Bound { at: moment.began, least, most, sure })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [f64; 2] = [0.0, 1e12];

    /// Makes moments by both clocks. The recording's clock is off by 7 s and 40 millionths, and the
    /// time of day by a further millisecond.
    fn both(count: u32) -> (Moments, (f64, f64)) {
        let truth = |at: f64| at + 7e9 + 40e-6 * at;
        let recorded: Vec<Moment> = (0..count)
            .map(|row| Moment { began: f64::from(row * row % 97) * 1e6 + f64::from(row) * 200e6, ended: 0.0 })
            .map(|moment| Moment { ended: moment.began + 3e6, ..moment })
            .collect();
        let seen = recorded.iter().zip(0_u32..).map(|(moment, row)| Moment {
            began: truth(moment.began) - 5_000.0 - f64::from(row * 31 % 60) * 1_000.0,
            ended: truth(moment.ended) + 4_000.0 + f64::from(row * 17 % 50) * 1_000.0,
        });
        (Moments { seen: seen.collect(), recorded }, (0.0, 7e9 + 1e6))
    }

    #[test]
    fn pauses_that_both_saw_relate_the_clocks() {
        let (moments, day) = both(3_000);
        let (relation, [pauses, waits]) = relate(&[day], moments, Moments::default(), ALL).unwrap();
        assert!(pauses > 2_900 && waits == 0, "{pauses}");
        let uncertainty = relation.uncertainty_ns(0.0, 600e9);
        assert!(uncertainty < 30_000.0, "{uncertainty}");
        assert!((relation.profile_ns(300e9) - (300e9 + 7e9 + 12e6)).abs() <= uncertainty);
    }

    #[test]
    fn without_them_there_is_the_time_of_day() {
        let (Moments { seen, recorded }, day) = both(2);
        for (seen, recorded) in [(seen.clone(), recorded.clone()), (Vec::new(), recorded), (seen, Vec::new())]
        {
            let (relation, counts) =
                relate(&[day], Moments { seen, recorded }, Moments::default(), ALL).unwrap();
            assert_eq!(counts, [0, 0]);
            assert!(relation.uncertainty_ns(0.0, 0.0) >= 1e6);
        }
    }

    #[test]
    fn one_wait_of_the_agents_is_enough() {
        let ((waits, day), (pauses, _)) = (both(1), both(2));
        let (relation, counts) = relate(&[day], pauses, waits, ALL).unwrap();
        assert_eq!(counts, [0, 1]);
        let uncertainty = relation.uncertainty_ns(0.0, 0.0);
        assert!(uncertainty < 10_000.0, "{uncertainty}");
        assert!((relation.profile_ns(0.0) - 7e9).abs() <= uncertainty);
    }

    #[test]
    fn a_time_of_day_that_was_set_is_not_believed() {
        // The waits are ever farther apart, like the agent's. After an adjustment by 0.225 s, one
        // wait coincides with another.
        let begins = [0.1, 0.325, 0.75, 1.575, 3.2, 6.425, 12.85, 22.9].map(|at| at * 1e9);
        let wait = |began: f64| Moment { began, ended: began + 25e6 };
        for (set_by, astray) in [(0.0, false), (0.225e9, true), (1e6, false), (5e9, true)] {
            let seen = begins.iter().map(|began| wait(began + 7e9)).collect();
            let waits = Moments { seen, recorded: begins.map(wait).into() };
            let (relation, [_, met]) =
                relate(&[(0.0, 7e9 + set_by)], Moments::default(), waits, [7e9, 60e9]).unwrap();
            let uncertainty = relation.uncertainty_ns(0.0, 20e9);
            assert_eq!((met, uncertainty >= A_DAY), if astray { (0, true) } else { (8, false) }, "{set_by}");
        }
    }

    #[test]
    fn a_recording_that_is_much_older_than_the_profile_is_believed() {
        // The only chunk is an hour earlier, and its ticks are 40 millionths too slow.
        let wait = |began: f64| Moment { began, ended: began + 25e6 };
        let recorded: Vec<Moment> = (0..10).map(|row| wait(3_600e9 + f64::from(row) * 10e9)).collect();
        let truth = |at: f64| at + 7e9 + 40e-6 * at;
        let seen = recorded.iter().map(|one| wait(truth(one.began))).collect();
        let (relation, _) =
            relate(&[(0.0, 7e9)], Moments::default(), Moments { seen, recorded }, [3_607e9, 3_720e9])
                .unwrap();
        let uncertainty = relation.uncertainty_ns(3_600e9, 3_690e9);
        assert!(uncertainty < 3e9, "{uncertainty}");
        assert!((relation.profile_ns(3_650e9) - truth(3_650e9)).abs() <= uncertainty);
    }

    #[test]
    fn a_chunk_that_was_read_twice_has_no_more_pauses() {
        let (Moments { seen, recorded }, day) = both(2);
        let recorded = recorded.iter().chain(&recorded).copied().collect();
        let (_, counts) = relate(&[day], Moments { seen, recorded }, Moments::default(), ALL).unwrap();
        assert_eq!(counts, [0, 0], "two are too few");
    }

    #[test]
    fn pauses_of_another_run_relate_nothing() {
        let (mut moments, day) = both(300);
        for moment in &mut moments.seen {
            *moment = Moment { began: moment.began + 60e6, ended: moment.ended + 60e6 };
        }
        let (relation, _) = relate(&[day], moments, Moments::default(), ALL).unwrap();
        // While the drift is unknown, some moments are matched wrongly. The result must be true all
        // the same.
        for at in [0.0, 100e9, 200e9] {
            let truth = at + 7e9 + 40e-6 * at;
            let uncertainty = relation.uncertainty_ns(at, at);
            assert!((relation.profile_ns(at) - truth).abs() <= uncertainty, "at {at}: {uncertainty}");
        }
    }

    #[test]
    fn a_pause_from_before_the_profile_is_not_taken_for_one_within_it() {
        // Vouch started when the recording was 100 s old. Its first pause begins a quarter of a
        // second after the last one that it missed.
        let (mut moments, day) = both(1_000);
        let begin = moments.seen[500].began - 40e6;
        moments.seen.retain(|moment| moment.began >= begin);
        let (relation, [pauses, _]) = relate(&[day], moments, Moments::default(), [begin, 1e12]).unwrap();
        assert!(pauses > 450, "{pauses}");
        let (at, uncertainty) = (150e9, relation.uncertainty_ns(100e9, 199e9));
        assert!(uncertainty < 30_000.0, "{uncertainty}");
        assert!((relation.profile_ns(at) - (at + 7e9 + 40e-6 * at)).abs() <= uncertainty);
    }

    #[test]
    fn a_clock_that_is_slewed_between_two_waits_makes_it_uncertain_and_no_lie() {
        // There is a wait each ten seconds for ten minutes. From 300 s on the clock is slewed by
        // 3 ms; or it is slewed at the same rate from 560 s to the end.
        for (from, by) in [(300e9, 3e6), (560e9, 20e6)] {
            let truth = |at: f64| at + 7e9 + ((at - from).max(0.0) * 500e-6).min(by);
            let recorded: Vec<Moment> = (0..60)
                .map(|row| f64::from(row) * 10e9 + 100e6)
                .map(|began| Moment { began, ended: began + 25e6 })
                .collect();
            let seen = recorded.iter().map(|wait| Moment {
                began: truth(wait.began) - 20_000.0,
                ended: truth(wait.ended) + 30_000.0,
            });
            let waits = Moments { seen: seen.collect(), recorded };
            let (relation, [_, count]) = relate(&[(0.0, 7e9)], Moments::default(), waits, ALL).unwrap();
            assert_eq!(count, 60);
            for row in 0..600_u32 {
                let at = f64::from(row) * 1e9;
                let off = (relation.profile_ns(at) - truth(at)).abs();
                assert!(off <= relation.uncertainty_ns(at, at), "{off} at {at}");
            }
        }
    }
}
