//! Tests of the resolver on classes that they make.

use std::collections::HashMap;

use vouch_recording::Category;

use super::*;
use crate::jvm::classes::CodeSource;
use crate::method::LineEntry;

const LINES: [LineEntry; 2] = [LineEntry { start: 0, line: 10 }, LineEntry { start: 4, line: 12 }];

/// A class of the fake JVM.
struct FakeClass {
    signature: &'static str,
    /// The ids and names of its methods.
    methods: Vec<(usize, &'static str)>,
    /// Methods of its old versions, which the JVM does not list.
    obsolete: Vec<(usize, &'static str)>,
    is_prepared: bool,
    is_permanent: bool,
    module: Option<&'static str>,
    code_source: Option<(&'static str, &'static str)>,
    /// Shared by all references that keep the class loaded.
    kept: Reference,
    has_ids: bool,
    /// Its weak references have numbers from 7 on, or there is no memory for one.
    weak_references: Option<usize>,
}

impl FakeClass {
    fn new(signature: &'static str, methods: &[(usize, &'static str)]) -> Self {
        Self {
            signature,
            methods: methods.to_vec(),
            obsolete: Vec::new(),
            is_prepared: true,
            is_permanent: false,
            module: None,
            code_source: None,
            kept: signature.into(),
            has_ids: false,
            weak_references: Some(7),
        }
    }

    fn permanent(signature: &'static str, methods: &[(usize, &'static str)]) -> Self {
        Self { is_permanent: true, ..Self::new(signature, methods) }
    }

    /// The number of references that keep the class loaded.
    fn references(&self) -> usize {
        Arc::strong_count(&self.kept) - 1
    }
}

/// A reference to a class, by its signature.
type Reference = Arc<str>;

impl LoadedClass<Reference> for FakeClass {
    fn make_ids(&mut self) -> bool {
        self.has_ids |= self.is_prepared;
        self.is_prepared
    }

    fn signature(&mut self) -> Option<String> {
        Some(self.signature.to_owned())
    }

    fn source_file(&mut self) -> Option<String> {
        Some("Source.java".to_owned())
    }

    fn methods(&mut self) -> Option<Vec<MethodId>> {
        Some(self.methods.iter().map(|(id, _)| MethodId(*id)).collect())
    }

    fn method_name(&mut self, id: MethodId) -> Option<MethodName> {
        let (_, name) = self.methods.iter().chain(&self.obsolete).find(|(known, _)| *known == id.0)?;
        Some(MethodName { name: (*name).to_owned(), descriptor: "()V".to_owned() })
    }

    fn lines(&mut self, _: MethodId) -> Vec<LineEntry> {
        LINES.to_vec()
    }

    fn is_permanent(&mut self) -> bool {
        self.is_permanent
    }

    fn keep(&mut self) -> Option<Reference> {
        Some(Arc::clone(&self.kept))
    }

    fn add_weak(&mut self) -> Option<usize> {
        let number = self.weak_references?;
        self.weak_references = Some(number + 1);
        Some(number)
    }

    fn module(&mut self) -> Option<String> {
        self.module.map(str::to_owned)
    }

    fn code_source(&mut self) -> Option<CodeSource> {
        let (protocol, path) = self.code_source?;
        Some(CodeSource { protocol: protocol.to_owned(), path: path.to_owned() })
    }

    fn is_of_boot_loader(&mut self) -> bool {
        self.is_permanent
    }
}

/// A JVM with some classes. It fails a test that passes it an id of no class.
#[derive(Default)]
struct FakeClasses {
    loaded: HashMap<&'static str, FakeClass>,
    unsafe_ids: Vec<usize>,
}

impl FakeClasses {
    /// Loads a class, which the resolver sees at a time.
    fn prepare(&mut self, resolver: &Resolver<Reference>, mut class: FakeClass, now: u64) -> Option<String> {
        let signature = resolver.on_prepare(&mut class, || now);
        self.loaded.insert(class.signature, class);
        signature
    }

