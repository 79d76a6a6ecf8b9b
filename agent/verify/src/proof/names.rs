//! Recognises the names of hidden classes, which end in a number that differs from run to run.

/// The minimal number of digits after `/` that count as a number from the JVM. An obfuscated
/// program may have classes named by short numbers. The JVM's numbers have 31 bits, and about one
/// in 100,000 has fewer digits than this.
const MIN_DIGITS: usize = 5;

/// Returns the index in a hidden class's name at which the VM's addition begins: `.0x…`, `+0x…`,
/// `/0x…`, or, before JDK 15, `/` and digits. The result is `None` for other classes.
pub fn hidden_part(class: &str) -> Option<usize> {
    let at = class.rfind(['.', '+', '/'])?;
    let tail = &class[at + 1..];
    let address = tail.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
    // A recording may add another number after an address.
    let is_long = || tail.len() >= MIN_DIGITS || hidden_part(&class[..at]).is_some();
    let digits = !tail.is_empty() && tail.bytes().all(|b| b.is_ascii_digit());
    let number = class[at..].starts_with('/') && digits && is_long();
    (address || number).then_some(at)
}

/// Returns a class's name without the part that the VM adds to the name of a hidden class.
pub fn without_hidden_part(class: &str) -> &str {
    &class[..hidden_part(class).unwrap_or(class.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_part_that_the_vm_added_is_removed() {
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
