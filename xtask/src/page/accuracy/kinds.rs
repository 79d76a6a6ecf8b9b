//! Compares profiles of ten kinds of work with the program's own clock
//! (java-tests/workloads/Known.java).

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::runs::Runs;
use crate::page::runner::shown;
use crate::page::spread::middle;
use crate::report::{self, json};

/// How often each profiler runs.
pub const TURNS: usize = 5;

/// How far a profile is from the program's clock, in percent of the known time.
#[derive(Debug, Clone, PartialEq)]
struct Distance {
    /// The time in the right methods.
    shown: f64,
    /// Half the sum of all differences between known and shown shares.
    apart: f64,
    /// The kind with the largest difference, and this difference.
    worst: (String, f64),
}

/// Runs the program in turns under each profiler, and returns the table.
pub fn table(runs: &Runs, major: u32, folder: &Path) -> Result<String> {
    let jdk = runs.runner.jdk(major)?;
    let file = folder.join("last");
    let ways = ways(runs, &file);
    let mut distances: Vec<Vec<Distance>> = vec![Vec::new(); ways.len()];
    for turn in 1..=TURNS {
        for ((name, option), distances) in ways.iter().zip(&mut distances) {
            println!("turn {turn} of {TURNS}: {name}");
            for ending in ["known", "jfr", "json.gz"] {
                let _ = fs::remove_file(file.with_added_extension(ending));
            }
            let known = file.with_added_extension("known");
            let log = runs.runner.logs.join("known.log");
            let options = [option.clone(), format!("-Dvouch.known={}", known.display())];
            let outcome = runs.runner.workload("known", runs.seconds, &jdk, &options, &log)?;
            outcome.check(&format!("the program under {name}"), &log)?;
            runs.convert(&jdk, &file, &runs.runner.logs.join("audit.log"))?;
            let top = file.with_added_extension("json");
            runs.top(&file.with_added_extension("json.gz"), &top, &[])?;
            distances.push(distance(&known, &top).with_context(|| name.clone())?);
        }
    }
    let head = [
        "with",
        "of the known time has its method, %",
        "shown as another kind, %",
        "farthest off: too much or too little, %",
    ];
    let rows = ways.iter().zip(&mut distances).map(|((name, _), distances)| row(name, distances));
    Ok(report::table(&head, rows.collect::<Result<Vec<_>>>()?))
}

fn row(name: &str, distances: &mut [Distance]) -> Result<Vec<String>> {
    let one_digit = |value| format!("{value:.1}");
    let column =
        |value: fn(&Distance) -> f64| middle(&distances.iter().map(value).collect::<Vec<_>>(), one_digit);
    let [shown, apart] = [column(|distance| distance.shown)?, column(|distance| distance.apart)?];
    distances.sort_by(|one, other| one.apart.total_cmp(&other.apart));
    // The median turn.
    let (kind, error) = &distances[distances.len() / 2].worst;
    Ok(vec![name.to_owned(), shown, apart, format!("`{kind}` {error:+.1}")])
}

/// Returns each way to profile: its name, and the JVM's option.
fn ways(runs: &Runs, file: &Path) -> [(String, String); 8] {
    let file = file.display();
    let vouch = |name: &str, options: &str| {
        let option = runs.runner.agent(&format!("{options}quiet,out={file}.json.gz"));
        (format!("Vouch, {name}"), option)
    };
    let asynchronous = |options: &str| {
        let library = &runs.async_profiler;
        let option = format!("-agentpath:{library}=start,{options},file={file}.jfr");
        (format!("async-profiler, `{options}`"), option)
    };
    let jfr = |name: &str, settings: &str| {
        (format!("JFR, {name}"), format!("-XX:StartFlightRecording=filename={file}.jfr,settings={settings}"))
    };
    [
        vouch("without options", "events=default,"),
        vouch("`interval=1ms`", "interval=1ms,"),
        vouch("`interval=1ms,engine=timer`", "interval=1ms,engine=timer,"),
        asynchronous("event=cpu,interval=1ms"),
        asynchronous("event=ctimer,interval=1ms"),
        jfr("`default`", "default"),
        jfr("`profile`", "profile"),
        jfr(
            "CPU-time samples, `10ms`",
            "default,jdk.ExecutionSample#enabled=false,jdk.CPUTimeSample#enabled=true,jdk.CPUTimeSample#throttle=10ms",
        ),
    ]
}

