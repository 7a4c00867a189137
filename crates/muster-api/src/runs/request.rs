//! The bodies of requests about runs, and the commands that they mean.

mod layout;
mod schemas;

use std::sync::LazyLock;

use muster_core::run::{
    Ask,
    approval::Verdict,
    command::{EditNode, GraphNodeInput, NodeWish, RunFields, SetStatus, StatusWish},
    edge::EdgeType,
    id::NodeId,
    layout::LayoutChange,
    record::{GlobalMode, Mode},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::schemas::{AnyFields, RunBody, schemas};
pub use super::allow::{RuleInput, RuleScope};

use self::layout::LayoutInput;
use super::{
    fault::RunFault,
    shape::{BodyShape, Unwrapped, unwrap},
};

/// The fields of a JSON object.
pub type JsonFields = Map<String, Value>;

static CREATE_RUN: LazyLock<BodyShape> =
    LazyLock::new(|| BodyShape::of::<RunFields>().and::<CreateExtras>());
static EDIT_RUN: LazyLock<BodyShape> =
    LazyLock::new(|| BodyShape::of::<RunFields>().and::<EditExtras>());
static HOW: LazyLock<BodyShape> = LazyLock::new(BodyShape::of::<How>);
static CREATE_NODE: LazyLock<BodyShape> = LazyLock::new(BodyShape::of::<GraphNodeInput>);
static EDIT_NODE: LazyLock<BodyShape> =
    LazyLock::new(|| BodyShape::of::<GraphNodeInput>().and::<NodeExtras>());
static EDGE: LazyLock<BodyShape> = LazyLock::new(BodyShape::of::<EdgeInput>);
static CHAT: LazyLock<BodyShape> = LazyLock::new(BodyShape::of::<ChatInput>);
static RESOLUTION: LazyLock<BodyShape> = LazyLock::new(BodyShape::of::<ResolutionInput>);
static RESET: LazyLock<BodyShape> = LazyLock::new(BodyShape::of::<ResetInput>);
static TEMPLATE: LazyLock<BodyShape> = LazyLock::new(BodyShape::of::<TemplateInput>);

/// Fields of a run that only the server sets.
const RUN_FIXED: [&str; 22] = [
    "id",
    "contractVersion",
    "status",
    "statusReason",
    "phase",
    "createdAt",
    "updatedAt",
    "usage",
    "edges",
    "artifacts",
    "nodeConfigs",
    "approvals",
    "rootNodeId",
    "verification",
    "stall",
    "completion",
    "refusedCompletion",
    "activeTurns",
    "artifactCount",
    "lastSeq",
    "artifactsTruncated",
    "layout",
];
/// Fields of a node that only the server sets.
const NODE_FIXED: [&str; 21] = [
    "id",
    "runId",
    "status",
    "blockedReason",
    "summary",
    "lastActivityAt",
    "createdAt",
    "effective",
    "connection",
    "inboxCount",
    "usage",
    "turn",
    "lastTurn",
    "retry",
    "waitingFor",
    "loop",
    "orchestrator",
    "origin",
    "workdir",
    "musterSessionId",
    "todos",
];
/// Fields of an edge that only the server sets.
const EDGE_FIXED: [&str; 3] = ["createdBy", "createdAt", "number"];

fn unset(names: &[&str]) -> JsonFields {
    names.iter().map(|name| ((*name).to_owned(), Value::Null)).collect()
}

/// What `POST /api/runs` takes besides the fields of the run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CreateExtras {
    /// Who keeps the orchestrator going.
    pub mode: Option<Mode>,
    /// Write access of the nodes.
    pub global_mode: Option<GlobalMode>,
    /// Its directory; the server's by default.
    pub cwd: Option<String>,
    /// Whether BOOT starts at once; it does by default.
    pub auto_start: Option<bool>,
    /// Its first nodes.
    pub nodes: Option<Vec<GraphNodeInput>>,
}

/// A run to create.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateRequest {
    pub fields: RunFields,
    /// The other fields of the body.
    pub extras: CreateExtras,
    /// Prefix of paths in errors.
    pub prefix: String,
}

/// Reads the body of `POST /api/runs`.
pub fn create_run(body: JsonFields) -> Result<CreateRequest, RunFault> {
    let Unwrapped { mut fields, prefix, .. } = unwrap(body, "run", &[])?;
    let read = |fields: &mut JsonFields| {
        CREATE_RUN.check(fields, &unset(&RUN_FIXED))?;
        Ok((CREATE_RUN.read(fields)?, CREATE_RUN.read(fields)?))
    };
    let (run, extras) = read(&mut fields).map_err(|fault: RunFault| fault.below(&prefix))?;
    Ok(CreateRequest { fields: run, extras, prefix })
}

