//! Tests of `vouch send` with the real binary and a small server instead of a Collector.
//! `scripts/collector` sends to a real one.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};
use rustix::process::{Pid, Signal, kill_process};

/// The longest time that a test waits for something.
const PATIENCE: Duration = Duration::from_secs(20);
const ACCEPTED: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// A request that the server received.
struct Request {
    head: String,
    body: Vec<u8>,
    time: Instant,
}

/// A server that answers each request with the text that a function returns. An empty text is no
/// answer.
struct Server {
    port: u16,
    requests: Receiver<Request>,
}

impl Server {
    fn start(answer: impl Fn(&Request, usize) -> String + Send + 'static) -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
    }

    fn listen(listener: TcpListener, answer: impl Fn(&Request, usize) -> String + Send + 'static) -> Self {
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = mpsc::channel();
        thread::spawn(move || {
            let mut silent = Vec::new();
            for (number, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                let request = receive(&mut stream);
                let answer = answer(&request, number);
                // The test may have ended.
                let _ = sender.send(request);
                if answer.is_empty() {
                    silent.push(stream);
                } else {
                    let _ = stream.write_all(answer.as_bytes());
                }
            }
        });
        Self { port, requests }
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn next(&self) -> Request {
        self.requests.recv_timeout(PATIENCE).unwrap()
    }

    /// Returns the bodies of the requests that have come, sorted.
    fn bodies(&self) -> Vec<Vec<u8>> {
        let mut bodies: Vec<Vec<u8>> = self.requests.try_iter().map(|request| request.body).collect();
        bodies.sort();
        bodies
    }
}

fn receive(stream: &mut TcpStream) -> Request {
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        let read = stream.read(&mut part).unwrap();
        assert!(read > 0, "a request without an end");
        bytes.extend_from_slice(&part[..read]);
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let length = head.to_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length: ").map(|length| length.parse::<usize>().unwrap())
    });
    let mut body = bytes.split_off(end + 4);
    while body.len() < length.unwrap() {
        let read = stream.read(&mut part).unwrap();
        assert!(read > 0, "a body without an end");
        body.extend_from_slice(&part[..read]);
    }
    Request { head, body, time: Instant::now() }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// Returns an empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("send").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a file that looks like a profile, and returns its content.
fn profile(folder: &Path, name: &str) -> Vec<u8> {
    let content = [&[0x1f, 0x8b][..], name.as_bytes()].concat();
    fs::write(folder.join(".part"), &content).unwrap();
    fs::rename(folder.join(".part"), folder.join(name)).unwrap();
    content
}

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vouch"));
    command.env_clear().arg("send").arg(folder).args(arguments);
    command
}

fn once(folder: &Path, to: &str) -> (Output, String) {
    let output = command(folder, &["--once", "--to", to]).output().unwrap();
    let text = [output.stderr.as_slice(), output.stdout.as_slice()].concat();
    (output, String::from_utf8(text).unwrap())
}

/// A command that goes on until it is signalled.
fn start(folder: &Path, to: &str) -> Child {
    command(folder, &["--to", to]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Signals the command, and returns what it printed, and how long it took to end.
fn end(mut child: Child, signal: Signal) -> (Output, Duration) {
    let begun = Instant::now();
    kill_process(Pid::from_child(&child), signal).unwrap();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{signal:?} did not end it: {:?}", child.wait_with_output());
        }
        thread::sleep(Duration::from_millis(5));
    }
    let time = begun.elapsed();
    (child.wait_with_output().unwrap(), time)
}

