//! The tools offered to agents, and how rejections read to them.

use muster_core::{
    run::{
        RunRejection,
        command::{
            AskUser, Because, CompleteRun, ConnectNodes, DeleteFile, DisconnectNodes,
            ExecuteCommand, GetNode, ListArtifacts, ListFiles, ListNodes, MakeReport, ReadArtifact,
            ReadFile, RequestMode, SendHandoff, SetSummary, SpawnNode, WaitFor, WriteFile,
            tool_names,
        },
        node::{CommandRight, Node},
        rejection::{Limited, OpenWork, Right},
    },
    text,
};
use schemars::{JsonSchema, schema_for};
use serde_json::Value;

use crate::provider::OfferedTool;

/// The tools that a node may use now (RUNS-TOOL-6); the work tools only where it has none itself.
pub(crate) fn offered(node: &Node, runtime_tools: bool) -> Vec<OfferedTool> {
    let mut tools = vec![
        tool::<SendHandoff>("send_handoff"),
        tool::<MakeReport>("report"),
        tool::<ConnectNodes>("create_edge"),
        tool::<DisconnectNodes>("delete_edge"),
        tool::<WaitFor>("wait_for"),
        tool::<AskUser>("ask_user"),
        with_text::<Because>("report_stall", "Say that the run goes in circles; it is paused."),
        tool::<SetSummary>("set_summary"),
        tool::<RequestMode>("request_mode"),
        with_text::<Because>("request_reset", "Ask for a fresh context after this turn."),
    ];
    if node.capabilities.spawn_nodes {
        tools.push(tool::<SpawnNode>("spawn_node"));
    }
    if node.orchestrator {
        tools.push(tool::<CompleteRun>("complete_run"));
    }
    tools.extend(looks());
    if runtime_tools {
        tools.extend(work(node));
    }
    tools
}

/// A tool whose schema is derived from its arguments.
fn tool<T: JsonSchema>(name: &'static str) -> OfferedTool {
    let schema = schema_for!(T).to_value();
    let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    OfferedTool { name, description: description.to_owned(), schema }
}

fn with_text<T: JsonSchema>(name: &'static str, description: &str) -> OfferedTool {
    OfferedTool { description: description.to_owned(), ..tool::<T>(name) }
}

fn looks() -> [OfferedTool; 4] {
    [
        tool::<ListNodes>("list_nodes"),
        tool::<GetNode>("get_node"),
        tool::<ReadArtifact>("read_artifact"),
        tool::<ListArtifacts>("list_artifacts"),
    ]
}

/// Tools that the runtime executes in the node's directory.
fn work(node: &Node) -> Vec<OfferedTool> {
    let mut tools = vec![tool::<ReadFile>("read_file"), tool::<ListFiles>("list_files")];
    if node.effective.write_code || node.effective.write_docs {
        tools.push(tool::<WriteFile>("write_file"));
        tools.push(tool::<DeleteFile>("delete_file"));
    }
    if node.effective.run_commands != CommandRight::None {
        tools.push(tool::<ExecuteCommand>("command"));
    }
    tools
}

/// Code and message of a rejection.
pub(super) fn refusal(rejection: &RunRejection) -> (&'static str, String) {
    let code = code(rejection);
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "agents cannot cause the others; their code names them"
    )]
    let message = match rejection {
        RunRejection::InvalidArguments { fault } => fault.clone(),
        RunRejection::NoSuchTool { name } => {
            let near = text::nearest(name, tool_names()).unwrap_or_default();
            format!("there is no tool {name:?}: did you mean {near}?")
        }
        RunRejection::UnknownAlias { alias } => format!("no node has the alias {alias:?}"),
        RunRejection::NoEdge { .. } => "no edge lets you send to this node".to_owned(),
        RunRejection::OpenWork { open } => format!("work is open: {}", listed(open)),
        RunRejection::TaskNotDone { task } => format!("{task} is not done"),
        RunRejection::LimitReached { what, max } => {
            format!("there are already {max} {}, which is the limit", limited(*what))
        }
        RunRejection::UnknownNode { .. } => "the run has no such node".to_owned(),
        RunRejection::RunNotActive { status } => format!("the run is {status}"),
        RunRejection::WrongPhase { phase } => format!("the run is in phase {phase}"),
        RunRejection::VerifyRunning => "the checks are running".to_owned(),
        RunRejection::Forbidden { right } => match right {
            Right::SpawnNodes => "you may not change the graph".to_owned(),
            Right::Orchestrator => "only an orchestrator may do this".to_owned(),
        },
        RunRejection::TooLong { field, max } => format!("{field} may have at most {max}"),
        RunRejection::MissingField { field } => format!("{field} is required"),
        RunRejection::BadValue { field, expected } => format!("{field} must be {expected}"),
        RunRejection::ForbiddenCapability { lacking } => {
            format!("you lack what you ask for: {}", lacking.join(", "))
        }
        _ => format!("refused: {}", code.to_lowercase().replace('_', " ")),
    };
    (code, message)
}

