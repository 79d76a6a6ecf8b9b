//! Families of threads: threads with names that differ only in digits, such as those of a pool.

/// Returns the name of the family of the thread with this name, such as `pool-#-thread-#`.
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
    fn each_run_of_digits_becomes_one_sign() {
        assert_eq!(family("pool-17-thread-3"), "pool-#-thread-#");
        assert_eq!(family("pool-1-thread-4711"), "pool-#-thread-#");
        assert_eq!(family("main"), "main");
    }
}
