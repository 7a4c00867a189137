//! HTTP/1.1 over a plain socket, with every byte under control.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// How long an answer is waited for.
const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// A request, written as it is given; only `Host` and `Content-Length` are filled in when they are
/// missing.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    complete: bool,
}

impl Request {
    /// A request without headers and body.
    pub fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            complete: true,
        }
    }

    /// Adds a header; a name may be given more than once.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets a JSON body and its content type.
    #[must_use]
    pub fn json(self, value: &Value) -> Self {
        self.header("Content-Type", "application/json").body(value.to_string())
    }

    /// Sends exactly these headers: none is filled in.
    #[must_use]
    pub fn as_it_is(mut self) -> Self {
        self.complete = false;
        self
    }

    /// The request's bytes for a server at `address`.
    pub fn bytes(&self, address: SocketAddr) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        if self.complete {
            if !self.has("host") {
                text += &format!("Host: {address}\r\n");
            }
            let has_length = self.has("content-length") || self.has("transfer-encoding");
            if !has_length && (!self.body.is_empty() || self.method == "POST") {
                text += &format!("Content-Length: {}\r\n", self.body.len());
            }
        }
        let mut bytes = (text + "\r\n").into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Status code.
    pub status: u16,
    /// Header names, lower-case, and values in the order they came.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    /// The first header of that lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> io::Result<Value> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let text = self.text();
            io::Error::other(format!("status {} with no JSON ({error}): {text}", self.status))
        })
    }
}

/// A connection that can be used for several requests.
pub struct Connection {
    stream: BufReader<TcpStream>,
    address: SocketAddr,
}

impl Connection {
    /// Connects.
    pub fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, REPLY_TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
        stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
        Ok(Self { stream: BufReader::new(stream), address })
    }

    /// Sends a request and reads its answer.
    pub fn exchange(&mut self, request: &Request) -> io::Result<Reply> {
        let bytes = request.bytes(self.address);
        // A server that refuses a request need not read all of it: its answer counts, not our
        // writing.
        let written = self.write(&bytes);
        self.read_reply(&request.method).map_err(|error| written.err().unwrap_or(error))
    }

    /// Sends any bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Reads until the server closes the connection; returns what came.
    pub fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads until what came contains a string; returns what came.
    pub fn read_until(&mut self, text: &str) -> io::Result<String> {
        let mut heard = String::new();
        while !heard.contains(text) {
            heard += &self.read_line()?;
            heard.push('\n');
        }
        Ok(heard)
    }

    /// Reads one answer; whether it can have a body depends on `method`.
    pub fn read_reply(&mut self, method: &str) -> io::Result<Reply> {
        let status_line = self.read_line()?;
        let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
        let Some(status) = status else {
            return Err(io::Error::other(format!("no status line: {status_line:?}")));
        };
        let mut reply = Reply { status, headers: Vec::new(), body: Vec::new() };
        loop {
            let line = self.read_line()?;
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':') {
                reply.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        if method != "HEAD" && status != 204 && status != 304 {
            self.read_body(&mut reply)?;
        }
        Ok(reply)
    }

    fn read_body(&mut self, reply: &mut Reply) -> io::Result<()> {
        if reply.header("transfer-encoding") == Some("chunked") {
            loop {
                let size = self.read_line()?;
                let size = usize::from_str_radix(&size, 16).map_err(io::Error::other)?;
                let start = reply.body.len();
                reply.body.resize(start + size, 0);
                self.stream.read_exact(&mut reply.body[start..])?;
                self.read_line()?;
                if size == 0 {
                    return Ok(());
                }
            }
        }
        let length = reply.header("content-length").and_then(|length| length.parse().ok());
        reply.body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut reply.body)
    }

    fn read_line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }
}

/// Sends one request on a connection of its own.
pub fn exchange(address: SocketAddr, request: &Request) -> io::Result<Reply> {
    Connection::open(address)?.exchange(request)
}
