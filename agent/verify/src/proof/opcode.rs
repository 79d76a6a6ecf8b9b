//! The instructions of the Java virtual machine: their names, and how many bytes each takes.
//!
//! Every function here must be total: it has an answer for any bytes, and never reads past the
//! code.

/// The constants up to [`MULTIANEWARRAY`] are the opcodes that proof uses by name.
pub const LDC: u8 = 18;
pub const LDC_W: u8 = 19;
pub const LDC2_W: u8 = 20;
pub const IALOAD: u8 = 46;
pub const SALOAD: u8 = 53;
pub const IASTORE: u8 = 79;
pub const SASTORE: u8 = 86;
pub const IDIV: u8 = 108;
pub const LDIV: u8 = 109;
pub const IREM: u8 = 112;
pub const LREM: u8 = 113;
pub const IRETURN: u8 = 172;
pub const RETURN: u8 = 177;
pub const GETSTATIC: u8 = 178;
pub const PUTSTATIC: u8 = 179;
pub const INVOKEVIRTUAL: u8 = 182;
pub const INVOKESPECIAL: u8 = 183;
pub const INVOKESTATIC: u8 = 184;
pub const INVOKEINTERFACE: u8 = 185;
pub const INVOKEDYNAMIC: u8 = 186;
pub const NEW: u8 = 187;
pub const NEWARRAY: u8 = 188;
pub const ANEWARRAY: u8 = 189;
pub const CHECKCAST: u8 = 192;
pub const INSTANCEOF: u8 = 193;
pub const MONITOREXIT: u8 = 195;
pub const MULTIANEWARRAY: u8 = 197;

const IINC: u8 = 132;
const WIDE: u8 = 196;

/// The kind of operands that follow an opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operands {
    /// The opcode has no operands.
    None,
    /// The operand is a value or a local variable, in one byte.
    Byte,
    /// The operand is a value, in two bytes.
    Short,
    /// The operand is a constant pool index of one byte.
    SmallConstant,
    /// The operands are a constant pool index of two bytes, and then this number of other bytes.
    Constant(usize),
    /// The operand is a jump distance of two bytes.
    Jump,
    /// The operand is a jump distance of four bytes.
    FarJump,
    /// The operands are a local variable and a step, one byte each.
    Step,
    /// The operands are the padding, range and jumps of a `tableswitch`.
    TableSwitch,
    /// The operands are the padding and pairs of a `lookupswitch`.
    LookupSwitch,
    /// The operand is the instruction that a `wide` modifies.
    Wide,
}

/// Returns the kind of operands of an opcode, or `None` for an opcode that no class file may
/// contain.
pub const fn operands(opcode: u8) -> Option<Operands> {
    Some(match opcode {
        16 | 21..=25 | 54..=58 | 169 | NEWARRAY => Operands::Byte,
        17 => Operands::Short,
        LDC => Operands::SmallConstant,
        LDC_W | LDC2_W | GETSTATIC..=INVOKESTATIC | NEW | ANEWARRAY | CHECKCAST | INSTANCEOF => {
            Operands::Constant(0)
        }
        INVOKEINTERFACE | INVOKEDYNAMIC => Operands::Constant(2),
        MULTIANEWARRAY => Operands::Constant(1),
        IINC => Operands::Step,
        153..=168 | 198 | 199 => Operands::Jump,
        200 | 201 => Operands::FarJump,
        170 => Operands::TableSwitch,
        171 => Operands::LookupSwitch,
        WIDE => Operands::Wide,
        0..=201 => Operands::None,
        _ => return None,
    })
}

/// The length in bytes of each instruction, by its opcode. It is 0 if the length varies.
const FIXED_LENGTHS: [u8; 256] = {
    let mut fixed = [0; 256];
    let mut opcode = 0_u8;
    while opcode < u8::MAX {
        fixed[opcode as usize] = match operands(opcode) {
            Some(Operands::None) => 1,
            Some(Operands::Byte | Operands::SmallConstant) => 2,
            Some(Operands::Short | Operands::Jump | Operands::Step | Operands::Constant(0)) => 3,
            Some(Operands::Constant(1)) => 4,
            Some(Operands::FarJump | Operands::Constant(_)) => 5,
            Some(Operands::TableSwitch | Operands::LookupSwitch | Operands::Wide) | None => 0,
        };
        opcode += 1;
    }
    fixed
};

