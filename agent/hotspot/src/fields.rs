//! Lists every name that the agent looks up in HotSpot, with a row for each field, type, constant,
//! flag and exported function.
//!
//! A row has the names to try, in order, the JDKs that have each name, and the feature that does
//! not work without it. If a JDK renames a field, add the new name to its row.
//!
//! The versions of the JDKs were measured on JDK 8, 11, 17, 21, 25, 26 and 27. A JDK between two of
//! these may differ. A test checks that no other file contains a name of this list.

use std::fmt;
use std::ops::RangeInclusive;

/// A field, type, constant, flag or function of HotSpot, with its name in each JDK.
#[derive(Debug)]
pub struct Row {
    /// The names in HotSpot of a field, type or other item, in the order in which they are tried.
    pub names: &'static [JdkName],
    /// Describes the feature that does not work if a JVM has none of the names.
    pub lost: &'static str,
}

/// A name in HotSpot's tables, and the JDKs that have it.
#[derive(Debug)]
pub struct JdkName {
    /// The HotSpot type that has the named field. `None` for a type, a constant, a flag or a
    /// function.
    pub type_name: Option<&'static str>,
    pub name: &'static str,
    /// The versions of the JDKs that have this name.
    pub jdks: &'static [RangeInclusive<u32>],
}

impl JdkName {
    /// Returns true if this version of the JDK has the name.
    pub fn is_in(&self, jdk: u32) -> bool {
        self.jdks.iter().any(|jdks| jdks.contains(&jdk))
    }
}

impl fmt::Display for JdkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.type_name {
            Some(type_name) => write!(f, "{type_name}::{}", self.name),
            None => f.write_str(self.name),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.names.iter().enumerate() {
            if at > 0 {
                f.write_str(" or ")?;
            }
            name.fmt(f)?;
        }
        Ok(())
    }
}

/// The table of HotSpot that has a row's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowKind {
    Field,
    StaticField,
    Type,
    Constant,
    Flag,
    Function,
}

/// A field of a HotSpot object. VMStructs has its offset.
#[derive(Debug)]
pub struct Field(pub Row);
/// A static field of HotSpot. VMStructs has its address.
#[derive(Debug)]
pub struct StaticField(pub Row);
/// A type of HotSpot. VMTypes has its size.
#[derive(Debug)]
pub struct Type(pub Row);
/// A constant of HotSpot. VMIntConstants has its value.
#[derive(Debug)]
pub struct Constant(pub Row);
/// A boolean command-line flag of the JVM.
#[derive(Debug)]
pub struct Flag(pub Row);
/// A function that the JVM's library exports. The dynamic linker has its address.
#[derive(Debug)]
pub struct Function(pub Row);

/// Parses the JDKs of a name: `[..=8] [25..]`, `[none]` if no measured JDK has the name, or nothing
/// if all of them have it.
macro_rules! jdks {
    () => { &[0..=u32::MAX] };
    ([none]) => { &[] };
    (@ [$from:literal ..]) => { $from..=u32::MAX };
    (@ [..= $until:literal]) => { 0..=$until };
    (@ [$from:literal ..= $until:literal]) => { $from..=$until };
    ($($range:tt)+) => { &[$(jdks!(@ $range)),+] };
}

