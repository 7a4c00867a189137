//! Tools of Muster that agents call: which are offered, how a call is made, and those that the
//! runtime executes itself.

mod aside;
mod files;
mod look;
mod offer;
mod outcome;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use muster_core::{
    Documents,
    run::{
        Ask, RunAggregate as Room, RunRejection,
        artifact::{ArtifactKind, artifact_reference},
        command::{
            AgentCall, CallFiles, ExecuteCommand, GATED_TASK_TOOLS, GATED_TOOLS, LookRequest,
            WorkRequest,
        },
        event::{ToolError, ToolResult},
        id::{NodeId, RunId, ToolId, TurnId},
        limits, lookup,
        node::{CommandRight, Node},
        record::Run,
        turn::{NodeTurn, Tool},
    },
    text::short_id,
};
use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use self::files::workdir::{PathPurpose, Workdir};
pub use self::outcome::{AnswerError, ToolAnswer};
pub(crate) use self::{aside::FileCalls, offer::offered, outcome::bounded};
use super::{
    bound,
    calls::{AgentWish, Witnessed},
    finish::{redacted, write},
    packs,
    process::{Launch, capture, family::Family},
    reports::report,
    shared::{RunEvents, RunsContext},
    tokens::Bearer,
};
use muster_engine::ExecuteError;

/// Bytes of output that an agent gets (RUNS-TOOL-8).
const OUTPUT_BYTES_MAX: usize = 16 * 1024;
/// Default time limit of a command.
const COMMAND_SECONDS: u64 = 600;
/// Longest time limit of a command.
const COMMAND_SECONDS_MAX: u64 = 7_200;

pub(crate) struct Called {
    pub(crate) turn: TurnId,
    pub(crate) tool: ToolId,
    /// The program's id of it.
    pub(crate) provider_id: Option<String>,
    pub(crate) name: String,
    pub(crate) args: Map<String, Value>,
}

/// A call that the runtime executes.
pub(crate) struct RuntimeToolCall {
    pub(crate) node: NodeId,
    pub(crate) turn: TurnId,
    pub(crate) tool: Tool,
}

/// Makes a call: the core decides, and a refusal is logged in words. The error is for a call that
/// could not be recorded at all.
pub(crate) async fn call(
    shared: &Arc<RunsContext>,
    run: RunId,
    node: NodeId,
    called: Called,
) -> Result<RunEvents, ToolError> {
    let files = files_for(shared, run, node, &called).await;
    let task_done = match called.name.as_str() {
        "complete_run" => task_done(shared, run).await,
        _ => None,
    };
    let name = called.name.as_str();
    let may_ask = GATED_TOOLS.contains(&name) || GATED_TASK_TOOLS.contains(&name);
    let allowing = match may_ask {
        true => shared.allowing(run, node, (name, &called.args)).await,
        false => None,
    };
    let call = AgentCall {
        turn: called.turn,
        tool: Some(called.tool),
        provider_id: called.provider_id,
        name: called.name,
        args: called.args,
        files,
        task_done,
    };
    let ask = Ask::CallTool(Box::new(call.clone()));
    let refusal = match shared.submit_within(run, ask, allowing).await {
        Ok(events) => return Ok(events),
        Err(ExecuteError::Rejected(rejection)) => words(&rejection),
        Err(ExecuteError::Store(failure)) => {
            let code = Some("STORE_UNAVAILABLE".to_owned());
            return Err(ToolError { message: failure.0.to_string(), code });
        }
    };
    let call = Box::new(call);
    let error = refusal.clone();
    match shared.submit(run, Ask::RefuseTool { call, error }).await {
        Ok(events) => Ok(events),
        Err(_) => Err(refusal),
    }
}

async fn task_done(shared: &Arc<RunsContext>, run: RunId) -> Option<bool> {
    let record = shared.view(run, |docs| lookup::run(docs).cloned()).await.ok()?;
    bound::is_done(shared, &record).await
}

