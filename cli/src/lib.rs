//! `vouch`: the one command. It brings the agent into JVMs, and reads what that wrote.
//!
//! Each verb has a file; this one only chooses. A mistake is one sentence on stderr and exit code
//! 1, wrong usage is clap's with 2, and a reader who has seen enough (`| head`) is no mistake.
//!
//! # Invariants
//!
//! **Invariant 26.** A JVM answers a command where the command was typed, and the command's folder
//! is gone when it has ended. A process that a signal would end gets none. A process that listens
//! instead of the JVM learns nothing. Among another user's files nothing is done with root's
//! rights. Held by: `java-tests/command`; `jvm/attach.rs` and `reply_dir.rs` with their tests.
#![forbid(unsafe_code)]

mod agent;
mod agent_options;
mod attach;
mod audit;
mod call_tree;
mod convert;
#[cfg(test)]
mod corrupt_profiles;
mod counted;
mod diff;
mod doctor;
mod document;
mod embed;
mod error;
mod events;
mod explain;
mod flame;
mod groups;
mod join;
mod jvm;
mod list;
mod mcp;
mod measure;
mod measured_profile;
mod merge;
mod neighbours;
mod orphaned_recordings;
mod outputs;
mod parquet;
mod profile;
mod recover;
mod reply_dir;
mod rewrite;
mod run;
mod sample_filter;
mod say;
mod send;
mod tally;
mod top;
mod unpack;
mod view;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, Subcommand};

use error::Error;
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
    /// Run a program under the agent, from its start to its end
    Run(run::Run),
    /// Record a running JVM until --duration is over, or Ctrl-C
    Attach(attach::Attach),
    /// List the JVMs that run here
    List,
    /// Report what works here, what does not, and what to change
    Doctor(doctor::Doctor),
    /// Start a recording in a running JVM, and return at once
    Start(attach::Attach),
    /// Stop a JVM's recording, and write its files
    Stop(attach::To),
    /// Write what a JVM has recorded so far; the recording goes on
    Dump(attach::To),
    /// Print the state of a JVM's recording in one line
    Status(attach::Whom),
    /// Explain why stacks are refuted, or plausible and not proven
    Explain {
        /// A trust report (.json) or a profile (.json, .json.gz) by Vouch
        file: PathBuf,
        /// The number of a refutation, from the list, the summary or a marker; or w1, w2…: a stack
        /// that the JVM itself contradicts [default: the list]
        #[arg(allow_negative_numbers = true)]
        which: Option<Which>,
    },
    /// Print the times of the program's groups of tasks: on a CPU, blocked, over the limit
    Groups {
        /// Trust reports (.json) or profiles (.json, .json.gz) by Vouch, or process ids of JVMs
        /// that are being recorded; their times are added up
        #[arg(required = true, num_args = 1.., value_name = "FILE|PID")]
        of: Vec<PathBuf>,
        #[command(flatten)]
        how: groups::GroupsOptions,
    },
    /// Check each stack of another profiler's recording against the bytecode
    Audit {
        /// Files of one run: Flight Recorder files (.jfr) by the JVM or async-profiler. Or a
        /// profile by Vouch, folded stacks, or pprof
        #[arg(required = true, num_args = 1.., value_name = "RECORDING")]
        recordings: Vec<PathBuf>,
        #[command(flatten)]
        how: audit::AuditOptions,
    },
    /// List the JVM events that `events=` can record or a JFR file can add
    Events {
        /// Describe this kind of event, or list the kinds with this in their names
        word: Option<String>,
        /// List the kinds of event in this recording (.jfr)
        #[arg(long, value_name = "RECORDING")]
        of: Option<PathBuf>,
    },
    /// Merge profiles of several processes or times, or add a JFR file to a profile
    Merge {
        /// Profiles (.json, .json.gz) and recordings (.vouch) by Vouch; or one profile and the .jfr
        /// file of the same run, to add its events to the tracks of their threads
        #[arg(required = true, num_args = 1.., value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        how: merge::MergeOptions,
    },
    /// Write the profile of a JVM that was killed, from its recording on disk
    Recover {
        /// Recordings (.vouch) of processes that have ended, or that still run
        #[arg(required = true)]
        recordings: Vec<PathBuf>,
        #[command(flatten)]
        how: recover::RecoverOptions,
    },
    /// Write a recording in another format, or many profiles as one table (.parquet)
    Convert {
        /// A recording (.vouch) that `recording=keep` kept, or of a JVM that was killed. For a
        /// table also OpenTelemetry profiles (.otlp.gz) and folders; several files are one table
        #[arg(required = true, num_args = 1.., value_name = "FILE|FOLDER")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        how: convert::ConvertOptions,
    },
    /// Add source text to a profile, so that the front-end shows the time beside each line
    Embed {
        /// A profile (.json, .json.gz) by Vouch
        profile: PathBuf,
        #[command(flatten)]
        how: embed::EmbedOptions,
    },
    /// List the methods that took more or less in one run than in another, beyond chance
    Diff {
        /// A profile (.json, .json.gz) of the program as it was
        #[arg(value_name = "BEFORE")]
        first: PathBuf,
        /// A profile of the program as it is now
        #[arg(value_name = "AFTER")]
        second: PathBuf,
        #[command(flatten)]
        how: diff::DiffOptions,
    },
    /// Draw a flame graph (.svg)
    Flame {
        /// A profile (.json, .json.gz) by Vouch
        file: PathBuf,
        #[command(flatten)]
        how: flame::FlameOptions,
    },
    /// List where the time went, or what was allocated: by method, line, thread or context
    Top {
        /// A profile (.json, .json.gz) by Vouch
        file: PathBuf,
        #[command(flatten)]
        question: top::Question,
    },
    /// Send the profiles in a folder to an OpenTelemetry Collector, as they are written
    Send {
        /// The folder with profiles (.otlp.gz); each is removed when the Collector has it
        folder: PathBuf,
        #[command(flatten)]
        how: send::SendOptions,
    },
    /// Open a profile in the Firefox Profiler; the profile stays on this machine
    View {
        /// A profile (.json, .json.gz) by Vouch
        file: PathBuf,
        #[command(flatten)]
        how: view::ViewOptions,
    },
    /// Answer an assistant's questions about profiles (Model Context Protocol)
    Mcp,
    /// Print the version
    #[command(hide = true)]
    Version,
}

