//! Tests the policy's orders and their times, on healthy, slow and overloaded machines.

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
    // A configured interval above the maximum is never lengthened.
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
            why.unwrap().contains("every 400us of CPU time from the beginning: a timer interrupt costs 16us")
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
    // A handler that another interrupt delayed is not counted as slow.
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

/// Simulates interrupts on the second of two cores.
fn storm(interrupts: f64) -> Seen {
    Seen { interrupts: vec![300.0, interrupts], switches: 500.0, ..Seen::default() }
}

fn late() -> Seen {
    Seen { late: true, ..Seen::default() }
}

/// Returns the orders while the engine overloads the machine. After a pause, the next look sees
/// `without` instead of `with`.
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
    // The engine's own overload is still detected during a storm, on that core and on another one.
    // The end of a storm does not increase the trust in the engine.
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
    // An unresponsive machine is probed as rarely.
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
    for _ in 0..CALM_LOOKS {
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
            // Frequent context switches make many timers expire early.
            1 => Seen { interrupts: vec![60_000.0], switches: 15_000.0, ..Seen::default() },
            // These interrupts are many but cheap.
            _ => Seen { interrupts: vec![12_000.0], ..Seen::default() },
        };
        assert_eq!(policy.judge(&seen), None, "round {round}");
    }
}

/// Simulates one second of CPU time at this stride, with this cost of each handler.
fn second(handler: Duration, stride: u32) -> Seen {
    let signals = 1_000 / stride;
    let spent = Spent {
        cpu: Duration::from_secs(1),
        handlers: handler * signals,
        signals: signals.into(),
        switches: 0,
    };
    Seen { cost: Some(us(5)), spent, ..Seen::default() }
}

const FREE: Duration = Duration::from_secs(10);

/// Returns the second and the stride of each order to lengthen, within 100 seconds.
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
    let spares = || Policy::new(MS, 1, Some(us(5)), Some(Budget::new(0.01, false, FREE)));
    // Handlers take 2.4 % of the CPU time, and signals take 1 %.
    assert_eq!(strides(&mut spares(), us(24)), [(12, 4)]);
    assert_eq!(strides(&mut Policy::new(MS, 1, Some(us(5)), None), us(24)), []);
    assert_eq!(strides(&mut spares(), Duration::ZERO), []);
    assert_eq!(strides(&mut spares(), us(1)), [(12, 2)]);
    // The stride never exceeds its maximum, however slow the handlers are.
    assert_eq!(strides(&mut spares(), us(900)), [(12, 16)]);
    // The handler becomes slower.
    let mut policy = spares();
    assert_eq!(strides(&mut policy, us(24)), [(12, 4)]);
    assert_eq!(strides(&mut policy, us(60)), [(2, 8)]);
}

#[test]
fn a_budget_is_judged_by_what_was_spent_at_the_present_stride() {
    let mut policy = Policy::new(MS, 1, Some(us(5)), Some(Budget::new(0.01, false, FREE)));
    for _ in 0..11 {
        assert_eq!(policy.judge(&second(us(24), 1)), None);
    }
    // Interrupts become slow after 11 seconds. Stride 4 then stays within the budget.
    policy.lengthen(4, String::new());
    for _ in 0..20 {
        assert_eq!(policy.judge(&second(us(24), 4)), None);
    }
}

/// Simulates one second of one core with cheap samples and this many context switches.
fn switching(switches: u64) -> Seen {
    let mut seen = second(us(2), 1);
    seen.spent.switches = switches;
    seen
}

#[test]
fn where_switches_are_slow_timers_replace_events_if_they_may() {
    let judged = |timers, switches| {
        let mut policy = Policy::new(MS, 1, Some(us(5)), Some(Budget::new(0.02, timers, FREE)));
        (0..20).find_map(|second| Some((second, policy.judge(&switching(switches))?)))
    };
    // At 5 us a switch, 7,000 take 3.5 % of the second, and 1,000 take 0.5 %.
    let (second, order) = judged(true, 7_000).unwrap();
    assert!(matches!(&order, Order::Relieve { why } if why.contains("may take 3.5 %")), "{order:?}");
    assert!(second >= 10, "the first ten seconds have what they have");
    assert_eq!(judged(true, 1_000), None);
    assert_eq!(judged(false, 7_000), None);
}

#[test]
fn a_longer_stride_comes_before_timers() {
    let mut policy = Policy::new(MS, 1, Some(us(5)), Some(Budget::new(0.01, true, FREE)));
    let orders: Vec<Order> = (0..40)
        .filter_map(|_| {
            let mut seen = second(us(24), policy.stride);
            seen.spent.switches = 7_000;
            policy.judge(&seen)
        })
        .take(2)
        .collect();
    assert!(matches!(&orders[..], [Order::Lengthen { .. }, Order::Relieve { .. }]), "{orders:?}");
}
