//! Calls the real JVM by JVMTI and JNI, on the agent's thread.
//!
//! A method id is passed to the JVM only while its class cannot be unloaded. Either its loader is
//! never collected, or a local reference is made from a weak one first.

use std::mem::take;
use std::sync::atomic::Ordering::Relaxed;

use jni::JNIEnv;
use jni::objects::{JClass, JObject, JValueOwned};
use jni_sys::jmethodID;
use once_cell::unsync::OnceCell;
use vouch_collect::jvm::{CodeAt, InlinedFrames, Jvm, Site, Top, TopFrame, WaitTarget, Witnessed};
use vouch_collect::method::{Handle, Method};
use vouch_collect::weak_object::WeakObject;
use vouch_hotspot::HotSpot;
use vouch_hotspot::fields;
use vouch_hotspot::jvm_layouts::JvmLayouts;
use vouch_hotspot::nmethods::CodeMemory;
use vouch_hotspot::vmstructs::{CodeLayout, explicit_flag};
use vouch_report::Power;
use vouch_sample::{Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_sampling::threads::Registry;
use vouch_signal::witness_rendezvous::PostedThread;
use vouch_unwind::hotspot::HotspotWalker;
use vouch_verify::proof::{Body, Code, Gone, Pool, Relation};

use super::code::CompiledCode;
use super::mounted::Mounted;
use super::stacks::{Stacks, WaitQuery};
use super::top_frames::{Notes, TopFrames};
use super::{relations, top};
use crate::events::live_objects;
use crate::facade::{Jvmti, Modifier};
use crate::java;
use crate::resolve::Resolver;
use crate::virtual_threads;

/// The state that is kept from one call to the next.
#[derive(Debug)]
pub struct JvmState {
    jvmti: Jvmti,
    hotspot: HotSpot,
    /// True before JDK 17, in which the constant pool of an anonymous class may have been patched
    /// with objects. GetConstantPool crashes on such a class.
    patches_constants: bool,
    launched: bool,
    stacks: Stacks,
    registry: &'static Registry,
    /// `None` if this JVM's VMStructs lack a name.
    code: Option<CodeLayout>,
    compiled: CompiledCode,
    /// Reads debug information; `None` if this JVM's VMStructs lack a name.
    walker: Option<&'static HotspotWalker>,
    top_frames: TopFrames,
    /// Initialized when the name of a virtual thread is missing for the first time.
    mounted: OnceCell<Option<Mounted>>,
}

impl JvmState {
    pub fn new(jvmti: Jvmti, hotspot: HotSpot, registry: &'static Registry, layouts: &JvmLayouts) -> Self {
        let patches_constants = jvmti.jdk().is_none_or(|jdk| jdk < 17);
        // Only the JDK's launcher sets this property.
        let launched = jvmti.system_property(c"sun.java.launcher").is_some_and(|who| who == "SUN_STANDARD");
        // A JVMCI compiler instead of C2 writes other debug information.
        let is_jvmci = jvmti.system_property(c"java.vm.version").is_none_or(|vm| vm.contains("jvmci"));
        let notes = Notes {
            are_reliable: jvmti.jdk().is_some_and(|jdk| jdk >= 21) && !is_jvmci,
            flag: explicit_flag(&hotspot, &fields::DEBUG_NON_SAFEPOINTS),
        };
        Self {
            jvmti,
            compiled: CompiledCode::find(&hotspot, layouts),
            hotspot,
            patches_constants,
            launched,
            stacks: Stacks::new(jvmti, registry),
            registry,
            code: layouts.code,
            walker: layouts.walker.as_ref().ok().copied(),
            top_frames: TopFrames::new(notes),
            mounted: OnceCell::new(),
        }
    }

    /// Returns the JVM's code. `None` if this JVM's VMStructs lack a name.
    fn code(&self) -> Option<top::Code<'_>> {
        let Self { code, compiled, .. } = self;
        Some(top::Code { layout: code.as_ref()?, compiled })
    }

    /// Returns a [`Live`] for the calling thread.
    pub fn on<'a, 'e>(&'a mut self, resolver: &'a Resolver, env: &'a mut JNIEnv<'e>) -> Live<'a, 'e> {
        Live { state: self, resolver, env }
    }
}

