//! Tests of refuted calls that differ in one detail from an allowed call.

use vouch_sample::{ENTRY, NATIVE, ResolvedFrame, ResolvedMethod};

use crate::proof::method::{KnownFrame, Relation};
use crate::proof::opcode as op;
use crate::proof::testing::{
    PoolBuilder, caller, calls, method, naming, native, plain, refutes, static_method,
};
use crate::proof::{
    Corruption, Explanation, Method, Pool, Refutation, Thread, Verdict, edge, leaf, listing, power, root,
};

const HANDLE: &str = "java/lang/invoke/MethodHandle";
const ALL: [Thread; 3] = [Thread::Started, Thread::Main, Thread::Attached];
const MAIN: &str = "([Ljava/lang/String;)V";
const WRONG: Verdict = Verdict::Refuted(Refutation::WrongRoot);
const JNI: Verdict = Verdict::Explained(Explanation::JniEntry);
const NOT_AN_INVOKE: Verdict = Verdict::Refuted(Refutation::NotAnInvoke);
const IADD: u8 = 96;

fn judge(caller: &Method, callee: &Method, relation: Relation) -> Verdict {
    edge(caller, 0, callee, |_| relation)
}

fn unrelated(caller: &Method, callee: &Method) -> Verdict {
    judge(caller, callee, Relation::Unrelated)
}

#[test]
fn only_an_invoke_calls() {
    let callee = method("A", "m", "()V");
    assert_eq!(edge(&plain(IADD), 1, &callee, |_| Relation::Unknown), NOT_AN_INVOKE);
    let reads = naming(op::GETSTATIC, |pool| pool.field("A", "m", "()V"));
    assert_eq!(judge(&reads, &callee, Relation::Unknown), NOT_AN_INVOKE);
}

#[test]
fn a_bci_must_be_where_an_instruction_begins() {
    let caller = calls(op::INVOKESTATIC, "A", "m", "()V");
    let native = native("A", "n", "()V");
    for (method, bci, expected) in [
        (&caller, 1, Refutation::BciInsideInstruction),
        (&caller, 5, Refutation::BciPastEnd),
        (&caller, i32::MAX, Refutation::BciPastEnd),
        (&caller, -2, Refutation::Nativeness),
        (&caller, NATIVE, Refutation::Nativeness),
        (&caller, i32::MIN, Refutation::Nativeness),
        (&native, 0, Refutation::Nativeness),
        (&native, ENTRY, Refutation::Nativeness),
    ] {
        let expected = Verdict::Refuted(expected);
        assert_eq!(leaf(method, bci), expected, "{method} at {bci}");
        let callee = static_method("A", "m", "()V");
        assert_eq!(edge(method, bci, &callee, |_| Relation::Unknown), expected, "{method} at {bci}");
    }
    assert_eq!(leaf(&caller, 0), Verdict::Proven);
    assert_eq!(leaf(&native, NATIVE), Verdict::Proven);
}

#[test]
fn a_static_method_that_another_one_hides_is_not_inherited() {
    let caller = calls(op::INVOKESTATIC, "A", "m", "()V");
    assert!(judge(&caller, &static_method("B", "m", "()V"), Relation::Shadowed).is_refuted());
}

#[test]
fn a_method_that_resembles_a_class_initialiser_or_lookup_is_refuted() {
    let new = naming(op::NEW, |pool| pool.class("A"));
    assert!(unrelated(&new, &static_method("A", "<clinit>", "(I)V")).is_refuted());
    let caller = calls(op::INVOKESTATIC, "A", "m", "()V");
    assert!(unrelated(&caller, &static_method("my/Loader", "findNative", "()J")).is_refuted());
}

#[test]
fn a_finaliser_is_registered_at_the_end_of_objects_constructor_only() {
    let register = static_method("java/lang/ref/Finalizer", "register", "(Ljava/lang/Object;)V");
    let object = method("java/lang/Object", "<init>", "()V");
    let of = |opcode| Method { body: plain(opcode).body, ..object.clone() };
    let at = |caller: &Method| edge(caller, 1, &register, |_| Relation::Unknown);
    assert_eq!(at(&of(op::RETURN)), Verdict::Explained(Explanation::Finaliser));
    assert!(at(&of(IADD)).is_refuted());
    assert!(at(&Method { name: "wait0".into(), ..of(op::RETURN) }).is_refuted());
}

