//! The JVM itself, asked by JVMTI and JNI, on the agent's thread.
//!
//! A method is asked about only while a reference to its class is held: the class is of a loader
//! that is never collected, or taken from a weak reference first.

use std::mem::take;
use std::sync::atomic::Ordering::Relaxed;

use jni::JNIEnv;
use jni::objects::{JClass, JObject, JValueOwned};
use jni_sys::jmethodID;
use once_cell::unsync::OnceCell;
use vouch_hotspot::HotSpot;
use vouch_hotspot::fields;
use vouch_hotspot::jvm_layouts::JvmLayouts;
use vouch_hotspot::nmethods::CodeMemory;
use vouch_hotspot::vmstructs::{CodeLayout, read_flag};
use vouch_report::Power;
use vouch_sample::{Frame, MethodId, ResolvedFrame, ResolvedMethod};
use vouch_signal::witness_rendezvous::PostedThread;
use vouch_verify::proof::{Body, Code, Gone, Pool, Relation};
use vouch_walk::hotspot::HotspotWalker;

use super::mounted::Mounted;
use super::stacks::{Stacks, Wants};
use super::top_frames::{Notes, TopFrames};
use super::{CodeAt, InlinedFrames, Jvm, Site, Top, TopFrame, Wanted, Witnessed, relations, top};
use crate::facade::{Jvmti, Modifier};
use crate::java;
use crate::resolve::{Handle, Method, Resolver};
use crate::threads::Registry;
use crate::virtual_threads;

/// What is kept from one question to the next.
#[derive(Debug)]
pub struct Questions {
    jvmti: Jvmti,
    hotspot: HotSpot,
    /// Before JDK 17 a class without a name of its own may have had its constants patched with
    /// objects, and a JVM that is asked for them crashes.
    patches: bool,
    launched: bool,
    stacks: Stacks,
    registry: &'static Registry,
    /// `None`: this JVM's VMStructs are not as expected.
    code: Option<CodeLayout>,
    /// It can read debug information; `None` if this JVM's is not as expected.
    own: Option<&'static HotspotWalker>,
    top_frames: TopFrames,
    /// Tried once a virtual thread's name is missing.
    mounted: OnceCell<Option<Mounted>>,
}

impl Questions {
    pub fn new(jvmti: Jvmti, hotspot: HotSpot, registry: &'static Registry, layouts: &JvmLayouts) -> Self {
        let patches = jvmti.jdk().is_none_or(|jdk| jdk < 17);
        // That, the JDK's own launcher says of itself, and no other program does.
        let launched = jvmti.system_property(c"sun.java.launcher").is_some_and(|who| who == "SUN_STANDARD");
        // Another compiler in C2's stead has other debug information.
        let is_jvmci = jvmti.system_property(c"java.vm.version").is_none_or(|vm| vm.contains("jvmci"));
        let notes = Notes {
            are_reliable: jvmti.jdk().is_some_and(|jdk| jdk >= 21) && !is_jvmci,
            are_requested: read_flag(&hotspot, &fields::DEBUG_NON_SAFEPOINTS).unwrap_or(false),
        };
        Self {
            jvmti,
            hotspot,
            patches,
            launched,
            stacks: Stacks::new(jvmti, registry),
            registry,
            code: layouts.code,
            own: layouts.walker.as_ref().ok().copied(),
            top_frames: TopFrames::new(notes),
            mounted: OnceCell::new(),
        }
    }

    /// On the calling thread.
    pub fn on<'a, 'e>(&'a mut self, resolver: &'a Resolver, env: &'a mut JNIEnv<'e>) -> Live<'a, 'e> {
        Live { questions: self, resolver, env }
    }
}

/// A JVM that can be asked, on one thread.
pub struct Live<'a, 'e> {
    questions: &'a mut Questions,
    resolver: &'a Resolver,
    env: &'a mut JNIEnv<'e>,
}

impl Live<'_, '_> {
    /// Asks with a reference to the method's class held; `None` if the class is gone.
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
    fn meaning(&mut self, id: MethodId, time: u64) -> ResolvedMethod {
        self.resolver.meaning(self.env, id, time)
    }

    fn meant(&mut self, frames: &[Frame], time: u64, meant: &mut Vec<ResolvedFrame>) {
        self.resolver.meant(self.env, frames, time, meant);
    }

    fn method(&mut self, meaning: ResolvedMethod) -> Option<Method> {
        self.resolver.method(self.env, meaning)
    }

    fn met_obsolete(&self) -> bool {
        self.resolver.met_obsolete()
    }

