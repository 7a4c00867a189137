//! The stdio transport: one JSON-RPC message per line, both ways.
//!
//! It differs from the SDK's own in what a client can see: a broken or oversized line gets a
//! JSON-RPC error instead of silence, calls keep their order ([`ConnectionLane`]), and nothing is
//! read from a client that does not read its responses.

use std::{io, sync::Arc, time::Duration};

use muster_api::CALL_BYTES_MAX;
use rmcp::{
    ErrorData, RoleServer,
    model::{
        ClientJsonRpcMessage, ClientRequest, GetExtensions, JsonRpcMessage, RequestId,
        ServerJsonRpcMessage,
    },
    transport::Transport,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinHandle,
    time::timeout,
};

use crate::{
    backend::Backend,
    lane::{ConnectionLane, LaneNeed},
    message::{self, Decoded, decode},
    outbox::Outbox,
    request_id::{RequestIdScanner, RequestSender},
};

/// Longest accepted line; a longer one is rejected and skipped.
pub(crate) const LINE_BYTES_MAX: usize = CALL_BYTES_MAX;

/// Limit of unanswered requests of one connection; reading pauses above it.
const REQUESTS_IN_FLIGHT_MAX: usize = 256;

/// Buffer space for each read.
const READ_BYTES: usize = 64 * 1024;

/// Where lines come from.
pub(crate) type LineSource = Box<dyn AsyncRead + Send + Unpin>;

/// Where lines go.
pub(crate) type Sink = Box<dyn AsyncWrite + Send + Unpin>;

/// Whether the connection should end.
pub(crate) type Stopped = watch::Receiver<bool>;

/// How long a client may take to read its last responses once the connection has to end.
const DELIVERY_MAX: Duration = Duration::from_secs(3);

/// Counts a request as unanswered for as long as it is held.
#[derive(Clone)]
pub(crate) struct InFlight(
    #[expect(dead_code, reason = "held for its drop")] Arc<OwnedSemaphorePermit>,
);

/// One connection.
pub(crate) struct LineTransport {
    lines: Lines,
    outbox: Arc<Outbox>,
    writing: Option<JoinHandle<()>>,
    backend: Arc<dyn Backend>,
    lane: ConnectionLane,
    in_flight: Arc<Semaphore>,
    stop: Stopped,
}

impl LineTransport {
    /// Starts the writing task; needs a runtime. Once `stop` is true no more lines are read, as if
    /// the source had ended.
    pub(crate) fn new(
        backend: Arc<dyn Backend>,
        source: LineSource,
        sink: Sink,
        stop: Stopped,
    ) -> Self {
        let outbox = Arc::new(Outbox::default());
        let writing = tokio::spawn(Arc::clone(&outbox).deliver(sink));
        Self {
            lines: Lines::new(source),
            outbox,
            writing: Some(writing),
            backend,
            lane: ConnectionLane::new(),
            in_flight: Arc::new(Semaphore::new(REQUESTS_IN_FLIGHT_MAX)),
            stop,
        }
    }

    fn refuse(&self, id: Option<RequestId>, error: ErrorData) {
        if let Err(error) = self.outbox.push(JsonRpcMessage::error(error, id)) {
            tracing::info!(%error, "could not deliver an error response");
        }
    }

    /// Rejects a line that was too long.
    fn refuse_long(&self, sender: RequestSender) {
        let id = match sender {
            RequestSender::Request(id) => message::request_id(&id),
            RequestSender::Unknown => None,
            RequestSender::Nobody => return,
        };
        let reason = format!("a message may have {LINE_BYTES_MAX} bytes at most");
        self.refuse(id, ErrorData::invalid_request(reason, None));
    }

