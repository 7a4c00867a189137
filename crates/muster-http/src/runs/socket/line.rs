//! One reader's connection: what is sent to it, what it sends, and how it ends.

use std::{
    io::{self, IoSlice},
    sync::Arc,
};

use axum::body::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use muster_api::{Batch, Follower, News, StoreError, runs::StreamWord};
use muster_core::run::id::RunId;
use serde_json::Value;
use tokio::{
    io::AsyncWriteExt as _,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_tungstenite::tungstenite::{
    self, Message, Utf8Bytes,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use super::{
    super::request::{ask, ask_large},
    Wish,
    frame::{encode, text_of},
    upgrade::Socket,
};
use crate::{
    connection::Wire,
    guard::StreamPass,
    limits::{SOCKET_FRAME_BYTES_MAX, SOCKET_GOODBYE_MAX},
    server_state::ServerState,
};

/// Close codes (RUNS-WS-6 to 8).
const GOING_AWAY: u16 = 1001;
const TOO_BIG: u16 = 1009;
const BROKEN: u16 = 1011;
const REVOKED: u16 = 4401;
const RUN_DELETED: u16 = 4404;
const TOO_SLOW: u16 = 4408;

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The reader left.
    Left,
    /// The run was deleted.
    RunDeleted,
    /// The server stops.
    Shutdown,
    /// The reader reads nothing, or sends nothing.
    Slow,
    /// The reader sends too much.
    TooBig,
    /// Its token was revoked or has expired.
    Revoked,
    /// An internal error.
    Broken,
}

/// What a connection waits for.
enum Happened {
    /// The server stops.
    Stop,
    /// The reader sent something, or left.
    Said(Option<Result<Message, tungstenite::Error>>),
    /// It is time for a ping.
    Tick,
    /// There are events.
    News(Result<News, StoreError>),
}

/// One reader's connection.
pub(super) struct SocketConnection {
    site: Arc<ServerState>,
    wish: Wish,
    /// Number of the newest event when the reader connected.
    last_seq: Option<u64>,
    /// Events up to this number are in a snapshot that was sent.
    floor: u64,
    /// Whether the reader was sent the message that live events follow.
    live: bool,
    heard: Instant,
}

type Sent = Result<(), End>;

impl SocketConnection {
    /// A connection for this request.
    pub(super) fn new(site: Arc<ServerState>, wish: Wish, last_seq: Option<u64>) -> Self {
        Self { site, wish, last_seq, floor: 0, live: false, heard: Instant::now() }
    }

    /// Sends until the reader leaves, the run ends or the server stops.
    pub(super) async fn run(mut self, mut socket: Socket, pass: Option<StreamPass>) {
        let end = tokio::select! {
            end = self.converse(&mut socket) => match end {
                Ok(never) => match never {},
                Err(end) => end,
            },
            () = revoked(pass.as_ref()) => End::Revoked,
        };
        tracing::debug!(?end, "a WebSocket ends");
        // A reader that ignores the close frame has left.
        if timeout(SOCKET_GOODBYE_MAX, self.part(&mut socket, end)).await.is_err() {
            tracing::debug!("a WebSocket ended without a close frame");
        }
    }

    async fn converse(&mut self, socket: &mut Socket) -> Result<std::convert::Infallible, End> {
        let hello = StreamWord::hello(self.last_seq, self.wish.since, !self.wish.filter.is_empty());
        self.word(socket, hello).await?;
        let mut follower = self.begin(socket).await?;
        let mut stop = self.site.streams.subscribe();
        // Created once: a new one for every batch would contend with all others for one lock.
        let mut stopped = std::pin::pin!(stop.wait_for(|stopped| *stopped));
        let mut ticks = interval(self.site.times.socket_ping);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if !self.live && self.last_seq.is_none_or(|last| follower.position() >= last) {
                self.live = true;
                let seq = self.wish.run.map(|_| follower.position());
                self.word(socket, StreamWord::Live { seq }).await?;
            }
            let happened = tokio::select! {
                biased;
                _ = &mut stopped => Happened::Stop,
                said = socket.next() => Happened::Said(said),
                _ = ticks.tick() => Happened::Tick,
                news = follower.next() => Happened::News(news),
            };
            match happened {
                Happened::Stop => return Err(self.last_events(socket, &mut follower).await),
                Happened::Said(said) => self.hear(socket, said).await?,
                Happened::Tick => self.ping(socket).await?,
                Happened::News(Ok(News::Events(batches))) => self.events(socket, &batches).await?,
                Happened::News(Ok(News::Gap { from, to })) => self.gap(socket, from, to).await?,
                Happened::News(Ok(News::End)) => return Err(End::RunDeleted),
                Happened::News(Err(error)) => {
                    tracing::warn!(%error, "a WebSocket failed");
                    return Err(End::Broken);
                }
            }
        }
    }

    /// Events written before the server stops are still sent, as far as time permits.
    async fn last_events(&self, socket: &mut Socket, follower: &mut Follower) -> End {
        let last = match self.wish.run {
            Some(run) => ask(&self.site, move |app| app.runs().last_seq(run)).await.unwrap_or(0),
            None => 0,
        };
        let sending = async {
            while follower.position() < last {
                let Ok(News::Events(batches)) = follower.next().await else { break };
                self.events(socket, &batches).await?;
            }
            Ok::<_, End>(())
        };
        match timeout(SOCKET_GOODBYE_MAX, sending).await {
            Ok(Err(end)) => end,
            Ok(Ok(())) | Err(_) => End::Shutdown,
        }
    }

    /// Finds the starting position. A reader that names none, and one from the future, get the
    /// whole run (RUNS-WS-5): it includes everything between its creation and this connection.
    async fn begin(&mut self, socket: &mut Socket) -> Result<Follower, End> {
        let runs = self.site.app.runs();
        let (Some(run), Some(last)) = (self.wish.run, self.last_seq) else {
            return runs.follow_all(encode).map_err(|_| End::Broken);
        };
        let Some(since) = self.wish.since else {
            if !self.wish.filter.admits_type("run.patch") {
                return runs.follow(run, last, encode).map_err(|_| End::Broken);
            }
            self.snapshot(socket, run).await?;
            let followed = self.site.app.runs().follow(run, self.floor, encode);
            return followed.map_err(|_| End::Broken);
        };
        if since <= last {
            return runs.follow(run, since, encode).map_err(|_| End::Broken);
        }
        let follower = runs.follow(run, last, encode).map_err(|_| End::Broken)?;
        let from_seq = Some(last + 1);
        let to_seq = Some(since);
        self.word(socket, StreamWord::Gap { from_seq, to_seq, reason: "ahead" }).await?;
        self.snapshot(socket, run).await?;
        Ok(follower)
    }

    /// Sends a frame that is not an event.
    async fn word(&self, socket: &mut Socket, word: StreamWord) -> Sent {
        let text = self.site.app.runs().word(self.wish.run, word).map_err(|_| End::Broken)?;
        self.send(socket, Message::Text(text.into())).await
    }

    /// Sends the whole run; events that it includes are not sent again.
    async fn snapshot(&mut self, socket: &mut Socket, run: RunId) -> Sent {
        let asked = ask_large(&self.site, move |app| app.runs().snapshot_frame(run)).await;
        let (text, seq) = asked.map_err(|_| End::RunDeleted)?;
        self.floor = seq;
        self.send(socket, Message::Text(text.into())).await
    }

    async fn gap(&mut self, socket: &mut Socket, from: u64, to: u64) -> Sent {
        let reason = "slow";
        let Some(run) = self.wish.run else {
            // Event numbers across all runs mean nothing to a reader.
            let gap = StreamWord::Gap { from_seq: None, to_seq: None, reason };
            return self.word(socket, gap).await;
        };
        let from_seq = Some(from);
        let to_seq = Some(to);
        self.word(socket, StreamWord::Gap { from_seq, to_seq, reason }).await?;
        self.snapshot(socket, run).await
    }

    /// Events are encoded already: everything that waits is written to the connection at once,
    /// bypassing the protocol layer, which has nothing left to send.
    async fn events(&self, socket: &mut Socket, batches: &[Batch]) -> Sent {
        let wanted = self.wanted(batches);
        self.flush(socket).await?;
        let sent = timeout(self.site.times.socket_stall, write_all(socket.get_mut(), wanted)).await;
        sent.map_err(|_| End::Slow)?.map_err(|_| End::Left)
    }

    /// The frames of batches that this reader wants.
    fn wanted<'a>(&self, batches: &'a [Batch]) -> Vec<IoSlice<'a>> {
        let filter = &self.wish.filter;
        let whole = |batch: &Batch| filter.is_empty() && batch.first() > self.floor;
        if batches.iter().all(whole) {
            return batches.iter().map(|batch| IoSlice::new(batch.bytes())).collect();
        }
        let frames = batches.iter().flat_map(Batch::frames).filter(|(seq, _)| *seq > self.floor);
        let admitted =
            frames.filter(|(_, frame)| text_of(frame).is_some_and(|text| filter.admits_text(text)));
        admitted.map(|(_, frame)| IoSlice::new(frame)).collect()
    }

    async fn flush(&self, socket: &mut Socket) -> Sent {
        let flushed = timeout(self.site.times.socket_stall, socket.flush()).await;
        flushed.map_err(|_| End::Slow)?.map_err(|_| End::Left)
    }

    async fn send(&self, socket: &mut Socket, message: Message) -> Sent {
        let sent = timeout(self.site.times.socket_stall, socket.send(message)).await;
        sent.unwrap_or(Err(tungstenite::Error::ConnectionClosed)).map_err(|_| End::Left)
    }

    async fn ping(&self, socket: &mut Socket) -> Sent {
        if self.heard.elapsed() > self.site.times.socket_silence {
            return Err(End::Slow);
        }
        self.send(socket, Message::Ping(Bytes::new())).await
    }

    /// Messages of the reader: signs of life, and its own pings (RUNS-WS-7).
    async fn hear(
        &mut self,
        socket: &mut Socket,
        said: Option<Result<Message, tungstenite::Error>>,
    ) -> Sent {
        let message = match said {
            None | Some(Ok(Message::Close(_))) => return Err(End::Left),
            Some(Err(_)) => return Err(End::TooBig),
            Some(Ok(message)) => message,
        };
        self.heard = Instant::now();
        match message {
            Message::Text(text) if text.len() > SOCKET_FRAME_BYTES_MAX => Err(End::TooBig),
            Message::Binary(bytes) if bytes.len() > SOCKET_FRAME_BYTES_MAX => Err(End::TooBig),
            Message::Text(text) if is_ping(&text) => {
                self.send(
                    socket,
                    Message::Text(Utf8Bytes::from_static(r#"{"type":"stream.pong"}"#)),
                )
                .await
            }
            // The pong is in the buffer by now. Nothing more is read before it is sent: otherwise a
            // reader that pings and takes nothing makes the buffer grow without end.
            Message::Ping(_) => self.flush(socket).await,
            Message::Text(_)
            | Message::Binary(_)
            | Message::Pong(_)
            | Message::Close(_)
            | Message::Frame(_) => Ok(()),
        }
    }

    /// Sends the matching close frame, and waits for the reply.
    async fn part(&self, socket: &mut Socket, end: End) {
        let (reason, code) = match end {
            End::Left => return,
            End::RunDeleted => (Some("run_deleted"), RUN_DELETED),
            End::Shutdown => (Some("shutdown"), GOING_AWAY),
            End::Slow => (None, TOO_SLOW),
            End::TooBig => (None, TOO_BIG),
            End::Revoked => (None, REVOKED),
            End::Broken => (None, BROKEN),
        };
        if let Some(reason) = reason
            && self.word(socket, StreamWord::End { reason }).await.is_err()
        {
            return;
        }
        let close = CloseFrame {
            code: CloseCode::from(code),
            reason: Utf8Bytes::from_static(reason.unwrap_or("")),
        };
        if self.send(socket, Message::Close(Some(close))).await.is_ok() {
            while let Some(Ok(_)) = socket.next().await {}
        }
    }
}

/// Waits until the token of a reader is revoked; forever for a reader without a named one.
async fn revoked(pass: Option<&StreamPass>) {
    match pass {
        Some(pass) => pass.revoked().await,
        None => std::future::pending().await,
    }
}

fn is_ping(text: &str) -> bool {
    let parsed = serde_json::from_str::<Value>(text);
    parsed.is_ok_and(|value| value["type"] == "stream.ping")
}

/// Writes frames one after the other, as many at once as the connection accepts.
async fn write_all(wire: &mut Wire, mut pieces: Vec<IoSlice<'_>>) -> io::Result<()> {
    let stream = match wire {
        Wire::Plain(stream) => stream,
        Wire::Tls(stream) => {
            for piece in pieces {
                stream.write_all(&piece).await?;
            }
            return stream.flush().await;
        }
    };
    let mut left = &mut pieces[..];
    while !left.is_empty() {
        match stream.try_write_vectored(left) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => stream.writable().await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
