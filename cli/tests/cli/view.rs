//! Tests of what `vouch view` serves, and to which clients. The real binary is asked over its
//! socket, as a browser or a stranger would.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const PROFILE: &str = r#"{"meta":{"vouch":{"vouch":"0"}},"threads":[]}"#;

struct Serving {
    child: Child,
    /// The address that the server prints first.
    address: String,
    host: String,
    path: String,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("view").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn command(profile: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vouch"));
    command.arg("view").arg(profile).arg("--no-open").args(arguments);
    command
}

fn serve(profile: &Path, arguments: &[&str]) -> Serving {
    let mut child = command(profile, arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut address).unwrap();
    let address = address.trim().to_owned();
    let inner = address.split_once("/from-url/").unwrap().1.replace("%3A", ":").replace("%2F", "/");
    let (host, path) = inner.strip_prefix("http://").unwrap().split_once('/').unwrap();
    Serving { child, address, host: host.to_owned(), path: format!("/{path}") }
}

impl Serving {
    /// Sends a request, and returns the status, head and body of the answer.
    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
        let host =
            headers.iter().find(|(name, _)| *name == "Host").map_or(self.host.as_str(), |(_, host)| host);
        let mut more = String::new();
        for (name, value) in headers.iter().filter(|(name, _)| *name != "Host") {
            more.extend([name, ": ", value, "\r\n"]);
        }
        write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n")
            .unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_lowercase(), answer[end + 4..].to_vec())
    }

    fn status(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> u16 {
        let (status, _, body) = self.ask(method, path, headers);
        assert!(status == 200 || body.is_empty(), "{path} {headers:?}: refused, and something is said");
        status
    }
}

fn profile(name: &str) -> PathBuf {
    let file = folder(name).join("a b.json");
    fs::write(&file, PROFILE).unwrap();
    file
}

#[test]
fn the_front_end_gets_the_profile() {
    let serving = serve(&profile("public"), &[]);
    assert!(
        serving.address.starts_with("https://profiler.firefox.com/from-url/http%3A%2F%2F127.0.0.1%3A"),
        "{}",
        serving.address
    );
    let origin = [("Origin", "https://profiler.firefox.com")];
    let (status, head, body) = serving.ask("GET", &serving.path, &origin);
    assert_eq!((status, body.as_slice()), (200, PROFILE.as_bytes()));
    assert!(head.contains("access-control-allow-origin: https://profiler.firefox.com"), "{head}");
    let (status, head, _) = serving.ask("OPTIONS", &serving.path, &origin);
    assert!(status == 204 && head.contains("access-control-allow-private-network: true"), "{head}");
    // A saved page, or another tool of the user, may fetch the profile if it has the address.
    assert_eq!(serving.status("GET", &serving.path, &[]), 200);
    assert_eq!(serving.status("HEAD", &serving.path, &[]), 200);
}

#[test]
fn other_origins_and_paths_get_nothing() {
    let serving = serve(&profile("nobody"), &[]);
    let (get, path) = ("GET", serving.path.as_str());
    let port = serving.host.split_once(':').unwrap().1;
    // Pages of other origins are refused, by their origin or by the host name that they use.
    for origin in [
        "https://evil.example",
        "null",
        "http://profiler.firefox.com",
        "https://profiler.firefox.com.evil.example",
    ] {
        let (status, head, body) = serving.ask(get, path, &[("Origin", origin)]);
        assert!(status == 403 && body.is_empty() && !head.contains("access-control"), "{origin}: {head}");
        assert_eq!(serving.status("OPTIONS", path, &[("Origin", origin)]), 403);
    }
    for host in
        [format!("evil.example:{port}"), "evil.example".to_owned(), "127.0.0.1".to_owned(), String::new()]
    {
        assert_eq!(serving.status(get, path, &[("Host", &host)]), 403, "{host}");
    }
    assert_eq!(serving.status(get, path, &[("Host", &format!("localhost:{port}"))]), 200);
    // Other paths are refused: without the token, with another token, or of a folder above.
    let (token, name) = path[1..].split_once('/').unwrap();
    let other = if token.starts_with('0') { "1" } else { "0" };
    assert_eq!(token.len(), 32);
    for path in [
        "/".to_owned(),
        format!("/{token}"),
        format!("/{token}/"),
        format!("/{name}"),
        format!("/{other}{}/{name}", &token[1..]),
        format!("/{token}/../{name}"),
        "/../../etc/passwd".to_owned(),
        "/%2e%2e/etc/passwd".to_owned(),
    ] {
        assert_eq!(serving.status(get, &path, &[]), 404, "{path}");
    }
    assert_eq!(serving.status("POST", path, &[]), 405);
    assert_eq!(serving.status("DELETE", path, &[]), 405);
    // Pages of the server's own origin are refused, too, since it serves no front-end here.
    assert_eq!(serving.status(get, path, &[("Origin", &format!("http://127.0.0.1:{port}"))]), 403);
}

