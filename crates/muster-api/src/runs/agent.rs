//! Calls of agents with the token of their node: task and todo tools, made for the
//! node's session (RUNS-TIE-3). The tools of runs belong to the runtime.

use std::{
    path::PathBuf,
    sync::{Arc, Weak},
};

use muster_agents::{AgentWish, Bearer, TaskOperations, Witnessed};
use muster_core::{
    AuthorKind, AuthorSurface, Documents, field,
    run::{
        RunAggregate,
        event::{ToolError, ToolResult},
        lookup,
        node::PermissionsMode,
    },
    session::SessionId,
    tasks::id::{TaskId, WorkspaceId},
};
use serde_json::{Map, Value, json};

use super::{RunCode, RunDesk, RunFault, RunTold};
use crate::{
    AnswerEconomy, App, Caller, Envelope, OperationEffect, Registry,
    app::Standpoint,
    arguments::{Reason, invalid_with},
    call::{self, CallFailure},
};

/// Operations that revert earlier work, which their effect does not show.
const REVERTING: [&str; 2] = ["tasks_undo", "tasks_redo"];
/// The operation that can be one of them.
const STEP_DOOR: &str = "tasks_step";
/// The operation that contains others.
const BATCH: &str = "tasks_batch";

impl RunDesk<'_> {
    /// Calls an operation for the agent of a node: in the workspace of its run, within the plan of
    /// its task and about that task unless the call names another; its changes are recorded in its
    /// session. Another workspace is refused.
    pub fn call_for(self, bearer: Bearer, wish: AgentWish) -> RunTold<Envelope> {
        let default = self.0.default_workspace();
        let standpoint = self.read(bearer.run, |docs| standpoint(docs, bearer, default))?;
        let AgentWish { name, mut args } = wish;
        if let Err(failure) = self.bind(&name, &mut args, &standpoint.workspace) {
            return Ok(call::failed(self.0, &name, failure));
        }
        Ok(self.0.standing_for(standpoint).call(&name, args))
    }

    /// Puts the caller's workspace into a call that takes one; refuses another one.
    fn bind(
        self,
        name: &str,
        args: &mut Map<String, Value>,
        workspace: &WorkspaceId,
    ) -> Result<(), CallFailure> {
        let row = self.0.registry().get(name);
        let takes_one = row.is_some_and(|row| row.input_schema().property("workspace").is_some());
        if !takes_one {
            return Ok(());
        }
        let given = args.entry("workspace").or_insert(Value::Null);
        if given.is_null() {
            *given = json!(workspace);
        }
        // An invalid workspace id is refused where arguments are checked.
        let other = given.as_str().and_then(|given| given.parse::<WorkspaceId>().ok());
        match other.filter(|other| other != workspace) {
            None => Ok(()),
            Some(other) => Err(closed(&other, workspace)),
        }
    }

    /// Whether a person has to approve a call first: it deletes or reverts work, and its node is
    /// gated. A call that is refused anyway is not put to a person.
    pub fn must_ask(self, bearer: Bearer, wish: &AgentWish) -> RunTold<bool> {
        if !destroys(self.0.registry(), &wish.name, &wish.args) {
            return Ok(false);
        }
        let default = self.0.default_workspace();
        let (mode, workspace) = self.read(bearer.run, |docs| {
            let node = lookup::node(docs, bearer.node)?;
            let mode = node.permissions.cli_permissions_mode;
            Ok((mode, standpoint(docs, bearer, default)?.workspace))
        })?;
        let bound = self.bind(&wish.name, &mut wish.args.clone(), &workspace);
        Ok(mode == PermissionsMode::Gated && bound.is_ok())
    }
}

fn closed(other: &WorkspaceId, own: &WorkspaceId) -> CallFailure {
    let message = format!("this agent works in the workspace {own} and may not use {other}");
    let recovery = "Leave workspace out.".to_owned();
    invalid_with("workspace", Reason::NotAllowed, own.as_str(), message, recovery)
}

