//! Sends one profile in one request, and judges the answer.
//!
//! It must never follow a redirect, because that would send the headers to another host. Of an
//! answer only the beginning is read.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::profiles::v1development::ExportProfilesServiceResponse;
use prost::Message;
use ureq::http::{HeaderMap, Response, StatusCode, Uri, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};
use vouch_report::{plain, shortened};

use crate::error::Error;

/// The variable with a file of certificates to trust instead of the system's.
const CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";
/// The Collector's default limit for the content of a request, in bytes before compression.
const DEFAULT_LIMIT: &str = "20 MiB before compression";
const CONNECT: Duration = Duration::from_secs(10);
const SEND: Duration = Duration::from_mins(1);
const ANSWER: Duration = Duration::from_secs(30);
/// At most this many bytes of an answer are read.
const MAX_ANSWER: u64 = 1 << 16;
/// At most this many characters of an answer are shown.
const MAX_SHOWN: usize = 200;

/// The outcome of a request.
#[derive(Debug)]
pub enum Outcome {
    /// The Collector has the file. It may have rejected some of its profiles.
    Accepted { rejected: u64, message: String },
    /// The Collector does not want this file. Sending it again would change nothing.
    Refused(String),
    /// The address, the permission or the certificate is wrong. That says nothing about the file.
    WrongAddress(String),
    /// The Collector cannot be reached, or asks to wait.
    Unavailable { why: String, wait: Option<Duration> },
}

/// Google's `Status`, with which OTLP answers a failure.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(string, tag = "2")]
    message: String,
}

pub struct Client {
    agent: Agent,
    address: Uri,
    headers: HeaderMap,
}

impl Client {
    pub fn new(address: Uri, headers: HeaderMap) -> Result<Self, Error> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("vouch/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(CONNECT))
            .timeout_connect(Some(CONNECT))
            .timeout_send_body(Some(SEND))
            .timeout_recv_response(Some(ANSWER))
            .timeout_recv_body(Some(ANSWER));
        let config = if address.scheme_str() == Some("https") { config.tls_config(tls()?) } else { config };
        Ok(Self { agent: config.build().new_agent(), address, headers })
    }

    /// Sends a file that is a complete request, compressed with gzip.
    pub fn send(&self, file: &File) -> Outcome {
        let mut request = self.agent.post(&self.address);
        if let Some(headers) = request.headers_mut() {
            headers.extend(self.headers.clone());
        }
        let request = request.header(header::CONTENT_ENCODING, "gzip").content_type("application/x-protobuf");
        match request.send(file) {
            Ok(mut response) => {
                let body = response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec();
                // The status alone says whether the file was accepted.
                judge(&response, &body.unwrap_or_default())
            }
            Err(why) => self.failed(why),
        }
    }

    /// Judges a request without an answer.
    fn failed(&self, why: ureq::Error) -> Outcome {
        if let Some(tls) = tls_error(&why) {
            let advice = match tls {
                rustls::Error::InvalidCertificate(_) => {
                    format!("{tls}: if you trust it, name the PEM file of its authority in {CERTIFICATE}")
                }
                _ => format!("{tls}: check that the server speaks https at this port"),
            };
            return Outcome::WrongAddress(advice);
        }
        let mut text = match why {
            ureq::Error::HostNotFound => "no host has this name".to_owned(),
            ureq::Error::Timeout(step) => format!("no answer in time ({step})"),
            ureq::Error::Io(why) if why.kind() == io::ErrorKind::ConnectionRefused => {
                "the connection was refused: check that a Collector listens there".to_owned()
            }
            other => other.to_string(),
        };
        if self.address.port_u16() == Some(4317) {
            text.push_str(" (4317 is the port of gRPC; OTLP over HTTP has 4318)");
        }
        Outcome::Unavailable { why: text, wait: None }
    }
}