/// What `PATCH /api/runs/ID` changes besides the fields of the run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct EditExtras {
    status: Option<StatusWish>,
    mode: Option<Mode>,
    global_mode: Option<GlobalMode>,
    layout: Option<LayoutInput>,
}

/// How a status is reached, beside the patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct How {
    interrupt: Option<bool>,
    verify: Option<bool>,
    docs_sync: Option<bool>,
}

/// Changes of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct EditRequest {
    pub fields: RunFields,
    /// The commands, fields included.
    pub asks: Vec<Ask>,
    /// Positions of nodes.
    pub layout: Option<LayoutChange>,
    /// Prefix of paths in errors.
    pub prefix: String,
}

/// Reads the body of `PATCH /api/runs/ID`. The current run is read only if the body
/// names something that cannot be set.
pub fn edit_run(
    body: JsonFields,
    present: impl FnOnce() -> Result<JsonFields, RunFault>,
) -> Result<EditRequest, RunFault> {
    let parts = unwrap(body, "patch", &["interrupt", "verify", "docsSync"])?;
    let Unwrapped { mut fields, beside, prefix } = parts;
    let how: How = HOW.read(&beside)?;
    let shown = if EDIT_RUN.covers(&fields) { JsonFields::new() } else { present()? };
    let read = |fields: &mut JsonFields| {
        EDIT_RUN.check(fields, &shown)?;
        Ok((EDIT_RUN.read(fields)?, EDIT_RUN.read(fields)?))
    };
    let (run, extras): (RunFields, EditExtras) =
        read(&mut fields).map_err(|fault: RunFault| fault.below(&prefix))?;
    let mut asks = Vec::new();
    if run != RunFields::default() {
        asks.push(Ask::EditRun(Box::new(run.clone())));
    }
    if extras.mode.is_some() || extras.global_mode.is_some() {
        asks.push(Ask::SetModes { mode: extras.mode, global_mode: extras.global_mode });
    }
    if let Some(to) = extras.status {
        asks.push(Ask::SetStatus(SetStatus {
            to,
            interrupt: how.interrupt.unwrap_or(false),
            verify: how.verify.unwrap_or(true),
            docs_sync: how.docs_sync.unwrap_or(true),
        }));
    }
    Ok(EditRequest { fields: run, asks, layout: extras.layout.map(Into::into), prefix })
}

/// A node to create.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeRequest {
    /// Its settings.
    pub input: GraphNodeInput,
    /// Prefix of paths in errors.
    pub prefix: String,
}

/// Reads the body of `POST /api/runs/ID/nodes`.
pub fn create_node(body: JsonFields) -> Result<NodeRequest, RunFault> {
    let Unwrapped { mut fields, prefix, .. } = unwrap(body, "node", &[])?;
    let checked = CREATE_NODE.check(&mut fields, &unset(&NODE_FIXED));
    let input = checked.and_then(|()| CREATE_NODE.read(&fields));
    let input = input.map_err(|fault| fault.below(&prefix))?;
    Ok(NodeRequest { input, prefix })
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
struct NodeExtras {
    status: Option<NodeWish>,
    summary: Option<String>,
}

/// Changes of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct EditNodeRequest {
    /// The changes.
    pub edit: EditNode,
    /// Prefix of paths in errors.
    pub prefix: String,
}

/// Reads the body of `PATCH /api/runs/ID/nodes/ID`: `patch` and `config` are merged, and `config`
/// wins.
pub fn edit_node(
    body: JsonFields,
    node: NodeId,
    present: &JsonFields,
) -> Result<EditNodeRequest, RunFault> {
    let Unwrapped { mut fields, mut beside, mut prefix } = unwrap(body, "patch", &["config"])?;
    match beside.shift_remove("config") {
        None | Some(Value::Null) => {}
        Some(Value::Object(config)) => {
            if fields.is_empty() {
                "config.".clone_into(&mut prefix);
            }
            fields.extend(config);
        }
        Some(_) => return Err(RunFault::bad_value("config", "config must be an object")),
    }
    let read = |fields: &mut JsonFields| {
        EDIT_NODE.check(fields, present)?;
        Ok((EDIT_NODE.read(fields)?, EDIT_NODE.read(fields)?))
    };
    let (input, extras): (GraphNodeInput, NodeExtras) =
        read(&mut fields).map_err(|fault: RunFault| fault.below(&prefix))?;
    let NodeExtras { status, summary } = extras;
    Ok(EditNodeRequest { edit: EditNode { node, input, status, summary }, prefix })
}

