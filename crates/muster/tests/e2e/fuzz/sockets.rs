//! Frames on the WebSocket of runs, and openings of it and of a session's event stream.

use std::io;

use muster_testkit::{
    fuzz::{Chance, Input, Mutator, Target, fuzz, odd_text, repeats_little, text},
    server::{Connection, Request, Socket, SocketFrame},
};
use serde_json::{Value, json};

use super::server::LocalServer;

const FRAMES_MAX: u64 = 12;
/// An input that opens a WebSocket, with its query.
const OPEN: &str = "open";
/// An input that opens the event stream of a session, with its query.
const STREAM: &str = "stream";
/// An input that changes the run, so that there is an event to send.
const RENAME: &str = "rename";
/// An input that is bytes on the WebSocket.
const FRAME: &str = "frame";

/// A server with a run and a session.
struct Sockets {
    server: LocalServer,
    run: String,
    session: String,
}

impl Target for Sockets {
    fn open() -> Self {
        let mut server = LocalServer::start();
        let made = server.post("/api/runs", &json!({"autoStart": false})).unwrap();
        let run = made["run"]["id"].as_str().unwrap().to_owned();
        let made = server.post("/sessions", &json!({})).unwrap();
        let session = made["session_id"].as_str().unwrap().to_owned();
        Self { server, run, session }
    }

    fn play(&mut self, inputs: &[Input]) -> Result<(), String> {
        let mut socket = None;
        for input in inputs {
            match input.kind.as_str() {
                OPEN => {
                    self.finish(socket.take())?;
                    socket = self.follow(&input.bytes)?;
                }
                STREAM => self.stream(&input.bytes)?,
                RENAME => {
                    let name = String::from_utf8_lossy(&input.bytes);
                    let request = Request::new("PATCH", &format!("/api/runs/{}", self.run));
                    self.server.send(&request.json(&json!({"name": name})))?;
                }
                // Whoever sends nonsense may find the connection closed.
                _ => drop(socket.as_mut().map(|socket| socket.write(&input.bytes))),
            }
        }
        self.finish(socket)?;
        self.greeted()
    }

    fn close(self) -> Result<(), String> {
        self.server.stop()
    }
}

impl Sockets {
    /// The query with the ids that there are.
    fn target(&self, path: &str, query: &[u8]) -> String {
        let query = String::from_utf8_lossy(query);
        format!("{path}?{}", query.replace("RUN", &self.run).replace("SESSION", &self.session))
    }

    fn follow(&self, query: &[u8]) -> Result<Option<Socket>, String> {
        let target = self.target("/ws", query);
        let opened = Socket::open(self.server.address, &target, &[]);
        match opened.map_err(|error| format!("no answer to {target}: {error}"))? {
            Ok(socket) => Ok(Some(socket)),
            // Without a body it was no HTTP request.
            Err(refused) if refused.status == 400 && refused.body.is_empty() => Ok(None),
            Err(refused) => {
                let body: Value = serde_json::from_str(&refused.body)
                    .map_err(|error| format!("{target}: {} {error}", refused.status))?;
                let proper = body["error"].is_string() && refused.status < 500;
                if !proper {
                    return Err(format!("{target}: {} {body}", refused.status));
                }
                repeats_little(&json!(decoded(query)), &body).map(|()| None)
            }
        }
    }

    /// Opens a session's stream and leaves.
    fn stream(&self, query: &[u8]) -> Result<(), String> {
        let path = format!("/sessions/{}/events", self.session);
        let request = Request::new("GET", &self.target(&path, query));
        let mut connection = Connection::open(self.server.address).map_err(|e| e.to_string())?;
        let bytes = request.bytes(self.server.address);
        connection.write(&bytes).map_err(|error| error.to_string())?;
        let head = connection.read_until(" ").map_err(|error| error.to_string())?;
        let status = head.split(' ').nth(1).unwrap_or_default();
        if status.starts_with('2') || status.starts_with('4') { Ok(()) } else { Err(head) }
    }

