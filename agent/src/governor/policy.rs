//! When the engine is too dear for this machine, and what is done about it: a longer stride first,
//! then its end. And when it takes more of the program's time than somebody who did not ask for an
//! interval would expect: then a longer stride, too.
//!
//! A machine may suffer from others' timers as well, so before the engine is blamed for that it has
//! to pause for a moment: what goes on without it is not its own. Pure: it judges what was seen,
//! and knows no kernel. It must never stop the engine without having lengthened the stride, nor
//! blame it for what it was not asked about.

use std::time::Duration;

use super::budget::{Budget, Spent, Taken};

/// The interrupts of a new recording may take this part of a core…
const AFFORDED: u32 = 20;
/// …and, since they get dearer on a busy host, this part before the stride is lengthened.
const BEARABLE: u32 = 10;
/// The longest time between two signals that a stride is lengthened to.
const LONGEST: Duration = Duration::from_millis(20);
/// How often in a row something must be seen before it is believed.
const TIMES: u32 = 3;
/// How many measurements of an interrupt the median is taken of.
const KEPT: usize = 5;
/// What a core's timer interrupts take, at least, before anybody is asked why.
const DEAR: f64 = 0.2;
/// And how many times as many there must be as are accounted for.
const TOO_MANY: f64 = 4.0;
/// Timer interrupts a second that every core may have of its own: the kernel's ticks, others'
/// timers.
const OTHERS: f64 = 2_000.0;
/// A storm that has lost less than this part of itself while the engine paused is somebody else's.
const REMAINS: f64 = 0.5;
/// After each time that the engine was not to blame, it must be seen so many times as often before
/// the engine pauses again: a storm that comes and goes must not have it pause for ever…
const PATIENCE: u32 = 4;
/// …but so often at most.
const MOST_PATIENCE: u32 = 48;
/// After so many looks at a machine that is well, what was is forgotten: some five minutes.
const CALM: u32 = 1_000;

/// What was seen in one look.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The look came so late that the machine hardly answers.
    pub late: bool,
    /// What an interrupt costs, if it was measured this time.
    pub cost: Option<Duration>,
    /// Timer interrupts a second on each core; none if the kernel does not tell.
    pub interrupts: Vec<f64>,
    /// How often a second threads of the process got or lost a core: each time a timer may expire
    /// early.
    pub switches: f64,
    /// What sampling has taken since the look before, and of what.
    pub spent: Spent,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// The engine is to pause until the next look, which is to come soon: it says what to do then.
    Pause,
    /// It goes on as it was; what is wrong is not its doing.
    GoOn {
        why: String,
    },
    Lengthen {
        stride: u32,
        why: String,
    },
    /// Timers are to take the place of perf's events; there is nothing to govern any more.
    Relieve {
        why: String,
    },
    Stop {
        why: String,
    },
}

/// What the engine pauses for.
#[derive(Debug, Clone, Copy)]
enum Suspicion {
    Late,
    Interrupts(Surplus),
}

/// Timer interrupts a second of a core, beyond those that are known to be others'.
#[derive(Debug, Clone, Copy)]
struct Surplus {
    core: usize,
    rate: f64,
}

/// What the governor knows of a recording.
#[derive(Debug)]
pub struct Policy {
    interval: Duration,
    stride: u32,
    budget: Option<Budget>,
    costs: Vec<Duration>,
    late: u32,
    too_many: u32,
    /// The engine pauses, for this.
    asking: Option<Suspicion>,
    /// Timer interrupts a second of each core that were there while it paused, and have been since.
    others: Vec<f64>,
    /// How often in a row something must be seen before it is believed.
    patience: u32,
    /// The machine has been answered with a longer stride.
    warned: bool,
    /// Looks in a row at which there was nothing wrong.
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
            patience: TIMES,
            warned: false,
            calm: 0,
        }
    }

    /// Judges a look.
    pub fn judge(&mut self, seen: &Seen) -> Option<Order> {
        if let Some(cost) = seen.cost {
            self.costs.push(cost);
            let surplus = self.costs.len().saturating_sub(KEPT);
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
        if self.calm >= CALM {
            self.warned = false;
            self.patience = TIMES;
        }
        self.dearer().or_else(|| self.over_budget())
    }

    /// The core with the most interrupts that are not known to be others'.
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

    /// What was seen while the engine paused tells whose doing it is.
    fn verdict(&mut self, suspicion: Suspicion, seen: &Seen) -> Order {
        match suspicion {
            Suspicion::Late if seen.late => {
                self.acquit("the machine hardly answers without it, either".to_owned())
            }
            Suspicion::Late => self.answer("the machine hardly answers".to_owned()),
            Suspicion::Interrupts(Surplus { core, rate: before }) => {
                let now = seen.interrupts.get(core).copied().unwrap_or(0.0);
                let others = self.others_on(core);
                if now - others > REMAINS * before {
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

    /// It is not the engine's doing.
    fn acquit(&mut self, why: String) -> Order {
        self.patience = self.patience.saturating_mul(PATIENCE).min(MOST_PATIENCE);
        Order::GoOn { why }
    }

    /// The machine suffers: the first time the stride is lengthened, then the engine stopped.
    fn answer(&mut self, why: String) -> Order {
        const LONGER: u32 = 4;
        if self.warned {
            return Order::Stop { why };
        }
        self.warned = true;
        self.lengthen(self.stride.saturating_mul(LONGER), why)
    }

    /// Interrupts have become too dear for the present stride.
    fn dearer(&mut self) -> Option<Order> {
        let cost = self.believed_cost()?;
        if cost * BEARABLE <= self.interval * self.stride {
            return None;
        }
        let stride = stride_for(cost, self.interval, self.stride);
        let why = format!("a timer interrupt costs {} now", micros(cost));
        if stride == self.stride { Some(Order::Stop { why }) } else { Some(self.lengthen(stride, why)) }
    }

    /// Nobody asked for so many samples, and they take more of the program's time than they may.
    /// Where no longer stride helps against what they take at each switch of threads, timers do.
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

    /// The same, once there were so many measurements that one that went wrong decides nothing.
    fn believed_cost(&self) -> Option<Duration> {
        self.cost().filter(|_| self.costs.len() >= KEPT)
    }

    /// How many timer interrupts a second a core may have for what is known of the engine and of
    /// any machine.
    fn accounted_for(&self, switches: f64) -> f64 {
        1.0 / (self.interval * self.stride).as_secs_f64() + OTHERS + switches
    }

    fn too_many(&self, interrupts: f64, switches: f64) -> bool {
        let dear = self.cost().is_some_and(|cost| interrupts * cost.as_secs_f64() > DEAR);
        dear && interrupts > TOO_MANY * self.accounted_for(switches)
    }
}

/// The shortest stride, from `least` on and twice or four times… as long, at which interrupts of
/// this cost can be afforded.
pub fn stride_for(cost: Duration, interval: Duration, least: u32) -> u32 {
    doubled(least.max(1), interval, |period| cost * AFFORDED <= period)
}

/// The shortest stride, from `least` on, with which a signal comes rarely enough; none is longer
/// than the longest.
fn doubled(least: u32, interval: Duration, rarely: impl Fn(Duration) -> bool) -> u32 {
    let mut stride = least;
    while !rarely(interval * stride) && interval * stride * 2 <= LONGEST {
        stride *= 2;
    }
    stride
}

/// The stride of a new recording, and why it is not 1: what an interrupt costs, if that is known,
/// or how many samples a second the kernel allows.
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

/// A time as options spell it.
pub fn micros(time: Duration) -> String {
    format!("{}us", time.as_micros())
}

#[cfg(test)]
mod tests;
