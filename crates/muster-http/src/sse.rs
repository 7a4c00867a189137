//! Server-sent events: how they are framed, and the response that carries them.
//!
//! Nothing is kept for a reader but the piece that is being sent: the next one is taken from its
//! source when the socket has room for it. Stored events are framed once for all readers of a
//! stream, so `axum::response::sse`, which frames each event for each reader, does not fit.

use axum::{
    body::Bytes,
    http::{HeaderValue, Response, header},
};
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, sleep_until},
};

use crate::{
    limits::KEEP_ALIVE_AFTER,
    pieces::{self, FilePiece},
};

/// What a quiet stream sends, so that nobody on the way takes it for dead.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// A stored event: its number is where a reader can resume.
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

/// What a stream sends after its first piece.
pub(crate) trait SseSource: Send + 'static {
    type News: Send;

    /// Waits until something happened. May be dropped at any time.
    fn wait(&mut self) -> impl Future<Output = Self::News> + Send;

    /// What is to be sent about it.
    fn piece(&mut self, news: Self::News) -> impl Future<Output = NextPiece> + Send;
}

pub(crate) enum NextPiece {
    Send(Bytes),
    /// The reader does not want it.
    Nothing,
    End,
}

/// Streams until the source ends, the reader leaves, or `stop` turns true.
pub(crate) fn respond(
    first: Bytes,
    source: impl SseSource,
    stop: watch::Receiver<bool>,
) -> Response<axum::body::Body> {
    let (sender, body) = pieces::channel();
    tokio::spawn(run(first, source, sender, stop));
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

async fn run(
    first: Bytes,
    mut source: impl SseSource,
    sender: mpsc::Sender<FilePiece>,
    mut stop: watch::Receiver<bool>,
) {
    let mut next = Some(first);
    while let Some(piece) = next {
        if sender.send(Ok(piece)).await.is_err() {
            return;
        }
        // Also for a reader whose filter drops everything that comes.
        let quiet = Instant::now() + KEEP_ALIVE_AFTER;
        next = loop {
            let news = tokio::select! {
                () = sender.closed() => return,
                _ = stop.wait_for(|stopped| *stopped) => return,
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
