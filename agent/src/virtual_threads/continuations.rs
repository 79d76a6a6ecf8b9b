//! Finds the layout of virtual threads' frames: from VMStructs, from JVMTI's events for generated
//! code, and from field offsets that `Unsafe` returns.
//!
//! The search runs once a class is loaded that comes with the first virtual thread. (A CDS archive
//! may load it at the JVM's start.) It initializes no class. If it fails, the error is a sentence,
//! and Vouch's own walker finds no stack of a virtual thread that was parked.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use jni::JNIEnv;
use jni::objects::{JClass, JObject, JValue, JValueOwned};
use jni_sys::{JNI_FALSE, jmethodID};
use vouch_hotspot::HotSpot;
use vouch_hotspot::fields::{self, Field, Flag, StaticField};
use vouch_hotspot::vmstructs::{read_flag, read_u32, read_word};
use vouch_hotspot::walker_layout::RequiredVmStructs;
use vouch_walk::calls::follows_call;
use vouch_walk::hotspot::continuation::{ChunkEnd, ChunkLayout, ContinuationLayout};
use vouch_walk::hotspot::heap::{HeapLayout, KlassEncoding, Narrow, OopEncoding, Relocation};
use vouch_walk::hotspot::mounted_vthread::MountedVthreadLayout;
use vouch_walk::kernel::peek;

use crate::facade::{Callbacks, Capability, Event, Jvmti, Need, Told};
use crate::fault::guard;
use crate::java;

/// The class that is loaded with the first virtual thread, if no archive had it, as the JVM writes
/// it.
pub const CLASS: &str = "Ljava/lang/VirtualThread$VThreadContinuation;";
const CHUNK: &str = "jdk/internal/vm/StackChunk";
const CARRIER: &str = "java/lang/VirtualThread";

const WORD: usize = size_of::<usize>();

/// The JVM's code is told of while it is asked for, and only then.
pub static STUBS: Told = Told {
    event: Event::DynamicCodeGenerated,
    capabilities: &[] as &[Capability],
    install: |table: &mut Callbacks| table.known.DynamicCodeGenerated = Some(code_generated),
    need: Need::Itself,
};

/// Where the barrier begins and how long it is, once the JVM has told it.
static BARRIER: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

unsafe extern "C" fn code_generated(
    _: *mut jvmti_sys::jvmtiEnv,
    name: *const std::ffi::c_char,
    address: *const c_void,
    length: i32,
) {
    guard((), || {
        // SAFETY: the JVM passes a C string that lives until the event ends.
        let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy();
        if is_barrier(&name) {
            BARRIER[0].store(address as usize, Ordering::Relaxed);
            BARRIER[1].store(usize::try_from(length).unwrap_or(0), Ordering::Relaxed);
        }
    });
}

/// True for the name of the code that a virtual thread's oldest frame on the stack returns to: each
/// JDK writes it another way.
fn is_barrier(name: &str) -> bool {
    let name: String = name.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    // There is a second one, for exceptions.
    name.contains("cont") && name.contains("returnbarrier") && !name.contains("exc")
}

/// Whether it can be told whom a carrier carries, and why not.
pub type Carriers = Result<(), String>;

/// Looks for it all, or says what is missing. No class is initialised for it: the program may never
/// have a virtual thread.
pub fn of(
    hotspot: &HotSpot,
    jvmti: Jvmti,
    env: &mut JNIEnv<'_>,
    class: &JClass<'_>,
) -> Result<(ContinuationLayout, Carriers), String> {
    let vm_structs = RequiredVmStructs::find(hotspot)?;
    let klasses = Klasses::of(&vm_structs)?;
    let [virtual_klass, chunk_klass] = klasses.find([CLASS.trim_matches(['L', ';']), CHUNK])?;
    let continuation = env.get_superclass(class);
    let continuation =
        java::cleared(env, continuation).flatten().ok_or("virtual threads have no continuations")?;
    let (chunk, carrier) = (named(env, class, CHUNK)?, named(env, class, CARRIER)?);
    let id = |class: &JClass<'_>, name: &str| {
        let ids = jvmti.class_methods(class.as_raw()).ok();
        let is = |id: &jmethodID| jvmti.method_name(*id).is_ok_and(|method| method.name == name);
        let id = ids.and_then(|ids| ids.iter().copied().find(is));
        id.map(|id| id as usize)
            .ok_or_else(|| format!("Java has no {name} that virtual threads are entered by"))
    };
    let offsets = Offsets::of(env, class)?;
    let (carried, carriers) = match carriers(&vm_structs, &klasses, &offsets, env, class) {
        Ok(layout) => (Some(layout), Ok(())),
        Err(why) => (None, Err(why)),
    };
    let mut offset = |class: &JClass<'_>, name: &str| offsets.field(env, class, name, "virtual threads");
    let layout = ContinuationLayout {
        mounted: carried,
        heap: heap(hotspot, &vm_structs)?,
        barrier: barrier(&vm_structs, jvmti)?,
        enter_id: id(&continuation, "enter")?,
        enter_special_id: id(&continuation, "enterSpecial")?,
        run_continuation_id: id(&carrier, "runContinuation")?,
        do_yield_id: id(&continuation, "doYield")?,
        entry_slots: entry(&vm_structs)?,
        // Behind the entry before it, which is the first in it, or the second.
        entry_continuation: match vm_structs.offset(&fields::CONTINUATION_ENTRY_PARENT) {
            Ok(parent) => parent + WORD..parent + 2 * WORD,
            Err(_) => WORD..3 * WORD,
        },
        klass: virtual_klass,
        tail: offset(&continuation, "tail")?,
        chunk: ChunkLayout {
            klass: chunk_klass,
            parent: offset(&chunk, "parent")?,
            size: offset(&chunk, "size")?,
            sp: offset(&chunk, "sp")?,
            end: match offset(&chunk, "bottom") {
                Ok(at) => ChunkEnd::Bottom(at),
                Err(_) => ChunkEnd::ArgSize(offset(&chunk, "argsize")?),
            },
            frames: klasses.size(chunk_klass)?,
        },
    };
    Ok((layout, carriers))
}

