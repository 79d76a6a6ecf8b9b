//! Which events of a recording are added to the profile.

/// How many events of each kind are shown by default.
pub const MAX_SHOWN_PER_KIND: usize = 10_000;

/// The user's choice of events.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The name of the recording.
    pub recording: String,
    /// Names of kinds, with `*` for any part of one. Empty: all kinds of events, without states.
    pub events: Vec<String>,
    /// How many events of each kind are shown.
    pub most: usize,
}

/// True if the name matches the pattern, in which `*` matches any text.
pub fn is_like(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    loop {
        if is_like(name, rest) {
            return true;
        }
        let Some((next, _)) = name.char_indices().nth(1) else { return rest.is_empty() };
        name = &name[next..];
    }
}
