//! Tests that read the jmethodIDs of methods.

use vouch_sample::MethodId;

use super::super::layout::MethodLayout;
use super::jvm::{LEAF, PART, thread};

#[test]
fn a_redefined_method_has_no_id_and_never_the_id_of_another_method() {
    let thread = thread();
    let id = |word: usize, value| {
        thread.jvm.put(thread.leaf.at + word, value);
        thread.jvm.frames(thread.at(0x20, LEAF))[0].method
    };
    let own = thread.leaf.id;
    // The id refers to another method. Below, the number is too large, and the class has no ids.
    assert_eq!(id(5 * PART, thread.interpreted.at), MethodId::UNNUMBERED.0);
    // A method of the same class and with the same number has replaced it.
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
fn values_that_are_not_a_methods_id_are_recognised() {
    let thread = thread();
    let (jvm, layout) = (&thread.jvm, thread.jvm.layout.method);
    let memory = |at: usize| jvm.words.borrow().get(&at).copied();
    let is_id = |id| super::super::method::is_id(&memory, &layout, id);
    assert!(is_id(thread.leaf.id) && is_id(thread.interpreted.id));
    // The values are a Method, a ConstMethod, a small number, an unused slot, and 0.
    for none in [thread.leaf.at, thread.leaf.at + PART, 0x25, thread.leaf.id + 8, 0] {
        assert!(!is_id(none), "{none:#x}");
    }
    // The value refers to a method that has another id.
    jvm.put(thread.leaf.id + 0x10_0000, thread.leaf.at);
    assert!(!is_id(thread.leaf.id + 0x10_0000));
    // If ids are numbers only the JVM can check them.
    assert!(super::super::method::is_id(&memory, &MethodLayout { ids_are_pointers: false, ..layout }, 0x25));
}
