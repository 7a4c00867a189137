//! Responses to requests about runs, as types: responses are serialized from them, and the document
//! describes them. Readers ignore unknown fields (RUNS-GEN-2).

use std::borrow::Cow;

use muster_agents::{OfferedTool, ProviderFamily};
use muster_core::{
    Json,
    run::{
        allow::{AllowProposal, AllowRule},
        approval::{Approval, Resolution},
        artifact::Artifact,
        edge::Edge,
        event::RunEvent,
        id::{AllowRuleId, ApprovalId, EdgeId, ItemId, NodeId, RunId},
        node::Node,
        turn::NodeTurn,
        view::{
            attention::Attention, history::RunHistoryPage, snapshot::RunSnapshot, turns::ItemView,
        },
    },
    tasks::view::attention::WorkAttention,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};

use super::{history::ListEnd, stream::StreamWord, templates::TemplateRow};

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct RunsHealth {
    pub ok: bool,
    pub version: &'static str,
    pub contract_version: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DoneAnswer {
    #[schemars(extend("const" = true))]
    ok: bool,
}

impl DoneAnswer {
    pub(super) const DONE: Self = Self { ok: true };
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct RunAnswer {
    #[schemars(with = "RunSnapshot<'static>")]
    pub run: Json,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct RunsAnswer {
    #[schemars(with = "Vec<RunSnapshot<'static>>")]
    pub(super) runs: Vec<Json>,
    #[schemars(schema_with = "ListEnd::json_schema")]
    pub(super) page: ListEnd,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct RunGone {
    pub run_id: RunId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct NodeAnswer {
    #[schemars(with = "Node")]
    pub(super) node: Json,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<ChangeWarning>,
}

/// What was done differently than requested.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ChangeWarning {
    pub(super) code: &'static str,
    pub(super) detail: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct NodeGone {
    pub(super) node_id: NodeId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct InboxAnswer {
    pub(super) inbox: Vec<ItemView>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ItemAnswer {
    pub(super) item_id: ItemId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct EdgeAnswer {
    pub(super) edge: Edge,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct EdgeGone {
    pub(super) edge_id: EdgeId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct MessageAnswer {
    #[schemars(required)]
    pub(super) message_id: Option<ItemId>,
}

/// A page of events, as stored.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct EventsAnswer {
    #[schemars(with = "Vec<ServedEvent>")]
    pub(super) events: Vec<Box<RawValue>>,
    pub(super) page: RunHistoryPage,
}

/// An event as it is sent: its position in the log and the stored fact.
pub struct ServedEvent;

impl JsonSchema for ServedEvent {
    fn schema_name() -> Cow<'static, str> {
        "RunEvent".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "allOf": [
                {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "runId": {"type": "string"},
                        "ts": {"type": "string"},
                        "seq": {"type": "integer", "minimum": 0},
                        "snapshot": {"type": "boolean"},
                    },
                    "required": ["id", "runId", "ts", "seq"],
                },
                generator.subschema_for::<RunEvent>(),
            ],
            "description": "With `snapshot` it is not in the log: its `patch` is the whole \
                run as of `seq`.",
        })
    }
}

/// What a connection receives besides events.
pub struct StreamFrame;

impl JsonSchema for StreamFrame {
    fn schema_name() -> Cow<'static, str> {
        "StreamFrame".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let or_null = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
        json_schema!({
            "allOf": [
                {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "runId": or_null,
                        "ts": {"type": "string"},
                    },
                    "required": ["id", "runId", "ts"],
                },
                generator.subschema_for::<StreamWord>(),
            ],
        })
    }
}

/// One message of a WebSocket.
#[derive(JsonSchema)]
#[schemars(inline)]
#[serde(untagged)]
pub enum SocketMessage {
    Event(ServedEvent),
    Frame(StreamFrame),
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TurnsAnswer<'a> {
    pub(super) turns: Vec<&'a NodeTurn>,
    #[schemars(schema_with = "ListEnd::json_schema")]
    pub(super) page: ListEnd,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TurnAnswer<'a> {
    pub(super) turn: &'a NodeTurn,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ArtifactsAnswer<'a> {
    pub(super) artifacts: Vec<&'a Artifact>,
    #[schemars(schema_with = "ListEnd::json_schema")]
    pub(super) page: ListEnd,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ArtifactPiece<'a> {
    pub(super) artifact: Artifact,
    pub(super) content: Cow<'a, str>,
    #[schemars(extend("enum" = ["utf-8", "base64"]))]
    pub(super) encoding: &'static str,
    pub(super) offset: u64,
    pub(super) next_offset: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ApprovalsAnswer {
    pub approvals: Vec<ApprovalRow>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ApprovalRow {
    pub run_id: RunId,
    pub approval: Approval,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ResolvedAnswer {
    pub approval_id: ApprovalId,
    #[schemars(with = "Resolution")]
    pub resolution: Option<Resolution>,
}

/// The rules that an approval could become.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct AllowProposalAnswer {
    pub proposal: AllowProposal,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct AllowRulesAnswer {
    /// Oldest first.
    pub rules: Vec<AllowRuleRow>,
}

/// A rule, with what it says in words.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllowRuleRow {
    #[serde(flatten)]
    pub rule: AllowRule,
    /// What it allows, in words.
    pub text: String,
    /// Where it holds, in words.
    pub scope_text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct AllowRuleGone {
    pub(super) rule_id: AllowRuleId,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct AttentionAnswer {
    /// In runs.
    pub(super) items: Vec<Attention>,
    /// In the work of all workspaces.
    pub(super) work: Vec<WorkAttention>,
    /// Why a changed `runs.toml` is not in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) settings_fault: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ProvidersAnswer {
    pub providers: Vec<ProviderFamily>,
}

/// The tools that the agent of a node may call.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ToolsAnswer {
    pub run_id: RunId,
    pub node_id: NodeId,
    pub tools: Vec<OfferedTool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TemplatesAnswer {
    pub templates: Vec<TemplateRow>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TemplateGone {
    pub name: String,
}

/// The position of a workspace, each time that it changed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct WorkChange {
    pub seq: u64,
}
