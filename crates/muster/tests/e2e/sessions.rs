//! Sessions over a running server: the bridge, the event stream and the todo tool.

mod errors;
mod hosts;
mod listing;
mod restart;
mod routes;
mod rules;
mod slow_reader;
mod stream;
mod todo_tool;
mod todo_updates;
mod tool_vectors;
mod tree_vectors;

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    net::TcpStream,
    path::Path,
    time::Duration,
};

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

/// Longer than anything that is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client of the bridge.
pub(crate) trait Bridge {
    /// Sends a request; returns status and JSON, null without a body.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value);

    /// Reads something that has to be there.
    fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask("GET", path, None);
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// Posts something that has to be accepted.
    fn post(&self, path: &str, body: &Value) -> Value {
        let (status, answer) = self.ask("POST", path, Some(body));
        assert!(status == 200 || status == 202, "{path}: {status} {answer}");
        answer
    }

    /// Makes a session; returns its path.
    fn session(&self) -> String {
        let made = self.post("/sessions", &json!({}));
        format!("/sessions/{}", made["session_id"].as_str().unwrap())
    }

    /// Reports an event; returns its number.
    fn report(&self, session: &str, kind: &str, data: Value) -> u64 {
        let event = json!({"type": kind, "data": data});
        self.post(&format!("{session}/events"), &event)["seq"].as_u64().unwrap()
    }

    /// Reports a change of a todo list; returns the number of its event.
    fn report_todo(&self, session: &str, todo: Value) -> u64 {
        self.report(session, "task_event", json!({"todo": todo}))
    }
}

impl Bridge for ServerProcess {
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let request = self.request(method, path);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let reply = self.send(&request).unwrap();
        match reply.body.is_empty() {
            true => (reply.status, Value::Null),
            false => (reply.status, reply.json().unwrap()),
        }
    }
}

/// The vectors of a file.
pub(crate) fn vectors(name: &str) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("tests/contracts/sessions").join(name)).unwrap();
    let mut sheet: Value = serde_json::from_str(&text).unwrap();
    std::mem::take(sheet["vectors"].as_array_mut().unwrap())
}

/// The nodes that the compiled text leaves out, read in pages of two.
fn dropped(server: &ServerProcess, session: &str, text: &Value) -> Value {
    let mut nodes = Vec::new();
    let mut cursor = text["dropped_cursor"].clone();
    while let Some(next) = cursor.as_str() {
        let mut page = server.get(&format!("{session}/ctrees/dropped?limit=2&cursor={next}"));
        assert_eq!(page["dropped"], text["collapse"]["dropped"]);
        nodes.append(page["node_ids"].as_array_mut().unwrap());
        cursor = page["next_cursor"].take();
    }
    Value::Array(nodes)
}

/// The id in a session's path.
fn id_of(session: &str) -> &str {
    session.rsplit('/').next().unwrap()
}

/// One frame of an event stream.
#[derive(Debug)]
pub(crate) struct Frame {
    /// What the `id:` line says.
    pub(crate) id: Option<u64>,
    pub(crate) event: Value,
    /// Bytes of its JSON.
    bytes: usize,
}

impl Frame {
    pub(crate) fn kind(&self) -> &str {
        self.event["type"].as_str().unwrap()
    }
}

/// A connection to an event stream.
pub(crate) struct Stream {
    lines: BufReader<TcpStream>,
    headers: Vec<String>,
}

impl Stream {
    /// Follows a session; `query` begins with a question mark or is empty.
    pub(crate) fn open(server: &ServerProcess, session: &str, query: &str) -> Self {
        Self::open_with(server, &format!("{session}/events{query}"), None)
    }

    /// Comes back with `Last-Event-ID`, as a reader does that lost its connection.
    fn resume(server: &ServerProcess, target: &str, last: &str) -> Self {
        Self::open_with(server, target, Some(last))
    }

    pub(crate) fn open_with(server: &ServerProcess, target: &str, last: Option<&str>) -> Self {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let last = last.map_or(String::new(), |last| format!("Last-Event-ID: {last}\r\n"));
        // Version 1.0, so that the body comes without chunks.
        let head = format!(
            "GET {target} HTTP/1.0\r\nHost: {}\r\nAuthorization: Bearer {}\r\n{last}\r\n",
            server.address(),
            server.token().unwrap()
        );
        (&stream).write_all(head.as_bytes()).unwrap();
        let mut opened = Self { lines: BufReader::new(stream), headers: Vec::new() };
        while let Some(line) = opened.line().filter(|line| !line.is_empty()) {
            opened.headers.push(line.to_ascii_lowercase());
        }
        assert!(opened.headers[0].contains(" 200 "), "{target}: {:?}", opened.headers);
        opened
    }

    /// The next line; `None` when the stream has ended.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).unwrap();
        (read > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned())
    }

    /// The next block of lines, comments included.
    fn block(&mut self) -> Option<Vec<String>> {
        let mut block = Vec::new();
        loop {
            match self.line()? {
                line if line.is_empty() => return Some(block),
                line => block.push(line),
            }
        }
    }

    /// The next event; `None` when the stream has ended.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        loop {
            let block = self.block()?;
            if block.iter().all(|line| line.starts_with(':')) {
                continue;
            }
            // SS-2: an optional number and one line of JSON, nothing else.
            let (id, data) = match block.as_slice() {
                [data] => (None, data),
                [id, data] => (Some(id.strip_prefix("id: ").unwrap().parse().unwrap()), data),
                other => panic!("{other:?}"),
            };
            let json = data.strip_prefix("data: ").unwrap();
            let event: Value = serde_json::from_str(json).unwrap();
            assert_eq!(event["seq"].as_u64(), id, "{event}");
            return Some(Frame { id, event, bytes: json.len() });
        }
    }

    /// The greeting, which has to be the next event.
    fn hello(&mut self) -> Value {
        let mut hello = self.next().unwrap();
        assert_eq!((hello.kind(), hello.id), ("stream.hello", None), "{hello:?}");
        hello.event["data"].take()
    }

    /// Everything up to the stored event of this number.
    fn until(&mut self, seq: u64) -> Vec<Frame> {
        let mut frames = Vec::new();
        while frames.last().is_none_or(|frame: &Frame| frame.id != Some(seq)) {
            frames.push(self.next().unwrap_or_else(|| panic!("it ended before {seq}")));
        }
        frames
    }
}

/// The numbers of stored events among frames.
fn seqs(frames: &[Frame]) -> Vec<u64> {
    frames.iter().filter_map(|frame| frame.id).collect()
}
