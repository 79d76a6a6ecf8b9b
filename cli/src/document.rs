//! What kind of file is this: a trust report, a profile that carries one, or something else?
//!
//! The bytes decide, not the name. Whatever is wrong with a file is said in one sentence that names it.

use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The trust report that a file is, or carries.
pub fn report(file: &Path) -> Result<Value, String> {
    let name = file.display();
    let bytes = fs::read(file).map_err(|error| format!("{name} cannot be read: {error}"))?;
    // One byte of a gzip file is one that was cut short.
    let text = if bytes.starts_with(&GZIP) || bytes == GZIP[..1] {
        let mut text = Vec::new();
        let unpacked = MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text);
        unpacked.map_err(|error| format!("{name} is a damaged gzip file, cut short perhaps: {error}"))?;
        text
    } else {
        bytes
    };
    let mut document: Value = serde_json::from_slice(&text).map_err(|error| {
        if error.is_eof() && !text.is_empty() {
            format!("{name} is JSON that was cut short: {error}")
        } else {
            format!("{name} is no JSON, so neither a trust report nor a profile: {error}")
        }
    })?;
    if is_report(&document) {
        return Ok(document);
    }
    if document.get("vouch").is_some_and(Value::is_string) {
        return Err(format!("{name} is a trust report without refutations, an older Vouch's: record again"));
    }
    match document.get_mut("meta") {
        None => Err(format!("{name} is neither a trust report (report=…) nor a profile (out=…) of Vouch's")),
        Some(meta) => match meta.get_mut("vouch").map(Value::take) {
            Some(report) if is_report(&report) => Ok(report),
            Some(_) => Err(format!(
                "{name} carries a trust report of a shape that this vouch does not know: use a newer one"
            )),
            None => Err(format!(
                "{name} is a profile without a trust report: another tool's, or an older Vouch's"
            )),
        },
    }
}

/// True for a report that proof has part in.
fn is_report(document: &Value) -> bool {
    document.get("vouch").is_some_and(Value::is_string)
        && document.get("refutations").is_some_and(Value::is_array)
}
