//! Walks native frames in a signal handler.
//!
//! The tables are made before, in normal context, and replaced when libraries come and go. The
//! handler finds a cache that no other handler uses, and never waits for one. A walk runs under the
//! guard, so a fault ends it. Then its cache is free again, and the next walk overwrites it.

extern crate alloc;

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::fmt;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use crate::code_cache::CodeCache;
use crate::context::registers;
use crate::guard;
use crate::memory::LiveMemory;
use crate::native_walker::NativeWalker;
use crate::walker::{RawFrame, ResumePoint, Room, StackInfo, Subject};
use framehop::{FrameAddress, UnwindRegsNative};
use vouch_sample::{Answer, Cut, Frame, MethodId, Reason};

use crate::native::tables::{Cache, NativeStep, Tables};

/// A cache of unwinding rules, which one handler uses at a time.
struct Slot {
    is_taken: AtomicBool,
    cache: UnsafeCell<Cache>,
}

// SAFETY: only the handler that has set `is_taken` uses the cache.
unsafe impl Sync for Slot {}

/// How often walks had which result.
#[derive(Debug, Default)]
pub struct WalkCounts {
    /// Walks that ended at the thread's start or in Java code.
    pub whole: AtomicU64,
    /// Walks that ended before.
    pub broken: AtomicU64,
    /// Walks that faulted, or had no cache.
    pub failed: AtomicU64,
}

/// The walker of native frames.
pub struct NativeUnwinder {
    tables: AtomicPtr<Tables>,
    slots: Box<[Slot]>,
    code_cache: CodeCache,
    /// True if a walk reached code in no known library, so that the tables should be made again.
    has_seen_unknown_code: AtomicBool,
    /// True if that was the first such walk since the tables were made.
    wants_libraries: AtomicBool,
    pub counts: WalkCounts,
}

impl fmt::Debug for NativeUnwinder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NativeUnwinder").field("counts", &self.counts).finish_non_exhaustive()
    }
}

impl NativeUnwinder {
    /// Makes a walker without tables, which finds no frames. `at_once` is the number of handlers
    /// that may walk at the same time.
    #[must_use]
    pub fn new(code_cache: CodeCache, at_once: usize) -> Self {
        let slot = || Slot { is_taken: AtomicBool::new(false), cache: UnsafeCell::new(Cache::new_in()) };
        Self {
            tables: AtomicPtr::new(null_mut()),
            slots: (0..at_once).map(|_| slot()).collect(),
            code_cache,
            has_seen_unknown_code: AtomicBool::new(false),
            wants_libraries: AtomicBool::new(false),
            counts: WalkCounts::default(),
        }
    }

    /// Publishes new tables, and returns the old ones. The old ones must not be dropped while a
    /// handler that has begun before may still use them.
    pub fn replace(&self, tables: Box<Tables>) -> Option<Box<Tables>> {
        self.swap(Box::into_raw(tables))
    }

    /// Removes the tables, so that walks find no frames.
    pub fn stop(&self) -> Option<Box<Tables>> {
        self.swap(null_mut())
    }

