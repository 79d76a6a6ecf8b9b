//! Tests of the contexts of threads.

use super::*;

#[test]
fn a_returned_thread_context_is_cleared_for_its_next_thread() {
    let pool = ThreadContextPool::new();
    let first = pool.take();
    let second = pool.take();
    assert!(!std::ptr::eq(first, second));
    let words = [7 | 1 << 32, 1, 2, 3_u64];
    // SAFETY: its words are atomics. The Java library writes them in the same way.
    unsafe { std::ptr::from_ref(first.thread_context()).cast_mut().cast::<[u64; 4]>().write_volatile(words) };
    assert_eq!(first.thread_context().read(), (7, Some([1, 2, 3])));
    pool.put_back(first);
    let third = pool.take();
    assert!(std::ptr::eq(first, third) && third.thread_context().read() == (0, None));
}