/// The real JVM, for calls on one thread.
pub struct Live<'a, 'e> {
    state: &'a mut JvmState,
    resolver: &'a Resolver,
    env: &'a mut JNIEnv<'e>,
}

impl Live<'_, '_> {
    /// Calls `ask` while it holds a reference to the method's class. `None` if the class is
    /// unloaded.
    fn with_class<T>(
        &mut self,
        method: &Method,
        ask: impl FnOnce(&mut JNIEnv<'_>, &JObject<'_>) -> Option<T>,
    ) -> Option<T> {
        let Self { resolver, env, .. } = self;
        env.with_local_frame(4, |env| -> jni::errors::Result<Option<T>> {
            let class = resolver.class_of(env, method);
            Ok(class.and_then(|class| ask(env, &class)))
        })
        .ok()
        .flatten()
    }
}

impl Jvm for Live<'_, '_> {
    fn resolve(&mut self, id: MethodId, time: u64) -> ResolvedMethod {
        self.resolver.resolve(self.env, id, time)
    }

    fn resolve_frames(&mut self, frames: &[Frame], time: u64, resolved: &mut Vec<ResolvedFrame>) {
        self.resolver.resolve_frames(self.env, frames, time, resolved);
    }

    fn method(&mut self, resolved: ResolvedMethod) -> Option<Method> {
        self.resolver.method(self.env, resolved)
    }

    fn has_seen_obsolete(&self) -> bool {
        self.resolver.has_seen_obsolete()
    }

    fn body(&mut self, method: &Method) -> (bool, Body) {
        let (jvmti, raw) = (self.state.jvmti, method.id.0 as jmethodID);
        let ask = || {
            let modifiers = jvmti.modifiers(raw).ok()?;
            let has = |modifier: Modifier| modifiers & modifier as i32 != 0;
            let body = if has(Modifier::Native) {
                Body::Native
            } else {
                match jvmti.bytecodes(raw) {
                    Ok(bytes) => Body::Code(Code::new(bytes.to_vec())),
                    Err(_) => Body::Gone(Gone::Unread),
                }
            };
            Some((has(Modifier::Static), body))
        };
        let found = match method.class.handle {
            Handle::Permanent => ask(),
            Handle::Weak(_) | Handle::None => self.with_class(method, |_, _| ask()),
        };
        found.unwrap_or((false, Body::Gone(Gone::Unloaded)))
    }

    fn constants(&mut self, method: &Method) -> Option<Pool> {
        let jvmti = self.state.jvmti;
        if self.state.patches_constants && method.class.hidden {
            return None;
        }
        self.with_class(method, |_, class| {
            let constants = jvmti.constants(class.as_raw()).ok()?;
            Some(Pool::new(constants.bytes.to_vec(), constants.count))
        })
    }

    fn was_redefined(&mut self, method: &Method) -> bool {
        self.with_class(method, |env, class| {
            // HotSpot counts redefinitions in this field of `java.lang.Class`.
            let count = env.get_field(class, "classRedefinedCount", "I").and_then(JValueOwned::i);
            java::cleared(env, count)
        })
        .is_some_and(|count| count > 0)
    }

    fn relation(&mut self, caller: &Method, candidates: &[Method], callee: &Method) -> Relation {
        relations::relation(self.state.jvmti, self.resolver, self.env, caller, candidates, callee)
    }

