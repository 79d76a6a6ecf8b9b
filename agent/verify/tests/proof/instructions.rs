//! Compares Vouch's reader of class files with the reader `noak`, on a generated class.
//!
//! The class has every instruction and every kind of constant. `classes.rs` has the same test for
//! classes of real programs.

use std::sync::Arc;

use noak::MStr;
use noak::reader::attributes::RawInstruction;
use noak::reader::cpool::{ConstantPool, Index, Item, NameAndType};
use noak::reader::{AttributeContent, Class as TheirClass};
use vouch_verify::proof::{
    At, Body, Class, Code, Constant, Dynamic, Member, Method, Pool, Refutation, Relation, Verdict, edge,
    leaf, without_hidden_part,
};

const INVOKESTATIC: u8 = 184;
const INVOKEINTERFACE: u8 = 185;

/// The number of parts of class files that were compared.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    classes: usize,
    methods: usize,
    instructions: usize,
    invokes: usize,
    constants: usize,
}

/// Converts a text of noak's to one as Vouch reads it. It is `None` if the modified UTF-8 of the
/// class file is not UTF-8.
fn text(theirs: &MStr) -> Option<&str> {
    std::str::from_utf8(theirs.as_bytes()).ok()
}

fn named<'p>(pool: &ConstantPool<'p>, at: Index<NameAndType<'p>>) -> Option<(&'p str, &'p str)> {
    let both = pool.retrieve(at).ok()?;
    Some((text(both.name)?, text(both.descriptor)?))
}

/// Converts a constant of noak's to one of Vouch's.
fn constant<'p>(pool: &ConstantPool<'p>, item: &Item<'p>) -> Option<Constant<'p>> {
    let (class, name_and_type) = match item {
        Item::FieldRef(field) => (field.class, field.name_and_type),
        Item::MethodRef(method) => (method.class, method.name_and_type),
        Item::InterfaceMethodRef(method) => (method.class, method.name_and_type),
        Item::Dynamic(noak::reader::cpool::Dynamic { name_and_type, .. })
        | Item::InvokeDynamic(noak::reader::cpool::InvokeDynamic { name_and_type, .. }) => {
            let (name, descriptor) = named(pool, *name_and_type)?;
            return Some(Constant::Dynamic(Dynamic { name, descriptor }));
        }
        Item::Class(class) => return Some(Constant::Class(text(pool.retrieve(class.name).ok()?)?)),
        Item::Utf8(utf8) => return Some(Constant::Text(text(utf8.content)?)),
        Item::MethodHandle(_) => return Some(Constant::MethodHandle),
        Item::MethodType(_) => return Some(Constant::MethodType),
        _ => return Some(Constant::Other),
    };
    let class = text(pool.retrieve(class).ok()?.name)?;
    let (name, descriptor) = named(pool, name_and_type)?;
    Some(Constant::Member(Member { class, name, descriptor }))
}

/// Returns the opcode of an invoke that noak has read, and the number of its constant.
fn invoked(instruction: &RawInstruction<'_>) -> Option<(u8, u16)> {
    Some(match instruction {
        RawInstruction::InvokeVirtual { index } => (182, index.as_u16()),
        RawInstruction::InvokeSpecial { index } => (183, index.as_u16()),
        RawInstruction::InvokeStatic { index } => (INVOKESTATIC, index.as_u16()),
        RawInstruction::InvokeInterface { index, .. } => (INVOKEINTERFACE, index.as_u16()),
        RawInstruction::InvokeDynamic { index } => (186, index.as_u16()),
        _ => return None,
    })
}

