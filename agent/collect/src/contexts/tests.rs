//! Tests of the numbers that contexts get.

use super::*;

fn kind(class: &str, keys: &[&str]) -> ProgramContextKind {
    let fields = keys.iter().map(|key| ((*key).to_owned(), key.to_uppercase())).collect();
    ProgramContextKind { class: class.to_owned(), label: class.to_owned(), fields }
}

fn context(outer: u32, kind: u32, values: &[&str]) -> Context {
    Context { outer, kind, values: values.iter().map(|value| (*value).to_owned()).collect() }
}

#[test]
fn a_number_stands_for_one_context_within_one_other() {
    let contexts = Contexts::default();
    let request = contexts.kind(kind("Request", &["user", "file"]));
    let step = contexts.kind(kind("Step", &["name"]));
    assert_eq!((request, step, contexts.kind(kind("Request", &["user", "file"]))), (1, 2, 1));
    let number = |of| contexts.number(of).unwrap();
    let moe = number(context(0, request, &["moe", "a"]));
    let read = number(context(moe, step, &["read"]));
    let alone = number(context(0, step, &["read"]));
    assert_eq!(number(context(moe, step, &["read"])), read);
    assert!(moe != read && read != alone && moe != 0);
    assert!(
        contexts.is_inside(read, moe) && !contexts.is_inside(moe, read) && !contexts.is_inside(alone, moe)
    );
    assert!(
        ![(moe, moe), (moe, 0), (0, 0), (99, 1)]
            .into_iter()
            .any(|(one, other)| contexts.is_inside(one, other))
    );
    let (known, its_kind) = contexts.get(read).unwrap();
    assert_eq!((&*known, &*its_kind), (&context(moe, step, &["read"]), &kind("Step", &["name"])));
}

#[test]
fn an_impossible_context_gets_no_number() {
    let contexts = Contexts::default();
    let step = contexts.kind(kind("Step", &["name"]));
    for wrong in [
        context(0, 0, &["a"]),
        context(0, 2, &["a"]),
        context(9, step, &["a"]),
        context(0, step, &[]),
        context(0, step, &["a", "b"]),
        context(u32::MAX, u32::MAX, &["a"]),
    ] {
        assert_eq!(contexts.number(wrong), Err(Refusal::Invalid));
    }
    let mut deepest = 0;
    for _ in 0..MAX_NESTING_DEPTH {
        deepest = contexts.number(context(deepest, step, &["a"])).unwrap();
    }
    assert_eq!(contexts.number(context(deepest, step, &["a"])), Err(Refusal::Invalid));
    assert!(
        [0, u32::from(MAX_NESTING_DEPTH) + 1, u32::MAX]
            .into_iter()
            .all(|number| contexts.get(number).is_none())
    );
}

#[test]
fn the_count_of_contexts_and_kinds_is_limited() {
    let contexts = Contexts::default();
    let step = contexts.kind(kind("Step", &["name"]));
    let number = |at: usize| contexts.number(context(0, step, &[&at.to_string()]));
    assert!((0..MAX_CONTEXTS).all(|at| number(at).is_ok()));
    assert_eq!((number(MAX_CONTEXTS), number(MAX_CONTEXTS + 1)), (Err(Refusal::Full), Err(Refusal::Full)));
    assert_eq!(number(7), Ok(8), "what is known stays known");
    let kinds = (1..=MAX_KINDS).map(|at| contexts.kind(kind(&at.to_string(), &[])));
    assert_eq!(kinds.filter(|number| *number == 0).count(), 1);
}
