//! The summary on stderr, and the rows of the front-end's panel.
//!
//! By default the summary has four lines (`brief.rs`), and with `verbose` all others. Each line
//! begins with `[vouch]`, since the program prints to the same stream. The first lines are the
//! warnings, which are never omitted. Values without a problem are omitted.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use vouch_recording::{Certainty, Fate};

use crate::events;
use crate::measures;
use crate::plausible::reason;
use crate::proof::{MAX_LISTED, Power, RefutationReport};
use crate::report::{Rate, TrustReport};
use crate::text::{duration, grouped, one_line, percent, plain, readable, times};
use crate::time::float;
use crate::top_frame::{Counted, TopFrameReport};
use crate::witness::{GradeReport, WitnessReport};

/// The level of detail of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// The summary has only warnings.
    Quiet,
    /// The summary has warnings, and at most four further lines.
    #[default]
    Brief,
    /// The summary has all lines.
    Verbose,
}

/// The first words of the note about samples that `recording-limit=` has removed.
pub const LIMIT_REACHED: &str = "the recording reached its limit (recording-limit=)";

/// All fates of samples, the most trusted first. A fate is the verdict on a sample's stack.
pub const FATES: [Fate; 6] =
    [Fate::Proven, Fate::Plausible, Fate::Refuted, Fate::Unwalked, Fate::Outside, Fate::Dropped];

/// Returns the label of a fate in the front-end's panel.
fn title(fate: Fate) -> &'static str {
    match fate {
        Fate::Proven => "Proven",
        Fate::Plausible => "Plausible",
        Fate::Refuted => "Refuted",
        Fate::Unwalked => "Unwalked",
        Fate::Outside => "Outside",
        Fate::Dropped => "Dropped",
    }
}

/// The files that the recording wrote.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    pub all: &'a [&'a str],
    /// The profile that the next command can open, or `None` if no profile was written.
    pub opens: Option<&'a str>,
    /// True if a file of an earlier run had one of these names and was replaced.
    pub has_replaced: bool,
    /// The text by which the user can call the command `vouch`, such as its path.
    pub command: &'a str,
}

impl Default for Files<'_> {
    fn default() -> Self {
        Self { all: &[], opens: None, has_replaced: false, command: "vouch" }
    }
}

impl TrustReport {
    /// Returns the summary, with a line feed after each line.
    pub fn summary(&self, files: Files<'_>, detail: Detail) -> String {
        let mut lines = self.run.warnings.clone();
        lines.extend(self.sum_is_wrong());
        let notes = self.other_notes();
        match detail {
            Detail::Quiet => {}
            Detail::Brief => lines.extend(self.brief(files, notes.len())),
            Detail::Verbose => {
                lines.extend(self.brief(files, 0));
                lines.extend(self.details());
                lines.extend(notes);
            }
        }
        lines
            .iter()
            .flat_map(|line| ["[vouch] ".to_owned(), plain(&one_line(line)), "\n".to_owned()])
            .collect()
    }

    /// Returns the lines that only the verbose summary has, except for the notes.
    fn details(&self) -> Vec<String> {
        let mut lines = vec![self.size(), self.fates()];
        lines.extend(self.contexts_line());
        lines.extend(measures::describe(&self.measures));
        lines.extend(
            self.meanwhile().filter(|_| events::are_long(&self.run)).map(|what| format!("meanwhile {what}")),
        );
        lines.extend(self.certainty());
        lines.extend(self.worst().map(|worst| format!("refuted {worst}")));
        lines.extend(self.checks());
        lines.extend(self.losses());
        lines
    }

    /// Returns the rows of the front-end's information panel. Rows without a value are omitted.
    pub fn panel(&self) -> impl Iterator<Item = (&'static str, String)> {
        let fates = FATES.map(|fate| (title(fate), self.fate(fate)));
        let more = [
            ("Contexts", self.contexts_line()),
            ("Measured", measures::describe(&self.measures)),
            ("Meanwhile", self.meanwhile()),
            ("Sum", self.sum_is_wrong()),
            ("Top frame", self.top_frame_shares()),
            ("Plausible because", self.plausible_because()),
            ("Unwalked because", self.reasons()),
            ("Recovered", self.recovered()),
            ("Most often refuted", self.worst()),
            ("Power of proof", self.noticed()),
            ("Witness", self.witnessed()),
            ("Conservation", self.conserved()),
            ("Losses", self.losses()),
            ("Options", self.run.options.as_ref().map(|all| all.join(", ")).filter(|all| !all.is_empty())),
            ("Engine notes", (!self.run.engine_notes.is_empty()).then(|| self.run.engine_notes.join("; "))),
        ];
        let all = std::iter::once(("Samples", Some(self.size()))).chain(fates).chain(more);
        all.filter_map(|(label, value)| Some((label, value?)))
    }

