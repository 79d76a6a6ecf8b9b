//! Makes the layout that Vouch's own walker reads, from VMStructs. If a name is missing, the error
//! has it, and the walker is off.
//!
//! An nmethod finds its debug information in one of three ways: JDK 8 has offsets in the nmethod,
//! JDK 9 to 24 also have pointers, and JDK 25 and later have separate immutable data. The names
//! that a JVM publishes decide which way it is.

use std::ops::Range;

use vouch_unwind::hotspot::layout::{
    AnchorLayout, BlobAddress, BlobField, BlobLayout, CallStubLayout, CompiledLayout, InterpreterLayout,
    Layout, MethodLayout, UpcallLayout, VerifiedEntry, VframeArrayLayout,
};
use vouch_unwind::hotspot::{WALKS, slots};
use vouch_unwind::jvm_layout::JvmLayout;

use crate::HotSpot;
use crate::error::Error;
use crate::fields::{self, Constant, Field, StaticField, Type};
use crate::vmstructs::{CodeLayout, VmStructs, c_string, read_u32, read_word};

/// Makes the layout of this JVM for Vouch's own walker. The error names what is missing.
pub fn find(hotspot: &HotSpot, jvm: &JvmLayout, code: &CodeLayout) -> Result<Layout, Error> {
    if !WALKS {
        return Err(Error::UnknownProcessor);
    }
    RequiredVmStructs::find(hotspot)?.layout(jvm, code)
}

/// The names of the interpreter's codelets that callees return to.
const RETURN_CODELETS: [&str; 2] = ["return entry points", "invoke return entry points"];

/// VMStructs for a reader that needs every name: a missing name is an error that contains it.
#[derive(Debug)]
pub struct RequiredVmStructs(pub(crate) VmStructs);

impl RequiredVmStructs {
    /// Finds the tables VMStructs of this JVM.
    pub fn find(hotspot: &HotSpot) -> Result<Self, Error> {
        let vm_structs = VmStructs::find(hotspot).ok_or(Error::NoVmStructs)?;
        Ok(Self(vm_structs))
    }

    /// Makes the layout for Vouch's own walker.
    pub fn layout(&self, jvm: &JvmLayout, code: &CodeLayout) -> Result<Layout, Error> {
        let version = self.jdk_version()?;
        Ok(Layout {
            jvm: jvm.clone(),
            state: code.state,
            in_java: self.constant(&fields::THREAD_IN_JAVA)?,
            pending_monitor: self.offset(&fields::JAVA_THREAD_CURRENT_PENDING_MONITOR).ok(),
            blob: self.blob()?,
            compiled: self.compiled(version)?,
            method: self.method(version)?,
            call_stub: CallStubLayout {
                return_address: self.static_value(&fields::CALL_STUB_RETURN_ADDRESS)?,
                wrapper_slot: slots::CALL_WRAPPER,
                anchor: self.offset(&fields::JAVA_CALL_WRAPPER_ANCHOR)?,
            },
            anchor: AnchorLayout {
                sp: self.offset(&fields::LAST_JAVA_SP)?,
                pc: self.offset(&fields::LAST_JAVA_PC)?,
                fp: self.offset(&fields::LAST_JAVA_FP)?,
            },
            interpreter: self.interpreter(version, code)?,
            upcall: self.upcall(),
            vframe_array: self.vframe_array().ok(),
        })
    }

    /// Returns true if this JVM publishes the field.
    pub fn has(&self, field: &Field) -> bool {
        self.0.has(field)
    }

    /// Returns the offset of a field of HotSpot.
    pub fn offset(&self, field: &Field) -> Result<usize, Error> {
        let offset = self.0.offset(field);
        offset.ok_or_else(|| Error::Offset { field: field.0.to_string() })
    }

    /// Reads the value of a static field of HotSpot.
    pub fn static_value(&self, field: &StaticField) -> Result<usize, Error> {
        let value = self.address(field).ok().and_then(read_word);
        value.ok_or_else(|| Error::Value { name: field.0.to_string() })
    }

    /// Returns the address of a static field of HotSpot.
    pub fn address(&self, field: &StaticField) -> Result<usize, Error> {
        let address = self.0.address(field);
        address.ok_or_else(|| Error::Value { name: field.0.to_string() })
    }

    /// Returns the size of a HotSpot type in bytes.
    pub fn size(&self, class: &Type) -> Result<usize, Error> {
        let size = self.0.size(class);
        size.ok_or_else(|| Error::Size { class: class.0.to_string() })
    }

    fn constant(&self, constant: &Constant) -> Result<i32, Error> {
        let value = self.0.constant(constant);
        value.ok_or_else(|| Error::Value { name: constant.0.to_string() })
    }

    /// Returns the feature version of the JDK. In JDK 8, HotSpot's major version is 25.
    fn jdk_version(&self) -> Result<u32, Error> {
        let major = self.0.address(&fields::VM_MAJOR_VERSION).and_then(read_u32);
        let major = major.ok_or(Error::Version)?;
        if !self.has(&fields::DEOPTIMIZE_OFFSET) {
            return Ok(major);
        }
        // Before JDK-8068945, the caller of a method handle kept the stack pointer in the frame
        // pointer register.
        let update = self.0.address(&fields::VM_MINOR_VERSION).and_then(read_u32);
        match update {
            Some(60..) => Ok(8),
            _ => Err(Error::EarlyJdk8),
        }
    }