/// Files that have to exist before a call is made.
async fn files_for(
    shared: &Arc<RunsContext>,
    run: RunId,
    node: NodeId,
    called: &Called,
) -> CallFiles {
    let mut files = CallFiles::default();
    let field = |name: &str| called.args.get(name);
    match called.name.as_str() {
        "send_handoff" | "spawn_node" => {
            let wants = field("context").and_then(Value::as_bool).unwrap_or(true);
            if wants {
                files.pack = packs::build(shared, run, node).await;
            }
            let message = field("message").or_else(|| field("instructions"));
            let message = message.and_then(Value::as_str).unwrap_or_default();
            if muster_core::text::chars(message) > limits::HANDOFF_CHARS_MAX {
                let content = redacted(message.to_owned());
                files.overflow =
                    write(shared, run, ArtifactKind::Transcript, ("message.txt", &content));
            }
        }
        "report" => files.report = report(shared, run, "report.json", &called.args),
        _ => {}
    }
    files
}

/// A rejection in words for an agent.
pub(crate) fn words(rejection: &RunRejection) -> ToolError {
    let (code, message) = offer::refusal(rejection);
    ToolError { message, code: Some(code.to_owned()) }
}

struct Caller {
    run: Run,
    node: Node,
    turn: NodeTurn,
}

/// Executes a call and records its outcome.
pub(crate) async fn execute(shared: Arc<RunsContext>, run: RunId, call: RuntimeToolCall) {
    let node = call.node;
    let turn = call.turn;
    if GATED_TASK_TOOLS.contains(&call.tool.name.as_str()) {
        return operate(shared, run, call).await;
    }
    let known = move |docs: &Documents<Room>| {
        Ok(Caller {
            run: lookup::run(docs)?.clone(),
            node: lookup::node(docs, node)?.clone(),
            turn: lookup::turn(docs, turn)?.clone(),
        })
    };
    let Ok(caller) = shared.view(run, known).await else { return };
    let outcome = outcome(&shared, caller, &call.tool).await;
    let (result, error) = match outcome {
        Ok(result) => (result, None),
        Err(error) => (ToolResult::default(), Some(error)),
    };
    shared.report(run, Ask::FinishTool { turn, tool: call.tool.id, result, error }).await;
}

/// Executes a call in the task store, and records its outcome.
async fn operate(shared: Arc<RunsContext>, run: RunId, call: RuntimeToolCall) {
    let RuntimeToolCall { node, turn, tool } = call;
    let id = tool.id;
    let wish = AgentWish { name: tool.name, args: tool.args };
    let done = match shared.operations() {
        Some(operations) => {
            let work = move || operations.call(Bearer { run, node }, wish);
            crate::background::blocking(work).await.map_err(|error| error.to_string())
        }
        None => Err("this server has no task store for agents".to_owned()),
    };
    let failed =
        |cause| Witnessed { result: ToolResult::default(), error: Some(fault("FAILED", cause)) };
    let Witnessed { result, error } = done.unwrap_or_else(failed);
    let result = bounded(&shared, run, (node, turn), result).await;
    shared.report(run, Ask::FinishTool { turn, tool: id, result, error }).await;
}

/// The outcome of a call, if its arguments can be parsed.
async fn outcome(
    shared: &Arc<RunsContext>,
    caller: Caller,
    tool: &Tool,
) -> Result<ToolResult, ToolError> {
    let unfit = |fault: String| self::fault("INVALID_INPUT", fault);
    if let Some(request) = LookRequest::read(&tool.name, &tool.args) {
        return look::look(shared, &caller.node, request.map_err(unfit)?).await;
    }
    match WorkRequest::read(&tool.name, &tool.args) {
        Some(Ok(WorkRequest::Command(request))) => command(shared, &caller, tool, &request).await,
        Some(Ok(request)) => {
            let home = shared.settings.home.clone();
            let run = caller.run.id;
            let work = move || {
                let workdir = Workdir::open(Path::new(&caller.node.workdir), &home)?;
                files::execute(&workdir, &caller.run, &caller.turn, &request)
            };
            shared.file_calls.perform(run, work).await
        }
        Some(Err(fault)) => Err(unfit(fault)),
        None => Err(unfit(format!("there is no tool {:?}", tool.name))),
    }
}

