//! Model checks the two protocols between handler and agent, under every interleaving that loom can
//! find. Run with `RUSTFLAGS="--cfg loom" cargo test -p vouch-signal --release --test loom`.
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use loom::thread;
use vouch_signal::gate::Gate;
use vouch_signal::lane::{Lane, Word};

/// Writes an entry of three words into a lane: its length, a name, and the name again.
fn write(lane: &Lane<'static>, name: u64) -> bool {
    let Some(claim) = lane.claim(3) else { return false };
    claim.set(1, name);
    claim.set(2, name);
    claim.publish(3);
    true
}

fn read(lane: &Lane<'static>, seen: &mut Vec<u64>) {
    lane.drain(|entry| {
        assert_eq!(entry.len(), 3);
        assert_eq!(entry.word(1), entry.word(2), "a torn entry");
        seen.extend(entry.word(1));
    });
}

fn lane(words: usize) -> Arc<Lane<'static>> {
    let memory: Vec<Word> = (0..words).map(|_| Word::default()).collect();
    Arc::new(Lane::new(Box::leak(memory.into_boxed_slice())))
}

#[test]
fn one_writer_wraps_around_one_reader() {
    loom::model(|| {
        let lane = lane(7);
        let writer = {
            let lane = Arc::clone(&lane);
            thread::spawn(move || (1..=3).filter(|name| write(&lane, *name)).collect::<Vec<_>>())
        };
        let mut seen = Vec::new();
        read(&lane, &mut seen);
        read(&lane, &mut seen);
        let written = writer.join().unwrap();
        read(&lane, &mut seen);
        assert_eq!(seen, written);
    });
}

#[test]
fn two_handlers_never_write_one_lane_at_once() {
    loom::model(|| {
        let lane = lane(7);
        let writers: Vec<_> = (1..=2)
            .map(|name| {
                let lane = Arc::clone(&lane);
                thread::spawn(move || write(&lane, name))
            })
            .collect();
        let mut seen = Vec::new();
        read(&lane, &mut seen);
        let written = writers.into_iter().map(|w| w.join().unwrap()).filter(|w| *w).count();
        read(&lane, &mut seen);
        assert_eq!(seen.len(), written, "what was published is what was read");
    });
}

#[test]
fn a_dropped_claim_leaves_no_trace() {
    loom::model(|| {
        let lane = lane(7);
        let writer = {
            let lane = Arc::clone(&lane);
            thread::spawn(move || {
                if let Some(claim) = lane.claim(3) {
                    claim.set(1, 9);
                }
                write(&lane, 1)
            })
        };
        let mut seen = Vec::new();
        read(&lane, &mut seen);
        assert!(writer.join().unwrap());
        read(&lane, &mut seen);
        assert_eq!(seen, [1]);
    });
}

#[test]
fn no_handler_is_inside_once_the_closed_gate_is_empty() {
    loom::model(|| {
        let gate: Arc<Gate<AtomicBool>> = Arc::new(Gate::new());
        // True while the value may be used. The agent sets it to false instead of freeing memory.
        let valid = Arc::new(AtomicBool::new(true));
        let entered = Arc::new(AtomicUsize::new(0));
        gate.open(Arc::as_ptr(&valid).cast_mut());
        let handler = {
            let (gate, valid, entered) = (Arc::clone(&gate), Arc::clone(&valid), Arc::clone(&entered));
            thread::spawn(move || {
                if let Some(inside) = gate.enter() {
                    entered.fetch_add(1, Ordering::Relaxed);
                    assert!(valid.load(Ordering::Relaxed), "used after it was freed");
                    drop(inside);
                }
            })
        };
        gate.close();
        if gate.is_empty() {
            valid.store(false, Ordering::Relaxed);
            assert!(gate.enter().is_none(), "closed");
        }
        handler.join().unwrap();
        assert!(gate.is_empty());
    });
}
