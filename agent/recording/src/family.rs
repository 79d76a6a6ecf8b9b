//! Threads whose names differ in digits alone are of one family: a pool's, mostly.

/// What a family is called: `pool-#-thread-#`.
pub fn family(name: &str) -> String {
    let mut family = String::with_capacity(name.len());
    for letter in name.chars() {
        let letter = if letter.is_ascii_digit() { '#' } else { letter };
        if letter != '#' || !family.ends_with('#') {
            family.push(letter);
        }
    }
    family
}

#[cfg(test)]
mod tests {
    use super::family;

    #[test]
    fn digits_are_one_sign_however_many_they_are() {
        assert_eq!(family("pool-17-thread-3"), "pool-#-thread-#");
        assert_eq!(family("pool-1-thread-4711"), "pool-#-thread-#");
        assert_eq!(family("main"), "main");
    }
}