/// A failure with a code.
pub(crate) fn fault(code: &str, message: impl Into<String>) -> ToolError {
    ToolError { message: message.into(), code: Some(code.to_owned()) }
}

/// An outcome that is an object.
pub(crate) fn found(output: &impl Serialize) -> ToolResult {
    let output = serde_json::to_value(output).ok();
    ToolResult { ok: true, output, ..ToolResult::default() }
}

/// Runs a command for an agent, in its directory and with its markers.
async fn command(
    shared: &Arc<RunsContext>,
    caller: &Caller,
    tool: &Tool,
    request: &ExecuteCommand,
) -> Result<ToolResult, ToolError> {
    match caller.turn.effective.run_commands {
        CommandRight::Full => {}
        CommandRight::ReadOnly => {
            let why = "commands are read-only now, and no sandbox is there to hold them to it";
            return Err(fault("MODE_FORBIDS", why));
        }
        CommandRight::None => return Err(fault("MODE_FORBIDS", "this node may not run commands")),
    }
    let inside = request.cwd.clone().unwrap_or_else(|| ".".to_owned());
    let root = PathBuf::from(&caller.node.workdir);
    let home = shared.settings.home.clone();
    let find = move || Workdir::open(&root, &home)?.resolve(&inside);
    let workdir = shared.file_calls.perform(caller.run.id, find).await?;
    let seconds = request.timeout_seconds.unwrap_or(COMMAND_SECONDS);
    let seconds = seconds.clamp(1, COMMAND_SECONDS_MAX);
    let command = ["sh", "-c", &request.cmd].map(str::to_owned);
    let env = BTreeMap::new();
    // The end of a command must not end the agent, but the end of the agent ends its commands.
    let family = Family {
        mark: shared.mark.clone(),
        run: Some(caller.run.id),
        node: Some(caller.node.id),
        tool: Some(tool.id),
    };
    let (confinement, _) = shared.confine(&caller.node);
    let confinement = confinement.as_ref();
    let launch =
        Launch { command: &command, workdir: &workdir, env: &env, family: &family, confinement };
    let captured = capture::run(&launch, Duration::from_secs(seconds)).await;
    let captured = captured.map_err(|error| fault("COMMAND_FAILED", error.to_string()))?;
    let output = format!("{}{}", captured.stdout.text(), captured.stderr.text());
    let (stdout, cut) = captured.stdout.ends(OUTPUT_BYTES_MAX / 2);
    let (stderr, stderr_cut) = captured.stderr.ends(OUTPUT_BYTES_MAX / 2);
    let truncated = cut || stderr_cut;
    let name = format!("tool-{}.log", short_id(&tool.id.to_string()));
    let file = match truncated {
        true => write(shared, caller.run.id, ArtifactKind::Log, (&name, &redacted(output))),
        false => None,
    };
    let mut result = ToolResult {
        ok: captured.code == Some(0),
        output: Some(Value::String(format!("{stdout}{stderr}"))),
        exit_code: captured.code,
        duration_ms: u64::try_from(captured.duration.as_millis()).ok(),
        truncated: truncated.then_some(true),
        ..ToolResult::default()
    };
    if let Some(file) = file {
        result.output_ref = Some(artifact_reference(file.id));
        let node = caller.node.id;
        let turn = Some(caller.turn.id);
        let file = Box::new(file);
        shared.report(caller.run.id, Ask::RecordArtifact { node, turn, file }).await;
    }
    Ok(result)
}
