//! Reads a class file: its constants, its methods with code and lines, and its superclass.
//!
//! It must never panic. From a damaged file it reads what it can, or returns an error.

use std::sync::Arc;

use crate::error::Error;
use noak::MStr;
use noak::reader::cpool::{self, ConstantPool, Item, MethodKind};
use noak::reader::{AttributeContent, Class as Raw, Method as RawMethod};
use vouch_verify::proof::{Body, Class, Code, Gone, Member, Pool, Reference};

/// The parts of a class file that proof needs.
#[derive(Debug)]
pub struct ClassFile {
    /// The class with its constant pool.
    pub class: Arc<Class>,
    /// The name of the superclass, or `None` for `java/lang/Object`.
    pub superclass: Option<Box<str>>,
    pub is_interface: bool,
    /// The name of the source file, without folders.
    pub source: Option<Box<str>>,
    /// The targets of the class's lambdas and method references.
    pub lambdas: Vec<Lambda>,
    methods: Vec<DeclaredMethod>,
}

/// A lambda or method reference. A method of its generated class calls one other method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lambda {
    /// The name of the method in the generated class.
    pub caller: Box<str>,
    /// The way in which the target is called.
    pub kind: Reference,
    class: Box<str>,
    name: Box<str>,
    descriptor: Box<str>,
}

impl Lambda {
    /// Returns the method that the lambda calls.
    pub fn member(&self) -> Member<'_> {
        Member { class: &self.class, name: &self.name, descriptor: &self.descriptor }
    }
}

/// A method as its class declares it.
#[derive(Debug)]
pub struct DeclaredMethod {
    pub name: Arc<str>,
    pub descriptor: Arc<str>,
    pub is_static: bool,
    pub body: Body,
    /// The line number table: first bci and line, in the order of the file.
    lines: Box<[(u16, u16)]>,
}

/// The offset of the constant pool, after the magic number, the version and the pool's count.
const POOL_OFFSET: usize = 10;
/// The offset of the code in a `Code` attribute, after the stack size, the number of locals and the
/// length.
const CODE_OFFSET: usize = 8;

impl ClassFile {
    /// Reads a class file.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let raw = Raw::new(bytes)?;
        let pool = raw.pool();
        let name = pool.retrieve(raw.this_class())?.name;
        let name = text(name).ok_or(Error::ClassName)?;
        let superclass = raw.super_class().and_then(|class| text(pool.retrieve(class).ok()?.name));
        let count = bytes
            .get(POOL_OFFSET - 2..POOL_OFFSET)
            .and_then(|count| count.try_into().ok())
            .map_or(0, u16::from_be_bytes);
        let class = Class::new(name);
        class.load_pool(|| Pool::new(bytes.get(POOL_OFFSET..).unwrap_or_default().to_vec(), count));
        let source =
            raw.attributes().iter().flatten().find_map(|attribute| match attribute.read_content(pool) {
                Ok(AttributeContent::SourceFile(file)) => text(pool.retrieve(file.source_file()).ok()?),
                _ => None,
            });
        Ok(Self {
            class: Arc::new(class),
            superclass: superclass.map(Into::into),
            is_interface: raw.access_flags().contains(noak::AccessFlags::INTERFACE),
            source: source.map(Into::into),
            lambdas: lambdas(&raw).collect(),
            methods: raw
                .methods()
                .iter()
                .flatten()
                .filter_map(|method| declared_method(&raw, &method))
                .collect(),
        })
    }

    /// Returns all methods with this name.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &DeclaredMethod> {
        self.methods.iter().filter(move |method| &*method.name == name)
    }

    /// Returns the method with this name and descriptor.
    pub fn method(&self, name: &str, descriptor: &str) -> Option<&DeclaredMethod> {
        self.methods.iter().find(|method| &*method.name == name && &*method.descriptor == descriptor)
    }
}

impl DeclaredMethod {
    /// Returns the line of a bci. It is the line of the table's entry for the bci, or of the last
    /// entry before it.
    pub fn line(&self, bci: u16) -> Option<u16> {
        let exact = self.lines.iter().find(|(from, _)| *from == bci);
        let before = || self.lines.iter().filter(|(from, _)| *from < bci).max_by_key(|(from, _)| *from);
        exact.or_else(before).map(|(_, line)| *line)
    }

    /// True if the bci is on the line by one of two ways to read the table. The entries need not be
    /// sorted, and a profiler may stop at the first entry beyond the bci.
    pub fn is_on(&self, bci: u16, line: u16) -> bool {
        let first_later = self.lines.iter().skip(1).position(|(from, _)| *from > bci);
        let in_order = self.lines.get(first_later.unwrap_or(self.lines.len().saturating_sub(1)));
        self.line(bci) == Some(line) || in_order.is_some_and(|(_, line_of_entry)| *line_of_entry == line)
    }

