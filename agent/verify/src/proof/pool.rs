//! A class's constant pool, as the JVM hands it out: the raw bytes of a class file, without the
//! class file.
//!
//! It must be total: what is damaged or cut short is not there, and nothing else comes of it. It
//! keeps the bytes and where each constant begins, since a class has many constants and its call
//! sites few.

/// The bytes of a pool, and where the constants lie in them.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    bytes: Vec<u8>,
    /// By number; 0 where there is none.
    starts: Vec<u32>,
}

/// A method or field that a constant names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'p> {
    /// As in `java/lang/String`, or `[I`.
    pub class: &'p str,
    pub name: &'p str,
    pub descriptor: &'p str,
}

/// A call site that is linked when it is first met, or a constant that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dynamic<'p> {
    pub name: &'p str,
    pub descriptor: &'p str,
}

/// What a constant is, as far as proof has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constant<'p> {
    Text(&'p str),
    Class(&'p str),
    Member(Member<'p>),
    Dynamic(Dynamic<'p>),
    MethodHandle,
    MethodType,
    /// A number, a string, a module: nothing that calls.
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
    /// Of a class without constants.
    pub const fn none() -> Self {
        Self { bytes: Vec::new(), starts: Vec::new() }
    }

    /// Looks through the bytes of a pool of `count` numbers, of which 0 is none.
    pub fn new(bytes: Vec<u8>, count: u16) -> Self {
        let mut starts = vec![0; usize::from(count)];
        // A first byte of its own, so that no constant begins at 0.
        let mut at = 0;
        let mut number = 1;
        while number < starts.len() {
            let Some((size, numbers)) = extent(&bytes, at) else { break };
            starts[number] = u32::try_from(at + 1).unwrap_or(0);
            at += size;
            number += numbers;
        }
        Self { bytes, starts }
    }

    /// The constant of a number.
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

    /// The text of a string constant.
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

    /// Names that are no UTF-8 in the JVM's own encoding are not there: no method of theirs is ever
    /// refuted.
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

/// The bytes of each kind of constant but text, by its tag; 0 where there is no such kind.
const SIZES: [u8; 21] = [0, 0, 0, 5, 5, 9, 9, 3, 3, 5, 5, 5, 5, 0, 0, 4, 3, 5, 5, 3, 3];

/// How many bytes and how many numbers the constant at `at` takes.
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
    fn what_is_cut_off_is_not_there() {
        let mut builder = PoolBuilder::default();
        let method = builder.method("A", "m", "()V");
        let whole = builder.build();
        for length in 0..whole.bytes.len() {
            let cut = Pool::new(whole.bytes[..length].to_vec(), method + 1);
            assert_eq!(cut.get(method), None, "{length} bytes");
        }
    }
}