fn compare(bytes: &[u8], tally: &mut Tally) {
    let theirs = TheirClass::new(bytes).expect("noak reads the class");
    // The constants come after the magic number, the version and their count.
    let ours = Class::new("Caller");
    ours.load_pool(|| Pool::new(bytes[10..].to_vec(), u16::from_be_bytes([bytes[8], bytes[9]])));
    for (number, item) in theirs.pool().iter_indices() {
        assert_eq!(
            ours.pool().get(number.as_u16()),
            constant(theirs.pool(), item),
            "constant {}",
            number.as_u16()
        );
        tally.constants += 1;
    }
    let ours = Arc::new(ours);
    for method in theirs.methods() {
        for attribute in method.unwrap().attributes() {
            let attribute = attribute.unwrap();
            if theirs.pool().retrieve(attribute.name()).unwrap().as_bytes() == b"Code" {
                compare_code(&theirs, &ours, &attribute, tally);
                tally.methods += 1;
            }
        }
    }
    tally.classes += 1;
}

fn compare_code(
    class: &TheirClass<'_>,
    ours: &Arc<Class>,
    attribute: &noak::reader::Attribute<'_>,
    tally: &mut Tally,
) {
    let AttributeContent::Code(theirs) = attribute.read_content(class.pool()).unwrap() else {
        unreachable!()
    };
    // The length of the code and the code come after two sizes.
    let (length, rest) = attribute.content()[4..].split_first_chunk().unwrap();
    let code = Code::new(rest[..u32::from_be_bytes(*length) as usize].to_vec());
    let all: Vec<_> =
        code.instructions().map(|own| (own.bci, own.opcode, own.constant(), own.bytes.len())).collect();
    let mut instructions = all.into_iter();
    let mut end = 0;
    let mut invokes = Vec::new();
    for instruction in theirs.raw_instructions() {
        let (at, instruction) = instruction.unwrap();
        let own = instructions.next().expect("we see as many instructions");
        assert_eq!(own.0, at.as_u32() as usize, "{instruction:?}");
        end = own.0 + own.3;
        if let Some((opcode, number)) = invoked(&instruction) {
            assert_eq!((own.1, own.2), (opcode, Some(number)), "{instruction:?}");
            invokes.push((own.0, opcode, number));
        }
        tally.instructions += 1;
    }
    assert_eq!((instructions.next(), end), (None, code.bytes()), "we see no more than they do");
    tally.invokes += invokes.len();
    let caller = method(Arc::clone(ours), "call", "()V", false, Body::Code(code));
    for (bci, opcode, number) in invokes {
        judge(&caller, bci, opcode, number);
    }
}

/// Asserts that an invoke can have called the method that it names, and not one of another name.
fn judge(caller: &Method, bci: usize, opcode: u8, number: u16) {
    let Body::Code(code) = &caller.body else { unreachable!() };
    assert!(matches!(code.at(bci), At::Instruction(_)));
    let bci = i32::try_from(bci).unwrap();
    assert_eq!(leaf(caller, bci), Verdict::Proven);
    let Some(Constant::Member(member)) = caller.class.pool().get(number) else { return };
    let callee = |name: &str| {
        let class = Arc::new(Class::new(without_hidden_part(member.class)));
        method(class, name, member.descriptor, opcode == INVOKESTATIC, Body::Native)
    };
    let verdict = |callee: &Method| edge(caller, bci, callee, |_| Relation::Unknown);
    assert_eq!(verdict(&callee(member.name)), Verdict::Proven, "{member:?}");
    let other = callee("a method that nobody has");
    assert_eq!(verdict(&other), Verdict::Refuted(Refutation::OtherCallee), "{member:?}");
}

fn method(class: Arc<Class>, name: &str, descriptor: &str, is_static: bool, body: Body) -> Method {
    Method { class, name: name.into(), descriptor: descriptor.into(), is_static, body }
}

