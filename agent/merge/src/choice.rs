//! Which of a recording's events are to be in the profile.

/// So many of each kind are shown if nobody asks for more.
pub const MAX_SHOWN_PER_KIND: usize = 10_000;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Choice {
    /// How the recording is called.
    pub recording: String,
    /// Kinds by name, `*` for any part of one; none: all that tell what happened.
    pub events: Vec<String>,
    /// So many of each kind are shown.
    pub most: usize,
}

/// True if `*` may stand for whatever it has to.
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
