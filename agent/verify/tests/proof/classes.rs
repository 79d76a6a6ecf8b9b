//! Compares Vouch's reader of class files with the reader `noak`, on classes of real programs:
//! every instruction must begin at the same bci, and every invoke must name the same member.
//!
//! The environment variable `VOUCH_CLASSES` has folders of classes, separated by colons.
//! `scripts/test abi` sets it.

use std::fs;
use std::path::{Path, PathBuf};

use noak::reader::attributes::RawInstruction;
use noak::reader::cpool::Item;
use noak::reader::{AttributeContent, Class};
use vouch_verify::proof::{Code, Constant, Member, Pool};

#[test]
fn classes_are_read_as_another_reader_does() {
    let folders = std::env::var("VOUCH_CLASSES").unwrap_or_default();
    let mut files = Vec::new();
    for folder in folders.split(':').filter(|folder| !folder.is_empty()) {
        collect(Path::new(folder), &mut files);
    }
    assert!(folders.is_empty() || !files.is_empty(), "no class lies in {folders}");
    let mut seen = Seen::default();
    for file in &files {
        compare(file, &mut seen);
    }
    println!("{} classes agree: {} instructions, {} invokes", files.len(), seen.instructions, seen.invokes);
}

#[derive(Default)]
struct Seen {
    instructions: usize,
    invokes: usize,
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "class") {
            files.push(path);
        }
    }
}

fn compare(file: &Path, seen: &mut Seen) {
    let bytes = fs::read(file).unwrap();
    let class = Class::new(&bytes).unwrap();
    // The pool comes after magic and version. It begins with its count.
    let count = u16::from_be_bytes([bytes[8], bytes[9]]);
    let ours = Pool::new(bytes[10..].to_vec(), count);
    let theirs = class.pool();
    let member = |number: u16| -> Option<(String, String, String)> {
        let index = noak::reader::cpool::Index::<Item<'_>>::new(number).ok()?;
        let (class, named) = match theirs.get(index).ok()? {
            Item::MethodRef(member) => (member.class, member.name_and_type),
            Item::InterfaceMethodRef(member) => (member.class, member.name_and_type),
            _ => return None,
        };
        let (class, named) = (theirs.retrieve(class).ok()?, theirs.retrieve(named).ok()?);
        let text = |text: &noak::MStr| text.to_str().map(str::to_owned);
        Some((text(class.name)?, text(named.name)?, text(named.descriptor)?))
    };
    for method in class.methods() {
        for attribute in method.unwrap().attributes() {
            let attribute = attribute.unwrap();
            let Ok(AttributeContent::Code(code)) = attribute.read_content(theirs) else { continue };
            // The code comes after the sizes of stack and locals, and its length.
            let raw = attribute.content();
            let length = u32::from_be_bytes(raw[4..8].try_into().unwrap()) as usize;
            let mine = Code::new(raw[8..8 + length].to_vec());
            let mut instructions = mine.instructions();
            for each in code.raw_instructions() {
                let (index, instruction) = each.unwrap();
                let own = instructions.next().expect("as many instructions");
                assert_eq!(own.bci, index.as_u32() as usize, "{}", file.display());
                seen.instructions += 1;
                if matches!(
                    instruction,
                    RawInstruction::InvokeVirtual { .. }
                        | RawInstruction::InvokeSpecial { .. }
                        | RawInstruction::InvokeStatic { .. }
                        | RawInstruction::InvokeInterface { .. }
                ) {
                    let number = own.constant().expect("an invoke names a constant");
                    let (class, name, descriptor) = member(number).expect("a member");
                    let named = Member { class: &class, name: &name, descriptor: &descriptor };
                    assert_eq!(ours.get(number), Some(Constant::Member(named)), "{}", file.display());
                    seen.invokes += 1;
                }
            }
            assert!(instructions.next().is_none(), "no more instructions: {}", file.display());
        }
    }
}
