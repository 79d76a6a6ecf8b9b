//! Makes docs/events.md, a list of all events, from the catalogue.

use std::fmt::Write as _;

use anyhow::Result;
use clap::Args;
use vouch_recording::kinds::{ALLOCATION, EVENTS, EventKind};

use super::document::write_whole;
use super::interface::Page;

/// The events that `events=` records, from the catalogue (no run)
#[derive(Args, Debug)]
pub struct Events {}

impl Page for Events {
    const NAME: &'static str = "events";
    const DOCUMENT: &'static str = "docs/events.md";

    fn make(self) -> Result<()> {
        write_whole(Self::DOCUMENT, &page())
    }
}

/// The facts that the list of all kinds has, so that a kind's own table leaves them out.
const IN_THE_LIST: [&str; 3] = ["JDK", "Default", "Fields"];

/// Returns the text of docs/events.md.
fn page() -> String {
    let mut text = String::from(HEAD);
    text.push_str("| word | JDK | default | what | fields |\n|---|---|---|---|---|\n");
    for kind in EVENTS {
        let EventKind { word, since, by_default, marker, .. } = kind;
        let default = if *by_default { "on" } else { "off" };
        let fields = marker.fields.iter().map(|field| format!("`{}` {}", field.key, field.label));
        let fields = fields.collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "| [`{word}`](#{word}) | {since} | {default} | {} | {fields} |",
            marker.description
        );
    }
    for kind in EVENTS {
        let EventKind { word, marker, .. } = kind;
        let _ = write!(text, "\n## {word}\n\n| | |\n|---|---|\n| In a profile | ");
        let _ = if marker.key == ALLOCATION.marker.key {
            writeln!(text, "a table of allocations, which the front-end's call tree can count |")
        } else {
            writeln!(text, "markers of the type `{}`, called \"{}\" |", marker.key, marker.label)
        };
        for (title, what) in kind.about() {
            if !IN_THE_LIST.contains(&title) {
                let _ = writeln!(text, "| {title} | {what} |");
            }
        }
    }
    text
}

const HEAD: &str = "\
# JVM events: why a method waited

A method can look slow because a collection ran or a thread held a lock. With `events=` Vouch
records such events on the clock of the samples (CLOCK_MONOTONIC, which is `System.nanoTime`).
`events=default` records collections and contended monitors. This line adds allocations:

    java -agentpath:/path/to/libvouch.so=out=app.json.gz,events=default+alloc -jar app.jar

[A table](#all-kinds) lists all kinds, and each has a section below. JFR has more kinds, and times
for some of these that JVMTI does not have. [jfr.md](jfr.md) explains how its recording gets into
the profile, and [jfr-events.md](jfr-events.md) lists its kinds. Folded stacks have no events.

## In the timeline

- **Events are markers** of the threads that they happened to. Events of the whole process are in
  the first track.
- **A collection of 10 ms and more** is also a marker `held_up`. It is in the tracks of threads that
  ran until the collection stopped them and ran on after it. Such a thread has samples just before
  and just after it, and by its own clock rested for hardly longer than the pause. Threads that ran
  in native code, or also had to wait for a processor or for a second pause, have no such marker.
- **A marker's stack** is GetStackTrace's of that very moment, of 2,048 frames at most. It is
  checked against the bytecode like a sample's, and set apart if that contradicts it.
- **`alloc` makes no markers.** The front-end counts allocations instead of time (call tree,
  \"Allocations\"). Each is weighted with bytes so that the sum is right. The leaf of its stack is the
  class. `measure=alloc` makes `.folded` and `.svg` count allocated bytes, and `.html` can show them.
- **Graphs.** `gc` adds one of the heap, dead objects included, and `jit` one of the size of the
  compiled code.

## Counted and shown

The report's `events` counts all events that the JVM reports of a kind: how many, how long they took
together, and the longest. If a kind is frequent, the timeline shows a part, and events of 50 ms and
more come first. Three limits apply:

- each kind's number in a second, as below
- 50 ms of CPU time in a second for their stacks
- 100,000 events in all

The report has `count`, `shown` and the number that was `left_out` in this way. A note says so, and
also if too many events came at once to be stored. Allocations get rarer instead, and each stands
for more. With `threads=` the events of other threads are counted, and not shown.

## Safepoints, classes and compilers

These totals in the report are from the JVM's own counters (not with -XX:-UsePerfData). The panel
shows each that is a hundredth of the run.

- **`safepoints`** {`count`, `stopped_ms`, `reaching_ms`} has how often and how long all threads
  were stopped, for any reason. The collections are a part of it. Before JDK 13 or so the JVM has
  `reaching_ms` in `stopped_ms`.
- **`classes`** {`loaded`, `initialized`, `loading_ms`, `linking_ms`, `initializing_ms`} and
  **`compilers`** {`compiled`, `failed`, `took_ms`} have elapsed times of all threads together, for
  work that ended in the run. A class's times leave out what is another class's time inside them. If
  a call of a class loader loads a class, and not the JVM by itself, `loading_ms` has only its
  definition. `took_ms` counts only compilations that produced code.

## Threads that still wait

The profile also shows what threads wait for when the recording ends or is dumped. So a `dump` of a
program that hangs says what it waits for.

- With `monitor`: the thread that wants a lock, and the owner. They are a marker (`Still waits for a
  lock`), the report's `waiting` {`thread`, `class`, `owner`, `waited_ms`}, and a line of the
  `verbose` summary.
- With `wait`: the threads that have not been notified.
- With `park`: the parked threads and, for a lock, its owner.

Each kind has the 200 that have waited the longest. When a wait is over, the next profile has all of
it. What is missing:

- waits that began before the recording
- a monitor's owner before JDK 17 (that JVM may crash on the question), and beyond the first 20
- a monitor's class, where the agent was attached

## All kinds

`vouch events` prints this table.

";

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_is_that_of_the_catalogue() {
        let written = include_str!("../../../docs/events.md");
        assert!(
            written == super::page(),
            "docs/events.md differs from the catalogue: run cargo xtask page events"
        );
    }
}