/// Returns the error of TLS inside of an error.
fn tls_error(why: &ureq::Error) -> Option<&rustls::Error> {
    match why {
        ureq::Error::Rustls(why) => Some(why),
        ureq::Error::Io(why) => why.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// Returns the settings for https: the system's certificates, or those of the variable.
fn tls() -> Result<TlsConfig, Error> {
    let certificates = match std::env::var_os(CERTIFICATE).filter(|path| !path.is_empty()) {
        Some(path) => certificates_in(Path::new(&path))?,
        None => system_certificates()?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = RootCerts::new_with_certs(&certificates);
    Ok(TlsConfig::builder().unversioned_rustls_crypto_provider(provider).root_certs(roots).build())
}

fn certificates_in(path: &Path) -> Result<Vec<Certificate<'static>>, Error> {
    let pem = fs::read(path).map_err(|why| Error::unreadable(path, why))?;
    let found: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        return Err(Error::NoCertificate { variable: CERTIFICATE, path: path.to_owned() });
    }
    Ok(found)
}

fn system_certificates() -> Result<Vec<Certificate<'static>>, Error> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        return Err(Error::NoSystemCertificates(CERTIFICATE));
    }
    Ok(found.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}

/// Judges an answer. The statuses that ask for another attempt are those of OTLP's specification.
fn judge(response: &Response<Body>, body: &[u8]) -> Outcome {
    let status = response.status();
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let is_protobuf = header(header::CONTENT_TYPE).is_some_and(|kind| kind.contains("protobuf"));
    if status.is_success() && !is_protobuf && !body.is_empty() {
        let kind = header(header::CONTENT_TYPE).map(shown).unwrap_or_default();
        return Outcome::WrongAddress(format!(
            "it answered {status} with {kind}, which is no answer of a Collector: check the address"
        ));
    }
    if status.is_success() {
        let reply = ExportProfilesServiceResponse::decode(body).unwrap_or_default();
        let partial = reply.partial_success.filter(|_| is_protobuf).unwrap_or_default();
        let rejected = u64::try_from(partial.rejected_profiles).unwrap_or_default();
        return Outcome::Accepted { rejected, message: shown(&partial.error_message) };
    }
    let message = if is_protobuf {
        Status::decode(body).unwrap_or_default().message
    } else {
        String::from_utf8_lossy(body).into_owned()
    };
    let message = shown(&message);
    let separator = if message.is_empty() { "" } else { ": " };
    let why = format!("it answered {status}{separator}{message}");
    match status {
        StatusCode::REQUEST_TIMEOUT
        | StatusCode::TOO_MANY_REQUESTS
        | StatusCode::BAD_GATEWAY
        | StatusCode::SERVICE_UNAVAILABLE
        | StatusCode::GATEWAY_TIMEOUT => {
            let seconds = header(header::RETRY_AFTER).and_then(|seconds| seconds.trim().parse().ok());
            Outcome::Unavailable { why, wait: seconds.map(Duration::from_secs) }
        }
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::PROXY_AUTHENTICATION_REQUIRED => {
            Outcome::WrongAddress(format!("{why}; check --header or OTEL_EXPORTER_OTLP_HEADERS"))
        }
        StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Outcome::WrongAddress(format!(
            "{why}; check the address, and that the Collector has --feature-gates=service.profilesSupport and a pipeline of profiles"
        )),
        _ if status.is_redirection() => {
            let target = header(header::LOCATION).map(shown).unwrap_or_default();
            Outcome::WrongAddress(format!(
                "{why}; it names another address, {target}: pass that one with --to"
            ))
        }
        _ if status == StatusCode::PAYLOAD_TOO_LARGE || message.contains("body too large") => {
            Outcome::Refused(format!(
                "{why}; a Collector takes {DEFAULT_LIMIT}: raise max_request_body_size of its receiver, or record with a shorter every="
            ))
        }
        _ if is_protobuf => Outcome::Refused(why),
        // A Collector answers in the form of the request, so something else has answered.
        _ if status.is_server_error() => Outcome::Unavailable { why, wait: None },
        _ => Outcome::WrongAddress(format!("{why}; check that a Collector has this address")),
    }
}

/// Returns a foreign text as it can be shown in a line.
fn shown(text: &str) -> String {
    shortened(&plain(text.trim()), MAX_SHOWN)
}
