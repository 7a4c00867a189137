//! `tasks_import`: brings the plans of other programs into a workspace, all or nothing.
//!
//! ```text
//!   files            each form has its reader in muster-core
//!     ▼
//!   neutral tree     without secrets, and with a step in every task
//!     ▼
//!   known items      what earlier imports of this source have made
//!     ▼
//!   fields, steps    three states: the source, Muster, the last import
//!     ▼
//!   dependencies     in an order in which circles are cheap to find
//!     ▼
//!   states           closing comes last, by rules of its own
//! ```

mod importer;
mod known;
mod merge;
mod needs;
mod prepare;
mod states;
mod steps;
mod tally;

use std::sync::Arc;

use muster_core::{
    Env, LogPosition,
    plan_files::{self, ImportedPlan, PlanFile, PlanFileFault, PlanForm, report::PlansImported},
    tasks::{TaskDocs, TaskDraft, TaskResult, id::WorkspaceId, wording::Title},
};
use schemars::JsonSchema;
use serde::Deserialize;

use self::importer::Importer;
use super::groups::Repeatable;
use crate::{
    OperationEffect, WarningCode,
    arguments::{Reason, invalid_with},
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    registry::Operation,
};

/// Imports plans of another program, such as beads, task-master or Backlog.md: a list becomes a
/// plan, an issue a task, a subtask a step. A second import updates what was not changed here
/// and lists conflicts. What is closed at the source is closed without proof; where closing needs
/// proof, only a person's import does that.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksImport {
    /// Workspace id.
    workspace: WorkspaceId,
    /// The files of the source.
    #[schemars(length(min = 1, max = 20_000))]
    files: Vec<SourceFile>,
    /// Their form; default: recognised.
    from: Option<PlanForm>,
    /// Name of the source, the same at every import; default: the path of its first file.
    source: Option<Title>,
    /// Only says what it would do; default false.
    dry_run: Option<bool>,
    #[serde(flatten)]
    repeatable: Repeatable,
}

/// A file of a source.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct SourceFile {
    /// Its path, for messages and names.
    #[schemars(length(min = 1, max = 4_000))]
    path: String,
    /// Its whole content.
    text: String,
}

impl Operation for TasksImport {
    const NAME: &'static str = "tasks_import";
    const TITLE: &'static str = "Import plans of another program";
    const EFFECT: OperationEffect = OperationEffect::Write;
    type Response = PlansImported;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let files = self.files.iter().map(|file| PlanFile::new(file.path.as_str(), &file.text));
        let files: Vec<PlanFile> = files.collect();
        let trees = plan_files::read(self.from, &files).map_err(|fault| unreadable(&fault))?;
        let first = files.first().map(|file| file.path.clone()).unwrap_or_default();
        let mut plans = trees.plans;
        let is_redacted = prepare::redact(&mut plans);
        prepare::add_whole_steps(&mut plans);
        let source = PlanSource {
            workspace: self.workspace.to_string(),
            form: trees.form,
            name: self.source.map_or(first, |name| name.0),
            plans,
        };
        let reply = move |report: &PlansImported| {
            let mut reply = CallReply::new(report);
            if is_redacted {
                let message = "replaced what looks like a secret in the source".to_owned();
                let recovery = "Refer to secrets by name; rotate one that was shared by mistake.";
                reply.warn(WarningCode::SecretRedacted, message, recovery);
            }
            reply
        };
        if self.dry_run.unwrap_or(false) {
            let facts = call.scene.caller.facts();
            let env = Env { now: call.app.now(), call: facts };
            return call.read(&self.workspace, |docs| Ok(reply(&source.rehearse(docs, &env)?)));
        }
        let source = Arc::new(source);
        let key = self.repeatable.idempotency_key;
        call.write(&self.workspace, key, move |draft| Ok(reply(&source.import(draft)?)))
    }
}

/// A source, read and ready.
#[derive(Debug)]
struct PlanSource {
    workspace: String,
    form: PlanForm,
    name: String,
    plans: Vec<ImportedPlan>,
}

impl PlanSource {
    fn import(&self, draft: &mut TaskDraft<'_>) -> TaskResult<PlansImported> {
        Importer::of(draft, self)?.run()
    }

    /// The same on a copy of the documents, of which nothing is kept.
    fn rehearse(&self, docs: &TaskDocs, env: &Env) -> TaskResult<PlansImported> {
        let mut copy = docs.clone();
        let mut draft = TaskDraft::new(&mut copy, LogPosition::default(), env.clone());
        let mut report = self.import(&mut draft)?;
        report.dry_run = true;
        report.tree = tally::tree(&self.plans);
        Ok(report)
    }
}

fn unreadable(fault: &PlanFileFault) -> CallFailure {
    invalid_with(
        "files",
        Reason::BadFormat,
        "a source that can be read",
        format!("{fault}; nothing was imported"),
        "Correct the source, or name its form with from.".to_owned(),
    )
}