    /// Returns the number and the share of samples with this fate, such as `6,761 (30.6 %)`.
    /// Returns `None` if no sample has this fate.
    fn fate(&self, fate: Fate) -> Option<String> {
        let samples = self.samples.fates.get(fate);
        let weights = self.weights();
        let share = 100.0 * weights.get(fate) / weights.sum();
        (samples > 0).then(|| format!("{} ({})", grouped(samples), percent(share)))
    }

    fn contexts_line(&self) -> Option<String> {
        self.contexts.line(self.weights().sum())
    }

    /// Returns a sentence about what delayed the program, such as pauses and waits for locks.
    fn meanwhile(&self) -> Option<String> {
        events::words(&self.run)
    }

    fn size(&self) -> String {
        if let Some(recorder) = &self.run.recorder {
            let (signals, wall) = (grouped(self.samples.signals), duration(self.run.wall_ms));
            let samples = if self.event.is_some() { self.time() } else { "samples".into() };
            return format!("{signals} {samples} in {wall} of wall time, by {recorder}; audited by Vouch");
        }
        let rarer = self.run.sampled_interval_us.filter(|_| self.run.is_rarer());
        let stride = rarer.map_or_else(String::new, |sampled| format!(" every {sampled:.0} us"));
        let of_threads = self
            .run
            .threads_option()
            .map_or_else(String::new, |threads| format!(" of the threads of {threads} alone,"));
        let stopped = if self.run.engine_stopped { " until it was stopped" } else { "" };
        let cpu = self.run.cpu_ms.map_or_else(String::new, |cpu_ms| format!("{} of CPU, ", duration(cpu_ms)));
        let rate = self.run.rate.map_or_else(String::new, |Rate { asked_hz, reached_hz }| {
            format!(", {reached_hz:.0} of {asked_hz:.0} samples per CPU-second")
        });
        format!(
            "{} signals{of_threads} in {cpu}{} of wall time; {}{stride}{stopped}{rate}",
            grouped(self.samples.signals),
            duration(self.run.wall_ms),
            self.run.engine,
        )
    }

    /// Returns a text with the number and the share of samples of each fate.
    pub fn fates(&self) -> String {
        let parts: Vec<String> =
            FATES.iter().filter_map(|&fate| Some(format!("{} {}", fate.name(), self.fate(fate)?))).collect();
        match self.run.threads_option() {
            _ if !parts.is_empty() => parts.join(" + "),
            Some(threads) if !self.run.engine_stopped => {
                format!("no samples were taken of {threads}: no thread of such a name ran for an interval")
            }
            _ => "no samples were taken".to_owned(),
        }
    }

    fn sum_is_wrong(&self) -> Option<String> {
        let (signals, sum) = (self.samples.signals, self.samples.fates.sum());
        (signals != sum).then(|| {
            let (signals, sum) = (grouped(signals), grouped(sum));
            format!("the samples of all fates add up to {sum}, not to {signals}: a fault of Vouch's, please report it")
        })
    }

