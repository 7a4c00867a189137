//! Calls of agents that bear the token of their node: task and todo tools, made in the name of the
//! node's session (RUNS-TIE-3). The tools of runs are the runtime's.

use muster_core::{
    Documents,
    run::{
        Runs,
        event::{ToolError, ToolResult},
        lookup,
    },
    session::SessionId,
    tasks::id::WorkspaceId,
};
use muster_runtime::runs::{AgentWish, Bearer, Witnessed};
use serde_json::{Value, json};

use super::{RunDesk, RunFault, RunTold};
use crate::{Envelope, app::Standpoint};

impl RunDesk<'_> {
    /// Calls an operation for the agent of a node: in the workspace of its run and about its task,
    /// unless the call says otherwise; what it changes is told in its session.
    pub fn call_for(self, bearer: Bearer, wish: AgentWish) -> RunTold<Envelope> {
        let standpoint = self.read(bearer.run, |docs| standpoint(docs, bearer))?;
        let AgentWish { name, mut args } = wish;
        let row = self.0.registry().get(&name);
        let takes_place =
            row.is_some_and(|row| row.input_schema()["properties"]["workspace"].is_object());
        if let (Some(workspace), true) = (&standpoint.workspace, takes_place) {
            args.entry("workspace").or_insert_with(|| json!(workspace));
        }
        Ok(self.0.standing_for(standpoint).call(&name, args))
    }
}

fn standpoint(
    docs: &Documents<Runs>,
    bearer: Bearer,
) -> Result<Standpoint, muster_core::Refusal<Runs>> {
    let (run, node) = (lookup::run(docs)?, lookup::node(docs, bearer.node)?);
    let session = node.muster_session_id.to_string();
    let session = SessionId::of(&session)
        .unwrap_or_else(|| unreachable!("a UUID is a session id: {session}"));
    let workspace = run.workspace.as_deref().and_then(|name| name.parse::<WorkspaceId>().ok());
    Ok(Standpoint { session, workspace, task: node.task_id.or(run.task_id) })
}

/// What the log of a run keeps of such a call.
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
