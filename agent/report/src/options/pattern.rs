//! The patterns in a file's name: `%p`, `%t`, `%{NAME}` and `%%`.
//!
//! What they stand for comes from outside: the process is asked by whoever lives in it.

/// What the patterns stand for in a process.
#[expect(missing_debug_implementations, reason = "it borrows a function")]
pub struct Place<'a> {
    pub pid: u32,
    /// When the agent was loaded, fit for a file's name; another process does not know it.
    pub time: Option<String>,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The options came through the environment, which every JVM reads that a command starts.
    pub inherited: bool,
}

impl Place<'_> {
    /// Replaces the patterns in the name of a file to be written: two JVMs that have the same
    /// options must not write one file.
    pub fn expand_own(&self, name: &str) -> Result<String, String> {
        let (path, has_pid) = self.replace(name)?;
        Ok(if self.inherited && !has_pid { before_ending(&path, &format!("-{}", self.pid)) } else { path })
    }

    /// Replaces the patterns in `text`.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        self.replace(text).map(|(path, _)| path)
    }

    /// The same; and whether the process's number is in it.
    fn replace(&self, text: &str) -> Result<(String, bool), String> {
        if text.is_empty() {
            return Err("a file name is missing".to_owned());
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
                path.push_str(
                    self.time
                        .as_deref()
                        .ok_or("%t is replaced only inside the recorded JVM: choose a name without it")?,
                );
                rest = after;
            } else if let Some(after) = rest.strip_prefix('%') {
                path.push('%');
                rest = after;
            } else if let Some((name, after)) = rest.strip_prefix('{').and_then(|r| r.split_once('}')) {
                let value = (self.variable)(name)
                    .ok_or_else(|| format!("the environment variable {name} is not set"))?;
                path.push_str(&value);
                rest = after;
            } else {
                return Err("after % there must be p, t, {NAME} or another %".to_owned());
            }
        }
        path.push_str(rest);
        Ok((path, has_pid))
    }
}

/// A name that stands for itself.
pub fn escaped(name: &str) -> String {
    name.replace('%', "%%")
}

/// A file's name with the process's number in it, so that each of several JVMs has a file of its
/// own: `a.json.gz` → `a-%p.json.gz`.
pub fn of_each_process(name: &str) -> String {
    if name.replace("%%", "").contains("%p") { name.to_owned() } else { before_ending(name, "-%p") }
}

/// `a.json.gz` → `a-4711.json.gz`. A name without an ending, or whose ending a variable has, stays
/// as it is.
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
    use super::{Place, of_each_process};

    #[test]
    fn each_process_has_a_file_of_its_own() {
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
        let place =
            |inherited| Place { pid: 7, time: Some("now".to_owned()), variable: &variable, inherited };
        for (name, own) in [
            ("%{OUT}", "/p/x-7.json.gz"),
            ("a-%p.json", "a-7.json"),
            ("a-%t.json", "a-now-7.json"),
            ("100%%pure.json", "100%pure-7.json"),
        ] {
            assert_eq!(place(true).expand_own(name).as_deref(), Ok(own));
        }
        assert_eq!(place(false).expand_own("%{OUT}").as_deref(), Ok("/p/x.json.gz"));
        let elsewhere = Place { time: None, ..place(false) };
        assert_eq!(elsewhere.expand_own("100%%true-%p.json").as_deref(), Ok("100%true-7.json"));
        assert!(elsewhere.expand_own("a-%t.json").is_err());
    }
}