    /// Returns a line about certainty: of top frames, of plausible and missing stacks, and of
    /// recovered ones.
    fn certainty(&self) -> Option<String> {
        let top_frame = self.top_frame_shares().map(|shares| format!("top frame {shares}"));
        let because =
            self.plausible_because().map(|because| format!("plausible (of all time) because of {because}"));
        let reasons = self.reasons().map(|reasons| format!("unwalked because: {reasons}"));
        let parts: Vec<String> =
            [top_frame, because, self.recovered(), reasons].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Returns the shares of stacks by the certainty of their top frames. Only proven and plausible
    /// stacks count.
    fn top_frame_shares(&self) -> Option<String> {
        let TopFrameReport { exact, method_certain, approximate, not_judged } = self.top_frame;
        let amount = |counted: Counted| counted.weight_ms.unwrap_or_else(|| float(counted.samples));
        let rows = [
            (Certainty::Exact.name(), exact),
            (Certainty::MethodCertain.name(), method_certain),
            (Certainty::Approximate.name(), approximate),
            ("not judged", not_judged),
        ];
        let sum: f64 = rows.iter().map(|(_, counted)| amount(*counted)).sum();
        let shown = rows.iter().filter(|(_, counted)| counted.samples > 0);
        let parts: Vec<String> = shown
            .map(|(name, counted)| format!("{name} {}", percent(100.0 * amount(*counted) / sum)))
            .collect();
        (!parts.is_empty()).then(|| parts.join(" + "))
    }

    /// Returns the share of time that is plausible for each single reason, and for several reasons
    /// at once.
    fn plausible_because(&self) -> Option<String> {
        const SHOWN: usize = 3;
        if self.run.plausible_because.is_empty() {
            return None;
        }
        // Reasons with the same text are added up.
        let mut by_words = BTreeMap::<String, f64>::new();
        for (name, row) in &self.run.plausible_because {
            *by_words.entry(reason(name)).or_default() += row.alone_ms;
        }
        let several = self.weights().plausible - by_words.values().sum::<f64>();
        let mut rows: Vec<(String, f64)> = by_words.into_iter().collect();
        rows.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let others: f64 = rows.drain(SHOWN.min(rows.len())..).map(|(_, alone_ms)| alone_ms).sum();
        rows.extend([("other reasons".to_owned(), others), ("several reasons".to_owned(), several)]);
        let all = self.weights().sum();
        let shares = rows.into_iter().map(|(words, ms)| (words, 100.0 * ms / all));
        let shown = shares.filter(|(_, share)| *share >= 0.05);
        let parts: Vec<String> = shown.map(|(words, share)| format!("{words} {}", percent(share))).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Returns the share of time with a stack that recovery found, as text.
    fn recovered(&self) -> Option<String> {
        let weight: f64 = self.run.recovery.values().map(|strategy| strategy.weight_ms).sum();
        let share = 100.0 * weight / self.weights().sum();
        (weight > 0.0).then(|| format!("{} has its stack by recovery", percent(share)))
    }

    /// Returns the most frequent reasons for which samples have no stack.
    fn reasons(&self) -> Option<String> {
        let mut codes: Vec<_> = self.run.unwalked.iter().filter(|&(_, &count)| count > 0).collect();
        codes.sort_by_key(|&(_, &count)| Reverse(count));
        let first: Vec<_> =
            codes.iter().take(3).map(|&(code, &count)| format!("{code} {}", grouped(count))).collect();
        let rest = if codes.len() > 3 { ", and others" } else { "" };
        (!codes.is_empty()).then(|| format!("{}{rest}", first.join(", ")))
    }

    /// Describes the most frequent refutation.
    fn worst(&self) -> Option<String> {
        let all = match self.run.refutations.as_slice() {
            [] => &self.run.witness.contradictions,
            _ => &self.run.refutations,
        };
        most_frequent(all, "the walk claimed")
    }

    /// Returns a line about the checks of the profile itself: power, witness and conservation of
    /// time.
    fn checks(&self) -> Option<String> {
        let parts: Vec<String> =
            [self.noticed(), self.witnessed(), self.conserved()].into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Describes the power of proof: how many deliberate corruptions of stacks it noticed.
    fn noticed(&self) -> Option<String> {
        Some(format!("proof notices {}", noticed(&self.run.power)?))
    }

    /// Returns how much of the CPU time that the kernel charged was sampled, as text.
    fn conserved(&self) -> Option<String> {
        let ratio = self.conservation.ratio?;
        Some(format!("sampled {} of the CPU time that the kernel charged", percent(100.0 * ratio)))
    }

    /// Describes how often samples agreed with GetStackTrace.
    fn witnessed(&self) -> Option<String> {
        let WitnessReport { exact, all_but_top, root_only, contradicted, confirmed, .. } = &self.run.witness;
        // If proof refutes a stack that the witness confirms, the error is in a frame that was not
        // compared. Such a stack does not count as confirmed.
        let refuted = confirmed.get("refuted").copied().unwrap_or(0);
        let asked = (exact.asked + all_but_top.asked).saturating_sub(refuted);
        let agreed = (exact.agreed + all_but_top.agreed).saturating_sub(refuted);
        if asked == 0 {
            let GradeReport { asked, agreed, .. } = root_only;
            let roots =
                || format!("the JVM itself confirmed {} of {} roots", grouped(*agreed), grouped(*asked));
            return (*asked > 0).then(roots);
        }
        let differed = match asked - agreed {
            0 => "none".to_owned(),
            differed => grouped(differed),
        };
        let proven = contradicted.get("proven").filter(|count| **count > 0);
        let proven = proven.map(|count| format!(", and proof had called {} of them proven", grouped(*count)));
        Some(format!(
            "of {} whole stacks checked by the JVM itself {differed} differed{}",
            grouped(asked),
            proven.unwrap_or_default()
        ))
    }

    /// Returns a line about dropped samples, lost method names and cut stacks.
    fn losses(&self) -> Option<String> {
        let dropped = self.samples.fates.dropped;
        let dropped = (dropped > 0).then(|| match self.limit_reached() {
            Some(why) => {
                format!("{} samples were dropped, most or all because {why}", grouped(dropped))
            }
            None => {
                format!(
                    "{} samples were dropped because a buffer was full: a longer interval= drops fewer",
                    grouped(dropped)
                )
            }
        });
        let nameless = (self.run.names_lost > 0).then(|| {
            format!("{} methods were unloaded before their names were read", grouped(self.run.names_lost))
        });
        let cut = (self.run.stacks_cut > 0).then(|| {
            format!(
                "{} stacks were cut in the middle: the buffers were full, or the walk took too long",
                grouped(self.run.stacks_cut)
            )
        });
        let losses: Vec<String> = [dropped, nameless, cut].into_iter().flatten().collect();
        (!losses.is_empty()).then(|| losses.join("; "))
    }

    /// Returns the note that the recording reached its size limit, if it did. In that case dropped
    /// samples were removed from the file, and no buffer was full.
    fn limit_reached(&self) -> Option<&String> {
        self.run.engine_notes.iter().find(|note| note.starts_with(LIMIT_REACHED))
    }

    /// Returns the notes that the summary prints in no other line.
    fn other_notes(&self) -> Vec<String> {
        let in_losses = self.limit_reached().filter(|_| self.samples.fates.dropped > 0);
        let is_printed = |note: &String| Some(note) == in_losses || self.run.warnings.contains(note);
        self.run.engine_notes.iter().filter(|note| !is_printed(note)).cloned().collect()
    }
}

/// Describes the first refutation of a list, which is the most frequent one. `claimed` is the text
/// before the wrong callee, such as "the walk claimed".
pub fn most_frequent(all: &[RefutationReport], claimed: &str) -> Option<String> {
    let first = all.first()?;
    let RefutationReport { number, count, kind, caller, expected, found, .. } = first;
    let call = if caller.is_empty() {
        expected.clone()
    } else {
        format!("{caller}{}: {expected}", first.position())
    };
    let others = match all.len() {
        1 => String::new(),
        many => format!(", the most frequent of {many}{}", if many == MAX_LISTED { " and more" } else { "" }),
    };
    Some(format!(
        "#{number} ({kind}, {}{others}): {}{}",
        times(*count),
        readable(&call),
        if found.is_empty() { String::new() } else { format!("; {claimed} {}", readable(found)) },
    ))
}

/// Describes the power of proof for the most important kinds of corruption. The report lists all
/// kinds.
pub fn noticed(power: &BTreeMap<String, Power>) -> Option<String> {
    const SHOWN: [(&str, &str); 4] = [
        ("dropped_frames", "dropped frames"),
        ("foreign_frames", "foreign frames"),
        ("moved_bcis", "moved bcis"),
        ("neighbouring_run", "neighbouring runs"),
    ];
    let noticed = SHOWN.iter().filter_map(|(corruption, words)| {
        let power = power.get(*corruption)?;
        Some(format!("{} of {words}", percent(power.percent()?)))
    });
    let noticed: Vec<String> = noticed.collect();
    (!noticed.is_empty()).then(|| noticed.join(", "))
}

impl Files<'_> {
    /// Returns the summary's line with the written files and the next command.
    pub fn line(self) -> Option<String> {
        let replaced = match self.all {
            _ if !self.has_replaced => "",
            [_] => " (replaced an earlier file)",
            _ => " (replaced earlier files)",
        };
        let written = format!("wrote {}{replaced}", self.all.join(", "));
        match self.opens {
            _ if self.all.is_empty() => None,
            None => Some(written),
            Some(profile) => Some(format!(
                "{written}; next: {} top {profile}, or open {} at https://profiler.firefox.com",
                self.command,
                if self.all.len() > 1 { profile } else { "it" }
            )),
        }
    }
}
