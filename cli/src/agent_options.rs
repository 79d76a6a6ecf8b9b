//! Reads the options of a recording from the command line, each `--NAME VALUE` from the agent's
//! table, and writes the text that the agent reads.
//!
//! It must never judge whether a value can be used: the agent does that, in the JVM. `vouch run`
//! checks how values are written before it starts a JVM, by the agent's own rules.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use regex_lite::Regex;
use vouch_formats::Format;
use vouch_report::Detail;
use vouch_report::options::{
    AllowedWith, DEFAULT_OUT, DEFAULT_OUT_OF_PERIOD, EVERY, Key, explained, pattern,
};

use crate::error::Error;
use crate::outputs::free;

/// The names of the flags, which have no value.
const QUIET: &str = "quiet";
const VERBOSE: &str = "verbose";
pub const VERBOSE_HELP: &str = "Print the whole summary, with reasons, losses and all notes";
/// The name of the option that takes a line of agent options as its value.
const LINE: &str = "options";

/// The keys with names of files as values. The key `sources` has several names in one value.
pub const FILES: [&str; 3] = ["out", "report", "jfr"];

/// The set of options that a command accepts.
pub trait OptionSet {
    /// The heading above these options in the help.
    const HEADING: &'static str;

    fn has(key: &Key) -> bool;
}

/// The options of a command that begins a recording, which are all.
#[derive(Debug, Clone)]
pub struct Start;

/// The options of a command that writes a recording, which only name files.
#[derive(Debug, Clone)]
pub struct Write;

impl OptionSet for Start {
    const HEADING: &'static str = "Options of the recording";

    fn has(_: &Key) -> bool {
        true
    }
}

impl OptionSet for Write {
    const HEADING: &'static str = "Files to write instead of those that the recording was started with";

    fn has(key: &Key) -> bool {
        key.allowed_with == AllowedWith::Writing
    }
}

/// The options of a recording on the command line of a verb.
#[derive(Debug, Clone)]
pub struct Options<O> {
    pub given: AgentOptions,
    of: PhantomData<O>,
}

/// Options with their values, in the order of the agent's table.
#[derive(Debug, Clone, Default)]
pub struct AgentOptions {
    values: Vec<(&'static Key, String)>,
    /// The flags, and all words of option lines that are not `option=value` with a known option.
    words: Vec<String>,
}

impl AgentOptions {
    fn arguments<O: OptionSet>(command: Command) -> Command {
        let keys = explained().filter(|key| O::has(key));
        let (command, endings) = (command.next_help_heading(O::HEADING), Format::endings());
        let command = keys.fold(command, |command, key| {
            let default = key.default.map_or_else(String::new, |default| format!(" [default: {default}]"));
            let help = capitalized(&key.help(&endings).collect::<Vec<_>>().join(" ")) + &default;
            let action = if key.is_repeatable { ArgAction::Append } else { ArgAction::Set };
            let mut arg = Arg::new(key.name).long(key.name).value_name(key.value).help(help).action(action);
            arg = arg.allow_hyphen_values(true).hide_short_help(key.is_rare);
            command.arg(arg)
        });
        let line = "Pass options of the agent, key=value,key=value…; may be repeated";
        let line = Arg::new(LINE).short('o').value_name("OPTIONS").help(line).action(ArgAction::Append);
        let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
        let quiet = flag(QUIET).help("Print no summary, but for warnings").conflicts_with(VERBOSE);
        let verbose = flag(VERBOSE).help(VERBOSE_HELP);
        let command = command.arg(quiet).arg(verbose).arg(line.hide_short_help(true)).next_help_heading(None);
        let (verb, help) = (command.get_name().to_owned(), |name: &'static str| Arg::new(name).long(name));
        command
            .disable_help_flag(true)
            .arg(help("help").short('h').help("Print help").action(ArgAction::HelpShort))
            .arg(help("help-all").help("Print help with all options").action(ArgAction::HelpLong))
            .after_help(format!("`vouch {verb} --help-all` and docs/options.md have more options"))
    }

    fn from_matches<O: OptionSet>(matches: &ArgMatches) -> Self {
        let mut given = Self::default();
        for key in explained().filter(|key| O::has(key)) {
            let values = matches.get_many::<String>(key.name).into_iter().flatten();
            given.values.extend(values.map(|value| (key, value.clone())));
        }
        for line in matches.get_many::<String>(LINE).into_iter().flatten() {
            given.read(line);
        }
        let flags = [QUIET, VERBOSE].into_iter().filter(|flag| matches.get_flag(flag));
        given.words.extend(flags.map(str::to_owned));
        given
    }

    /// Adds the options in an option line of the agent.
    fn read(&mut self, line: &str) {
        for part in line.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let known = part
                .split_once('=')
                .and_then(|(name, value)| Some((vouch_report::options::find(name.trim())?, value.trim())));
            match known {
                Some((key, value)) => self.values.push((key, value.to_owned())),
                None => self.words.push(part.to_owned()),
            }
        }
    }

