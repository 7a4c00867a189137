//! Events as they are sent, and pages of them (RUNS-PAGE).
//!
//! A stored event is sent as it is: only its position is prepended, so that a page and a socket
//! cost a copy of the text. Patches are the exception: the server's own bookkeeping in them stays
//! in the store and in the file of the run, which a lost store is rebuilt from.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Timestamp,
    json::Json,
    run::{
        RunEvent, RunFact,
        id::{EventId, NodeId, RunId, TurnId},
        shape::words,
    },
};

/// Default number of events of a page.
pub const PAGE_EVENTS: u32 = 200;
/// Events of a page at most.
pub const PAGE_EVENTS_MAX: u32 = 2_000;

/// An event as the log has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LoggedEvent<'a> {
    /// Its number.
    pub seq: u64,
    /// Its time.
    pub at: Timestamp,
    /// Its type.
    pub kind: &'a str,
    /// The stored text.
    pub body: &'a str,
}

/// An event as it is sent, on sockets and in pages.
pub fn served(run: RunId, line: LoggedEvent<'_>) -> String {
    if !["node.patch", "run.patch"].contains(&line.kind) {
        return wire(run, line);
    }
    match RunEvent::read(line.body).map(without_bookkeeping) {
        Ok(event) => wire(run, LoggedEvent { body: Json::of(&event).text(), ..line }),
        // This version cannot parse it, whatever wrote it.
        Err(_) => wire(run, line),
    }
}

fn without_bookkeeping(mut event: RunEvent) -> RunEvent {
    if let RunFact::NodePatched(patched) = &mut event.fact {
        *patched.patch = std::mem::take(&mut *patched.patch).served();
    }
    if let RunFact::RunPatched(patched) = &mut event.fact {
        let change = &mut *patched.patch;
        change.run = std::mem::take(&mut change.run).served();
        for node in change.nodes.iter_mut().flat_map(|nodes| nodes.values_mut()) {
            *node = std::mem::take(node).served();
        }
    }
    event
}

/// An event as in the file of the run: the stored text after its position.
pub fn wire(run: RunId, line: LoggedEvent<'_>) -> String {
    let id = EventId::of(run, line.seq, line.at);
    let rest = line.body.strip_prefix('{').unwrap_or(line.body);
    format!(
        r#"{{"id":"{id}","runId":"{run}","seq":{},"ts":"{}",{rest}"#,
        line.seq,
        line.at.rfc3339()
    )
}

/// Which events are wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Of this node; of handoffs, the sender's too.
    pub node: Option<NodeId>,
    pub turn: Option<TurnId>,
    /// Of these types; `message.*` means all that begin so.
    pub types: Vec<String>,
    /// Not of these types.
    pub exclude: Vec<String>,
}

impl Filter {
    /// Reads a list such as `message.*,tool.started`.
    pub fn list(text: &str) -> Vec<String> {
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }

    /// Whether it lets everything pass.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether an event in wire form passes the filter.
    pub fn admits_text(&self, wire: &str) -> bool {
        // Before its type an event has nothing but ids and times.
        let kind = wire.split_once(r#""type":""#).and_then(|(_, rest)| rest.split('"').next());
        let kind = kind.unwrap_or_default();
        let seq = 0;
        let at = Timestamp(0);
        self.is_empty() || self.admits(LoggedEvent { seq, at, kind, body: wire })
    }

    /// Whether events of a type can pass the filter.
    pub fn admits_type(&self, kind: &str) -> bool {
        let typed = self.types.is_empty() || self.types.iter().any(|name| is_of(kind, name));
        typed && !self.exclude.iter().any(|name| is_of(kind, name))
    }

    /// Whether an event is wanted.
    pub fn admits(&self, line: LoggedEvent<'_>) -> bool {
        self.admits_type(line.kind)
            && self.turn.is_none_or(|turn| names(line.body, "turnId", &turn.to_string()))
            && self.node.is_none_or(|node| concerns(line, node))
    }
}

fn is_of(kind: &str, name: &str) -> bool {
    match name.strip_suffix('*') {
        Some(prefix) => kind.starts_with(prefix),
        None => kind == name,
    }
}

/// Whether an event is about a node, or is a handoff that it sent (RUNS-EV-6).
fn concerns(line: LoggedEvent<'_>, node: NodeId) -> bool {
    let id = node.to_string();
    names(line.body, "nodeId", &id)
        || line.kind == "handoff.sent" && line.body.contains(&format!(r#""fromNodeId":"{id}""#))
}

/// Whether the envelope of a stored event has this value; it is at the very front, before the
/// author of the event, which may be another node.
fn names(body: &str, field: &str, value: &str) -> bool {
    let end = [r#""by":"#, r#""type":"#].iter().filter_map(|mark| body.find(mark)).min();
    let front = end.map_or(body, |end| &body[..end]);
    front.contains(&format!(r#""{field}":"{value}""#))
}

words! {
    /// Which way a page was read.
    PageDirection {
        /// Towards the newest.
        Forward = "forward",
        /// Towards the oldest.
        Backward = "backward",
    }
}

/// Where a page lies (RUNS-PAGE-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunPageRequest {
    /// Only events with a higher number.
    pub since: Option<u64>,
    /// Only events with a lower number.
    pub before: Option<u64>,
    /// At most this many.
    pub limit: u32,
}

impl RunPageRequest {
    /// Its direction: ascending with `since`, else newest first.
    pub fn direction(&self) -> PageDirection {
        match self.since {
            Some(_) => PageDirection::Forward,
            None => PageDirection::Backward,
        }
    }

    /// Numbers that it can contain, inclusive, of a log that ends at `last`.
    pub fn range(&self, last: u64) -> std::ops::RangeInclusive<u64> {
        let first = self.since.map_or(1, |since| since.saturating_add(1));
        let end = self.before.map_or(last, |before| before.saturating_sub(1).min(last));
        first..=end
    }
}

/// The facts about a page (RUNS-PAGE-2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct RunHistoryPage {
    /// Which way it was read.
    #[schemars(with = "String", extend("enum" = ["forward", "backward"]))]
    pub direction: PageDirection,
    /// What the next page starts from; none when nothing is left.
    pub next_cursor: Option<String>,
    /// Whether something is left.
    pub has_more: bool,
    /// Number of its first event.
    pub first_seq: Option<u64>,
    /// Number of its last event.
    pub last_seq: Option<u64>,
}

impl RunHistoryPage {
    /// The page that holds these numbers, oldest first.
    pub fn of(direction: PageDirection, seqs: &[u64], has_more: bool) -> Self {
        let first_seq = seqs.first().copied();
        let last_seq = seqs.last().copied();
        let next = match direction {
            PageDirection::Forward => last_seq,
            PageDirection::Backward => first_seq,
        };
        let next_cursor = next.filter(|_| has_more).map(|seq| seq.to_string());
        Self { direction, next_cursor, has_more, first_seq, last_seq }
    }
}
