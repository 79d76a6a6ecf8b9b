//! When the engine is too dear for this machine, and what is done about it: a longer stride first, then its end. And when it takes
//! more of the program's time than somebody who did not ask for an interval would expect: then a longer stride, too.
//!
//! A machine may suffer from others' timers as well, so before the engine is blamed for that it has to pause for a moment: what
//! goes on without it is not its own. Pure: it judges what was seen, and knows no kernel. It must never stop the engine without
//! having lengthened the stride, nor blame it for what it was not asked about.

use std::time::Duration;

use vouch_report::float;

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
/// Timer interrupts a second that every core may have of its own: the kernel's ticks, others' timers.
const OTHERS: f64 = 2_000.0;
/// A storm that has lost less than this part of itself while the engine paused is somebody else's.
const REMAINS: f64 = 0.5;
/// After each time that the engine was not to blame, it must be seen so many times as often before the engine pauses again: a
/// storm that comes and goes must not have it pause for ever…
const PATIENCE: u32 = 4;
/// …but so often at most.
const MOST_PATIENCE: u32 = 48;
/// After so many looks at a machine that is well, what was is forgotten: some five minutes.
const CALM: u32 = 1_000;
/// The budget is not for the first of a program's CPU time, so that the profile of one that is soon done has many samples…
const FREE: Duration = Duration::from_secs(10);
/// …and what sampling takes is judged by so much of it.
const JUDGED: Duration = Duration::from_secs(2);

/// What was seen in one look.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The look came so late that the machine hardly answers.
    pub late: bool,
    /// What an interrupt costs, if it was measured this time.
    pub cost: Option<Duration>,
    /// Timer interrupts a second on each core; none if the kernel does not tell.
    pub interrupts: Vec<f64>,
    /// How often a second threads of the process got or lost a core: each time a timer may expire early.
    pub switches: f64,
    /// What sampling has taken since the look before, and of what.
    pub spent: Spent,
}

/// What sampling takes of the process's time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spent {
    /// All CPU time of the process.
    pub cpu: Duration,
    /// That of the handlers.
    pub handlers: Duration,
    pub signals: u64,
}

impl Spent {
    /// The part of all CPU time that signals took, each of which costs an interrupt of `cost`, and as much for the signal itself.
    fn share(&self, cost: Duration) -> f64 {
        let signals = float(self.signals) * 2.0 * cost.as_secs_f64();
        (self.handlers.as_secs_f64() + signals) / self.cpu.as_secs_f64()
    }