    /// True if some of the method's code is on the line, or if the method has no line numbers.
    pub fn may_be_on(&self, line: u16) -> bool {
        !self.has_lines() || self.lines.iter().any(|(_, line_of_entry)| *line_of_entry == line)
    }

    /// True if the method has line numbers.
    pub fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Returns the smallest line number of the method.
    pub fn first_line(&self) -> Option<u16> {
        self.lines.iter().map(|(_, line)| *line).min()
    }
}

fn declared_method(class: &Raw<'_>, raw: &RawMethod<'_>) -> Option<DeclaredMethod> {
    let pool = class.pool();
    let name = text(pool.retrieve(raw.name()).ok()?)?;
    let descriptor = text(pool.retrieve(raw.descriptor()).ok()?)?;
    let flags = raw.access_flags();
    let mut body =
        if flags.contains(noak::AccessFlags::NATIVE) { Body::Native } else { Body::Gone(Gone::Unread) };
    let mut lines = Vec::new();
    for attribute in raw.attributes().iter().flatten() {
        let Ok(AttributeContent::Code(code)) = attribute.read_content(pool) else { continue };
        let bytes = attribute.content();
        let length = bytes
            .get(CODE_OFFSET - 4..CODE_OFFSET)
            .and_then(|length| length.try_into().ok())
            .map(u32::from_be_bytes);
        let end = length.and_then(|length| CODE_OFFSET.checked_add(usize::try_from(length).ok()?));
        let Some(bytes) = end.and_then(|end| bytes.get(CODE_OFFSET..end)) else { continue };
        body = Body::Code(Code::new(bytes.to_vec()));
        for inner in code.attributes().iter().flatten() {
            if pool.retrieve(inner.name()).is_ok_and(|name| name.as_bytes() == b"LineNumberTable") {
                lines.extend(line_number_table(inner.content()));
            }
        }
    }
    Some(DeclaredMethod {
        name: name.into(),
        descriptor: descriptor.into(),
        is_static: flags.contains(noak::AccessFlags::STATIC),
        body,
        lines: lines.into(),
    })
}

/// Reads a line number table. (noak 0.7 reads the bci as four bytes, but it has two.)
fn line_number_table(bytes: &[u8]) -> impl Iterator<Item = (u16, u16)> + '_ {
    let entries = bytes.get(2..).unwrap_or_default().chunks_exact(4);
    entries.map(|entry| (u16::from_be_bytes([entry[0], entry[1]]), u16::from_be_bytes([entry[2], entry[3]])))
}

/// Returns all `invokedynamic` call sites that pass a method handle as second argument to their
/// bootstrap method.
fn lambdas<'r>(class: &'r Raw<'_>) -> impl Iterator<Item = Lambda> + 'r {
    let pool = class.pool();
    let methods =
        class.attributes().iter().flatten().find_map(|attribute| match attribute.read_content(pool) {
            Ok(AttributeContent::BootstrapMethods(methods)) => {
                Some(methods.methods().iter().flatten().collect::<Vec<_>>())
            }
            _ => None,
        });
    let methods = methods.unwrap_or_default();
    pool.iter().filter_map(move |item| {
        let Item::InvokeDynamic(site) = item else { return None };
        let method = methods.get(usize::from(site.bootstrap_method_attr))?;
        let target = method.arguments().iter().nth(1)?.ok()?;
        let Item::MethodHandle(handle) = pool.get(target).ok()? else { return None };
        let (class, named) = member(pool, handle.reference)?;
        let (kind, named) = (reference_kind(handle.kind)?, pool.get(named).ok()?);
        Some(Lambda {
            caller: text(pool.retrieve(pool.get(site.name_and_type).ok()?.name).ok()?)?.into(),
            kind,
            class: text(pool.retrieve(class).ok()?.name)?.into(),
            name: text(pool.retrieve(named.name).ok()?)?.into(),
            descriptor: text(pool.retrieve(named.descriptor).ok()?)?.into(),
        })
    })
}

fn reference_kind(kind: MethodKind) -> Option<Reference> {
    Some(match kind {
        MethodKind::InvokeVirtual => Reference::Virtual,
        MethodKind::InvokeStatic => Reference::Static,
        MethodKind::InvokeSpecial => Reference::Special,
        MethodKind::InvokeInterface => Reference::Interface,
        MethodKind::NewInvokeSpecial => Reference::New,
        _ => return None,
    })
}

fn member<'p>(
    pool: &ConstantPool<'p>,
    at: cpool::Index<Item<'p>>,
) -> Option<(cpool::Index<cpool::Class<'p>>, cpool::Index<cpool::NameAndType<'p>>)> {
    match pool.get(at).ok()? {
        Item::MethodRef(member) => Some((member.class, member.name_and_type)),
        Item::InterfaceMethodRef(member) => Some((member.class, member.name_and_type)),
        _ => None,
    }
}

/// A name that cannot be decoded counts as missing, as in `vouch_verify::proof::Pool`.
fn text(text: &MStr) -> Option<&str> {
    text.to_str()
}
