//! Calls of agents that bear the token of their node: task and todo tools, made in the name of the
//! node's session (RUNS-TIE-3). The tools of runs are the runtime's.

use std::path::Path;

use muster_core::{
    Documents,
    run::{
        Runs,
        event::{ToolError, ToolResult},
        lookup,
    },
    session::SessionId,
    tasks::id::{WORKSPACE_CHARS_MAX, WorkspaceId},
};
use muster_runtime::runs::{AgentWish, Bearer, Witnessed};
use serde_json::{Value, json};

use super::{RunDesk, RunFault, RunTold};
use crate::{Envelope, app::Standpoint};

impl RunDesk<'_> {
    /// Calls an operation for the agent of a node: in the workspace of its run and about its task,
    /// unless the call says otherwise; what it changes is told in its session.
    pub fn call_for(self, bearer: Bearer, wish: AgentWish) -> RunTold<Envelope> {
        let default = self.0.default_workspace();
        let standpoint = self.read(bearer.run, |docs| standpoint(docs, bearer, default))?;
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

/// Whom an agent stands for. Its workspace is that of its run, else the server's, else the one that
/// is named after the directory of the run.
fn standpoint(
    docs: &Documents<Runs>,
    bearer: Bearer,
    default: Option<&WorkspaceId>,
) -> Result<Standpoint, muster_core::Refusal<Runs>> {
    let (run, node) = (lookup::run(docs)?, lookup::node(docs, bearer.node)?);
    let session = node.muster_session_id.to_string();
    let session = SessionId::of(&session)
        .unwrap_or_else(|| unreachable!("a UUID is a session id: {session}"));
    let workspace = run.workspace.as_deref().and_then(|name| name.parse::<WorkspaceId>().ok());
    let workspace = workspace.or_else(|| default.cloned()).or_else(|| named_after(&run.cwd));
    Ok(Standpoint { session, workspace, task: node.task_id.or(run.task_id) })
}

/// The workspace that a directory gives its name to; nothing if no letter of it can be used.
fn named_after(directory: &str) -> Option<WorkspaceId> {
    let name = Path::new(directory).file_name()?.to_string_lossy();
    let usable = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let name: String = name.chars().map(|c| if usable(c) { c } else { '-' }).collect();
    let name = name.trim_start_matches(['.', '_', '-']);
    name[..name.len().min(WORKSPACE_CHARS_MAX)].parse().ok()
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

#[cfg(test)]
mod tests {
    use super::named_after;

    #[test]
    fn a_directory_gives_a_workspace_its_name() {
        let named = |directory: &str| named_after(directory).map(|name| name.to_string());
        assert_eq!(named("/home/me/shop").as_deref(), Some("shop"));
        assert_eq!(named("/home/me/My Shop (2)/").as_deref(), Some("My-Shop--2-"));
        assert_eq!(named("/tmp/.hidden").as_deref(), Some("hidden"));
        assert_eq!(named(&format!("/{}", "x".repeat(300))).unwrap().len(), 128);
        assert_eq!((named("/"), named("/...")), (None, None));
    }
}
