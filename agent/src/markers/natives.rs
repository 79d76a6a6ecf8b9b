//! The Java library's native methods for markers. Each only catches panics and calls the
//! implementation.

use std::ffi::c_void;

use jni::objects::{JClass, JIntArray, JLongArray, JObjectArray, JString};
use jni::{JNIEnv, NativeMethod};
use jni_sys::{jboolean, jint, jlong};
use vouch_recording::Unit;
use vouch_sample::MAX_VALUES;

use super::{ProgramMarkerKind, markers};
use crate::events::event_type::Row;
use crate::fault::guard;
use crate::java;
use crate::library::native::method;

/// Converts the library's number for a unit.
const UNITS: [Unit; 6] =
    [Unit::Text, Unit::Count, Unit::Bytes, Unit::Nanoseconds, Unit::Decimal, Unit::Percentage];

pub fn methods() -> [NativeMethod; 2] {
    let marker =
        "(Ljava/lang/String;Ljava/lang/String;Ljava/lang/String;[Ljava/lang/String;[Ljava/lang/String;[I)I";
    [
        method("marker", marker, self::marker as *const c_void),
        method("mark", "(IJJ[J[Ljava/lang/String;Z)V", self::mark as *const c_void),
    ]
}

/// Returns the number of a class of markers, or 0 if it has none.
extern "system" fn marker(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    class: JString<'_>,
    label: JString<'_>,
    description: JString<'_>,
    keys: JObjectArray<'_>,
    labels: JObjectArray<'_>,
    shapes: JIntArray<'_>,
) -> jint {
    let env = &mut env;
    guard(None, || {
        let [class, label, description] =
            [class, label, description].map(|text| java::text(env, text.into()));
        let (keys, labels) = (java::texts(env, &keys)?, java::texts(env, &labels)?);
        let mut units = [0; MAX_VALUES];
        let units = units.get_mut(..keys.len())?;
        let got = env.get_int_array_region(&shapes, 0, units);
        java::cleared(env, got)?;
        let unit = |shape: &jint| UNITS.get(usize::try_from(*shape).ok()?).copied();
        let fields = keys.into_iter().zip(labels).zip(&*units);
        let fields = fields.map(|((key, label), shape)| Some((key, label, unit(shape)?)));
        let kind = ProgramMarkerKind {
            class: class?,
            label: label?,
            description: description?,
            fields: fields.collect::<Option<_>>()?,
        };
        Some(markers().number(kind).cast_signed())
    })
    .unwrap_or(0)
}

/// Records a marker of the calling thread. `numbers` has a value for each field, and `texts` has
/// the text of each text field. A kind of 0 has no number and is only counted.
extern "system" fn mark(
    mut env: JNIEnv<'_>,
    _: JClass<'_>,
    marker: jint,
    began: jlong,
    ended: jlong,
    numbers: JLongArray<'_>,
    texts: JObjectArray<'_>,
    with_stack: jboolean,
) {
    let env = &mut env;
    guard((), || {
        let Some(row) = markers().row(marker.cast_unsigned()) else { return markers().count_lost() };
        let (began, ended) = (u64::try_from(began).unwrap_or(0), u64::try_from(ended).unwrap_or(0));
        let Some((began, ended)) = markers().shown_times(row, began, ended) else { return };
        match read_values(env, row, &numbers, &texts) {
            Some((values, texts)) => {
                row.emit_here_with(began, ended, values, &texts, with_stack != 0);
            }
            None => markers().count_lost(),
        }
    });
}

/// Reads the values and the joined texts of a marker. The value of a text field is the length of
/// its text in bytes. Returns `None` if they cannot be read.
fn read_values(
    env: &mut JNIEnv<'_>,
    row: &Row,
    numbers: &JLongArray<'_>,
    texts: &JObjectArray<'_>,
) -> Option<([u64; MAX_VALUES], String)> {
    let fields = row.marker.fields;
    let mut raw = [0; MAX_VALUES];
    let copied = env.get_long_array_region(numbers, 0, raw.get_mut(..fields.len())?);
    java::cleared(env, copied)?;
    let mut values = raw.map(i64::cast_unsigned);
    let mut texts = java::texts(env, texts)?.into_iter();
    let mut all = String::new();
    for (value, field) in values.iter_mut().zip(fields) {
        if field.unit == Unit::Text {
            let text = texts.next()?;
            *value = text.len() as u64;
            all.push_str(&text);
        }
    }
    Some((values, all))
}
