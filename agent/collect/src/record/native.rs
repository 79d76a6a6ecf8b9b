//! Names the native frames of a sample, and puts them above the Java frames that called them. Each
//! call between them is judged by [`calls`].
//!
//! It must not hide that native frames are missing.

mod calls;

use std::ops::Range;

use foldhash::HashMap;
use vouch_recording::{Category, FRAMES_LEFT_OUT, Func, FuncId, Leaf, Recording, StackId};
use vouch_report::NativeCallReport;
use vouch_sample::{Certainty, Frame};
use vouch_signal::lane::Entry;
use vouch_signal::sample_layout::native;
use vouch_unwind::native::kernel_symbols::KernelSymbols;
use vouch_unwind::native::libraries::Library;
use vouch_unwind::native::symbols::Symbols;

use calls::NativeCalls;

/// How many addresses have their function kept. A program runs far fewer again and again.
const MAX_KNOWN: usize = 1 << 16;
/// Names code that is in no file: of a library that is gone, or made by other code than the JVM.
const UNKNOWN_CODE: &str = "[unknown code]";
/// Names code of the kernel without a symbol, or if the system hides the symbols.
const UNKNOWN_KERNEL_CODE: &str = "[kernel]";
/// The library of the JVM itself.
const JVM: &str = "libjvm.so";

/// The native frames of the current sample, and the functions of all samples.
#[derive(Debug, Default)]
pub struct NativeFrames {
    symbols: Symbols,
    /// The kernel's functions, once a sample has needed them.
    kernel_symbols: Option<KernelSymbols>,
    /// Leaf first.
    frames: Vec<Frame>,
    /// True if frames are missing between the last one and the code that called it.
    is_cut: bool,
    /// The functions that were found in the present libraries.
    known: HashMap<(Frame, Option<Category>), Known>,
    calls: NativeCalls,
    /// The addresses of libraries that had gone when the present list was read.
    unloaded: Vec<Range<usize>>,
    /// When the present list was read.
    listed_ns: u64,
    /// True if the current sample is from before the present list. A library that has gone since
    /// may have been at its addresses.
    is_before_list: bool,
}

/// What is known of a frame.
#[derive(Debug, Clone, Copy)]
struct Known {
    func: FuncId,
    /// Where the function begins. `None` if it is not of a library, or not known.
    begin: Option<usize>,
}

impl NativeFrames {
    /// Sets the libraries that are loaded now. An address may be in another library than before.
    pub fn set_libraries(&mut self, libraries: Vec<Library>, now_ns: u64) {
        self.known.clear();
        self.calls.forget();
        self.unloaded = self.symbols.set_libraries(libraries);
        self.listed_ns = now_ns;
    }

    /// Moves the libraries to another recording. The functions belong to the one before.
    #[must_use]
    pub fn take_for_next_recording(&mut self) -> Self {
        let mut next = std::mem::take(self);
        next.known.clear();
        next.calls = NativeCalls::default();
        next.clear();
        next
    }

    /// Returns how the calls between the native frames of all samples hold.
    #[must_use]
    pub fn call_report(&self) -> NativeCallReport {
        self.calls.report()
    }

    /// Reads the native frames of a sample of this time.
    pub fn read(&mut self, entry: &Entry<'_>, time_ns: u64) {
        self.clear();
        self.is_before_list = time_ns < self.listed_ns;
        if let Some(stack) = native(entry) {
            self.frames.extend(stack.frames());
            self.is_cut = stack.cut.is_some();
        }
    }

