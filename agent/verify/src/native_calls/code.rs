//! What the checks need of a process: its code, and where functions begin.

use std::ops::Range;

/// The native code of a process.
pub trait NativeCode {
    /// Copies code or data at an address. Returns how many bytes were copied.
    fn read(&self, address: usize, bytes: &mut [u8]) -> usize;

    /// Returns the addresses of the function that has this address. The end may be after its last
    /// instruction. `None` if the address is in no library.
    fn function(&mut self, address: usize) -> Option<Range<usize>>;

    /// True if the address is in a procedure linkage table. Its stubs jump by words that change
    /// at most once, when the loader finds the function.
    fn is_in_linkage_table(&mut self, address: usize) -> bool;

    /// True if the address is in the dynamic loader.
    fn is_loader(&self, address: usize) -> bool;

    /// Reads a pointer.
    fn word(&self, address: usize) -> Option<usize> {
        let mut bytes = [0; size_of::<usize>()];
        let read = self.read(address, &mut bytes);
        (read == bytes.len()).then(|| usize::from_le_bytes(bytes))
    }
}