    /// Sets the tables, and returns the old ones.
    fn swap(&self, tables: *mut Tables) -> Option<Box<Tables>> {
        let old = self.tables.swap(tables, Ordering::AcqRel);
        // SAFETY: the pointer is null, or comes from `Box::into_raw` in `replace`. It is taken out
        // of `tables`, so it is returned once.
        (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
    }

    /// Returns true if a walk has reached code in no known library since the last call.
    pub fn take_has_seen_unknown_code(&self) -> bool {
        self.has_seen_unknown_code.swap(false, Ordering::Relaxed)
    }

    /// Walks, with a cache that only this handler uses.
    ///
    /// # Safety
    /// As for [`NativeWalker::walk`], under the guard.
    unsafe fn walk_with(
        &self,
        tables: &Tables,
        cache: &mut Cache,
        subject: &Subject<'_>,
        room: Room,
    ) -> Answer {
        // SAFETY: the caller promised a ucontext, and that the guard runs this function.
        let (at, memory) = unsafe { (registers(subject.context), LiveMemory::guarded()) };
        // SAFETY: as above.
        let mut registers = unsafe { unwind_registers(subject.context) };
        let most = u32::try_from(room.depth).unwrap_or(0);
        let mut next = Some(FrameAddress::from_instruction_pointer(at.pc as u64));
        let (mut count, mut is_whole) = (0_u32, false);
        let push = |pc: usize, count: u32| {
            if count >= most {
                return count;
            }
            let (bci, method) = Frame::<MethodId>::from_pc(pc).to_words();
            // SAFETY: the caller promised a buffer of `depth` frames, and `count` is below that.
            unsafe { room.frames.add(count as usize).write(RawFrame { bci, method }) };
            count.wrapping_add(1)
        };
        while let Some(address) = next {
            let pc = usize::try_from(address.address_for_lookup()).unwrap_or(0);
            let Some(code) = tables.code_at(pc) else {
                is_whole = self.code_cache.kind_at(pc, &memory).is_some();
                if !is_whole {
                    if !self.has_seen_unknown_code.swap(true, Ordering::Relaxed) {
                        self.wants_libraries.store(true, Ordering::Relaxed);
                    }
                    // The library may be known when the frame gets its name.
                    count = push(pc, count);
                }
                break;
            };
            if count == most {
                break;
            }
            count = push(pc, count);
            next = match tables.step(code, address, &mut registers, cache, &memory) {
                NativeStep::Caller(caller) => caller,
                NativeStep::ThreadStart => {
                    is_whole = true;
                    None
                }
                NativeStep::Broken => None,
            };
        }
        let cut = (!is_whole && count > 0).then_some(Cut { at: count, missing: 0 });
        subject.info.set(StackInfo { resume_point: ResumePoint::default(), cut });
        if count == 0 { Err(Reason::NO_JAVA_FRAME) } else { Ok(count) }
    }
}

// SAFETY: a walk only reads, under the guard, and writes at most `depth` frames. It uses only its
// own cache, and allocates nothing by the cache's policy.
unsafe impl NativeWalker for NativeUnwinder {
    unsafe fn walk(&self, subject: &Subject<'_>, room: Room) -> Answer {
        // SAFETY: the pointer is null, or the agent keeps the tables while a handler may use them.
        let Some(tables) = (unsafe { self.tables.load(Ordering::Acquire).as_ref() }) else {
            return Err(Reason::STOPPED);
        };
        let free = |slot: &&Slot| {
            slot.is_taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let Some(slot) = self.slots.iter().find(free) else {
            self.counts.failed.fetch_add(1, Ordering::Relaxed);
            return Err(Reason::STOPPED);
        };
        let mut answer = Err(Reason::CRASHED);
        // SAFETY: the caller promised the subject. The closure may be abandoned: the cache has no
        // state that outlives a step, and `answer` is stored at once.
        unsafe {
            guard::run(subject, || {
                answer = self.walk_with(tables, &mut *slot.cache.get(), subject, room);
            });
        }
        slot.is_taken.store(false, Ordering::Release);
        let count = match answer {
            Ok(_) if subject.info.get().cut.is_none() => Some(&self.counts.whole),
            Ok(_) => Some(&self.counts.broken),
            Err(Reason::CRASHED) => Some(&self.counts.failed),
            Err(_) => None,
        };
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    fn take_wants_libraries(&self) -> bool {
        self.wants_libraries.load(Ordering::Relaxed) && self.wants_libraries.swap(false, Ordering::Relaxed)
    }
}

impl Drop for NativeUnwinder {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Reads the registers that unwinding begins with.
///
/// # Safety
/// The context must be a ucontext of the kernel.
#[cfg(target_arch = "x86_64")]
unsafe fn unwind_registers(context: *mut c_void) -> UnwindRegsNative {
    // SAFETY: the caller promised a ucontext.
    let at = unsafe { registers(context) };
    UnwindRegsNative::new(at.pc as u64, at.sp as u64, at.fp as u64)
}

/// Reads the registers that unwinding begins with.
///
/// # Safety
/// The context must be a ucontext of the kernel.
#[cfg(target_arch = "aarch64")]
unsafe fn unwind_registers(context: *mut c_void) -> UnwindRegsNative {
    // SAFETY: the caller promised a ucontext.
    let (at, link) =
        unsafe { (registers(context), (*context.cast::<libc::ucontext_t>()).uc_mcontext.regs[30]) };
    UnwindRegsNative::new(link, at.sp as u64, at.fp as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::libraries::loaded;
    use crate::native::symbols::Symbols;
    use crate::native::tables::TableMaker;
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;
    use core::cell::Cell;
    use core::mem::zeroed;
    use core::sync::atomic::AtomicUsize;

    /// Walks this thread from here, and returns the names of its functions and the cut.
    #[inline(never)]
    fn walked(unwinder: &NativeUnwinder, depth: i32) -> (Answer, Vec<String>, Option<Cut>) {
        static WALKING: AtomicUsize = AtomicUsize::new(0);
        // SAFETY: all zero is a valid context, and `getcontext` fills it.
        let mut context: libc::ucontext_t = unsafe { zeroed() };
        // SAFETY: the context is large enough.
        assert_eq!(unsafe { libc::getcontext(&raw mut context) }, 0);
        let info = Cell::default();
        let subject = Subject::interrupted(null_mut(), (&raw mut context).cast(), &info, &WALKING);
        let mut frames = vec![RawFrame::EMPTY; 65];
        // SAFETY: the context is this thread's own, and there are more frames than `depth`.
        let answer = unsafe { unwinder.walk(&subject, Room { frames: frames.as_mut_ptr(), depth }) };
        let mut symbols = Symbols::default();
        symbols.set_libraries(loaded().unwrap());
        let names = frames[..answer.map_or(0, |count| count as usize)].iter().map(|raw| {
            let Frame::Native { pc } = Frame::<MethodId>::from_words(raw.bci, raw.method) else {
                panic!("{raw:?}")
            };
            symbols.find(pc).unwrap().full_name()
        });
        (answer, names.collect(), info.get().cut)
    }

    fn unwinder() -> NativeUnwinder {
        let unwinder = NativeUnwinder::new(CodeCache::default(), 1);
        let mut maker = TableMaker::default();
        maker.set_libraries(loaded().unwrap());
        assert!(unwinder.replace(Box::new(maker.make())).is_none());
        unwinder
    }

    #[test]
    fn a_walk_reaches_the_start_of_the_thread() {
        let unwinder = unwinder();
        for _ in 0..3 {
            let (answer, names, cut) = walked(&unwinder, 64);
            assert!(answer.is_ok() && cut.is_none(), "{names:#?}");
            assert!(names[0].contains("walked"), "{names:#?}");
            assert!(names[1].contains("a_walk_reaches_the_start_of_the_thread"), "{names:#?}");
            assert!(names.last().unwrap().starts_with("libc.so.6!"), "{names:#?}");
        }
        assert_eq!(unwinder.counts.whole.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_walk_by_rules_finds_the_frames_that_framehop_finds() {
        let unwinder = NativeUnwinder::new(CodeCache::default(), 1);
        let mut maker = TableMaker::default();
        maker.set_libraries(loaded().unwrap());
        unwinder.replace(Box::new(maker.make()));
        let mut found = Vec::new();
        for _ in 0..2 {
            let (answer, names, cut) = walked(&unwinder, 64);
            assert!(answer.is_ok() && cut.is_none(), "{names:#?}");
            found.push((names, maker.set_framehop_steps(1 << 20)));
            let mut has_rules = false;
            while let Some(unread) = maker.next_unread() {
                has_rules |= maker.set_rules(unread.read(&mut || {}));
            }
            assert_eq!(has_rules, cfg!(target_arch = "x86_64") && found.len() == 1);
            unwinder.replace(Box::new(maker.make()));
            maker.set_framehop_steps(0);
        }
        assert_eq!(found[0].0, found[1].0);
        assert_eq!(found[0].1 as usize, found[0].0.len());
        assert_eq!(found[1].1 == 0, cfg!(target_arch = "x86_64"));
    }

    #[test]
    fn a_walk_that_does_not_end_has_a_cut() {
        let unwinder = unwinder();
        let (answer, _, cut) = walked(&unwinder, 2);
        assert_eq!((answer, cut), (Ok(2), Some(Cut { at: 2, missing: 0 })));
        assert_eq!(unwinder.counts.broken.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn code_in_no_library_is_noted() {
        let unwinder = NativeUnwinder::new(CodeCache::default(), 1);
        assert_eq!(walked(&unwinder, 64).0, Err(Reason::STOPPED), "it has no tables");
        unwinder.replace(Box::new(TableMaker::default().make()));
        let (answer, names, cut) = walked(&unwinder, 64);
        assert_eq!((answer, names.len(), cut), (Ok(1), 1, Some(Cut { at: 1, missing: 0 })));
        assert!(unwinder.take_wants_libraries());
        assert_eq!(walked(&unwinder, 64).0, Ok(1));
        assert!(!unwinder.take_wants_libraries(), "the agent's thread is woken once");
        assert!(unwinder.take_has_seen_unknown_code() && !unwinder.take_has_seen_unknown_code());
        assert_eq!(walked(&unwinder, 64).0, Ok(1));
        assert!(unwinder.take_wants_libraries());
    }

    #[test]
    fn handlers_do_not_wait_for_a_cache() {
        let unwinder = unwinder();
        unwinder.slots[0].is_taken.store(true, Ordering::Relaxed);
        assert_eq!(walked(&unwinder, 64).0, Err(Reason::STOPPED));
        assert_eq!(unwinder.counts.failed.load(Ordering::Relaxed), 1);
    }
}