    /// Returns all values of one option.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.values.iter().filter(move |(key, _)| key.name == name).map(|(_, value)| value.as_str())
    }

    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    pub fn is_quiet(&self) -> bool {
        self.detail() == Detail::Quiet
    }

    /// Returns the level of detail of the summary at the end.
    pub fn detail(&self) -> Detail {
        let has = |flag: &str| self.words.iter().any(|word| word == flag);
        match () {
            () if has(QUIET) => Detail::Quiet,
            () if has(VERBOSE) => Detail::Verbose,
            () => Detail::Brief,
        }
    }

    /// Replaces each value of an option by the result of a function.
    pub fn change(&mut self, name: &str, mut to: impl FnMut(&str) -> String) {
        for (_, value) in self.values.iter_mut().filter(|(key, _)| key.name == name) {
            *value = to(value);
        }
    }

    /// Adds a name for the profile if the user set none.
    pub fn name_profile(&mut self) {
        if !self.has("out")
            && let Some(key) = vouch_report::options::find("out")
        {
            let name = if self.has(EVERY) { DEFAULT_OUT_OF_PERIOD } else { DEFAULT_OUT };
            self.values.push((key, name.to_owned()));
        }
    }

    /// Adds a name for the profile of this process if the user set none. The name is new in its
    /// folder, because the process may have been recorded before.
    pub fn name_new_profile(&mut self, pid: u32) {
        let named = self.has("out");
        self.name_profile();
        if !named && !self.has(EVERY) {
            let is_there = |name: &str| Path::new(name).symlink_metadata().is_ok();
            self.change("out", |name| new_name(name, pid, is_there));
        }
    }

    /// Returns a value of these options that is a relative path, if there is one.
    pub fn relative<'a>(&'a self, names: &'a [&str]) -> Option<&'a str> {
        let values = names.iter().flat_map(|name| self.all(name));
        values.flat_map(|value| value.split(':')).find(|path| !path.starts_with('/'))
    }

    /// Returns the errors in how values are written, before a JVM is started. The agent would find
    /// them, too, but later.
    pub fn mistakes(&self) -> Vec<Error> {
        let mut mistakes = self.wrong_endings();
        mistakes.extend(self.names_without_time());
        for (key, value) in &self.values {
            let wrong = match key.name {
                "threads" => Regex::new(value).err().map(Error::Regex),
                _ => key.form.check(value).err().map(Error::Option),
            };
            mistakes.extend(wrong.map(|why| of_option(key.name, value, why)));
        }
        mistakes
    }

    /// Returns an error for each name that all periods of `--every` would share. A variable may
    /// have the time.
    fn names_without_time(&self) -> Vec<Error> {
        let has_time = |name: &str| name.replace("%%", "").contains("%t") || name.contains("%{");
        let names = ["out", "report"].map(|key| self.all(key).map(move |name| (key, name)));
        let alike = names.into_iter().flatten().filter(|(_, name)| self.has(EVERY) && !has_time(name));
        alike.map(|(key, name)| of_option(key, name, Error::TimeMissing)).collect()
    }

