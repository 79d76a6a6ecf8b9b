//! Decides when the engine costs too much on this machine, and what to do: lengthen the stride
//! first, then stop the engine. It also lengthens the stride if sampling exceeds the default
//! budget, which applies when the user set no interval.
//!
//! Other processes' timers can load a machine, too. The engine therefore pauses for a moment before
//! it is blamed: load that goes on is not the engine's. The policy is pure: it judges only what was
//! seen, and makes no system calls. It must never stop the engine without having lengthened the
//! stride first. It must never blame the engine for anything but the suspicion that was checked.

use std::time::Duration;

use super::budget::{Budget, Spent, Taken};

/// The interrupts of a new recording may take one part in this many of a core.
const NEW_RECORDING_SHARE: u32 = 20;
/// The stride is lengthened once interrupts take more than one part in this many of a core. The
/// limit exceeds that of a new recording, because interrupts get slower on a busy host.
const MAX_SHARE: u32 = 10;
/// The longest time between two signals that a stride is lengthened to.
const MAX_PERIOD: Duration = Duration::from_millis(20);
/// How often in a row something must be seen before the policy acts on it.
const FIRST_PATIENCE: u32 = 3;
/// How many measurements of an interrupt the median is taken of.
const MEASUREMENTS: usize = 5;
/// The minimum part of a core that timer interrupts take before the policy looks for a cause.
const SLOW_SHARE: f64 = 0.2;
/// The factor by which interrupts must exceed the accounted ones.
const EXCESS_FACTOR: f64 = 4.0;
/// Timer interrupts a second that every core may have without the engine: the kernel's ticks and
/// other processes' timers.
const OTHERS_PER_SECOND: f64 = 2_000.0;
/// A storm that keeps more than this part of its rate while the engine pauses has another cause.
const REMAINING_SHARE: f64 = 0.5;
/// The factor by which the required number of sightings grows each time the engine was not the
/// cause. A storm that comes and goes must not pause the engine for ever.
const PATIENCE_FACTOR: u32 = 4;
/// The maximum number of sightings that are required.
const MAX_PATIENCE: u32 = 48;
/// After this many calm looks, some five minutes, the policy resets its warnings.
const CALM_LOOKS: u32 = 1_000;

/// What one look saw.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// True if the look came so late that the machine hardly answers.
    pub late: bool,
    /// The cost of an interrupt, if it was measured this time.
    pub cost: Option<Duration>,
    /// Timer interrupts a second on each core; empty if the kernel does not report them.
    pub interrupts: Vec<f64>,
    /// How often a second threads of the process got or lost a core. Each time a timer may expire
    /// early.
    pub switches: f64,
    /// The cost of sampling since the last look, and the CPU time that it relates to.
    pub spent: Spent,
}

/// An action that the policy orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// The engine must pause until the next look, which must come soon. That look decides the next
    /// step.
    Pause,
    /// The engine goes on unchanged, because it is not the cause.
    GoOn {
        why: String,
    },
    Lengthen {
        stride: u32,
        why: String,
    },
    /// Timers must replace perf's events. Nothing needs governing afterwards.
    Relieve {
        why: String,
    },
    Stop {
        why: String,
    },
}

/// The reason for a pause of the engine.
#[derive(Debug, Clone, Copy)]
enum Suspicion {
    Late,
    Interrupts(Surplus),
}

/// Timer interrupts a second of a core, beyond those that other processes are known to cause.
#[derive(Debug, Clone, Copy)]
struct Surplus {
    core: usize,
    rate: f64,
}

/// The policy's state for one recording.
#[derive(Debug)]
pub struct Policy {
    interval: Duration,
    stride: u32,
    budget: Option<Budget>,
    costs: Vec<Duration>,
    late: u32,
    too_many: u32,
    /// The suspicion for which the engine pauses.
    asking: Option<Suspicion>,
    /// Timer interrupts a second of each core that occurred during the pause, and have gone on
    /// since.
    others: Vec<f64>,
    /// How often in a row something must be seen before the policy acts on it.
    patience: u32,
    /// True once the stride was lengthened because of the machine's load.
    warned: bool,
    /// How many looks in a row saw nothing wrong.
    calm: u32,
}

