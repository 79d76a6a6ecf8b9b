//! The compiled methods there are: where each one's code lies, and how many frames are one at each
//! place of it.
//!
//! What was inlined has no frame of its own on the thread's stack: all that one compiled frame
//! stands for comes and goes at once. The JVM tells of each method that it compiles or throws away,
//! if late: other code may have its place by then. So there is never more than its code cache
//! holds. It must never hold up the JVM's compilers.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use vouch_sample::MethodId;

/// All of them, by where their code begins.
static COMPILED: Mutex<Compiled> = Mutex::new(Compiled { newest: 0, code: BTreeMap::new(), changes: None });

/// What was compiled before the agent came is known, or there was nothing.
static IS_COMPLETE: AtomicBool = AtomicBool::new(false);

thread_local! {
    static LEARNS: Cell<bool> = const { Cell::new(false) };
}

#[derive(Debug, Default)]
struct Compiled {
    /// The serial number of the newest code.
    newest: u64,
    code: BTreeMap<usize, Code>,
    /// What has come and gone since somebody who watches has last asked.
    changes: Option<Vec<Change>>,
}

/// Code has come, or gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Loaded { method: MethodId, begin: usize, size: usize },
    Unloaded { begin: usize },
}

/// The code of one.
#[derive(Debug)]
struct Code {
    /// No other code has it, wherever it lies.
    serial: u64,
    end: usize,
    method: MethodId,
    /// Runs of places with as many frames: the last place of each, from the code's beginning, and
    /// the number. Nobody tells them of code that is older than the agent.
    runs: Option<Box<[(u32, u32)]>>,
}

/// Where in compiled code a place lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The method that was compiled, into which the others were inlined.
    pub method: MethodId,
    /// The frames that are one there.
    pub frames: usize,
}

/// The agent came with the JVM: it is told of all code there will be.
pub fn is_complete() {
    IS_COMPLETE.store(true, Ordering::Relaxed);
}

/// `tell` has the JVM tell, on the calling thread, of the code there is: once, where the agent came
/// later than that.
pub fn learn(tell: impl FnOnce()) {
    if !IS_COMPLETE.swap(true, Ordering::Relaxed) {
        LEARNS.set(true);
        tell();
        LEARNS.set(false);
    }
}

/// A method was compiled: its code lies here, and at these places has so many frames. False if that
/// was before the agent came.
pub fn loaded(
    method: MethodId,
    begin: usize,
    size: usize,
    places: impl Iterator<Item = (usize, usize)>,
) -> bool {
    let is_new = !LEARNS.get();
    let code = Code {
        serial: 0,
        end: begin.saturating_add(size),
        method,
        runs: is_new.then(|| runs(begin, places)),
    };
    let mut compiled = COMPILED.lock();
    if is_new || !compiled.knows(begin, &code) {
        compiled.add(begin, code);
    }
    is_new
}

/// The code that began here was thrown away.
pub fn unloaded(method: MethodId, begin: usize) {
    let mut compiled = COMPILED.lock();
    // Other code may lie there by now.
    if compiled.code.get(&begin).is_some_and(|code| code.method == method) {
        compiled.remove(begin);
    }
}

/// From here on changes are kept for whoever asks; the first are of all that is there.
pub fn watch() {
    let mut compiled = COMPILED.lock();
    let all = compiled.code.iter().map(|(begin, code)| code.coming(*begin)).collect();
    compiled.changes = Some(all);
}

/// The changes since this was last asked.
pub fn changes() -> Vec<Change> {
    COMPILED.lock().changes.as_mut().map(take).unwrap_or_default()
}

/// Nobody asks for them any more.
pub fn unwatch() {
    COMPILED.lock().changes = None;
}

/// The compiled method that an address lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownCode {
    /// No other code has this number, wherever it lies.
    pub serial: u64,
    pub method: MethodId,
    /// It was compiled before the agent was loaded.
    pub is_older: bool,
}

/// How a thread has come to stand at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// It was interrupted there, about to go on with the instruction: what the JVM tells of a place
    /// is of what ends there.
    Interrupted,
    /// It has called from there, and will return to it.
    Calling,
}

/// Where an address lies; `None` if in no code that is known.
pub fn place(pc: usize, stands: Stands) -> Option<Place> {
    COMPILED.lock().place(pc, stands)
}

/// The code that an address lies in.
pub fn code(pc: usize) -> Option<KnownCode> {
    COMPILED.lock().known(pc)
}

/// The method in whose code an address lies.
pub fn method(pc: usize) -> Option<MethodId> {
    code(pc).map(|code| code.method)
}

fn runs(begin: usize, places: impl Iterator<Item = (usize, usize)>) -> Box<[(u32, u32)]> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for (pc, frames) in places {
        let at = pc.checked_sub(begin).and_then(|at| u32::try_from(at).ok());
        let (Some(at), Ok(frames)) = (at, u32::try_from(frames)) else { continue };
        match runs.last_mut() {
            Some((last, same)) if *same == frames => *last = at,
            _ => runs.push((at, frames)),
        }
    }
    runs.into()
}

impl Code {
    fn coming(&self, begin: usize) -> Change {
        Change::Loaded { method: self.method, begin, size: self.end.saturating_sub(begin) }
    }
}

impl Compiled {
    fn knows(&self, begin: usize, code: &Code) -> bool {
        self.code.get(&begin).is_some_and(|known| (known.method, known.end) == (code.method, code.end))
    }

