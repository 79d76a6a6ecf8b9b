//! Events of monitors: threads that wait for a monitor of another thread, and threads in
//! `Object.wait`.
//!
//! A program may do either a million times a second. A short wait is only counted, and no other
//! function of the JVM is called for it.

use jni::JNIEnv;
use jni::objects::JObject;
use jni_sys::{jboolean, jlong, jobject};
use jvmti_sys::{jthread, jvmtiEnv};
use once_cell::sync::OnceCell;
use vouch_hotspot::monitors::{MonitorLayout, MonitorOwner};
use vouch_recording::{Category, Figure, MarkKind, kinds};
use vouch_signal::slots::Wait;

use super::calling_thread;
use super::event_type::{Brings, Row};
use crate::clock;
use crate::facade::{Callbacks, Capability, Event, EventSubscription, Need};
use crate::fault::guard;
use crate::java;
use crate::threads::live_java_threads::LIVE_JAVA_THREADS;
use crate::threads::registry;

/// Among so many threads at most it is looked for whose stack or list has a lock.
const MOST_ASKED: usize = 2_000;
/// In the note of a wait: the owner is none that the kernel knows.
const VIRTUAL: u64 = u64::MAX;

/// Where the JVM has who holds a monitor. Set once it is up, if it does.
static MONITORS: OnceCell<MonitorLayout> = OnceCell::new();

pub static MONITOR: Row = Row {
    brings: Brings::Texts,
    ..Row::of(
        &kinds::MONITOR,
        &[
            subscription(Event::MonitorContendedEnter, |table| {
                table.known.MonitorContendedEnter = Some(enter);
            }),
            subscription(Event::MonitorContendedEntered, |table| {
                table.known.MonitorContendedEntered = Some(entered);
            }),
        ],
    )
};

pub static WAIT: Row = Row::of(
    &kinds::WAIT,
    &[
        subscription(Event::MonitorWait, |table| table.known.MonitorWait = Some(wait)),
        subscription(Event::MonitorWaited, |table| table.known.MonitorWaited = Some(waited)),
    ],
);

/// What a thread that has waited for a lock until the recording's end is told to do.
pub static STILL_ENTERS: Row = Row::own(&MarkKind {
    key: "monitor_still_enters",
    label: "Still waits for a lock",
    description: "The thread wanted a monitor (synchronized) that another thread has, and had not got it when this was written.",
    category: Category::Other,
    figures: &[Figure::text("class", "Lock of class")],
});

/// The same of one that has not been notified.
pub static STILL_WAITS: Row = Row::own(&MarkKind {
    key: "monitor_still_waits",
    label: "Still in Object.wait",
    description: "The thread waited to be notified, and had not been when this was written.",
    category: Category::Other,
    figures: &[Figure::text("class", "Of class")],
});

const fn subscription(event: Event, install: fn(&mut Callbacks)) -> EventSubscription {
    // The others are for what is not over at the end: without them it is not told what for, nor who
    // has it.
    const ALL: &[Capability] = &[
        Capability::GenerateMonitorEvents,
        Capability::GetCurrentContendedMonitor,
        Capability::GetMonitorInfo,
    ];
    EventSubscription { event, capabilities: ALL, install, need: Need::Itself }
}

/// The JVM is up, and has who holds a monitor there.
pub fn meet(monitors: Option<MonitorLayout>) {
    if let Some(monitors) = monitors {
        let _ = MONITORS.set(monitors);
    }
}

/// A Java thread is there: the calling one, or one that was `found`, which may have ended
/// meanwhile.
pub fn started(tid: u32, java_thread: usize, env: &mut JNIEnv<'_>, thread: &JObject<'_>, found: bool) {
    let Some(monitors) = MONITORS.get() else { return };
    let word = if monitors.has_owner_ids() { java::id(env, thread) } else { Some(java_thread as u64) };
    let slot = registry().slots().find(tid).filter(|_| java_thread != 0);
    match slot.zip(word) {
        Some((slot, word)) => LIVE_JAVA_THREADS.enter((tid, slot.serial()), java_thread, word, found),
        None => LIVE_JAVA_THREADS.set_complete(false),
    }
}

