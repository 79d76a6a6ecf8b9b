//! Text from a file, safe to print: names of classes and methods may hold any character.

/// A text on one line, without what a terminal would obey.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}