/// Encodes an instruction at bci `at`, with valid operands. The result has one element for each
/// form of the instruction.
fn encoded(opcode: u8, at: usize) -> Vec<Vec<u8>> {
    let padded = |words: &[i32]| {
        let mut bytes = vec![opcode];
        bytes.resize(4 - at % 4, 0);
        bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
        bytes
    };
    vec![match opcode {
        16 | 18 | 21..=25 | 54..=58 | 169 | 188 => vec![opcode, 10],
        17 | 19 | 20 | 132 | 153..=168 | 178..=184 | 187 | 189 | 192 | 193 | 198 | 199 => vec![opcode, 0, 7],
        170 => return vec![padded(&[8, -1, 1, 8, 8, 8]), padded(&[8, 5, 5, 8])],
        171 => return vec![padded(&[8, 0]), padded(&[8, 2, i32::MIN, 8, 7, 8])],
        185 => vec![opcode, 0, 7, 1, 0],
        186 => vec![opcode, 0, 7, 0, 0],
        196 => {
            let locals = (21..=25).chain(54..=58).chain([169]).map(|local| vec![opcode, local, 1, 2]);
            return locals.chain([vec![opcode, 132, 1, 2, 3, 4]]).collect();
        }
        197 => vec![opcode, 0, 7, 2],
        200 | 201 => vec![opcode, 0, 0, 0, 8],
        _ => vec![opcode],
    }]
}

/// Writes a class with every kind of constant, and a method with every instruction. The switches
/// are at every alignment.
fn with_every_instruction() -> Vec<u8> {
    let mut code: Vec<u8> = Vec::new();
    for round in 0..4 {
        code.resize(code.len().next_multiple_of(4) + round, 0);
        for opcode in 0..=201 {
            // The second form of an opcode has another bci, and so another padding.
            for form in 0..encoded(opcode, 0).len() {
                let at = code.len();
                code.extend(&encoded(opcode, at)[form]);
            }
        }
    }
    let mut class = vec![0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 65, 0, 26];
    let texts = ["A", "Code", "m", "()V"];
    for text in texts {
        class.extend([1, 0, u8::try_from(text.len()).unwrap()]);
        class.extend(text.bytes());
    }
    // 5: a class; 6: a name and type; 7, 8, 9: a method, an interface's method, a field.
    class.extend([7, 0, 1, 12, 0, 3, 0, 4, 10, 0, 5, 0, 6, 11, 0, 5, 0, 6, 9, 0, 5, 0, 6]);
    // 10: a long, which takes 11 too; 12: a double; 14 and 15: an int and a float.
    class.extend([5, 1, 2, 3, 4, 5, 6, 7, 8, 6, 1, 2, 3, 4, 5, 6, 7, 8, 3, 1, 2, 3, 4, 4, 1, 2, 3, 4]);
    // 16: a string; 17 and 18: a method's handle and type; 19 and 20: dynamic ones; 21 and 22: a
    // module and a package.
    class.extend([8, 0, 3, 15, 6, 0, 7, 16, 0, 4, 17, 0, 0, 0, 6, 18, 0, 0, 0, 6, 19, 0, 1, 20, 0, 1]);
    // 23: a text with a NUL, as the JVM writes it, which is no UTF-8; 24 and 25: a class and a
    // string of it.
    class.extend([1, 0, 2, 0xc0, 0x80, 7, 0, 23, 8, 0, 23]);
    // The class has flags, its name, no superclass, no interface, no field, and a static method
    // with one attribute.
    class.extend([0, 0x21, 0, 5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 9, 0, 3, 0, 4, 0, 1, 0, 2]);
    let length = u32::try_from(code.len()).unwrap();
    class.extend((length + 12).to_be_bytes());
    class.extend([0, 9, 0, 9]);
    class.extend(length.to_be_bytes());
    class.extend(code);
    // The code has no exception handler and no attribute, and the class has no attribute.
    class.extend([0; 6]);
    class
}

#[test]
fn every_instruction_and_constant_is_read_as_noak_does() {
    let mut tally = Tally::default();
    compare(&with_every_instruction(), &mut tally);
    // There are 202 opcodes. `wide` has 12 forms, and each switch has 2. All are there at four
    // alignments, with `nop`s between them.
    assert!(tally.instructions >= 4 * (202 + 11 + 2), "{tally:?}");
    assert_eq!((tally.classes, tally.methods, tally.invokes, tally.constants), (1, 1, 20, 23), "{tally:?}");
}