    /// Gives a request its place in the lane, in the order of the lines.
    fn admit(&self, message: &mut ClientJsonRpcMessage, permit: OwnedSemaphorePermit) {
        let JsonRpcMessage::Request(request) = message else { return };
        let turn = if let ClientRequest::CallToolRequest(call) = &request.request {
            let reads = self.backend.reads_only(&call.params.name).unwrap_or(true);
            Some(self.lane.join(if reads { LaneNeed::Reader } else { LaneNeed::Writer }))
        } else {
            None
        };
        let extensions = request.request.extensions_mut();
        extensions.insert(InFlight(Arc::new(permit)));
        if let Some(turn) = turn {
            extensions.insert(turn);
        }
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        std::future::ready(self.outbox.push(message))
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let mut stop = self.stop.clone();
        tokio::select! {
            biased;
            Ok(_) = stop.wait_for(|stopped| *stopped) => None,
            message = self.next_message() => message,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outbox.close();
        let Some(mut writing) = self.writing.take() else { return Ok(()) };
        if !*self.stop.borrow() {
            return writing.await.map_err(io::Error::other);
        }
        let Ok(written) = timeout(DELIVERY_MAX, &mut writing).await else {
            writing.abort();
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read"));
        };
        written.map_err(io::Error::other)
    }
}

impl LineTransport {
    /// The next message; dropping this future loses none.
    async fn next_message(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            // Both waits come before the line is taken, so that dropping this future loses nothing.
            let permit = Arc::clone(&self.in_flight).acquire_owned().await.ok()?;
            if !self.outbox.has_room().await {
                return None;
            }
            match self.lines.next().await {
                Line::Whole(line) => match decode(line) {
                    Decoded::Message(mut message) => {
                        self.admit(&mut message, permit);
                        return Some(*message);
                    }
                    Decoded::Refused(id, error) => self.refuse(id, error),
                    Decoded::Ignored => {}
                },
                Line::TooLong(sender) => self.refuse_long(sender),
                Line::End => return None,
            }
        }
    }
}

/// What the source holds next.
#[derive(Debug)]
enum Line<'a> {
    Whole(&'a [u8]),
    TooLong(RequestSender),
    End,
}

/// Splits a source into lines of bounded length. Dropping `next` before it is done loses nothing.
struct Lines {
    source: LineSource,
    buffer: Vec<u8>,
    /// Start of the current line in the buffer.
    start: usize,
    /// Bytes of the current line that were searched for a line break.
    searched: usize,
    /// The scan of a line that is too long to keep.
    oversized: Option<RequestIdScanner>,
}

impl Lines {
    fn new(source: LineSource) -> Self {
        Self { source, buffer: Vec::new(), start: 0, searched: 0, oversized: None }
    }

    async fn next(&mut self) -> Line<'_> {
        loop {
            let rest = &self.buffer[self.start + self.searched..];
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let line = self.start..self.start + self.searched + at;
                self.start = line.end + 1;
                self.searched = 0;
                if self.oversized.is_none() && line.len() <= LINE_BYTES_MAX {
                    return Line::Whole(&self.buffer[line]);
                }
                let mut scanner = self.oversized.take().unwrap_or_default();
                scanner.push(&self.buffer[line]);
                return Line::TooLong(scanner.sender());
            }
            self.compact();
            if self.oversized.is_some() || self.searched > LINE_BYTES_MAX {
                self.oversized.get_or_insert_default().push(&self.buffer);
                self.buffer.clear();
                self.searched = 0;
            }
            self.buffer.reserve(READ_BYTES);
            match self.source.read_buf(&mut self.buffer).await {
                Ok(0) => return Line::End,
                Ok(_) => {}
                Err(error) => {
                    tracing::info!(%error, "could not read from the client");
                    return Line::End;
                }
            }
        }
    }

    /// Moves the unfinished line to the front and frees the memory of an outlier.
    fn compact(&mut self) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.searched = self.buffer.len();
        if self.buffer.len() < READ_BYTES {
            self.buffer.shrink_to(2 * READ_BYTES);
        }
    }
}
