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

use super::HotSpot;
use super::vmstructs::{CodeLayout, Table, constant, read, read_half, size_of_type, text_of};

/// Reads the tables, or says what is missing.
pub fn of(hotspot: &HotSpot, jvm: &JvmLayout, code: &CodeLayout) -> Result<Layout, String> {
    if !WALKS {
        return Err("the layout of frames on this processor is not known yet".to_owned());
    }
    let tables = Tables::of(hotspot)?;
    let version = tables.version()?;
    Ok(Layout {
        jvm: jvm.clone(),
        state: code.state,
        in_java: tables.constant("_thread_in_Java")?,
        blob: tables.blob()?,
        compiled: tables.compiled(version)?,
        method: tables.method(version)?,
        call_stub: CallStubLayout {
            return_address: tables.still("StubRoutines", "_call_stub_return_address")?,
            wrapper_slot: slots::CALL_WRAPPER,
            anchor: tables.offset("JavaCallWrapper", "_anchor")?,
        },
        anchor: AnchorLayout {
            sp: tables.offset("JavaFrameAnchor", "_last_Java_sp")?,
            pc: tables.offset("JavaFrameAnchor", "_last_Java_pc")?,
            fp: tables.offset("JavaFrameAnchor", "_last_Java_fp")?,
        },
        interpreter: tables.interpreter(version, code)?,
        upcall: tables.upcall(),
        vframe_array: tables.vframe_array().ok(),
    })
}

/// The pieces of the interpreter that callees return to.
const RETURNS: [&str; 2] = ["return entry points", "invoke return entry points"];

/// The tables, and what is said where something is not in them.
pub(super) struct Tables<'h> {
    hotspot: &'h HotSpot,
    table: Table,
}

impl<'h> Tables<'h> {
    pub(super) fn of(hotspot: &'h HotSpot) -> Result<Self, String> {
        let table = Table::of(hotspot).ok_or("this JVM does not export its VMStructs")?;
        Ok(Self { hotspot, table })
    }

    pub(super) fn offset(&self, of: &str, name: &str) -> Result<usize, String> {
        self.table.offset(of, name).ok_or_else(|| format!("this JVM does not publish where {of}::{name} is"))
    }

    /// The value of a static field that is set once.
    pub(super) fn still(&self, of: &str, name: &str) -> Result<usize, String> {
        let value = self.address(of, name).ok().and_then(read);
        value.ok_or_else(|| format!("this JVM does not publish what {of}::{name} is"))
    }

    /// Where a static field lies.
    pub(super) fn address(&self, of: &str, name: &str) -> Result<usize, String> {
        self.table.address(of, name).ok_or_else(|| format!("this JVM does not publish what {of}::{name} is"))
    }

    fn constant(&self, name: &str) -> Result<i32, String> {
        constant(self.hotspot, name).ok_or_else(|| format!("this JVM does not publish what {name} is"))
    }

    fn size(&self, of: &str) -> Result<usize, String> {
        size_of_type(self.hotspot, of).ok_or_else(|| format!("this JVM does not publish how large a {of} is"))
    }

    /// Of the JDK. Those that counted from 1.0 on say 25 of HotSpot and 8 of Java.
    fn version(&self) -> Result<u32, String> {
        let major = self.table.address("Abstract_VM_Version", "_vm_major_version").and_then(read_half);
        let major = major.ok_or("this JVM does not publish its version")?;
        if self.table.offset("nmethod", "_deoptimize_offset").is_none() {
            return Ok(major);
        }
        // JDK-8068945: before, who called a method handle kept the stack pointer in the frame
        // pointer.
        let update = self.table.address("Abstract_VM_Version", "_vm_minor_version").and_then(read_half);
        match update {
            Some(60..) => Ok(8),
            _ => Err("this was not tried on a JDK 8 before its update 60".to_owned()),
        }
    }

    fn address_in_blob(
        &self,
        of: &str,
        pointer: Option<&str>,
        offset_field: Option<&str>,
    ) -> Result<BlobAddress, String> {
        let offset = |name: Option<&str>| name.map(|name| self.offset(of, name)).transpose();
        Ok(BlobAddress { pointer: offset(pointer)?, offset: offset(offset_field)?.map(BlobField::int) })
    }

    fn blob(&self) -> Result<BlobLayout, String> {
        let complete = self.offset("CodeBlob", "_frame_complete_offset")?;
        let in_numbers = self.table.offset("CodeBlob", "_code_offset").is_some();
        // The number shrank together with the others around it.
        let short = self.table.offset("CodeBlob", "_mutable_data").is_some();
        Ok(BlobLayout {
            frame_size: self.offset("CodeBlob", "_frame_size")?,
            frame_complete: BlobField { offset: complete, bytes: if short { 2 } else { 4 } },
            code_begin: if in_numbers {
                self.address_in_blob("CodeBlob", None, Some("_code_offset"))?
            } else {
                self.address_in_blob("CodeBlob", Some("_code_begin"), None)?
            },
        })
    }

