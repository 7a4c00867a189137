//! The client's side of a WebSocket, as far as reading takes it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};

const MESSAGE_TIMEOUT: Duration = Duration::from_secs(120);
/// Room for what has arrived.
const BUFFER_BYTES: usize = 64 * 1024;

/// Kinds of frames.
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// An open socket.
pub(crate) struct Socket {
    stream: BufReader<TcpStream>,
    /// Buffer for a message; the bytes after the newest one are left over from others.
    room: Vec<u8>,
    length: usize,
}

impl Socket {
    /// Opens a socket at a path.
    pub(crate) fn open(address: &str, path: &str, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(address).context("connect a socket")?;
        stream.set_read_timeout(Some(MESSAGE_TIMEOUT))?;
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        );
        (&stream).write_all(head.as_bytes())?;
        let mut stream = BufReader::with_capacity(BUFFER_BYTES, stream);
        let mut status = String::new();
        stream.read_line(&mut status)?;
        ensure!(status.contains(" 101 "), "the socket was refused: {status}");
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            ensure!(stream.read_line(&mut line)? > 0, "the connection was closed");
        }
        Ok(Self { stream, room: Vec::new(), length: 0 })
    }

    /// The next message, as text.
    pub(crate) fn next(&mut self) -> Result<&str> {
        loop {
            match self.frame()? {
                TEXT | BINARY => return Ok(std::str::from_utf8(&self.room[..self.length])?),
                PING => self.pong()?,
                PONG => {}
                CLOSE => bail!("the socket was closed: {:?}", &self.room[..self.length]),
                other => bail!("a frame of kind {other}"),
            }
        }
    }

    fn frame(&mut self) -> Result<u8> {
        let [kind, length] = self.bytes::<2>()?;
        ensure!(kind & 0x80 != 0, "a message in pieces");
        let length = match length {
            126 => u64::from(u16::from_be_bytes(self.bytes()?)),
            127 => u64::from_be_bytes(self.bytes()?),
            short => u64::from(short),
        };
        self.length = usize::try_from(length)?;
        // Only grows: clearing it for every message would cost more than reading it.
        if self.length > self.room.len() {
            self.room.resize(self.length, 0);
        }
        self.stream.read_exact(&mut self.room[..self.length])?;
        Ok(kind & 0x0f)
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Sends a pong, whose payload is short; a client's frames are masked, here with zeros.
    fn pong(&mut self) -> Result<()> {
        let length = u8::try_from(self.length)?;
        let mut frame = vec![0x80 | PONG, 0x80 | length, 0, 0, 0, 0];
        frame.extend(&self.room[..self.length]);
        Ok(self.stream.get_mut().write_all(&frame)?)
    }
}

/// The number of a message, if it is an event of a log.
pub(crate) fn seq(message: &str) -> Option<u64> {
    let (_, rest) = message.split_once("\"seq\":")?;
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::seq;

    #[test]
    fn the_number_of_a_message_is_found() {
        assert_eq!(seq(r#"{"id":"a","seq":41,"type":"node.patch"}"#), Some(41));
        assert_eq!(seq(r#"{"type":"stream.hello"}"#), None);
    }
}