    fn body(&mut self, method: &Method) -> (bool, Body) {
        let (jvmti, raw) = (self.questions.jvmti, method.id.0 as jmethodID);
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
            Handle::Stays => ask(),
            Handle::May(_) | Handle::Gone => self.with_class(method, |_, _| ask()),
        };
        found.unwrap_or((false, Body::Gone(Gone::Unloaded)))
    }

    fn constants(&mut self, method: &Method) -> Option<Pool> {
        let jvmti = self.questions.jvmti;
        if self.questions.patches && method.class.hidden {
            return None;
        }
        self.with_class(method, |_, class| {
            let constants = jvmti.constants(class.as_raw()).ok()?;
            Some(Pool::new(constants.bytes.to_vec(), constants.count))
        })
    }

    fn was_redefined(&mut self, method: &Method) -> bool {
        self.with_class(method, |env, class| {
            // The VM counts in a field of the class object's.
            let count = env.get_field(class, "classRedefinedCount", "I").and_then(JValueOwned::i);
            java::cleared(env, count)
        })
        .is_some_and(|count| count > 0)
    }

    fn relation(&mut self, caller: &Method, candidates: &[Method], callee: &Method) -> Relation {
        relations::relation(self.questions.jvmti, self.resolver, self.env, caller, candidates, callee)
    }

    fn is_of_thread(&mut self, method: &Method) -> bool {
        let Self { questions, resolver, env } = self;
        let found = env.with_local_frame(64, |env| -> jni::errors::Result<bool> {
            let mut next = resolver.class_of(env, method);
            while let Some(class) = next.take() {
                if questions.jvmti.class_signature(class.as_raw()).as_deref() == Ok("Ljava/lang/Thread;") {
                    return Ok(true);
                }
                let superclass = env.get_superclass(JClass::from(class))?;
                next = superclass.map(Into::into);
            }
            Ok(false)
        });
        java::cleared(env, found).unwrap_or(false)
    }

    fn begins_with(&self, routine: usize) -> bool {
        self.questions.hotspot.contains(routine)
    }

    fn is_launched(&self) -> bool {
        self.questions.launched
    }

    fn stack(&mut self, tid: u32, serial: u32, asking: &mut dyn FnMut()) -> Option<Witnessed> {
        self.questions.stacks.ask(tid, serial, asking, self.env)
    }

    fn mounted(&mut self, tid: u32, serial: u32) -> Option<(u64, String)> {
        let Self { questions: Questions { mounted, hotspot, jvmti, registry, .. }, env, .. } = self;
        let mounted = mounted.get_or_init(|| Mounted::new(hotspot, *jvmti, env));
        (*mounted)?.ask(registry, (tid, serial), env)
    }

    fn make_ids(&mut self) {
        if virtual_threads::may_exist() {
            self.resolver.make_ids(self.env);
        }
    }

    fn wanted(&mut self, threads: &[(u32, u32)], locks: usize, owners: usize) -> Vec<Option<Wanted>> {
        let stacks = &mut self.questions.stacks;
        stacks.find(threads, self.env);
        let each = threads.iter().enumerate();
        each.map(|(row, (tid, serial))| {
            let wants = Wants { lock: row < locks, owner: row < owners };
            stacks.wanted(*tid, *serial, wants, self.env)
        })
        .collect()
    }

    fn code_at(&mut self, pc: usize) -> CodeAt {
        let Questions { code, own, .. } = &self.questions;
        let is_guarded = own.is_some_and(|own| !own.unguarded.load(Relaxed));
        let memory = CodeMemory::new(&[], is_guarded);
        code.as_ref().map_or(CodeAt::Other, |code| top::code_at(pc, code, &memory))
    }

    fn top_at(&mut self, pc: usize) -> Option<TopFrame> {
        self.questions.code.as_ref().and_then(|code| top::top_at(pc, code))
    }

    fn inlined_at(&mut self, site: Site, walked: &[Frame]) -> Option<InlinedFrames> {
        let (own, blobs) = (self.questions.own?, self.questions.code?.code_cache?);
        let mut top_frames = take(&mut self.questions.top_frames);
        let mut bytecode = |id: MethodId| {
            let meaning = self.meaning(id, u64::MAX);
            let body = self.method(meaning).map(|method| self.body(&method).1);
            match body {
                Some(Body::Code(code)) => Some(code),
                _ => None,
            }
        };
        let inlined = top_frames.at((own, &blobs), site, walked, &mut bytecode);
        self.questions.top_frames = top_frames;
        inlined
    }

    fn neighbouring_runs(&self) -> Power {
        self.questions.top_frames.neighbouring_runs()
    }

    fn top(&mut self, post: &PostedThread) -> Top {
        let Questions { code, registry, .. } = &self.questions;
        let place = registry.slot(post.tid, post.serial).map(|(_, java_thread)| java_thread);
        match (place, code) {
            (Some(java_thread), Some(code)) => top::top(post.at, java_thread, code),
            _ => Top::default(),
        }
    }
}