fn limited(what: Limited) -> &'static str {
    match what {
        Limited::Nodes => "nodes",
        Limited::Edges => "edges",
        Limited::OpenTools => "open tool calls",
        Limited::Handoffs => "handoffs in this turn",
    }
}

/// What is open, in words.
fn listed(open: &[OpenWork]) -> String {
    let words = open.iter().map(|one| match one {
        OpenWork::Running(node) => format!("node {node} is running"),
        OpenWork::Retrying(node) => format!("node {node} tries again"),
        OpenWork::Queued(node) => format!("inputs wait for node {node}"),
        OpenWork::Approval(approval) => format!("approval {approval} is pending"),
    });
    words.collect::<Vec<String>>().join(", ")
}

fn code(rejection: &RunRejection) -> &'static str {
    match rejection {
        RunRejection::UnknownNode { .. } | RunRejection::UnknownAlias { .. } => "UNKNOWN_NODE",
        RunRejection::UnknownEdge { .. } => "UNKNOWN_EDGE",
        RunRejection::UnknownArtifact { .. } | RunRejection::BadReference { .. } => {
            "UNKNOWN_ARTIFACT"
        }
        RunRejection::NoEdge { .. } => "NO_EDGE",
        RunRejection::OpenWork { .. } => "OPEN_WORK",
        RunRejection::TaskNotDone { .. } => "TASK_NOT_DONE",
        RunRejection::LimitReached { .. } => "LIMIT_REACHED",
        RunRejection::Forbidden { .. } => "FORBIDDEN",
        RunRejection::ForbiddenCapability { .. } => "FORBIDDEN_CAPABILITY",
        RunRejection::SelfEdge => "SELF_EDGE",
        RunRejection::NoSuchTool { .. } => "UNKNOWN_TOOL",
        RunRejection::TurnNotLive { .. } => "TURN_ENDED",
        RunRejection::RunNotActive { .. } => "RUN_NOT_ACTIVE",
        RunRejection::WrongPhase { .. } => "WRONG_PHASE",
        RunRejection::UnknownRun
        | RunRejection::RunExists
        | RunRejection::UnknownTurn { .. }
        | RunRejection::UnknownItem { .. }
        | RunRejection::UnknownApproval { .. }
        | RunRejection::InvalidArguments { .. }
        | RunRejection::UnknownTool { .. }
        | RunRejection::NodeRunning { .. }
        | RunRejection::NodeNotRunning { .. }
        | RunRejection::BadTransition { .. }
        | RunRejection::AlreadyResolved { .. }
        | RunRejection::VerifyRunning
        | RunRejection::RunBusy
        | RunRejection::ItemConsumed { .. }
        | RunRejection::ContractVersion { .. }
        | RunRejection::BadValue { .. }
        | RunRejection::TooLong { .. }
        | RunRejection::MissingField { .. }
        | RunRejection::ModifyUnsupported { .. }
        | RunRejection::NoTargetNode
        | RunRejection::NotRunnable { .. } => "INVALID_INPUT",
    }
}

/// What an agent can do about a rejection.
pub(super) fn recovery(code: &str) -> &'static str {
    match code {
        "NO_EDGE" => "create_edge to the node, or send through one that you are connected with",
        "OPEN_WORK" => "wait_for the nodes that still work",
        "UNKNOWN_NODE" => "list_nodes shows ids and aliases",
        "UNKNOWN_ARTIFACT" => "list_artifacts shows references",
        "MODE_FORBIDS" => "request_mode asks the user for another mode",
        "FORBIDDEN_PATH" => "use a path of a regular file in your directory",
        "TIMEOUT" => "leave this path alone: its file system hangs",
        _ => "change the arguments and call again",
    }
}