/// An edge in a body. Ids are parsed later, because an unknown node is not an invalid value.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EdgeInput {
    /// The id, if the caller chose one.
    pub id: Option<String>,
    /// Its start.
    pub from: Option<String>,
    /// Its end.
    pub to: Option<String>,
    /// Whether it may be used in both directions.
    pub bidirectional: Option<bool>,
    /// What it carries by default.
    #[serde(rename = "type")]
    pub kind: Option<EdgeType>,
    /// Its name.
    pub label: Option<String>,
    /// Whether the end of a turn is sent along automatically.
    pub auto_deliver: Option<bool>,
}

/// Reads the body of `POST /api/runs/ID/edges`; returns the edge and the prefix of paths.
pub fn edge(body: JsonFields) -> Result<(EdgeInput, String), RunFault> {
    let Unwrapped { mut fields, prefix, .. } = unwrap(body, "edge", &[])?;
    let checked = EDGE.check(&mut fields, &unset(&EDGE_FIXED));
    let input = checked.and_then(|()| EDGE.read(&fields));
    Ok((input.map_err(|fault| fault.below(&prefix))?, prefix))
}

/// A message in a body.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ChatInput {
    /// Its receiver.
    pub node_id: Option<String>,
    /// The message.
    pub content: Option<String>,
    /// Whether it ends the turn in flight.
    pub interrupt: Option<bool>,
}

/// Reads the body of `POST /api/runs/ID/chat`.
pub fn chat(mut body: JsonFields) -> Result<ChatInput, RunFault> {
    CHAT.check(&mut body, &JsonFields::new())?;
    CHAT.read(&body)
}

/// An answer to an approval in a body.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ResolutionInput {
    /// The answer.
    pub status: Option<Verdict>,
    /// The changed arguments.
    pub modified_args: Option<Map<String, Value>>,
    /// The reason.
    pub reason: Option<String>,
    /// A rule that approves requests like this one from now on; only with `approved`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RuleInput>,
}

/// An answer to an approval, as a body has it.
#[derive(Clone, Debug)]
pub struct ResolutionBody {
    pub input: ResolutionInput,
    /// The run that the caller expects the approval to be of.
    pub expected_run: Option<String>,
    /// What paths in faults begin with.
    pub prefix: String,
}

/// Reads the body of `POST /api/approvals/ID/resolve`.
pub fn resolution(body: JsonFields) -> Result<ResolutionBody, RunFault> {
    let Unwrapped { mut fields, beside, prefix } = unwrap(body, "resolution", &["runId"])?;
    let expected_run = match beside.get("runId") {
        None | Some(Value::Null) => None,
        Some(Value::String(run)) => Some(run.clone()),
        Some(_) => return Err(RunFault::bad_value("runId", "runId must be a string")),
    };
    let checked = RESOLUTION.check(&mut fields, &JsonFields::new());
    let input = checked.and_then(|()| RESOLUTION.read(&fields));
    let input = input.map_err(|fault| fault.below(&prefix))?;
    Ok(ResolutionBody { input, expected_run, prefix })
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ResetInput {
    reason: Option<String>,
}

/// Reads the body of a reset; returns its reason.
pub fn reset(mut body: JsonFields) -> Result<Option<String>, RunFault> {
    RESET.check(&mut body, &JsonFields::new())?;
    RESET.read::<ResetInput>(&body).map(|input| input.reason)
}

/// A template in a body.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TemplateInput {
    /// Its name.
    pub name: Option<String>,
    /// Its content.
    pub content: Option<String>,
}

/// Reads the body of a request that writes a template.
pub fn template(mut body: JsonFields) -> Result<TemplateInput, RunFault> {
    TEMPLATE.check(&mut body, &JsonFields::new())?;
    TEMPLATE.read(&body)
}

/// An empty body.
pub struct NoFields;

/// Refuses a body with fields.
pub fn nothing(body: &JsonFields) -> Result<(), RunFault> {
    match body.keys().next() {
        None => Ok(()),
        Some(name) => {
            let detail = "this request takes no fields";
            Err(RunFault::new(super::fault::RunCode::UnknownField, detail).at(name))
        }
    }
}
