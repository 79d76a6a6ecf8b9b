//! Tests with classes in folders, in nested archives and in a JDK's image. Some of them are
//! damaged.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use vouch_verify::proof::{Body, Reference};

use crate::image::Image;
use crate::testing::{CALL_LENGTH, INVOKESTATIC, LAMBDA, Written, WrittenMethod};
use crate::{ClassFile, Library};

const SHOP: Written<'_> = Written {
    name: "shop/Cart",
    superclass: "shop/Thing",
    methods: &[
        WrittenMethod {
            name: "sum",
            descriptor: "(I)J",
            is_static: true,
            line: 7,
            calls: &[
                (INVOKESTATIC, ["shop/Item", "price", "()J"]),
                (LAMBDA, ["shop/Cart", "run", "lambda$sum$0"]),
            ],
        },
        WrittenMethod { name: "clear", descriptor: "()V", is_static: false, line: 30, calls: &[] },
    ],
};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("vouch-classes-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, path: &str, content: &[u8]) -> PathBuf {
        let file = self.0.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
        file
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn library_of(paths: &[&Path]) -> Library {
    let mut library = Library::default();
    for path in paths {
        library.add_tree(path);
    }
    library
}

fn copies_in(paths: &[&Path], class: &str) -> Vec<String> {
    let library = library_of(paths);
    library
        .copies(class, true)
        .into_iter()
        .map(|copy| format!("{}: {}", copy.location, copy.file.is_ok()))
        .collect()
}

#[test]
fn a_class_file_is_read_completely() {
    let class = ClassFile::read(&SHOP.bytes()).unwrap();
    assert_eq!((&*class.class.name, class.superclass.as_deref()), ("shop/Cart", Some("shop/Thing")));
    assert!(!class.is_interface);
    assert_eq!(class.source.as_deref(), Some("Written.java"));
    let sum = class.method("sum", "(I)J").unwrap();
    assert!(sum.is_static && matches!(sum.body, Body::Code(_)));
    assert_eq!(
        [0, 1, CALL_LENGTH, CALL_LENGTH + 3].map(|bci| sum.line(bci)),
        [Some(7), Some(7), Some(8), Some(8)]
    );
    assert!(sum.is_on(CALL_LENGTH, 8) && !sum.is_on(CALL_LENGTH, 7) && sum.has_lines());
    assert_eq!(class.method("sum", "()J").map(|_| ()), None);
    let clear = class.method("clear", "()V").unwrap();
    assert!(!clear.is_static && !clear.has_lines());
    let [lambda] = &class.lambdas[..] else { panic!("one lambda: {:?}", class.lambdas) };
    assert_eq!((&*lambda.caller, lambda.kind), ("run", Reference::Static));
    assert_eq!((lambda.member().class, lambda.member().name), ("shop/Cart", "lambda$sum$0"));
}

#[test]
fn class_path_of_a_manifest_is_followed() {
    let scratch = Scratch::new("manifest");
    let bytes = SHOP.bytes();
    let folder = scratch.file("boot/classes/shop/Cart.class", &bytes);
    let manifest = b"Class-Path: classes/ lib/shop.jar boot.jar none.jar\n";
    let boot =
        scratch.file("boot/boot.jar", &crate::archive::from_bytes(&[("META-INF/MANIFEST.MF", manifest)]));
    // The second archive's manifest names the first archive again.
    let shop: [(&str, &[u8]); 2] =
        [("META-INF/MANIFEST.MF", b"Class-Path: ../boot.jar\n"), ("shop/Cart.class", &bytes)];
    let shop = scratch.file("boot/lib/shop.jar", &crate::archive::from_bytes(&shop));
    let mut library = Library::default();
    library.add_class_path_entry(&boot);
    let found: Vec<String> =
        library.copies("shop/Cart", true).into_iter().map(|copy| copy.location).collect();
    let classes = folder.ancestors().nth(2).unwrap().display().to_string();
    let expected = [classes, shop.display().to_string()];
    assert!(
        expected.iter().all(|location| found.iter().any(|found| found.trim_end_matches('/') == location)),
        "{found:?}"
    );
    assert_eq!(found.len(), 2);
    assert_eq!(library.unreadable().count(), 0, "what is not there the JVM passes over, too");
}

#[test]
fn classes_are_found_in_folders_archives_and_nested_archives() {
    let scratch = Scratch::new("found");
    let bytes = SHOP.bytes();
    let folder = scratch.file("out/main/shop/Cart.class", &bytes);
    let jar = scratch.file("lib/shop.jar", &crate::archive::from_bytes(&[("shop/Cart.class", &bytes)]));
    let inner = crate::archive::from_bytes(&[("META-INF/versions/11/shop/Cart.class", &bytes)]);
    let war = crate::archive::from_bytes(&[
        ("WEB-INF/classes/shop/Cart.class", &bytes),
        ("WEB-INF/lib/in.jar", &inner),
    ]);
    let war = scratch.file("shop.war", &war);
    let out = scratch.0.join("out");
    assert_eq!(copies_in(&[&out], "shop/Cart"), [format!("{}: true", folder.display())]);
    assert_eq!(copies_in(&[&jar], "shop/Cart"), [format!("{}: true", jar.display())]);
    let both = copies_in(&[&war], "shop/Cart");
    assert_eq!(
        both,
        [format!("{0}!/WEB-INF/lib/in.jar: true", war.display()), format!("{}: true", war.display())]
    );
    assert_eq!(copies_in(&[&scratch.0], "shop/Cart").len(), 4, "all of them below one folder");
    assert_eq!(copies_in(&[&scratch.0], "shop/Other"), [""; 0]);
    // The contents of a file outside of its package decide. A file with another class is left out.
    let alone = scratch.file("alone/Cart.class", &bytes);
    assert_eq!(copies_in(&[&alone], "shop/Cart"), [format!("{}: true", alone.display())]);
    assert_eq!(copies_in(&[&alone], "other/Cart"), [""; 0]);
}

#[test]
fn a_class_path_folder_has_only_classes_in_package_folders() {
    let scratch = Scratch::new("entry");
    scratch.file("shop/Cart.class", &SHOP.bytes());
    scratch.file("deeper/down/shop/Item.class", &SHOP.bytes());
    let mut library = Library::default();
    library.add_class_path_entry(&scratch.0);
    let [copy] = &library.copies("shop/Cart", true)[..] else { panic!("one Cart") };
    assert!(copy.file.is_ok() && !copy.of_jdk);
    assert_eq!(library.copies("shop/Item", true).len(), 0);
}

#[test]
fn an_unreadable_file_is_reported_and_others_are_still_found() {
    let scratch = Scratch::new("damaged");
    let bytes = SHOP.bytes();
    scratch.file("a/shop/Cart.class", &bytes[..bytes.len() / 2]);
    scratch.file("b/shop/Cart.class", &bytes);
    scratch.file("c/torn.jar", b"PK\x03\x04 and no more");
    let library = library_of(&[&scratch.0]);
    let read: Vec<bool> = library.copies("shop/Cart", true).iter().map(|copy| copy.file.is_ok()).collect();
    assert_eq!(read, [false, true], "a torn one is told, and the other one is there");
    let unreadable: Vec<&str> = library.unreadable().collect();
    assert!(unreadable.len() == 1 && unreadable[0].contains("torn.jar"), "{unreadable:?}");
    let missing = Library::default().set_jdk(&scratch.0).unwrap_err().to_string();
    assert!(missing.contains("is not a JDK"), "{missing}");
}

/// `VOUCH_JDKS` has the homes of JDKs, separated by colons. `scripts/test abi` sets it to all of
/// them.
#[test]
fn every_jdk_has_its_own_classes() {
    let homes = std::env::var("VOUCH_JDKS").unwrap_or_default();
    for home in homes.split(':').filter(|home| !home.is_empty()) {
        let mut library = Library::default();
        library.set_jdk(Path::new(home)).unwrap();
        let copies = library.copies("java/lang/String", true);
        let [copy] = &copies[..] else {
            panic!(
                "{home}: one String, and not {:?}",
                copies.iter().map(|copy| &copy.location).collect::<Vec<_>>()
            )
        };
        let string = copy.file.as_ref().unwrap();
        assert!(string.method("length", "()I").is_some_and(crate::DeclaredMethod::has_lines), "{home}");
        assert_eq!(string.superclass.as_deref(), Some("java/lang/Object"), "{home}");
    }
}

proptest! {
    #[test]
    fn reading_any_bytes_does_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = ClassFile::read(&bytes);
    }

    #[test]
    fn a_damaged_class_is_read_as_far_as_it_goes(at in 0..2_000_usize, with in any::<u8>(), cut in 0..2_000_usize) {
        let mut bytes = SHOP.bytes();
        let length = bytes.len();
        bytes[at % length] = with;
        bytes.truncate(cut.max(1));
        if let Ok(class) = ClassFile::read(&bytes) {
            for bci in [0, CALL_LENGTH, u16::MAX] {
                let _ = class.method("sum", "(I)J").map(|method| (method.line(bci), method.is_on(bci, 8)));
            }
        }
    }

    #[test]
    fn a_damaged_image_is_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..600), little in any::<bool>()) {
        let scratch = Scratch::new("image");
        let magic = 0xCAFE_DADA_u32;
        let magic = if little { magic.to_le_bytes() } else { magic.to_be_bytes() };
        let path = scratch.file("modules", &[&magic[..], &bytes].concat());
        if let Ok(image) = Image::open(&path) {
            let _ = image.read("java/lang/String", 1 << 20);
        }
    }
}
