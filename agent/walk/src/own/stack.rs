//! From one frame to its caller, until the frame that the thread began with.
//!
//! Each caller stands further out on the thread's own stack than what it called, or in the same
//! chunk, and of chunks there are so many at most: so a walk comes to an end.

mod chunks;

use core::cell::Cell;
use core::ops::Range;

use vouch_sample::Reason;

use super::again::Again;
use super::compiled::{Compiled, Which};
use super::continuation::{Chunk, ContinuationLayout, Further, distant};
use super::frames::Frames;
use super::heap::Moment;
use super::interpreted::Interpreted;
use super::layout::{AnchorLayout, Layout, Number};
use super::processor::{prologue, shape, stub_shape};
use super::unpacked::Unpacked;
use crate::blobs::Blob;
use crate::calls::follows_call;
use crate::context::{CALL_PUSHES, Interpreting, Registers as Position};
use crate::memory::Memory;
use crate::walker::Part;

const WORD: usize = size_of::<usize>();
/// Frames without a method between two with one are few.
const STUBS: usize = 64;

/// A thread where it was interrupted.
#[derive(Debug, Clone, Copy)]
pub struct Interrupted {
    pub at: Position,
    /// What the interpreter keeps, if it was that.
    pub interpreting: Interpreting,
    /// It was not interrupted there: it has called somebody, and the address is within the call.
    pub calls: bool,
}

/// What is known of the JVM.
#[derive(Debug, Clone, Copy)]
pub struct Known<'l> {
    pub layout: &'l Layout,
    /// If there are virtual threads.
    pub continuations: Option<&'l ContinuationLayout>,
}

/// What of the thread's stack may be read: its own, or the chunk that it goes on in.
#[derive(Debug)]
pub struct Stack<'m, M> {
    memory: &'m M,
    begin: Cell<usize>,
    end: Cell<usize>,
    chunk: Cell<Option<Chunk>>,
}

impl<'m, M: Memory> Stack<'m, M> {
    fn new(memory: &'m M, range: Range<usize>) -> Self {
        Self { memory, begin: Cell::new(range.start), end: Cell::new(range.end), chunk: Cell::new(None) }
    }

    /// A word of it.
    pub fn word(&self, at: usize) -> Option<usize> {
        let inside = at >= self.begin.get() && at < self.end.get();
        if inside { self.memory.word(at) } else { None }
    }

    /// What a word of an interpreter's frame means, whose distances count from there.
    pub fn place(&self, word: usize, from: usize) -> usize {
        if self.chunk.get().is_some() { distant(from, word) } else { word }
    }

    /// The frame pointer of whoever called the frame that has it there.
    pub fn link(&self, at: usize) -> Option<usize> {
        Some(self.place(self.word(at)?, at))
    }

    /// Goes on in a chunk.
    fn enter(&self, chunk: Chunk) -> Option<Position> {
        let range = chunk.range();
        self.begin.set(range.start);
        self.end.set(range.end);
        self.chunk.set(Some(chunk));
        chunk.youngest(self.memory)
    }
}

/// How much of a frame there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Whole,
    /// As large as it will be, but the caller's frame pointer is still in its register, and what no
    /// call pushes.
    Unsaved,
    /// The return address alone, on top, or where a call leaves it.
    Returning,
    /// The return address, and the caller's frame pointer on top.
    Pushed,
}

/// How a frame is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// The thread was interrupted in it.
    Interrupted,
    /// The thread has left Java from there, and has said so.
    Left,
    /// It has called what was met before, and goes on at this address.
    Called,
    /// It has called what has no method, or was left out: of such a call nothing may be described.
    /// The address is where it goes on.
    Calling,
}

/// Where to go on.
enum Next {
    Caller(Position),
    /// Where the thread has left Java, as it has said.
    Left(Position),
    /// There is none: the thread's first.
    Nobody,
}