impl Policy {
    pub fn new(interval: Duration, stride: u32, cost: Option<Duration>, budget: Option<Budget>) -> Self {
        Self {
            interval,
            stride,
            budget,
            costs: cost.into_iter().collect(),
            late: 0,
            too_many: 0,
            asking: None,
            others: Vec::new(),
            patience: FIRST_PATIENCE,
            warned: false,
            calm: 0,
        }
    }

    /// Judges a look.
    pub fn judge(&mut self, seen: &Seen) -> Option<Order> {
        if let Some(cost) = seen.cost {
            self.costs.push(cost);
            let surplus = self.costs.len().saturating_sub(MEASUREMENTS);
            self.costs.drain(..surplus);
        }
        if let Some(budget) = &mut self.budget {
            budget.spend(&seen.spent);
        }
        if let Some(suspicion) = self.asking.take() {
            return Some(self.verdict(suspicion, seen));
        }
        for (others, now) in self.others.iter_mut().zip(&seen.interrupts) {
            *others = others.min(*now);
        }
        let too_many = self.most(seen).filter(|surplus| self.too_many(surplus.rate, seen.switches));
        self.late = if seen.late { self.late + 1 } else { 0 };
        self.too_many = if too_many.is_some() { self.too_many + 1 } else { 0 };
        if self.late >= self.patience {
            return Some(self.ask(Suspicion::Late));
        }
        if let Some(surplus) = too_many.filter(|_| self.too_many >= self.patience) {
            return Some(self.ask(Suspicion::Interrupts(surplus)));
        }
        self.calm = if self.late + self.too_many == 0 { self.calm + 1 } else { 0 };
        if self.calm >= CALM_LOOKS {
            self.warned = false;
            self.patience = FIRST_PATIENCE;
        }
        self.too_slow().or_else(|| self.over_budget())
    }

    /// Returns the core with the most interrupts that other processes are not known to cause.
    fn most(&self, seen: &Seen) -> Option<Surplus> {
        let cores = seen.interrupts.iter().enumerate();
        let surplus = cores.map(|(core, now)| Surplus { core, rate: now - self.others_on(core) });
        surplus.max_by(|a, b| a.rate.total_cmp(&b.rate))
    }

    fn others_on(&self, core: usize) -> f64 {
        self.others.get(core).copied().unwrap_or(0.0)
    }

    fn ask(&mut self, suspicion: Suspicion) -> Order {
        self.late = 0;
        self.too_many = 0;
        self.calm = 0;
        self.asking = Some(suspicion);
        Order::Pause
    }

    /// Decides from a look during the pause whether the engine is the cause.
    fn verdict(&mut self, suspicion: Suspicion, seen: &Seen) -> Order {
        match suspicion {
            Suspicion::Late if seen.late => {
                self.acquit("the machine hardly answers without it, either".to_owned())
            }
            Suspicion::Late => self.answer("the machine hardly answers".to_owned()),
            Suspicion::Interrupts(Surplus { core, rate: before }) => {
                let now = seen.interrupts.get(core).copied().unwrap_or(0.0);
                let others = self.others_on(core);
                if now - others > REMAINING_SHARE * before {
                    self.others.clone_from(&seen.interrupts);
                    return self
                        .acquit(format!("a core has {now:.0} timer interrupts a second without it, too"));
                }
                let accounted = self.accounted_for(seen.switches);
                self.answer(format!(
                    "a core had {:.0} timer interrupts a second ({:.0} are accounted for), and {now:.0} while it paused",
                    before + others,
                    accounted + others
                ))
            }
        }
    }

    /// Lets the engine go on, because it is not the cause.
    fn acquit(&mut self, why: String) -> Order {
        self.patience = self.patience.saturating_mul(PATIENCE_FACTOR).min(MAX_PATIENCE);
        Order::GoOn { why }
    }

    /// Reacts to an overloaded machine: lengthens the stride the first time, then stops the engine.
    fn answer(&mut self, why: String) -> Order {
        const LONGER: u32 = 4;
        if self.warned {
            return Order::Stop { why };
        }
        self.warned = true;
        self.lengthen(self.stride.saturating_mul(LONGER), why)
    }

    /// Lengthens the stride if interrupts have become too expensive for the present one, or stops
    /// the engine.
    fn too_slow(&mut self) -> Option<Order> {
        let cost = self.believed_cost()?;
        if cost * MAX_SHARE <= self.interval * self.stride {
            return None;
        }
        let stride = stride_for(cost, self.interval, self.stride);
        let why = format!("a timer interrupt costs {} now", micros(cost));
        if stride == self.stride { Some(Order::Stop { why }) } else { Some(self.lengthen(stride, why)) }
    }