    fn wrong_endings(&self) -> Vec<Error> {
        let wrong = |name: &'static str, must: String, is_right: &dyn Fn(&str) -> bool| -> Vec<Error> {
            // The ending of a name may come from a variable, so it cannot be checked here.
            let values = self.all(name).filter(|value| !value.ends_with('}') && !is_right(value));
            values.map(|value| of_option(name, value, Error::Ending(must.clone()))).collect()
        };
        let formats = Format::endings();
        let mut mistakes = wrong("out", formats.clone(), &|value| Format::from_file_name(value).is_some());
        mistakes.extend(wrong("report", ".json".to_owned(), &|value| value.ends_with(".json")));
        mistakes.extend(wrong("jfr", ".jfr".to_owned(), &|value| value.ends_with(".jfr")));
        mistakes
    }

    /// Makes the names of files absolute, because the JVM may have another working folder than this
    /// process.
    pub fn make_absolute(&mut self) -> Result<(), Error> {
        self.make_absolute_of(&FILES)
    }

    /// Makes the names of files in these options absolute, and the paths of sources.
    pub fn make_absolute_of(&mut self, names: &[&str]) -> Result<(), Error> {
        if self.relative(names).is_none() && self.relative(&["sources"]).is_none() {
            return Ok(());
        }
        let here = std::env::current_dir().map_err(|_| Error::FolderGone)?;
        let here = here.to_str().ok_or(Error::FolderNotUtf8)?;
        let from_here = |name: &str| {
            if Path::new(name).is_absolute() || name.starts_with("%{") {
                return name.to_owned();
            }
            format!("{}/{name}", pattern::escaped(here))
        };
        for name in names {
            self.change(name, from_here);
        }
        self.change("sources", |paths| {
            let paths: Vec<String> =
                paths.split(':').filter(|path| !path.is_empty()).map(from_here).collect();
            paths.join(":")
        });
        Ok(())
    }

    /// Adds the pid to the names of files, so that several JVMs do not write the same file.
    pub fn add_pid_to_names(&mut self) {
        for name in ["out", "report"] {
            self.change(name, pattern::of_each_process);
        }
    }

    /// Returns the option line for the agent: the words, followed by these options.
    pub fn text(&self, words: &[Cow<'_, str>]) -> Result<String, Error> {
        let given = self.values.iter().map(|(key, value)| format!("{}={value}", key.name));
        let words = words.iter().map(|word| word.clone().into_owned());
        let parts: Vec<String> = words.chain(given).chain(self.words.iter().cloned()).collect();
        match parts.iter().find(|part| part.contains(',')) {
            Some(part) => Err(Error::Comma { part: part.clone(), advice: without_comma(part) }),
            None => Ok(parts.join(",")),
        }
    }
}

/// Adds the option and its value to an error about the value.
pub fn of_option(key: &'static str, value: &str, why: Error) -> Error {
    Error::OptionValue { key, value: value.to_owned(), why: Box::new(why) }
}

/// Returns advice on what to write instead of a comma. The comma may be in the option, or in the
/// name of the folder that was put before it.
fn without_comma(part: &str) -> &'static str {
    match part.split_once('=').map_or(part, |(name, _)| name) {
        "threads" => "write `.` for a comma in a name, or `a|b` for two names",
        "events" | "recovery" => "join the words of a list by +",
        "sources" => "join paths by `:`, and rename a folder or file that has a comma in its name",
        name if FILES.contains(&name) => "choose a file and a folder without one in their names",
        _ => "choose a value without one",
    }
}

/// Returns a text that begins with a capital letter, as the help of each other option does.
fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Returns the first of the names `vouch-%p.json.gz`, `vouch-%p-2.json.gz` and so on for which no
/// file exists with this pid.
fn new_name(name: &str, pid: u32, is_there: impl Fn(&str) -> bool) -> String {
    free(name, |name| is_there(&name.replace("%p", &pid.to_string())))
}

