//! JVMTI's functions for the bytecode of methods and for constant pools.
//!
//! The caller must hold a reference to the class, as in `classes`.

use std::ptr::null_mut;

use jni_sys::{jclass, jint, jmethodID};

use super::jvmti::{Jvmti, Result, call};
use super::memory::Allocated;

/// A class's constant pool, in the format of a class file.
#[derive(Debug)]
pub struct Constants {
    /// The highest index plus one.
    pub count: u16,
    pub bytes: Allocated<u8>,
}

/// A bit of a method's modifiers.
#[derive(Debug, Clone, Copy)]
#[repr(i32)]
pub enum Modifier {
    Static = 0x8,
    Native = 0x100,
}

impl Jvmti {
    /// Returns a method's bytecode as in its class file. For a method without code the result is
    /// empty, or an error in some JVMs.
    pub fn bytecodes(self, method: jmethodID) -> Result<Allocated<u8>> {
        let (mut count, mut first) = (0, null_mut());
        call!(self, GetBytecodes(
            method => jmethodID, &raw mut count => *mut jint, &raw mut first => *mut *mut u8))?;
        // SAFETY: the function succeeded, so it wrote `count` bytes.
        Ok(unsafe { Allocated::new(self, first, count) })
    }

    /// Returns the constant pool of a class's present version.
    pub fn constants(self, class: jclass) -> Result<Constants> {
        let (mut numbers, mut count, mut first) = (0, 0, null_mut());
        call!(self, GetConstantPool(
            class => jclass,
            &raw mut numbers => *mut jint,
            &raw mut count => *mut jint,
            &raw mut first => *mut *mut u8))?;
        // SAFETY: as above.
        let bytes = unsafe { Allocated::new(self, first, count) };
        Ok(Constants { count: u16::try_from(numbers).unwrap_or(u16::MAX), bytes })
    }

    /// Returns a method's modifiers, as bits of [`Modifier`].
    pub fn modifiers(self, method: jmethodID) -> Result<jint> {
        let mut modifiers = 0;
        call!(self, GetMethodModifiers(method => jmethodID, &raw mut modifiers => *mut jint))?;
        Ok(modifiers)
    }
}