/// Walks the thread whose JNIEnv this is.
pub fn walk<M: Memory>(
    memory: &M,
    known: Known<'_>,
    env: usize,
    interrupted: Interrupted,
    frames: &mut Frames<'_>,
) -> Result<(), Reason> {
    let layout = known.layout;
    let thread = env.wrapping_sub(layout.ground.env);
    let Interrupted { at, interpreting, calls } = interrupted;
    let field = |offset: usize| memory.word(thread.wrapping_add(offset));
    let ground = &layout.ground;
    let (base, size) = (field(ground.stack_base), field(ground.stack_size));
    let (Some(base), Some(size)) = (base, size) else { return Err(Reason::UNKNOWN_STATE) };
    // Below where it stands there is nothing of its own any more.
    if at.sp >= base || at.sp < base.saturating_sub(size) {
        return Err(Reason::UNKNOWN_JAVA);
    }
    let in_java = memory.int(thread.wrapping_add(layout.state)) == Some(layout.in_java);
    let walk = Walk {
        memory,
        layout,
        continuations: known.continuations,
        thread,
        in_java,
        stack: Stack::new(memory, at.sp..base),
        interpreting,
        whole: Cell::new(false),
        again: Again::default(),
        moment: Cell::new(None),
        leaving: Cell::new(None),
        chunks: Cell::new(0),
    };
    let (last_pc, last_fp) = (field(ground.last_pc), field(ground.last_fp));
    let left = match walk.left(field(ground.last_sp), last_pc, last_fp) {
        Left::No if in_java && !calls => walk.unpacked_from(last_pc, last_fp).map_or(Left::No, Left::At),
        left => left,
    };
    let (mut here, mut met) = match left {
        Left::At(position) => (position, Met::Left),
        Left::Unsaid => return Err(Reason::UNKNOWN_JAVA),
        Left::No if calls => (Position { pc: at.pc.wrapping_add(1), ..at }, Met::Calling),
        Left::No if in_java => (at, Met::Interrupted),
        Left::No => return Err(Reason::NO_JAVA_FRAME),
    };
    // Its youngest frame has returned to the barrier, which may have called somebody.
    if met != Met::Left && walk.goes_on_in_chunk(here) {
        let Some(Further::Is(youngest)) = walk.in_chunk(here, true) else {
            return Err(Reason::UNKNOWN_JAVA);
        };
        (here, met) = (youngest, Met::Called);
    }
    let mut stubs = 0_usize;
    loop {
        let before = frames.count();
        let Some(next) = walk.leave(here, met, frames) else {
            return Err(if met == Met::Interrupted {
                Reason::UNKNOWN_JAVA
            } else {
                Reason::NOT_WALKABLE_JAVA
            });
        };
        match known.continuations.map_or(Part::All, |known| known.part_since(before, frames)) {
            Part::All => {}
            Part::First(count) => {
                frames.truncate(count);
                break;
            }
            Part::Torn => return Err(Reason::NOT_WALKABLE_JAVA),
        }
        if frames.full() {
            break;
        }
        let (caller, left) = match next {
            Next::Caller(caller) => (caller, false),
            Next::Left(caller) => (caller, true),
            Next::Nobody => break,
        };
        let (caller, in_chunk) = match walk.found(caller, frames) {
            Some(Further::Is(found)) => found,
            Some(Further::Nothing) => break,
            None => return Err(Reason::NOT_WALKABLE_JAVA),
        };
        if met == Met::Interrupted && !walk.whole.get() {
            frames.set_out(caller.pc);
        }
        stubs = if frames.count() == before { stubs.wrapping_add(1) } else { 0 };
        // What is interrupted may have taken down all that was its own.
        let further = in_chunk || caller.sp > here.sp || caller.sp == here.sp && met == Met::Interrupted;
        if !further || stubs > STUBS {
            return Err(Reason::NOT_WALKABLE_JAVA);
        }
        let without = frames.count() == 0 && met == Met::Interrupted;
        (here, met) = match (left, without) {
            (true, _) => (caller, Met::Left),
            (false, true) => (caller, Met::Calling),
            (false, false) => (caller, Met::Called),
        };
    }
    match () {
        () if !walk.is_of_one_moment() => Err(Reason::NOT_WALKABLE_JAVA),
        () if frames.count() == 0 => Err(Reason::NO_JAVA_FRAME),
        () => Ok(()),
    }
}

/// Whether a thread has left Java.
enum Left {
    No,
    At(Position),
    /// It has, and has not said from where.
    Unsaid,
}

/// A walk.
struct Walk<'w, M> {
    memory: &'w M,
    layout: &'w Layout,
    continuations: Option<&'w ContinuationLayout>,
    /// The thread's JavaThread, and whether it is in Java.
    thread: usize,
    in_java: bool,
    stack: Stack<'w, M>,
    interpreting: Interpreting,
    /// The frame that was met last is a method's, and whole.
    whole: Cell<bool>,
    again: Again,
    /// When the first chunk was found, of a thread that is outside of Java.
    moment: Cell<Option<Moment>>,
    /// The thread is just leaving its carrier, and its frames from there on go into a chunk.
    leaving: Cell<Option<Position>>,
    /// How many chunks it has been in.
    chunks: Cell<usize>,
}