/// Runs the command that the arguments name, and returns the exit code.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let error = suggest_verb(error);
            let code = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(u8::MAX));
            return written(error.print(), code);
        }
    };
    match answer(arguments.verb) {
        Ok((text, code)) => written(io::stdout().lock().write_all(text.as_bytes()), code),
        Err(mistake) => refuse(&mistake),
    }
}

/// Returns the exit code after a text was written. If the reader has closed the pipe, that is no
/// error.
fn written(result: io::Result<()>, code: ExitCode) -> ExitCode {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => refuse(&Error::Answer(error)),
        _ => code,
    }
}

/// Adds to a usage error the verb that the user probably meant. clap suggests none if two letters
/// are swapped.
fn suggest_verb(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let distance = |verb: &str| strsim::damerau_levenshtein(word, verb);
    let verbs =
        Arguments::command().get_subcommands().map(|verb| verb.get_name().to_owned()).collect::<Vec<_>>();
    let near = verbs.into_iter().filter(|verb| distance(verb) <= 1 + verb.len() / 3);
    let near = near.min_by_key(|verb| distance(verb));
    match near {
        Some(verb) => error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![verb])),
        None => error.remove(ContextKind::SuggestedSubcommand),
    };
    error
}

/// Returns clap's description of the command, for the manual and for completion in shells.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Runs a verb, and returns the text to print with the exit code.
fn answer(verb: Verb) -> Result<(String, ExitCode), Error> {
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
        Verb::Convert { files, how } => convert::convert(&files, &how),
        Verb::Diff { first, second, how } => diff::diff(&first, &second, &how),
        Verb::Embed { profile, how } => embed::embed(&profile, how),
        Verb::Recover { recordings, how } => recover::recover(&recordings, &how),
        Verb::Send { folder, how } => send::send(folder, &how),
        Verb::View { file, how } => view::view(&file, &how),
        Verb::Flame { file, how } => flame::flame(&file, how),
        Verb::Top { file, question } => top::top(&file, &question),
        Verb::Mcp => mcp::mcp(),
        Verb::Version => Ok(format!("vouch {}\n", env!("CARGO_PKG_VERSION"))),
    };
    told.map(|text| (text, ExitCode::SUCCESS))
}

/// Prints an error. A closed stderr must not cause a panic.
fn refuse(mistake: &Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "{}", in_a_line(&mistake.to_string()));
    ExitCode::FAILURE
}

/// Returns an error as one line. Control characters are escaped, because names of files may contain
/// them and a terminal would execute them.
fn in_a_line(mistake: &str) -> String {
    format!("vouch: {}", vouch_report::escaped(mistake))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_command_is_answered_with_the_nearest_one() {
        let said = |word: &str| {
            let error = Arguments::try_parse_from(["vouch", word]).err().map(suggest_verb);
            error.map(|error| error.to_string()).unwrap_or_default()
        };
        for (word, meant) in
            [("tpo", "top"), ("stpo", "stop"), ("lsit", "list"), ("mrege", "merge"), ("flam", "flame")]
        {
            assert!(said(word).contains(&format!("similar subcommand exists: '{meant}'")), "{}", said(word));
        }
        let said = said("xyzzyplugh");
        assert!(said.contains("unrecognized subcommand") && !said.contains("similar"), "{said}");
    }
}