    fn add(&mut self, begin: usize, code: Code) {
        // Where code lies now no other does any more.
        let before = self.code.range(..begin).next_back().filter(|(_, code)| code.end > begin);
        let gone: Vec<usize> =
            before.into_iter().chain(self.code.range(begin..code.end)).map(|(begin, _)| *begin).collect();
        for begin in gone {
            self.remove(begin);
        }
        self.tell(code.coming(begin));
        self.newest += 1;
        self.code.insert(begin, Code { serial: self.newest, ..code });
    }

    fn remove(&mut self, begin: usize) {
        self.code.remove(&begin);
        self.tell(Change::Unloaded { begin });
    }

    fn tell(&mut self, change: Change) {
        /// Nobody has asked for so long that nobody will.
        const MOST: usize = 1 << 20;
        match &mut self.changes {
            Some(changes) if changes.len() < MOST => changes.push(change),
            _ => self.changes = None,
        }
    }

    fn known(&self, pc: usize) -> Option<KnownCode> {
        let (_, Code { serial, method, runs, .. }) = self.around(pc)?;
        Some(KnownCode { serial: *serial, method: *method, is_older: runs.is_none() })
    }

    fn around(&self, pc: usize) -> Option<(&usize, &Code)> {
        self.code.range(..=pc).next_back().filter(|(_, code)| pc < code.end)
    }

    fn place(&self, pc: usize, stands: Stands) -> Option<Place> {
        let (begin, code) = self.around(pc)?;
        // As AsyncGetCallTrace looks for what it tells of a frame.
        let at = u32::try_from(pc - begin).ok()? + u32::from(stands == Stands::Interrupted);
        let runs = code.runs.as_ref()?;
        let run = runs.partition_point(|(last, _)| *last < at);
        let frames = match runs.get(run) {
            Some((_, frames)) => usize::try_from(*frames).ok()?,
            // A native method's wrapper has nothing inlined, and no places.
            None if runs.is_empty() => 1,
            None => return None,
        };
        Some(Place { method: code.method, frames })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(method: usize, begin: usize, size: usize, places: &[(usize, usize)]) -> (usize, Code) {
        let runs = Some(runs(begin, places.iter().copied()));
        (begin, Code { serial: 0, end: begin + size, method: MethodId(method), runs })
    }

    fn of(all: impl IntoIterator<Item = (usize, Code)>) -> Compiled {
        let mut compiled = Compiled::default();
        for (begin, code) in all {
            compiled.add(begin, code);
        }
        compiled
    }

    #[test]
    fn a_place_has_the_frames_of_the_next_one_that_is_told() {
        let compiled = of([code(7, 100, 50, &[(110, 1), (112, 1), (120, 3), (130, 1)])]);
        let frames = |pc, stands| compiled.place(pc, stands).map(|place| place.frames);
        let called = [99, 100, 110, 111, 112, 113, 120, 121, 130, 131].map(|pc| frames(pc, Stands::Calling));
        let expected = [0, 1, 1, 1, 1, 3, 3, 1, 1, 0].map(|frames| Some(frames).filter(|frames| *frames > 0));
        assert_eq!(called, expected);
        let interrupted = [99, 100, 111, 112, 119, 120, 129, 130].map(|pc| frames(pc, Stands::Interrupted));
        let expected = [0, 1, 1, 3, 3, 1, 1, 0].map(|frames| Some(frames).filter(|frames| *frames > 0));
        assert_eq!(interrupted, expected);
        assert_eq!(compiled.place(100, Stands::Calling).unwrap().method, MethodId(7));
    }

    #[test]
    fn a_wrapper_is_one_frame() {
        assert_eq!(
            of([code(7, 100, 50, &[])]).place(149, Stands::Interrupted),
            Some(Place { method: MethodId(7), frames: 1 })
        );
    }

    #[test]
    fn of_code_that_is_older_than_the_agent_the_method_is_known_and_no_place() {
        let (begin, old) = code(7, 100, 50, &[]);
        let compiled = of([(begin, Code { runs: None, ..old })]);
        assert_eq!(compiled.place(120, Stands::Calling), None);
        let known = compiled.known(120).map(|code| (code.method, code.is_older));
        assert_eq!(known, Some((MethodId(7), true)));
    }

    #[test]
    fn code_takes_the_place_of_what_lay_there() {
        let compiled = of([
            code(1, 100, 50, &[]),
            code(2, 150, 10, &[]),
            code(3, 160, 50, &[]),
            code(4, 300, 10, &[]),
            code(5, 140, 30, &[]),
        ]);
        let methods = [120, 145, 155, 165, 200, 305]
            .map(|pc| compiled.place(pc, Stands::Calling).map(|place| place.method.0));
        assert_eq!(methods, [None, Some(5), Some(5), Some(5), None, Some(4)]);
    }

    #[test]
    fn whoever_watches_is_told_what_comes_and_goes() {
        let mut compiled = of([code(1, 100, 50, &[])]);
        compiled.changes = Some(Vec::new());
        let (begin, other) = code(2, 140, 20, &[]);
        compiled.add(begin, other);
        let loaded = Change::Loaded { method: MethodId(2), begin: 140, size: 20 };
        assert_eq!(compiled.changes.take(), Some(vec![Change::Unloaded { begin: 100 }, loaded]));
    }
}
