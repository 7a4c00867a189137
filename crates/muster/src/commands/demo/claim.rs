//! A task whose gate refuses a false "done": closed too early it stays open, closed after the work
//! it is proven. The operations are those that real agents call.

use std::{fs, path::Path, sync::Arc};

use anyhow::Context as _;
use muster_api::{App, Caller, WorkspaceId, checks};
use muster_core::{AuthorKind, AuthorSurface, checks::trust::TrustDecision, field};
use serde_json::{Map, Value, json};

use crate::output;

/// What the project has to pass. The script is written by the agents of the run.
const PROJECT: &str = "workspace = \"demo\"\n\n[checks.greets]\nrun = \"sh check.sh\"\n";
/// Seconds that closing waits for the check.
const WAIT_SECONDS: u32 = 50;

/// The task of the demo, and the agent that claims to have done it.
pub(super) struct FalseClaim {
    app: Arc<App>,
    agent: Caller,
    task: String,
}

/// Writes the project file, before the project becomes a repository.
pub(super) fn declare(project: &Path) -> std::io::Result<()> {
    fs::write(project.join(checks::PROJECT_FILE), PROJECT)
}

impl FalseClaim {
    /// Accepts the project's check and creates the task.
    pub(super) fn prepare(app: &Arc<App>, project: &Path) -> anyhow::Result<Self> {
        let file = checks::read(&project.join(checks::PROJECT_FILE))?;
        let workspace: WorkspaceId =
            file.definition.workspace.clone().context("the demo's project has no workspace")?;
        let person = Caller::of(AuthorKind::Person, "you", AuthorSurface::Cli);
        let decision = TrustDecision::Accepted {
            root: project.to_string_lossy().into_owned(),
            definition: Box::new(file.definition),
            by: "you".to_owned(),
            workspace: Some(workspace.clone()),
        };
        app.decide_trust(&person, &workspace, decision)?;
        let mut agent = Caller::of(AuthorKind::Agent, "an agent", AuthorSurface::Mcp);
        agent.directory = Some(project.to_owned());
        let mut claim = Self { app: Arc::clone(app), agent, task: String::new() };
        let step = json!({"title": "Greet by name", "checks": ["greets"],
                          "success_criteria": ["`sh greet.sh Ada` prints `Hello, Ada!`"]});
        let started = claim.call(
            "tasks_macro_start",
            &json!({"plan_title": "A small project", "task_title": "Greet a person by name",
                    "steps": [step]}),
        );
        let id = started.ok().and_then(|result| Some(result["task_id"].as_str()?.to_owned()));
        claim.task = id.context("the demo's task could not be created")?;
        Ok(claim)
    }

    /// Claims that the task is done, and reports what Muster makes of it.
    pub(super) fn claim(&self, when: &str) {
        output::remark(&format!("{when} an agent says that {} is done.", self.task));
        let close = json!({"task": self.task, "wait_seconds": WAIT_SECONDS,
                           "checkpoints": {"criteria": [{"index": 0}], "tests": true}});
        match self.call("tasks_macro_close_step", &close) {
            Ok(_) => output::remark(
                "  ✔ closed and proven: Muster ran `sh check.sh` on these files, and it passed.",
            ),
            Err(message) => output::remark(&format!("  ✘ refused: {message}. It stays open.")),
        }
    }

    /// The result, or why there is none.
    fn call(&self, operation: &str, arguments: &Value) -> Result<Value, String> {
        let mut arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        arguments.extend([field("workspace", "demo")]);
        let envelope = self.app.call_as(&self.agent, operation, arguments);
        match envelope.error {
            None => Ok(envelope.result.read()),
            Some(error) => Err(error.message),
        }
    }
}