    fn is_of_thread(&mut self, method: &Method) -> bool {
        let Self { state, resolver, env } = self;
        let found = env.with_local_frame(64, |env| -> jni::errors::Result<bool> {
            let mut next = resolver.class_of(env, method);
            while let Some(class) = next.take() {
                if state.jvmti.class_signature(class.as_raw()).as_deref() == Ok("Ljava/lang/Thread;") {
                    return Ok(true);
                }
                let superclass = env.get_superclass(JClass::from(class))?;
                next = superclass.map(Into::into);
            }
            Ok(false)
        });
        java::cleared(env, found).unwrap_or(false)
    }

    fn is_thread_entry(&self, routine: usize) -> bool {
        self.state.hotspot.contains(routine)
    }

    fn is_launched(&self) -> bool {
        self.state.launched
    }

    fn stack(&mut self, tid: u32, serial: u32, asking: &mut dyn FnMut()) -> Option<Witnessed> {
        self.state.stacks.ask(tid, serial, asking, self.env)
    }

    fn mounted(&mut self, tid: u32, serial: u32) -> Option<(u64, String)> {
        let Self { state: JvmState { mounted, hotspot, jvmti, registry, .. }, env, .. } = self;
        let mounted = mounted.get_or_init(|| Mounted::new(hotspot, *jvmti, env));
        (*mounted)?.id_and_name(registry, (tid, serial), env)
    }

    fn make_ids(&mut self) {
        if virtual_threads::may_exist() {
            self.resolver.make_ids(self.env);
        }
    }

    fn wait_targets(
        &mut self,
        threads: &[(u32, u32)],
        locks: usize,
        owners: usize,
    ) -> Vec<Option<WaitTarget>> {
        let stacks = &mut self.state.stacks;
        stacks.find(threads, self.env);
        let each = threads.iter().enumerate();
        each.map(|(row, (tid, serial))| {
            let query = WaitQuery { is_lock: row < locks, with_owner: row < owners };
            stacks.wait_target(*tid, *serial, query, self.env)
        })
        .collect()
    }

    fn is_alive(&mut self, object: WeakObject) -> bool {
        // SAFETY: the environment is the calling thread's. A reference is forgotten only once.
        unsafe { live_objects::is_alive(self.env.get_raw(), object) }
    }

    fn forget(&mut self, object: WeakObject) {
        // SAFETY: as above.
        unsafe { live_objects::delete(self.env.get_raw(), object) }
    }

    fn code_at(&mut self, pc: usize) -> CodeAt {
        let JvmState { compiled, code, walker, .. } = &self.state;
        let is_guarded = walker.is_some_and(|walker| !walker.unguarded.load(Relaxed));
        let memory = CodeMemory::new(&[], is_guarded);
        code.as_ref()
            .map_or(CodeAt::Other, |layout| top::code_at(pc, top::Code { layout, compiled }, &memory))
    }

    fn top_at(&mut self, pc: usize) -> Option<TopFrame> {
        top::top_at(pc, self.state.code()?)
    }

    fn inlined_at(&mut self, site: Site, walked: &[Frame]) -> Option<InlinedFrames> {
        let (walker, code_cache) = (self.state.walker?, self.state.code?.code_cache?);
        let (mut top_frames, compiled) = (take(&mut self.state.top_frames), take(&mut self.state.compiled));
        let mut bytecode = |id: MethodId| {
            let resolved = self.resolve(id, u64::MAX);
            let body = self.method(resolved).map(|method| self.body(&method).1);
            match body {
                Some(Body::Code(code)) => Some(code),
                _ => None,
            }
        };
        let inlined = top_frames.at((walker, &code_cache, &compiled), site, walked, &mut bytecode);
        (self.state.top_frames, self.state.compiled) = (top_frames, compiled);
        inlined
    }

    fn neighbouring_runs(&self) -> Power {
        self.state.top_frames.neighbouring_runs()
    }

    fn top(&mut self, post: &PostedThread) -> Top {
        let java_thread = self.state.registry.slot(post.tid, post.serial).map(|(_, java_thread)| java_thread);
        match (java_thread, self.state.code()) {
            (Some(java_thread), Some(code)) => top::top(post.at, java_thread, code),
            _ => Top::default(),
        }
    }
}
