//! Offsets of the HotSpot fields that the walker reads. All come from the tables that the JVM
//! exports (VMStructs), and none depends on the processor.

use core::ops::Range;

use crate::jvm_layout::JvmLayout;
use crate::memory::Memory;

/// An address that the header of a code blob contains. It is relative to the blob, or it is a
/// pointer in the header.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlobAddress {
    /// The offset in the header of a pointer to add to. `None` means that the address is relative
    /// to the blob.
    pub pointer: Option<usize>,
    /// The header's field that is added to the pointer or to the blob's address.
    pub offset: Option<BlobField>,
}

/// An unsigned integer field in the header of a code blob.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlobField {
    /// The offset of the field in the code blob, in bytes.
    pub offset: usize,
    /// The width of the field, in bytes.
    pub bytes: usize,
}

impl BlobField {
    /// Describes a field of a code blob with four bytes.
    #[must_use]
    pub const fn int(offset: usize) -> Self {
        Self { offset, bytes: 4 }
    }

    /// Reads this field in a code blob. The result is `None` if the value is negative: HotSpot
    /// writes -1 for a missing value.
    pub fn read(self, memory: &impl Memory, blob: usize) -> Option<usize> {
        let value = memory.bytes(blob.wrapping_add(self.offset), self.bytes)?;
        let negative = 1_usize << u32::try_from(self.bytes).ok()?.wrapping_mul(8).wrapping_sub(1);
        (value < negative).then_some(value)
    }
}

impl BlobAddress {
    /// Computes the address that this description gives for a code blob.
    pub fn read(self, memory: &impl Memory, blob: usize) -> Option<usize> {
        let base = match self.pointer {
            Some(pointer) => memory.word(blob.wrapping_add(pointer))?,
            None => blob,
        };
        Some(base.wrapping_add(match self.offset {
            Some(field) => field.read(memory, blob)?,
            None => 0,
        }))
    }
}

/// All offsets in HotSpot's memory that the walker needs.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Offsets in a thread, the code cache, and the interpreter's code.
    pub jvm: JvmLayout,
    /// Offset of `JavaThread::_thread_state`.
    pub state: usize,
    /// The value of the thread state `_thread_in_Java`.
    pub in_java: i32,
    /// Offset of `JavaThread::_current_pending_monitor`. `None` if this JVM does not publish it.
    pub pending_monitor: Option<usize>,
    pub blob: BlobLayout,
    pub compiled: CompiledLayout,
    pub method: MethodLayout,
    pub call_stub: CallStubLayout,
    pub anchor: AnchorLayout,
    pub interpreter: InterpreterLayout,
    /// The layout of upcall stubs. `None` if this JVM has none.
    pub upcall: Option<UpcallLayout>,
    /// The layout of `vframeArray`. `None` if this JVM does not export it.
    pub vframe_array: Option<VframeArrayLayout>,
}

/// The layout of interpreted frames, and where the interpreter's code is.
#[derive(Debug, Clone, Default)]
pub struct InterpreterLayout {
    /// The distance of the bytecode pointer (bcp) below the frame pointer of an interpreted frame,
    /// in words.
    pub bcp_slot: usize,
    /// The code of the interpreter's method entry points, which builds the frames of methods.
    pub method_entries: Range<usize>,
    /// The interpreter's code that callees return to: the return entry points, and the
    /// deoptimization entry points.
    pub return_entries: [Range<usize>; 2],
}

impl InterpreterLayout {
    /// True if a callee of an interpreted method may return to this address.
    #[must_use]
    pub fn is_return_entry(&self, pc: usize) -> bool {
        self.return_entries.iter().any(|codelets| codelets.contains(&pc))
    }
}

/// Offsets in HotSpot's `CodeBlob`.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlobLayout {
    /// Offset of `CodeBlob::_frame_size`, which is in words.
    pub frame_size: usize,
    /// The field `CodeBlob::_frame_complete_offset`: from this offset in the code on, the frame is
    /// complete.
    pub frame_complete: BlobField,
    /// The address at which a blob's code begins.
    pub code_begin: BlobAddress,
}

