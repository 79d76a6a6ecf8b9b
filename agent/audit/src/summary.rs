//! Writes the summary of an audit, at most eight lines, and a table that compares several audits.
//!
//! The summary leaves out what is as it should be, but never what could not be judged.

use vouch_recording::ByFate;
use vouch_report::{FATES, Files, duration, float, grouped, most_frequent, noticed, percent};

use crate::report::{AuditReport, UnusableClass};

const MAX_LINES: usize = 8;
/// A line names at most this many items of a list.
const MAX_NAMED: usize = 3;

impl AuditReport {
    /// Returns the summary, with a newline after each line. `more` has further remarks about the
    /// profile.
    pub fn summary(&self, files: Files<'_>, more: &[String]) -> String {
        let mut lines = vec![self.header()];
        lines.extend(self.damage_line());
        lines.extend(self.fates_line("samples", true));
        lines.extend(self.fates_line("other events with a stack", false));
        lines.push(self.edges_line());
        // A report and a profile can both explain a refutation.
        lines.extend(self.worst_refutation_line(files.all.iter().copied().find(|name| is_json(name))));
        lines.extend(self.omissions_line());
        lines.extend(self.missing_classes_line());
        lines.extend(self.power_line());
        // Remarks about all samples come before remarks about one profile.
        let remarks = self.notes.iter().chain(more).chain(self.damage.iter().skip(1));
        let remarks = remarks.chain(&self.classes.unreadable);
        let mut remarks: Vec<String> = remarks.cloned().collect();
        let last = files.line();
        let max_lines = MAX_LINES - usize::from(last.is_some());
        // One line is kept free for remarks.
        lines.truncate(max_lines - usize::from(!remarks.is_empty()));
        let room = max_lines - lines.len();
        if remarks.len() > room {
            let more = remarks.len() - room;
            remarks.truncate(room);
            if let Some(last) = remarks.last_mut() {
                *last = format!("{last} (and {more} more remarks, in the report: --report FILE.json)");
            }
        }
        lines.extend(remarks);
        lines.extend(last);
        lines.iter().flat_map(|line| [vouch_report::plain(line), "\n".to_owned()]).collect()
    }

    fn header(&self) -> String {
        let parts = [self.jdk.clone(), self.command.clone()].into_iter().filter(|part| !part.is_empty());
        let parts = parts.map(|part| vouch_report::shortened(&part, 60));
        // A file that has only names has no times.
        let lasted = (self.wall_ms > 0.0).then(|| duration(self.wall_ms));
        let parts: Vec<String> = parts.chain(lasted).collect();
        let details = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        format!("{} by {}{details}", self.audited.join(", "), self.recorder)
    }

    /// Returns a line about damage in the files, which comes before all results.
    fn damage_line(&self) -> Option<String> {
        let unread = (self.unreadable_events > 0)
            .then(|| format!("{} events cannot be read", grouped(self.unreadable_events)));
        let parts: Vec<String> = self.damage.first().cloned().into_iter().chain(unread).collect();
        (!parts.is_empty())
            .then(|| format!("not all of it is there, cut short or damaged: {}", parts.join("; ")))
    }

    fn fates_line(&self, what: &str, samples: bool) -> Option<String> {
        let kinds: Vec<_> = self.kinds.iter().filter(|(_, kind)| kind.samples == samples).collect();
        let sum = kinds
            .iter()
            .map(|(_, kind)| kind.fates.fates)
            .fold(ByFate::<u64>::default(), ByFate::<u64>::plus);
        let names: Vec<&str> = kinds.iter().take(MAX_NAMED).map(|(name, _)| name.as_str()).collect();
        let more = if kinds.len() > MAX_NAMED {
            format!(" and {} more", kinds.len() - MAX_NAMED)
        } else {
            String::new()
        };
        (sum.sum() > 0)
            .then(|| format!("{} {what} ({}{more}): {}", grouped(sum.sum()), names.join(", "), fates(sum)))
    }

    fn edges_line(&self) -> String {
        let edges = &self.edges;
        let explained: u64 = edges.explained.values().sum();
        let unjudged: u64 = edges.unjudged.values().sum();
        format!(
            "{} calls in these stacks, {} of them judged; of {} that are distinct {} are proven, {} explained, {} refuted, {} not judged; which inlined method was on top cannot be judged (no recording has the pc)",
            grouped(edges.checked),
            percent(percentage(edges.judged, edges.checked)),
            grouped(edges.distinct),
            grouped(edges.proven),
            grouped(explained),
            grouped(edges.refuted),
            grouped(unjudged),
        )
    }

    fn worst_refutation_line(&self, file: Option<&str>) -> Option<String> {
        let first = most_frequent(&self.refutations, "the recording has")?;
        let explain = file.map_or_else(
            || "--report FILE.json, and vouch explain FILE.json 1 shows it".to_owned(),
            |file| format!("vouch explain {file} 1 shows it"),
        );
        Some(format!("refuted {first}; {explain}"))
    }