    /// Returns the class and name of the method that an id had at a time.
    fn named(&mut self, resolver: &Resolver<Reference>, id: usize, time: u64) -> Option<String> {
        let resolved = resolver.resolve(self, MethodId(id), time);
        Some(resolver.method(self, resolved)?.full_name())
    }
}

impl Classes for FakeClasses {
    type Kept = Reference;

    fn is_safe(&mut self, id: MethodId) -> bool {
        !self.unsafe_ids.contains(&id.0)
    }

    fn with_kept(&mut self, kept: Reference, ask: impl FnOnce(&mut dyn LoadedClass<Reference>)) {
        ask(self.loaded.get_mut(&*kept).unwrap());
    }

    fn with_declaring(&mut self, id: MethodId, ask: impl FnOnce(&mut dyn LoadedClass<Reference>)) {
        let mut classes = self.loaded.values_mut();
        let declares = |class: &&mut FakeClass| {
            class.methods.iter().chain(&class.obsolete).any(|(known, _)| *known == id.0)
        };
        ask(classes.find(declares).expect("a JVM may crash on this id"));
    }
}

fn resolver() -> Resolver<Reference> {
    Resolver::new(Origins::new("shop.Main", "", true), false)
}

#[test]
fn a_name_outlives_its_class() {
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    let signature = jvm.prepare(&resolver, FakeClass::new("LA;", &[(1, "run"), (2, "stop")]), 100);
    assert_eq!(signature.as_deref(), Some("LA;"));
    assert!(jvm.loaded["LA;"].has_ids);
    assert_eq!(jvm.loaded["LA;"].references(), 1, "until it is named");
    resolver.name_pending(&mut jvm);
    assert_eq!(jvm.loaded["LA;"].references(), 0);
    jvm.loaded.clear();
    assert_eq!(jvm.named(&resolver, 2, 150).as_deref(), Some("A.stop"));
    let method = resolver.method(&mut jvm, ResolvedMethod(2)).unwrap();
    assert_eq!((method.line(5), method.class.handle), (Some(12), Handle::Weak(7)));
    assert_eq!(method.class.source.as_deref(), Some("Source.java"));
    assert!(!resolver.has_seen_obsolete());
}

#[test]
fn a_class_that_is_never_unloaded_is_named_when_a_sample_needs_it() {
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    jvm.prepare(&resolver, FakeClass::permanent("LA;", &[(1, "run")]), 100);
    assert_eq!(jvm.loaded["LA;"].references(), 0);
    assert_eq!(jvm.named(&resolver, 1, 50).as_deref(), Some("A.run"));
    let method = resolver.method(&mut jvm, ResolvedMethod(1)).unwrap();
    assert_eq!(method.class.handle, Handle::Permanent);
}

#[test]
fn the_methods_of_a_class_are_named_one_by_one_and_share_the_class() {
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    jvm.prepare(&resolver, FakeClass::permanent("LA;", &[(1, "run"), (2, "stop"), (3, "wait")]), 100);
    let mut named = |id| resolver.method(&mut jvm, ResolvedMethod(id)).unwrap();
    let [stop, run] = [2, 1].map(&mut named);
    assert_eq!([stop.full_name(), run.full_name()], ["A.stop", "A.run"]);
    assert!(Arc::ptr_eq(&stop.class, &run.class));
    assert!(resolver.find(ResolvedMethod(3)).is_none(), "no sample needs it");
    // The class was redefined, and has another method now.
    jvm.loaded.get_mut("LA;").unwrap().methods.push((4, "added"));
    let added = resolver.method(&mut jvm, ResolvedMethod(4)).unwrap();
    assert!(Arc::ptr_eq(&added.class, &run.class) && !resolver.has_seen_obsolete());
}

#[test]
fn a_removed_method_is_not_named_by_its_former_class() {
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    jvm.prepare(&resolver, FakeClass::permanent("LA;", &[(1, "run"), (2, "removed")]), 100);
    assert_eq!(jvm.named(&resolver, 1, 150).as_deref(), Some("A.run"));
    // A redefinition removes the method, and HotSpot gives its id to a stub of another class.
    jvm.loaded.get_mut("LA;").unwrap().methods.pop();
    let mut stubs = FakeClass::permanent("LStubs;", &[]);
    stubs.obsolete.push((2, "throwError"));
    jvm.prepare(&resolver, stubs, 200);
    assert_eq!(jvm.named(&resolver, 2, 150).as_deref(), Some("Stubs.throwError"));
    assert!(resolver.has_seen_obsolete());
}