/// Whether a call deletes or reverts work, on its own or as part of a batch.
fn destroys(registry: &Registry, name: &str, args: &Map<String, Value>) -> bool {
    if name == BATCH {
        let parts = args.get("operations").and_then(Value::as_array).into_iter().flatten();
        let mut names = parts.flat_map(|part| [part.get("tool"), part.get("name")]).flatten();
        return names.any(|name| {
            name.as_str().is_some_and(|name| name != BATCH && destroys(registry, name, args))
        });
    }
    let removes = registry.get(name).is_some_and(|row| row.effect == OperationEffect::Destroy);
    let reverts = name == STEP_DOOR && args.get("action").is_some_and(|action| action == "undo");
    removes || reverts || REVERTING.contains(&name)
}

/// The operations of an application for the engine of runs, which does not keep it alive.
struct AgentOperations(Weak<App>);

pub(crate) fn agent_operations(app: &Arc<App>) -> Arc<dyn TaskOperations> {
    Arc::new(AgentOperations(Arc::downgrade(app)))
}

impl TaskOperations for AgentOperations {
    fn call(&self, bearer: Bearer, wish: AgentWish) -> Witnessed {
        let Some(app) = self.0.upgrade() else {
            let fault = RunFault::new(RunCode::Internal, "the server is stopping");
            return witnessed(Err(&fault));
        };
        witnessed(app.runs().call_for(bearer, wish).as_ref())
    }

    fn attach_checks(&self, workspace: &WorkspaceId, task: TaskId, checks: &[String]) -> bool {
        let arguments =
            [field("workspace", workspace), field("task", &task), field("checks", checks)];
        let call = |app: Arc<App>| app.call("tasks_evidence_capture", Map::from_iter(arguments));
        self.0.upgrade().map(call).is_some_and(|answer| answer.success)
    }
}

/// Whom an agent acts for. Its workspace is that of its run, else the server's, else the one
/// named after the directory of the run, else after the run itself.
fn standpoint(
    docs: &Documents<RunAggregate>,
    bearer: Bearer,
    default: Option<&WorkspaceId>,
) -> Result<Standpoint, muster_core::WorkRefusal<RunAggregate>> {
    let run = lookup::run(docs)?;
    let node = lookup::node(docs, bearer.node)?;
    let session = node.muster_session_id.to_string();
    let session = SessionId::of(&session)
        .unwrap_or_else(|| unreachable!("a UUID is a session id: {session}"));
    let workspace = run.workspace.as_deref().and_then(|name| name.parse::<WorkspaceId>().ok());
    let workspace =
        workspace.or_else(|| default.cloned()).or_else(|| WorkspaceId::named_after(&run.cwd));
    let workspace = workspace.or_else(|| run.id.to_string().parse().ok());
    let workspace =
        workspace.unwrap_or_else(|| unreachable!("a UUID names a workspace: {}", run.id));
    let task = node.task_id.or(run.task_id);
    let plan = run.plan_id;
    let name = node.alias.as_ref().unwrap_or(&node.label);
    let mut caller = Caller::of(AuthorKind::Agent, name, AuthorSurface::Run);
    caller.directory = Some(PathBuf::from(&node.workdir));
    caller.economy = AnswerEconomy::Brief;
    Ok(Standpoint { session, workspace, task, plan, caller })
}

/// What the log of a run records of such a call.
pub fn witnessed(answer: Result<&Envelope, &RunFault>) -> Witnessed {
    let answer = match answer {
        Ok(answer) => answer,
        Err(fault) => {
            let code = Some(fault.code.name().to_owned());
            let error = Some(ToolError { message: fault.detail.clone(), code });
            return Witnessed { result: ToolResult::default(), error };
        }
    };
    let output: Value = answer.result.read();
    let result = ToolResult { ok: answer.success, output: Some(output), ..ToolResult::default() };
    let error = answer.error.as_ref().map(|error| ToolError {
        message: error.message.clone(),
        code: serde_json::to_value(error.code)
            .ok()
            .and_then(|code| code.as_str().map(str::to_owned)),
    });
    Witnessed { result, error }
}
