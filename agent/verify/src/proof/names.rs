//! The names of hidden classes, which end in a number that differs from run to run.

/// A class may be called by a number, in code whose names are nobody's business. The JVM's are of
/// 31 bits, and one in some hundred thousand has fewer digits than this.
const LEAST_DIGITS: usize = 5;

/// Where the part begins that tells one hidden class from another: `.0x…`, `+0x…`, `/0x…`, or,
/// before JDK 15, `/` and digits.
pub fn hidden_part(class: &str) -> Option<usize> {
    let at = class.rfind(['.', '+', '/'])?;
    let tail = &class[at + 1..];
    let address = tail.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    // Behind an address a recording may number them, too.
    let is_long = || tail.len() >= LEAST_DIGITS || hidden_part(&class[..at]).is_some();
    let digits = !tail.is_empty() && tail.bytes().all(|b| b.is_ascii_digit());
    let number = class[at..].starts_with('/') && digits && is_long();
    (address || number).then_some(at)
}

/// A class's name without it.
pub fn without_hidden_part(class: &str) -> &str {
    &class[..hidden_part(class).unwrap_or(class.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_vm_added_is_taken_off() {
        for (class, rest) in [
            ("com/foo/Bar$$Lambda.0x00007f1c3c001000", "com/foo/Bar$$Lambda"),
            ("com/foo/Bar$$Lambda$14+0x0000000800c03000", "com/foo/Bar$$Lambda$14"),
            ("com/foo/Bar$$Lambda$1/1234567", "com/foo/Bar$$Lambda$1"),
            ("odd/Name.x", "odd/Name.x"),
            ("odd/12", "odd/12"),
            ("com/foo/Bar", "com/foo/Bar"),
            ("Bar", "Bar"),
        ] {
            assert_eq!(without_hidden_part(class), rest);
        }
    }
}