/// Who has the lock that the calling thread is about to wait for, as a note of that wait: a serial,
/// 0 where it is not known.
///
/// # Safety
/// `env` must be the calling thread's, which the JVM is telling of this, and `object` a reference
/// to what it wants.
unsafe fn owner(env: *mut jni_sys::JNIEnv, object: jobject) -> u64 {
    let Some(monitors) = MONITORS.get() else { return 0 };
    // SAFETY: by the caller's promise.
    let serial = match unsafe { monitors.owner(env as usize) } {
        None => None,
        Some(MonitorOwner::Word(word)) => match LIVE_JAVA_THREADS.serial(word as u64) {
            Err(()) if monitors.has_owner_ids() => return VIRTUAL,
            Ok(Some(known)) => Some(known),
            _ => LIVE_JAVA_THREADS.find(MOST_ASKED, |thread| monitors.is_on_stack(word, thread)),
        },
        // SAFETY: by the caller's promise.
        Some(MonitorOwner::Anonymous) => unsafe { listed(monitors, env, object) },
    };
    serial.map_or(0, u64::from)
}

/// Who has an object on his list. A collector may be moving objects meanwhile: what was seen counts
/// if it is so still when the JVM lets this thread on.
///
/// # Safety
/// As of [`owner`].
unsafe fn listed(monitors: &MonitorLayout, env: *mut jni_sys::JNIEnv, object: jobject) -> Option<u32> {
    let find = || {
        // SAFETY: the JVM's references for a callback are places of the object's address.
        let wanted = unsafe { object.cast::<usize>().read_volatile() };
        let found = LIVE_JAVA_THREADS.find(MOST_ASKED, |thread| monitors.is_on_lock_stack(wanted, thread));
        found.map(|serial| (serial, wanted))
    };
    let found = find()?;
    // SAFETY: by the caller's promise; whatever is asked, the answer takes until the collector has
    // stopped.
    let env = unsafe { JNIEnv::from_raw(env) }.ok()?;
    // SAFETY: as above.
    let object = unsafe { java::object(&env, object) };
    let same = env.is_same_object(&object, &object);
    java::cleared(&env, same)?;
    find().filter(|again| *again == found).map(|(serial, _)| serial)
}

/// What the thread was called that had a lock, by the note of a wait for it that began `since`.
fn owner_name(note: u64, since: u64) -> String {
    if note == VIRTUAL {
        return "a virtual thread".to_owned();
    }
    let name = |serial| registry().life(serial, |life| life.name(life.name_at(since)));
    u32::try_from(note).ok().and_then(name).unwrap_or_default()
}

/// What a thread waited for is over: `tell` is told of the wait, its end, and the class of that, if
/// the wait is to be shown.
///
/// # Safety
/// `env` must be the calling thread's, and the other two references that are valid there.
unsafe fn over(
    row: &'static Row,
    env: *mut jni_sys::JNIEnv,
    thread: jthread,
    object: jobject,
    tell: impl FnOnce(Wait, u64, &str) -> bool,
) {
    // SAFETY: by the caller's promise.
    let Some(wait) = (unsafe { calling_thread::end(env, thread) }) else { return };
    let ended = clock::monotonic();
    if row.counted(wait.since, ended) {
        // SAFETY: as above.
        let class = unsafe { calling_thread::class_of(env, object) };
        tell(wait, ended, &class);
    }
}

unsafe extern "C" fn enter(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, thread: jthread, object: jobject) {
    // SAFETY: the JVM passes the calling thread's JNIEnv, and references that are valid there.
    guard((), || unsafe { calling_thread::begin(env, thread, STILL_ENTERS.number(), || owner(env, object)) });
}

unsafe extern "C" fn entered(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, thread: jthread, object: jobject) {
    let tell = |Wait { since, note, .. }: Wait, ended, class: &str| {
        MONITOR.said_here(since, ended, [class, &owner_name(note, since)], [])
    };
    // SAFETY: as above.
    guard((), || unsafe { over(&MONITOR, env, thread, object, tell) });
}

unsafe extern "C" fn wait(
    _: *mut jvmtiEnv,
    env: *mut jni_sys::JNIEnv,
    thread: jthread,
    _: jobject,
    timeout_ms: jlong,
) {
    // SAFETY: as above.
    let timeout_ms = u64::try_from(timeout_ms).unwrap_or(0);
    // SAFETY: as above.
    guard((), || unsafe { calling_thread::begin(env, thread, STILL_WAITS.number(), || timeout_ms) });
}

unsafe extern "C" fn waited(
    _: *mut jvmtiEnv,
    env: *mut jni_sys::JNIEnv,
    thread: jthread,
    object: jobject,
    timed_out: jboolean,
) {
    let tell = |Wait { since, note: timeout_ms, .. }: Wait, ended, class: &str| {
        let figures = [0, timeout_ms.saturating_mul(1_000_000), u64::from(timed_out != 0)];
        WAIT.happened_here(since, ended, figures, class)
    };
    // SAFETY: as above.
    guard((), || unsafe { over(&WAIT, env, thread, object, tell) });
}