    fn compiled(&self, version: u32) -> Result<CompiledLayout, String> {
        let common = CompiledLayout {
            orig_pc_offset: self.offset("nmethod", "_orig_pc_offset")?,
            // JDK-8292758.
            unsigned5_excludes_zero: version >= 20,
            ..CompiledLayout::default()
        };
        if self.table.offset("nmethod", "_immutable_data").is_some() {
            self.with_memory_of_its_own(&common)
        } else if self.table.offset("CompiledMethod", "_scopes_data_begin").is_some() {
            self.with_pointers(&common)
        } else {
            self.with_numbers(&common)
        }
    }

    fn with_memory_of_its_own(&self, common: &CompiledLayout) -> Result<CompiledLayout, String> {
        let in_it = |name| self.address_in_blob("nmethod", Some("_immutable_data"), Some(name));
        let mutable = self.offset("CodeBlob", "_mutable_data")?;
        let relocations = self.offset("CodeBlob", "_relocation_size")?;
        let verified = BlobField { offset: self.offset("nmethod", "_verified_entry_offset")?, bytes: 2 };
        let handler = ["_deopt_handler_offset", "_deopt_handler_entry_offset"]
            .into_iter()
            .find_map(|name| self.address_in_blob("nmethod", None, Some(name)).ok());
        Ok(CompiledLayout {
            method: self.offset("nmethod", "_method")?,
            verified_entry: VerifiedEntry::Offset(verified),
            scopes_pcs: in_it("_scopes_pcs_offset")?,
            scopes_pcs_end: in_it("_scopes_data_offset")?,
            scopes_data: in_it("_scopes_data_offset")?,
            metadata: BlobAddress { pointer: Some(mutable), offset: Some(BlobField::int(relocations)) },
            deopt_handlers: [
                Some(handler.ok_or("this JVM does not publish where the deoptimisation handler is")?),
                self.address_in_blob("nmethod", None, Some("_deopt_mh_handler_offset")).ok(),
            ],
            ..*common
        })
    }

    fn with_pointers(&self, common: &CompiledLayout) -> Result<CompiledLayout, String> {
        let pointer = |name| self.address_in_blob("CompiledMethod", Some(name), None);
        let number = |name| self.address_in_blob("nmethod", None, Some(name));
        Ok(CompiledLayout {
            method: self.offset("CompiledMethod", "_method")?,
            verified_entry: VerifiedEntry::Pointer(self.offset("nmethod", "_verified_entry_point")?),
            scopes_pcs: number("_scopes_pcs_offset")?,
            scopes_pcs_end: number("_dependencies_offset")?,
            scopes_data: pointer("_scopes_data_begin")?,
            metadata: number("_metadata_offset")?,
            deopt_handlers: [Some(pointer("_deopt_handler_begin")?), pointer("_deopt_mh_handler_begin").ok()],
            ..*common
        })
    }

    fn with_numbers(&self, common: &CompiledLayout) -> Result<CompiledLayout, String> {
        let number = |name| self.address_in_blob("nmethod", None, Some(name));
        Ok(CompiledLayout {
            method: self.offset("nmethod", "_method")?,
            verified_entry: VerifiedEntry::Pointer(self.offset("nmethod", "_verified_entry_point")?),
            scopes_pcs: number("_scopes_pcs_offset")?,
            scopes_pcs_end: number("_dependencies_offset")?,
            scopes_data: number("_scopes_data_offset")?,
            metadata: number("_metadata_offset")?,
            deopt_handlers: [Some(number("_deoptimize_offset")?), number("_deoptimize_mh_offset").ok()],
            ..*common
        })
    }

    fn method(&self, version: u32) -> Result<MethodLayout, String> {
        Ok(MethodLayout {
            const_method: self.offset("Method", "_constMethod")?,
            access_flags: self.offset("Method", "_access_flags")?,
            constants: self.offset("ConstMethod", "_constants")?,
            idnum: self.offset("ConstMethod", "_method_idnum")?,
            code_size: self.offset("ConstMethod", "_code_size")?,
            bytecodes: self.size("ConstMethod")?,
            pool_holder: self.offset("ConstantPool", "_pool_holder")?,
            jmethod_ids: self.offset("InstanceKlass", "_methods_jmethod_ids")?,
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
        let (size, name) =
            (self.offset("InterpreterCodelet", "_size")?, self.offset("InterpreterCodelet", "_description")?);
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
        let size = self.size("vframeArrayElement")?;
        Ok(VframeArrayLayout {
            head: self.offset("JavaThread", "_vframe_array_head")?,
            frames: self.offset("vframeArray", "_frames")?,
            // A frame begins with its stack pointer.
            caller_sp: self.offset("vframeArray", "_caller")?,
            // The first is declared last, since there is room for all of them.
            elements: self.size("vframeArray")?.checked_sub(size).ok_or("a vframeArray is too small")?,
            element_size: size,
            method: self.offset("vframeArrayElement", "_method")?,
            bci: self.offset("vframeArrayElement", "_bci")?,
        })
    }

    fn upcall(&self) -> Option<UpcallLayout> {
        Some(UpcallLayout {
            kind_offset: self.table.offset("CodeBlob", "_kind")?,
            upcall_kind: u8::try_from(constant(self.hotspot, "CodeBlobKind::Upcall")?).ok()?,
            frame_data_offset: self.table.offset("UpcallStub", "_frame_data_offset")?,
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
