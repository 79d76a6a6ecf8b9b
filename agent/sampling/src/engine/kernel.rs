//! What the kernel allows with perf's CPU clock: how many samples, and whether the running release
//! (`uname -r`) is safe for it.
//!
//! Linux 6.16 can hang on a throttled event of the CPU clock (async-profiler's issue 1578). It
//! stops the event inside its own timer's interrupt, and then waits for that interrupt to end. The
//! core hangs, and soon the machine. The fix came with 6.18 and 6.17.8. It left an event's timer
//! running after the event's memory had been freed (CVE-2026-23014), which 6.18.6 fixes. By then
//! 6.16 and 6.17 were no longer maintained. A distribution may have backported a fix; the check
//! uses only the number. It must never report a release that it cannot parse as dangerous.

/// Returns why perf's CPU clock is dangerous on this kernel release. Returns `None` if no danger is
/// known.
pub fn danger(release: &str) -> Option<String> {
    const CAN_HANG: &str = "can hang the machine in a perf timer";
    const USES_FREED_MEMORY: &str = "can leave a perf timer running in freed memory (CVE-2026-23014)";
    let Release { version, patch, candidate } = Release::read(release)?;
    let why = match (version, patch, candidate) {
        ((6, 16), ..) | ((6, 17), 0..8, _) | ((6, 18), 0, Some(_)) => CAN_HANG,
        ((6, 17), ..) | ((6, 18), 0..6, _) | ((6, 19), 0, Some(0..5)) => USES_FREED_MEMORY,
        _ => return None,
    };
    Some(format!("Linux {release} {why}: 6.18.6 and later cannot"))
}

/// Returns how many samples a second the kernel allows for perf events. It throttles events that
/// come more often.
pub fn most_samples() -> Option<u32> {
    std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok()?.trim().parse().ok()
}

/// A parsed kernel release.
struct Release {
    version: (u32, u32),
    patch: u32,
    /// The number of a release candidate; `None` for a final release.
    candidate: Option<u32>,
}

impl Release {
    fn read(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (numbers, rest) = text.split_at(end);
        let mut numbers = numbers.split('.').map(str::parse);
        let version = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        let patch = numbers.next().and_then(Result::ok).unwrap_or(0);
        // A release candidate, as in 6.18.0-rc3, and in Fedora's 6.18.0-0.rc3.
        let candidate = rest
            .split(|c: char| !c.is_ascii_alphanumeric())
            .find_map(|word| word.strip_prefix("rc")?.parse().ok());
        Some(Self { version, patch, candidate })
    }
}

#[cfg(test)]
mod tests {
    use super::danger;

    #[test]
    fn kernels_as_distributions_name_them() {
        for (release, dangerous) in [
            ("2.6.32-754.el6.x86_64", false),
            ("4.18.0-553.16.1.el8_10.x86_64", false),
            ("5.15.0-139-generic", false),
            ("5.15.167.4-microsoft-standard-WSL2", false),
            ("6.1.0-37-amd64", false),
            ("6.1.141-155.222.amzn2023.x86_64", false),
            ("6.12.48+deb13-amd64", false),
            ("6.15.4-200.fc42.x86_64", false),
            ("6.16.0-rc1", true),
            ("6.16.8+deb14-amd64", true),
            ("6.16.12-200.fc42.x86_64", true),
            ("6.17.0-1005-azure", true),
            ("6.17.0-14-generic", true),
            ("6.17.1-300.fc43.x86_64", true),
            ("6.17.9-arch1-1", true),
            ("6.17.13-2-MANJARO", true),
            ("6.18.0-0.rc3.31.fc44.x86_64", true),
            ("6.18.0-rc7-next-20251124", true),
            ("6.18.0", true),
            ("6.18.5-1-default", true),
            ("6.18.6-arch1-1", false),
            ("6.18.44-fc-v445", false),
            ("6.19.0-rc4", true),
            ("6.19.0-rc5+", false),
            ("6.19.2-200.fc43.x86_64", false),
            ("7.0.0-1-generic", false),
            ("16.6.17", false),
            ("", false),
            ("unknown", false),
        ] {
            assert_eq!(danger(release).is_some(), dangerous, "{release}");
        }
    }

    #[test]
    fn it_says_what_may_happen_and_what_to_take() {
        let told = danger("6.17.1-300.fc43.x86_64").unwrap();
        assert_eq!(
            told,
            "Linux 6.17.1-300.fc43.x86_64 can hang the machine in a perf timer: 6.18.6 and later cannot"
        );
        assert!(danger("6.18.3").unwrap().contains("CVE-2026-23014"));
    }
}
