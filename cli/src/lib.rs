//! `vouch`: the one command. It brings the agent into JVMs, and reads what that wrote.
//!
//! Each verb has a file; this one only chooses. A mistake is one sentence on stderr and exit code 1, wrong usage is clap's
//! with 2, and a reader who has seen enough (`| head`) is no mistake.
#![forbid(unsafe_code)]

mod agent;
mod attach;
mod audit;
mod chosen;
mod convert;
#[cfg(test)]
mod damaged;
mod diff;
mod doctor;
mod document;
mod embed;
mod events;
mod explain;
mod flame;
mod given;
mod groups;
mod join;
mod jvm;
mod left;
mod list;
mod merge;
mod outputs;
mod profile;
mod recover;
mod rewrite;
mod run;
mod say;
mod tally;
mod terminal;
mod top;
mod view;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use explain::Which;

/// A sampling profiler for the JVM that vouches for every stack it shows.
#[derive(Parser)]
#[command(name = "vouch", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Runs a program under the agent, from its start to its end
    Run(run::Run),
    /// Records a JVM that runs already, until --duration is over or Ctrl-C
    Attach(attach::Attach),
    /// The JVMs that run here
    List,
    /// What will work here and what will not, and what changes it
    Doctor(doctor::Doctor),
    /// Begins a recording in a JVM that runs, and does not wait for its end
    Start(attach::Attach),
    /// Ends a JVM's recording and writes what it was started with
    Stop(attach::To),
    /// Writes what a JVM's recording has so far, and lets it go on
    Dump(attach::To),
    /// What a JVM's recording has so far, in a line
    Status(attach::Whom),
    /// What is wrong with the stacks that were refuted
    Explain {
        /// A trust report (.json) or a profile (.json, .json.gz) of Vouch's
        file: PathBuf,
        /// The refutation's number, as the list, the summary and the profile's markers have it; or w1, w2…, the most frequent
        /// of those that the JVM itself contradicts; without it, the list
        #[arg(allow_negative_numbers = true)]
        which: Option<Which>,
    },
    /// What the program's groups of tasks took: on a processor, blocked, and how many took long
    Groups {
        /// Trust reports (.json) or profiles (.json, .json.gz) of Vouch's, or process ids of JVMs that are recorded: what they took in all
        #[arg(required = true, num_args = 1.., value_name = "FILE|PID")]
        of: Vec<PathBuf>,
        #[command(flatten)]
        how: groups::How,
    },
    /// How far another profiler's recording can be trusted: every stack in it, held to the bytecode
    Audit {
        /// Flight Recorder files (.jfr), the JVM's own or async-profiler's; several are one run. Or a profile of Vouch's, folded stacks, pprof
        #[arg(required = true, num_args = 1.., value_name = "RECORDING")]
        recordings: Vec<PathBuf>,
        #[command(flatten)]
        how: audit::How,
    },
    /// What of that which the JVM does meanwhile can be recorded, by `events=`, or merged out of a Flight Recorder file
    Events {
        /// One of them, by its word: what it tells, and what it does not; or a part of the names of several
        word: Option<String>,
        /// The kinds that there are in this recording (.jfr)
        #[arg(long, value_name = "RECORDING")]
        of: Option<PathBuf>,
    },
    /// Several profiles as one, of the processes of a service or the minutes of one; or a profile and its Flight Recorder file
    Merge {
        /// Profiles (.json, .json.gz) and recordings (.vouch) of Vouch's; or one profile, and a recording (.jfr) of the same run, whose
        /// events come on the profile's clock and into the tracks of their threads
        #[arg(required = true, num_args = 1.., value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        how: merge::How,
    },
    /// Makes the profile of a run whose JVM was killed, from the recording that it left
    Recover {
        /// Recordings (.vouch), of processes that are gone or that run still
        #[arg(required = true)]
        recordings: Vec<PathBuf>,
        #[command(flatten)]
        how: recover::How,
    },
    /// Writes a recording in another format
    Convert {
        /// A recording (.vouch): one that `recording=keep` has kept, or that a killed JVM has left
        recording: PathBuf,
        #[command(flatten)]
        how: convert::How,
    },
    /// Puts the source text of what a profile shows into it, so that the front-end has times beside each line
    Embed {
        /// A profile (.json, .json.gz) of Vouch's
        profile: PathBuf,
        #[command(flatten)]
        how: embed::How,
    },
    /// Which methods took more or less in one run than in another, as far as that is no chance
    Diff {
        /// A profile (.json, .json.gz) of Vouch's, of the program as it was
        #[arg(value_name = "BEFORE")]
        first: PathBuf,
        /// One of the program as it is now
        #[arg(value_name = "AFTER")]
        second: PathBuf,
        #[command(flatten)]
        how: diff::How,
    },
    /// Draws a flame graph as a picture (.svg)
    Flame {
        /// A profile (.json, .json.gz) of Vouch's
        file: PathBuf,
        #[command(flatten)]
        how: flame::How,
    },
    /// Where the time went: by method, line or thread, or by what the program said it was for
    Top {
        /// A profile (.json, .json.gz) of Vouch's
        file: PathBuf,
        #[command(flatten)]
        question: top::Question,
    },
    /// Serves a profile to the Firefox Profiler, and opens that; the profile does not leave this machine
    View {
        /// A profile (.json, .json.gz) of Vouch's
        file: PathBuf,
        #[command(flatten)]
        how: view::How,
    },
}