/// Compares the program's times (lines `KIND MILLISECONDS`) with the output of `vouch top --json`.
fn distance(known: &Path, top: &Path) -> Result<Distance> {
    let text = fs::read_to_string(known).with_context(|| shown(known))?;
    let known: Vec<(&str, f64)> = text
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(kind, ms)| Some((kind, ms.parse().ok()?)))
        .collect();
    let top = json(top)?;
    let rows: Vec<_> = top["rows"].as_array().into_iter().flatten().collect();
    let shown_of = |kind: &str| -> f64 {
        let is_kind = |name: &str| name.split('(').next() == Some(&format!("Known.{kind}"));
        let of_kind = rows.iter().filter(|row| row["name"].as_str().is_some_and(is_kind));
        of_kind.filter_map(|row| row["total_ms"].as_f64()).sum()
    };
    let shown: Vec<f64> = known.iter().map(|(kind, _)| shown_of(kind)).collect();
    let all_known: f64 = known.iter().map(|(_, ms)| ms).sum();
    let all_shown: f64 = shown.iter().sum();
    if all_shown == 0.0 {
        bail!("the profile has no time of any kind");
    }
    let errors: Vec<f64> = known
        .iter()
        .zip(&shown)
        .map(|((_, known), shown)| 100.0 * (shown / all_shown - known / all_known))
        .collect();
    let worst = errors.iter().enumerate().max_by(|(_, one), (_, other)| one.abs().total_cmp(&other.abs()));
    let (at, error) = worst.context("the program has measured no kind")?;
    Ok(Distance {
        shown: 100.0 * all_shown / all_known,
        apart: errors.iter().map(|error| error.abs()).sum::<f64>() / 2.0,
        worst: (known[at].0.to_owned(), *error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_as_far_off_as_its_shares() {
        let folder = std::env::temp_dir().join(format!("vouch-kinds-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let [known, top] = ["last.known", "last.json"].map(|name| folder.join(name));
        fs::write(&known, "loops 50\ncalls 30\nclock 20\n").unwrap();
        let row = |name: &str, ms: u32| format!(r#"{{"name": "{name}", "total_ms": {ms}}}"#);
        let rows = [
            row("Known.loops(int)", 40),
            row("Known.calls(int)", 30),
            row("Known.calls()", 10),
            row("Other.clock()", 7),
        ];
        fs::write(&top, format!(r#"{{"rows": [{}]}}"#, rows.join(","))).unwrap();
        let distance = distance(&known, &top).unwrap();
        // All 80 ms are of loops and calls, half each: 0, 20 and -20 points off.
        let is = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(is(distance.shown, 80.0) && is(distance.apart, 20.0), "{distance:?}");
        assert!(is(distance.worst.1.abs(), 20.0), "{distance:?}");
        fs::write(&top, r#"{"rows": []}"#).unwrap();
        assert!(super::distance(&known, &top).is_err());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_row_has_the_worst_kind_of_the_median_turn() {
        let turn = |apart: f64, kind: &str| Distance { shown: 100.0, apart, worst: (kind.to_owned(), apart) };
        let mut turns = [turn(9.0, "late"), turn(1.0, "first"), turn(2.0, "middle")];
        let cells = row("Vouch", &mut turns).unwrap();
        assert_eq!(cells, ["Vouch", "100.0 (100.0 to 100.0)", "2.0 (1.0 to 9.0)", "`middle` +2.0"]);
    }
}
