//! The history of a run, in pages: events, turns, artifacts.

use muster_core::{
    Json, PageCursor,
    run::{
        artifact::{Artifact, ArtifactKind},
        id::{ArtifactId, NodeId, RunId, TurnId},
        lookup,
        turn::NodeTurn,
        view::{
            history::{self, Filter, LoggedEvent, PageDirection, RunHistoryPage, RunPageRequest},
            turns::{self, ListPage},
        },
    },
};
use muster_store::{EventRow, StoreError, StoreSnapshot};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    RunDesk, RunTold,
    answers::{ArtifactsAnswer, EventsAnswer, TurnAnswer, TurnsAnswer},
};

/// Events that are read at once when a filter selects among them.
const FILTERED_AT_ONCE: u64 = 1_000;
/// Artifacts that are read at once when those of a turn are wanted.
const ARTIFACTS_AT_ONCE: u32 = 500;

/// Which events are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventsRequest {
    /// The range of the page.
    pub page: RunPageRequest,
    pub filter: Filter,
}

/// Which turns are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnsRequest {
    pub node: Option<NodeId>,
    /// Only older ones than this.
    pub after: Option<PageCursor<u64, TurnId>>,
    /// At most this many.
    pub limit: u32,
}

/// Which artifacts are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArtifactsRequest {
    pub node: Option<NodeId>,
    pub turn: Option<TurnId>,
    pub kind: Option<ArtifactKind>,
    /// Only older ones than this.
    pub after: Option<PageCursor<u64, ArtifactId>>,
    /// At most this many.
    pub limit: u32,
}

/// Where the next page of a list begins.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListEnd {
    /// The cursor of the next page.
    next_cursor: Option<String>,
    /// Whether there is one.
    has_more: bool,
}

impl ListEnd {
    /// The end of a list that continues after a position, or does not.
    pub(super) fn at(place: Option<impl ToString>) -> Self {
        let next_cursor = place.map(|place| place.to_string());
        Self { has_more: next_cursor.is_some(), next_cursor }
    }
}

impl RunDesk<'_> {
    /// A page of events (RUNS-PAGE), as stored, whatever the run's length.
    pub fn events(self, run: RunId, request: &EventsRequest) -> RunTold<Json> {
        self.exists(run)?;
        let mut snapshot = self.engine().store().snapshot()?;
        let stream = run.stream();
        let last = snapshot.head(&stream)?.seq;
        let mut reader = Reader { snapshot: &mut *snapshot, stream: &stream, request };
        let direction = request.page.direction();
        let range = request.page.range(last);
        let (mut rows, more) = match direction {
            PageDirection::Forward => reader.upwards(*range.start(), *range.end())?,
            PageDirection::Backward => reader.downwards(*range.start(), *range.end())?,
        };
        rows.sort_by_key(|row| row.seq);
        let seqs: Vec<u64> = rows.iter().map(|row| row.seq).collect();
        let events = rows.iter().map(|row| written(history::served(run, line(row)))).collect();
        let page = RunHistoryPage::of(direction, &seqs, more);
        Ok(Json::of(&EventsAnswer { events, page }))
    }

    /// A page of turns, newest first.
    pub fn turns(self, run: RunId, request: TurnsRequest) -> RunTold<Json> {
        let below = request.after.map(|after| after.at);
        let page = ListPage { below, limit: request.limit.saturating_add(1) };
        self.read(run, |docs| {
            lookup::run(docs)?;
            let mut turns: Vec<&NodeTurn> = turns::turns(docs, request.node, page)?;
            let more = cut(&mut turns, request.limit);
            let last = turns.last().filter(|_| more);
            let page = ListEnd::at(last.map(|turn| PageCursor { at: turn.number, of: turn.id }));
            Ok(Json::of(&TurnsAnswer { turns, page }))
        })
    }

    pub fn turn(self, run: RunId, turn: TurnId) -> RunTold<Json> {
        self.read(run, |docs| {
            lookup::run(docs)?;
            Ok(Json::of(&TurnAnswer { turn: lookup::turn(docs, turn)? }))
        })
    }

    /// The facts about an artifact.
    pub fn artifact(self, run: RunId, artifact: ArtifactId) -> RunTold<Artifact> {
        self.read(run, |docs| {
            lookup::run(docs)?;
            Ok(lookup::artifact(docs, artifact)?.clone())
        })
    }

    /// A page of artifacts, newest first.
    pub fn artifacts(self, run: RunId, request: ArtifactsRequest) -> RunTold<Json> {
        self.read(run, |docs| {
            lookup::run(docs)?;
            let node = match request.turn {
                Some(turn) => Some(lookup::turn(docs, turn)?.node_id),
                None => request.node,
            };
            let wanted = request.limit as usize;
            let mut below = request.after.map(|after| after.at);
            let mut found: Vec<&Artifact> = Vec::new();
            while found.len() <= wanted {
                let limit = ARTIFACTS_AT_ONCE.max(request.limit.saturating_add(1));
                let page = ListPage { below, limit };
                let artifacts = turns::artifacts(docs, node, request.kind, page)?;
                let full = artifacts.len() == limit as usize;
                below = artifacts.last().map(|artifact| artifact.number);
                let fits = |artifact: &&Artifact| {
                    request.turn.is_none_or(|turn| artifact.turn_id == Some(turn))
                        && request.node.is_none_or(|node| artifact.node_id == node)
                };
                found.extend(artifacts.into_iter().filter(fits));
                if !full {
                    break;
                }
            }
            let more = cut(&mut found, request.limit);
            let last = found.last().filter(|_| more);
            let page = ListEnd::at(last.map(|found| PageCursor { at: found.number, of: found.id }));
            Ok(Json::of(&ArtifactsAnswer { artifacts: found, page }))
        })
    }
}