/// Where it stands whom a carrier carries.
fn carriers(
    vm_structs: &RequiredVmStructs,
    klasses: &Klasses,
    offsets: &Offsets<'_>,
    env: &mut JNIEnv<'_>,
    class: &JClass<'_>,
) -> Result<MountedVthreadLayout, String> {
    let [virtual_klass] = klasses.find([CARRIER])?;
    let (thread, string) = (named(env, class, "java/lang/Thread")?, named(env, class, "java/lang/String")?);
    let bytes = named(env, class, "[B")?;
    let array_base =
        offsets.first_element(env, &bytes).ok_or("Java does not publish where an array begins")?;
    let mut offset = |class: &JClass<'_>, name: &str| offsets.field(env, class, name, "threads and strings");
    Ok(MountedVthreadLayout {
        thread_obj: vm_structs.offset(&fields::JAVA_THREAD_OBJ)?,
        vthread: vm_structs.offset(&fields::JAVA_THREAD_VTHREAD)?,
        klass: virtual_klass,
        tid: offset(&thread, "tid")?,
        name: offset(&thread, "name")?,
        string_value: offset(&string, "value")?,
        string_coder: offset(&string, "coder")?,
        array_base,
    })
}

/// Where in a JavaThread the entry's address may stand.
fn entry(vm_structs: &RequiredVmStructs) -> Result<Range<usize>, String> {
    if let Ok(place) = vm_structs.offset(&fields::JAVA_THREAD_CONT_ENTRY) {
        return Ok(place..place + WORD);
    }
    // It is somewhere behind what all of them begin with.
    let size = vm_structs.size(&fields::JAVA_THREAD)?;
    Ok(vm_structs.offset(&fields::JAVA_THREAD_OBJ)?.next_multiple_of(WORD)..size)
}

/// Where the barrier is. Some vm_structs tell where it begins, and none how long it is.
fn barrier(vm_structs: &RequiredVmStructs, jvmti: Jvmti) -> Result<Range<usize>, String> {
    let told = jvmti.enable(STUBS.event).and_then(|()| jvmti.generate(STUBS.event));
    let _ = jvmti.disable(STUBS.event);
    told.map_err(|error| format!("this JVM does not describe its code: {error}"))?;
    let [begin, length] = [&BARRIER[0], &BARRIER[1]].map(|number| number.load(Ordering::Relaxed));
    let other = vm_structs.static_value(&fields::CONT_RETURN_BARRIER).is_ok_and(|barrier| barrier != begin);
    if begin == 0 || length == 0 || other {
        return Err(
            "this JVM has no code of a name that is known where virtual threads' frames come back".to_owned()
        );
    }
    // What it calls first only says how much is to come back; what it calls then moves it.
    let first = (begin + 1..begin + length).find(|pc| follows_call(&|at: usize| read_word(at), *pc));
    first.map(|first| begin..first + 1).ok_or_else(|| {
        "the code of this JVM that brings back virtual threads' frames is not known".to_owned()
    })
}

