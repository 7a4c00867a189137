//! The messages that belong to one connection to an event stream and are not part of the log.

use muster_core::{
    Timestamp,
    session::{
        self, SessionId,
        stream::{Gap, GapReason, STREAM_GAP, STREAM_HELLO, StreamOpening},
        view,
    },
};
use serde::Serialize;

use super::{SessionDesk, Told, random_bits};

/// Writes the messages of one connection. Clients drop events whose id they have seen, so every
/// message has its own id, even across connections and restarts of the server.
#[derive(Debug, Clone)]
pub struct ConnectionMessages {
    session: SessionId,
    /// Random, so that no other connection has it.
    connection: u128,
    sent: u64,
}

impl SessionDesk<'_> {
    /// The messages of a new connection to a session.
    pub fn connection(self, id: &SessionId) -> Told<ConnectionMessages> {
        Ok(ConnectionMessages { session: id.clone(), connection: random_bits()?, sent: 0 })
    }
}

impl ConnectionMessages {
    /// The first message (SS-3).
    pub fn hello(&mut self, at: Timestamp, opening: &StreamOpening) -> String {
        let session = self.session.clone();
        self.encode("hello", STREAM_HELLO, at, &opening.hello(&session))
    }

    /// Reports which events a slow reader has lost (SS-10).
    pub fn gap(&mut self, at: Timestamp, (from_seq, to_seq): (u64, u64)) -> String {
        let gap = Gap { from_seq, to_seq, reason: GapReason::SlowConsumer };
        self.encode("gap", STREAM_GAP, at, &gap)
    }

    /// One message for each known todo list (TS-4).
    pub fn snapshots(&mut self, at: Timestamp, state: &view::Snapshots) -> Vec<String> {
        let kind = session::body::TOOL_RESULT;
        state.lists.iter().map(|list| self.encode("todo", kind, at, list)).collect()
    }

    fn encode(&mut self, name: &str, kind: &str, at: Timestamp, data: &impl Serialize) -> String {
        self.sent += 1;
        let name = format!("{name}-{:032x}-{}", self.connection, self.sent);
        session::encode_stream_only(&self.session, kind, &name, at, data)
    }
}