/// Returns the length in bytes of the instruction at `bci`. It is `None` if the opcode is unknown,
/// or if the code ends within the instruction.
pub fn length(code: &[u8], bci: usize) -> Option<usize> {
    // Code is read from its beginning for each bci. Nearly all instructions have a fixed length.
    let fixed = usize::from(FIXED_LENGTHS[usize::from(*code.get(bci)?)]);
    let length = if fixed > 0 { fixed } else { varying(code, bci)? };
    (code.len() - bci >= length).then_some(length)
}

/// Returns the length in bytes of a `wide`, a `tableswitch` or a `lookupswitch`.
fn varying(code: &[u8], bci: usize) -> Option<usize> {
    let int = |at: usize| {
        let bytes = code.get(at..at.checked_add(4)?)?;
        Some(i64::from(i32::from_be_bytes(bytes.try_into().ok()?)))
    };
    let table = (bci / 4 + 1) * 4;
    match operands(*code.get(bci)?)? {
        Operands::Wide => Some(if *code.get(bci + 1)? == IINC { 6 } else { 4 }),
        Operands::TableSwitch => {
            let (low, high) = (int(table + 4)?, int(table + 8)?);
            let jumps = usize::try_from(high - low + 1).ok()?;
            (table + 12 - bci).checked_add(jumps.checked_mul(4)?)
        }
        Operands::LookupSwitch => {
            let pairs = usize::try_from(int(table + 4)?).ok()?;
            (table + 8 - bci).checked_add(pairs.checked_mul(8)?)
        }
        _ => None,
    }
}

/// Returns the name of an opcode, as in the JVM specification.
pub fn name(opcode: u8) -> &'static str {
    NAMES.get(usize::from(opcode)).copied().unwrap_or("(no instruction)")
}

