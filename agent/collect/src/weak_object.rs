//! Weak references to sampled objects, as events and the stages pass them on.

/// A weak reference of JNI to a sampled object, as a number. It is 0 if there is no reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WeakObject(pub u64);

/// The index of the value of an allocation that is the weak reference to the object. The number of
/// collections before the allocation comes after it. Both come after all fields.
pub const WEAK_INDEX: usize = 3;
