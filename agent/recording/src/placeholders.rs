//! Placeholders in stacks: frames that are no methods. They replace an unknown stack or missing
//! frames, or show that a part of a stack is refuted.

use crate::category::Category;
use crate::ids::{FuncId, StackId};
use crate::recording::Recording;
use crate::rows::{Func, Leaf};

impl Recording {
    /// Adds a placeholder: a function that is no method.
    pub fn placeholder_func(&mut self, name: &str, category: Category) -> FuncId {
        self.func(Func { name, category, source: None, line: None, resource: None, java: false })
    }

    /// Adds a stack with a placeholder as its leaf. Without `caller` the placeholder is the root.
    pub fn placeholder_stack(&mut self, caller: Option<StackId>, name: &str, category: Category) -> StackId {
        let func = self.placeholder_func(name, category);
        let frame = self.frame(func, None);
        self.stack(caller, frame)
    }

    /// Adds a stack with a placeholder as its leaf, in the category of its caller. So the time of
    /// its samples counts in that category.
    pub fn placeholder_on_top(&mut self, caller: StackId, name: &str, leaf: Leaf) -> StackId {
        let category = self.funcs().get(self.leaf(caller).func).category;
        let func = self.placeholder_func(name, category);
        let frame = self.leaf_frame(func, None, leaf);
        self.stack(Some(caller), frame)
    }
}
