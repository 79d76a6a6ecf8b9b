//! By which id a method is told.

use vouch_sample::MethodId;

use super::super::layout::MethodLayout;
use super::jvm::{LEAF, PART, thread};

#[test]
fn a_method_whose_class_was_redefined_has_no_id_and_never_another_ones() {
    let thread = thread();
    let id = |word: usize, value| {
        thread.jvm.put(thread.leaf.at + word, value);
        thread.jvm.frames(thread.at(0x20, LEAF))[0].method
    };
    let own = thread.leaf.id;
    // Another method has it; its number is beyond the ids; there are none.
    assert_eq!(id(5 * PART, thread.interpreted.at), MethodId::UNNUMBERED.0);
    // One of its own class, and with its number, has taken its place.
    let class = thread.jvm.words.borrow()[&(thread.interpreted.at + 2 * PART)];
    thread.jvm.put(thread.interpreted.at + 2 * PART, thread.leaf.at + 3 * PART);
    assert_eq!(id(5 * PART, thread.interpreted.at), own);
    thread.jvm.put(thread.interpreted.at + PART + 8, 0);
    assert_eq!(id(5 * PART, thread.interpreted.at), MethodId::UNNUMBERED.0);
    thread.jvm.put(thread.interpreted.at + PART + 8, 1);
    thread.jvm.put(thread.interpreted.at + 2 * PART, class);
    assert_eq!(id(5 * PART, thread.leaf.at), own);
    assert_eq!(id(PART + 8, 2), MethodId::UNNUMBERED.0);
    assert_eq!(id(PART + 8, 1), own);
    assert_eq!(id(3 * PART, 0), MethodId::UNNUMBERED.0);
}

#[test]
fn what_is_no_methods_id_is_told_apart_from_what_is_one() {
    let thread = thread();
    let (jvm, layout) = (&thread.jvm, thread.jvm.layout.method);
    let memory = |at: usize| jvm.words.borrow().get(&at).copied();
    let is_id = |id| super::super::method::is_id(&memory, &layout, id);
    assert!(is_id(thread.leaf.id) && is_id(thread.interpreted.id));
    // What an id leads to, a piece of it, what is no address, nothing.
    for none in [thread.leaf.at, thread.leaf.at + PART, 0x25, thread.leaf.id + 8, 0] {
        assert!(!is_id(none), "{none:#x}");
    }
    // Another method's, which has one of its own.
    jvm.put(thread.leaf.id + 0x10_0000, thread.leaf.at);
    assert!(!is_id(thread.leaf.id + 0x10_0000));
    // Where an id is a number, the JVM finds out.
    assert!(super::super::method::is_id(&memory, &MethodLayout { ids_are_pointers: false, ..layout }, 0x25));
}
