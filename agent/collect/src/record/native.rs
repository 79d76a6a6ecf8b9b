//! Names the native frames of a sample, and puts them above the Java frames that called them.
//!
//! Proof judges the Java frames alone. It must not hide that native frames are missing.

use foldhash::HashMap;
use vouch_recording::{Category, FRAMES_LEFT_OUT, Func, FuncId, Leaf, Recording, StackId};
use vouch_sample::Frame;
use vouch_signal::lane::Entry;
use vouch_signal::sample_layout::native;
use vouch_unwind::native::libraries::Library;
use vouch_unwind::native::symbols::Symbols;

/// How many addresses have their function kept. A program runs far fewer again and again.
const MAX_KNOWN: usize = 1 << 16;
/// Names code that is in no file: of a library that is gone, or made by other code than the JVM.
const UNKNOWN_CODE: &str = "[unknown code]";
/// The library of the JVM itself.
const JVM: &str = "libjvm.so";

/// The native frames of the current sample, and the functions of all samples.
#[derive(Debug, Default)]
pub struct NativeFrames {
    symbols: Symbols,
    /// Leaf first.
    frames: Vec<Frame>,
    /// True if frames are missing between the last one and the code that called it.
    is_cut: bool,
    /// The functions that were found in the present libraries.
    known: HashMap<(Frame, Option<Category>), FuncId>,
}

impl NativeFrames {
    /// Sets the libraries that are loaded now. An address may be in another library than before.
    pub fn set_libraries(&mut self, libraries: Vec<Library>) {
        self.known.clear();
        self.symbols.set_libraries(libraries);
    }

    /// Reads the native frames of a sample.
    pub fn read(&mut self, entry: &Entry<'_>) {
        self.clear();
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
    /// thread of the VM's own; without one each frame has the category of its library.
    pub fn on_top(
        &mut self,
        caller: StackId,
        category: Option<Category>,
        leaf: Leaf,
        recording: &mut Recording,
    ) -> StackId {
        let mut stack = caller;
        if self.is_cut {
            let other = category.unwrap_or(Category::Native);
            stack = recording.placeholder_stack(Some(stack), FRAMES_LEFT_OUT, other);
        }
        for at in (0..self.frames.len()).rev() {
            let func = self.func(self.frames[at], category, recording);
            let frame =
                if at == 0 { recording.leaf_frame(func, None, leaf) } else { recording.frame(func, None) };
            stack = recording.stack(Some(stack), frame);
        }
        stack
    }

    fn func(&mut self, frame: Frame, category: Option<Category>, recording: &mut Recording) -> FuncId {
        if let Some(func) = self.known.get(&(frame, category)) {
            return *func;
        }
        let symbol = match frame {
            Frame::Native { pc } => self.symbols.find(pc),
            _ => None,
        };
        let func = match symbol {
            Some(symbol) => {
                let own = if symbol.library == JVM { Category::Jvm } else { Category::Native };
                let resource = Some(recording.resource(&symbol.library));
                let (name, category) = (symbol.full_name(), category.unwrap_or(own));
                recording.func(Func {
                    name: &name,
                    category,
                    source: None,
                    line: None,
                    resource,
                    java: false,
                })
            }
            // These are not kept: the library may be known later.
            None if matches!(frame, Frame::Kernel { .. }) => {
                return recording.placeholder_func("[kernel]", category.unwrap_or(Category::Kernel));
            }
            None => return recording.placeholder_func(UNKNOWN_CODE, category.unwrap_or(Category::Native)),
        };
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert((frame, category), func);
        func
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vouch_recording::Fate;
    use vouch_unwind::native::libraries::loaded;

    const LEAF: Leaf = Leaf { fate: Fate::Proven, top_frame: None };

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
    fn native_frames_are_above_their_caller_and_only_the_leaf_has_a_fate() {
        let (mut recording, mut native) = (Recording::new(), NativeFrames::default());
        native.set_libraries(loaded().unwrap());
        native.frames = vec![Frame::Native { pc: own() }, Frame::Native { pc: 7 }];
        for (is_cut, category) in [(false, None), (true, Some(Category::Jdk))] {
            native.is_cut = is_cut;
            let caller = recording.placeholder_stack(None, "Java", Category::Application);
            let stack = native.on_top(caller, category, LEAF, &mut recording);
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
        native.set_libraries(loaded().unwrap());
        let caller = recording.placeholder_stack(None, "Java", Category::Application);
        let known = native.on_top(caller, None, LEAF, &mut recording);
        native.set_libraries(Vec::new());
        let gone = native.on_top(caller, None, LEAF, &mut recording);
        assert!(shown(&recording, known)[0].0.contains('!'));
        assert_eq!(shown(&recording, gone)[0].0, UNKNOWN_CODE);
    }

    #[test]
    fn a_library_that_comes_later_gives_its_name() {
        let (mut recording, mut native) = (Recording::new(), NativeFrames::default());
        native.frames = vec![Frame::Native { pc: own() }];
        let caller = recording.placeholder_stack(None, "Java", Category::Application);
        let unknown = native.on_top(caller, None, LEAF, &mut recording);
        native.set_libraries(loaded().unwrap());
        let known = native.on_top(caller, None, LEAF, &mut recording);
        assert_eq!(shown(&recording, unknown)[0].0, UNKNOWN_CODE);
        assert!(shown(&recording, known)[0].0.contains('!'));
    }
}