/// Offsets in `nmethod`, or in `CompiledMethod` in the JDKs that have it.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompiledLayout {
    /// Offset of `nmethod::_method`.
    pub method: usize,
    /// The verified entry point of an nmethod.
    pub verified_entry: VerifiedEntry,
    /// Offset of `nmethod::_orig_pc_offset`. A deoptimised frame has its original pc that far above
    /// its stack pointer.
    pub orig_pc_offset: usize,
    /// The address at which an nmethod's PcDescs begin.
    pub scopes_pcs: BlobAddress,
    /// The address at which an nmethod's PcDescs end.
    pub scopes_pcs_end: BlobAddress,
    /// The address at which an nmethod's scopes data begins.
    pub scopes_data: BlobAddress,
    /// The address at which an nmethod's metadata begins.
    pub metadata: BlobAddress,
    /// The deopt handler, and the deopt handler for calls of method handles where the JDK has one.
    /// Deoptimised frames return to them.
    pub deopt_handlers: [Option<BlobAddress>; 2],
    /// True if UNSIGNED5 numbers have no zero bytes, which is so since JDK 20.
    pub unsigned5_excludes_zero: bool,
}

/// How an nmethod stores its verified entry point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifiedEntry {
    /// The field at this offset is a pointer to the verified entry point.
    Pointer(usize),
    /// The field has the distance of the verified entry point from the beginning of the code.
    Offset(BlobField),
}

impl Default for VerifiedEntry {
    fn default() -> Self {
        Self::Pointer(0)
    }
}

/// Offsets in `Method` and `ConstMethod`, and of the fields that lead to a jmethodID.
#[derive(Debug, Clone, Copy, Default)]
pub struct MethodLayout {
    /// Offset of `Method::_constMethod`.
    pub const_method: usize,
    /// Offset of `Method::_access_flags`.
    pub access_flags: usize,
    /// Offset of `ConstMethod::_constants`.
    pub constants: usize,
    /// Offset of `ConstMethod::_method_idnum`.
    pub idnum: usize,
    /// Offset of `ConstMethod::_code_size`.
    pub code_size: usize,
    /// Size of a `ConstMethod`, after which the method's bytecodes begin.
    pub bytecodes: usize,
    /// Offset of `ConstantPool::_pool_holder`.
    pub pool_holder: usize,
    /// Offset of `InstanceKlass::_methods_jmethod_ids`, an array that begins with its length.
    pub jmethod_ids: usize,
    /// True if a jmethodID is a pointer to the method's address. Since JDK 26 it is a number.
    pub ids_are_pointers: bool,
}

/// Offsets in the frame of the call stub, through which the VM calls Java.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallStubLayout {
    /// The value of `StubRoutines::_call_stub_return_address`, to which Java returns from the VM's
    /// calls.
    pub return_address: usize,
    /// The distance of the `JavaCallWrapper` below the frame pointer of the call stub, in words.
    pub wrapper_slot: usize,
    /// Offset of `JavaCallWrapper::_anchor`.
    pub anchor: usize,
}

/// Offsets in `JavaFrameAnchor`, which has the registers with which a thread left Java.
#[derive(Debug, Clone, Copy, Default)]
pub struct AnchorLayout {
    /// Offset of `JavaFrameAnchor::_last_Java_sp`.
    pub sp: usize,
    /// Offset of `JavaFrameAnchor::_last_Java_pc`.
    pub pc: usize,
    /// Offset of `JavaFrameAnchor::_last_Java_fp`.
    pub fp: usize,
}

/// Offsets in `UpcallStub`, the stub through which foreign functions call Java.
#[derive(Debug, Clone, Copy, Default)]
pub struct UpcallLayout {
    /// Offset of `CodeBlob::_kind`.
    pub kind_offset: usize,
    /// The value of `CodeBlobKind::Upcall`.
    pub upcall_kind: u8,
    /// Offset of `UpcallStub::_frame_data_offset`. The frame's anchor is that far above its stack
    /// pointer.
    pub frame_data_offset: usize,
}

/// Offsets in `vframeArray`, from which the JVM fills the interpreter frames that replace a
/// deoptimised frame.
#[derive(Debug, Clone, Copy, Default)]
pub struct VframeArrayLayout {
    /// Offset of `JavaThread::_vframe_array_head`, which is 0 while no frame is replaced.
    pub head: usize,
    /// Offset of `vframeArray::_frames`, the number of elements.
    pub frames: usize,
    /// Offset of the stack pointer in `vframeArray::_caller`.
    pub caller_sp: usize,
    /// Offset of `vframeArray::_elements`. The first element is the innermost frame.
    pub elements: usize,
    /// Size of a `vframeArrayElement`.
    pub element_size: usize,
    /// Offset of `vframeArrayElement::_method`.
    pub method: usize,
    /// Offset of `vframeArrayElement::_bci`.
    pub bci: usize,
}
