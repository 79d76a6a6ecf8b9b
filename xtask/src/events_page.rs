//! The page of all events, from the catalogue.

use std::fmt::Write as _;

use vouch_recording::kinds::{ALLOCATION, EVENTS, EventKind};

/// docs/events.md.
pub fn page() -> String {
    let mut text = String::from(HEAD);
    text.push_str("| word | JDK | default | what | fields |\n|---|---|---|---|---|\n");
    for kind in EVENTS {
        let EventKind { word, since, by_default, mark, .. } = kind;
        let default = if *by_default { "on" } else { "off" };
        let fields = mark.figures.iter().map(|figure| format!("`{}` {}", figure.key, figure.label));
        let fields = fields.collect::<Vec<_>>().join(", ");
        let _ =
            writeln!(text, "| [`{word}`](#{word}) | {since} | {default} | {} | {fields} |", mark.description);
    }
    for kind in EVENTS {
        let EventKind { word, mark, .. } = kind;
        let _ = write!(text, "\n## {word}\n\n{} ", mark.description);
        let _ = if mark.key == ALLOCATION.mark.key {
            writeln!(
                text,
                "In a profile: a table of allocations, which the front-end's call tree can count.\n"
            )
        } else {
            writeln!(text, "In a profile: markers of the type `{}`, called \"{}\".\n", mark.key, mark.label)
        };
        for (title, what) in kind.about() {
            let _ = writeln!(text, "- {title}: {what}");
        }
    }
    text
}

const HEAD: &str = "\
# What the JVM did meanwhile

A method looks slow because a collection ran or a lock was held. With `events=` Vouch records such things on the clock of the samples
(CLOCK_MONOTONIC, which is `System.nanoTime`). They stand in the timeline as markers of the threads that they happened to, what happened
to all of the process in the first track. A collection of 10 ms and more stands as `held_up` in the tracks of threads that ran until it stopped them and ran on after it, too:
who was seen to run just before and just after it, and rested by its own clock for hardly longer than the pause; not told of who ran in native code, had to wait
for a processor, too, or for a second pause. Where a marker has a stack it is GetStackTrace's of that very moment, of 2,048 frames at most; it is held to the
bytecode like a sample's, and set apart if that contradicts it. `alloc` makes no markers: the front-end counts it in the place of time (call tree,
\"Allocations\"; each stands for as many bytes as make the sum right). With `gc` there is a graph of the heap, dead objects
included, with `jit` one of the compiled code that there is.

    java -agentpath:/path/to/libvouch.so=out=app.json.gz,events=default+alloc -jar app.jar

All events of a kind that the JVM tells are counted, in the report's `events`: how many, how long they took together, the longest. Of a kind that comes
often a part is shown, what took 50 ms and more before the rest: so many in a second as each kind has below, until their stacks have taken 50 ms of CPU time in that second,
and 100,000 in all. The report has `count`, `shown` and what was `left_out` so; a note says it, too, and that events found no room, where too many came at once. Allocations get
rarer instead, and each stands for more. With `threads=` the events of other threads are
counted, and not shown. Folded stacks have none of it.

The report's `safepoints` {`count`, `stopped_ms`, `reaching_ms`} has how often and how long all threads stood still, for whatever reason, from
the JVM's own counters (not with -XX:-UsePerfData): the collections are a part of it. Before JDK 13 or so the JVM has the second in the first.
From the same counters are `classes` {`loaded`, `initialized`, `loading_ms`, `linking_ms`, `initializing_ms`} and `compilers` {`compiled`, `failed`, `took_ms`}: times by
the clock of all threads together, of what ended in the run, those of classes without what is a time of another class's in them. Of what is loaded by a call of a class
loader, and not because the JVM needs it, `loading_ms` has no more than the definition; the compilers' time is of what came of it. The panel has each that is a
hundredth of the run.

What threads still wait for when the recording ends, or is dumped, is told apart: with `monitor` who wants a lock and who has it (`Still waits for a lock`, the
report's `waiting` {`thread`, `class`, `owner`, `waited_ms`}, a line of the `verbose` summary), with `wait` who has not been notified, with `park` who is parked, and, if it is for a lock, who has that; of each
the 200 that have waited the longest. So a `dump` of a program that hangs says on what. Not told: what began before the recording; who has a monitor, before JDK 17 (whose JVM may crash
on the question) and beyond the first 20; the class of it, where the agent was attached. When a wait is over the next profile has all of it.

JFR knows more kinds, and times for some of these that JVMTI does not tell: [jfr.md](jfr.md) has how its recording gets into the profile,
[jfr-events.md](jfr-events.md) what each of them tells.

This page is made of the catalogue in `agent/recording/src/kinds.rs` by `cargo xtask events-page`; `vouch events` prints the same.

";

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_is_that_of_the_catalogue() {
        let written = include_str!("../../docs/events.md");
        assert!(
            written == super::page(),
            "docs/events.md is not the catalogue's: cargo xtask events-page > docs/events.md"
        );
    }
}
