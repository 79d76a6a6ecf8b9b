//! What stands in a stack that is no method: in the place of a stack that nobody knows, of frames
//! that are lacking, at a place that cannot be.

use crate::category::Category;
use crate::ids::{FuncId, StackId};
use crate::recording::Recording;
use crate::rows::{Func, Leaf};

impl Recording {
    /// A function that is no method.
    pub fn special(&mut self, name: &str, category: Category) -> FuncId {
        self.func(Func { name, category, source: None, line: None, resource: None, java: false })
    }

    /// A stack that ends, or begins, with something other than a method.
    pub fn stand_in(&mut self, caller: Option<StackId>, name: &str, category: Category) -> StackId {
        let func = self.special(name, category);
        let frame = self.frame(func, None);
        self.stack(caller, frame)
    }

    /// A stack with something other than a method on top, whose time counts as that of its caller's
    /// category.
    pub fn under(&mut self, caller: StackId, name: &str, leaf: impl Into<Leaf>) -> StackId {
        let frame = self.stacks().get(caller).frame;
        let func = self.frames().get(frame).func;
        let category = self.funcs().get(func).category;
        let func = self.special(name, category);
        let frame = self.leaf_frame(func, None, leaf);
        self.stack(Some(caller), frame)
    }
}
