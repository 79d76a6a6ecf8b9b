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
use vouch_unwind::calls::follows_call;
use vouch_unwind::hotspot::continuation::{ChunkEnd, ChunkLayout, ContinuationLayout};
use vouch_unwind::hotspot::heap::{HeapLayout, KlassEncoding, Narrow, OopEncoding, Relocation};
use vouch_unwind::hotspot::mounted_vthread::MountedVthreadLayout;
use vouch_unwind::kernel::peek;

use crate::error::VirtualThreadsError;
use crate::facade::{Callbacks, Capability, Event, EventSubscription, Jvmti, RequiredFor};
use crate::fault::guard;
use crate::java;

/// The signature of the class that is loaded with the first virtual thread, if it is not in a CDS
/// archive.
pub const CLASS: &str = "Ljava/lang/VirtualThread$VThreadContinuation;";
const CHUNK: &str = "jdk/internal/vm/StackChunk";
const VIRTUAL_THREAD: &str = "java/lang/VirtualThread";

const WORD: usize = size_of::<usize>();

/// The subscription to generated code. The event is on only while [`barrier`] runs.
pub static GENERATED_CODE: EventSubscription = EventSubscription {
    event: Event::DynamicCodeGenerated,
    capabilities: &[] as &[Capability],
    install: |table: &mut Callbacks| table.known.DynamicCodeGenerated = Some(code_generated),
    required_for: RequiredFor::Itself,
};

/// The address and length of the return barrier, once the JVM has reported it. Both are 0 before.
static BARRIER: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

unsafe extern "C" fn code_generated(
    _: *mut jvmti_sys::jvmtiEnv,
    name: *const std::ffi::c_char,
    address: *const c_void,
    length: i32,
) {
    guard((), || {
        // SAFETY: the JVM passes a C string that is valid until the callback returns.
        let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_string_lossy();
        if is_barrier(&name) {
            BARRIER[0].store(address as usize, Ordering::Relaxed);
            BARRIER[1].store(usize::try_from(length).unwrap_or(0), Ordering::Relaxed);
        }
    });
}

/// Returns true if `name` is that of the return barrier: the stub that the oldest frame of a
/// virtual thread on the stack returns to. Each JDK spells it in another way.
fn is_barrier(name: &str) -> bool {
    let name: String = name.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    // A second barrier is for exceptions.
    name.contains("cont") && name.contains("returnbarrier") && !name.contains("exc")
}

/// Says whether the walker can find which virtual thread is mounted on a carrier. The error is the
/// reason.
pub type MountedVthreads = Result<(), VirtualThreadsError>;

/// Searches for the layout. The error names what is missing.
///
/// It initializes no class, because the program may never have a virtual thread.
pub fn find(
    hotspot: &HotSpot,
    jvmti: Jvmti,
    env: &mut JNIEnv<'_>,
    class: &JClass<'_>,
) -> Result<(ContinuationLayout, MountedVthreads), VirtualThreadsError> {
    let vm_structs = RequiredVmStructs::find(hotspot)?;
    let klasses = BootKlasses::find(&vm_structs)?;
    let [virtual_klass, chunk_klass] = klasses.by_names([CLASS.trim_matches(['L', ';']), CHUNK])?;
    let continuation = env.get_superclass(class);
    let continuation =
        java::cleared(env, continuation).flatten().ok_or(VirtualThreadsError::NoContinuations)?;
    let (chunk, virtual_thread) = (jdk_class(env, class, CHUNK)?, jdk_class(env, class, VIRTUAL_THREAD)?);
    let id = |class: &JClass<'_>, name: &str| {
        let ids = jvmti.class_methods(class.as_raw()).ok();
        let is = |id: &jmethodID| jvmti.method_name(*id).is_ok_and(|method| method.name == name);
        let id = ids.and_then(|ids| ids.iter().copied().find(is));
        id.map(|id| id as usize).ok_or_else(|| VirtualThreadsError::NoMethod(name.to_owned()))
    };
    let unsafe_object = Unsafe::get(env, class)?;
    let (mounted_layout, mounted) = match mounted_vthread(&vm_structs, &klasses, &unsafe_object, env, class) {
        Ok(layout) => (Some(layout), Ok(())),
        Err(why) => (None, Err(why)),
    };
    let mut offset =
        |class: &JClass<'_>, name: &str| unsafe_object.field_offset(env, class, name, "virtual threads");
    let layout = ContinuationLayout {
        mounted: mounted_layout,
        heap: heap(hotspot, &vm_structs)?,
        barrier: barrier(&vm_structs, jvmti)?,
        enter_id: id(&continuation, "enter")?,
        enter_special_id: id(&continuation, "enterSpecial")?,
        run_continuation_id: id(&virtual_thread, "runContinuation")?,
        do_yield_id: id(&continuation, "doYield")?,
        entry_slots: entry_slots(&vm_structs)?,
        // The field after `_parent`, which is the first or the second field.
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
            frames: klasses.instance_size(chunk_klass)?,
        },
    };
    Ok((layout, mounted))
}

