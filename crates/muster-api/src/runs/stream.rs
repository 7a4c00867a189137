//! The events of runs for connected readers: connection messages, and snapshots
//! where something is missing (RUNS-WS).

use muster_core::{
    Json,
    run::{
        id::RunId,
        lookup,
        record::CONTRACT_VERSION,
        view::{
            history::{LoggedEvent, served},
            snapshot::SnapshotRequest,
        },
    },
};
use muster_engine::{Encode, Follower};
use muster_store::EventRow;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::{RunDesk, RunTold, seed};

/// The event that ends a run.
const RUN_DELETED: &str = "run.deleted";

/// What a connection receives besides events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum StreamWord {
    /// The first frame.
    #[serde(rename = "stream.hello")]
    Hello {
        /// Version of the contract.
        contract_version: &'static str,
        /// Number of the run's newest event.
        last_seq: Option<u64>,
        /// The last event that the reader has seen.
        since: Option<u64>,
        /// Whether a filter leaves events out.
        filtered: bool,
    },
    /// From here on events are new.
    #[serde(rename = "stream.live")]
    Live {
        /// Number of the last event before.
        seq: Option<u64>,
    },
    /// Events are missing.
    #[serde(rename = "stream.gap")]
    Gap {
        /// The first of them.
        from_seq: Option<u64>,
        /// The last of them.
        to_seq: Option<u64>,
        /// `slow` or `ahead`.
        reason: &'static str,
    },
    /// Nothing follows.
    #[serde(rename = "stream.end")]
    End {
        /// `run_deleted` or `shutdown`.
        reason: &'static str,
    },
}

impl StreamWord {
    /// The greeting.
    pub fn hello(last_seq: Option<u64>, since: Option<u64>, filtered: bool) -> Self {
        Self::Hello { contract_version: CONTRACT_VERSION, last_seq, since, filtered }
    }
}

impl RunDesk<'_> {
    /// Number of a run's newest event.
    pub fn last_seq(self, run: RunId) -> RunTold<u64> {
        self.read(run, |docs| {
            lookup::run(docs)?;
            Ok(lookup::pulse(docs)?.last_seq)
        })
    }

    /// Follows a run after a number. Each event is encoded once for all readers: [`event_text`] has
    /// its text.
    pub fn follow(self, run: RunId, after: u64, encode: Encode) -> RunTold<Follower> {
        Ok(self.engine().follow(run.stream(), after, encode)?)
    }

    pub fn follow_all(self, encode: Encode) -> RunTold<Follower> {
        Ok(self.engine().follow_all("run/", encode)?)
    }

    /// A frame that is not an event.
    pub fn word(self, run: Option<RunId>, word: StreamWord) -> RunTold<String> {
        let now = self.now();
        let id = RunId(seed()?.mint(now).fresh());
        let head = json!({"id": id, "runId": run, "ts": now.rfc3339()}).to_string();
        let rest = json!(word).to_string();
        Ok(format!("{},{}", head.trim_end_matches('}'), rest.trim_start_matches('{')))
    }

    /// The run as one frame, for a reader that missed something; and the last event in it.
    pub fn snapshot_frame(self, run: RunId) -> RunTold<(String, u64)> {
        let layout = self.layout(run)?;
        let (patch, seq): (Json, u64) = self.read(run, |docs| {
            let view = muster_core::run::view::snapshot::snapshot(
                docs,
                SnapshotRequest::DEFAULT,
                &layout,
            )?;
            Ok((view, lookup::pulse(docs)?.last_seq))
        })?;
        let now = self.now();
        let id = RunId(seed()?.mint(now).fresh());
        let text = format!(
            r#"{{"id":"{id}","runId":"{run}","seq":{seq},"ts":"{}","type":"run.patch","#,
            now.rfc3339()
        ) + &format!(r#""snapshot":true,"patch":{patch}}}"#);
        Ok((text, seq))
    }
}

/// A stored event as it is sent; `None` for the one that ends the run.
pub fn event_text(stream: &str, row: &EventRow) -> Option<String> {
    let run = RunId::of_stream(stream).filter(|_| row.kind != RUN_DELETED)?;
    let line = LoggedEvent { seq: row.seq, at: row.at, kind: &row.kind, body: &row.body };
    Some(served(run, line))
}
