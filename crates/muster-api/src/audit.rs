//! Who did what in the whole store: the log, without what Muster did itself (TEAM-WHO-3).

use muster_core::{Author, AuthorKind};
use muster_store::{LogCursor, StoreError, StreamEvent};
use schemars::JsonSchema;
use serde::Serialize;

use crate::App;

/// Events of the log that are read at once.
const PAGE_EVENTS: u32 = 1_000;
/// Events of the log that one request looks through.
const EVENTS_MAX: u32 = 20_000;

/// A part of the record, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditAnswer {
    pub entries: Vec<AuditEntry>,
    /// `since` of the next part, which may be empty so far.
    pub next: String,
    /// Whether there is more to read now.
    pub more: bool,
}

/// Something that a person or an agent did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AuditEntry {
    /// Where it was: `workspace/…`, `run/…`, `session/…` and others.
    pub stream: String,
    /// Its number in there.
    pub seq: u64,
    /// What happened, as the log calls it.
    pub event: String,
    /// What it is about, if one thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// When.
    pub at: String,
    /// Who did it.
    pub by: Author,
}

impl App {
    /// What people and agents did after a cursor, at most `limit` of it. Events of
    /// older versions name nobody and are left out.
    pub fn audit(&self, since: LogCursor, limit: u32) -> Result<AuditAnswer, StoreError> {
        let mut snapshot = self.engine().store().snapshot()?;
        let mut entries = Vec::new();
        let mut position = since;
        let mut read = 0;
        let more = loop {
            let page = snapshot.log(position, PAGE_EVENTS)?;
            let is_last = page.len() < PAGE_EVENTS as usize;
            read += PAGE_EVENTS;
            for (cursor, event) in page {
                if entries.len() >= limit as usize {
                    return Ok(AuditAnswer { entries, next: position.to_string(), more: true });
                }
                position = cursor;
                entries.extend(AuditEntry::of(event));
            }
            if is_last || read >= EVENTS_MAX {
                break !is_last;
            }
        };
        Ok(AuditAnswer { entries, next: position.to_string(), more })
    }
}

impl AuditEntry {
    /// The entry of an event that a person or an agent caused.
    fn of(StreamEvent { stream, event }: StreamEvent) -> Option<Self> {
        let by: Author = serde_json::from_str(event.by.as_deref()?).ok()?;
        (by.kind != AuthorKind::Server).then(|| Self {
            stream,
            seq: event.seq,
            event: event.kind,
            about: event.subject.map(|subject| subject.entity),
            at: event.at.rfc3339(),
            by,
        })
    }
}