/// Cuts a list to its limit; returns whether something was left out.
fn cut<T>(list: &mut Vec<T>, limit: u32) -> bool {
    let more = list.len() > limit as usize;
    list.truncate(limit as usize);
    more
}

/// An event of the log.
pub(crate) fn line(row: &EventRow) -> LoggedEvent<'_> {
    LoggedEvent { seq: row.seq, at: row.at, kind: &row.kind, body: &row.body }
}

fn written(text: String) -> Box<RawValue> {
    RawValue::from_string(text)
        .unwrap_or_else(|error| unreachable!("stored events are JSON: {error}"))
}

/// Reads a page out of the log.
struct Reader<'a> {
    snapshot: &'a mut dyn StoreSnapshot,
    stream: &'a str,
    request: &'a EventsRequest,
}

type Rows = Result<(Vec<EventRow>, bool), StoreError>;

impl Reader<'_> {
    fn wanted(&self) -> usize {
        self.request.page.limit as usize
    }

    /// How many events are read at once.
    fn step(&self) -> u64 {
        match self.request.filter.is_empty() {
            true => u64::from(self.request.page.limit) + 1,
            false => FILTERED_AT_ONCE,
        }
    }

    fn rows(&mut self, first: u64, last: u64) -> Result<Vec<EventRow>, StoreError> {
        let limit = u32::try_from(last + 1 - first).unwrap_or(u32::MAX);
        self.snapshot.tail(self.stream, first - 1, limit)
    }

    /// The oldest wanted events of a range; and whether there are more.
    fn upwards(&mut self, first: u64, last: u64) -> Rows {
        let mut found = Vec::new();
        let mut next = first;
        while next <= last {
            let end = (next + self.step() - 1).min(last);
            for row in self.rows(next, end)? {
                if self.request.filter.admits(line(&row)) {
                    if found.len() == self.wanted() {
                        return Ok((found, true));
                    }
                    found.push(row);
                }
            }
            next = end + 1;
        }
        Ok((found, false))
    }

    /// The newest wanted events of a range, newest first; and whether there are more.
    fn downwards(&mut self, first: u64, last: u64) -> Rows {
        let mut found = Vec::new();
        let mut end = last;
        while end >= first && end > 0 {
            let begin = end.saturating_sub(self.step() - 1).max(first);
            for row in self.rows(begin, end)?.into_iter().rev() {
                if self.request.filter.admits(line(&row)) {
                    if found.len() == self.wanted() {
                        return Ok((found, true));
                    }
                    found.push(row);
                }
            }
            end = begin - 1;
        }
        Ok((found, false))
    }
}
