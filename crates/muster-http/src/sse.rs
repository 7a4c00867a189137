//! Server-sent events: how they are framed, and the response that carries them.
//!
//! Nothing is buffered for a reader but what is being sent: the next event is taken from its
//! source when the socket has room for it. Stored events are framed once for all readers of a
//! stream, so `axum::response::sse`, which frames each event for each reader, does not fit.

use std::time::Duration;

use axum::{
    body::Bytes,
    http::{HeaderValue, Response, header},
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use crate::{
    pieces::{self, FilePiece},
    server_state::ServerState,
};

/// What a quiet stream sends, so that no proxy takes it for dead.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// A stored event: its number is a resume point for readers.
pub(crate) fn stored(seq: u64, json: &str) -> Bytes {
    Bytes::from(format!("id: {seq}\ndata: {json}\n\n"))
}

/// Adds an event of this connection alone: without an `id:` line it never becomes a resume point
/// (EN-11).
pub(crate) fn push_unnumbered(text: &mut String, json: &str) {
    text.push_str("data: ");
    text.push_str(json);
    text.push_str("\n\n");
}

/// The JSON of a framed event.
pub(crate) fn data(frame: &[u8]) -> Option<&[u8]> {
    frame.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"data: "))
}

/// What a stream sends after its first chunk.
pub(crate) trait SseSource: Send + 'static {
    type News: Send;

    /// Waits until something happened. May be dropped at any time.
    fn wait(&mut self) -> impl Future<Output = Self::News> + Send;

    /// What to send about it.
    fn piece(&mut self, news: Self::News) -> impl Future<Output = NextPiece> + Send;
}

pub(crate) enum NextPiece {
    Send(Bytes),
    /// The reader does not want it.
    Nothing,
    End,
}

/// Streams until the source ends, the reader leaves, or the server stops.
pub(crate) fn respond(
    site: &ServerState,
    first: Bytes,
    source: impl SseSource,
) -> Response<axum::body::Body> {
    let (sender, body) = pieces::channel();
    let reader =
        SseReader { sender, stop: site.streams.subscribe(), keep_alive: site.times.keep_alive };
    tokio::spawn(reader.run(first, source));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// The connection of one reader.
struct SseReader {
    sender: mpsc::Sender<FilePiece>,
    /// Turns true when the server stops.
    stop: watch::Receiver<bool>,
    /// A stream that was quiet for this long shows that it is alive.
    keep_alive: Duration,
}

impl SseReader {
    async fn run(mut self, first: Bytes, mut source: impl SseSource) {
        let mut next = Some(first);
        while let Some(piece) = next {
            if self.sender.send(Ok(piece)).await.is_err() {
                return;
            }
            // Also for a reader whose filter drops everything that comes.
            let quiet = Instant::now() + self.keep_alive;
            next = loop {
                let news = tokio::select! {
                    () = self.sender.closed() => return,
                    _ = self.stop.wait_for(|stopped| *stopped) => return,
                    () = sleep_until(quiet) => break Some(Bytes::from_static(KEEP_ALIVE)),
                    news = source.wait() => news,
                };
                match source.piece(news).await {
                    NextPiece::Send(piece) => break Some(piece),
                    NextPiece::Nothing => {}
                    NextPiece::End => break None,
                }
            };
        }
    }
}
