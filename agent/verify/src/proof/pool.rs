//! Reads the constant pool of a class, as JVMTI returns it: the bytes of the pool in a class file.
//!
//! Every function here must be total: the result for a damaged or cut constant is `None`, and
//! nothing panics. Constants are decoded only when they are read, since few of them belong to call
//! sites.

/// The bytes of a constant pool, and the index at which each constant begins.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    bytes: Vec<u8>,
    /// For each number of a constant, the index of its first byte plus 1. It is 0 if there is no
    /// constant with this number.
    starts: Vec<u32>,
}

/// A method or field that a constant names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'p> {
    /// The class of the member, such as `java/lang/String` or `[I`.
    pub class: &'p str,
    pub name: &'p str,
    pub descriptor: &'p str,
}

/// A dynamic call site or constant, which the JVM links when it is used for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dynamic<'p> {
    pub name: &'p str,
    pub descriptor: &'p str,
}

/// A constant, decoded as far as proof needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constant<'p> {
    Text(&'p str),
    Class(&'p str),
    Member(Member<'p>),
    Dynamic(Dynamic<'p>),
    MethodHandle,
    MethodType,
    /// The constant is a number, a string or a module, which cause no call.
    Other,
}

const UTF8: u8 = 1;
const CLASS: u8 = 7;
const STRING: u8 = 8;
const FIELD: u8 = 9;
const INTERFACE_METHOD: u8 = 11;
const NAME_AND_TYPE: u8 = 12;
const METHOD_HANDLE: u8 = 15;
const METHOD_TYPE: u8 = 16;
const DYNAMIC: u8 = 17;
const INVOKE_DYNAMIC: u8 = 18;

impl Pool {
    /// Makes the pool of a class without constants.
    pub const fn none() -> Self {
        Self { bytes: Vec::new(), starts: Vec::new() }
    }

    /// Indexes the bytes of a constant pool. `count` is that of the class file: the highest number
    /// plus 1. The numbers begin at 1.
    pub fn new(bytes: Vec<u8>, count: u16) -> Self {
        let mut starts = vec![0; usize::from(count)];
        let mut at = 0;
        let mut number = 1;
        while number < starts.len() {
            let Some((size, numbers)) = extent(&bytes, at) else { break };
            // 1 is added, so that 0 can mean that there is no constant.
            starts[number] = u32::try_from(at + 1).unwrap_or(0);
            at += size;
            number += numbers;
        }
        Self { bytes, starts }
    }

    /// Decodes the constant with this number.
    pub fn get(&self, number: u16) -> Option<Constant<'_>> {
        let at = self.at(number)?;
        Some(match *self.bytes.get(at)? {
            UTF8 => Constant::Text(self.utf8(number)?),
            CLASS => Constant::Class(self.class(number)?),
            FIELD..=INTERFACE_METHOD => {
                let class = self.class(self.u2(at + 1)?)?;
                let (name, descriptor) = self.name_and_type(self.u2(at + 3)?)?;
                Constant::Member(Member { class, name, descriptor })
            }
            DYNAMIC | INVOKE_DYNAMIC => {
                let (name, descriptor) = self.name_and_type(self.u2(at + 3)?)?;
                Constant::Dynamic(Dynamic { name, descriptor })
            }
            METHOD_HANDLE => Constant::MethodHandle,
            METHOD_TYPE => Constant::MethodType,
            _ => Constant::Other,
        })
    }

    /// Returns the text of the string constant with this number.
    pub fn string(&self, number: u16) -> Option<&str> {
        let at = self.at(number)?;
        if *self.bytes.get(at)? == STRING { self.utf8(self.u2(at + 1)?) } else { None }
    }

    fn at(&self, number: u16) -> Option<usize> {
        let start = usize::try_from(*self.starts.get(usize::from(number))?).ok()?;
        start.checked_sub(1)
    }

    fn u2(&self, at: usize) -> Option<u16> {
        Some(u16::from_be_bytes(self.bytes.get(at..at + 2)?.try_into().ok()?))
    }

    /// Decodes the text constant with this number. It is `None` if the class file's modified UTF-8
    /// is not UTF-8. So no call of a method with such a name is refuted.
    fn utf8(&self, number: u16) -> Option<&str> {
        let at = self.at(number)?;
        if *self.bytes.get(at)? != UTF8 {
            return None;
        }
        let length = usize::from(self.u2(at + 1)?);
        std::str::from_utf8(self.bytes.get(at + 3..at + 3 + length)?).ok()
    }

    fn class(&self, number: u16) -> Option<&str> {
        let at = self.at(number)?;
        if *self.bytes.get(at)? == CLASS { self.utf8(self.u2(at + 1)?) } else { None }
    }

    fn name_and_type(&self, number: u16) -> Option<(&str, &str)> {
        let at = self.at(number)?;
        if *self.bytes.get(at)? != NAME_AND_TYPE {
            return None;
        }
        Some((self.utf8(self.u2(at + 1)?)?, self.utf8(self.u2(at + 3)?)?))
    }
}

/// The size in bytes of each kind of constant except text, by the constant's tag. It is 0 for
/// unknown tags.
const SIZES: [u8; 21] = [0, 0, 0, 5, 5, 9, 9, 3, 3, 5, 5, 5, 5, 0, 0, 4, 3, 5, 5, 3, 3];

/// Returns the size in bytes of the constant at `at`, and how many numbers it takes.
fn extent(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let tag = *bytes.get(at)?;
    let size = if tag == UTF8 {
        3 + usize::from(u16::from_be_bytes(bytes.get(at + 1..at + 3)?.try_into().ok()?))
    } else {
        usize::from(*SIZES.get(usize::from(tag))?)
    };
    // Longs and doubles take two numbers.
    let numbers = if matches!(tag, 5 | 6) { 2 } else { 1 };
    (size > 0 && bytes.len() - at >= size).then_some((size, numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proof::testing::PoolBuilder;

    #[test]
    fn a_constant_is_found_by_its_number() {
        let mut builder = PoolBuilder::default();
        builder.long(7);
        let method = builder.method("java/util/List", "size", "()I");
        let site = builder.invoke_dynamic("run", "()Ljava/lang/Runnable;");
        let class = builder.class("java/util/List");
        let pool = builder.build();
        let size = Member { class: "java/util/List", name: "size", descriptor: "()I" };
        assert_eq!(pool.get(1), Some(Constant::Other));
        assert_eq!(pool.get(2), None, "a long takes two numbers");
        assert_eq!(pool.get(method), Some(Constant::Member(size)));
        let run = Dynamic { name: "run", descriptor: "()Ljava/lang/Runnable;" };
        assert_eq!(pool.get(site), Some(Constant::Dynamic(run)));
        assert_eq!(pool.get(class), Some(Constant::Class("java/util/List")));
        assert_eq!((pool.get(0), pool.get(u16::MAX)), (None, None));
    }

    #[test]
    fn a_constant_that_is_cut_off_is_not_found() {
        let mut builder = PoolBuilder::default();
        let method = builder.method("A", "m", "()V");
        let whole = builder.build();
        for length in 0..whole.bytes.len() {
            let cut = Pool::new(whole.bytes[..length].to_vec(), method + 1);
            assert_eq!(cut.get(method), None, "{length} bytes");
        }
    }
}
