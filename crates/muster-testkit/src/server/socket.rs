//! A WebSocket client over a plain socket, with every byte under control.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpStream},
    time::Duration,
};

use serde_json::Value;

/// How long a frame is waited for.
const FRAME_TIMEOUT: Duration = Duration::from_secs(30);

/// An empty answer to a ping, with a mask of zeros.
const PONG: [u8; 6] = [0x8a, 0x80, 0, 0, 0, 0];

/// A frame that came.
#[derive(Debug, Clone, PartialEq)]
pub enum SocketFrame {
    Json(Value),
    /// The server asks whether we are alive.
    Ping,
    /// The server answers our ping.
    Pong,
    /// The server closes, with a code.
    Close(Option<u16>),
}

/// A WebSocket to a server.
pub struct Socket {
    stream: BufReader<TcpStream>,
}

/// What came instead of a WebSocket.
#[derive(Debug)]
pub struct NotUpgraded {
    pub status: u16,
    pub body: String,
}

impl Socket {
    /// Opens a WebSocket; headers are sent besides those that it needs.
    pub fn open(
        address: SocketAddr,
        target: &str,
        headers: &[(&str, &str)],
    ) -> io::Result<Result<Self, NotUpgraded>> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(FRAME_TIMEOUT))?;
        stream.set_write_timeout(Some(FRAME_TIMEOUT))?;
        let mut head = format!(
            "GET {target} HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        );
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head += &format!("Host: {address}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        let mut socket = Self { stream: BufReader::new(stream) };
        socket.stream.get_mut().write_all(head.as_bytes())?;
        let status = socket.line()?;
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let mut length = 0;
        loop {
            let line = socket.line()?.to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        if status == 101 {
            return Ok(Ok(socket));
        }
        let mut body = vec![0; length];
        socket.stream.read_exact(&mut body)?;
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok(Err(NotUpgraded { status, body }))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// The next frame, whatever it is.
    pub fn frame(&mut self) -> io::Result<SocketFrame> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head)?;
        let length = match head[1] {
            126 => {
                let mut bytes = [0; 2];
                self.stream.read_exact(&mut bytes)?;
                u64::from(u16::from_be_bytes(bytes))
            }
            127 => {
                let mut bytes = [0; 8];
                self.stream.read_exact(&mut bytes)?;
                u64::from_be_bytes(bytes)
            }
            short => u64::from(short),
        };
        let mut payload = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.stream.read_exact(&mut payload)?;
        match head[0] {
            0x81 => Ok(SocketFrame::Json(serde_json::from_slice(&payload)?)),
            0x88 => {
                let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                Ok(SocketFrame::Close(code))
            }
            0x89 => Ok(SocketFrame::Ping),
            0x8a => Ok(SocketFrame::Pong),
            other => Err(io::Error::other(format!("a frame of kind {other:#x}"))),
        }
    }

    /// The next JSON; pings are answered, the end is an error.
    pub fn hear(&mut self) -> io::Result<Value> {
        loop {
            match self.frame()? {
                SocketFrame::Json(value) => return Ok(value),
                SocketFrame::Ping => self.stream.get_mut().write_all(&PONG)?,
                SocketFrame::Pong => {}
                SocketFrame::Close(code) => {
                    return Err(io::Error::other(format!("closed with {code:?}")));
                }
            }
        }
    }

    /// Sends a text frame.
    pub fn say(&mut self, text: &str) -> io::Result<()> {
        let length = text.len();
        let mut frame = vec![0x81];
        match (u8::try_from(length), u16::try_from(length)) {
            (Ok(short), _) if short < 126 => frame.push(0x80 | short),
            (_, Ok(medium)) => {
                frame.push(0x80 | 126);
                frame.extend(medium.to_be_bytes());
            }
            (_, Err(_)) => {
                frame.push(0x80 | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        // A mask of zeros leaves the text as it is.
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.stream.get_mut().write_all(&frame)
    }

    /// Sends any bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    /// Says that nothing more will be sent; what the server sends can still be read.
    pub fn leave(&mut self) -> io::Result<()> {
        self.stream.get_mut().shutdown(Shutdown::Write)
    }

    /// Sends full pings and reads nothing, until the server takes no more or `bytes_max` are
    /// sent. Returns the number of bytes that it took.
    pub fn flood_with_pings(&mut self, bytes_max: usize) -> io::Result<usize> {
        const PAYLOAD: usize = 125;
        let mut ping = vec![0x89, 0x80 | 0x7d, 0, 0, 0, 0];
        ping.extend([b'x'; PAYLOAD]);
        let pings = ping.repeat(1_000);
        let stream = self.stream.get_mut();
        stream.set_write_timeout(Some(Duration::from_secs(2)))?;
        let mut sent = 0;
        while sent < bytes_max {
            match stream.write(&pings) {
                Ok(written) if written == pings.len() => sent += written,
                // A part of a ping is the end of what can be said on this connection.
                Ok(written) => return Ok(sent + written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(sent),
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }
}
