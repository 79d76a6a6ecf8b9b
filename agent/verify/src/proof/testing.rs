//! Builders of classes and methods for tests. The feature `testing` makes them visible to the tests
//! of other crates. Code outside of tests must never use them.

use std::sync::Arc;

use crate::proof::{Body, Class, Code, FrameWithMethod, Method, Pool, Relation, edge};

/// True if the bytecode refutes a call, without any information on the class hierarchy.
pub fn refutes((at, caller): FrameWithMethod<'_>, (_, callee): FrameWithMethod<'_>) -> bool {
    edge(caller, at.bci(), callee, |_| Relation::Unknown).is_refuted()
}

/// Writes a constant pool. Each method adds a constant and returns its number.
#[derive(Debug, Default)]
pub struct PoolBuilder {
    bytes: Vec<u8>,
    count: u16,
}

impl PoolBuilder {
    fn add(&mut self, tag: u8, parts: &[u16]) -> u16 {
        self.bytes.push(tag);
        self.bytes.extend(parts.iter().flat_map(|part| part.to_be_bytes()));
        self.count += 1;
        self.count
    }

    pub fn text(&mut self, text: &str) -> u16 {
        let number = self.add(1, &[u16::try_from(text.len()).unwrap()]);
        self.bytes.extend(text.bytes());
        number
    }

    pub fn long(&mut self, value: u64) {
        self.bytes.push(5);
        self.bytes.extend(value.to_be_bytes());
        self.count += 2;
    }

    pub fn class(&mut self, name: &str) -> u16 {
        let name = self.text(name);
        self.add(7, &[name])
    }

    fn name_and_type(&mut self, name: &str, descriptor: &str) -> u16 {
        let (name, descriptor) = (self.text(name), self.text(descriptor));
        self.add(12, &[name, descriptor])
    }

    pub fn method(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        let class = self.class(class);
        let named = self.name_and_type(name, descriptor);
        self.add(10, &[class, named])
    }

    pub fn field(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        let class = self.class(class);
        let named = self.name_and_type(name, descriptor);
        self.add(9, &[class, named])
    }

    pub fn string(&mut self, text: &str) -> u16 {
        let text = self.text(text);
        self.add(8, &[text])
    }

    /// Adds a method handle of kind `REF_invokeStatic`.
    pub fn method_handle(&mut self, class: &str, name: &str, descriptor: &str) -> u16 {
        let target = self.method(class, name, descriptor);
        let number = self.add(15, &[]);
        self.bytes.push(6);
        self.bytes.extend(target.to_be_bytes());
        number
    }

    /// Adds a dynamic constant.
    pub fn dynamic(&mut self, name: &str, descriptor: &str) -> u16 {
        let named = self.name_and_type(name, descriptor);
        self.add(17, &[0, named])
    }

    pub fn invoke_dynamic(&mut self, name: &str, descriptor: &str) -> u16 {
        self.invoke_dynamic_of(0, name, descriptor)
    }

    /// Adds a dynamic call site with this index into the class's bootstrap methods.
    pub fn invoke_dynamic_of(&mut self, linked: u16, name: &str, descriptor: &str) -> u16 {
        let named = self.name_and_type(name, descriptor);
        self.add(18, &[linked, named])
    }

    pub fn method_type(&mut self, descriptor: &str) -> u16 {
        let descriptor = self.text(descriptor);
        self.add(16, &[descriptor])
    }

    /// Returns the bytes of the pool, and its highest number plus 1.
    pub fn parts(self) -> (Vec<u8>, u16) {
        (self.bytes, self.count + 1)
    }

    pub fn build(self) -> Pool {
        let (bytes, count) = self.parts();
        Pool::new(bytes, count)
    }
}

/// Makes an instance method with empty code.
pub fn method(class: &str, name: &str, descriptor: &str) -> Method {
    Method {
        class: Arc::new(Class::new(class)),
        name: name.into(),
        descriptor: descriptor.into(),
        is_static: false,
        body: Body::Code(Code::default()),
    }
}

pub fn static_method(class: &str, name: &str, descriptor: &str) -> Method {
    Method { is_static: true, ..method(class, name, descriptor) }
}

pub fn native(class: &str, name: &str, descriptor: &str) -> Method {
    Method { body: Body::Native, ..method(class, name, descriptor) }
}

/// Makes a method `Caller.call` with this code.
pub fn caller(pool: Pool, code: &[u8]) -> Method {
    let class = Class::new("Caller");
    class.load_pool(|| pool);
    Method {
        class: Arc::new(class),
        body: Body::Code(Code::new(code.to_vec())),
        ..method("Caller", "call", "()V")
    }
}

/// Makes a calling method with one instruction. The instruction's constant names a method.
pub fn calls(opcode: u8, class: &str, name: &str, descriptor: &str) -> Method {
    let mut builder = PoolBuilder::default();
    let number = builder.method(class, name, descriptor);
    one(builder.build(), opcode, number)
}

/// Makes a calling method with one instruction, which refers to the constant `number`.
pub fn one(pool: Pool, opcode: u8, number: u16) -> Method {
    let [high, low] = number.to_be_bytes();
    caller(pool, &[opcode, high, low, 0, 0])
}

/// Makes a calling method with one instruction. It refers to the constant that `add` puts into the
/// pool.
pub fn naming(opcode: u8, add: impl FnOnce(&mut PoolBuilder) -> u16) -> Method {
    let mut builder = PoolBuilder::default();
    let number = add(&mut builder);
    one(builder.build(), opcode, number)
}

/// Makes a calling method with two instructions: a `nop`, and one without a constant.
pub fn plain(opcode: u8) -> Method {
    caller(Pool::none(), &[0, opcode])
}
