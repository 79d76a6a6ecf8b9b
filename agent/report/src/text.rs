//! Numbers as a person reads them.
//!
//! It must never be used for what a machine reads: that gets plain numbers.

/// `1234567` as `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `8,250 ms` as `8.25 s`, with as many figures as mean something.
pub fn duration(ms: f64) -> String {
    match ms {
        _ if ms < 1.0 => format!("{:.0} µs", ms * 1000.0),
        _ if ms < 1000.0 => format!("{ms:.0} ms"),
        _ if ms < 60_000.0 => format!("{:.2} s", ms / 1000.0),
        _ => format!("{:.1} min", ms / 60_000.0),
    }
}

/// A share, with as many figures as mean something; what is not all is never shown as all.
pub fn percent(share: f64) -> String {
    if share < 100.0 && share > 99.9 {
        format!("{:.2} %", (share * 100.0).floor() / 100.0)
    } else {
        format!("{share:.1} %")
    }
}

/// `once`, `2 times`.
pub(crate) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count)) }
}

/// How the packages of a JDK begin.
const JDK: [&str; 5] = ["java.", "javax.", "jdk.", "sun.", "com.sun."];

/// True if a class of this name, or a method, is a JDK's, where nothing but the name is known.
pub fn is_of_jdk(name: &str) -> bool {
    JDK.iter().any(|package| name.starts_with(package))
}

/// A text of somebody else's in one of the front-end's templates, in which braces have a meaning.
pub fn in_template(text: &str) -> String {
    text.replace('{', "(").replace('}', ")")
}

/// A text with methods in it, each as a person writes it: `a/b/C.d:(ILjava/lang/String;)V` as
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

/// The first type of a descriptor, without its package, and how much of the descriptor it is.
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

/// A text on one line, without what a terminal would obey: names and values may hold any character.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if obeyed(letter) { '\u{fffd}' } else { letter }).collect()
}

/// The same for what is refused: which letter a terminal would obey is told, since that may be what
/// is wrong.
pub fn escaped(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    for letter in text.chars() {
        if obeyed(letter) {
            told.extend(letter.escape_default());
        } else {
            told.push(letter);
        }
    }
    told
}

/// Control characters, line separators, and what turns the direction of writing.
fn obeyed(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text of at most so many characters.
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// A text on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
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
    fn what_a_terminal_would_obey_is_not_there_and_can_be_told() {
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
}
