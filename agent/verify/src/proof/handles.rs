//! Method handles, var handles and invokedynamic: calls whose callee the bytecode does not name.
//!
//! What they lead to is code that `java.lang.invoke` made for the purpose; that code in turn ends
//! in one of the `linkTo` methods, which jump to the target and leave no frame. The target is known
//! by its shape alone.

use crate::proof::method::{Body, Method};
use crate::proof::opcode as op;
use crate::proof::pool::{Constant, Member};
use crate::proof::verdict::Explanation;

const PACKAGE: &str = "java/lang/invoke";
const METHOD_HANDLE: &str = "java/lang/invoke/MethodHandle";
const VAR_HANDLE: &str = "java/lang/invoke/VarHandle";

/// True for the methods whose descriptor is that of each single call.
pub(crate) fn is_polymorphic(class: &str, name: &str) -> bool {
    match class {
        METHOD_HANDLE => matches!(name, "invoke" | "invokeExact" | "invokeBasic"),
        VAR_HANDLE => ["get", "set", "compareAndSet", "compareAndExchange", "weakCompareAndSet"]
            .iter()
            .any(|access| name.starts_with(access)),
        _ => false,
    }
}

/// Why `callee` may be what such a call leads to.
pub(crate) fn explained(opcode: u8, constant: Option<Constant<'_>>, callee: &Method) -> Option<Explanation> {
    // The methods themselves are the VM's own code, and a thread may be in it: all calls of one are
    // calls of the same.
    let itself = |named: Member<'_>| {
        callee.is(named.class, named.name)
            && named.class == METHOD_HANDLE
            && matches!(callee.body, Body::Native)
    };
    let adapter = || (callee.is_static && callee.in_package(PACKAGE)).then_some(Explanation::MethodHandle);
    match (opcode, constant?) {
        (op::INVOKEDYNAMIC, _) => adapter(),
        (op::INVOKEVIRTUAL | op::INVOKESTATIC, Constant::Member(named)) if itself(named) => {
            Some(Explanation::MethodHandle)
        }
        (op::INVOKEVIRTUAL, Constant::Member(named)) if is_polymorphic(named.class, named.name) => adapter(),
        (op::INVOKESTATIC, Constant::Member(named)) if named.class == METHOD_HANDLE => {
            is_target(named, callee).then_some(Explanation::HandleTarget)
        }
        _ => None,
    }
}

/// Whether a `linkTo` of this descriptor can have jumped to `callee`.
fn is_target(named: Member<'_>, callee: &Method) -> bool {
    let with_receiver = match named.name {
        "linkToStatic" => false,
        // A form that is interpreted is a static method of the package's.
        "linkToSpecial" if callee.is_static => return callee.in_package(PACKAGE),
        "linkToVirtual" | "linkToSpecial" | "linkToInterface" => true,
        // Where native code calls back, what was made for that stands on the call of the native
        // code.
        "linkToNative" => {
            return matches!(callee.body, Body::Native) || callee.is_static && callee.in_package(PACKAGE);
        }
        _ => return false,
    };
    if with_receiver == callee.is_static {
        return false;
    }
    let (Some(mut given), Some(taken)) = (Shape::of(named.descriptor), Shape::of(&callee.descriptor)) else {
        return false;
    };
    // The last argument says what the target is.
    if given.parameters.pop() != Some(b'L') {
        return false;
    }
    let given_rest = given.parameters.get(usize::from(with_receiver)..);
    let receiver = !with_receiver || given.parameters.first() == Some(&b'L');
    // A var handle's getAndSet may be called for what it does alone.
    receiver
        && given_rest == Some(&taken.parameters[..])
        && (given.result == taken.result || given.result == b'V')
}

/// A descriptor by its basic types: a letter each of `I`, `J`, `F`, `D`, `L`, and `V`.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    parameters: Vec<u8>,
    result: u8,
}

impl Shape {
    fn of(descriptor: &str) -> Option<Self> {
        let (parameters, result) = descriptor.strip_prefix('(')?.split_once(')')?;
        let (result_letter, result_length) = basic(result.as_bytes())?;
        let mut rest = parameters.as_bytes();
        let mut letters = Vec::new();
        while !rest.is_empty() {
            let (letter, length) = basic(rest).filter(|(letter, _)| *letter != b'V')?;
            letters.push(letter);
            rest = rest.get(length..)?;
        }
        (result_length == result.len()).then_some(Self { parameters: letters, result: result_letter })
    }
}

/// The first type's letter, and the bytes that it takes.
fn basic(types: &[u8]) -> Option<(u8, usize)> {
    Some(match types.first()? {
        b'Z' | b'B' | b'S' | b'C' | b'I' => (b'I', 1),
        letter @ (b'J' | b'F' | b'D' | b'V') => (*letter, 1),
        b'L' => (b'L', types.iter().position(|byte| *byte == b';')? + 1),
        b'[' => (b'L', 1 + basic(&types[1..])?.1),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptors_shape_is_that_of_its_basic_types() {
        let shape = |text| Shape::of(text).map(|shape| (shape.parameters, shape.result));
        assert_eq!(shape("(ZB[[ILjava/lang/String;J)C"), Some((b"IILLJ".to_vec(), b'I')));
        assert_eq!(shape("()V"), Some((Vec::new(), b'V')));
        for damaged in ["", "(", "(I", "(L)V", "(X)V", "([)V", "()", "([", "(V)V", "()IJ"] {
            assert_eq!(shape(damaged), None, "{damaged}");
        }
    }
}
