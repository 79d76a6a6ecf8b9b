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
}

impl Place<'_> {
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