    /// Removes the frames, for samples that have none.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.is_cut = false;
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Returns the stack with the native frames on top of their caller. `category` is that of a
    /// thread of the VM's own; without one each frame has the category of its library. The top
    /// frame gets `leaf`.
    pub fn on_top(
        &mut self,
        caller: StackId,
        category: Option<Category>,
        leaf: Leaf,
        recording: &mut Recording,
    ) -> StackId {
        let mut stack = caller;
        // The instruction is in this function, whatever is certain of the Java code that called it.
        let leaf = Leaf { top_frame: leaf.top_frame.map(|_| Certainty::Exact), ..leaf };
        if self.is_cut {
            let other = category.unwrap_or(Category::Native);
            stack = recording.placeholder_stack(Some(stack), FRAMES_LEFT_OUT, other);
        }
        // The return address in the frame below.
        let mut return_address = None;
        for at in (0..self.frames.len()).rev() {
            let Known { func, begin } = self.known(self.frames[at], category, recording);
            if let (Some(return_address), Frame::Native { pc }) = (return_address, self.frames[at]) {
                self.calls.judge(return_address, (begin, pc), &mut self.symbols);
            }
            return_address = match self.frames[at] {
                Frame::Native { pc } => Some(begin.and(pc.checked_add(1))),
                _ => None,
            };
            let frame =
                if at == 0 { recording.leaf_frame(func, None, leaf) } else { recording.frame(func, None) };
            stack = recording.stack(Some(stack), frame);
        }
        stack
    }

    fn known(&mut self, frame: Frame, category: Option<Category>, recording: &mut Recording) -> Known {
        let is_unsure = self.is_unsure(frame);
        let key = (frame, category);
        if let Some(known) = self.known.get(&key).filter(|_| !is_unsure) {
            return *known;
        }
        let (found, unknown, own) = match frame {
            Frame::Kernel { pc } => {
                let symbols = self.kernel_symbols.get_or_insert_with(KernelSymbols::read);
                let found = symbols.find(pc).map(|symbol| (symbol.full_name(), symbol.module.to_owned()));
                (found, UNKNOWN_KERNEL_CODE, Category::Kernel)
            }
            Frame::Native { pc } if !is_unsure => {
                let symbol = self.symbols.find(pc);
                let is_jvm = symbol.as_ref().is_some_and(|symbol| symbol.library == JVM);
                let own = if is_jvm { Category::Jvm } else { Category::Native };
                (symbol.map(|symbol| (symbol.full_name(), symbol.library)), UNKNOWN_CODE, own)
            }
            _ => (None, UNKNOWN_CODE, Category::Native),
        };
        let category = category.unwrap_or(own);
        let Some((name, library)) = found else {
            // This is not kept: the library may be known later.
            return Known { func: recording.placeholder_func(unknown, category), begin: None };
        };
        let begin = match frame {
            Frame::Native { pc } => self.symbols.function(pc).map(|function| function.start),
            _ => None,
        };
        let resource = Some(recording.resource(&library));
        let func =
            recording.func(Func { name: &name, category, source: None, line: None, resource, java: false });
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        let known = Known { func, begin };
        self.known.insert(key, known);
        known
    }

    /// Returns true if the system has hidden the names of the kernel's functions from a sample that
    /// needed them.
    #[must_use]
    pub fn hides_kernel_names(&self) -> bool {
        self.kernel_symbols.as_ref().is_some_and(KernelSymbols::is_empty)
    }

