//! Makes a small program for tests: its classes and its recordings.
//!
//! `Main.main` calls `Shop.open`, which calls `Cart.sum` and then `Cart.clear`; `Worker.run` begins
//! a thread and calls `Cart.sum`.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use vouch_classes::testing::{CALL_LENGTH, Call, INVOKESTATIC, LAMBDA, Written, WrittenMethod};
use vouch_jfr::testing::{Constants, Declared, DeclaredField, chunk, constant, event, long, plain, text};

use crate::{Audit, AuditReport, Audited, ClassPaths};

const VOID: &str = "()V";

const fn calls<'a>(name: &'a str, line: u16, calls: &'a [Call<'a>]) -> WrittenMethod<'a> {
    WrittenMethod { name, descriptor: VOID, is_static: true, line, calls }
}

pub const CLASSES: [Written<'_>; 5] = [
    Written { name: "java/lang/Object", superclass: "java/lang/Object", methods: &[] },
    Written {
        name: "java/lang/Thread",
        superclass: "java/lang/Object",
        methods: &[WrittenMethod {
            name: "run",
            descriptor: VOID,
            is_static: false,
            line: 1,
            calls: &[(INVOKESTATIC, ["Cart", "sum", VOID])],
        }],
    },
    Written {
        name: "Main",
        superclass: "java/lang/Object",
        methods: &[
            WrittenMethod {
                name: "main",
                descriptor: "([Ljava/lang/String;)V",
                is_static: true,
                line: 10,
                calls: &[(INVOKESTATIC, ["Shop", "open", VOID]), (LAMBDA, ["Main", "run", "lambda$main$0"])],
            },
            calls("lambda$main$0", 20, &[(INVOKESTATIC, ["Cart", "sum", VOID])]),
        ],
    },
    Written {
        name: "Shop",
        superclass: "java/lang/Object",
        methods: &[calls(
            "open",
            30,
            &[(INVOKESTATIC, ["Cart", "sum", VOID]), (INVOKESTATIC, ["Cart", "clear", VOID])],
        )],
    },
    Written {
        name: "Cart",
        superclass: "java/lang/Object",
        methods: &[calls("sum", 40, &[(INVOKESTATIC, ["Cart", "clear", VOID])]), calls("clear", 50, &[])],
    },
];

/// The methods of the recording, in the order of their ids: class, name, descriptor, modifiers.
const METHODS: [(&str, &str, &str, i64); 15] = [
    ("Main", "main", "([Ljava/lang/String;)V", 9),
    ("Shop", "open", VOID, 9),
    ("Cart", "sum", VOID, 9),
    ("Cart", "clear", VOID, 9),
    ("java/lang/Thread", "run", VOID, 1),
    ("Gone", "away", VOID, 9),
    ("Main$$Lambda$14+0x0000000800c03000/77", "run", VOID, 1),
    ("Main", "lambda$main$0", VOID, 9),
    ("", "unknown_Java", "()L;", 256),
    ("", "break_deopt", "()L;", 256),
    ("libjvm.so", "GenCollect", "()L;", 256),
    ("libc.so.6", "start_thread", "()L;", 256),
    ("Cart", "undeclared", VOID, 9),
    ("", "stale_jmethodID", "()L;", 256),
    ("Cart", "sum", VOID, 9),
];
pub const MAIN: i64 = 1;
pub const OPEN: i64 = 2;
pub const SUM: i64 = 3;
pub const CLEAR: i64 = 4;
pub const RUN: i64 = 5;
pub const GONE: i64 = 6;
pub const LAMBDA_RUN: i64 = 7;
pub const LAMBDA_BODY: i64 = 8;
pub const UNKNOWN: i64 = 9;
pub const BROKEN: i64 = 10;
pub const NATIVE: i64 = 11;
pub const THREAD_START: i64 = 12;
pub const UNDECLARED: i64 = 13;
pub const STALE: i64 = 14;
/// The method `sum` of a class `Cart` from another loader.
pub const OTHER_SUM: i64 = 15;

