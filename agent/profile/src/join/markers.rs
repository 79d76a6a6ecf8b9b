//! Converts the data of markers to the joined profile.

use crate::error::Error;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::join::clock::shifted;
use crate::join::conversion::Conversion;

/// Replaces the references in a marker's data by those of the joined profile.
pub fn data(data: &RawValue, conversion: &mut Conversion<'_>) -> Result<Box<RawValue>, Error> {
    let Some(mut data) =
        serde_json::from_str::<Option<Map<String, Value>>>(data.get()).map_err(Error::MarkerShape)?
    else {
        return Ok(data.to_owned());
    };
    let row = |value: &Value| value.as_u64().and_then(|row| usize::try_from(row).ok());
    if let Some(kind) = data.get("type").and_then(Value::as_str).and_then(|own| conversion.kinds.get(own)) {
        data.insert("type".to_owned(), kind.name.as_str().into());
        for text in &kind.texts {
            if let Some(string) = data.get(text).and_then(row) {
                data.insert(text.clone(), conversion.row_map.string(string)?.into());
            }
        }
        if kind.has_number
            && let Some(number) = data.get("number").and_then(row)
        {
            data.insert("number".to_owned(), (conversion.number)(number).into());
        }
    }
    if let Some(Value::Object(cause)) = data.get_mut("cause") {
        if let Some(stack) = cause.get("stack").and_then(row) {
            cause.insert("stack".to_owned(), conversion.row_map.stack(stack)?.into());
        }
        if let Some(time) = cause.get("time").and_then(Value::as_f64) {
            cause.insert("time".to_owned(), shifted(time, conversion.shift_ms).into());
        }
    }
    to_raw_value(&data).map_err(Error::MarkerShape)
}