fn heap(hotspot: &HotSpot, vm_structs: &RequiredVmStructs) -> Result<HeapLayout, String> {
    let is = |wanted: &Flag| read_flag(hotspot, wanted) == Some(true);
    let (z, shenandoah) = (is(&fields::USE_Z_GC), is(&fields::USE_SHENANDOAH_GC));
    // The collector's own vm_structs say where a number of its is.
    let place = |instance: &StaticField, field: &Field| {
        let at = vm_structs.static_value(instance)? + vm_structs.offset(field)?;
        read_word(at).ok_or_else(|| format!("this JVM does not publish where {} is", field.0))
    };
    let narrow = |base: &StaticField, shift: &StaticField| {
        Some(Narrow {
            base: vm_structs.static_value(base).ok()?,
            shift: read_u32(vm_structs.address(shift).ok()?)?,
        })
    };
    let classes = narrow(&fields::COMPRESSED_KLASS_BASE, &fields::COMPRESSED_KLASS_SHIFT)
        .ok_or("this JVM does not publish how an object refers to its class");
    Ok(HeapLayout {
        oops: match () {
            // Until JDK 23 there is one that knows no generations, by another name.
            () if z && read_flag(hotspot, &fields::Z_GENERATIONAL) == Some(false) => {
                OopEncoding::SingleGenerationZ {
                    bad_mask: place(&fields::X_GLOBALS_INSTANCE, &fields::X_ADDRESS_BAD_MASK)?,
                }
            }
            () if z => {
                let place = |field| place(&fields::Z_GLOBALS_INSTANCE, field);
                OopEncoding::GenerationalZ {
                    bad_mask: place(&fields::Z_POINTER_LOAD_BAD_MASK)?,
                    load_shift: place(&fields::Z_POINTER_LOAD_SHIFT)?,
                }
            }
            () if is(&fields::USE_COMPRESSED_OOPS) => OopEncoding::Narrow(
                narrow(&fields::COMPRESSED_OOPS_BASE, &fields::COMPRESSED_OOPS_SHIFT)
                    .ok_or("this JVM does not publish how an object refers to another")?,
            ),
            () => OopEncoding::Full,
        },
        klasses: match () {
            () if is(&fields::USE_COMPACT_OBJECT_HEADERS) => KlassEncoding::CompactHeader(classes?),
            () if read_flag(hotspot, &fields::USE_COMPRESSED_CLASS_POINTERS) == Some(false) => {
                KlassEncoding::Full
            }
            () => KlassEncoding::Narrow(classes?),
        },
        relocation: if z || shenandoah {
            Relocation::Concurrent
        } else {
            let heap = vm_structs.static_value(&fields::UNIVERSE_COLLECTED_HEAP)?;
            Relocation::AtPauses {
                count: heap + vm_structs.offset(&fields::COLLECTED_HEAP_TOTAL_COLLECTIONS)?,
                is_active: heap + vm_structs.offset(&fields::COLLECTED_HEAP_IS_STW_GC_ACTIVE)?,
            }
        },
    })
}

/// The class of this name of the JDK's own, which is not initialised for it. Any class is given, to
/// be asked by.
fn named<'e>(env: &mut JNIEnv<'e>, any: &JClass<'_>, name: &str) -> Result<JClass<'e>, String> {
    let ask = |env: &mut JNIEnv<'e>| -> jni::errors::Result<JClass<'e>> {
        let classes = env.get_object_class(any)?;
        let text = env.new_string(name.replace('/', "."))?;
        let none = JObject::null();
        let arguments = [JValue::Object(&text), JValue::Bool(JNI_FALSE), JValue::Object(&none)];
        let signature = "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
        env.call_static_method(classes, "forName", signature, &arguments)?.l().map(JClass::from)
    };
    let class = ask(env);
    java::cleared(env, class).ok_or_else(|| format!("Java has no {name}"))
}

/// Who tells the offsets of fields.
struct Offsets<'e>(JObject<'e>);

impl<'e> Offsets<'e> {
    /// Any class is given, to be asked by.
    fn of(env: &mut JNIEnv<'e>, any: &JClass<'_>) -> Result<Self, String> {
        const CLASS: &str = "jdk/internal/misc/Unsafe";
        let class = named(env, any, CLASS)?;
        let told =
            env.call_static_method(class, "getUnsafe", format!("()L{CLASS};"), &[]).and_then(JValueOwned::l);
        let told = java::cleared(env, told).filter(|told| !told.is_null());
        told.map(Self).ok_or_else(|| "Java does not publish where fields are".to_owned())
    }

    fn field(
        &self,
        env: &mut JNIEnv<'_>,
        class: &JClass<'_>,
        name: &str,
        whose: &str,
    ) -> Result<usize, String> {
        let mut ask = || {
            let name = env.new_string(name);
            let name = java::cleared(env, name)?;
            let offset = env
                .call_method(
                    &self.0,
                    "objectFieldOffset",
                    "(Ljava/lang/Class;Ljava/lang/String;)J",
                    &[JValue::Object(class), JValue::Object(&name)],
                )
                .and_then(JValueOwned::j);
            usize::try_from(java::cleared(env, offset)?).ok()
        };
        ask().ok_or_else(|| format!("Java does not publish where {whose} have their {name}"))
    }