    fn address_in_blob(
        &self,
        pointer: Option<&Field>,
        offset_field: Option<&Field>,
    ) -> Result<BlobAddress, Error> {
        let offset = |field: Option<&Field>| field.map(|field| self.offset(field)).transpose();
        Ok(BlobAddress { pointer: offset(pointer)?, offset: offset(offset_field)?.map(BlobField::int) })
    }

    fn blob(&self) -> Result<BlobLayout, Error> {
        let complete = self.offset(&fields::CODE_BLOB_FRAME_COMPLETE_OFFSET)?;
        let has_code_offset = self.has(&fields::CODE_BLOB_CODE_OFFSET);
        // The field became 16 bits wide when `_mutable_data` was added.
        let is_short = self.has(&fields::CODE_BLOB_MUTABLE_DATA);
        Ok(BlobLayout {
            frame_size: self.offset(&fields::CODE_BLOB_FRAME_SIZE)?,
            frame_complete: BlobField { offset: complete, bytes: if is_short { 2 } else { 4 } },
            code_begin: if has_code_offset {
                self.address_in_blob(None, Some(&fields::CODE_BLOB_CODE_OFFSET))?
            } else {
                self.address_in_blob(Some(&fields::CODE_BLOB_CODE_BEGIN), None)?
            },
        })
    }

    fn compiled(&self, version: u32) -> Result<CompiledLayout, Error> {
        let common = CompiledLayout {
            orig_pc_offset: self.offset(&fields::NMETHOD_ORIG_PC_OFFSET)?,
            // JDK-8292758.
            unsigned5_excludes_zero: version >= 20,
            ..CompiledLayout::default()
        };
        if self.has(&fields::NMETHOD_IMMUTABLE_DATA) {
            self.with_immutable_data(&common)
        } else if self.has(&fields::SCOPES_DATA_BEGIN) {
            self.with_pointers(&common)
        } else {
            self.with_offsets(&common)
        }
    }

    /// Makes the layout of compiled methods for JDK 25 and later.
    fn with_immutable_data(&self, common: &CompiledLayout) -> Result<CompiledLayout, Error> {
        let immutable = |field| self.address_in_blob(Some(&fields::NMETHOD_IMMUTABLE_DATA), Some(field));
        let mutable = self.offset(&fields::CODE_BLOB_MUTABLE_DATA)?;
        let relocations = self.offset(&fields::CODE_BLOB_RELOCATION_SIZE)?;
        let verified = BlobField { offset: self.offset(&fields::NMETHOD_VERIFIED_ENTRY_OFFSET)?, bytes: 2 };
        Ok(CompiledLayout {
            method: self.offset(&fields::NMETHOD_METHOD)?,
            verified_entry: VerifiedEntry::Offset(verified),
            scopes_pcs: immutable(&fields::NMETHOD_SCOPES_PCS_OFFSET)?,
            scopes_pcs_end: immutable(&fields::NMETHOD_SCOPES_DATA_OFFSET)?,
            scopes_data: immutable(&fields::NMETHOD_SCOPES_DATA_OFFSET)?,
            metadata: BlobAddress { pointer: Some(mutable), offset: Some(BlobField::int(relocations)) },
            deopt_handlers: [
                Some(self.address_in_blob(None, Some(&fields::DEOPT_HANDLER_OFFSET))?),
                self.address_in_blob(None, Some(&fields::DEOPT_MH_HANDLER_OFFSET)).ok(),
            ],
            ..*common
        })
    }

    /// Adds to `common` the offsets of compiled methods that JDK 8 to 24 have alike.
    fn before_25(&self, common: &CompiledLayout) -> Result<CompiledLayout, Error> {
        let offset = |field| self.address_in_blob(None, Some(field));
        Ok(CompiledLayout {
            method: self.offset(&fields::NMETHOD_METHOD)?,
            verified_entry: VerifiedEntry::Pointer(self.offset(&fields::NMETHOD_VERIFIED_ENTRY_POINT)?),
            scopes_pcs: offset(&fields::NMETHOD_SCOPES_PCS_OFFSET)?,
            scopes_pcs_end: offset(&fields::NMETHOD_DEPENDENCIES_OFFSET)?,
            metadata: offset(&fields::NMETHOD_METADATA_OFFSET)?,
            ..*common
        })
    }

    /// Makes the layout of compiled methods for JDK 9 to 24.
    fn with_pointers(&self, common: &CompiledLayout) -> Result<CompiledLayout, Error> {
        let pointer = |field| self.address_in_blob(Some(field), None);
        Ok(CompiledLayout {
            scopes_data: pointer(&fields::SCOPES_DATA_BEGIN)?,
            deopt_handlers: [
                Some(pointer(&fields::DEOPT_HANDLER_BEGIN)?),
                pointer(&fields::DEOPT_MH_HANDLER_BEGIN).ok(),
            ],
            ..self.before_25(common)?
        })
    }

