//! Checks calls through method handles, var handles and invokedynamic. The bytecode does not name
//! their callee.
//!
//! Such calls run code that `java.lang.invoke` has generated. This code ends in one of the `linkTo`
//! methods, which jump to the target and have no frame. The target is known only by the basic types
//! of its descriptor.

use crate::proof::method::{Body, Method};
use crate::proof::opcode as op;
use crate::proof::pool::{Constant, Member};
use crate::proof::verdict::Explanation;

const PACKAGE: &str = "java/lang/invoke";
const METHOD_HANDLE: &str = "java/lang/invoke/MethodHandle";
const VAR_HANDLE: &str = "java/lang/invoke/VarHandle";

/// True for the signature-polymorphic methods, such as `MethodHandle.invoke`: each call site has
/// its own descriptor.
pub(crate) fn is_polymorphic(class: &str, name: &str) -> bool {
    match class {
        METHOD_HANDLE => matches!(name, "invoke" | "invokeExact" | "invokeBasic"),
        VAR_HANDLE => ["get", "set", "compareAndSet", "compareAndExchange", "weakCompareAndSet"]
            .iter()
            .any(|access| name.starts_with(access)),
        _ => false,
    }
}

/// Explains why a call through a method handle, var handle or invokedynamic may reach `callee`.
pub(crate) fn explained(opcode: u8, constant: Option<Constant<'_>>, callee: &Method) -> Option<Explanation> {
    // These methods are code of the VM, and a thread may be in it. They count as one method,
    // whatever descriptor a call has.
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

/// True if a `linkTo` method with this descriptor can have jumped to `callee`.
fn is_target(named: Member<'_>, callee: &Method) -> bool {
    let with_receiver = match named.name {
        "linkToStatic" => false,
        // An interpreted lambda form is a static method of `java.lang.invoke`.
        "linkToSpecial" if callee.is_static => return callee.in_package(PACKAGE),
        "linkToVirtual" | "linkToSpecial" | "linkToInterface" => true,
        // If native code calls back, the frame above it is a method generated for the upcall.
        "linkToNative" => {
            return matches!(callee.body, Body::Native) || callee.is_static && callee.in_package(PACKAGE);
        }
        _ => return false,
    };
    if with_receiver == callee.is_static {
        return false;
    }
    let shapes = (Shape::parse(named.descriptor), Shape::parse(&callee.descriptor));
    let (Some(mut linked), Some(target)) = shapes else {
        return false;
    };
    // The last argument is the MemberName of the target.
    if linked.parameters.pop() != Some(b'L') {
        return false;
    }
    let rest = linked.parameters.get(usize::from(with_receiver)..);
    let receiver = !with_receiver || linked.parameters.first() == Some(&b'L');
    // The result of a var handle's getAndSet may be dropped.
    receiver
        && rest == Some(&target.parameters[..])
        && (linked.result == target.result || linked.result == b'V')
}

/// The basic types of a descriptor. Each is one of the letters `I`, `J`, `F`, `D`, `L` and `V`.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    parameters: Vec<u8>,
    result: u8,
}

impl Shape {
    fn parse(descriptor: &str) -> Option<Self> {
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

/// Returns the letter of the first type in a descriptor, and the length of that type in bytes.
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
        let shape = |text| Shape::parse(text).map(|shape| (shape.parameters, shape.result));
        assert_eq!(shape("(ZB[[ILjava/lang/String;J)C"), Some((b"IILLJ".to_vec(), b'I')));
        assert_eq!(shape("()V"), Some((Vec::new(), b'V')));
        for damaged in ["", "(", "(I", "(L)V", "(X)V", "([)V", "()", "([", "(V)V", "()IJ"] {
            assert_eq!(shape(damaged), None, "{damaged}");
        }
    }
}
