//! JVMTI's functions about classes and methods.
//!
//! A method id may be passed only while its class cannot be unloaded. The caller must hold a
//! reference to the class, or the class's loader must be one that is never collected. A stale id
//! crashes some JVMs.

use std::ffi::c_char;
use std::ptr::null_mut;

use jni_sys::{jclass, jint, jmethodID, jobject};
use jvmti_sys::jvmtiLineNumberEntry;
use vouch_collect::method::{LineEntry, MethodName};

use super::jvmti::{Jvmti, JvmtiError, Result, call};
use super::memory::{Allocated, take_string};

impl Jvmti {
    /// Returns all loaded classes, as local references of the calling thread.
    pub fn loaded_classes(self) -> Result<Allocated<jclass>> {
        let (mut count, mut first) = (0, null_mut());
        call!(self, GetLoadedClasses(&raw mut count => *mut jint, &raw mut first => *mut *mut jclass))?;
        // SAFETY: the function succeeded, so it wrote `count` classes.
        Ok(unsafe { Allocated::new(self, first, count) })
    }

    /// Returns the ids of all methods of a class. The call creates ids that did not exist. It fails
    /// for a class that is not prepared.
    pub fn class_methods(self, class: jclass) -> Result<Allocated<jmethodID>> {
        let (mut count, mut first) = (0, null_mut());
        call!(self, GetClassMethods(
            class => jclass, &raw mut count => *mut jint, &raw mut first => *mut *mut jmethodID))?;
        // SAFETY: as above.
        Ok(unsafe { Allocated::new(self, first, count) })
    }

    /// Returns a class's signature, as in `Ljava/lang/String;`.
    pub fn class_signature(self, class: jclass) -> Result<String> {
        let mut signature = null_mut();
        call!(self, GetClassSignature(
            class => jclass, &raw mut signature => *mut *mut c_char, null_mut() => *mut *mut c_char))?;
        // SAFETY: the function succeeded, so it wrote a string.
        unsafe { take_string(self, signature) }.ok_or(JvmtiError::NOT_AVAILABLE)
    }

    /// Returns the class's SourceFile attribute, if it has one.
    pub fn source_file(self, class: jclass) -> Option<String> {
        let mut name = null_mut();
        call!(self, GetSourceFileName(class => jclass, &raw mut name => *mut *mut c_char)).ok()?;
        // SAFETY: as above.
        unsafe { take_string(self, name) }
    }

    /// Returns true for an interface.
    pub fn is_interface(self, class: jclass) -> bool {
        let mut interface = 0;
        let asked = call!(self, IsInterface(class => jclass, &raw mut interface => *mut u8));
        asked.is_ok() && interface != 0
    }

    /// Returns the class's loader as a local reference, or null for the boot loader.
    pub fn class_loader(self, class: jclass) -> Result<jobject> {
        let mut loader = null_mut();
        call!(self, GetClassLoader(class => jclass, &raw mut loader => *mut jobject))?;
        Ok(loader)
    }

    /// Returns the class that declares a method, as a local reference.
    pub fn declaring_class(self, method: jmethodID) -> Result<jclass> {
        let mut class = null_mut();
        call!(self, GetMethodDeclaringClass(method => jmethodID, &raw mut class => *mut jclass))?;
        Ok(class)
    }

    /// Returns a method's name and descriptor.
    pub fn method_name(self, method: jmethodID) -> Result<MethodName> {
        let (mut name, mut descriptor) = (null_mut(), null_mut());
        call!(self, GetMethodName(
            method => jmethodID,
            &raw mut name => *mut *mut c_char,
            &raw mut descriptor => *mut *mut c_char,
            null_mut() => *mut *mut c_char))?;
        // SAFETY: the function succeeded, so it wrote two strings.
        let (name, descriptor) = unsafe { (take_string(self, name), take_string(self, descriptor)) };
        match (name, descriptor) {
            (Some(name), Some(descriptor)) => Ok(MethodName { name, descriptor }),
            _ => Err(JvmtiError::NOT_AVAILABLE),
        }
    }

    /// Returns a method's line number table, sorted by bytecode index. It is empty if the method is
    /// native or has no table.
    pub fn line_table(self, method: jmethodID) -> Vec<LineEntry> {
        let (mut count, mut first) = (0, null_mut());
        let asked = call!(self, GetLineNumberTable(
            method => jmethodID,
            &raw mut count => *mut jint,
            &raw mut first => *mut *mut jvmtiLineNumberEntry));
        if asked.is_err() {
            return Vec::new();
        }
        // SAFETY: as above.
        let table = unsafe { Allocated::new(self, first, count) };
        // Both are unsigned 16-bit numbers in a class file.
        let mut lines: Vec<_> = table
            .iter()
            .filter_map(|entry| {
                let start = u16::try_from(entry.start_location).ok()?;
                Some(LineEntry { start, line: u16::try_from(entry.line_number).ok()? })
            })
            .collect();
        lines.sort_by_key(|entry| entry.start);
        lines
    }
}