#[test]
fn a_handles_code_ends_in_a_target_of_its_shape() {
    const NAME: &str = "Ljava/lang/invoke/MemberName;";
    let link = |name, descriptor: &str| calls(op::INVOKESTATIC, HANDLE, name, &descriptor.replace('M', NAME));
    let of_static = |descriptor| static_method("A", "m", descriptor);
    let of_instance = |descriptor| method("A", "m", descriptor);
    for (caller, callee) in [
        (link("linkToStatic", "(IJM)I"), of_static("(ZJ)C")),
        (link("linkToStatic", "(Ljava/lang/Object;M)V"), of_static("([I)Ljava/lang/String;")),
        (link("linkToVirtual", "(Ljava/lang/Object;DM)F"), of_instance("(D)F")),
        (link("linkToSpecial", "(Ljava/lang/Object;M)V"), of_instance("()V")),
        (link("linkToInterface", "(Ljava/lang/Object;Ljava/lang/Object;M)V"), of_instance("(LB;)V")),
        (link("linkToNative", "(IM)V"), native("A", "m", "(D)V")),
    ] {
        assert_eq!(unrelated(&caller, &callee), Verdict::Explained(Explanation::HandleTarget), "{callee}");
    }
    for (caller, callee) in [
        (link("linkToStatic", "(IJM)I"), of_static("(ZI)C")),
        (link("linkToStatic", "(IJM)I"), of_static("(ZJ)J")),
        (link("linkToStatic", "(IJM)I"), of_static("(Z)C")),
        (link("linkToStatic", "(IJM)I"), of_instance("(J)I")),
        (link("linkToStatic", "(IJ)I"), of_static("(I)I")),
        (link("linkToStatic", "()V"), of_static("()V")),
        (link("linkToVirtual", "(Ljava/lang/Object;DM)F"), of_static("(D)F")),
        (link("linkToVirtual", "(IDM)F"), of_instance("(D)F")),
        (link("linkToVirtual", "(M)F"), of_instance("()F")),
        (link("linkToNative", "(IM)V"), of_static("(I)V")),
        (link("linkToNowhere", "(IM)V"), of_static("(I)V")),
        (calls(op::INVOKESTATIC, "A", "linkToStatic", "(ILA;)V"), of_static("(I)V")),
        (calls(op::INVOKEVIRTUAL, HANDLE, "linkToStatic", "(ILA;)V"), of_static("(I)V")),
    ] {
        assert!(unrelated(&caller, &callee).is_refuted(), "{callee}");
    }
}

/// Returns the verdicts on a root method for a started thread, the launcher's thread and an
/// attached thread.
fn of_each(method: &Method, is_thread: bool) -> [Verdict; 3] {
    ALL.map(|thread| root(method, thread, || is_thread))
}

#[test]
fn only_a_thread_that_java_did_not_start_begins_in_main() {
    let expected = [WRONG, Verdict::Proven, Verdict::Proven];
    assert_eq!(of_each(&static_method("my/App", "main", MAIN), false), expected);
    assert_eq!(of_each(&method("my/App", "main", "()V"), false), expected);
    assert_eq!(of_each(&static_method("my/App", "main", "(I)V"), false), [WRONG, WRONG, JNI]);
    assert_eq!(of_each(&static_method("my/App", "go", MAIN), false), [WRONG, WRONG, JNI]);
}

#[test]
fn the_launcher_calls_a_few_more_on_its_own_thread() {
    for callee in [
        static_method("sun/launcher/LauncherHelper", "checkAndLoadMain", "()V"),
        static_method("my/App", "<clinit>", "()V"),
        method("java/lang/ClassLoader", "loadClass", "()V"),
    ] {
        assert_eq!(of_each(&callee, false), [WRONG, JNI, JNI], "{callee}");
    }
    assert_eq!(of_each(&method("my/Loader", "loadClass", "()V"), false), [WRONG, WRONG, JNI]);
}