    /// Makes the layout of compiled methods for JDK 8.
    fn with_offsets(&self, common: &CompiledLayout) -> Result<CompiledLayout, Error> {
        let offset = |field| self.address_in_blob(None, Some(field));
        Ok(CompiledLayout {
            scopes_data: offset(&fields::NMETHOD_SCOPES_DATA_OFFSET)?,
            deopt_handlers: [
                Some(offset(&fields::DEOPTIMIZE_OFFSET)?),
                offset(&fields::DEOPTIMIZE_MH_OFFSET).ok(),
            ],
            ..self.before_25(common)?
        })
    }

    fn method(&self, version: u32) -> Result<MethodLayout, Error> {
        Ok(MethodLayout {
            const_method: self.offset(&fields::METHOD_CONST_METHOD)?,
            access_flags: self.offset(&fields::METHOD_ACCESS_FLAGS)?,
            constants: self.offset(&fields::CONST_METHOD_CONSTANTS)?,
            idnum: self.offset(&fields::CONST_METHOD_IDNUM)?,
            code_size: self.offset(&fields::CONST_METHOD_CODE_SIZE)?,
            bytecodes: self.size(&fields::CONST_METHOD)?,
            pool_holder: self.offset(&fields::CONSTANT_POOL_HOLDER)?,
            jmethod_ids: self.offset(&fields::INSTANCE_KLASS_METHODS_JMETHOD_IDS)?,
            // Since JDK 26 a jmethodID is a number.
            ids_are_pointers: version < 26,
        })
    }

    fn interpreter(&self, version: u32, code: &CodeLayout) -> Result<InterpreterLayout, Error> {
        let codelets = self.codelets(code)?;
        Ok(InterpreterLayout {
            bcp_slot: slots::BCP[usize::from(version >= 9)],
            // In JDK 21 and later, the names for native methods have a word before these.
            method_entries: span_of(&codelets, |name| name.contains("method entry point"))?,
            return_entries: [
                span_of(&codelets, |name| RETURN_CODELETS.contains(&name))?,
                span_of(&codelets, |name| name == "deoptimization entry points")?,
            ],
        })
    }

    /// Lists the interpreter's codelets that have a name.
    fn codelets(&self, code: &CodeLayout) -> Result<Vec<Codelet>, Error> {
        const MAX_CODELETS: usize = 10_000;
        let size = self.offset(&fields::INTERPRETER_CODELET_SIZE)?;
        let name = self.offset(&fields::INTERPRETER_CODELET_DESCRIPTION)?;
        let (mut at, end) = code.interpreter;
        let mut codelets = Vec::new();
        for _ in 0..MAX_CODELETS {
            let length = read_u32(at + size).and_then(|length| usize::try_from(length).ok());
            let Some(next) = length.filter(|length| *length > 0).map(|length| at + length) else { break };
            if next > end {
                break;
            }
            if let Some(name) = read_word(at + name).filter(|text| *text != 0).and_then(c_string) {
                codelets.push((at..next, name));
            }
            at = next;
        }
        Ok(codelets)
    }

    fn vframe_array(&self) -> Result<VframeArrayLayout, Error> {
        let size = self.size(&fields::VFRAME_ARRAY_ELEMENT)?;
        Ok(VframeArrayLayout {
            head: self.offset(&fields::VFRAME_ARRAY_HEAD)?,
            frames: self.offset(&fields::VFRAME_ARRAY_FRAMES)?,
            // The first field of HotSpot's `frame` is its stack pointer.
            caller_sp: self.offset(&fields::VFRAME_ARRAY_CALLER)?,
            // The array of elements is the last field, and is declared with one element.
            elements: self.size(&fields::VFRAME_ARRAY)?.checked_sub(size).ok_or(Error::VframeArraySize)?,
            element_size: size,
            method: self.offset(&fields::VFRAME_ARRAY_ELEMENT_METHOD)?,
            bci: self.offset(&fields::VFRAME_ARRAY_ELEMENT_BCI)?,
        })
    }

    fn upcall(&self) -> Option<UpcallLayout> {
        Some(UpcallLayout {
            kind_offset: self.0.offset(&fields::CODE_BLOB_KIND)?,
            upcall_kind: u8::try_from(self.0.constant(&fields::CODE_BLOB_KIND_UPCALL)?).ok()?,
            frame_data_offset: self.0.offset(&fields::UPCALL_STUB_FRAME_DATA_OFFSET)?,
        })
    }
}

/// The addresses of an interpreter's codelet, and its name.
type Codelet = (Range<usize>, &'static str);

/// Returns the addresses from the first to the last codelet with a name that matches.
fn span_of(codelets: &[Codelet], is_match: impl Fn(&str) -> bool) -> Result<Range<usize>, Error> {
    let mut found = codelets.iter().filter(|(_, name)| is_match(name)).map(|(range, _)| range);
    let first = found.next().ok_or(Error::Codelets)?;
    Ok(first.start..found.next_back().unwrap_or(first).end)
}
