//! Implements `vouch view`, which serves a profile to the Firefox Profiler from this machine, for
//! as long as a browser uses it.
//!
//! It must serve only the profile, and only to a client that has the address. Other pages in the
//! same browser, other users of the machine, and foreign host names that resolve to it must get
//! nothing. The front-end's own files are no secret.

mod server;
mod ui;

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use clap::Args;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

use crate::document;
use crate::error::Error;
use crate::run::without_ignored;
use server::{Answer, Asked};
use ui::FrontEnd;

/// The address of the public front-end.
const PUBLIC: &str = "https://profiler.firefox.com";

#[derive(Args)]
pub struct ViewOptions {
    /// Serve this build of the front-end, a folder or a zip archive: no network is needed then
    #[arg(long, value_name = "DIR|ZIP", conflicts_with = "front_end")]
    ui: Option<PathBuf>,
    /// Use the front-end at this address
    #[arg(long, value_name = "ADDRESS", default_value = PUBLIC)]
    front_end: String,
    /// Print the address, and open no browser
    #[arg(long)]
    no_open: bool,
    /// Listen on this port [default: a free one]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Exit after this many idle minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 30.0)]
    idle: f64,
}

/// Serves the profile until no requests have come for the idle time.
pub fn view(profile: &Path, how: &ViewOptions) -> Result<String, Error> {
    document::is_profile(profile)?;
    let ui = how.ui.as_deref().map(FrontEnd::open).transpose()?;
    let idle = Duration::try_from_secs_f64(60.0 * how.idle).map_err(Error::Idle)?;
    let wished = how.port.unwrap_or(0);
    let listening = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, wished)));
    let taken = |why| Error::Port { port: wished, why };
    let listener = listening.map_err(taken)?;
    let port = listener.local_addr().map_err(taken)?.port();
    let own = format!("http://127.0.0.1:{port}");
    let site = Site {
        front_end: if ui.is_some() { own.clone() } else { origin(&how.front_end)? },
        hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
        path: format!("/{}/{}", token()?, name(profile)),
        profile: profile.to_owned(),
        ui,
    };
    let from = if site.ui.is_some() { &own } else { how.front_end.trim_end_matches('/') };
    let address = format!("{from}/from-url/{}", encoded(&format!("{own}{}", site.path)));
    // The server runs also if stdout is closed.
    let _ = writeln!(
        io::stdout(),
        "{address}\nserving {} on this machine alone; Ctrl-C ends it",
        vouch_report::plain(&profile.to_string_lossy())
    );
    let _ = io::stdout().flush();
    let opened = if how.no_open { None } else { open(&address) };
    if let Some(opened) = opened.clone() {
        take_away_at_end(opened);
    }
    server::serve(listener, idle, move |asked| site.answer(asked));
    if let Some(opened) = opened {
        let _ = remove_file(opened);
    }
    Ok("stopped: nothing asked for the profile any more\n".to_owned())
}

/// Removes the file when a key or a signal ends this process.
fn take_away_at_end(file: PathBuf) {
    let Ok(mut signals) = Signals::new(without_ignored(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM])) else { return };
    thread::spawn(move || {
        for signal in signals.forever() {
            let _ = remove_file(&file);
            let _ = emulate_default_handler(signal);
        }
    });
}

/// The profile that is served, and the clients that may have it.
struct Site {
    /// The one origin with pages that may read the profile.
    front_end: String,
    /// The host names that a request may use. Any other name is a foreign one that was made to
    /// resolve to this machine.
    hosts: [String; 2],
    /// The path of the profile. It cannot be guessed.
    path: String,
    profile: PathBuf,
    ui: Option<FrontEnd>,
}

impl Site {
    fn answer(&self, asked: &Asked) -> Answer {
        if !asked.host.as_ref().is_some_and(|host| self.hosts.contains(host)) {
            return Answer::nothing(403);
        }
        let is_own = |origin: &String| {
            let own = |host: &String| origin.strip_prefix("http://") == Some(host);
            *origin == self.front_end || (self.ui.is_some() && self.hosts.iter().any(own))
        };
        if !asked.origin.as_ref().is_none_or(is_own) {
            return Answer::nothing(403);
        }
        let path = asked.path.split(['?', '#']).next().unwrap_or_default();
        match asked.method.as_str() {
            "OPTIONS" if path == self.path => {
                let mut answer = readable(Answer::nothing(204), asked);
                answer.header("Access-Control-Allow-Methods", "GET");
                answer.header("Access-Control-Allow-Private-Network", "true");
                answer
            }
            "GET" | "HEAD" if path == self.path => match File::open(&self.profile) {
                Ok(file) => readable(Answer::file(file, "application/octet-stream"), asked),
                Err(_) => Answer::nothing(404),
            },
            "GET" | "HEAD" => match self.ui.as_ref().and_then(|ui| ui.file(path)) {
                Some((kind, bytes)) => {
                    let mut answer = Answer::bytes(bytes, kind);
                    answer.header("X-Frame-Options", "DENY");
                    answer
                }
                None => Answer::nothing(404),
            },
            _ => Answer::nothing(405),
        }
    }
}

/// Allows the page that sent the request to read the answer.
fn readable(mut answer: Answer, asked: &Asked) -> Answer {
    if let Some(origin) = &asked.origin {
        answer.header("Access-Control-Allow-Origin", origin);
        answer.header("Vary", "Origin");
    }
    answer
}

/// Returns 128 random bits as text.
fn token() -> Result<String, Error> {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes));
    read.map_err(|why| Error::unreadable(Path::new("/dev/urandom"), why))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// Returns a name for the front-end to show, which needs no encoding in a path.
fn name(profile: &Path) -> String {
    let name = profile.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
    name.chars().map(plain).collect()
}

/// Encodes an address for the path of another address.
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

/// Returns the origin of an address, such as `https://host`.
fn origin(address: &str) -> Result<String, Error> {
    let rest =
        ["https://", "http://"].iter().find_map(|scheme| Some((*scheme, address.strip_prefix(scheme)?)));
    match rest.map(|(scheme, rest)| (scheme, rest.split('/').next().unwrap_or_default())) {
        Some((scheme, host)) if !host.is_empty() => Ok(format!("{scheme}{host}")),
        _ => Err(Error::FrontEnd { address: address.to_owned(), example: PUBLIC }),
    }
}

/// Opens the address in the user's browser. The address is passed in a file, since all users can
/// see a program's arguments. Returns the file, which must be removed later.
fn open(address: &str) -> Option<PathBuf> {
    let file = std::env::temp_dir().join(format!("vouch-{}.html", token().ok()?));
    let page = format!("<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0; url={address}\">");
    let new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file);
    new.and_then(|mut new| new.write_all(page.as_bytes())).ok()?;
    let quiet = || Stdio::null();
    let browser = Command::new("xdg-open").arg(&file).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if browser.is_err() {
        let _ = remove_file(&file);
        let _ = writeln!(io::stdout(), "open the address above in a browser");
        return None;
    }
    Some(file)
}
