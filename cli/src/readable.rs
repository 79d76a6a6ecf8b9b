//! Text from a file, safe to print: names of classes and methods may hold any character.

/// A text on one line, without what a terminal would obey.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if obeyed(letter) { '\u{fffd}' } else { letter }).collect()
}

/// Control characters, line separators, and what turns the direction of writing.
fn obeyed(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
