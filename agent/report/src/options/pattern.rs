//! Replaces the patterns in file names: `%p`, `%t`, `%{NAME}` and `%%`.
//!
//! The caller passes the values, so this module does not depend on a process.

use crate::error::Error;

/// Stands for the time in a name. No file name has this character.
const TIME: &str = "\0";

/// The name of a file with its patterns replaced, except for the time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedName(String);

impl TimedName {
    /// Returns the name with this time.
    pub fn at(&self, time: &str) -> String {
        self.0.replace(TIME, time)
    }

    /// Returns true if the name depends on the time.
    pub fn has_time(&self) -> bool {
        self.0.contains(TIME)
    }
}

/// The values that replace the patterns in one process.
#[expect(missing_debug_implementations, reason = "it borrows a function")]
pub struct PatternValues<'a> {
    /// The process id, which replaces `%p`.
    pub pid: u32,
    /// The time at which the agent was loaded, which replaces `%t`. `None` outside of the recorded
    /// JVM.
    pub time: Option<String>,
    /// Returns the value of an environment variable, which replaces `%{NAME}`.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// True if the options came from an environment variable, which all JVMs of a command inherit.
    pub inherited: bool,
}

impl PatternValues<'_> {
    /// Replaces the patterns in the name of an output file. If several JVMs have the same options,
    /// it adds the process id, so that they do not write the same file.
    pub fn expand_own(&self, name: &str) -> Result<String, Error> {
        let (path, has_pid) = self.replace(name)?;
        Ok(if self.inherited && !has_pid { before_ending(&path, &format!("-{}", self.pid)) } else { path })
    }

    /// Replaces the patterns as [`Self::expand_own`] does, except for the time.
    pub fn expand_but_time(&self, name: &str) -> Result<TimedName, Error> {
        let Self { pid, time: _, variable, inherited } = *self;
        Self { pid, time: Some(TIME.to_owned()), variable, inherited }.expand_own(name).map(TimedName)
    }

    /// Replaces the patterns in a text, without adding a process id.
    pub fn expand(&self, text: &str) -> Result<String, Error> {
        self.replace(text).map(|(path, _)| path)
    }

    /// Returns the text with its patterns replaced, and true if the text contains the process id.
    fn replace(&self, text: &str) -> Result<(String, bool), Error> {
        if text.is_empty() {
            return Err(Error::FileNameMissing);
        }
        let (mut path, mut has_pid) = (String::new(), false);
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            path.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('p') {
                path.push_str(&self.pid.to_string());
                has_pid = true;
                rest = after;
            } else if let Some(after) = rest.strip_prefix('t') {
                path.push_str(self.time.as_deref().ok_or(Error::TimeOutsideJvm)?);
                rest = after;
            } else if let Some(after) = rest.strip_prefix('%') {
                path.push('%');
                rest = after;
            } else if let Some((name, after)) = rest.strip_prefix('{').and_then(|r| r.split_once('}')) {
                let value = (self.variable)(name).ok_or_else(|| Error::VariableNotSet(name.to_owned()))?;
                path.push_str(&value);
                rest = after;
            } else {
                return Err(Error::UnknownPattern);
            }
        }
        path.push_str(rest);
        Ok((path, has_pid))
    }
}

/// Escapes each `%` in a name, so that replacing patterns leaves the name unchanged.
pub fn escaped(name: &str) -> String {
    name.replace('%', "%%")
}

/// Adds `%p` to a file name that lacks it, so that each JVM writes another file: `a.json.gz`
/// becomes `a-%p.json.gz`.
pub fn of_each_process(name: &str) -> String {
    if name.replace("%%", "").contains("%p") { name.to_owned() } else { before_ending(name, "-%p") }
}

/// Inserts a text before the ending of a file name: `a.json.gz` becomes `a-4711.json.gz`. A name
/// with no ending, or with the ending in a variable, stays the same.
fn before_ending(name: &str, word: &str) -> String {
    let file = name.rfind('/').map_or(0, |slash| slash + 1);
    let end = if name.ends_with(".gz") { name.len() - ".gz".len() } else { name.len() };
    let ending = name[file..end].rfind('.').map(|dot| file + dot);
    match ending.filter(|ending| !name[*ending..].contains('}')) {
        Some(ending) => format!("{}{word}{}", &name[..ending], &name[ending..]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{PatternValues, of_each_process};

    #[test]
    fn a_name_is_made_again_for_each_time() {
        let variable = |_: &str| Some("host".to_owned());
        let values = PatternValues { pid: 7, time: None, variable: &variable, inherited: true };
        let timed = values.expand_but_time("/p/%{H}-%t.json").unwrap();
        assert_eq!([timed.at("1"), timed.at("2")], ["/p/host-1-7.json", "/p/host-2-7.json"]);
        assert!(timed.has_time());
        assert!(!values.expand_but_time("%%t.json").unwrap().has_time());
    }

    #[test]
    fn each_process_has_a_separate_file() {
        for (name, own) in [
            ("a.json.gz", "a-%p.json.gz"),
            ("/prof.d/a.b.html", "/prof.d/a.b-%p.html"),
            ("a-%p.json", "a-%p.json"),
            ("%{A.B}", "%{A.B}"),
            ("prof.d/a", "prof.d/a"),
            ("x.gz", "x.gz"),
            ("100%%pure.json", "100%%pure-%p.json"),
        ] {
            assert_eq!(of_each_process(name), own);
        }
        let variable = |_: &str| Some("/p/x.json.gz".to_owned());
        let values = |inherited| PatternValues {
            pid: 7,
            time: Some("now".to_owned()),
            variable: &variable,
            inherited,
        };
        for (name, own) in [
            ("%{OUT}", "/p/x-7.json.gz"),
            ("a-%p.json", "a-7.json"),
            ("a-%t.json", "a-now-7.json"),
            ("100%%pure.json", "100%pure-7.json"),
        ] {
            assert_eq!(values(true).expand_own(name).as_deref(), Ok(own));
        }
        assert_eq!(values(false).expand_own("%{OUT}").as_deref(), Ok("/p/x.json.gz"));
        let elsewhere = PatternValues { time: None, ..values(false) };
        assert_eq!(elsewhere.expand_own("100%%true-%p.json").as_deref(), Ok("100%true-7.json"));
        assert!(elsewhere.expand_own("a-%t.json").is_err());
    }
}
