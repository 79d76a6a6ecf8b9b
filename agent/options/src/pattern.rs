//! The patterns in a file's name: `%p`, `%t`, `%{NAME}` and `%%`.
//!
//! What they stand for comes from outside: the process is asked by whoever lives in it.

/// What the patterns stand for in a process.
#[expect(missing_debug_implementations, reason = "it borrows a function")]
pub struct Place<'a> {
    pub pid: u32,
    /// When the agent was loaded, fit for a file's name.
    pub time: String,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The options came through the environment, which every JVM reads that a command starts.
    pub inherited: bool,
}

impl Place<'_> {
    /// The same in the name of a file to be written: two JVMs that have the same options must not write one file.
    pub fn expand_own(&self, name: &str) -> Result<String, String> {
        if self.inherited { self.expand(&of_each_process(name)) } else { self.expand(name) }
    }

    /// Replaces the patterns in `text`.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        if text.is_empty() {
            return Err("a file name is missing".to_owned());
        }
        let mut path = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            path.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('p') {
                path.push_str(&self.pid.to_string());
                rest = after;
            } else if let Some(after) = rest.strip_prefix('t') {
                path.push_str(&self.time);
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
        Ok(path)
    }
}

/// A name that stands for itself.
pub fn escaped(name: &str) -> String {
    name.replace('%', "%%")
}

/// A file's name with the process's number in it, so that each of several JVMs has a file of its own: `a.json.gz` → `a-%p.json.gz`.
pub fn of_each_process(name: &str) -> String {
    let file = name.rfind('/').map_or(0, |slash| slash + 1);
    let end = if name.ends_with(".gz") { name.len() - ".gz".len() } else { name.len() };
    let ending = name[file..end].rfind('.').map(|dot| file + dot);
    match ending {
        Some(ending) if !name.contains("%p") && !name[ending..].contains('}') => {
            let (stem, ending) = name.split_at(ending);
            format!("{stem}-%p{ending}")
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::of_each_process;

    #[test]
    fn each_process_has_a_file_of_its_own() {
        for (name, own) in [
            ("a.json.gz", "a-%p.json.gz"),
            ("/prof.d/a.b.html", "/prof.d/a.b-%p.html"),
            ("a-%p.json", "a-%p.json"),
            ("%{A.B}", "%{A.B}"),
            ("prof.d/a", "prof.d/a"),
            ("x.gz", "x.gz"),
        ] {
            assert_eq!(of_each_process(name), own);
        }
    }
}
