//! A client that writes and reads lines, and the shapes of the messages it sends.

use std::{sync::Arc, time::Duration};

use rmcp::{RoleServer, service::RunningService};
use serde_json::{Value, json};
use tokio::{
    io::{
        AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, split,
    },
    sync::watch,
    time::timeout,
};

use crate::{Backend, McpAdapter, long_calls::LongCalls, stdio};

/// Timeout of every wait.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes that fit between client and server.
const PIPE_BYTES: usize = 64 * 1024;

/// One connection to a server in this process.
pub(super) struct Wire {
    writer: Option<WriteHalf<DuplexStream>>,
    reader: Lines<BufReader<ReadHalf<DuplexStream>>>,
    server: RunningService<RoleServer, McpAdapter>,
    stopping: watch::Sender<bool>,
    pub(super) long_calls: Arc<LongCalls>,
}

impl Wire {
    pub(super) fn to(backend: Arc<dyn Backend>) -> Self {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let (source, sink) = split(far);
        let (stopping, stopped) = watch::channel(false);
        let long_calls = Arc::new(LongCalls::new());
        let server = stdio::connect(
            backend,
            Arc::clone(&long_calls),
            Box::new(source),
            Box::new(sink),
            stopped,
        );
        let (reader, writer) = split(near);
        let reader = BufReader::new(reader).lines();
        Self { writer: Some(writer), reader, server, stopping, long_calls }
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) {
        let writer = self.writer.as_mut().expect("the connection is open");
        timeout(PATIENCE, writer.write_all(bytes)).await.expect("in time").expect("written");
    }

    pub(super) async fn send(&mut self, message: Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    pub(super) async fn receive(&mut self) -> Value {
        let line = timeout(PATIENCE, self.reader.next_line()).await.expect("in time");
        let line = line.expect("readable").expect("not at the end");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Writes one request and reads the next message.
    pub(super) async fn ask(&mut self, message: Value) -> Value {
        self.send(message).await;
        self.receive().await
    }

    /// Stops the server as a signal does, and leaves its remaining output unread.
    pub(super) async fn stop_unread(self) {
        self.stopping.send_replace(true);
        timeout(PATIENCE, self.server.waiting()).await.expect("in time").expect("no panic");
    }

    /// Stops the server as a signal does, and reads the rest of its output.
    pub(super) async fn stop(self) -> Vec<Value> {
        self.stopping.send_replace(true);
        self.rest().await
    }

    /// Closes the client's end and reads the rest of the output.
    pub(super) async fn finish(mut self) -> Vec<Value> {
        let mut writer = self.writer.take().expect("the connection is open");
        writer.shutdown().await.expect("closed");
        self.rest().await
    }

    async fn rest(mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(line) =
            timeout(PATIENCE, self.reader.next_line()).await.expect("in time").expect("readable")
        {
            rest.push(serde_json::from_str(&line).expect("JSON"));
        }
        timeout(PATIENCE, self.server.waiting()).await.expect("in time").expect("no panic");
        rest
    }
}

/// A request of the older revisions.
pub(super) fn request(id: u32, method: &str, params: impl Into<Value>) -> Value {
    let params = params.into();
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A tool call of the older revisions.
pub(super) fn call(id: u32, name: &str, arguments: impl Into<Value>) -> Value {
    let arguments = arguments.into();
    request(id, "tools/call", json!({"name": name, "arguments": arguments}))
}

/// A request of the stateless revision.
pub(super) fn stateless(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    request(id, method, params)
}

/// The same of a client that takes handles for calls that take long.
pub(super) fn patient(id: u32, method: &str, params: Value) -> Value {
    let mut message = stateless(id, method, params);
    let declared = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = declared;
    message
}

/// The opening request of the older revisions.
pub(super) fn initialize(id: u32, version: &str) -> Value {
    let params = json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    request(id, "initialize", params)
}

/// Names in a `tools/list` answer.
pub(super) fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().expect("tools");
    tools.iter().map(|tool| tool["name"].as_str().expect("name")).collect()
}
