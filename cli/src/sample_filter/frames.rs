//! Selects samples by the frames of their stacks, and by the state of a thread that waits.

use std::str::FromStr;

use regex_lite::Regex;

use crate::profile::Profile;

/// The state of a thread in samples that are not of a wait.
const RUNNING: &str = "running";

/// The option `--state`: which states are counted.
#[derive(Debug, Clone)]
pub struct StateFilter {
    regex: Regex,
    /// True if the states that match are left out.
    is_inverted: bool,
}

impl FromStr for StateFilter {
    type Err = regex_lite::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let inverted = text.strip_prefix('!');
        let regex = Regex::new(inverted.unwrap_or(text))?;
        Ok(Self { regex, is_inverted: inverted.is_some() })
    }
}

impl StateFilter {
    /// Returns the state as text, as the user wrote it.
    pub fn words(&self) -> String {
        format!("state {}{}", if self.is_inverted { "!" } else { "" }, self.regex)
    }

    /// Returns for each stack whether its samples are counted.
    pub fn stacks(&self, profile: &Profile) -> Vec<bool> {
        let functions = functions_with(profile, &self.regex, |name| name.trim_matches(['[', ']']));
        let is_running_wanted = self.regex.is_match(RUNNING);
        let stacks = (0..profile.stacks()).map(|stack| {
            let is_match = if profile.is_waiting(stack) {
                functions[profile.function(stack)]
            } else {
                is_running_wanted
            };
            is_match != self.is_inverted
        });
        stacks.collect()
    }
}

/// Returns for each stack whether a frame of it has a name with a match.
pub fn stacks_with(profile: &Profile, regex: &Regex) -> Vec<bool> {
    let functions = functions_with(profile, regex, |name| name);
    let mut stacks: Vec<bool> = Vec::with_capacity(profile.stacks());
    for stack in 0..profile.stacks() {
        // A caller's stack has a smaller number, so its entry is already there.
        let is_below = profile.caller(stack).is_some_and(|caller| stacks[caller]);
        stacks.push(is_below || functions[profile.function(stack)]);
    }
    stacks
}

/// Returns for each function whether the relevant `part` of its name has a match.
pub fn functions_with(profile: &Profile, regex: &Regex, part: fn(&str) -> &str) -> Vec<bool> {
    let names = (0..profile.functions()).map(|function| profile.function_name(function));
    names.map(|name| regex.is_match(part(name))).collect()
}
