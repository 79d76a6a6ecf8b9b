//! The user's choice of the events that are added to the profile.

/// By default at most this many events of each kind are shown.
pub const MAX_SHOWN_PER_KIND: usize = 10_000;

/// The options by which a user chooses events of a recording.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The name of the recording's file.
    pub recording: String,
    /// The names of the wanted kinds, in which `*` matches any text. If empty, all kinds are wanted
    /// except for states, samples and JFR's own settings.
    pub events: Vec<String>,
    /// At most this many events of each kind are shown.
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
