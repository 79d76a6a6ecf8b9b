//! Formats numbers, names and other text for people.
//!
//! Files that programs read must have plain numbers instead.

use crate::time::float;

/// Formats `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats milliseconds with a fitting unit: `8250.0` as `8.25 s`.
pub fn duration(ms: f64) -> String {
    match ms {
        _ if ms < 1.0 => format!("{:.0} µs", ms * 1000.0),
        _ if ms < 1000.0 => format!("{ms:.0} ms"),
        _ if ms < 60_000.0 => format!("{:.2} s", ms / 1000.0),
        _ => format!("{:.1} min", ms / 60_000.0),
    }
}

/// Formats a percentage with one decimal. A share below 100 % is never shown as 100 %.
pub fn percent(share: f64) -> String {
    if share < 100.0 && share > 99.9 {
        format!("{:.2} %", (share * 100.0).floor() / 100.0)
    } else {
        format!("{share:.1} %")
    }
}

/// Formats a count as `once` or `2 times`.
pub(crate) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count)) }
}

/// The prefixes of the JDK's packages.
const JDK_PACKAGES: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];

/// True if a class or method with this name is probably a part of the JDK.
pub fn is_of_jdk(name: &str) -> bool {
    JDK_PACKAGES.iter().any(|package| name.starts_with(package))
}

/// Replaces the braces in a text for the front-end's templates, because braces mark fields there.
pub fn in_template(text: &str) -> String {
    text.replace('{', "(").replace('}', ")")
}

/// Rewrites each method in a text as in Java source: `a/b/C.d:(ILjava/lang/String;)V` becomes
/// `a.b.C.d(int, String)`.
pub fn readable(text: &str) -> String {
    text.split(' ').map(|word| method(word).unwrap_or_else(|| word.to_owned())).collect::<Vec<_>>().join(" ")
}

fn method(word: &str) -> Option<String> {
    let (name, descriptor) = word.split_once(":(")?;
    let (mut types, _) = descriptor.split_once(')')?;
    let mut parameters = Vec::new();
    while !types.is_empty() {
        let (parameter, length) = parameter(types)?;
        parameters.push(parameter);
        types = types.get(length..)?;
    }
    Some(format!("{}({})", name.replace('/', "."), parameters.join(", ")))
}

/// Returns the first type of a descriptor in Java's notation, without its package. The second part
/// is its length in the descriptor, in bytes.
fn parameter(types: &str) -> Option<(String, usize)> {
    let simple = |name: &str| (name.to_owned(), 1);
    Some(match types.chars().next()? {
        'Z' => simple("boolean"),
        'B' => simple("byte"),
        'C' => simple("char"),
        'S' => simple("short"),
        'I' => simple("int"),
        'J' => simple("long"),
        'F' => simple("float"),
        'D' => simple("double"),
        'L' => {
            let (name, _) = types.get(1..)?.split_once(';')?;
            (name.rsplit('/').next().unwrap_or(name).to_owned(), name.len() + 2)
        }
        '[' => {
            let (element, length) = parameter(types.get(1..)?)?;
            (format!("{element}[]"), length + 1)
        }
        _ => return None,
    })
}

/// Replaces all control characters by U+FFFD. Names and values may contain any character, and a
/// terminal would execute control characters.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if is_control(letter) { '\u{fffd}' } else { letter }).collect()
}

/// Escapes all control characters in a text for an error message. The error may be about such a
/// character, so it stays visible.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_control(letter) {
            escaped.extend(letter.escape_default());
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// True for control characters, line separators, and marks that change the direction of text.
fn is_control(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Cuts a text to at most `max_chars` characters. An ellipsis follows a cut text.
pub fn shortened(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Joins the lines of a text with spaces.
pub(crate) fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Formats a number of bytes in the largest unit that gives at least one.
pub fn bytes(number: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10)];
    let unit = UNITS.into_iter().find(|(_, unit)| number >= *unit);
    unit.map_or_else(
        || format!("{number} B"),
        |(name, unit)| format!("{:.1} {name}", float(number) / float(unit)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let texts = [0, 999, 1000, 123_456, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "123,456", "1,234,567"]);
    }

    #[test]
    fn control_characters_are_replaced_or_escaped() {
        let text = "Größe\u{1b}[31m\n\u{202e}";
        assert_eq!(plain(text), "Größe\u{fffd}[31m\u{fffd}\u{fffd}");
        assert_eq!(escaped(text), r"Größe\u{1b}[31m\n\u{202e}");
    }

    #[test]
    fn methods_are_written_as_in_source() {
        let text = "invokevirtual a/b/C.d:(I[[Ljava/lang/String;Z)V then x/Y.<init>:()V";
        assert_eq!(readable(text), "invokevirtual a.b.C.d(int, String[][], boolean) then x.Y.<init>()");
        for damaged in ["a:(", "a:(L)V", "a:(Q)V", "no method"] {
            assert_eq!(readable(damaged), damaged);
        }
    }

    #[test]
    fn durations_have_the_unit_that_fits() {
        let texts = [0.25, 12.0, 8250.0, 90_000.0].map(duration);
        assert_eq!(texts, ["250 µs", "12 ms", "8.25 s", "1.5 min"]);
    }

    #[test]
    fn bytes_have_a_unit_that_a_person_can_read() {
        let texts = [0, 1_023, 1_024, 1_572_864, 5 << 30, 3 << 40].map(bytes);
        assert_eq!(texts, ["0 B", "1023 B", "1.0 kB", "1.5 MB", "5.0 GB", "3.0 TB"]);
    }
}
