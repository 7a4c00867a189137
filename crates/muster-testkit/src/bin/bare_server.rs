//! The least that a server does: what a real one is measured against. `bare_server` prints its
//! address. `GET /health` returns a few bytes; `GET /ws` follows a broadcast, and
//! `POST /publish?count=N&bytes=B` sends N messages of B bytes to its followers at once.

use std::{error::Error, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::{
        Query, State,
        ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade},
    },
    response::Response,
    routing::{get, post},
    serve::ListenerExt as _,
};
use futures_util::SinkExt as _;
use serde::Deserialize;
use tokio::{
    net::TcpListener,
    sync::broadcast::{self, Receiver, Sender, error::RecvError},
};

/// Messages that a client may be behind; more than are ever sent at once.
const WAITING_MAX: usize = 1 << 17;
/// Messages that are handed over before the socket is flushed.
const BATCH_MAX: usize = 64;

/// How an event begins.
const HEAD: &str = "{\"id\":\"01a1dde2-36d5-77f2-a04b-7a8bbd6023fc\",\
     \"runId\":\"01a1dde2-36d5-77f2-a04b-7a8bbd6023fc\",";

#[derive(Deserialize)]
struct Publish {
    count: u64,
    bytes: usize,
}

#[expect(clippy::print_stdout, reason = "the address is what the caller asks for")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (sender, _) = broadcast::channel::<Utf8Bytes>(WAITING_MAX);
    let routes = Router::new()
        .route("/health", get(async || "{\"status\":\"ok\"}"))
        .route("/ws", get(follow))
        .route("/publish", post(publish));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let listener = listener.tap_io(|stream| {
        // Without it an answer may only arrive later.
        stream.set_nodelay(true).unwrap_or_default();
    });
    axum::serve(listener, routes.with_state(Arc::new(sender))).await?;
    Ok(())
}

async fn publish(State(sender): State<Arc<Sender<Utf8Bytes>>>, Query(publish): Query<Publish>) {
    for number in 1..=publish.count {
        // The number is where an event has it, so that readers have the same work.
        let head = format!("{HEAD}\"seq\":{number},\"text\":\"");
        let rest = publish.bytes.saturating_sub(head.len() + 2);
        let text = format!("{head}{}\"}}", "x".repeat(rest));
        // There may be no listener, which does not matter here.
        sender.send(text.into()).map_or_else(|_| (), drop);
    }
}

async fn follow(
    upgrade: WebSocketUpgrade,
    State(sender): State<Arc<Sender<Utf8Bytes>>>,
) -> Response {
    let receiver = sender.subscribe();
    upgrade.on_upgrade(move |socket| async move { pass_on(socket, receiver).await })
}

/// Hands over what waits, then has it sent, until either side is gone.
async fn pass_on(mut socket: WebSocket, mut receiver: Receiver<Utf8Bytes>) {
    let hello = Message::Binary(Bytes::new());
    if socket.send(hello).await.is_err() {
        return;
    }
    loop {
        let mut next = match receiver.recv().await {
            Ok(text) => Some(text),
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        for _ in 0..BATCH_MAX {
            let Some(text) = next else { break };
            if socket.feed(Message::Text(text)).await.is_err() {
                return;
            }
            next = receiver.try_recv().ok();
        }
        if let Some(text) = next
            && socket.feed(Message::Text(text)).await.is_err()
        {
            return;
        }
        if socket.flush().await.is_err() {
            return;
        }
    }
}