const NAMES: [&str; 202] = [
    "nop",
    "aconst_null",
    "iconst_m1",
    "iconst_0",
    "iconst_1",
    "iconst_2",
    "iconst_3",
    "iconst_4",
    "iconst_5",
    "lconst_0",
    "lconst_1",
    "fconst_0",
    "fconst_1",
    "fconst_2",
    "dconst_0",
    "dconst_1",
    "bipush",
    "sipush",
    "ldc",
    "ldc_w",
    "ldc2_w",
    "iload",
    "lload",
    "fload",
    "dload",
    "aload",
    "iload_0",
    "iload_1",
    "iload_2",
    "iload_3",
    "lload_0",
    "lload_1",
    "lload_2",
    "lload_3",
    "fload_0",
    "fload_1",
    "fload_2",
    "fload_3",
    "dload_0",
    "dload_1",
    "dload_2",
    "dload_3",
    "aload_0",
    "aload_1",
    "aload_2",
    "aload_3",
    "iaload",
    "laload",
    "faload",
    "daload",
    "aaload",
    "baload",
    "caload",
    "saload",
    "istore",
    "lstore",
    "fstore",
    "dstore",
    "astore",
    "istore_0",
    "istore_1",
    "istore_2",
    "istore_3",
    "lstore_0",
    "lstore_1",
    "lstore_2",
    "lstore_3",
    "fstore_0",
    "fstore_1",
    "fstore_2",
    "fstore_3",
    "dstore_0",
    "dstore_1",
    "dstore_2",
    "dstore_3",
    "astore_0",
    "astore_1",
    "astore_2",
    "astore_3",
    "iastore",
    "lastore",
    "fastore",
    "dastore",
    "aastore",
    "bastore",
    "castore",
    "sastore",
    "pop",
    "pop2",
    "dup",
    "dup_x1",
    "dup_x2",
    "dup2",
    "dup2_x1",
    "dup2_x2",
    "swap",
    "iadd",
    "ladd",
    "fadd",
    "dadd",
    "isub",
    "lsub",
    "fsub",
    "dsub",
    "imul",
    "lmul",
    "fmul",
    "dmul",
    "idiv",
    "ldiv",
    "fdiv",
    "ddiv",
    "irem",
    "lrem",
    "frem",
    "drem",
    "ineg",
    "lneg",
    "fneg",
    "dneg",
    "ishl",
    "lshl",
    "ishr",
    "lshr",
    "iushr",
    "lushr",
    "iand",
    "land",
    "ior",
    "lor",
    "ixor",
    "lxor",
    "iinc",
    "i2l",
    "i2f",
    "i2d",
    "l2i",
    "l2f",
    "l2d",
    "f2i",
    "f2l",
    "f2d",
    "d2i",
    "d2l",
    "d2f",
    "i2b",
    "i2c",
    "i2s",
    "lcmp",
    "fcmpl",
    "fcmpg",
    "dcmpl",
    "dcmpg",
    "ifeq",
    "ifne",
    "iflt",
    "ifge",
    "ifgt",
    "ifle",
    "if_icmpeq",
    "if_icmpne",
    "if_icmplt",
    "if_icmpge",
    "if_icmpgt",
    "if_icmple",
    "if_acmpeq",
    "if_acmpne",
    "goto",
    "jsr",
    "ret",
    "tableswitch",
    "lookupswitch",
    "ireturn",
    "lreturn",
    "freturn",
    "dreturn",
    "areturn",
    "return",
    "getstatic",
    "putstatic",
    "getfield",
    "putfield",
    "invokevirtual",
    "invokespecial",
    "invokestatic",
    "invokeinterface",
    "invokedynamic",
    "new",
    "newarray",
    "anewarray",
    "arraylength",
    "athrow",
    "checkcast",
    "instanceof",
    "monitorenter",
    "monitorexit",
    "wide",
    "multianewarray",
    "ifnull",
    "ifnonnull",
    "goto_w",
    "jsr_w",
];

/// True if the instruction with this opcode calls a method.
pub fn is_invoke(opcode: u8) -> bool {
    (INVOKEVIRTUAL..=INVOKEDYNAMIC).contains(&opcode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_opcode_has_its_name() {
        for (opcode, expected) in [
            (0, "nop"),
            (LDC, "ldc"),
            (IINC, "iinc"),
            (170, "tableswitch"),
            (RETURN, "return"),
            (INVOKEVIRTUAL, "invokevirtual"),
            (INVOKEDYNAMIC, "invokedynamic"),
            (MULTIANEWARRAY, "multianewarray"),
            (201, "jsr_w"),
        ] {
            assert_eq!(name(opcode), expected);
        }
        assert_eq!((operands(202), name(255)), (None, "(no instruction)"));
    }

    #[test]
    fn a_switch_is_as_long_as_its_table() {
        // At bci 1: two bytes of padding, default, low 3, high 4, two jumps.
        let mut code = vec![0, 170, 0, 0];
        for word in [9, 3, 4, 8, 8_i32] {
            code.extend(word.to_be_bytes());
        }
        assert_eq!(length(&code, 1), Some(23));
        assert_eq!(length(&code[..20], 1), None, "the table is cut off");
        let mut code = vec![171, 0, 0, 0];
        for word in [9, 1, 5, 8_i32] {
            code.extend(word.to_be_bytes());
        }
        assert_eq!(length(&code, 0), Some(20));
        // This count is larger than any code.
        code[8..12].copy_from_slice(&i32::MAX.to_be_bytes());
        assert_eq!(length(&code, 0), None);
        code[8..12].copy_from_slice(&i32::MIN.to_be_bytes());
        assert_eq!(length(&code, 0), None);
        assert_eq!(length(&[WIDE, IINC, 0, 1, 0, 1], 0), Some(6));
        assert_eq!(length(&[WIDE], 0), None);
    }
}