impl<M: Memory> Walk<'_, M> {
    /// Where a thread has left Java, by what it said of it.
    fn left(&self, sp: Option<usize>, pc: Option<usize>, fp: Option<usize>) -> Left {
        let (Some(sp), Some(pc), Some(fp)) = (sp, pc, fp) else { return Left::Unsaid };
        if sp == 0 {
            return Left::No;
        }
        // Where it has not said the address, that is what the call has pushed.
        let pc = match pc {
            0 if CALL_PUSHES => self.stack.word(sp.wrapping_sub(WORD)),
            0 => None,
            pc => Some(pc),
        };
        pc.map_or(Left::Unsaid, |pc| Left::At(Position { pc, sp, fp }))
    }

    /// Adds what stands there, if it has methods, and says who called it. `None` if that cannot be
    /// told.
    fn leave(&self, here: Position, met: Met, frames: &mut Frames<'_>) -> Option<Next> {
        let Self { memory, layout, stack, .. } = self;
        if let Some(size) = if met == Met::Called { self.again.add(here.pc, frames) } else { None } {
            return self.sized(size, here);
        }
        if layout.ground.interpreter.contains(&here.pc) {
            let frame = Interpreted { memory: *memory, layout, stack, here };
            let left = frame.leave(met, self.interpreting, frames)?;
            self.whole.set(left.whole);
            return Some(Next::Caller(left.caller));
        }
        if matches!(met, Met::Called | Met::Calling) && here.pc == layout.entry.returns {
            let holder = stack.word(here.fp.wrapping_sub(layout.entry.holder.wrapping_mul(WORD)))?;
            return self.anchor(holder.wrapping_add(layout.entry.anchor), &layout.anchor);
        }
        match layout.ground.blobs.find(here.pc, *memory)? {
            (_, Blob::Dead) => None,
            (blob, Blob::Method) => self.method(Compiled::at(*memory, layout, blob)?, here, met, frames),
            (blob, Blob::Other) => self.stub(blob, here, met, frames),
        }
    }

    /// Who called what began there.
    fn anchor(&self, anchor: usize, layout: &AnchorLayout) -> Option<Next> {
        let field = |offset: usize| self.stack.word(anchor.wrapping_add(offset));
        match self.left(field(layout.sp), field(layout.pc), field(layout.fp)) {
            Left::No => Some(Next::Nobody),
            Left::At(position) => Some(Next::Left(position)),
            Left::Unsaid => None,
        }
    }

    fn method(&self, method: Compiled, here: Position, met: Met, frames: &mut Frames<'_>) -> Option<Next> {
        let Self { memory, layout, .. } = self;
        let memory = *memory;
        let shape = match met {
            Met::Interrupted => self.shape(method.blob, method.verified(memory, layout)?, here.pc)?,
            Met::Left | Met::Called | Met::Calling => Shape::Whole,
        };
        let is_native = method.is_native(memory, layout)?;
        if is_native && Number::int(layout.blob.frame_size).of(memory, method.blob)? == 0 {
            // What links a method handle to its method goes on there, and is nobody's frame.
            return self.sender(method.blob, here, Shape::Returning, met);
        }
        if is_native || shape != Shape::Whole {
            let sure = match met {
                // Before it is only compared with what was meant to be called.
                Met::Interrupted => here.pc >= method.verified(memory, layout)?,
                Met::Left => true,
                Met::Called | Met::Calling => follows_call(memory, here.pc),
            };
            if !sure {
                return None;
            }
            method.add_itself(memory, layout, frames)?;
        } else {
            let (pc, which) = match met {
                // What is described there is what ends there: the instruction that is about to be
                // done ends later.
                Met::Interrupted => (here.pc.wrapping_add(1), Which::Next),
                Met::Left | Met::Called | Met::Calling
                    if method.given_up(memory, &layout.compiled, here.pc) =>
                {
                    let original = Number::int(layout.compiled.original).of(memory, method.blob)?;
                    (self.stack.word(here.sp.wrapping_add(original))?, Which::Exact)
                }
                Met::Calling if follows_call(memory, here.pc) => (here.pc, Which::Next),
                Met::Calling => return None,
                Met::Left | Met::Called => (here.pc, Which::Exact),
            };
            let first = frames.count();
            match method.scope(memory, &layout.compiled, pc, which)? {
                // Out of line, behind all that is described, such as a barrier's slow path. Where
                // it goes back to is found later.
                0 if which == Which::Next => method.add_itself(memory, layout, frames)?,
                0 => return None,
                scope => method.add(memory, layout, scope, frames)?,
            }
            self.whole.set(true);
            if met == Met::Called {
                let size = Number::int(layout.blob.frame_size).of(memory, method.blob)?;
                self.again.remember(pc, size, first, frames);
                return self.sized(size, here);
            }
        }
        self.sender(method.blob, here, shape, met)
    }

    /// Where the thread has left Java that is being given other frames, and does not say so.
    fn unpacked_from(&self, pc: Option<usize>, fp: Option<usize>) -> Option<Position> {
        let unpacked = Unpacked::of(self.memory, self.layout, &self.stack, self.thread)?;
        unpacked.left(pc?, fp?)
    }

    /// Code of the JVM's own.
    fn stub(&self, blob: usize, here: Position, met: Met, frames: &mut Frames<'_>) -> Option<Next> {
        let Self { memory, layout, .. } = self;
        let upcall =
            layout.upcall.filter(|upcall| memory.byte(blob.wrapping_add(upcall.kind)) == Some(upcall.upcall));
        if let Some(upcall) = upcall {
            let anchor = Number::int(upcall.anchor).of(*memory, blob)?;
            return if met == Met::Called {
                self.anchor(here.sp.wrapping_add(anchor), &layout.anchor)
            } else {
                None
            };
        }
        let sized = Number::int(layout.blob.frame_size).of(*memory, blob)? > 0;
        let shape = match met {
            Met::Left | Met::Called | Met::Calling if sized => Shape::Whole,
            Met::Interrupted if sized => {
                let shape = self.shape(blob, layout.blob.code.of(*memory, blob)?, here.pc)?;
                // Its stack pointer moves while it saves registers, and while it takes them back.
                (shape != Shape::Whole).then_some(shape)?
            }
            Met::Interrupted => stub_shape(*memory, here.pc)?,
            Met::Left | Met::Called | Met::Calling => return None,
        };
        let next = self.sender(blob, here, shape, met)?;
        if let (Met::Left, Next::Caller(caller)) = (met, &next)
            && let Some(unpacked) = Unpacked::of(*memory, layout, &self.stack, self.thread)
            && unpacked.is_made(caller.pc)
        {
            return unpacked.add(*caller, frames).map(Next::Caller);
        }
        Some(next)
    }

    /// How much of the frame there is that is made from `begin` on.
    fn shape(&self, blob: usize, begin: usize, pc: usize) -> Option<Shape> {
        let Self { memory, layout, .. } = self;
        let code = layout.blob.code.of(*memory, blob)?;
        let complete = layout.blob.complete.of(*memory, blob)?;
        if pc.checked_sub(code)? >= complete { shape(*memory, pc) } else { prologue(*memory, begin, pc) }
    }

    /// Who has called the frame of this blob.
    fn sender(&self, blob: usize, here: Position, shape: Shape, met: Met) -> Option<Next> {
        let Self { memory, layout, stack, .. } = self;
        let words = |words: usize| here.sp.wrapping_add(words.wrapping_mul(WORD));
        let size = || Number::int(layout.blob.frame_size).of(*memory, blob);
        let (end, fp) = match shape {
            Shape::Whole => return self.sized(size()?, here),
            Shape::Unsaved => (words(size()?), here.fp),
            Shape::Returning => (words(usize::from(CALL_PUSHES)), here.fp),
            Shape::Pushed => (words(2), stack.word(here.sp)?),
        };
        let pc = if CALL_PUSHES || shape == Shape::Pushed {
            stack.word(end.wrapping_sub(WORD))?
        } else {
            // The register is the interrupted frame's alone.
            (met == Met::Interrupted).then_some(self.interpreting.returns)?
        };
        Some(Next::Caller(Position { pc, sp: end, fp }))
    }

    /// Who has called a whole frame of so many words.
    fn sized(&self, size: usize, here: Position) -> Option<Next> {
        let sp = here.sp.wrapping_add(size.wrapping_mul(WORD));
        let word = |back: usize| self.stack.word(sp.wrapping_sub(back.wrapping_mul(WORD)));
        size.checked_sub(2)?;
        let fp = self.stack.link(sp.wrapping_sub(2_usize.wrapping_mul(WORD)))?;
        Some(Next::Caller(Position { pc: word(1)?, sp, fp }))
    }
}
