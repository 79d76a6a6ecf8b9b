//! What our own walker needs to know of a JVM, from the tables that every HotSpot exports: a name
//! that is not there, or has moved to where nobody knows, is a sentence, and then there is no such
//! walker.
//!
//! Three times HotSpot has changed how a compiled method leads to its debug information: until JDK
//! 9 by numbers in its head, then by some pointers, and since JDK 25 by memory of its own. Which
//! one it is the names tell.

use std::ops::Range;

use vouch_walk::hotspot::layout::{
    AnchorLayout, BlobAddress, BlobField, BlobLayout, CallStubLayout, CompiledLayout, InterpreterLayout,
    Layout, MethodLayout, UpcallLayout, VerifiedEntry, VframeArrayLayout,
};
use vouch_walk::hotspot::{WALKS, slots};
use vouch_walk::jvm_layout::JvmLayout;

use crate::HotSpot;
use crate::fields::{self, Constant, Field, StaticField, Type};
use crate::vmstructs::{CodeLayout, Table, read, read_half, text_of};

/// Reads the tables, or says what is missing.
pub fn of(hotspot: &HotSpot, jvm: &JvmLayout, code: &CodeLayout) -> Result<Layout, String> {
    if !WALKS {
        return Err("the layout of frames on this processor is not known yet".to_owned());
    }
    Tables::of(hotspot)?.layout(jvm, code)
}

/// The pieces of the interpreter that callees return to.
const RETURNS: [&str; 2] = ["return entry points", "invoke return entry points"];

/// The tables, and what is said where something is not in them.
#[derive(Debug)]
pub struct Tables(pub(crate) Table);

impl Tables {
    pub fn of(hotspot: &HotSpot) -> Result<Self, String> {
        let table = Table::of(hotspot).ok_or("this JVM does not export its VMStructs")?;
        Ok(Self(table))
    }

