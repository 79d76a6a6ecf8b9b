//! Finds the address of the Collector and the headers of a request, from the command line and from
//! the variables that OpenTelemetry's SDKs read.
//!
//! A header may be a password, so no error may contain its value.

use std::env;
use std::fs;
use std::path::Path;

use ureq::http::uri::PathAndQuery;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Uri};

use crate::error::Error;

/// The variable with the address of the Collector. The path of the signal is added to it.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The variable with headers: `name=value,name=value`, with `%` escapes.
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
/// The path at which a Collector receives profiles.
const PROFILES: &str = "/v1development/profiles";
/// Headers that describe the profile, and that `vouch send` sets itself.
const OWN_HEADERS: [&str; 4] = ["content-type", "content-encoding", "content-length", "host"];

/// Returns the address to which profiles are sent.
pub fn address(to: Option<&str>) -> Result<Uri, Error> {
    let variable = env::var(ENDPOINT).ok().filter(|address| !address.is_empty());
    let base = to.map(str::to_owned).or(variable).ok_or(Error::NoCollector(ENDPOINT))?;
    let base = base.trim();
    let wrong = |why| Error::CollectorAddress { address: without_password(base), why };
    let example = "write it as http://HOST:4318 or https://HOST:4318";
    let uri: Uri = base.parse().map_err(|_| wrong(example))?;
    let host = uri.host().unwrap_or_default();
    if host.is_empty() || !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong(example));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(wrong(
            "all users see it there: use --header or OTEL_EXPORTER_OTLP_HEADERS for a password",
        ));
    }
    if uri.query().is_some() {
        return Err(wrong(example));
    }
    let path = uri.path().trim_end_matches('/');
    let path = if path.ends_with(PROFILES) { path.to_owned() } else { format!("{path}{PROFILES}") };
    let mut parts = uri.into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(path).map_err(|_| wrong(example))?);
    Uri::from_parts(parts).map_err(|_| wrong(example))
}

/// Returns an address without the part before `@`, which may have a password.
fn without_password(address: &str) -> String {
    match address.rsplit_once('@') {
        Some((before, host)) => {
            let scheme = before.find("://").map_or("", |at| &before[..at + 3]);
            format!("{scheme}…@{host}")
        }
        None => address.to_owned(),
    }
}

/// Returns the headers of each request. Those of the command line replace those of the variable.
pub fn headers(options: &[String]) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    if let Ok(text) = env::var(HEADERS) {
        let pairs = vouch_formats::key_values(&text).ok_or(Error::HeaderVariable(HEADERS))?;
        for (name, value) in pairs {
            add(&mut headers, &name, &value)?;
        }
    }
    for option in options {
        match option.strip_prefix('@') {
            Some(file) => {
                let file = Path::new(file);
                let text = fs::read_to_string(file).map_err(|why| Error::unreadable(file, why))?;
                for line in text.lines().filter(|line| !line.trim().is_empty()) {
                    add_line(&mut headers, line).map_err(|why| why.about(file))?;
                }
            }
            None => add_line(&mut headers, option)?,
        }
    }
    Ok(headers)
}

/// Adds a header that is written as `NAME: VALUE`.
fn add_line(headers: &mut HeaderMap, line: &str) -> Result<(), Error> {
    let (name, value) = line.split_once(':').ok_or(Error::HeaderShape)?;
    add(headers, name, value)
}

fn add(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), Error> {
    let (name, wrong) = (name.trim(), |why| Error::Header { name: name.trim().to_owned(), why });
    let key = HeaderName::try_from(name).map_err(|_| wrong("this is no name of a header"))?;
    if OWN_HEADERS.contains(&key.as_str()) {
        return Err(wrong("vouch sets this header itself: leave it out"));
    }
    let mut value =
        HeaderValue::try_from(value.trim()).map_err(|_| wrong("its value has a control character"))?;
    value.set_sensitive(true);
    headers.insert(key, value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(to: &str) -> String {
        address(Some(to)).unwrap().to_string()
    }

    fn why(to: &str) -> String {
        address(Some(to)).unwrap_err().to_string()
    }

    #[test]
    fn the_path_of_profiles_is_added_once() {
        assert_eq!(path("http://localhost:4318"), "http://localhost:4318/v1development/profiles");
        assert_eq!(path("http://localhost:4318/"), "http://localhost:4318/v1development/profiles");
        assert_eq!(path("https://gate.example/otlp"), "https://gate.example/otlp/v1development/profiles");
        let whole = "http://[::1]:4318/v1development/profiles";
        assert_eq!(path(whole), whole);
    }

    #[test]
    fn an_address_that_cannot_be_used_is_refused_without_its_password() {
        for wrong in ["localhost:4318", "", "ftp://a:4318", "http://", "grpc://a:4317", "http://a/?x=1"] {
            assert!(why(wrong).contains("http://HOST:4318"), "{wrong}: {}", why(wrong));
        }
        for secret in ["http://moe:geheim@a:4318", "moe:geheim@a", "http://moe:ge@heim@a"] {
            assert!(!why(secret).contains("heim@"), "{}", why(secret));
        }
        assert!(why("http://moe:geheim@a:4318").contains("--header"));
    }

    #[test]
    fn headers_are_read_from_lines_and_files_and_their_values_stay_hidden() {
        let file = env::temp_dir().join(format!("vouch-headers-{}", std::process::id()));
        fs::write(&file, "Authorization: Bearer geheim\n\nX-Scope: a:b\n").unwrap();
        let from_file = format!("@{}", file.display());
        let found = headers(&[from_file.clone(), "x-scope: c".to_owned()]).unwrap();
        assert!(found["authorization"] == "Bearer geheim" && found["x-scope"] == "c");
        assert!(!format!("{found:?}").contains("geheim"));
        fs::write(&file, "Authorization geheim").unwrap();
        for wrong in [from_file.as_str(), "geheim", "a b: geheim", "Host: geheim", "a: geheim\u{7}"] {
            let why = headers(&[wrong.to_owned()]).unwrap_err().to_string();
            assert!(!why.contains("geheim"), "{why}");
        }
        fs::remove_file(&file).unwrap();
    }
}
