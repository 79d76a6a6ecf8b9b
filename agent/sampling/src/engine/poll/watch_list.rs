//! The threads that a poller looks at: those that ran lately first, and idle ones not at each look.
//!
//! Whether an idle thread is looked at is drawn before its clock is read, and the weight of what is
//! found is divided by the chance of the draw. So shares stay right, and a thousand idle threads
//! cost no more than a dozen. The order matters, too: a thread that runs for some microseconds at a
//! time may sleep before a long list is read.

use std::collections::HashMap;

/// About how many idle threads one look reads the clocks of.
const IDLE_LOOKS: usize = 8;
/// A thread that did not run between this many looks is idle.
const LOOKS_UNTIL_IDLE: u32 = 4;

/// A thread that is looked at.
#[derive(Debug)]
pub struct Watched {
    pub tid: u32,
    /// Distinguishes it from an earlier thread with the same id.
    pub number: u64,
    /// Its CPU clock at the last look.
    pub cpu: u64,
    /// For how many looks it has not run.
    still: u32,
    /// It is looked at with a chance of one in two to the power of this.
    rarity: u32,
}

impl Watched {
    pub fn new(tid: u32, number: u64, cpu: u64) -> Self {
        Self { tid, number, cpu, still: 0, rarity: 0 }
    }
}

/// All of them.
#[derive(Debug, Default)]
pub struct WatchList {
    index: HashMap<u32, usize>,
    /// All watched threads. The first `running` of them ran recently.
    threads: Vec<Watched>,
    running: usize,
}

impl WatchList {
    pub fn insert(&mut self, watched: Watched) {
        self.remove(watched.tid, None);
        self.index.insert(watched.tid, self.threads.len());
        self.threads.push(watched);
    }

    /// Removes the thread with this id, unless it is another one by now.
    pub fn remove(&mut self, tid: u32, number: Option<u64>) {
        let Some(at) = self.index.get(&tid).copied() else { return };
        if number.is_some_and(|number| self.threads[at].number != number) {
            return;
        }
        let at = self.move_to_idle(at);
        self.swap(at, self.threads.len() - 1);
        self.threads.pop();
        self.index.remove(&tid);
    }

    /// Looks at the threads that are due. `has_run` gets each with the factor by which its
    /// weight has to be multiplied, updates its clock, and says whether that has moved.
    pub fn look(&mut self, draw: u64, mut has_run: impl FnMut(&mut Watched, u32) -> bool) {
        let most = (self.threads.len() / IDLE_LOOKS).max(1).ilog2();
        // Backwards among the running: then a thread that falls idle is exchanged with one that
        // has been looked at.
        let running = self.running;
        for at in (0..running).rev().chain(running..self.threads.len()) {
            let watched = &mut self.threads[at];
            let drawn = draw.wrapping_add(watched.number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            let factor = 1_u32 << watched.rarity;
            if drawn & u64::from(factor - 1) != 0 {
                continue;
            }
            if has_run(watched, factor) {
                (watched.still, watched.rarity) = (0, 0);
                self.move_to_running(at);
                continue;
            }
            watched.still += 1;
            if watched.still >= LOOKS_UNTIL_IDLE {
                watched.rarity = most.min(watched.rarity + 1);
                self.move_to_idle(at);
            }
        }
    }

    fn move_to_running(&mut self, at: usize) {
        if at >= self.running {
            self.swap(at, self.running);
            self.running += 1;
        }
    }

    /// Where the thread is afterwards.
    fn move_to_idle(&mut self, at: usize) -> usize {
        if at >= self.running {
            return at;
        }
        self.running -= 1;
        self.swap(at, self.running);
        self.running
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.threads.swap(a, b);
        for at in [a, b] {
            self.index.insert(self.threads[at].tid, at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factors with which each thread was looked at in this many looks; those below `running`
    /// run all the time.
    fn factors(threads: u32, running: u32, looks: u64) -> Vec<Vec<u32>> {
        let mut list = WatchList::default();
        for tid in 0..threads {
            list.insert(Watched::new(tid, tid.into(), 0));
        }
        let mut factors = vec![Vec::new(); threads as usize];
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..looks {
            list.look(random.u64(..), |watched, factor| {
                factors[watched.tid as usize].push(factor);
                watched.tid < running
            });
        }
        factors
    }

    #[test]
    fn each_thread_has_the_weight_of_all_looks() {
        let looks = 20_000;
        for threads in [1, 7, 40, 600] {
            for factors in factors(threads, 3, looks) {
                let weight: u64 = factors.iter().map(|factor| u64::from(*factor)).sum();
                // A thread that is looked at once in 64 looks is so some 300 times.
                assert!(weight.abs_diff(looks) < looks / 4, "{weight} of {looks}, {threads} threads");
            }
        }
    }

    #[test]
    fn idle_threads_are_looked_at_rarely_and_running_ones_always() {
        let factors = factors(600, 3, 1_000);
        for running in &factors[..3] {
            assert_eq!(*running, vec![1; 1_000]);
        }
        let idle: usize = factors[3..].iter().map(Vec::len).sum();
        assert!(idle < 20 * 1_000, "{idle} looks at idle threads in 1,000 looks");
    }

    #[test]
    fn a_thread_that_falls_idle_makes_no_other_miss_a_look() {
        let mut list = WatchList::default();
        for tid in 0..4 {
            list.insert(Watched::new(tid, tid.into(), 0));
        }
        let mut looks = [0; 4];
        for number in 0..20 {
            list.look(0, |watched, _| {
                looks[watched.tid as usize] += 1;
                watched.tid == 3 || number < 10
            });
        }
        assert_eq!(looks, [20; 4]);
    }

    #[test]
    fn a_thread_that_took_over_an_id_stays() {
        let mut list = WatchList::default();
        list.insert(Watched::new(7, 1, 0));
        list.insert(Watched::new(8, 2, 0));
        list.insert(Watched::new(7, 3, 0));
        list.remove(7, Some(1));
        let mut seen = Vec::new();
        list.look(0, |watched, _| {
            seen.push((watched.tid, watched.number));
            true
        });
        seen.sort_unstable();
        assert_eq!(seen, [(7, 3), (8, 2)]);
        list.remove(7, Some(3));
        list.remove(8, Some(2));
        list.look(0, |_, _| unreachable!("all have been removed"));
    }
}