#[test]
fn a_frame_without_a_method_is_noticed_wherever_it_is() {
    let main =
        Method { name: "main".into(), is_static: true, ..calls(op::INVOKESTATIC, "Caller", "main", "()V") };
    let frame = |method| KnownFrame { frame: ResolvedFrame::new(ResolvedMethod::NONE, 0), method };
    let dropped = |stack: Vec<KnownFrame<'_>>| dropped_in(|_| stack.clone());
    assert_eq!(dropped(vec![frame(None); 3]), (50, 50), "as a root");
    let (tried, noticed) = dropped(vec![frame(None), frame(Some(&main)), frame(Some(&main))]);
    assert!(noticed > 0 && noticed < tried, "as a leaf, where its caller is another: {noticed} of {tried}");
    assert_eq!(dropped(vec![frame(Some(&main)); 3]), (50, 0));
}

#[test]
fn a_run_may_be_a_root_of_a_stack_that_is_corrupted() {
    let run = Method { name: "run".into(), ..calls(op::INVOKEVIRTUAL, "Caller", "run", "()V") };
    let stack =
        |_| vec![KnownFrame { frame: ResolvedFrame::new(ResolvedMethod::NONE, 0), method: Some(&run) }; 4];
    assert_eq!(dropped_in(stack), (50, 0));
}

fn dropped_in<'m>(stack: impl FnMut(usize) -> Vec<KnownFrame<'m>>) -> (u64, u64) {
    let noticed = power(Corruption::DroppedFrame, 50, 1, stack, refutes, |_, _| false);
    (noticed.tried, noticed.by_proof)
}

#[test]
fn each_way_to_call_a_handle_leads_to_code_made_for_it() {
    const VAR: &str = "java/lang/invoke/VarHandle";
    let adapter = static_method("java/lang/invoke/LambdaForm$MH", "m", "()V");
    for (class, name) in [
        (HANDLE, "invoke"),
        (HANDLE, "invokeBasic"),
        (VAR, "setRelease"),
        (VAR, "compareAndSet"),
        (VAR, "compareAndExchangeAcquire"),
        (VAR, "weakCompareAndSetPlain"),
    ] {
        let caller = calls(op::INVOKEVIRTUAL, class, name, "()V");
        let handle = Verdict::Explained(Explanation::MethodHandle);
        assert_eq!(unrelated(&caller, &adapter), handle, "{class}.{name}");
        assert!(unrelated(&caller, &static_method("java/lang/invoker/A", "m", "()V")).is_refuted());
    }
}

#[test]
fn a_continuation_is_entered_by_its_own_method() {
    let special = native("jdk/internal/vm/Continuation", "enterSpecial", "()V");
    let verdict = edge(&special, NATIVE, &method("A", "enter", "()V"), |_| Relation::Unknown);
    assert!(verdict.is_refuted());
}

#[test]
fn a_constant_of_another_kind_is_not_read_as_a_class_or_a_name() {
    let mut builder = PoolBuilder::default();
    let member = builder.method("A", "m", "()V");
    let (bytes, count) = builder.parts();
    let class = bytes.iter().position(|tag| *tag == 7).unwrap();
    let name_and_type = bytes.iter().position(|tag| *tag == 12).unwrap();
    // The tag of the class becomes that of a string, and the tag of the names that of a number.
    for (index, tag) in [(class, 8), (name_and_type, 3)] {
        let mut bytes = bytes.clone();
        bytes[index] = tag;
        assert_eq!(Pool::new(bytes, count).get(member), None, "{tag}");
    }
}

#[test]
fn a_listing_marks_no_negative_bci_and_quotes_strings() {
    let code = caller(Pool::none(), &[0, 17, 0, 7, IADD]);
    assert!(listing(&code, -1, 9).iter().all(|line| !line.contains('→')));
    let text = naming(op::LDC_W, |pool| pool.string("a \"b\""));
    assert_eq!(listing(&text, 0, 0), [r#"→     0: ldc_w "a \"b\"""#]);
}
