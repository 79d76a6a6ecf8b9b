//! Reads how code was compiled: by which compiler, and whether it is entered in a loop.

use once_cell::sync::OnceCell;
use vouch_hotspot::nmethods::{CachedMemory, Compilation, NmethodLayout};
use vouch_unwind::memory::Memory;

/// The layout of this JVM's nmethods.
static NMETHODS: OnceCell<NmethodLayout> = OnceCell::new();

pub fn set_nmethod_layout(nmethods: NmethodLayout) {
    let _ = NMETHODS.set(nmethods);
}

/// Returns how the code around an address was compiled.
pub fn made(pc: usize) -> Compilation {
    made_in(pc, &CachedMemory::default())
}

/// Returns how the code around an address was compiled. It reads through `memory`, which the caller
/// may use for more reads.
pub fn made_in(pc: usize, memory: &impl Memory) -> Compilation {
    NMETHODS.get().and_then(|nmethods| nmethods.compilation(pc, memory)).unwrap_or_default()
}

/// Returns the layout of this JVM's nmethods, if it publishes them.
pub fn nmethods() -> Option<&'static NmethodLayout> {
    NMETHODS.get()
}

/// Returns the values of a code event, in the catalogue's order. The first is for the method's
/// name, which is resolved later.
pub fn field_values(size: usize, Compilation { tier, is_osr, .. }: Compilation) -> [u64; 4] {
    [0, size as u64, tier.into(), is_osr.into()]
}