    pub fn layout(&self, jvm: &JvmLayout, code: &CodeLayout) -> Result<Layout, String> {
        let version = self.version()?;
        Ok(Layout {
            jvm: jvm.clone(),
            state: code.state,
            in_java: self.constant(&fields::THREAD_IN_JAVA)?,
            blob: self.blob()?,
            compiled: self.compiled(version)?,
            method: self.method(version)?,
            call_stub: CallStubLayout {
                return_address: self.still(&fields::CALL_STUB_RETURN_ADDRESS)?,
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

    pub fn has(&self, field: &Field) -> bool {
        self.0.has(field)
    }

    pub fn offset(&self, field: &Field) -> Result<usize, String> {
        let offset = self.0.offset(field);
        offset.ok_or_else(|| format!("this JVM does not publish where {} is", field.0))
    }

    /// The value of a static field that is set once.
    pub fn still(&self, field: &StaticField) -> Result<usize, String> {
        let value = self.address(field).ok().and_then(read);
        value.ok_or_else(|| format!("this JVM does not publish what {} is", field.0))
    }

    /// The address of a static field.
    pub fn address(&self, field: &StaticField) -> Result<usize, String> {
        let address = self.0.address(field);
        address.ok_or_else(|| format!("this JVM does not publish what {} is", field.0))
    }

    pub fn size(&self, of: &Type) -> Result<usize, String> {
        self.0.size(of).ok_or_else(|| format!("this JVM does not publish how large a {} is", of.0))
    }

    fn constant(&self, constant: &Constant) -> Result<i32, String> {
        let value = self.0.constant(constant);
        value.ok_or_else(|| format!("this JVM does not publish what {} is", constant.0))
    }

    /// Of the JDK. Those that counted from 1.0 on say 25 of HotSpot and 8 of Java.
    fn version(&self) -> Result<u32, String> {
        let major = self.0.address(&fields::VM_MAJOR_VERSION).and_then(read_half);
        let major = major.ok_or("this JVM does not publish its version")?;
        if !self.has(&fields::DEOPTIMIZE_OFFSET) {
            return Ok(major);
        }
        // JDK-8068945: before, who called a method handle kept the stack pointer in the frame
        // pointer.
        let update = self.0.address(&fields::VM_MINOR_VERSION).and_then(read_half);
        match update {
            Some(60..) => Ok(8),
            _ => Err("this was not tried on a JDK 8 before its update 60".to_owned()),
        }
    }

    fn address_in_blob(
        &self,
        pointer: Option<&Field>,
        offset_field: Option<&Field>,
    ) -> Result<BlobAddress, String> {
        let offset = |field: Option<&Field>| field.map(|field| self.offset(field)).transpose();
        Ok(BlobAddress { pointer: offset(pointer)?, offset: offset(offset_field)?.map(BlobField::int) })
    }

    fn blob(&self) -> Result<BlobLayout, String> {
        let complete = self.offset(&fields::CODE_BLOB_FRAME_COMPLETE_OFFSET)?;
        let in_numbers = self.has(&fields::CODE_BLOB_CODE_OFFSET);
        // The number shrank together with the others around it.
        let short = self.has(&fields::CODE_BLOB_MUTABLE_DATA);
        Ok(BlobLayout {
            frame_size: self.offset(&fields::CODE_BLOB_FRAME_SIZE)?,
            frame_complete: BlobField { offset: complete, bytes: if short { 2 } else { 4 } },
            code_begin: if in_numbers {
                self.address_in_blob(None, Some(&fields::CODE_BLOB_CODE_OFFSET))?
            } else {
                self.address_in_blob(Some(&fields::CODE_BLOB_CODE_BEGIN), None)?
            },
        })
    }

    fn compiled(&self, version: u32) -> Result<CompiledLayout, String> {
        let common = CompiledLayout {
            orig_pc_offset: self.offset(&fields::NMETHOD_ORIG_PC_OFFSET)?,
            // JDK-8292758.
            unsigned5_excludes_zero: version >= 20,
            ..CompiledLayout::default()
        };
        if self.has(&fields::NMETHOD_IMMUTABLE_DATA) {
            self.with_memory_of_its_own(&common)
        } else if self.has(&fields::SCOPES_DATA_BEGIN) {
            self.with_pointers(&common)
        } else {
            self.with_numbers(&common)
        }
    }

    fn with_memory_of_its_own(&self, common: &CompiledLayout) -> Result<CompiledLayout, String> {
        let in_it = |field| self.address_in_blob(Some(&fields::NMETHOD_IMMUTABLE_DATA), Some(field));
        let mutable = self.offset(&fields::CODE_BLOB_MUTABLE_DATA)?;
        let relocations = self.offset(&fields::CODE_BLOB_RELOCATION_SIZE)?;
        let verified = BlobField { offset: self.offset(&fields::NMETHOD_VERIFIED_ENTRY_OFFSET)?, bytes: 2 };
        Ok(CompiledLayout {
            method: self.offset(&fields::NMETHOD_METHOD)?,
            verified_entry: VerifiedEntry::Offset(verified),
            scopes_pcs: in_it(&fields::NMETHOD_SCOPES_PCS_OFFSET)?,
            scopes_pcs_end: in_it(&fields::NMETHOD_SCOPES_DATA_OFFSET)?,
            scopes_data: in_it(&fields::NMETHOD_SCOPES_DATA_OFFSET)?,
            metadata: BlobAddress { pointer: Some(mutable), offset: Some(BlobField::int(relocations)) },
            deopt_handlers: [
                Some(self.address_in_blob(None, Some(&fields::DEOPT_HANDLER_OFFSET))?),
                self.address_in_blob(None, Some(&fields::DEOPT_MH_HANDLER_OFFSET)).ok(),
            ],
            ..*common
        })
    }

    fn with_pointers(&self, common: &CompiledLayout) -> Result<CompiledLayout, String> {
        let pointer = |field| self.address_in_blob(Some(field), None);
        let number = |field| self.address_in_blob(None, Some(field));
        Ok(CompiledLayout {
            method: self.offset(&fields::NMETHOD_METHOD)?,
            verified_entry: VerifiedEntry::Pointer(self.offset(&fields::NMETHOD_VERIFIED_ENTRY_POINT)?),
            scopes_pcs: number(&fields::NMETHOD_SCOPES_PCS_OFFSET)?,
            scopes_pcs_end: number(&fields::NMETHOD_DEPENDENCIES_OFFSET)?,
            scopes_data: pointer(&fields::SCOPES_DATA_BEGIN)?,
            metadata: number(&fields::NMETHOD_METADATA_OFFSET)?,
            deopt_handlers: [
                Some(pointer(&fields::DEOPT_HANDLER_BEGIN)?),
                pointer(&fields::DEOPT_MH_HANDLER_BEGIN).ok(),
            ],
            ..*common
        })
    }

    fn with_numbers(&self, common: &CompiledLayout) -> Result<CompiledLayout, String> {
        let number = |field| self.address_in_blob(None, Some(field));
        Ok(CompiledLayout {
            method: self.offset(&fields::NMETHOD_METHOD)?,
            verified_entry: VerifiedEntry::Pointer(self.offset(&fields::NMETHOD_VERIFIED_ENTRY_POINT)?),
            scopes_pcs: number(&fields::NMETHOD_SCOPES_PCS_OFFSET)?,
            scopes_pcs_end: number(&fields::NMETHOD_DEPENDENCIES_OFFSET)?,
            scopes_data: number(&fields::NMETHOD_SCOPES_DATA_OFFSET)?,
            metadata: number(&fields::NMETHOD_METADATA_OFFSET)?,
            deopt_handlers: [
                Some(number(&fields::DEOPTIMIZE_OFFSET)?),
                number(&fields::DEOPTIMIZE_MH_OFFSET).ok(),
            ],
            ..*common
        })
    }

    fn method(&self, version: u32) -> Result<MethodLayout, String> {
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

    fn interpreter(&self, version: u32, code: &CodeLayout) -> Result<InterpreterLayout, String> {
        let pieces = self.pieces(code)?;
        Ok(InterpreterLayout {
            bcp_slot: slots::BCP[usize::from(version >= 9)],
            // Since JDK 21 those of native methods have a word before it.
            method_entries: all_that(&pieces, |name| name.contains("method entry point"))?,
            return_entries: [
                all_that(&pieces, |name| RETURNS.contains(&name))?,
                all_that(&pieces, |name| name == "deoptimization entry points")?,
            ],
        })
    }

    /// The pieces of the interpreter's code that have a name of HotSpot's.
    fn pieces(&self, code: &CodeLayout) -> Result<Vec<Piece>, String> {
        const PIECES: usize = 10_000;
        let size = self.offset(&fields::INTERPRETER_CODELET_SIZE)?;
        let name = self.offset(&fields::INTERPRETER_CODELET_DESCRIPTION)?;
        let (mut at, end) = code.interpreter;
        let mut pieces = Vec::new();
        for _ in 0..PIECES {
            let length = read_half(at + size).and_then(|length| usize::try_from(length).ok());
            let Some(next) = length.filter(|length| *length > 0).map(|length| at + length) else { break };
            if next > end {
                break;
            }
            if let Some(name) = read(at + name).filter(|text| *text != 0).and_then(text_of) {
                pieces.push((at..next, name));
            }
            at = next;
        }
        Ok(pieces)
    }

    fn vframe_array(&self) -> Result<VframeArrayLayout, String> {
        let size = self.size(&fields::VFRAME_ARRAY_ELEMENT)?;
        Ok(VframeArrayLayout {
            head: self.offset(&fields::VFRAME_ARRAY_HEAD)?,
            frames: self.offset(&fields::VFRAME_ARRAY_FRAMES)?,
            // A frame begins with its stack pointer.
            caller_sp: self.offset(&fields::VFRAME_ARRAY_CALLER)?,
            // The first is declared last, since there is room for all of them.
            elements: self
                .size(&fields::VFRAME_ARRAY)?
                .checked_sub(size)
                .ok_or("a vframeArray is too small")?,
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

/// Where a piece of the interpreter's code lies, and its name.
type Piece = (Range<usize>, &'static str);

/// From the first piece to the last that has such a name.
fn all_that(pieces: &[Piece], is: impl Fn(&str) -> bool) -> Result<Range<usize>, String> {
    let mut found = pieces.iter().filter(|(_, name)| is(name)).map(|(place, _)| place);
    let first = found.next().ok_or("this JVM's interpreter has no pieces of the names that are known")?;
    Ok(first.start..found.next_back().unwrap_or(first).end)
}
