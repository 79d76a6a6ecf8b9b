//! Makes class files for tests: methods that call others, one call in each line.
//!
//! It must never be used outside of tests.

use vouch_verify::proof::testing::PoolBuilder;

/// A class to write for a test.
#[derive(Debug, Clone, Copy)]
pub struct Written<'a> {
    pub name: &'a str,
    pub superclass: &'a str,
    pub methods: &'a [WrittenMethod<'a>],
}

/// A method to write for a test.
#[derive(Debug, Clone, Copy)]
pub struct WrittenMethod<'a> {
    pub name: &'a str,
    pub descriptor: &'a str,
    pub is_static: bool,
    /// The line of the method's first call. Each further call is in the next line.
    pub line: u16,
    pub calls: &'a [Call<'a>],
}

/// A call to write: its opcode, and the class, name and descriptor that it refers to.
pub type Call<'a> = (u8, [&'a str; 3]);

pub const INVOKEVIRTUAL: u8 = 0xb6;
pub const INVOKESTATIC: u8 = 0xb8;
/// The opcode by which a test writes a lambda. The call's name is the generated method, and its
/// descriptor is the name of the static method that the lambda calls.
pub const LAMBDA: u8 = 0xba;
/// The bytes that each call takes in a method's code.
pub const CALL_LENGTH: u16 = 5;
const NOP: u8 = 0;
const RETURN: u8 = 0xb1;

impl Written<'_> {
    /// Returns the bytes of the class file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut pool = PoolBuilder::default();
        let names = [pool.class(self.name), pool.class(self.superclass)];
        let words = [pool.text("Code"), pool.text("LineNumberTable"), pool.text("SourceFile")];
        let file = pool.text("Written.java");
        let bootstrap = pool.text("BootstrapMethods");
        let mut lambdas = Vec::new();
        let methods: Vec<Vec<u8>> =
            self.methods.iter().map(|method| method.bytes(&mut pool, words, &mut lambdas)).collect();
        let linker = pool.method_handle("java/lang/invoke/LambdaMetafactory", "metafactory", "()V");
        let kind = pool.method_type("()V");
        let mut bytes = 0xCAFE_BABE_u32.to_be_bytes().to_vec();
        let (constants, count) = pool.parts();
        let shorts =
            |shorts: &[u16]| shorts.iter().flat_map(|short| short.to_be_bytes()).collect::<Vec<u8>>();
        bytes.extend(shorts(&[0, 52, count]));
        bytes.extend(constants);
        bytes.extend(shorts(&[0x21, names[0], names[1], 0, 0, short(methods.len())]));
        bytes.extend(methods.concat());
        bytes.extend(shorts(&[2]));
        bytes.extend(attribute(words[2], &shorts(&[file])));
        let each = |handle: &u16| shorts(&[linker, 3, kind, *handle, kind]);
        let links: Vec<u8> = lambdas.iter().flat_map(each).collect();
        bytes.extend(attribute(bootstrap, &[shorts(&[short(lambdas.len())]), links].concat()));
        bytes
    }
}

impl WrittenMethod<'_> {
    fn bytes(&self, pool: &mut PoolBuilder, words: [u16; 3], lambdas: &mut Vec<u16>) -> Vec<u8> {
        let (mut code, mut lines) = (Vec::new(), Vec::new());
        for (at, (opcode, [class, name, descriptor])) in (0..).zip(self.calls) {
            lines.extend(short(code.len()).to_be_bytes());
            lines.extend((self.line + at).to_be_bytes());
            let number = if *opcode == LAMBDA {
                let target = pool.method_handle(class, descriptor, "()V");
                lambdas.push(target);
                pool.invoke_dynamic_of(short(lambdas.len() - 1), name, "()Ljava/lang/Runnable;")
            } else {
                pool.method(class, name, descriptor)
            };
            code.push(*opcode);
            code.extend(number.to_be_bytes());
            code.extend([NOP, NOP]);
        }
        code.push(RETURN);
        let table = [short(self.calls.len()).to_be_bytes().to_vec(), lines].concat();
        let table = attribute(words[1], &table);
        let length = u32::try_from(code.len()).unwrap().to_be_bytes();
        // The sizes of stack and locals come before the code. After the code come no handlers and
        // one attribute.
        let body = [&[0, 9, 0, 9], &length[..], &code, &[0, 0, 0, 1], &table].concat();
        let access: u16 = if self.is_static { 9 } else { 1 };
        let numbers = [access, pool.text(self.name), pool.text(self.descriptor), 1];
        let head: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        [head, attribute(words[0], &body)].concat()
    }
}

fn attribute(name: u16, content: &[u8]) -> Vec<u8> {
    [&name.to_be_bytes()[..], &u32::try_from(content.len()).unwrap().to_be_bytes(), content].concat()
}

fn short(number: usize) -> u16 {
    u16::try_from(number).unwrap()
}
