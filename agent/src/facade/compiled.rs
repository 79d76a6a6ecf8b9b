//! Reads the inlining records that come with JVMTI's CompiledMethodLoad event.
//!
//! The structs are those of `jvmticmlr.h`, which `jvmti-sys` does not have. They are valid until
//! the callback returns.

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::NonNull;

use jni_sys::{jint, jmethodID};

/// Returns the number of inlined frames at each debug point of a compiled method: pairs of an
/// address and the number, sorted by address.
///
/// # Safety
/// `info` must be the `compile_info` that the JVM passed to CompiledMethodLoad, before the callback
/// returns.
pub unsafe fn frame_counts(info: *const c_void) -> impl Iterator<Item = (usize, usize)> {
    let mut next = NonNull::new(info.cast_mut().cast::<RecordHeader>());
    let records = std::iter::from_fn(move || {
        let record = next?;
        // SAFETY: by the caller's promise; each record of the list has a valid link.
        next = NonNull::new(unsafe { record.as_ref() }.next);
        Some(record)
    });
    // SAFETY: as above.
    let inline = records.filter(|record| unsafe { record.as_ref() }.kind == INLINE_INFO);
    inline.flat_map(|record| {
        // SAFETY: by its kind, the record has this type, and it has the length of its array.
        let points = unsafe {
            let record = record.cast::<InlineRecord>().as_ref();
            match usize::try_from(record.count) {
                Ok(count) if !record.points.is_null() => std::slice::from_raw_parts(record.points, count),
                _ => &[],
            }
        };
        points.iter().map(|point| (point.pc as usize, usize::try_from(point.frames).unwrap_or(0)))
    })
}

/// `JVMTI_CMLR_INLINE_INFO`.
const INLINE_INFO: jint = 2;

/// `jvmtiCompiledMethodLoadRecordHeader`.
#[repr(C)]
struct RecordHeader {
    kind: jint,
    major: jint,
    minor: jint,
    next: *mut RecordHeader,
}

/// `jvmtiCompiledMethodLoadInlineRecord`.
#[repr(C)]
struct InlineRecord {
    header: RecordHeader,
    count: jint,
    points: *const PcStackInfo,
}

/// `PCStackInfo`: the frames at one address.
#[repr(C)]
struct PcStackInfo {
    pc: *const c_void,
    frames: jint,
    methods: *const jmethodID,
    bcis: *const jint,
}

/// The values for `abi`, which compares them with the header of each JDK.
#[cfg(test)]
pub const ABI_VALUES: &[(&str, usize)] = &[
    ("JVMTI_CMLR_INLINE_INFO", INLINE_INFO as usize),
    ("offsetof(jvmtiCompiledMethodLoadRecordHeader, kind)", offset_of!(RecordHeader, kind)),
    ("offsetof(jvmtiCompiledMethodLoadRecordHeader, next)", offset_of!(RecordHeader, next)),
    ("offsetof(jvmtiCompiledMethodLoadInlineRecord, numpcs)", offset_of!(InlineRecord, count)),
    ("offsetof(jvmtiCompiledMethodLoadInlineRecord, pcinfo)", offset_of!(InlineRecord, points)),
    ("sizeof(PCStackInfo)", size_of::<PcStackInfo>()),
    ("offsetof(PCStackInfo, pc)", offset_of!(PcStackInfo, pc)),
    ("offsetof(PCStackInfo, numstackframes)", offset_of!(PcStackInfo, frames)),
];
const _: () = assert!(offset_of!(InlineRecord, points) == 32 && size_of::<PcStackInfo>() == 32);