/// The bci of the first call in a method.
pub const FIRST: i64 = 0;
/// The bci of the second call in a method.
pub const SECOND: i64 = CALL_LENGTH as i64;

/// A frame: method, bci and line.
pub type Frame = (i64, i64, i64);

/// Makes the frame of a method at one of its calls, with the line of its class file.
pub const fn at(method: i64, bci: i64) -> Frame {
    let line = match method {
        MAIN => 10,
        OPEN => 30,
        SUM => 40,
        RUN => 1,
        LAMBDA_BODY => 20,
        _ => 0,
    };
    (method, bci, if line > 0 { line + bci / SECOND } else { 0 })
}

/// A stack of a thread, leaf first, with the number of its events of one kind.
#[derive(Debug, Clone)]
pub struct TestStack {
    pub kind: i64,
    pub thread: i64,
    pub frames: Vec<Frame>,
    pub cut: bool,
    pub times: usize,
}

pub fn stack(thread: i64, times: usize, frames: &[Frame]) -> TestStack {
    TestStack { kind: SAMPLE, thread, frames: frames.to_vec(), cut: false, times }
}

const LONG: i64 = 20;
const STRING: i64 = 21;
const BOOLEAN: i64 = 22;
const INT: i64 = 23;
const THREAD: i64 = 40;
const CLASS: i64 = 41;
const LOADER: i64 = 45;
const METHOD: i64 = 42;
const FRAME: i64 = 43;
const STACK: i64 = 44;
pub const SAMPLE: i64 = 100;
pub const PARK: i64 = 101;
pub const READ: i64 = 102;
pub const WALL: i64 = 108;
pub const NATIVE_SAMPLE: i64 = 112;
pub const CPU_SAMPLE: i64 = 113;
const LOST: i64 = 103;
const PROPERTY: i64 = 104;
const SETTING: i64 = 105;
const REDEFINE: i64 = 106;
const JVM: i64 = 107;
pub const LOAD: i64 = 109;
const START: i64 = 110;
const PROCESSORS: i64 = 111;
const WAIT: i64 = 114;
const NAMED: i64 = 115;
const TIMESPAN: i64 = 31;
const FLOAT: i64 = 24;
const TIMESTAMP: i64 = 30;

pub const MAIN_THREAD: i64 = 1;
pub const WORKER: i64 = 2;
pub const COLLECTOR: i64 = 3;
/// The id of a thread without name and ids.
pub const NO_THREAD: i64 = 4;
/// The id of the main thread after `main` returned, when the JVM renames it.
pub const ENDED_MAIN: i64 = 5;

const fn declared<'a>(id: i64, name: &'a str, event: bool, fields: &'a [DeclaredField<'a>]) -> Declared<'a> {
    Declared { id, name, annotations: &[], event, fields }
}

