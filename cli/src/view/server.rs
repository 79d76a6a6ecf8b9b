//! A small HTTP server for a browser on the same machine: one request on each connection, with a
//! head and no body.
//!
//! Any process can connect. Until it has sent the right request it must not be able to end the
//! server, or to make it take memory. (There are servers as crates. tiny_http makes room for
//! whatever length a request has in its head, and ends when descriptors run out; hyper is forty
//! crates.)

use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A request's head has at most this many bytes, and must come within [`PATIENCE`].
const HEAD: usize = 16 << 10;
const PATIENCE: Duration = Duration::from_secs(10);
/// At most this many connections are open. A browser has six. A further connection replaces the one
/// that has been silent for the longest.
const CONNECTIONS: usize = 64;
/// Open connections, and closed ones that have not ended yet.
const MAX_CLOSING: usize = 4 * CONNECTIONS;
/// The pause after a connection cannot be accepted, as when descriptors run out.
const PAUSE: Duration = Duration::from_millis(100);

/// A request of a client.
#[derive(Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub host: Option<String>,
    pub origin: Option<String>,
}

/// The answer to a request.
pub struct Answer {
    status: u16,
    headers: String,
    length: u64,
    body: Box<dyn Read>,
}

impl Answer {
    pub fn nothing(status: u16) -> Self {
        Self { status, headers: String::new(), length: 0, body: Box::new(io::empty()) }
    }

    pub fn bytes(bytes: Vec<u8>, kind: &str) -> Self {
        let length = bytes.len() as u64;
        let mut answer =
            Self { status: 200, headers: String::new(), length, body: Box::new(Cursor::new(bytes)) };
        answer.header("Content-Type", kind);
        answer
    }

    pub fn file(file: File, kind: &str) -> Self {
        let Ok(length) = file.metadata().map(|file| file.len()) else { return Self::nothing(404) };
        let mut answer =
            Self { status: 200, headers: String::new(), length, body: Box::new(file.take(length)) };
        answer.header("Content-Type", kind);
        answer
    }

    pub fn header(&mut self, name: &str, value: &str) {
        self.headers.extend([name, ": ", value, "\r\n"]);
    }
}

/// Answers requests until none was served for this long.
pub fn serve(
    listener: TcpListener,
    idle: Duration,
    answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
) {
    let (answer, busy) = (Arc::new(answer), Arc::new(AtomicUsize::new(0)));
    let (given, last) = channel();
    let connections = Arc::clone(&busy);
    let silent = Arc::new(Silent::default());
    thread::spawn(move || {
        loop {
            let Ok((stream, _)) = listener.accept() else {
                thread::sleep(PAUSE);
                continue;
            };
            let open = connections.load(Ordering::Relaxed);
            if open >= CONNECTIONS && (open >= MAX_CLOSING || !silent.close_oldest()) {
                continue;
            }
            let one = One::new(&connections, &silent, stream);
            let (answer, given) = (Arc::clone(&answer), given.clone());
            // Without a thread the connection is closed.
            let _ = thread::Builder::new().spawn(move || {
                if one_request(&one.stream, &one.silent, &*answer).is_ok_and(|status| status == 200) {
                    let _ = given.send(());
                }
                drop(one);
            });
        }
    });
    let mut since = Instant::now();
    loop {
        match last.recv_timeout(idle.saturating_sub(since.elapsed())) {
            Ok(()) => since = Instant::now(),
            // The server does not end while a request is being answered.
            Err(RecvTimeoutError::Timeout) if busy.load(Ordering::Relaxed) > 0 => thread::sleep(PAUSE),
            Err(_) => return,
        }
    }
}

/// A slot for a connection, which is free again when this value is dropped.
struct One {
    connections: Arc<AtomicUsize>,
    silent: Arc<Silent>,
    stream: Arc<TcpStream>,
}

impl One {
    fn new(connections: &Arc<AtomicUsize>, silent: &Arc<Silent>, stream: TcpStream) -> Self {
        connections.fetch_add(1, Ordering::Relaxed);
        let stream = Arc::new(stream);
        silent.enter(&stream);
        Self { connections: Arc::clone(connections), silent: Arc::clone(silent), stream }
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.silent.leave(&self.stream);
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The connections that the server reads from, the oldest first: any of them may never send what it
/// should.
#[derive(Default)]
struct Silent(Mutex<Vec<Arc<TcpStream>>>);

impl Silent {
    /// Adds a connection, which from now on may be closed for another one.
    fn enter(&self, stream: &Arc<TcpStream>) {
        self.all().push(Arc::clone(stream));
    }

    fn leave(&self, stream: &Arc<TcpStream>) {
        self.all().retain(|one| !Arc::ptr_eq(one, stream));
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<TcpStream>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the oldest connection. Returns false without a connection.
    fn close_oldest(&self) -> bool {
        let mut all = self.all();
        if all.is_empty() {
            return false;
        }
        // The connection may be closed already.
        let _ = all.remove(0).shutdown(Shutdown::Both);
        true
    }
}

/// Reads a request, answers it, and returns the status. The connection does not count as silent
/// while it is being answered.
fn one_request(
    stream: &Arc<TcpStream>,
    silent: &Silent,
    answer: &dyn Fn(&Asked) -> Answer,
) -> io::Result<u16> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let asked = head(stream)?;
    silent.leave(stream);
    let is_head = asked.as_ref().is_some_and(|asked| asked.method == "HEAD");
    let answer = asked.map_or_else(|| Answer::nothing(400), |asked| answer(&asked));
    let status = answer.status;
    write(stream, answer, is_head)?;
    silent.enter(stream);
    end(stream)?;
    Ok(status)
}

/// Reads the head of a request. Returns `None` if this server does not support the request.
fn head(mut stream: &TcpStream) -> io::Result<Option<Asked>> {
    let begun = Instant::now();
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    while bytes.len() < HEAD && begun.elapsed() < PATIENCE {
        let length = stream.read(&mut part)?;
        if length == 0 {
            break;
        }
        bytes.extend_from_slice(&part[..length]);
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Partial) => {}
            Ok(httparse::Status::Complete(_)) => {
                // Two headers of one name may be an attack.
                let header = |name: &str| {
                    let mut all =
                        request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
                    let first = all.next().map(|header| String::from_utf8_lossy(header.value).into_owned());
                    if all.next().is_some() { Some(String::new()) } else { first }
                };
                return Ok(Some(Asked {
                    method: request.method.unwrap_or_default().to_owned(),
                    path: request.path.unwrap_or_default().to_owned(),
                    host: header("Host"),
                    origin: header("Origin"),
                }));
            }
            Err(_) => break,
        }
    }
    Ok(None)
}

fn write(mut stream: &TcpStream, mut answer: Answer, head_alone: bool) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {} -\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n{}\r\n",
        answer.status, answer.length, answer.headers
    )?;
    if !head_alone {
        io::copy(&mut answer.body, &mut stream)?;
    }
    stream.flush()
}

/// Closes a connection that was answered. Closing it with unread bytes would cut the
/// answer off, so as many bytes are read as a head may have.
fn end(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(PAUSE))?;
    let _ = io::copy(&mut stream.take(HEAD as u64), &mut io::sink());
    Ok(())
}