    /// Returns a line about what the recording itself leaves out or lost.
    fn omissions_line(&self) -> Option<String> {
        let cut: u64 = self.kinds.values().map(|kind| kind.cut).sum();
        let reasons = |reasons: &std::collections::BTreeMap<String, u64>| {
            let mut all: Vec<_> = reasons.iter().collect();
            all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let named: Vec<_> = all
                .iter()
                .take(MAX_NAMED)
                .map(|(why, count)| format!("{why} {}", grouped(**count)))
                .collect();
            named.join(", ")
        };
        let parts = [
            self.cpu_gaps(),
            (cut > 0).then(|| format!("{} stacks are cut at its depth limit", grouped(cut))),
            (!self.broken.is_empty()).then(|| format!("walks that broke off: {}", reasons(&self.broken))),
            (!self.unwalked.is_empty()).then(|| format!("unwalked because: {}", reasons(&self.unwalked))),
            (self.lost_bytes > 0).then(|| format!("{} bytes of events were lost", grouped(self.lost_bytes))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Returns a line about threads with CPU time that their samples do not cover.
    fn cpu_gaps(&self) -> Option<String> {
        let mut gaps: Vec<_> = self.threads.iter().filter(|thread| thread.gap_ms.is_some()).collect();
        gaps.sort_by(|one, other| other.gap_ms.unwrap_or(0.0).total_cmp(&one.gap_ms.unwrap_or(0.0)));
        let worst = gaps.first()?;
        let more =
            if gaps.len() > 1 { format!(" (and of {} threads more)", gaps.len() - 1) } else { String::new() };
        Some(format!(
            "samples lack {} of the {} of CPU time of thread {}{more}",
            duration(worst.gap_ms?),
            duration(worst.cpu_ms?),
            worst.name
        ))
    }

    /// Returns a line about classes that were missing or another version.
    fn missing_classes_line(&self) -> Option<String> {
        let named = |unusable: &[UnusableClass]| {
            let first: Vec<&str> =
                unusable.iter().take(MAX_NAMED).map(|class| class.class.as_str()).collect();
            let more = if unusable.len() > MAX_NAMED { ", …" } else { "" };
            format!("{}{more}", first.join(", "))
        };
        // A class that matters to less than one call in a thousand is not worth a search.
        let callers = |unusable: &[UnusableClass]| {
            let edges: u64 = unusable.iter().map(|class| class.edges).sum();
            let matter = edges.saturating_mul(1_000) >= self.edges.checked;
            unusable.iter().filter(|it| it.edges > 0 && matter).cloned().collect::<Vec<_>>()
        };
        let (missing, other) = (callers(&self.classes.not_found), callers(&self.classes.other_version));
        let parts = [
            (!missing.is_empty()).then(|| {
                let of_jdk = |class: &&UnusableClass| vouch_report::is_of_jdk(&class.class);
                let how = match missing.iter().filter(of_jdk).count() {
                    0 => "--classes PATH",
                    all if all == missing.len() => "--jdk HOME",
                    _ => "--jdk HOME and --classes PATH",
                };
                format!("{} classes were not found ({}): add them with {how}", missing.len(), named(&missing))
            }),
            (!other.is_empty()).then(|| {
                format!("{} are not the ones that ran ({}: {})", other.len(), named(&other), other[0].why)
            }),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn power_line(&self) -> Option<String> {
        Some(format!("an audit of these stacks notices {}", noticed(&self.power)?))
    }
}

fn is_json(name: &str) -> bool {
    [".json", ".json.gz"].iter().any(|ending| name.ends_with(ending))
}

/// Returns a part of a whole in percent.
fn percentage(part: u64, all: u64) -> f64 {
    100.0 * float(part) / float(all.max(1))
}

/// Returns a text with the count and share of each fate.
fn fates(fates: ByFate<u64>) -> String {
    let parts = FATES.iter().filter(|fate| fates.get(**fate) > 0).map(|fate| {
        let count = fates.get(*fate);
        format!("{} {} ({})", fate.name(), grouped(count), percent(percentage(count, fates.sum())))
    });
    parts.collect::<Vec<_>>().join(" + ")
}

/// Returns a table of several audits. Each has a row for each kind of samples, and one for all
/// other events.
pub fn side_by_side(reports: &[AuditReport]) -> String {
    const HEAD: [&str; 11] = [
        "recording",
        "by",
        "kind",
        "events",
        "proven",
        "plausible",
        "refuted",
        "unwalked",
        "outside",
        "dropped",
        "calls judged",
    ];
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    for report in reports {
        let judged = percent(percentage(report.edges.judged, report.edges.checked));
        let mut row = |kind: &str, fates: ByFate<u64>| {
            let all = fates.sum();
            let shares = FATES.map(|fate| percent(percentage(fates.get(fate), all)));
            let head = [report.audited.join(" "), report.recorder.clone(), kind.to_owned(), grouped(all)];
            rows.push(head.into_iter().chain(shares).chain([judged.clone()]).collect());
        };
        for (name, kind) in report.kinds.iter().filter(|(_, kind)| kind.samples) {
            row(name, kind.fates.fates);
        }
        let others = report.kinds.values().filter(|kind| !kind.samples).map(|kind| kind.fates.fates);
        row("other events", others.fold(ByFate::default(), ByFate::<u64>::plus));
    }
    table(&rows)
}

fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
            let cell = vouch_report::plain(cell);
            if column < 3 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