    fn add(&mut self, more: &Self) {
        self.cpu += more.cpu;
        self.handlers += more.handlers;
        self.signals += more.signals;
    }
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
    /// The part of the program's CPU time that sampling may take.
    budget: Option<f64>,
    /// The CPU time that the program has had, and what sampling took of that which is to be judged.
    had: Duration,
    spent: Spent,
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
    pub fn new(interval: Duration, stride: u32, cost: Option<Duration>, budget: Option<f64>) -> Self {
        Self {
            interval,
            stride,
            budget,
            had: Duration::ZERO,
            spent: Spent::default(),
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
        self.had += seen.spent.cpu;
        if self.had > FREE {
            self.spent.add(&seen.spent);
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
                    "a core had {:.0} timer interrupts a second, of which {:.0} are accounted for, and {now:.0} while it paused",
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
        let cost = self.cost().filter(|_| self.costs.len() >= KEPT)?;
        if cost * BEARABLE <= self.interval * self.stride {
            return None;
        }
        let stride = stride_for(cost, self.interval, self.stride);
        let why = format!("a timer interrupt costs {} now", micros(cost));
        if stride == self.stride { Some(Order::Stop { why }) } else { Some(self.lengthen(stride, why)) }
    }

    /// Nobody asked for so many samples, and they take more of the program's time than they may.
    fn over_budget(&mut self) -> Option<Order> {
        let budget = self.budget?;
        if self.spent.cpu < JUDGED {
            return None;
        }
        let cost = self.cost().filter(|_| self.costs.len() >= KEPT)?;
        let share = std::mem::take(&mut self.spent).share(cost);
        let period = self.interval * self.stride;
        let stride = doubled(self.stride, self.interval, |longer| {
            share * period.as_secs_f64() <= budget * longer.as_secs_f64()
        });
        (stride > self.stride).then(|| {
            let why = format!(
                "each {} took {:.1} % of the program's time, and without interval= it is to be {} %",
                micros(period),
                share * 100.0,
                budget * 100.0
            );
            self.lengthen(stride, why)
        })
    }

    fn lengthen(&mut self, stride: u32, why: String) -> Order {
        // What was spent until now was spent at another stride.
        self.spent = Spent::default();
        self.stride = stride;
        Order::Lengthen { stride, why }
    }

    fn cost(&self) -> Option<Duration> {
        let mut costs = self.costs.clone();
        costs.sort_unstable();
        costs.get(costs.len() / 2).copied()
    }

    /// How many timer interrupts a second a core may have for what is known of the engine and of any machine.
    fn accounted_for(&self, switches: f64) -> f64 {
        1.0 / (self.interval * self.stride).as_secs_f64() + OTHERS + switches
    }

    fn too_many(&self, interrupts: f64, switches: f64) -> bool {
        let dear = self.cost().is_some_and(|cost| interrupts * cost.as_secs_f64() > DEAR);
        dear && interrupts > TOO_MANY * self.accounted_for(switches)
    }
}

/// The shortest stride, from `least` on and twice or four times… as long, at which interrupts of this cost can be afforded.
pub fn stride_for(cost: Duration, interval: Duration, least: u32) -> u32 {
    doubled(least.max(1), interval, |period| cost * AFFORDED <= period)
}

/// The shortest stride, from `least` on, with which a signal comes rarely enough; none is longer than the longest.
fn doubled(least: u32, interval: Duration, rarely: impl Fn(Duration) -> bool) -> u32 {
    let mut stride = least;
    while !rarely(interval * stride) && interval * stride * 2 <= LONGEST {
        stride *= 2;
    }
    stride
}

/// The stride of a new recording, and why it is not 1: what an interrupt costs, if that is known, or how many samples a second
/// the kernel allows.
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
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    const fn us(micros: u64) -> Duration {
        Duration::from_micros(micros)
    }

    fn costing(cost: u64) -> Seen {
        Seen { cost: Some(us(cost)), ..Seen::default() }
    }

    #[test]
    fn a_new_recording_takes_the_shortest_stride_that_can_be_afforded() {
        assert_eq!(stride_for(us(10), MS, 1), 1);
        assert_eq!(stride_for(us(50), MS, 1), 1);
        assert_eq!(stride_for(us(51), MS, 1), 2);
        assert_eq!(stride_for(us(16), us(200), 1), 2);
        assert_eq!(stride_for(us(30), us(50), 1), 16);
        // An interval of its own that is longer than the longest is nobody's to lengthen.
        assert_eq!(stride_for(MS, Duration::from_secs(1), 1), 1);
        assert_eq!(stride_for(MS * 100, MS * 10, 1), 2);
    }

    #[test]
    fn a_new_recording_says_why_its_stride_is_longer() {
        assert_eq!(first_stride(MS, Some(us(16)), Some(100_000)), (1, None));
        assert_eq!(first_stride(MS, None, None), (1, None));
        let (stride, why) = first_stride(us(200), Some(us(16)), Some(100_000));
        assert_eq!(
            (
                stride,
                why.unwrap()
                    .contains("every 400us of CPU time from the beginning: a timer interrupt costs 16us")
            ),
            (2, true)
        );
        let (stride, why) = first_stride(us(200), Some(us(16)), Some(1_000));
        assert_eq!(
            (
                stride,
                why.unwrap().contains("every 1600us of CPU time from the beginning: the kernel allows 1000")
            ),
            (8, true)
        );
        assert_eq!(first_stride(us(500), None, Some(2_000)), (1, None));
    }

    #[test]
    fn dearer_interrupts_lengthen_the_stride_once_they_are_believed() {
        let mut policy = Policy::new(MS, 1, Some(us(16)), None);
        for _ in 0..100 {
            assert_eq!(policy.judge(&costing(90)), None);
        }
        let orders: Vec<Order> = (0..5).filter_map(|_| policy.judge(&costing(150))).collect();
        let [Order::Lengthen { stride: 4, why }] = &orders[..] else { panic!("{orders:?}") };
        assert!(why.contains("150us"), "{why}");
        // One that was interrupted by somebody else is no cost.
        let mut policy = Policy::new(MS, 1, Some(us(16)), None);
        for round in 0..100 {
            assert_eq!(policy.judge(&costing(if round % 5 < 2 { 5_000 } else { 16 })), None);
        }
    }

    #[test]
    fn interrupts_that_no_stride_can_pay_for_stop_the_engine() {
        let mut policy = Policy::new(MS, 16, None, None);
        let orders: Vec<Order> = (0..5).filter_map(|_| policy.judge(&costing(3_000))).collect();
        assert!(matches!(&orders[..], [Order::Stop { .. }]), "{orders:?}");
    }

    /// On the second of two cores.
    fn storm(interrupts: f64) -> Seen {
        Seen { interrupts: vec![300.0, interrupts], switches: 500.0, ..Seen::default() }
    }

    fn late() -> Seen {
        Seen { late: true, ..Seen::default() }
    }

    /// What is ordered while the engine makes the machine suffer: with `paused` the next look is at `without`.
    fn orders(policy: &mut Policy, looks: u32, with: &Seen, without: &Seen) -> Vec<Order> {
        let mut paused = false;
        (0..looks)
            .filter_map(|_| {
                let order = policy.judge(if paused { without } else { with });
                paused = order == Some(Order::Pause);
                order
            })
            .collect()
    }

    #[test]
    fn a_machine_that_suffers_gets_a_longer_stride_and_then_peace() {
        for (with, without) in [(storm(50_000.0), storm(300.0)), (late(), Seen::default())] {
            let mut policy = Policy::new(MS, 1, Some(us(16)), None);
            let orders = orders(&mut policy, 8, &with, &without);
            let expected = [
                Order::Pause,
                Order::Lengthen { stride: 4, why: String::new() },
                Order::Pause,
                Order::Stop { why: String::new() },
            ];
            let alike = |(a, b): (&Order, &Order)| std::mem::discriminant(a) == std::mem::discriminant(b);
            assert!(orders.len() == 4 && orders.iter().zip(&expected).all(alike), "{orders:?}");
            assert_eq!(policy.stride, 4);
        }
    }

    #[test]
    fn what_goes_on_while_the_engine_pauses_is_not_its_doing() {
        let mut policy = Policy::new(MS, 1, Some(us(16)), None);
        let orders_of = orders(&mut policy, 100, &storm(50_000.0), &storm(48_000.0));
        assert!(matches!(&orders_of[..], [Order::Pause, Order::GoOn { .. }]), "{orders_of:?}");
        // Beside it the engine's own is seen, on that core and on another, and the storm's end is no reason to trust it more.
        let own = orders(&mut policy, 13, &storm(90_000.0), &storm(48_000.0));
        assert!(matches!(&own[..], [Order::Pause, Order::Lengthen { .. }]), "{own:?}");
        let elsewhere = Seen { interrupts: vec![40_000.0, 48_000.0], ..storm(0.0) };
        let own = orders(&mut policy, 13, &elsewhere, &storm(48_000.0));
        assert!(matches!(&own[..], [Order::Pause, Order::Stop { .. }]), "{own:?}");
    }

    #[test]
    fn what_comes_and_goes_has_the_engine_pause_ever_more_rarely() {
        let mut policy = Policy::new(MS, 1, Some(us(16)), None);
        let pauses = |policy: &mut Policy, on: u32, off: u32| -> usize {
            (0..500 / (on + off))
                .map(|_| {
                    let storms = orders(policy, on, &storm(50_000.0), &storm(50_000.0));
                    assert_eq!(orders(policy, off, &storm(300.0), &storm(300.0)), []);
                    storms.iter().filter(|order| **order == Order::Pause).count()
                })
                .sum()
        };
        assert_eq!(pauses(&mut policy, 4, 2), 1);
        assert_eq!(pauses(&mut policy, 20, 2), 1);
        // A machine that hardly answers is asked as rarely.
        let mut policy = Policy::new(MS, 1, Some(us(16)), None);
        let orders = orders(&mut policy, 4 + 13 + 49 + 49, &late(), &late());
        assert_eq!(orders.len(), 8, "{orders:?}");
        assert!(orders.iter().all(|order| matches!(order, Order::Pause | Order::GoOn { .. })), "{orders:?}");
    }

    #[test]
    fn what_was_is_forgotten_on_a_machine_that_is_well() {
        let mut policy = Policy::new(MS, 1, Some(us(16)), None);
        orders(&mut policy, 4, &storm(50_000.0), &storm(300.0));
        assert!(policy.warned);
        for _ in 0..CALM {
            assert_eq!(policy.judge(&storm(300.0)), None);
        }
        let orders = orders(&mut policy, 4, &storm(50_000.0), &storm(300.0));
        assert!(matches!(&orders[..], [Order::Pause, Order::Lengthen { stride: 16, .. }]), "{orders:?}");
    }

    #[test]
    fn what_passes_or_is_accounted_for_changes_nothing() {
        let mut policy = Policy::new(MS, 1, Some(us(16)), None);
        for round in 0..300 {
            let seen = match round % 3 {
                0 => Seen { late: true, interrupts: vec![60_000.0], ..Seen::default() },
                // Many switches make many timers expire early.
                1 => Seen { interrupts: vec![60_000.0], switches: 15_000.0, ..Seen::default() },
                // Many, but cheap.
                _ => Seen { interrupts: vec![12_000.0], ..Seen::default() },
            };
            assert_eq!(policy.judge(&seen), None, "round {round}");
        }
    }

    /// A second of CPU time at this stride, of which each handler takes so long.
    fn second(handler: Duration, stride: u32) -> Seen {
        let signals = 1_000 / stride;
        let spent =
            Spent { cpu: Duration::from_secs(1), handlers: handler * signals, signals: signals.into() };
        Seen { cost: Some(us(5)), spent, ..Seen::default() }
    }

    /// At which second which stride was ordered, of a hundred.
    fn strides(policy: &mut Policy, handler: Duration) -> Vec<(u32, u32)> {
        (1..=100)
            .filter_map(|at| match policy.judge(&second(handler, policy.stride))? {
                Order::Lengthen { stride, .. } => Some((at, stride)),
                order => panic!("{order:?}"),
            })
            .collect()
    }

    #[test]
    fn who_asked_for_no_interval_pays_little_once_the_profile_has_its_samples() {
        let spares = || Policy::new(MS, 1, Some(us(5)), Some(0.01));
        // Handlers for 2.4 %, signals for 1 %.
        assert_eq!(strides(&mut spares(), us(24)), [(12, 4)]);
        assert_eq!(strides(&mut Policy::new(MS, 1, Some(us(5)), None), us(24)), []);
        assert_eq!(strides(&mut spares(), Duration::ZERO), []);
        assert_eq!(strides(&mut spares(), us(1)), [(12, 2)]);
        // However dear, no longer than the longest.
        assert_eq!(strides(&mut spares(), us(900)), [(12, 16)]);
        // A handler that gets dearer.
        let mut policy = spares();
        assert_eq!(strides(&mut policy, us(24)), [(12, 4)]);
        assert_eq!(strides(&mut policy, us(60)), [(2, 8)]);
    }

    #[test]
    fn a_budget_is_judged_by_what_was_spent_at_the_present_stride() {
        let mut policy = Policy::new(MS, 1, Some(us(5)), Some(0.01));
        for _ in 0..11 {
            assert_eq!(policy.judge(&second(us(24), 1)), None);
        }
        // Interrupts get dear in the midst of it; at stride 4 it is within the budget.
        policy.lengthen(4, String::new());
        for _ in 0..20 {
            assert_eq!(policy.judge(&second(us(24), 4)), None);
        }
    }
}
