//! The code of methods, and the constants that it names.
//!
//! What holds for questions about methods holds here: the caller holds a reference to the class.

use std::ptr::null_mut;

use jni_sys::{jclass, jint, jmethodID};

use super::jvmti::{Jvmti, Result, call};
use super::memory::Allocated;

/// A class's constants, as its class file has them.
#[derive(Debug)]
pub struct Constants {
    /// One more than the highest number.
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
    /// The bytes of a method's code, as its class file has them. A method without code has none,
    /// which is an error on some JVMs.
    pub fn bytecodes(self, method: jmethodID) -> Result<Allocated<u8>> {
        let (mut count, mut first) = (0, null_mut());
        call!(self, GetBytecodes(
            method => jmethodID, &raw mut count => *mut jint, &raw mut first => *mut *mut u8))?;
        // SAFETY: the function succeeded, so it wrote `count` bytes.
        Ok(unsafe { Allocated::new(self, first, count) })
    }

    /// The constants of a class in its present version.
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

    /// A method's modifiers, as bits of [`Modifier`].
    pub fn modifiers(self, method: jmethodID) -> Result<jint> {
        let mut modifiers = 0;
        call!(self, GetMethodModifiers(method => jmethodID, &raw mut modifiers => *mut jint))?;
        Ok(modifiers)
    }
}