    /// Leaves, and hears what the server has to say until it ends the connection.
    fn finish(&self, socket: Option<Socket>) -> Result<(), String> {
        let Some(mut socket) = socket else { return Ok(()) };
        if socket.leave().is_err() {
            return Ok(());
        }
        loop {
            match socket.frame() {
                Ok(SocketFrame::Json(word)) if word["type"].is_string() => {}
                Ok(SocketFrame::Json(word)) => return Err(format!("sent was {word}")),
                Ok(SocketFrame::Ping | SocketFrame::Pong | SocketFrame::Close(_)) => {}
                Err(error) if ended(&error) => return Ok(()),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    /// A well-behaved reader is served as ever.
    fn greeted(&self) -> Result<(), String> {
        let mut socket = self.follow(b"runId=RUN")?.ok_or("no socket")?;
        socket.say(r#"{"type":"stream.ping"}"#).map_err(|error| error.to_string())?;
        for wanted in ["stream.hello", "run.patch", "stream.live", "stream.pong"] {
            let word = socket.hear().map_err(|error| error.to_string())?;
            if word["type"] != wanted {
                return Err(format!("not {wanted} but {word}"));
            }
        }
        Ok(())
    }
}

fn ended(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe)
}

/// What a query says.
fn decoded(query: &[u8]) -> String {
    let mut bytes = Vec::new();
    let mut rest = query;
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(|_| *first == b'%') {
            Some(code) => {
                bytes.push(code);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A query with known names and odd values.
fn query(chance: &mut Chance, names: &[(&str, &str)]) -> String {
    let mut pairs = Vec::new();
    for (name, value) in names {
        match chance.below(6) {
            0..=2 => {}
            3 | 4 => pairs.push(format!("{name}={value}")),
            _ => {
                // Longer ones do not fit into the head of a request.
                let odd: String = odd_text(chance).chars().take(120).collect();
                let encoded: String = odd.bytes().map(|byte| format!("%{byte:02x}")).collect();
                pairs.push(format!("{name}={encoded}"));
            }
        }
    }
    pairs.join("&")
}

/// A frame with a payload, its head at times wrong.
fn frame(chance: &mut Chance) -> Vec<u8> {
    let payload = payload(chance);
    let opcode = [1, 1, 1, 2, 0, 8, 9, 10, 3, 15][chance.below(10) as usize];
    let reserved = if chance.one_in(10) { 0x10 << chance.below(3) } else { 0 };
    let fin = if chance.one_in(6) { 0 } else { 0x80 };
    let masked = if chance.one_in(12) { 0 } else { 0x80 };
    let mut bytes = vec![fin | reserved | opcode];
    let length = payload.len() as u64;
    let said = if chance.one_in(12) { length ^ (1 << chance.below(63)) } else { length };
    match said {
        0..126 => bytes.push(masked | said as u8),
        126..65_536 => {
            bytes.push(masked | 126);
            bytes.extend((said as u16).to_be_bytes());
        }
        _ => {
            bytes.push(masked | 127);
            bytes.extend(said.to_be_bytes());
        }
    }
    let mask = chance.draw().to_be_bytes();
    let mask = if masked == 0 { [0; 4] } else { [mask[0], mask[1], mask[2], mask[3]] };
    if masked != 0 {
        bytes.extend(mask);
    }
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    if chance.one_in(12) {
        bytes.truncate(chance.below(bytes.len() as u64 + 1) as usize);
    }
    bytes
}

fn payload(chance: &mut Chance) -> Vec<u8> {
    let words = [json!({"type": "stream.ping"}), json!({"type": "stream.ping", "a": [1, {}]})];
    match chance.below(5) {
        0 => odd_text(chance).into_bytes(),
        // How a reader closes: a code and a reason.
        1 => {
            let code = [1000, 1001, 1005, 1006, 999, 3000, 4999, 0xffff][chance.below(8) as usize];
            let reason = odd_text(chance).into_bytes().into_iter().take(120);
            u16::to_be_bytes(code).into_iter().chain(reason).collect()
        }
        _ => {
            let mut word: Value = words[chance.below(2) as usize].clone();
            Mutator::new(chance, &words).vary(&mut word);
            text(chance, &word)
        }
    }
}

fn case(chance: &mut Chance) -> Vec<Input> {
    let wishes = [
        ("runId", "RUN"),
        ("since", "0"),
        ("types", "run.*"),
        ("exclude", "node.*"),
        ("nodeId", "RUN"),
        ("ticket", "x"),
    ];
    let points = [
        ("from_id", "SESSION:1"),
        ("replay", "true"),
        ("limit", "1"),
        ("types", "todo"),
        ("after_seq", "0"),
    ];
    let plain = chance.one_in(2);
    let wish = if plain { "runId=RUN&since=0".to_owned() } else { query(chance, &wishes) };
    let mut inputs = vec![Input::new(OPEN, wish)];
    for _ in 0..chance.below(FRAMES_MAX) {
        inputs.push(match chance.below(12) {
            0 => Input::new(STREAM, query(chance, &points)),
            1 => Input::new(RENAME, odd_text(chance)),
            _ => Input::new(FRAME, frame(chance)),
        });
    }
    inputs
}

#[test]
fn any_frame_of_a_reader_ends_at_most_its_own_socket() {
    fuzz::<Sockets>("sockets", case);
}