#[test]
fn a_permanent_class_may_have_an_id_of_an_unloaded_one() {
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    jvm.prepare(&resolver, FakeClass::new("LOld;", &[(1, "run")]), 100);
    assert_eq!(jvm.named(&resolver, 1, 150).as_deref(), Some("Old.run"));
    jvm.loaded.clear();
    jvm.prepare(&resolver, FakeClass::permanent("LNew;", &[(1, "walk"), (2, "stop")]), 200);
    assert_eq!(jvm.named(&resolver, 2, 250).as_deref(), Some("New.stop"));
    assert_eq!(jvm.named(&resolver, 1, 250).as_deref(), Some("New.walk"));
}

#[test]
fn the_jvm_is_not_asked_about_an_unsafe_id() {
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    jvm.unsafe_ids.push(0xbad);
    assert_eq!(jvm.named(&resolver, 0xbad, 100), None);
    assert_eq!(jvm.named(&resolver, 0, 100), None, "no id");
    assert_eq!(jvm.named(&resolver, usize::MAX, 100), None, "an id that no JVM makes");
}

#[test]
fn a_reused_id_is_resolved_after_the_new_class_is_named() {
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    jvm.prepare(&resolver, FakeClass::new("LOld;", &[(1, "run")]), 100);
    assert_eq!(jvm.named(&resolver, 1, 150).as_deref(), Some("Old.run"));
    jvm.loaded.clear();
    jvm.prepare(&resolver, FakeClass::new("LNew;", &[(1, "run")]), 200);
    let mut resolved = Vec::new();
    let frame = [Frame::Java { method: MethodId(1), bci: 4 }];
    for time in [150, 250] {
        resolver.resolve_frames(&mut jvm, &frame, time, &mut resolved);
    }
    let names = resolved.iter().map(|frame| resolver.method(&mut jvm, frame.method()).unwrap().full_name());
    assert_eq!(names.collect::<Vec<_>>(), ["Old.run", "New.run"]);
    assert!(resolved.iter().all(|frame| frame.bci() == 4));
}

#[test]
fn a_method_of_an_old_version_is_named_alone() {
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    for (signature, old, is_permanent) in [("LA;", 3, false), ("LB;", 5, true)] {
        let methods = [(old + 1, "run")];
        let class = FakeClass { is_permanent, ..FakeClass::new(signature, &methods) };
        jvm.prepare(&resolver, FakeClass { obsolete: vec![(old, "before")], ..class }, 100);
        let expected = format!("{}.before", readable::class_name(signature));
        assert_eq!(jvm.named(&resolver, old, 150), Some(expected));
        assert!(resolver.has_seen_obsolete());
    }
}

#[test]
fn a_class_that_is_not_prepared_is_not_kept() {
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    let class = FakeClass { is_prepared: false, ..FakeClass::new("LA;", &[(1, "run")]) };
    assert_eq!(jvm.prepare(&resolver, class, 100), None);
    assert_eq!(jvm.loaded["LA;"].references(), 0);
}

#[test]
fn with_late_ids_each_class_is_named_when_a_sample_needs_it() {
    let resolver = Resolver::new(Origins::new("shop.Main", "", true), true);
    let mut jvm = FakeClasses::default();
    assert_eq!(jvm.prepare(&resolver, FakeClass::new("LA;", &[(1, "run")]), 100), None);
    assert!(!jvm.loaded["LA;"].has_ids && jvm.loaded["LA;"].references() == 0);
    assert_eq!(jvm.named(&resolver, 1, 150).as_deref(), Some("A.run"));
    assert!(!resolver.has_seen_obsolete());
}

