//! One look of the governor's at the machine and the process, and the difference of two looks.

use std::fs;
use std::time::{Duration, Instant};

use vouch_report::float;
use vouch_signal::handler_cost::HANDLER_COST;

use super::budget::Spent;
use super::policy::Seen;
use crate::clock::{self, seconds};

/// A look counts as late if it is delayed by more than this.
const LATE: Duration = Duration::from_secs(1);
/// In a storm of interrupts the process uses at least this part of all cores, and spends this part
/// of that in the kernel. Throttled containers and overloaded machines are late for other reasons.
const STORM: f64 = 0.5;

/// The machine and the process at one moment.
pub struct Look {
    wall: Instant,
    process_cpu: u64,
    system: u64,
    switches: u64,
    /// The number of signals, and the nanoseconds that their handlers took.
    sampling: (u64, u64),
    /// Timer interrupts of each core since the machine started.
    interrupts: Vec<u64>,
}

impl Look {
    /// Looks at the machine and the process now.
    pub fn now() -> Self {
        let usage = clock::usage();
        Self {
            wall: Instant::now(),
            process_cpu: clock::process_cpu(),
            system: nanos(usage.ru_stime),
            switches: (usage.ru_nvcsw + usage.ru_nivcsw).cast_unsigned(),
            sampling: HANDLER_COST.totals(),
            interrupts: timer_interrupts(&fs::read_to_string("/proc/interrupts").unwrap_or_default()),
        }
    }

    /// Returns what happened since `before`, without what only the governor itself can measure.
    pub fn since(&self, before: &Self) -> Seen {
        let wall = self.wall.duration_since(before.wall).as_secs_f64();
        let rate = |now: u64, before: u64| float(now.saturating_sub(before)) / wall;
        let cores = self.interrupts.iter().zip(&before.interrupts);
        Seen {
            interrupts: cores.map(|(now, before)| rate(*now, *before)).collect(),
            switches: rate(self.switches, before.switches),
            spent: self.spent_since(before),
            ..Seen::default()
        }
    }

    fn spent_since(&self, before: &Self) -> Spent {
        let (signals, handlers) = self.sampling;
        Spent {
            cpu: Duration::from_nanos(self.process_cpu.saturating_sub(before.process_cpu)),
            handlers: Duration::from_nanos(handlers - before.sampling.1),
            signals: signals - before.sampling.0,
            switches: self.switches.saturating_sub(before.switches),
        }
    }

    /// Returns true if the look comes much later than `pause` after the one before, and the
    /// process's kernel work is the cause.
    pub fn is_late(&self, before: &Self, pause: Duration) -> bool {
        self.wall.duration_since(before.wall) > pause + LATE && self.stormed_since(before)
    }

    /// Returns true if the process was mostly in the kernel since `before`, on many cores.
    fn stormed_since(&self, before: &Self) -> bool {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let cpu = float(self.process_cpu.saturating_sub(before.process_cpu));
        let all = self.busy_since(before) > STORM * float(cores as u64);
        all && float(self.system.saturating_sub(before.system)) > STORM * cpu
    }

    /// Returns how many cores the process has used since `before`.
    pub fn busy_since(&self, before: &Self) -> f64 {
        let wall = self.wall.duration_since(before.wall).as_secs_f64();
        seconds(self.process_cpu.saturating_sub(before.process_cpu)) / wall
    }
}

/// Returns the counts in x86's line for local timers, or no counts if the table has no such line.
fn timer_interrupts(table: &str) -> Vec<u64> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix("LOC:")).unwrap_or_default();
    line.split_whitespace().map_while(|word| word.parse().ok()).collect()
}

fn nanos(time: libc::timeval) -> u64 {
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_has_each_cores_timer_interrupts() {
        let table = "           CPU0       CPU1\n  0:  9  0  IO-APIC  timer\nLOC:     265326     270211   Local timer interrupts\n";
        assert_eq!(timer_interrupts(table), [265_326, 270_211]);
        assert!(timer_interrupts("  11:  5  6  GICv3  arch_timer\n").is_empty());
    }
}
