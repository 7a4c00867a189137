//! `tasks_delta`.

use std::str::FromStr;

use muster_core::{
    inline_schema,
    tasks::{
        id::WorkspaceId,
        view::{
            delta::{DeltaQuery, DeltaView},
            shed,
        },
        wire,
    },
    text::BadForm,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use super::groups::{BudgetedView, TaskOrPlan, VIEW_CHARS};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Default number of events.
const EVENTS_DEFAULT: u32 = 50;

/// Lists what happened in a workspace since a position, oldest first; pass cursor as since to
/// continue.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksDelta {
    /// Workspace id.
    workspace: WorkspaceId,
    /// Event id or seq to start after; default: the beginning.
    since: Option<Position>,
    /// Events at most, 0 to 1000; default 50.
    #[schemars(range(max = 1000))]
    limit: Option<u32>,
    #[serde(flatten)]
    selection: TaskOrPlan,
    #[serde(flatten)]
    budgeted: BudgetedView,
}

/// A position in the log: an event id or a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position(u64);

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value.as_u64() {
            Some(seq) => Ok(Self(seq)),
            None => value.as_str().unwrap_or_default().parse().map_err(D::Error::custom),
        }
    }
}

impl FromStr for Position {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        let expected = "an event id such as evt_0000000000000042, or an integer seq";
        wire::event_position(text).map(Self).ok_or(BadForm { expected })
    }
}

inline_schema!(Position, {
    "anyOf": [{"type": "string", "x-form": "Position"}, {"type": "integer", "minimum": 0}]
});

impl Operation for TasksDelta {
    const NAME: &'static str = "tasks_delta";
    const TITLE: &'static str = "List what happened";
    const EFFECT: OperationEffect = OperationEffect::Read;
    const BRIEF_CHARS: Option<u64> = Some(VIEW_CHARS);
    type Response = DeltaView;

    fn is_brief(_arguments: &Map<String, Value>) -> bool {
        true
    }

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let size = call.size(self.budgeted.max_chars);
        let query = DeltaQuery {
            since: self.since.map(|position| position.0),
            limit: self.limit.unwrap_or(EVENTS_DEFAULT),
            entity: self.selection.named()?,
            chars: size.of_stored_events(),
        };
        call.read(&self.workspace, |docs| {
            let view = DeltaView::of(docs, &self.workspace, &query)?;
            Ok(CallReply::view(&view, size, || shed::delta(query.since)))
        })
    }
}