    /// Where the first element lies in arrays of this class.
    fn first_element(&self, env: &mut JNIEnv<'_>, class: &JClass<'_>) -> Option<usize> {
        let mut ask = |returns: &str| {
            let signature = format!("(Ljava/lang/Class;){returns}");
            let offset = env.call_method(&self.0, "arrayBaseOffset", signature, &[JValue::Object(class)]);
            java::cleared(env, offset)
        };
        // A long from JDK 25 on.
        match ask("J").or_else(|| ask("I"))? {
            JValueOwned::Long(offset) => usize::try_from(offset).ok(),
            JValueOwned::Int(offset) => usize::try_from(offset).ok(),
            _ => None,
        }
    }
}

/// The classes of the loader that is never collected, as the JVM has them. They stay; but what a
/// redefinition leaves stands among them for a while, and may go at any time: so each word is asked
/// of the kernel, and nothing is believed but a name.
struct Klasses {
    first: usize,
    next: usize,
    name: usize,
    length: usize,
    body: usize,
    size: usize,
}

impl Klasses {
    /// So many loaders and classes are looked at.
    const LOADERS: usize = 100_000;
    const CLASSES: usize = 1_000_000;
    /// A name has less than so many words.
    const NAME: usize = 8;

    fn of(vm_structs: &RequiredVmStructs) -> Result<Self, String> {
        const NONE: &str = "this JVM does not publish which classes it has";
        let next = vm_structs.offset(&fields::CLASS_LOADER_DATA_NEXT)?;
        let first = vm_structs.offset(&fields::CLASS_LOADER_DATA_KLASSES)?;
        let loader = if let Ok(loader) = vm_structs.static_value(&fields::NULL_CLASS_LOADER_DATA) {
            loader
        } else {
            // It came first, and those that came later stand before it.
            let head = vm_structs.static_value(&fields::CLASS_LOADER_DATA_GRAPH_HEAD)?;
            let after = |loader: &usize| read_word(loader.wrapping_add(next)).filter(|next| *next != 0);
            std::iter::successors(Some(head), after).take(Self::LOADERS).last().ok_or(NONE)?
        };
        Ok(Self {
            first: read_word(loader.wrapping_add(first)).ok_or(NONE)?,
            next: vm_structs.offset(&fields::KLASS_NEXT_LINK)?,
            name: vm_structs.offset(&fields::KLASS_NAME)?,
            length: vm_structs.offset(&fields::SYMBOL_LENGTH)?,
            body: vm_structs.offset(&fields::SYMBOL_BODY)?,
            size: vm_structs.offset(&fields::KLASS_LAYOUT_HELPER)?,
        })
    }

    /// The classes of these names: of several the oldest, since what a redefinition leaves is
    /// younger.
    fn find<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N], String> {
        let after = |class: &usize| read_word(class.wrapping_add(self.next)).filter(|next| *next != 0);
        let mut found = [0; N];
        for class in std::iter::successors(Some(self.first), after).take(Self::CLASSES) {
            if let Some(at) = self.is_one_of(class, names) {
                found[at] = class;
            }
        }
        match names.iter().zip(found).find(|(_, class)| *class == 0) {
            Some((name, _)) => Err(format!("this JVM does not show its {name}")),
            None => Ok(found),
        }
    }

    /// Which of these names a class has.
    fn is_one_of<const N: usize>(&self, class: usize, names: [&str; N]) -> Option<usize> {
        let symbol = read_word(class.wrapping_add(self.name))?;
        let length = usize::try_from(read_u32(symbol.wrapping_add(self.length))? & 0xffff).ok()?;
        names.iter().position(|name| {
            let body = || peek::<{ Self::NAME }>(symbol.wrapping_add(self.body));
            let is = |body: [usize; Self::NAME]| {
                body.iter().flat_map(|word| word.to_le_bytes()).take(length).eq(name.bytes())
            };
            name.len() == length && body().is_some_and(is)
        })
    }

    /// How many bytes an object of a class has for its fields.
    fn size(&self, class: usize) -> Result<usize, String> {
        // The lowest bits say how one is made.
        let size = read_u32(class.wrapping_add(self.size)).and_then(|size| usize::try_from(size).ok());
        let size = size.map(|size| size & !(WORD - 1)).filter(|size| *size > 0);
        size.ok_or_else(|| "this JVM does not publish how large a stack's chunk is".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_barrier_is_known_by_each_of_its_names() {
        for name in [
            "Cont thaw return barrier",
            "cont_returnBarrier",
            "Stub Generator cont_returnBarrier_stub",
            "cont_returnBarrier_stub (stub gen)",
        ] {
            assert!(is_barrier(name), "{name}");
        }
        for name in ["Cont thaw", "Cont thaw return barrier exception", "cont_returnBarrierExc", "cont_thaw"]
        {
            assert!(!is_barrier(name), "{name}");
        }
    }
}