    /// Returns true if the frame may be of a library that has gone, or of what came after it.
    fn is_unsure(&self, frame: Frame) -> bool {
        let is_unloaded = |pc| self.unloaded.iter().any(|range| range.contains(&pc));
        self.is_before_list && matches!(frame, Frame::Native { pc } if is_unloaded(pc))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vouch_recording::Trust;
    use vouch_unwind::native::libraries::loaded;

    const LEAF: Leaf = Leaf { trust: Trust::Proven, top_frame: Some(Certainty::Exact) };

    fn own() -> usize {
        (own as *const ()).addr()
    }

    /// The names and categories of a stack, leaf first.
    fn shown(recording: &Recording, leaf: StackId) -> Vec<(String, Category)> {
        let mut next = Some(leaf);
        let rows = std::iter::from_fn(|| {
            let row = recording.stacks().get(next?);
            next = row.parent;
            let func = recording.funcs().get(recording.frames().get(row.frame).func);
            Some((recording.strings().get(func.name).to_owned(), func.category))
        });
        rows.collect()
    }

    #[test]
    fn native_frames_are_above_their_caller_and_only_the_leaf_has_a_state() {
        let (mut recording, mut native) = (Recording::new(), NativeFrames::default());
        native.set_libraries(loaded().unwrap(), 1);
        native.frames = vec![Frame::Native { pc: own() }, Frame::Native { pc: 7 }];
        for (is_cut, category) in [(false, None), (true, Some(Category::Jdk))] {
            native.is_cut = is_cut;
            let caller = recording.placeholder_stack(None, "Java", Category::Application);
            let leaf = Leaf { top_frame: Some(Certainty::Approximate), ..LEAF };
            let stack = native.on_top(caller, category, leaf, &mut recording);
            let found = shown(&recording, stack);
            let own_category = category.unwrap_or(Category::Native);
            assert!(found[0].0.contains("own") && found[0].1 == own_category, "{found:?}");
            assert_eq!(found[1], (UNKNOWN_CODE.to_owned(), own_category));
            let below: Vec<&str> = found[2..].iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(below, if is_cut { vec![FRAMES_LEFT_OUT, "Java"] } else { vec!["Java"] });
            assert_eq!(recording.leaf(stack).leaf, Some(LEAF));
            assert_eq!(recording.leaf(caller).leaf, None);
        }
    }

    #[test]
    fn a_library_that_is_gone_gives_no_name() {
        let (mut recording, mut native) = (Recording::new(), NativeFrames::default());
        native.frames = vec![Frame::Native { pc: own() }];
        native.set_libraries(loaded().unwrap(), 1);
        let caller = recording.placeholder_stack(None, "Java", Category::Application);
        let known = native.on_top(caller, None, LEAF, &mut recording);
        native.set_libraries(Vec::new(), 2);
        let gone = native.on_top(caller, None, LEAF, &mut recording);
        assert!(shown(&recording, known)[0].0.contains('!'));
        assert_eq!(shown(&recording, gone)[0].0, UNKNOWN_CODE);
    }

    #[test]
    fn a_sample_from_before_a_library_was_replaced_gets_no_name() {
        let (mut recording, mut native) = (Recording::new(), NativeFrames::default());
        native.frames = vec![Frame::Native { pc: own() }];
        let mut libraries = loaded().unwrap();
        native.set_libraries(libraries.clone(), 1);
        let replaced = libraries.iter_mut().find(|library| library.range.contains(&own())).unwrap();
        replaced.path = "/replaced".to_owned();
        native.set_libraries(libraries, 2);
        let caller = recording.placeholder_stack(None, "Java", Category::Application);
        let mut name = |is_before_list| {
            native.is_before_list = is_before_list;
            let stack = native.on_top(caller, None, LEAF, &mut recording);
            shown(&recording, stack)[0].0.clone()
        };
        assert!(name(false).starts_with("replaced+"));
        assert_eq!(name(true), UNKNOWN_CODE);
        assert!(name(false).starts_with("replaced+"));
    }

    #[test]
    fn a_library_that_comes_later_gives_its_name() {
        let (mut recording, mut native) = (Recording::new(), NativeFrames::default());
        native.frames = vec![Frame::Native { pc: own() }];
        let caller = recording.placeholder_stack(None, "Java", Category::Application);
        let unknown = native.on_top(caller, None, LEAF, &mut recording);
        native.set_libraries(loaded().unwrap(), 1);
        let known = native.on_top(caller, None, LEAF, &mut recording);
        assert_eq!(shown(&recording, unknown)[0].0, UNKNOWN_CODE);
        assert!(shown(&recording, known)[0].0.contains('!'));
    }
}