fn await_names(folder: &Path, expected: &[&str]) {
    let begun = Instant::now();
    while names(folder) != expected {
        assert!(begun.elapsed() < PATIENCE, "{:?}", names(folder));
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn only_complete_profiles_of_the_folder_are_sent_and_removed() {
    let folder = folder("complete");
    let mut sent = vec![profile(&folder, "a-1.otlp.gz"), profile(&folder, "a-2.otlp.gz")];
    for other in [".a-3.otlp.gz.9.part", ".b.otlp.gz", "a.json.gz", "a.vouch"] {
        profile(&folder, other);
    }
    let secret = self::folder("secret").join("c.otlp.gz");
    fs::write(&secret, [0x1f, 0x8b]).unwrap();
    symlink(&secret, folder.join("c.otlp.gz")).unwrap();
    symlink(secret.parent().unwrap(), folder.join("d.otlp.gz")).unwrap();
    fs::create_dir_all(folder.join("e.otlp.gz")).unwrap();
    let made = Command::new("mkfifo").arg(folder.join("f.otlp.gz")).status().unwrap();
    assert!(made.success());
    let left = [".a-3.otlp.gz.9.part", ".b.otlp.gz", "a.json.gz", "a.vouch", "c.otlp.gz", "d.otlp.gz"];
    let left = [&left[..], &["e.otlp.gz", "f.otlp.gz"]].concat();

    let server = Server::start(|_, _| ACCEPTED.to_owned());
    let lines = folder.join("../headers");
    fs::write(&lines, "Authorization: Bearer geheim\n").unwrap();
    let lines = format!("@{}", lines.display());
    let mut command = command(&folder, &["--once", "--header", &lines, "--header", "X-Scope: shop"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", server.address());
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "X-Scope=other,X-Key=a%20b");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.starts_with("sent 2 profiles, 26 B, to http://"), "{text}");
    assert_eq!(names(&folder), left);
    assert!(secret.exists());

    let request = server.next();
    let head = request.head.to_lowercase();
    for line in [
        "post /v1development/profiles http/1.1\r\n",
        "content-encoding: gzip\r\n",
        "content-type: application/x-protobuf\r\n",
        "authorization: bearer geheim\r\n",
        "x-scope: shop\r\n",
        "x-key: a b\r\n",
    ] {
        assert!(format!("{head}\r\n").contains(line), "{line:?} is not in {head}");
    }
    assert!(!head.contains("x-scope: other"), "{head}");
    let mut bodies = server.bodies();
    bodies.push(request.body);
    bodies.sort();
    sent.sort();
    assert_eq!(bodies, sent);
}

#[test]
fn a_refused_profile_stays_and_the_others_are_sent() {
    let folder = folder("refused");
    // It is the first, and must not hide the Collector's reason.
    fs::write(folder.join("text.otlp.gz"), "a secret").unwrap();
    profile(&folder, "a-1.otlp.gz");
    profile(&folder, "bad-1.otlp.gz");
    profile(&folder, "bad-2.otlp.gz");
    let server = Server::start(|request, _| {
        if request.body.windows(3).any(|window| window == b"bad") {
            let status = "\x08\x03\x12\x0bnot \x1b valid";
            answer("400 Bad Request", "Content-Type: application/x-protobuf\r\n", status)
        } else {
            ACCEPTED.to_owned()
        }
    });
    let (output, text) = once(&folder, &server.address());
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert_eq!(text.matches("it answered 400 Bad Request: not \u{fffd} valid").count(), 1, "{text}");
    assert!(text.contains("text.otlp.gz is not sent: it is not compressed"), "{text}");
    assert!(text.contains("sent 1 profile, 13 B,") && text.contains("0 waiting; 3 refused"), "{text}");
    assert_eq!(names(&folder), ["bad-1.otlp.gz", "bad-2.otlp.gz", "text.otlp.gz"]);
    assert_eq!(server.bodies().len(), 3, "a refused profile is not sent again");
}

#[test]
fn a_wrong_address_or_permission_ends_it_and_refuses_nothing() {
    let folder = folder("wrong");
    profile(&folder, "a-1.otlp.gz");
    profile(&folder, "a-2.otlp.gz");
    let elsewhere = Server::start(|_, _| ACCEPTED.to_owned());
    let location = format!("Location: {}/v1development/profiles\r\n", elsewhere.address());
    for (status, headers, advice) in [
        ("401 Unauthorized", "", "OTEL_EXPORTER_OTLP_HEADERS"),
        ("404 Not Found", "", "profilesSupport"),
        ("308 Permanent Redirect", location.as_str(), "pass that one with --to"),
        ("200 OK", "Content-Type: text/html\r\n", "which is no answer of a Collector"),
        ("400 Bad Request", "Content-Type: text/plain\r\n", "check that a Collector has this address"),
    ] {
        let body = if headers.contains("text/") { "<p>another server</p>" } else { "" };
        let reply = answer(status, headers, body);
        let server = Server::start(move |_, _| reply.clone());
        let (output, text) = once(&folder, &server.address());
        assert!(output.status.code() == Some(1) && text.contains(advice), "{text}");
        assert_eq!(server.bodies().len(), 1, "{status}");
    }
    assert_eq!(elsewhere.bodies().len(), 0, "a redirect would send the headers to another host");
    assert_eq!(names(&folder), ["a-1.otlp.gz", "a-2.otlp.gz"]);
}

#[test]
fn a_collector_that_asks_to_wait_is_left_alone_for_that_time() {
    let folder = folder("waits");
    let content = profile(&folder, "a-1.otlp.gz");
    let server = Server::start(|_, number| match number {
        0 => answer("429 Too Many Requests", "Retry-After: 2\r\n", ""),
        _ => ACCEPTED.to_owned(),
    });
    let (output, text) = once(&folder, &server.address());
    assert!(
        output.status.success() && text.contains("it answered 429 Too Many Requests; trying again"),
        "{text}"
    );
    let (first, second) = (server.next(), server.next());
    let wait = second.time - first.time;
    assert!(wait >= Duration::from_secs(2) && wait < Duration::from_secs(10), "{wait:?}");
    assert_eq!(second.body, content);
    // With --once it does not wait for longer than it goes on.
    profile(&folder, "a-2.otlp.gz");
    let server = Server::start(|_, _| answer("503 Service Unavailable", "Retry-After: 600\r\n", ""));
    let (output, text) = once(&folder, &server.address());
    assert!(output.status.code() == Some(1) && text.contains("503 Service Unavailable"), "{text}");
    assert_eq!(names(&folder), ["a-2.otlp.gz"]);
}

#[test]
fn a_part_that_the_collector_rejects_is_reported() {
    let folder = folder("partial");
    profile(&folder, "a-1.otlp.gz");
    let server = Server::start(|_, _| {
        let kind = "Content-Type: application/x-protobuf\r\n";
        answer("200 OK", kind, "\x0a\x0a\x08\x02\x12\x06no cpu")
    });
    let (output, text) = once(&folder, &server.address());
    assert!(output.status.success(), "{text}");
    assert!(text.contains("rejected 2 of the profiles in") && text.contains(": no cpu;"), "{text}");
    assert!(text.contains("2 rejected inside of sent files"), "{text}");
    assert!(names(&folder).is_empty());
}

#[test]
fn a_signal_ends_it_though_the_collector_does_not_answer() {
    let folder = folder("stalled");
    profile(&folder, "a-1.otlp.gz");
    let server = Server::start(|_, _| String::new());
    let child = start(&folder, &server.address());
    server.next();
    let (output, time) = end(child, Signal::TERM);
    // It takes half a second. A busy machine may take longer, and the Collector has half a minute.
    assert!(output.status.success() && time < Duration::from_secs(5), "{time:?}: {output:?}");
    assert_eq!(names(&folder), ["a-1.otlp.gz"]);
}

#[test]
fn a_killed_command_sends_at_most_one_file_again() {
    let folder = folder("killed");
    for number in 1..=3 {
        profile(&folder, &format!("a-{number}.otlp.gz"));
    }
    // The third request is received and never answered.
    let server = Server::start(|_, number| if number == 2 { String::new() } else { ACCEPTED.to_owned() });
    let child = start(&folder, &server.address());
    let mut bodies: Vec<Vec<u8>> = (0..3).map(|_| server.next().body).collect();
    let last = bodies[2].clone();
    end(child, Signal::KILL);
    assert_eq!(names(&folder).len(), 1);
    let (output, text) = once(&folder, &server.address());
    assert!(output.status.success() && text.contains("sent 1 profile,"), "{text}");
    assert_eq!(server.bodies(), [last], "only the file without an answer is sent again");
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), 3);
    assert!(names(&folder).is_empty());
}

