//! The parts of an event envelope that a reader of todo updates needs.

use serde_json::{Map, Value};

use super::read::fields;
use crate::Timestamp;

/// An event of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// Its number in the session; stream-only events have none.
    pub seq: Option<u64>,
    /// Its type; empty when it has none.
    pub kind: &'a str,
    /// When it happened, for people only (EN-6).
    pub at: Option<Timestamp>,
    /// What happened; `None` means an empty object.
    pub body: Option<&'a Map<String, Value>>,
}

impl<'a> Incoming<'a> {
    /// The event in an envelope; `None` when the value is not an object (EN-9).
    ///
    /// The body is `data` if that is an object, else `payload`; the two are never mixed (EN-5).
    pub fn of(envelope: &'a Value) -> Option<Self> {
        let envelope = envelope.as_object()?;
        let time = fields::first(envelope, &["timestamp_ms", "timestamp"], fields::whole);
        let body = fields::first_object(envelope, &["data", "payload"]);
        Some(Self {
            seq: envelope.get("seq").and_then(fields::whole).and_then(|seq| seq.try_into().ok()),
            kind: envelope.get("type").and_then(Value::as_str).unwrap_or_default(),
            at: time.map(Timestamp),
            body,
        })
    }
}
