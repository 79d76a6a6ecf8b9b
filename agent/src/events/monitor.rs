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
use vouch_collect::events::Payload;
use vouch_hotspot::monitors::{MonitorLayout, MonitorOwner};
use vouch_recording::measures::BLOCKED;
use vouch_recording::{Category, MarkerField, MarkerKind, kinds};
use vouch_sample::Measured;
use vouch_sampling::clock;
use vouch_sampling::threads::live_java_threads::{LIVE_JAVA_THREADS, NoPlatformThread};
use vouch_sampling::threads::registry;
use vouch_signal::event::Publication;
use vouch_signal::slots::Wait;

use super::calling_thread;
use super::drawing::Drawing;
use super::event_type::Row;
use crate::facade::{Callbacks, Capability, Event, EventSubscription, RequiredFor};
use crate::fault::guard;
use crate::java;

/// The maximum number of threads that are searched for the owner of a lock, by stack or lock stack.
const MOST_ASKED: usize = 2_000;
/// The note of a wait for a lock that a virtual thread owns.
const VIRTUAL: u64 = u64::MAX;

/// The layout by which owners are read. It is set after VM initialization, if it was found.
static MONITORS: OnceCell<MonitorLayout> = OnceCell::new();

/// The initial stride of the time blocked on locks, in ns. Longer waits are all recorded at first.
pub const FIRST_STRIDE_NS: u64 = 10_000;
/// The maximum number of waits in a second that are recorded for the time blocked on locks.
pub const MAX_PER_SECOND: u64 = 500;

static BLOCKED_BY_MONITORS: Drawing = Drawing::new(&BLOCKED, FIRST_STRIDE_NS, MAX_PER_SECOND);