const EVENT: &[DeclaredField<'_>] = &[TIME, constant("eventThread", THREAD), constant("stackTrace", STACK)];

const TYPES: &[Declared<'_>] = &[
    declared(LONG, "long", false, &[]),
    declared(INT, "int", false, &[]),
    declared(FLOAT, "float", false, &[]),
    declared(TIMESTAMP, "jdk.jfr.Timestamp", false, &[]),
    declared(TIMESPAN, "jdk.jfr.Timespan", false, &[]),
    declared(STRING, "java.lang.String", false, &[]),
    declared(BOOLEAN, "boolean", false, &[]),
    declared(
        THREAD,
        "java.lang.Thread",
        false,
        &[plain("osThreadId", LONG), plain("javaName", STRING), plain("javaThreadId", LONG)],
    ),
    declared(LOADER, "jdk.types.ClassLoader", false, &[plain("name", STRING)]),
    declared(CLASS, "java.lang.Class", false, &[constant("classLoader", LOADER), plain("name", STRING)]),
    declared(
        METHOD,
        "jdk.types.Method",
        false,
        &[
            constant("type", CLASS),
            plain("name", STRING),
            plain("descriptor", STRING),
            plain("modifiers", INT),
        ],
    ),
    declared(
        FRAME,
        "jdk.types.StackFrame",
        false,
        &[constant("method", METHOD), plain("lineNumber", INT), plain("bytecodeIndex", INT)],
    ),
    declared(
        STACK,
        "jdk.types.StackTrace",
        false,
        &[plain("truncated", BOOLEAN), DeclaredField { list: true, ..plain("frames", FRAME) }],
    ),
    declared(SAMPLE, "jdk.ExecutionSample", true, EVENT),
    declared(PARK, "jdk.ThreadPark", true, EVENT),
    declared(WALL, "profiler.WallClockSample", true, EVENT),
    declared(CPU_SAMPLE, "jdk.CPUTimeSample", true, EVENT),
    declared(NATIVE_SAMPLE, "jdk.NativeMethodSample", true, EVENT),
    declared(READ, "jdk.FileRead", true, EVENT),
    declared(
        PROPERTY,
        "jdk.InitialSystemProperty",
        true,
        &[plain("startTime", LONG), plain("key", STRING), plain("value", STRING)],
    ),
    declared(NAMED, "jdk.ActiveRecording", true, &[plain("startTime", LONG), plain("name", STRING)]),
    declared(
        SETTING,
        "jdk.ActiveSetting",
        true,
        &[
            plain("startTime", LONG),
            plain("name", STRING),
            plain("value", STRING),
            plain("id", LONG),
            constant("stackTrace", STACK),
        ],
    ),
    declared(
        LOAD,
        "jdk.ThreadCPULoad",
        true,
        &[TIME, constant("eventThread", THREAD), plain("user", FLOAT), plain("system", FLOAT)],
    ),
    declared(
        START,
        "jdk.ThreadStart",
        true,
        &[TIME, constant("thread", THREAD), constant("stackTrace", STACK)],
    ),
    declared(
        WAIT,
        "jdk.JavaMonitorWait",
        true,
        &[
            TIME,
            DeclaredField { annotations: &[(TIMESPAN, "TICKS")], ..plain("duration", LONG) },
            constant("eventThread", THREAD),
            constant("stackTrace", STACK),
        ],
    ),
    declared(PROCESSORS, "jdk.CPUInformation", true, &[TIME, plain("hwThreads", INT)]),
    declared(JVM, "jdk.JVMInformation", true, &[plain("startTime", LONG), plain("jvmVersion", STRING)]),
    declared(REDEFINE, "jdk.RedefineClasses", true, &[plain("startTime", LONG)]),
    declared(LOST, "jdk.CPUTimeSamplesLost", true, &[plain("startTime", LONG), plain("lostSamples", INT)]),
];

fn constants(stacks: &[TestStack]) -> Vec<Constants> {
    let thread = |tid, name: &str, number| [long(tid), text(name), long(number)].concat();
    let numbered = |row: usize| i64::try_from(row).unwrap() + 1;
    let frame = |(method, bci, line): &Frame| [long(*method), long(*line), long(*bci)].concat();
    let stack_bytes = |stack: &TestStack| {
        let frames: Vec<u8> = stack.frames.iter().flat_map(frame).collect();
        [vec![u8::from(stack.cut)], long(i64::try_from(stack.frames.len()).unwrap()), frames].concat()
    };
    vec![
        (
            THREAD,
            vec![
                (MAIN_THREAD, thread(11, "main", 1)),
                (WORKER, thread(12, "worker", 9)),
                (COLLECTOR, thread(13, "GC Thread#0", 0)),
                (NO_THREAD, thread(0, "", 0)),
                (ENDED_MAIN, thread(15, "DestroyJavaVM", 15)),
            ],
        ),
        (LOADER, vec![(1, text("app")), (2, text("plug-in"))]),
        (
            CLASS,
            METHODS
                .iter()
                .enumerate()
                .map(|(row, method)| {
                    let loader = if numbered(row) == OTHER_SUM { 2 } else { 1 };
                    (numbered(row), [long(loader), text(method.0)].concat())
                })
                .collect(),
        ),
        (
            METHOD,
            METHODS
                .iter()
                .enumerate()
                .map(|(row, (_, name, descriptor, modifiers))| {
                    let class = long(numbered(row));
                    (numbered(row), [class, text(name), text(descriptor), long(*modifiers)].concat())
                })
                .collect(),
        ),
        (
            STACK,
            stacks
                .iter()
                .enumerate()
                .map(|(row, test_stack)| (numbered(row), stack_bytes(test_stack)))
                .collect(),
        ),
    ]
}

/// Makes the event that shows that the `java` launcher created the JVM.
pub fn java_launcher() -> Vec<u8> {
    event(PROPERTY, &[long(1), text("sun.java.launcher"), text("SUN_STANDARD")])
}

/// Makes the event with the recorder's name.
pub fn recorded_by(name: &str) -> Vec<u8> {
    event(NAMED, &[long(1), text(name)])
}

/// Makes the event with async-profiler's depth limit.
pub fn depth_setting(frames: &str) -> Vec<u8> {
    setting("jstackdepth", frames)
}

/// Makes the event with a setting of async-profiler.
pub fn setting(name: &str, value: &str) -> Vec<u8> {
    // async-profiler attaches the interval to its sample kind, and other settings to none.
    let event_type = if name == "interval" { SAMPLE } else { 0 };
    event(SETTING, &[long(1), text(name), text(value), long(event_type), long(0)])
}

/// The field with the start time of an event, in ticks.
const TIME: DeclaredField<'_> =
    DeclaredField { annotations: &[(TIMESTAMP, "TICKS")], ..plain("startTime", LONG) };

/// Makes the event with the sampling period of an event kind.
pub fn period(kind: i64, period: &str) -> Vec<u8> {
    event(SETTING, &[long(1), text("period"), text(period), long(kind), long(0)])
}

/// Makes the event with the number of processors.
pub fn processors(count: i64) -> Vec<u8> {
    event(PROCESSORS, &[long(1), long(count)])
}

/// Makes the event with the share of all processors that a thread used, in user code and in the
/// kernel.
pub fn load(at: i64, thread: i64, user: f32, system: f32) -> Vec<u8> {
    let part = |part: f32| part.to_be_bytes().to_vec();
    event(LOAD, &[long(at), long(thread), part(user), part(system)])
}

/// Makes the event for a wait of the main thread on a monitor, with one of the stacks.
pub fn monitor_wait(at: i64, took: i64, stack: i64) -> Vec<u8> {
    event(WAIT, &[long(at), long(took), long(MAIN_THREAD), long(stack)])
}

/// Makes the event for the start of a thread.
pub fn start(at: i64, thread: i64) -> Vec<u8> {
    event(START, &[long(at), long(thread), long(0)])
}

/// Makes the event with the JVM's name and version.
pub fn jvm(version: &str) -> Vec<u8> {
    event(JVM, &[long(1), text(version)])
}

pub fn redefined() -> Vec<u8> {
    event(REDEFINE, &[long(1)])
}

/// Makes a recording of these stacks, with a number of lost samples.
pub fn recording(stacks: &[TestStack], lost: i64) -> Vec<u8> {
    recording_after(vec![], stacks, lost)
}

/// Makes a recording with events about the run, followed by these stacks.
pub fn recording_after(mut events: Vec<Vec<u8>>, stacks: &[TestStack], lost: i64) -> Vec<u8> {
    add(&mut events, stacks);
    chunk_with(events, stacks, lost)
}

/// Makes a recording of these stacks, followed by events about the run.
pub fn recording_before(stacks: &[TestStack], last: Vec<Vec<u8>>) -> Vec<u8> {
    let mut events = Vec::new();
    add(&mut events, stacks);
    events.extend(last);
    chunk_with(events, stacks, 0)
}

fn add(events: &mut Vec<Vec<u8>>, stacks: &[TestStack]) {
    for (row, shown) in stacks.iter().enumerate() {
        let number = if shown.frames.is_empty() { 0 } else { i64::try_from(row).unwrap() + 1 };
        let one = event(shown.kind, &[long(5), long(shown.thread), long(number)]);
        events.extend(std::iter::repeat_n(one, shown.times));
    }
}

fn chunk_with(mut events: Vec<Vec<u8>>, stacks: &[TestStack], lost: i64) -> Vec<u8> {
    if lost > 0 {
        events.push(event(LOST, &[long(5), long(lost)]));
    }
    chunk(TYPES, &constants(stacks), &events, (0, 1_000))
}

/// A folder with these classes. It is deleted when the test ends.
#[derive(Debug)]
pub struct ClassFolder(pub PathBuf);

impl ClassFolder {
    pub fn new(name: &str, classes: &[Written<'_>]) -> Self {
        let folder = std::env::temp_dir().join(format!("vouch-audit-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        for class in classes {
            let file = folder.join(format!("{}.class", class.name));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, class.bytes()).unwrap();
        }
        Self(folder)
    }
}

impl Drop for ClassFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes a JDK that contains the program's classes, so they are certainly the classes that ran.
pub fn jdk(name: &str) -> ClassFolder {
    jdk_with(name, &CLASSES)
}

/// Makes a JDK that contains these classes.
pub fn jdk_with(name: &str, classes: &[Written<'_>]) -> ClassFolder {
    let folder = ClassFolder::new(name, &[]);
    let bytes: Vec<_> =
        classes.iter().map(|class| (format!("{}.class", class.name), class.bytes())).collect();
    let entries: Vec<_> = bytes.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    fs::create_dir_all(folder.0.join("lib")).unwrap();
    fs::write(folder.0.join("lib/rt.jar"), vouch_classes::archive::from_bytes(&entries)).unwrap();
    folder
}

/// Returns the report on a recording, with the classes of a JDK.
pub fn audit_with_jdk(bytes: Vec<u8>, jdk: &ClassFolder) -> Result<AuditReport, crate::Error> {
    let mut audit = Audit::default();
    audit.read("test.jfr", Cursor::new(bytes), |_| {})?;
    Ok(audit
        .judge(&ClassPaths { classes: Vec::new(), jdk: Some(jdk.0.clone()), exact: false }, |_| {})?
        .report)
}

/// Returns the audit of a recording, with the classes of a folder.
pub fn audit_full(bytes: Vec<u8>, folder: &ClassFolder) -> Result<Audited, crate::Error> {
    let mut audit = Audit::default();
    audit.read("test.jfr", Cursor::new(bytes), |_| {})?;
    audit.judge(&ClassPaths { classes: vec![folder.0.clone()], jdk: None, exact: false }, |_| {})
}

/// Returns the report on a recording, with the classes of a folder.
pub fn audited(bytes: Vec<u8>, folder: &ClassFolder) -> Result<AuditReport, crate::Error> {
    Ok(audit_full(bytes, folder)?.report)
}

/// Returns the report on stacks after events about the run, with the classes that ran.
pub fn audit_after(name: &str, run_events: Vec<Vec<u8>>, stacks: &[TestStack]) -> AuditReport {
    audit_with_jdk(recording_after(run_events, stacks, 0), &jdk(name)).unwrap()
}

/// Returns the report on stacks, with the classes that ran.
pub fn audit(name: &str, stacks: &[TestStack]) -> AuditReport {
    audit_after(name, Vec::new(), stacks)
}