/// Defines rows in groups. A row may have several names. A group is `KIND without: "what is lost" {
/// ROW = "Type"::"_field" [JDKs] | …; }`.
macro_rules! rows {
    ($($kind:ident without: $lost:literal {
        $($(#[$doc:meta])* $row:ident = $($first:literal $(:: $second:literal)? $([$($jdks:tt)+])*)|+;)+
    })+) => {
        $($($(#[$doc])* pub static $row: $kind = $kind(Row {
            names: &[$(rows!(@ $first $(:: $second)? ; jdks!($([$($jdks)+])*))),+],
            lost: $lost,
        });)+)+

        /// Lists the rows of all groups.
        pub static ALL: &[(RowKind, &Row)] = &[$($((RowKind::$kind, &$row.0)),+),+];
    };
    (@ $type_name:literal :: $name:literal ; $jdks:expr) => {
        JdkName { type_name: Some($type_name), name: $name, jdks: $jdks }
    };
    (@ $name:literal ; $jdks:expr) => { JdkName { type_name: None, name: $name, jdks: $jdks } };
}

rows! {
    Function without: "the program runs unprofiled" {
        ASYNC_GET_CALL_TRACE = "AsyncGetCallTrace";
    }
    Function without: "a thread that renames itself has its new name late" {
        JVM_SET_NATIVE_THREAD_NAME = "JVM_SetNativeThreadName";
    }

    Field without: "threads that started before the agent have no stacks" {
        THREAD_OSTHREAD = "Thread"::"_osthread" [25..] | "JavaThread"::"_osthread" [..=21];
        OSTHREAD_THREAD_ID = "OSThread"::"_thread_id";
    }

    StaticField without: "stacks are by AsyncGetCallTrace alone, and none is recovered" {
        ABSTRACT_INTERPRETER_CODE = "AbstractInterpreter"::"_code";
    }
    Field without: "stacks are by AsyncGetCallTrace alone, and none is recovered" {
        STUB_QUEUE_STUB_BUFFER = "StubQueue"::"_stub_buffer";
        STUB_QUEUE_BUFFER_LIMIT = "StubQueue"::"_buffer_limit";
        JAVA_THREAD_ANCHOR = "JavaThread"::"_anchor";
        JAVA_THREAD_STATE = "JavaThread"::"_thread_state";
        JAVA_THREAD_STACK_BASE = "JavaThread"::"_stack_base" | "Thread"::"_stack_base" [none];
        JAVA_THREAD_STACK_SIZE = "JavaThread"::"_stack_size" | "Thread"::"_stack_size" [none];
        LAST_JAVA_SP = "JavaFrameAnchor"::"_last_Java_sp";
        LAST_JAVA_PC = "JavaFrameAnchor"::"_last_Java_pc";
        LAST_JAVA_FP = "JavaFrameAnchor"::"_last_Java_fp";
        CODE_HEAP_MEMORY = "CodeHeap"::"_memory";
        CODE_HEAP_SEGMAP = "CodeHeap"::"_segmap";
        CODE_HEAP_LOG2_SEGMENT_SIZE = "CodeHeap"::"_log2_segment_size";
        VIRTUAL_SPACE_LOW = "VirtualSpace"::"_low";
        VIRTUAL_SPACE_HIGH = "VirtualSpace"::"_high";
        HEAP_BLOCK_HEADER_USED = "HeapBlock::Header"::"_used";
        CODE_BLOB_NAME = "CodeBlob"::"_name";
        CODE_BLOB_SIZE = "CodeBlob"::"_size";
        NMETHOD_STATE = "nmethod"::"_state";
        /// The field with the number of code heaps in the array of heaps.
        GROWABLE_ARRAY_LEN = "GrowableArrayBase"::"_len" [17..] | "GenericGrowableArray"::"_len" [..=11];
        GROWABLE_ARRAY_DATA = "GrowableArray<int>"::"_data";
    }
    Type without: "stacks are by AsyncGetCallTrace alone, and none is recovered" {
        HEAP_BLOCK = "HeapBlock";
    }
    StaticField without: "stacks are by AsyncGetCallTrace alone, and none is recovered" {
        CODE_CACHE_HEAPS = "CodeCache"::"_heaps" [11..];
        /// The field with the only code heap of old JDKs, before the code cache was segmented.
        CODE_CACHE_HEAP = "CodeCache"::"_heap" [..=8];
    }

    Constant without: "stacks are by AsyncGetCallTrace alone" {
        THREAD_IN_JAVA = "_thread_in_Java";
    }
    StaticField without: "stacks are by AsyncGetCallTrace alone" {
        CALL_STUB_RETURN_ADDRESS = "StubRoutines"::"_call_stub_return_address";
        VM_MAJOR_VERSION = "Abstract_VM_Version"::"_vm_major_version";
        VM_MINOR_VERSION = "Abstract_VM_Version"::"_vm_minor_version";
    }
    Field without: "stacks are by AsyncGetCallTrace alone" {
        JAVA_CALL_WRAPPER_ANCHOR = "JavaCallWrapper"::"_anchor";
        CODE_BLOB_FRAME_SIZE = "CodeBlob"::"_frame_size";
        CODE_BLOB_FRAME_COMPLETE_OFFSET = "CodeBlob"::"_frame_complete_offset";
        CODE_BLOB_CODE_OFFSET = "CodeBlob"::"_code_offset" [..=8] [25..];
        CODE_BLOB_CODE_BEGIN = "CodeBlob"::"_code_begin" [11..=21];
        CODE_BLOB_MUTABLE_DATA = "CodeBlob"::"_mutable_data" [25..];
        CODE_BLOB_RELOCATION_SIZE = "CodeBlob"::"_relocation_size" [..=8] [25..];
        NMETHOD_IMMUTABLE_DATA = "nmethod"::"_immutable_data" [25..];
        NMETHOD_METHOD = "nmethod"::"_method" [..=8] [25..] | "CompiledMethod"::"_method" [11..=21];
        NMETHOD_ORIG_PC_OFFSET = "nmethod"::"_orig_pc_offset";
        NMETHOD_VERIFIED_ENTRY_POINT = "nmethod"::"_verified_entry_point" [..=21];
        NMETHOD_VERIFIED_ENTRY_OFFSET = "nmethod"::"_verified_entry_offset" [25..];
        NMETHOD_SCOPES_PCS_OFFSET = "nmethod"::"_scopes_pcs_offset";
        /// The offset in an nmethod of its dependencies, which is the end of the PcDescs.
        NMETHOD_DEPENDENCIES_OFFSET = "nmethod"::"_dependencies_offset" [..=21];
        NMETHOD_SCOPES_DATA_OFFSET = "nmethod"::"_scopes_data_offset" [..=8] [25..];
        SCOPES_DATA_BEGIN = "CompiledMethod"::"_scopes_data_begin" [11..=21];
        NMETHOD_METADATA_OFFSET = "nmethod"::"_metadata_offset" [..=21];
        DEOPT_HANDLER_OFFSET = "nmethod"::"_deopt_handler_offset" [25..=25] | "nmethod"::"_deopt_handler_entry_offset" [26..];
        DEOPT_HANDLER_BEGIN = "CompiledMethod"::"_deopt_handler_begin" [11..=21];
        DEOPTIMIZE_OFFSET = "nmethod"::"_deoptimize_offset" [..=8];
        METHOD_CONST_METHOD = "Method"::"_constMethod";
        METHOD_ACCESS_FLAGS = "Method"::"_access_flags";
        CONST_METHOD_CONSTANTS = "ConstMethod"::"_constants";
        CONST_METHOD_IDNUM = "ConstMethod"::"_method_idnum";
        CONST_METHOD_CODE_SIZE = "ConstMethod"::"_code_size";
        CONSTANT_POOL_HOLDER = "ConstantPool"::"_pool_holder";
        INSTANCE_KLASS_METHODS_JMETHOD_IDS = "InstanceKlass"::"_methods_jmethod_ids";
        INTERPRETER_CODELET_SIZE = "InterpreterCodelet"::"_size";
        INTERPRETER_CODELET_DESCRIPTION = "InterpreterCodelet"::"_description";
    }
    Type without: "stacks are by AsyncGetCallTrace alone" {
        /// The type of the header before a method's bytecodes. Its size says where the bytecodes
        /// begin.
        CONST_METHOD = "ConstMethod";
    }

    Field without: "Vouch's own walker stops at a deoptimised call of a method handle" {
        DEOPT_MH_HANDLER_OFFSET = "nmethod"::"_deopt_mh_handler_offset" [25..=25];
        DEOPT_MH_HANDLER_BEGIN = "CompiledMethod"::"_deopt_mh_handler_begin" [11..=21];
        DEOPTIMIZE_MH_OFFSET = "nmethod"::"_deoptimize_mh_offset" [..=8];
    }
    Field without: "Vouch's own walker finds no stack of a thread that unpacks a deoptimised frame" {
        VFRAME_ARRAY_HEAD = "JavaThread"::"_vframe_array_head";
        VFRAME_ARRAY_FRAMES = "vframeArray"::"_frames";
        VFRAME_ARRAY_CALLER = "vframeArray"::"_caller";
        VFRAME_ARRAY_ELEMENT_METHOD = "vframeArrayElement"::"_method";
        VFRAME_ARRAY_ELEMENT_BCI = "vframeArrayElement"::"_bci";
    }
    Type without: "Vouch's own walker finds no stack of a thread that unpacks a deoptimised frame" {
        VFRAME_ARRAY = "vframeArray";
        VFRAME_ARRAY_ELEMENT = "vframeArrayElement";
    }
    Field without: "Vouch's own walker stops at an upcall from native code" {
        CODE_BLOB_KIND = "CodeBlob"::"_kind" [25..];
        UPCALL_STUB_FRAME_DATA_OFFSET = "UpcallStub"::"_frame_data_offset" [25..];
    }
    Constant without: "Vouch's own walker stops at an upcall from native code" {
        CODE_BLOB_KIND_UPCALL = "CodeBlobKind::Upcall" [25..];
    }

    Field without: "the JVM reports each compiled method, which costs CPU time" {
        NMETHOD_COMPILE_ID = "nmethod"::"_compile_id";
    }
    Field without: "compiled code has no tier" {
        NMETHOD_COMP_LEVEL = "nmethod"::"_comp_level";
        NMETHOD_ENTRY_BCI = "nmethod"::"_entry_bci";
    }
    Type without: "running threads have no witness, and samples of virtual threads may not be assigned to them" {
        JAVA_THREAD = "JavaThread";
    }

    Field without: "a thread that waits for a monitor has no owner of it" {
        JAVA_THREAD_CURRENT_PENDING_MONITOR = "JavaThread"::"_current_pending_monitor" [17..] | "Thread"::"_current_pending_monitor" [..=11];
        OBJECT_MONITOR_OWNER = "ObjectMonitor"::"_owner";
    }
    Field without: "a monitor that a thread has on its list of locks has no owner" {
        JAVA_THREAD_LOCK_STACK = "JavaThread"::"_lock_stack" [21..];
        LOCK_STACK_TOP = "LockStack"::"_top" [21..];
        LOCK_STACK_BASE = "LockStack"::"_base[0]" [21..];
    }

    Field without: "samples of virtual threads cannot be assigned to them" {
        JAVA_THREAD_OBJ = "JavaThread"::"_threadObj";
        JAVA_THREAD_VTHREAD = "JavaThread"::"_vthread" [21..];
    }
    Field without: "virtual threads that were parked have no stack" {
        /// The field with the innermost ContinuationEntry. In older JDKs, which lack it, the whole
        /// JavaThread is searched for the entry.
        JAVA_THREAD_CONT_ENTRY = "JavaThread"::"_cont_entry" [25..];
        CONTINUATION_ENTRY_PARENT = "ContinuationEntry"::"_parent" [27..];
        COLLECTED_HEAP_IS_STW_GC_ACTIVE = "CollectedHeap"::"_is_stw_gc_active" [21..] | "CollectedHeap"::"_is_gc_active" [..=17];
        COLLECTED_HEAP_TOTAL_COLLECTIONS = "CollectedHeap"::"_total_collections";
        CLASS_LOADER_DATA_NEXT = "ClassLoaderData"::"_next";
        CLASS_LOADER_DATA_KLASSES = "ClassLoaderData"::"_klasses" [11..];
        KLASS_NEXT_LINK = "Klass"::"_next_link" [11..];
        KLASS_NAME = "Klass"::"_name";
        KLASS_LAYOUT_HELPER = "Klass"::"_layout_helper";
        SYMBOL_LENGTH = "Symbol"::"_length";
        SYMBOL_BODY = "Symbol"::"_body";
    }
    StaticField without: "virtual threads that were parked have no stack" {
        CONT_RETURN_BARRIER = "StubRoutines"::"_cont_returnBarrier" [27..];
        UNIVERSE_COLLECTED_HEAP = "Universe"::"_collectedHeap";
        COMPRESSED_OOPS_BASE = "CompressedOops"::"_base" [25..] | "CompressedOops"::"_narrow_oop._base" [17..=21];
        COMPRESSED_OOPS_SHIFT = "CompressedOops"::"_shift" [25..] | "CompressedOops"::"_narrow_oop._shift" [17..=21];
        COMPRESSED_KLASS_BASE = "CompressedKlassPointers"::"_base" [25..] | "CompressedKlassPointers"::"_narrow_klass._base" [17..=21];
        COMPRESSED_KLASS_SHIFT = "CompressedKlassPointers"::"_shift" [25..] | "CompressedKlassPointers"::"_narrow_klass._shift" [17..=21];
        /// The field with the data of the boot loader. In older JDKs, which lack it, the boot
        /// loader is the last of the list.
        NULL_CLASS_LOADER_DATA = "ClassLoaderData"::"_the_null_class_loader_data" [27..];
        CLASS_LOADER_DATA_GRAPH_HEAD = "ClassLoaderDataGraph"::"_head";
    }
    StaticField without: "under ZGC virtual threads that were parked have no stack" {
        Z_GLOBALS_INSTANCE = "ZGlobalsForVMStructs"::"_instance_p" [11..];
        /// The static field that leads to the globals of single-generation ZGC.
        X_GLOBALS_INSTANCE = "XGlobalsForVMStructs"::"_instance_p" [21..=21];
    }
    Field without: "under ZGC virtual threads that were parked have no stack" {
        Z_POINTER_LOAD_BAD_MASK = "ZGlobalsForVMStructs"::"_ZPointerLoadBadMask" [21..];
        Z_POINTER_LOAD_SHIFT = "ZGlobalsForVMStructs"::"_ZPointerLoadShift" [21..];
        X_ADDRESS_BAD_MASK = "XGlobalsForVMStructs"::"_XAddressBadMask" [21..=21];
    }

    StaticField without: "collections have no cause, and a report has no totals of safepoints, classes and compilers" {
        PERF_MEMORY_START = "PerfMemory"::"_start";
        PERF_MEMORY_END = "PerfMemory"::"_end";
    }
    StaticField without: "a report does not have the JVM's options" {
        JVM_FLAGS_ARRAY = "Arguments"::"_jvm_flags_array";
        NUM_JVM_FLAGS = "Arguments"::"_num_jvm_flags";
        JVM_ARGS_ARRAY = "Arguments"::"_jvm_args_array";
        NUM_JVM_ARGS = "Arguments"::"_num_jvm_args";
    }

    Type without: "no flag of the JVM can be read" {
        JVM_FLAG = "JVMFlag" [11..] | "Flag" [..=8];
    }
    StaticField without: "no flag of the JVM can be read" {
        JVM_FLAG_ARRAY = "JVMFlag"::"flags" [11..] | "Flag"::"flags" [..=8];
        JVM_FLAG_NUM_FLAGS = "JVMFlag"::"numFlags" [11..] | "Flag"::"numFlags" [..=8];
    }
    Field without: "no flag of the JVM can be read" {
        JVM_FLAG_NAME = "JVMFlag"::"_name" [11..] | "Flag"::"_name" [..=8];
        JVM_FLAG_ADDR = "JVMFlag"::"_addr" [11..] | "Flag"::"_addr" [..=8];
        JVM_FLAG_FLAGS = "JVMFlag"::"_flags" [11..] | "Flag"::"_flags" [..=8];
    }
    Flag without: "the feature is taken to be absent" {
        CHECK_JNI_CALLS = "CheckJNICalls";
        DEBUG_NON_SAFEPOINTS = "DebugNonSafepoints";
        /// The flag that is on after a Flight Recorder recording has begun.
        FLIGHT_RECORDER = "FlightRecorder";
        USE_G1_GC = "UseG1GC";
        USE_Z_GC = "UseZGC" [11..];
        Z_GENERATIONAL = "ZGenerational" [21..=21];
        USE_SHENANDOAH_GC = "UseShenandoahGC" [11..];
        USE_COMPRESSED_OOPS = "UseCompressedOops";
        USE_COMPRESSED_CLASS_POINTERS = "UseCompressedClassPointers" [..=26];
        USE_COMPACT_OBJECT_HEADERS = "UseCompactObjectHeaders" [25..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn rust_files(folder: &Path) -> Vec<PathBuf> {
        let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = paths.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] });
        files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
    }

    #[test]
    fn no_other_file_contains_a_name_of_hotspot() {
        let names = ALL.iter().flat_map(|(_, row)| row.names);
        let names: HashSet<&str> =
            names.flat_map(|name| [Some(name.name), name.type_name]).flatten().collect();
        let is_field = |text: &str| {
            text.strip_prefix('_')
                .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_lowercase()))
        };
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders = [here.join("src"), here.join("../src")];
        let files: Vec<PathBuf> = folders.iter().flat_map(|folder| rust_files(folder)).collect();
        assert!(files.len() > 50, "the sources are there");
        for file in files.iter().filter(|file| !file.ends_with("hotspot/src/fields.rs")) {
            for (line, text) in (1..).zip(fs::read_to_string(file).unwrap().lines()) {
                for literal in text.split('"').skip(1).step_by(2) {
                    let is_name = names.contains(literal) || is_field(literal);
                    assert!(!is_name, "{}:{line}: {literal:?} belongs in fields.rs", file.display());
                }
            }
        }
    }

    #[test]
    fn each_row_has_at_most_one_name_in_each_jdk() {
        for (_, row) in ALL {
            assert!(row.names.iter().any(|name| !name.jdks.is_empty()), "{row}");
            for jdk in 8..30 {
                let names = row.names.iter().filter(|name| name.is_in(jdk)).count();
                assert!(names <= 1, "{row} has {names} names in JDK {jdk}");
            }
        }
    }
}
