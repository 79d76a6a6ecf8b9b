//! Tests of the cells of threads.

use super::*;

#[test]
fn a_cell_goes_to_its_next_thread_without_a_context() {
    let cells = Cells::new();
    let first = cells.cell();
    let second = cells.cell();
    assert!(!std::ptr::eq(first, second));
    let words = [7 | 1 << 32, 1, 2, 3_u64];
    // SAFETY: the cell's words are atomics. The Java library writes them in the same way.
    unsafe { std::ptr::from_ref(first.purpose()).cast_mut().cast::<[u64; 4]>().write_volatile(words) };
    assert_eq!(first.purpose().read(), (7, Some([1, 2, 3])));
    cells.give_back(first);
    let third = cells.cell();
    assert!(std::ptr::eq(first, third) && third.purpose().read() == (0, None));
}
