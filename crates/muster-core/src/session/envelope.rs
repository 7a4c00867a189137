//! The one form in which events leave: the outer object of an event (EN-1 to EN-11).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{SessionEvent, SessionId, event::EventPlace};
use crate::{Recorded, Timestamp};

/// Version of the protocol that events and `/health` name (EN-7).
pub const PROTOCOL_VERSION: &str = "1.0";

/// The outer object. It contains the body twice, for readers of both names (EN-4).
#[derive(Serialize)]
struct Envelope<'a> {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    timestamp_ms: Timestamp,
    timestamp: Timestamp,
    #[serde(rename = "type")]
    kind: &'a str,
    session_id: &'a SessionId,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u64>,
    protocol_version: &'static str,
    data: &'a RawValue,
    payload: &'a RawValue,
}

/// The shown part of an event of the log, its body unparsed.
#[derive(Deserialize)]
struct Stored<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    place: EventPlace,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// A stored event as compact JSON.
pub fn encode(session: &SessionId, recorded: &Recorded<SessionEvent>) -> String {
    let Recorded { seq, at, event, .. } = recorded;
    let data = raw(&event.data);
    let envelope = Envelope::of(session, &event.kind, *at, &data).stored(*seq, &event.place);
    text(&envelope)
}

/// The same from the stored text, without parsing the body.
pub fn encode_row(
    session: &SessionId,
    seq: u64,
    at: Timestamp,
    body: &str,
) -> serde_json::Result<String> {
    let stored: Stored<'_> = serde_json::from_str(body)?;
    let envelope = Envelope::of(session, &stored.kind, at, stored.data);
    Ok(text(&envelope.stored(seq, &stored.place)))
}

/// A message that belongs to one connection: it has no number and can never be resumed from
/// (EN-11). `name` distinguishes it from others of the connection.
pub fn encode_stream_only(
    session: &SessionId,
    kind: &str,
    name: &str,
    at: Timestamp,
    data: &impl Serialize,
) -> String {
    let data = raw(data);
    let id = format!("stream-{name}");
    text(&Envelope { id, ..Envelope::of(session, kind, at, &data) })
}

impl<'a> Envelope<'a> {
    fn of(session: &'a SessionId, kind: &'a str, at: Timestamp, data: &'a RawValue) -> Self {
        Self {
            id: String::new(),
            seq: None,
            timestamp_ms: at,
            timestamp: at,
            kind,
            session_id: session,
            run_id: None,
            turn_id: None,
            thread_id: None,
            turn: None,
            protocol_version: PROTOCOL_VERSION,
            data,
            payload: data,
        }
    }

    fn stored(self, seq: u64, place: &'a EventPlace) -> Self {
        Self {
            id: self.session_id.event_id(seq),
            seq: Some(seq),
            run_id: place.run_id.as_deref(),
            turn_id: place.turn_id.as_deref(),
            thread_id: place.thread_id.as_deref(),
            turn: place.turn,
            ..self
        }
    }
}

fn raw(data: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(data)
        .unwrap_or_else(|error| unreachable!("bodies are plain JSON: {error}"))
}

fn text(envelope: &Envelope<'_>) -> String {
    serde_json::to_string(envelope)
        .unwrap_or_else(|error| unreachable!("envelopes are plain JSON: {error}"))
}