/// What the command line asks for.
pub fn main() -> ExitCode {
    match answer(Arguments::parse().verb) {
        Ok((text, code)) => match io::stdout().lock().write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                refuse(&format!("the answer could not be written: {error}"))
            }
            _ => code,
        },
        Err(mistake) => refuse(&mistake),
    }
}

/// The command as its manual and a shell's completion are made of it.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// What there is to say, and the exit code; or what is wrong.
fn answer(verb: Verb) -> Result<(String, ExitCode), String> {
    let told = match verb {
        Verb::Run(run) => return run::run(run).map(|code| (String::new(), code)),
        Verb::Attach(attach) => attach::attach(attach),
        Verb::List => list::list(),
        Verb::Doctor(doctor) => doctor::doctor(doctor),
        Verb::Start(attach) => attach::start(attach),
        Verb::Stop(to) => attach::ask("stop", to),
        Verb::Dump(to) => attach::ask("dump", to),
        Verb::Status(whom) => attach::status(&whom),
        Verb::Explain { file, which } => explain::explain(&file, which),
        Verb::Groups { of, how } => groups::groups(&of, &how),
        Verb::Audit { recordings, how } => audit::audit(&recordings, &how),
        Verb::Events { word, of } => events::events(word.as_deref(), of.as_deref()),
        Verb::Merge { files, how } => merge::merge(&files, how),
        Verb::Convert { recording, how } => convert::convert(&recording, &how),
        Verb::Diff { first, second, how } => diff::diff(&first, &second, &how),
        Verb::Embed { profile, how } => embed::embed(&profile, how),
        Verb::Recover { recordings, how } => recover::recover(&recordings, &how),
        Verb::View { file, how } => view::view(&file, &how),
        Verb::Flame { file, how } => flame::flame(&file, how),
        Verb::Top { file, question } => top::top(&file, &question),
    };
    told.map(|text| (text, ExitCode::SUCCESS))
}

/// Says it. That nobody reads stderr must not become a panic.
fn refuse(mistake: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "{}", in_a_line(mistake));
    ExitCode::FAILURE
}

/// A mistake as a person reads it: the name of a file, or what a file names, may hold what a terminal would obey.
fn in_a_line(mistake: &str) -> String {
    format!("vouch: {}", vouch_report::escaped(mistake))
}