impl<O: OptionSet> Args for Options<O> {
    fn augment_args(command: Command) -> Command {
        AgentOptions::arguments::<O>(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<O: OptionSet> FromArgMatches for Options<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { given: AgentOptions::from_matches::<O>(matches), of: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.given = AgentOptions::from_matches::<O>(matches);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> AgentOptions {
        let mut given = AgentOptions::default();
        given.read(line);
        given
    }

    fn text(given: &AgentOptions) -> String {
        given.text(&[Cow::Borrowed("start")]).unwrap()
    }

    #[test]
    fn an_option_line_of_the_agents_is_taken_as_it_is() {
        let given = read_line("out=a.json, quiet,break=gap/3,engien=x,out=b.folded");
        assert_eq!(text(&given), "start,out=a.json,break=gap/3,out=b.folded,quiet,engien=x");
        assert_eq!(given.all("out").collect::<Vec<_>>(), ["a.json", "b.folded"]);
    }

    #[test]
    fn wrong_endings_of_files_are_found_before_there_is_a_jvm() {
        let wrong = |line: &str| Error::Several(read_line(line).wrong_endings()).to_string();
        assert_eq!(
            wrong("out=a.txt,out=b.json,report=r.html,jfr=f.json"),
            "out=a.txt: must end in .json, .json.gz, .folded, .html, .svg, .pb.gz or .otlp.gz; report=r.html: must end in .json; jfr=f.json: must end in .jfr"
        );
        assert_eq!(wrong("out=a.%{ENDING},out=b-%p.folded,report=r.json,jfr=f.jfr,depth=x"), "");
    }

    #[test]
    fn values_are_checked_before_there_is_a_jvm() {
        let mistakes =
            read_line("interval=1xs,depth=0,engine=prof,threads=[,witness=often,out=a.txt").mistakes();
        let parts = [
            "out=a.txt: must end in",
            "interval=1xs: must be a whole number with us, ms, s, m, h or d",
            "depth=0: must be a whole number from 1 to 65536",
            "engine=prof: must be one of auto, perf, timer, itimer, poll",
            "threads=[: not a regular expression",
            "witness=often: must be off, sparing, or a rate",
        ];
        assert_eq!(mistakes.len(), parts.len(), "{mistakes:?}");
        for (mistake, part) in mistakes.iter().map(ToString::to_string).zip(parts) {
            assert!(mistake.contains(part) && !mistake.contains("hammer"), "{mistake}");
        }
        let right = "interval=250us,start=0s,duration=2m,depth=5,engine=hammer,witness=10/s,recording-limit=1MB,threads=^a";
        assert!(read_line(right).mistakes().is_empty());
    }

    #[test]
    fn names_of_periods_must_differ_by_the_time() {
        let wrong = |line: &str| Error::Several(read_line(line).mistakes()).to_string();
        assert_eq!(
            wrong("every=60s,out=a.json,out=b-%t.json,out=%{B}.json,report=%%t.json"),
            "out=a.json: each period would replace it: put %t into the name, as in app-%t.json.gz; \
             report=%%t.json: each period would replace it: put %t into the name, as in app-%t.json.gz"
        );
        assert_eq!(wrong("out=a.json"), "");
        let mut unnamed = read_line("every=60s");
        unnamed.name_new_profile(7);
        assert_eq!(text(&unnamed), "start,every=60s,out=vouch-%p-%t.json.gz");
    }

    #[test]
    fn the_files_of_several_jvms_have_the_pid_in_their_names() {
        let mut given = read_line("out=a.json.gz,out=b-%p.html,report=r.json,jfr=f.jfr");
        given.add_pid_to_names();
        assert_eq!(text(&given), "start,out=a-%p.json.gz,out=b-%p.html,report=r-%p.json,jfr=f.jfr");
    }

    #[test]
    fn a_profile_has_a_name_and_a_place() {
        let mut given = read_line("sources=src:/usr/src,report=%{HOME}/r.json");
        given.name_profile();
        given.make_absolute().unwrap();
        let here = std::env::current_dir().unwrap();
        let here = pattern::escaped(here.to_str().unwrap());
        assert_eq!(
            text(&given),
            format!("start,sources={here}/src:/usr/src,report=%{{HOME}}/r.json,out={here}/vouch-%p.json.gz")
        );
    }

    #[test]
    fn a_second_recording_of_a_process_takes_no_place_of_the_first() {
        let name = |there: &[&str]| new_name(DEFAULT_OUT, 7, |name| there.contains(&name));
        assert_eq!(name(&["vouch-8.json.gz", "vouch-%p.json.gz"]), "vouch-%p.json.gz");
        assert_eq!(name(&["vouch-7.json.gz"]), "vouch-%p-2.json.gz");
        assert_eq!(name(&["vouch-7.json.gz", "vouch-7-2.json.gz"]), "vouch-%p-3.json.gz");
        // A name from the user is kept: this file exists in the folder of this test.
        let mut named = read_line("out=Cargo.toml");
        named.name_new_profile(7);
        assert_eq!(text(&named), "start,out=Cargo.toml");
        let mut unnamed = read_line("");
        unnamed.name_new_profile(7);
        assert_eq!(text(&unnamed), "start,out=vouch-%p.json.gz");
    }

    #[test]
    fn a_comma_is_refused_where_it_would_end_the_option() {
        let mut given = read_line("");
        given.values.push((vouch_report::options::find("threads").unwrap(), "a{1,2}".to_owned()));
        assert!(given.text(&[]).unwrap_err().to_string().contains("a comma separates"));
        for (key, remedy) in [
            ("threads", "write `.` for a comma"),
            ("events", "by +"),
            ("out", "choose a file"),
            ("depth", "value"),
        ] {
            let mut given = AgentOptions::default();
            given.values.push((vouch_report::options::find(key).unwrap(), "a,b".to_owned()));
            let refused = given.text(&[]).unwrap_err().to_string();
            assert!(refused.contains(remedy) && refused.contains("a,b"), "{refused}");
        }
    }
}
