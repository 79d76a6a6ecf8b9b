//! The default summary: the files, the methods with the most time, and how far the profile can be
//! trusted.
//!
//! Its text must be clear to a reader who uses a profiler for the first time.

use vouch_recording::Fate;

use crate::interval::{effective, points_off};
use crate::plausible::REMEDIES;
use crate::report::TrustReport;
use crate::summary::Files;
use crate::text::{duration, grouped, percent};

/// The summary reports how much of the CPU time was sampled only if that share is outside of this
/// range.
const CONSERVED: std::ops::RangeInclusive<f64> = 0.95..=1.05;

impl TrustReport {
    /// Returns at most four lines of the default summary. `notes` is how many further notes the
    /// verbose summary prints.
    pub(crate) fn brief(&self, files: Files<'_>, notes: usize) -> Vec<String> {
        let shares = self.hottest.shares().map(|shares| format!("hottest methods by self time: {shares}"));
        let lines: [Option<String>; 4] =
            [files.line(), shares, Some(self.trusted()), self.precision(files, notes)];
        lines.into_iter().flatten().collect()
    }

    /// Returns a line with the sampled time and with the share of each fate. A fate is the verdict
    /// on a sample's stack.
    fn trusted(&self) -> String {
        let weights = self.weights();
        if self.samples.fates.sum() == 0 {
            return self.fates();
        }
        let words = [
            (Fate::Proven, "proven by the bytecode"),
            (Fate::Plausible, self.plausible()),
            (Fate::Refuted, "refuted (shown apart)"),
            (Fate::Unwalked, "Java without a stack"),
            (Fate::Outside, "outside Java (JIT compiler, collector…)"),
            (Fate::Dropped, "lost (no room)"),
        ];
        let has_samples = |fate: Fate| self.samples.fates.get(fate) > 0;
        let shares = words.into_iter().filter(|(fate, _)| has_samples(*fate));
        let share = |fate| percent(100.0 * weights.get(fate) / weights.sum());
        let shares: Vec<String> = shares.map(|(fate, words)| format!("{} {words}", share(fate))).collect();
        let (time, wall) = (self.time(), duration(self.run.wall_ms));
        let sampled = match self.weight_ms {
            Some(_) => format!("{} of {time}", duration(weights.sum())),
            None => format!("{} {time}", grouped(self.samples.signals)),
        };
        format!("sampled {sampled} in {wall}: {}", shares.join(", "))
    }

    /// Returns the label for the share of plausible stacks. It names their main reason.
    fn plausible(&self) -> &'static str {
        let is_main = |reason| {
            let row = self.run.plausible_because.get(reason);
            row.is_some_and(|row| 2.0 * row.weight_ms >= self.weights().plausible)
        };
        let main = REMEDIES.iter().find(|remedy| is_main(remedy.reason));
        main.map_or("plausible (partly a guess)", |remedy| remedy.label)
    }

    /// Returns a line with the precision of the shares, and with the commands that show more.
    fn precision(&self, files: Files<'_>, notes: usize) -> Option<String> {
        let all = self.hottest.all;
        let mut parts = Vec::new();
        if all.samples > 0 {
            let points = points_off(effective(all));
            let samples =
                if all.samples == 1 { "1 sample".into() } else { grouped(all.samples) + " samples" };
            parts.push(format!("{samples}, so a share is off by {points:.1} points at most (95 % sure)"));
        }
        let ratio = self.conservation.ratio.filter(|ratio| !CONSERVED.contains(ratio));
        parts.extend(
            ratio.map(|ratio| format!("sampled {} of the CPU time of its threads", percent(100.0 * ratio))),
        );
        parts.extend(files.opens.map(|file| format!("{} explain {file} has the reasons", files.command)));
        parts.extend((notes > 0).then(|| {
            let notes = if notes == 1 { "1 note".to_owned() } else { format!("{notes} notes") };
            format!("option verbose prints {notes} more")
        }));
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}