    /// Lengthens the stride if sampling exceeds its share of the program's time. If no longer
    /// stride reduces the cost of thread switches, timers replace perf's events.
    fn over_budget(&mut self) -> Option<Order> {
        let cost = self.believed_cost()?;
        let budget = self.budget.as_mut()?;
        let (Taken { signals: taken, switches }, part) = (budget.taken(cost)?, budget.part);
        let period = self.interval * self.stride;
        let stride = doubled(self.stride, self.interval, |longer| {
            taken * period.as_secs_f64() <= part * longer.as_secs_f64()
        });
        if stride > self.stride {
            let why = format!(
                "each {} took {:.1} % of the program's time, and without interval= it is to be {} %",
                micros(period),
                taken * 100.0,
                part * 100.0
            );
            return Some(self.lengthen(stride, why));
        }
        (budget.timers && switches > part).then(|| Order::Relieve {
            why: format!(
                "threads follow one another so often that perf's events may take {:.1} % of the program's time, and without interval= it is to be \
                 {} % (engine=perf keeps them)",
                switches * 100.0,
                part * 100.0
            ),
        })
    }

    fn lengthen(&mut self, stride: u32, why: String) -> Order {
        if let Some(budget) = &mut self.budget {
            budget.begin_anew();
        }
        self.stride = stride;
        Order::Lengthen { stride, why }
    }

    fn cost(&self) -> Option<Duration> {
        let mut costs = self.costs.clone();
        costs.sort_unstable();
        costs.get(costs.len() / 2).copied()
    }

    /// Returns the cost of an interrupt once there are enough measurements, so that a single wrong
    /// one decides nothing.
    fn believed_cost(&self) -> Option<Duration> {
        self.cost().filter(|_| self.costs.len() >= MEASUREMENTS)
    }

    /// Returns how many timer interrupts a second a core may have, from the engine and from other
    /// known sources.
    fn accounted_for(&self, switches: f64) -> f64 {
        1.0 / (self.interval * self.stride).as_secs_f64() + OTHERS_PER_SECOND + switches
    }

    fn too_many(&self, interrupts: f64, switches: f64) -> bool {
        let is_slow = self.cost().is_some_and(|cost| interrupts * cost.as_secs_f64() > SLOW_SHARE);
        is_slow && interrupts > EXCESS_FACTOR * self.accounted_for(switches)
    }
}

/// Returns the shortest stride with which interrupts of this cost are affordable. It tries `least`,
/// then twice and four times as long, and so on.
pub fn stride_for(cost: Duration, interval: Duration, least: u32) -> u32 {
    doubled(least.max(1), interval, |period| cost * NEW_RECORDING_SHARE <= period)
}

/// Returns the shortest stride, from `least` on, at which signals are rare enough. No stride
/// exceeds the longest one.
fn doubled(least: u32, interval: Duration, rarely: impl Fn(Duration) -> bool) -> u32 {
    let mut stride = least;
    while !rarely(interval * stride) && interval * stride * 2 <= MAX_PERIOD {
        stride *= 2;
    }
    stride
}

/// Returns the stride of a new recording, and why it is not 1. The reason is the cost of an
/// interrupt, if known, or the kernel's limit of samples a second.
pub fn first_stride(interval: Duration, cost: Option<Duration>, most: Option<u32>) -> (u32, Option<String>) {
    let afforded = cost.map_or(1, |cost| stride_for(cost, interval, 1));
    let allowed =
        most.map_or(1, |most| doubled(1, interval, |period| f64::from(most) * period.as_secs_f64() >= 1.0));
    let stride = afforded.max(allowed);
    let why = match (cost, most) {
        _ if stride == 1 => return (1, None),
        (_, Some(most)) if allowed >= afforded => {
            format!("the kernel allows {most} samples a second (kernel.perf_event_max_sample_rate)")
        }
        (cost, _) => format!("a timer interrupt costs {} here", micros(cost.unwrap_or_default())),
    };
    (
        stride,
        Some(format!("sampling every {} of CPU time from the beginning: {why}", micros(interval * stride))),
    )
}

/// Formats a time in the syntax of options.
pub fn micros(time: Duration) -> String {
    format!("{}us", time.as_micros())
}

#[cfg(test)]
mod tests;
