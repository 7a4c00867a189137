//! `tasks_delta`.

use muster_core::tasks::{
    id::WorkspaceId,
    view::{
        delta::{DeltaQuery, DeltaView},
        shed,
    },
    wire,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use super::groups::{Budgeted, TaskOrPlan};
use crate::{
    OperationEffect,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Events of an answer when no limit is given.
const EVENTS_DEFAULT: u32 = 50;

/// Lists what happened in a workspace since a position, oldest first; pass cursor back as since to
/// go on.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksDelta {
    /// Workspace id.
    workspace: WorkspaceId,
    /// Event id or seq to start behind; default: the beginning.
    since: Option<Position>,
    /// Events at most, 0 to 1000; default 50.
    #[schemars(range(max = 1000))]
    limit: Option<u32>,
    #[serde(flatten)]
    selection: TaskOrPlan,
    #[serde(flatten)]
    budgeted: Budgeted,
}

/// A place in the log: an event id or a number.
#[derive(Clone, Copy, Debug)]
struct Position(u64);

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let position = value.as_u64().or_else(|| value.as_str().and_then(wire::event_position));
        let expected = "expected an event id such as evt_0000000000000042, or an integer seq";
        position.map(Self).ok_or_else(|| D::Error::custom(expected))
    }
}

impl JsonSchema for Position {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Position".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}]})
    }
}

impl Operation for TasksDelta {
    const NAME: &'static str = "tasks_delta";
    const TITLE: &'static str = "List what happened";
    const EFFECT: OperationEffect = OperationEffect::Read;
    type Response = DeltaView;

    fn is_brief(_arguments: &Map<String, Value>) -> bool {
        true
    }

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let query = DeltaQuery {
            since: self.since.map(|position| position.0),
            limit: self.limit.unwrap_or(EVENTS_DEFAULT),
            entity: self.selection.named()?,
        };
        call.read(&self.workspace, |docs| {
            let view = DeltaView::of(docs, &self.workspace, &query)?;
            Ok(CallReply::view(&view, self.budgeted.max_chars, || shed::delta(query.since)))
        })
    }
}