/// Finds the layout of the virtual thread that is mounted on a carrier.
fn mounted_vthread(
    vm_structs: &RequiredVmStructs,
    klasses: &BootKlasses,
    unsafe_object: &Unsafe<'_>,
    env: &mut JNIEnv<'_>,
    class: &JClass<'_>,
) -> Result<MountedVthreadLayout, VirtualThreadsError> {
    let [virtual_klass] = klasses.by_names([VIRTUAL_THREAD])?;
    let (thread, string) =
        (jdk_class(env, class, "java/lang/Thread")?, jdk_class(env, class, "java/lang/String")?);
    let bytes = jdk_class(env, class, "[B")?;
    let array_base = unsafe_object.array_base_offset(env, &bytes).ok_or(VirtualThreadsError::ArrayBase)?;
    let mut offset =
        |class: &JClass<'_>, name: &str| unsafe_object.field_offset(env, class, name, "threads and strings");
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

/// Returns the offsets in a JavaThread at which the pointer to its ContinuationEntry may be.
fn entry_slots(vm_structs: &RequiredVmStructs) -> Result<Range<usize>, VirtualThreadsError> {
    if let Ok(offset) = vm_structs.offset(&fields::JAVA_THREAD_CONT_ENTRY) {
        return Ok(offset..offset + WORD);
    }
    // The pointer is in some field after `_threadObj`, one of the first fields of a JavaThread.
    let size = vm_structs.size(&fields::JAVA_THREAD)?;
    Ok(vm_structs.offset(&fields::JAVA_THREAD_OBJ)?.next_multiple_of(WORD)..size)
}

/// Finds the code of the return barrier up to its second call. VMStructs has its address in some
/// JDKs, and its length in none, so JVMTI reports both.
fn barrier(vm_structs: &RequiredVmStructs, jvmti: Jvmti) -> Result<Range<usize>, VirtualThreadsError> {
    let event = GENERATED_CODE.event;
    let reported = jvmti.enable(event).and_then(|()| jvmti.generate_events(event));
    let _ = jvmti.disable(event);
    reported.map_err(VirtualThreadsError::CodeNotDescribed)?;
    let [begin, length] = [&BARRIER[0], &BARRIER[1]].map(|number| number.load(Ordering::Relaxed));
    let other = vm_structs.static_value(&fields::CONT_RETURN_BARRIER).is_ok_and(|barrier| barrier != begin);
    if begin == 0 || length == 0 || other {
        return Err(VirtualThreadsError::NoReturnBarrier);
    }
    // The first call only returns how much to thaw; the second one thaws the frames.
    let first = (begin + 1..begin + length).find(|pc| follows_call(&|at: usize| read_word(at), *pc));
    first.map(|first| begin..first + 1).ok_or(VirtualThreadsError::UnknownReturnBarrier)
}

/// Finds how this JVM's heap encodes references and classes, and when its collector moves objects.
fn heap(hotspot: &HotSpot, vm_structs: &RequiredVmStructs) -> Result<HeapLayout, VirtualThreadsError> {
    let is = |wanted: &Flag| read_flag(hotspot, wanted) == Some(true);
    let (z, shenandoah) = (is(&fields::USE_Z_GC), is(&fields::USE_SHENANDOAH_GC));
    // ZGC publishes the address of each of its global values.
    let global = |instance: &StaticField, field: &Field| {
        let at = vm_structs.static_value(instance)? + vm_structs.offset(field)?;
        read_word(at).ok_or_else(|| vouch_hotspot::Error::Offset { field: field.0.to_string() })
    };
    let narrow = |base: &StaticField, shift: &StaticField| {
        Some(Narrow {
            base: vm_structs.static_value(base).ok()?,
            shift: read_u32(vm_structs.address(shift).ok()?)?,
        })
    };
    let classes = narrow(&fields::COMPRESSED_KLASS_BASE, &fields::COMPRESSED_KLASS_SHIFT)
        .ok_or(VirtualThreadsError::ClassPointers);
    Ok(HeapLayout {
        oops: match () {
            // Until JDK 23, ZGC may have a single generation, and its globals have another name.
            () if z && read_flag(hotspot, &fields::Z_GENERATIONAL) == Some(false) => {
                OopEncoding::SingleGenerationZ {
                    bad_mask: global(&fields::X_GLOBALS_INSTANCE, &fields::X_ADDRESS_BAD_MASK)?,
                }
            }
            () if z => {
                let global = |field| global(&fields::Z_GLOBALS_INSTANCE, field);
                OopEncoding::GenerationalZ {
                    bad_mask: global(&fields::Z_POINTER_LOAD_BAD_MASK)?,
                    load_shift: global(&fields::Z_POINTER_LOAD_SHIFT)?,
                }
            }
            () if is(&fields::USE_COMPRESSED_OOPS) => OopEncoding::Narrow(
                narrow(&fields::COMPRESSED_OOPS_BASE, &fields::COMPRESSED_OOPS_SHIFT)
                    .ok_or(VirtualThreadsError::Oops)?,
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

/// Loads a class of the JDK with `Class.forName`, without initializing it. `any` is any class; it
/// only leads to `java.lang.Class`.
fn jdk_class<'e>(
    env: &mut JNIEnv<'e>,
    any: &JClass<'_>,
    name: &str,
) -> Result<JClass<'e>, VirtualThreadsError> {
    let ask = |env: &mut JNIEnv<'e>| -> jni::errors::Result<JClass<'e>> {
        let classes = env.get_object_class(any)?;
        let text = env.new_string(name.replace('/', "."))?;
        let none = JObject::null();
        let arguments = [JValue::Object(&text), JValue::Bool(JNI_FALSE), JValue::Object(&none)];
        let signature = "(Ljava/lang/String;ZLjava/lang/ClassLoader;)Ljava/lang/Class;";
        env.call_static_method(classes, "forName", signature, &arguments)?.l().map(JClass::from)
    };
    let class = ask(env);
    java::cleared(env, class).ok_or_else(|| VirtualThreadsError::NoClass(name.to_owned()))
}

/// The object of `jdk.internal.misc.Unsafe`, which returns the offsets of fields.
struct Unsafe<'e>(JObject<'e>);

impl<'e> Unsafe<'e> {
    /// Gets the object. `any` is any class, as in [`jdk_class`].
    fn get(env: &mut JNIEnv<'e>, any: &JClass<'_>) -> Result<Self, VirtualThreadsError> {
        const CLASS: &str = "jdk/internal/misc/Unsafe";
        let class = jdk_class(env, any, CLASS)?;
        let object =
            env.call_static_method(class, "getUnsafe", format!("()L{CLASS};"), &[]).and_then(JValueOwned::l);
        let object = java::cleared(env, object).filter(|object| !object.is_null());
        object.map(Self).ok_or(VirtualThreadsError::NoUnsafe)
    }

    /// Returns the offset of a field. `owners` names the objects in the error's sentence.
    fn field_offset(
        &self,
        env: &mut JNIEnv<'_>,
        class: &JClass<'_>,
        name: &str,
        owners: &'static str,
    ) -> Result<usize, VirtualThreadsError> {
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
        ask().ok_or_else(|| VirtualThreadsError::FieldOffset { owners, field: name.to_owned() })
    }

    /// Returns the offset of the first element in arrays of this class.
    fn array_base_offset(&self, env: &mut JNIEnv<'_>, class: &JClass<'_>) -> Option<usize> {
        let mut ask = |returns: &str| {
            let signature = format!("(Ljava/lang/Class;){returns}");
            let offset = env.call_method(&self.0, "arrayBaseOffset", signature, &[JValue::Object(class)]);
            java::cleared(env, offset)
        };
        // In JDK 25 and later it is a long.
        match ask("J").or_else(|| ask("I"))? {
            JValueOwned::Long(offset) => usize::try_from(offset).ok(),
            JValueOwned::Int(offset) => usize::try_from(offset).ok(),
            _ => None,
        }
    }
}

/// The classes of the boot loader, as HotSpot's list of Klasses.
///
/// The classes are never unloaded. But old versions of redefined classes are in the list for a
/// while, and may be freed at any time. So each word is read through the kernel, and a class is
/// only used if its name matches.
struct BootKlasses {
    /// The address of the first Klass.
    first: usize,
    /// The offset of the next Klass in a Klass.
    next: usize,
    /// The offset of the name's Symbol in a Klass.
    name: usize,
    /// The offset of the length in a Symbol.
    length: usize,
    /// The offset of the text in a Symbol.
    body: usize,
    /// The offset of the layout helper in a Klass.
    layout_helper: usize,
}

impl BootKlasses {
    const MAX_LOADERS: usize = 100_000;
    const MAX_CLASSES: usize = 1_000_000;
    /// The number of words that are read of a name. All names to find are shorter.
    const NAME_WORDS: usize = 8;

    fn find(vm_structs: &RequiredVmStructs) -> Result<Self, VirtualThreadsError> {
        let next = vm_structs.offset(&fields::CLASS_LOADER_DATA_NEXT)?;
        let first = vm_structs.offset(&fields::CLASS_LOADER_DATA_KLASSES)?;
        let loader = if let Ok(loader) = vm_structs.static_value(&fields::NULL_CLASS_LOADER_DATA) {
            loader
        } else {
            // The boot loader was added first, and newer loaders come before it.
            let head = vm_structs.static_value(&fields::CLASS_LOADER_DATA_GRAPH_HEAD)?;
            let after = |loader: &usize| read_word(loader.wrapping_add(next)).filter(|next| *next != 0);
            std::iter::successors(Some(head), after)
                .take(Self::MAX_LOADERS)
                .last()
                .ok_or(VirtualThreadsError::NoClassList)?
        };
        Ok(Self {
            first: read_word(loader.wrapping_add(first)).ok_or(VirtualThreadsError::NoClassList)?,
            next: vm_structs.offset(&fields::KLASS_NEXT_LINK)?,
            name: vm_structs.offset(&fields::KLASS_NAME)?,
            length: vm_structs.offset(&fields::SYMBOL_LENGTH)?,
            body: vm_structs.offset(&fields::SYMBOL_BODY)?,
            layout_helper: vm_structs.offset(&fields::KLASS_LAYOUT_HELPER)?,
        })
    }

    /// Finds the Klasses with these names. Of several with one name it returns the oldest, because
    /// old versions of a redefined class are added later.
    fn by_names<const N: usize>(&self, names: [&str; N]) -> Result<[usize; N], VirtualThreadsError> {
        let after = |class: &usize| read_word(class.wrapping_add(self.next)).filter(|next| *next != 0);
        let mut found = [0; N];
        for class in std::iter::successors(Some(self.first), after).take(Self::MAX_CLASSES) {
            if let Some(at) = self.name_index(class, names) {
                found[at] = class;
            }
        }
        match names.iter().zip(found).find(|(_, class)| *class == 0) {
            Some((name, _)) => Err(VirtualThreadsError::ClassNotListed((*name).to_owned())),
            None => Ok(found),
        }
    }

    /// Returns the index of the class's name in `names`.
    fn name_index<const N: usize>(&self, class: usize, names: [&str; N]) -> Option<usize> {
        let symbol = read_word(class.wrapping_add(self.name))?;
        let length = usize::try_from(read_u32(symbol.wrapping_add(self.length))? & 0xffff).ok()?;
        names.iter().position(|name| {
            let body = || peek::<{ Self::NAME_WORDS }>(symbol.wrapping_add(self.body));
            let is = |body: [usize; Self::NAME_WORDS]| {
                body.iter().flat_map(|word| word.to_le_bytes()).take(length).eq(name.bytes())
            };
            name.len() == length && body().is_some_and(is)
        })
    }

    /// Returns the size of an object of a class in bytes, without array elements.
    fn instance_size(&self, class: usize) -> Result<usize, VirtualThreadsError> {
        // The lowest bits of the layout helper are flags.
        let size =
            read_u32(class.wrapping_add(self.layout_helper)).and_then(|size| usize::try_from(size).ok());
        let size = size.map(|size| size & !(WORD - 1)).filter(|size| *size > 0);
        size.ok_or(VirtualThreadsError::ChunkSize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_of_the_return_barrier_is_recognized() {
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
