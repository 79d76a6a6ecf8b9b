//! `vouch view`: serves a profile to the Firefox Profiler, from this machine, for as long as somebody looks at it.
//!
//! Nobody must get anything from it but the profile, and that only who has been told the address: another page in the same browser, another
//! user of the machine or a name that a stranger points here gets nothing. The front-end's own files are no secret.

mod ui;

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use tiny_http::{Header, Method, Request, Response, Server};

use crate::document;
use ui::FrontEnd;

/// Where the front-end is, if nobody has one of his own.
const PUBLIC: &str = "https://profiler.firefox.com";

#[derive(Args)]
pub struct How {
    /// A build of the front-end, a folder or a zip archive: then no network is needed
    #[arg(long, value_name = "DIR|ZIP", conflicts_with = "front_end")]
    ui: Option<PathBuf>,
    /// Another place where the front-end is served
    #[arg(long, value_name = "ADDRESS", default_value = PUBLIC)]
    front_end: String,
    /// Only print the address
    #[arg(long)]
    no_open: bool,
    /// The port [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// End after so many minutes in which nothing was asked for
    #[arg(long, value_name = "MINUTES", default_value_t = 30.0)]
    idle: f64,
}

/// Serves until nobody asks any more.
pub fn view(profile: &Path, how: &How) -> Result<String, String> {
    document::is_profile(profile)?;
    let ui = how.ui.as_deref().map(FrontEnd::open).transpose()?;
    let idle = Duration::try_from_secs_f64(60.0 * how.idle).map_err(|error| format!("--idle: {error}"))?;
    let listening = Server::http(SocketAddr::from((Ipv4Addr::LOCALHOST, how.port)));
    let server = listening.map_err(|error| format!("port {}: {error}: choose another one", how.port))?;
    let port = server.server_addr().to_ip().map_or(how.port, |address| address.port());
    let own = format!("http://127.0.0.1:{port}");
    let site = Arc::new(Site {
        front_end: if ui.is_some() { own.clone() } else { origin(&how.front_end)? },
        hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
        path: format!("/{}/{}", token()?, name(profile)),
        profile: profile.to_owned(),
        ui,
    });
    let from = if site.ui.is_some() { &own } else { how.front_end.trim_end_matches('/') };
    let address = format!("{from}/from-url/{}", encoded(&format!("{own}{}", site.path)));
    println!(
        "{address}\nserving {} on this machine alone; Ctrl-C ends it",
        vouch_report::plain(&profile.to_string_lossy())
    );
    let _ = io::stdout().flush();
    if !how.no_open {
        open(&address);
    }
    let mut last = Instant::now();
    while let Some(left) = idle.checked_sub(last.elapsed()) {
        match server.recv_timeout(left) {
            Ok(Some(request)) => {
                let site = Arc::clone(&site);
                // Who reads slowly holds up nobody else.
                std::thread::spawn(move || site.respond(request));
                last = Instant::now();
            }
            Ok(None) => {}
            Err(error) => return Err(format!("nothing can be served any more: {error}")),
        }
    }
    Ok("nobody asked for it any more\n".to_owned())
}

/// What is served, and to whom.
struct Site {
    /// The one origin whose pages may read the profile.
    front_end: String,
    /// By which names it may be asked: any other is a stranger's that was made to lead here.
    hosts: [String; 2],
    /// Of the profile; nobody can guess it.
    path: String,
    profile: PathBuf,
    ui: Option<FrontEnd>,
}

type Answer = Response<Box<dyn Read + Send>>;

impl Site {
    fn respond(&self, request: Request) {
        let answer = self.answer(&request);
        // Who has gone away misses nothing.
        let _ = request.respond(answer);
    }

    fn answer(&self, request: &Request) -> Answer {
        let header = |name: &'static str| {
            let mut all = request.headers().iter().filter(|header| header.field.equiv(name));
            all.next().map(|header| header.value.as_str())
        };
        if !header("Host").is_some_and(|host| self.hosts.iter().any(|own| own == host)) {
            return nothing(403);
        }
        let origin = header("Origin");
        let is_own = |origin: &str| {
            origin == self.front_end
                || (self.ui.is_some()
                    && self.hosts.iter().any(|host| origin.strip_prefix("http://") == Some(host)))
        };
        if !origin.is_none_or(is_own) {
            return nothing(403);
        }
        let path = request.url().split(['?', '#']).next().unwrap_or_default();
        match request.method() {
            Method::Options if path == self.path => {
                let allows = [
                    ("Access-Control-Allow-Methods", "GET"),
                    ("Access-Control-Allow-Private-Network", "true"),
                ];
                with(readable(nothing(204), origin), &allows)
            }
            Method::Get | Method::Head if path == self.path => match File::open(&self.profile) {
                Ok(file) => {
                    let length = file.metadata().ok().and_then(|file| usize::try_from(file.len()).ok());
                    let answer = Response::new(200.into(), Vec::new(), Box::new(file) as _, length, None);
                    readable(with(answer, &[("Content-Type", "application/octet-stream")]), origin)
                }
                Err(_) => nothing(404),
            },
            Method::Get | Method::Head => match self.ui.as_ref().and_then(|ui| ui.file(path)) {
                Some((kind, bytes)) => {
                    let length = bytes.len();
                    let answer = Response::new(
                        200.into(),
                        Vec::new(),
                        Box::new(io::Cursor::new(bytes)) as _,
                        Some(length),
                        None,
                    );
                    with(answer, &[("Content-Type", kind), ("X-Frame-Options", "DENY")])
                }
                None => nothing(404),
            },
            _ => nothing(405),
        }
    }
}

/// Lets the page that asked read it.
fn readable(answer: Answer, origin: Option<&str>) -> Answer {
    let Some(origin) = origin else { return answer };
    with(answer, &[("Access-Control-Allow-Origin", origin), ("Vary", "Origin")])
}

fn nothing(status: u16) -> Answer {
    Response::new(status.into(), Vec::new(), Box::new(io::empty()) as _, Some(0), None)
}

fn with(mut answer: Answer, headers: &[(&str, &str)]) -> Answer {
    const ALWAYS: [(&str, &str); 3] = [
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
        ("Cross-Origin-Resource-Policy", "same-origin"),
    ];
    for (name, value) in headers.iter().chain(&ALWAYS) {
        if let Ok(header) = Header::from_bytes(name.as_bytes(), value.as_bytes()) {
            answer.add_header(header);
        }
    }
    answer
}

/// 128 bits that nobody can guess.
fn token() -> Result<String, String> {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes));
    read.map_err(|error| format!("/dev/urandom cannot be read: {error}"))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// A name that the front-end shows, and that needs no encoding in a path.
fn name(profile: &Path) -> String {
    let name = profile.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

/// As it stands in an address behind another one.
fn encoded(address: &str) -> String {
    let encode = |byte: u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    address.bytes().map(encode).collect()
}

/// `https://host` of an address.
fn origin(address: &str) -> Result<String, String> {
    let rest =
        ["https://", "http://"].iter().find_map(|scheme| Some((*scheme, address.strip_prefix(scheme)?)));
    match rest.map(|(scheme, rest)| (scheme, rest.split('/').next().unwrap_or_default())) {
        Some((scheme, host)) if !host.is_empty() => Ok(format!("{scheme}{host}")),
        _ => Err(format!("--front-end {address}: must be an address, as in {PUBLIC}")),
    }
}

/// In the user's browser, if there is one.
fn open(address: &str) {
    let browser = Command::new("xdg-open")
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if browser.is_err() {
        println!("open the address above in a browser");
    }
}