#[test]
fn a_hidden_class_is_found_by_a_weak_reference() {
    const SIGNATURE: &str = "Lcom/Bar$$Lambda.0x0001;";
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    jvm.prepare(&resolver, FakeClass::permanent(SIGNATURE, &[(1, "run")]), 100);
    assert_eq!(jvm.loaded[SIGNATURE].references(), 1, "it may be unloaded before its loader");
    assert_eq!(jvm.named(&resolver, 1, 150).as_deref(), Some("com.Bar$$Lambda.run"));
    let handle = |jvm: &mut _, id| resolver.method(jvm, ResolvedMethod(id)).unwrap().class.handle;
    assert_eq!(handle(&mut jvm, 1), Handle::Weak(7));
    let class = FakeClass { weak_references: None, ..FakeClass::new("LB;", &[(2, "run")]) };
    jvm.prepare(&resolver, class, 100);
    resolver.name_pending(&mut jvm);
    assert_eq!(handle(&mut jvm, 2), Handle::None);
}

#[test]
fn the_jar_of_the_main_class_becomes_the_application() {
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    let in_jar = |signature, id, jar| FakeClass {
        code_source: Some(("file", jar)),
        ..FakeClass::permanent(signature, &[(id, "run")])
    };
    jvm.prepare(&resolver, FakeClass { methods: Vec::new(), ..in_jar("Lshop/Main;", 0, "/opt/shop.jar") }, 0);
    assert_eq!(jvm.loaded["Lshop/Main;"].references(), 1, "though it is never unloaded");
    jvm.prepare(&resolver, in_jar("Lshop/Cart;", 1, "/opt/shop.jar"), 0);
    jvm.prepare(&resolver, in_jar("Ljson/Parser;", 2, "/opt/json.jar"), 0);
    jvm.prepare(&resolver, in_jar("Lown/Tool;", 3, "/srv/classes/"), 0);
    let boot = FakeClass { module: Some("java.base"), ..FakeClass::permanent("LObject;", &[(4, "run")]) };
    jvm.prepare(&resolver, boot, 0);
    let expected = [
        (1, Category::Application, "shop.jar"),
        (2, Category::Library, "json.jar"),
        (3, Category::Application, "classes"),
        (4, Category::Jdk, "java.base"),
    ];
    for (id, category, resource) in expected {
        let resolved = resolver.resolve(&mut jvm, MethodId(id), 100);
        let origin = resolver.method(&mut jvm, resolved).unwrap().class.origin.clone();
        assert_eq!((origin.category, origin.resource.as_deref()), (category, Some(resource)));
    }
}

#[test]
fn a_jdk_without_modules_has_its_classes_in_rt_jar() {
    let origins = Origins::new("shop.Main", "", false);
    let mut boot = FakeClass { module: Some("unasked"), ..FakeClass::permanent("LObject;", &[]) };
    let origin = origins.find(&mut boot, "LObject;");
    assert_eq!((origin.category, origin.resource.as_deref()), (Category::Jdk, Some("rt.jar")));
    let mut other = FakeClass::new("LA;", &[]);
    let origin = origins.find(&mut other, "LA;");
    assert_eq!((origin.category, origin.resource), (Category::Application, None));
    let mut tools =
        FakeClass { code_source: Some(("file", "/jdk8/lib/tools.jar")), ..FakeClass::new("LJavac;", &[]) };
    assert_eq!(origins.find(&mut tools, "LJavac;").category, Category::Jdk);
}

#[test]
fn a_class_declares_what_the_table_or_the_jvm_names() {
    let (resolver, mut jvm) = (resolver(), FakeClasses::default());
    jvm.prepare(&resolver, FakeClass::new("LA;", &[(1, "run")]), 100);
    let run = resolver.resolve(&mut jvm, MethodId(1), 150);
    let run = resolver.method(&mut jvm, run).unwrap();
    assert!(resolver.declares(jvm.loaded.get_mut("LA;").unwrap(), &run));
    assert!(resolver.declares(&mut FakeClass::new("LB;", &[(2, "stop"), (3, "run")]), &run));
    assert!(!resolver.declares(&mut FakeClass::new("LC;", &[(4, "stop")]), &run));
    // The table has another method with this id than the class says.
    assert!(resolver.declares(&mut FakeClass::new("LA;", &[(1, "stop")]), &run));
}