#[test]
fn it_goes_on_when_the_collector_is_back_and_counts_what_vanished() {
    let folder = folder("back");
    // Nothing listens there yet, and no other test can get this port.
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = SocketAddrV4::try_from(getsockname(&socket).unwrap()).unwrap().port();
    profile(&folder, "a-1.otlp.gz");
    profile(&folder, "old-1.otlp.gz");
    let child = start(&folder, &format!("http://127.0.0.1:{port}"));
    thread::sleep(Duration::from_millis(300));
    let (other, text) = once(&folder, "http://127.0.0.1:9");
    assert!(other.status.code() == Some(1) && text.contains("another vouch send"), "{text}");
    // The agent removes the oldest files beyond maxsize=.
    fs::remove_file(folder.join("old-1.otlp.gz")).unwrap();
    thread::sleep(Duration::from_millis(1200));
    listen(&socket, 16).unwrap();
    let server = Server::listen(TcpListener::from(socket), |_, _| ACCEPTED.to_owned());
    await_names(&folder, &[]);
    profile(&folder, "a-2.otlp.gz");
    await_names(&folder, &[]);
    let (output, _) = end(child, Signal::TERM);
    let text = String::from_utf8([output.stderr, output.stdout].concat()).unwrap();
    for line in [
        "the connection was refused",
        "the Collector answers again",
        "a line a minute follows",
        "sent 2 profiles, 26 B,",
        "0 waiting; 1 lost",
    ] {
        assert!(text.contains(line), "{line:?} is not in {text}");
    }
    assert_eq!(server.bodies().len(), 2);
}

#[test]
fn sent_files_are_kept_for_some_days_and_links_in_their_place_are_refused() {
    let folder = folder("kept");
    let content = profile(&folder, "a-1.otlp.gz");
    let server = Server::start(|_, _| ACCEPTED.to_owned());
    let keep = ["--once", "--to", &server.address(), "--keep", "7"];
    let output = command(&folder, &keep).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(names(&folder), ["sent"]);
    assert_eq!(fs::read(folder.join("sent/a-1.otlp.gz")).unwrap(), content);
    // What was kept is not sent again.
    assert!(once(&folder, &server.address()).1.contains("has no profile to send"));
    fs::remove_dir_all(folder.join("sent")).unwrap();
    symlink("..", folder.join("sent")).unwrap();
    profile(&folder, "a-2.otlp.gz");
    let output = command(&folder, &keep).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(names(&folder), ["a-2.otlp.gz", "sent"]);
    assert_eq!(server.bodies().len(), 1);
}
