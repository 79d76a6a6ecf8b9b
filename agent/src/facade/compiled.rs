//! What the JVM tells of a compiled method: from where to where its code lies, and how many frames
//! are one there.
//!
//! The records of `jvmticmlr.h`, which `jvmti-sys` does not have. They live as long as the event.

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::NonNull;

use jni_sys::{jint, jmethodID};

/// How many frames stand at the places of a compiled method, by the record of what was inlined: for
/// each place its address, in their order, and the number.
///
/// # Safety
/// `info` must be what the JVM has passed to the event of a compiled method, which goes on.
pub unsafe fn inlined(info: *const c_void) -> impl Iterator<Item = (usize, usize)> {
    let mut next = NonNull::new(info.cast_mut().cast::<Header>());
    let records = std::iter::from_fn(move || {
        let record = next?;
        // SAFETY: by the caller's promise, as each link of the chain.
        next = NonNull::new(unsafe { record.as_ref() }.next);
        Some(record)
    });
    // SAFETY: as above.
    let inline = records.filter(|record| unsafe { record.as_ref() }.kind == INLINE_INFO);
    inline.flat_map(|record| {
        // SAFETY: the kind says that the record is of this type, and the record how many places it
        // has.
        let places = unsafe {
            let record = record.cast::<InlineRecord>().as_ref();
            match usize::try_from(record.count) {
                Ok(count) if !record.places.is_null() => std::slice::from_raw_parts(record.places, count),
                _ => &[],
            }
        };
        places.iter().map(|place| (place.pc as usize, usize::try_from(place.frames).unwrap_or(0)))
    })
}

/// `JVMTI_CMLR_INLINE_INFO`.
const INLINE_INFO: jint = 2;

#[repr(C)]
struct Header {
    kind: jint,
    major: jint,
    minor: jint,
    next: *mut Header,
}

#[repr(C)]
struct InlineRecord {
    header: Header,
    count: jint,
    places: *const Place,
}

#[repr(C)]
struct Place {
    pc: *const c_void,
    frames: jint,
    methods: *const jmethodID,
    bcis: *const jint,
}

/// For `abi`, which compares them with each JDK's own header.
#[cfg(test)]
pub const FIGURES: &[(&str, usize)] = &[
    ("JVMTI_CMLR_INLINE_INFO", INLINE_INFO as usize),
    ("offsetof(jvmtiCompiledMethodLoadRecordHeader, kind)", offset_of!(Header, kind)),
    ("offsetof(jvmtiCompiledMethodLoadRecordHeader, next)", offset_of!(Header, next)),
    ("offsetof(jvmtiCompiledMethodLoadInlineRecord, numpcs)", offset_of!(InlineRecord, count)),
    ("offsetof(jvmtiCompiledMethodLoadInlineRecord, pcinfo)", offset_of!(InlineRecord, places)),
    ("sizeof(PCStackInfo)", size_of::<Place>()),
    ("offsetof(PCStackInfo, pc)", offset_of!(Place, pc)),
    ("offsetof(PCStackInfo, numstackframes)", offset_of!(Place, frames)),
];
const _: () = assert!(offset_of!(InlineRecord, places) == 32 && size_of::<Place>() == 32);