#[test]
fn a_front_end_of_ones_own_is_served_beside_it_and_nothing_beside_that() {
    let root = folder("own");
    let build = root.join("build");
    fs::create_dir_all(build.join("static")).unwrap();
    fs::write(build.join("index.html"), "the page").unwrap();
    fs::write(build.join("static/a.js"), "the script").unwrap();
    fs::write(root.join("secret.js"), "a secret").unwrap();
    let _ = std::os::unix::fs::symlink(root.join("secret.js"), build.join("link.js"));
    let archive = root.join("build.zip");
    fs::write(
        &archive,
        vouch_classes::archive::from_texts(&[
            ("b/static/a.js", "the script"),
            ("b/index.html", "the page"),
            ("secret.js", "a secret"),
        ]),
    )
    .unwrap();
    for ui in [&build, &archive] {
        let serving = serve(&profile("own"), &["--ui", ui.to_str().unwrap()]);
        let own = format!("http://{}", serving.host);
        assert!(serving.address.starts_with(&own), "no network: {}", serving.address);
        let get = |path: &str| serving.ask("GET", path, &[]);
        let (status, head, body) = get("/static/a.js?x=1");
        assert!(status == 200 && body == b"the script" && head.contains("text/javascript"), "{head}");
        // The front-end's own addresses get the page.
        for path in ["/", &serving.address[own.len()..], "/compare/"] {
            let (status, head, body) = get(path);
            assert!(status == 200 && body == b"the page" && head.contains("text/html"), "{path}: {head}");
        }
        for path in [
            "/secret.js",
            "/../secret.js",
            "/link.js",
            "/static/../../secret.js",
            &format!("/{}", root.join("secret.js").display()),
            "/static/b.js",
        ] {
            assert_eq!(get(path).0, 404, "{path}");
        }
        assert_eq!(get(&serving.path).2, PROFILE.as_bytes());
        assert_eq!(serving.status("GET", &serving.path, &[("Origin", &own)]), 200);
        assert_eq!(serving.status("GET", &serving.path, &[("Origin", "https://profiler.firefox.com")]), 403);
    }
}

#[test]
fn a_stranger_can_neither_end_it_nor_hold_it_up() {
    let serving = serve(&profile("strangers"), &[]);
    // The requests have a body that cannot be sent, a head without an end, or no HTTP. Many
    // connections send nothing.
    assert_eq!(serving.status("POST", "/", &[("Content-Length", "18446744073709551615")]), 405);
    for nonsense in [&b"GET / HTTP/1.1\r\n"[..], b"\0\xff\r\n\r\n", b"GET\r\n\r\n"] {
        TcpStream::connect(&serving.host).unwrap().write_all(nonsense).unwrap();
    }
    let mut endless = TcpStream::connect(&serving.host).unwrap();
    endless.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    // The server refuses the endless head at some point, and then writing fails. The sockets'
    // buffers take some megabytes, so more than that is written.
    endless.set_write_timeout(Some(Duration::from_mins(1))).unwrap();
    let part = vec![b'x'; 1 << 20];
    let written = (0..256).take_while(|_| endless.write_all(&part).is_ok()).count();
    assert!(written < 256, "256 MB of one head");
    let silent: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(&serving.host).unwrap()).collect();
    assert_eq!(serving.status("GET", &serving.path, &[]), 200);
    assert_eq!(
        serving.status("GET", &serving.path, &[("Host", &serving.host), ("Origin", "https://evil.example")]),
        403
    );
    drop(silent);
}

#[test]
fn many_silent_connections_do_not_shut_anybody_out() {
    let serving = serve(&profile("silent"), &[]);
    let mut silent: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(&serving.host).unwrap()).collect();
    // Some of the silent connections have sent a part of a request.
    for stream in silent.iter_mut().rev().take(50) {
        stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    }
    for _ in 0..3 {
        assert_eq!(serving.status("GET", &serving.path, &[]), 200);
    }
    // Each connection that the server closed freed a slot for another one.
    let is_closed = |mut stream: &TcpStream| {
        stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        stream.read(&mut [0]).is_ok()
    };
    let closed = silent.iter().filter(|stream| is_closed(stream)).count();
    assert!(closed >= 200 - 64, "{closed} of 200 were closed");
}

#[test]
fn it_ends_when_idle_and_refuses_what_it_cannot_do() {
    let output = command(&profile("idle"), &["--idle", "0.002"]).output().unwrap();
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("nothing asked"),
        "{output:?}"
    );
    let refused = |profile: &Path, arguments: &[&str]| {
        let output = command(profile, arguments).output().unwrap();
        assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let cut = folder("cut").join("cut.json");
    fs::write(&cut, &PROFILE[..PROFILE.len() - 3]).unwrap();
    assert!(refused(&cut, &[]).contains("incomplete JSON"));
    let other = folder("other").join("other.json");
    fs::write(&other, r#"{"meta":{"product":"Firefox"}}"#).unwrap();
    assert!(refused(&other, &[]).contains("is not a profile (out=…) by Vouch"));
    let empty = folder("empty");
    assert!(refused(&profile("idle"), &["--ui", empty.to_str().unwrap()]).contains("it has no index.html"));
    assert!(refused(&profile("idle"), &["--front-end", "profiler"]).contains("must be an address"));
    let taken = serve(&profile("idle"), &[]);
    let port = taken.host.split_once(':').unwrap().1;
    assert!(refused(&profile("idle"), &["--port", port]).contains("choose another one"));
}