pub static MONITOR: Row = Row {
    payload: Payload::Texts,
    drawing: Some(&BLOCKED_BY_MONITORS),
    ..Row::new(
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

pub static WAIT: Row = Row::new(
    &kinds::WAIT,
    &[
        subscription(Event::MonitorWait, |table| table.known.MonitorWait = Some(wait)),
        subscription(Event::MonitorWaited, |table| table.known.MonitorWaited = Some(waited)),
    ],
);

/// The event of a thread that still waits for a lock at the recording's end.
pub static STILL_ENTERS: Row = Row::own(&kinds::STILL_ENTERS);

/// The event of a thread that is still in `Object.wait` at the recording's end.
pub static STILL_WAITS: Row = Row::own(&MarkerKind {
    key: "monitor_still_waits",
    label: "Still in Object.wait",
    description: "The thread waited to be notified, and had not been when this was written.",
    category: Category::Other,
    fields: &[MarkerField::text("class", "Of class")],
});

const fn subscription(event: Event, install: fn(&mut Callbacks)) -> EventSubscription {
    // The last two are for waits that are not over at the end: they report the object and its
    // owner.
    const ALL: &[Capability] = &[
        Capability::GenerateMonitorEvents,
        Capability::GetCurrentContendedMonitor,
        Capability::GetMonitorInfo,
    ];
    EventSubscription { event, capabilities: ALL, install, required_for: RequiredFor::Itself }
}

/// Sets the layout by which owners are read. It runs after VM initialization.
pub fn meet(monitors: Option<MonitorLayout>) {
    if let Some(monitors) = monitors {
        let _ = MONITORS.set(monitors);
    }
}

/// Adds a Java thread to the live threads. It is the calling thread, or one that was `found` and
/// may have ended meanwhile.
pub fn started(tid: u32, java_thread: usize, env: &mut JNIEnv<'_>, thread: &JObject<'_>, found: bool) {
    let Some(monitors) = MONITORS.get() else { return };
    let word = if monitors.has_owner_ids() { java::id(env, thread) } else { Some(java_thread as u64) };
    let slot = registry().slots().find(tid).filter(|_| java_thread != 0);
    match slot.zip(word) {
        Some((slot, word)) => LIVE_JAVA_THREADS.enter((tid, slot.serial()), java_thread, word, found),
        None => LIVE_JAVA_THREADS.set_complete(false),
    }
}

/// Finds the owner of the lock that the calling thread is about to wait for. Returns it as the note
/// of the wait: the owner's serial, or 0 if it is unknown.
///
/// # Safety
/// `env` must be the calling thread's in the callback of `MonitorContendedEnter`. `object` must be
/// the callback's reference.
unsafe fn owner(env: *mut jni_sys::JNIEnv, object: jobject) -> u64 {
    let Some(monitors) = MONITORS.get() else { return 0 };
    // SAFETY: by the caller's promise.
    let serial = match unsafe { monitors.owner(env as usize) } {
        None => None,
        Some(MonitorOwner::Word(word)) => match LIVE_JAVA_THREADS.serial(word as u64) {
            Err(NoPlatformThread) if monitors.has_owner_ids() => return VIRTUAL,
            Ok(Some(known)) => Some(known),
            _ => LIVE_JAVA_THREADS.find(MOST_ASKED, |thread| monitors.is_on_stack(word, thread)),
        },
        // SAFETY: by the caller's promise.
        Some(MonitorOwner::Anonymous) => unsafe { listed(monitors, env, object) },
    };
    serial.map_or(0, u64::from)
}

/// Finds the thread that has an object on its lock stack. A collector may move objects meanwhile.
/// So the result counts only if it is the same after a JNI call.
///
/// # Safety
/// As of [`owner`].
unsafe fn listed(monitors: &MonitorLayout, env: *mut jni_sys::JNIEnv, object: jobject) -> Option<u32> {
    let find = || {
        // SAFETY: a callback's reference is the address of a word that contains the object's
        // address.
        let wanted = unsafe { object.cast::<usize>().read_volatile() };
        let found = LIVE_JAVA_THREADS.find(MOST_ASKED, |thread| monitors.is_on_lock_stack(wanted, thread));
        found.map(|serial| (serial, wanted))
    };
    let found = find()?;
    // SAFETY: by the caller's promise. Any JNI call waits until a collector's pause is over.
    let env = unsafe { JNIEnv::from_raw(env) }.ok()?;
    // SAFETY: as above.
    let object = unsafe { java::object(&env, object) };
    let same = env.is_same_object(&object, &object);
    java::cleared(&env, same)?;
    find().filter(|again| *again == found).map(|(serial, _)| serial)
}

/// Returns the name that the owner of a lock had. `note` is of a wait that began at `since` ns.
fn owner_name(note: u64, since: u64) -> String {
    if note == VIRTUAL {
        return "a virtual thread".to_owned();
    }
    let name = |serial| registry().life(serial, |life| life.name(life.name_at(since)));
    u32::try_from(note).ok().and_then(name).unwrap_or_default()
}

/// Ends a wait. If the wait is to be recorded, `tell` is called with the wait, its end, the class
/// of the object, and what the wait stands for.
///
/// # Safety
/// `env` must be the calling thread's. `thread` and `object` must be references that are valid
/// there.
unsafe fn over(
    row: &'static Row,
    env: *mut jni_sys::JNIEnv,
    thread: jthread,
    object: jobject,
    tell: impl FnOnce(Wait, u64, &str, Measured) -> Publication,
) {
    // SAFETY: by the caller's promise.
    let Some(wait) = (unsafe { calling_thread::end(env, thread) }) else {
        row.drawing.into_iter().for_each(Drawing::leave_out);
        return;
    };
    let ended = clock::monotonic();
    if let Some(measured) = row.measured(wait.since, ended, ended.saturating_sub(wait.since)) {
        // SAFETY: as above.
        let class = unsafe { calling_thread::class_of(env, object) };
        tell(wait, ended, &class, measured);
    }
}

unsafe extern "C" fn enter(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, thread: jthread, object: jobject) {
    // SAFETY: the JVM passes the calling thread's JNIEnv, and references that are valid there.
    guard((), || unsafe { calling_thread::begin(env, thread, STILL_ENTERS.number(), || owner(env, object)) });
}

unsafe extern "C" fn entered(_: *mut jvmtiEnv, env: *mut jni_sys::JNIEnv, thread: jthread, object: jobject) {
    let tell = |Wait { since, note, .. }: Wait, ended, class: &str, measured| {
        MONITOR.emit_texts_here(since, ended, [class, &owner_name(note, since)], [], measured)
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
    let tell = |Wait { since, note: timeout_ms, .. }: Wait, ended, class: &str, _| {
        let field_values = [0, timeout_ms.saturating_mul(1_000_000), u64::from(timed_out != 0)];
        WAIT.emit_here(since, ended, field_values, class)
    };
    // SAFETY: as above.
    guard((), || unsafe { over(&WAIT, env, thread, object, tell) });
}
