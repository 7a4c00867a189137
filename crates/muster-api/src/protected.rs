//! Protected files: what a person has to look at before a task is done, and the person's ok
//! (PROOF-GUARD-3).

use muster_agents::checks::{ProtectedText, ProtectedTexts};
use muster_core::{
    Author, Timestamp,
    checks::protected::{
        PROTECTED_GATE, ProtectedBaseline, ProtectedChange, ProtectedFiles, ProtectedState,
    },
    tasks::{TaskAggregate, TaskCommand, TaskDocs, id::WorkspaceId, lookup},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    ApiError, App, Caller, ErrorCode,
    call::CallFailure,
    tasks::{CallProject, task_failure},
};

/// Changes that are listed.
const CHANGES_MAX: usize = 1_000;

/// The protected files of a project against what a person last saw.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ProtectedChanges {
    /// Identifies the files as they are now; empty if nothing is protected.
    pub digest: String,
    /// By path, 1,000 at most.
    pub changes: Vec<ProtectedChange>,
    /// There are more changes than are listed. With more than 5,000 protected files none are.
    pub truncated: bool,
    /// Whether a person has seen the files as they are.
    pub seen: bool,
    /// When a person last looked; absent if none has.
    #[serde(rename = "baseline_at_ms", skip_serializing_if = "Option::is_none")]
    pub baseline_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline_by: Option<Author>,
}

/// A change as text, for a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct ProtectedDiff {
    pub change: ProtectedChange,
    /// Lines that begin with `+`, `-`, `@` or a space; empty if there is no text to show.
    pub diff: String,
    /// What the reader has to know about it, for example that the file is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

/// The protected files now and at the last look.
struct ProtectedView {
    project: CallProject,
    present: ProtectedFiles,
    baseline: Option<ProtectedBaseline>,
}

impl ProtectedView {
    fn before(&self) -> ProtectedFiles {
        self.baseline.as_ref().map(|baseline| baseline.files.clone()).unwrap_or_default()
    }
}

impl App {
    /// What changed in the protected files of the project that a caller works in.
    pub fn protected_changes(
        &self,
        caller: &Caller,
        workspace: &WorkspaceId,
    ) -> Result<ProtectedChanges, Box<ApiError>> {
        let Some(view) = self.protected_view(caller, workspace)? else {
            return Ok(ProtectedChanges::none());
        };
        let before = view.before();
        let seen = view.baseline.is_some() && before.digest == view.present.digest;
        let mut changes = view.present.changes_since(&before);
        let is_unlisted = !seen && changes.is_empty() && view.present.count + before.count > 0;
        let truncated = changes.len() > CHANGES_MAX || is_unlisted;
        changes.truncate(CHANGES_MAX);
        let digest = view.present.digest;
        let baseline_at = view.baseline.as_ref().map(|baseline| baseline.at);
        let baseline_by = view.baseline.and_then(|baseline| baseline.by);
        Ok(ProtectedChanges { digest, changes, truncated, seen, baseline_at, baseline_by })
    }

    /// The first changes as text.
    pub fn protected_diffs(
        &self,
        caller: &Caller,
        workspace: &WorkspaceId,
        limit: usize,
    ) -> Result<Vec<ProtectedDiff>, Box<ApiError>> {
        let Some(view) = self.protected_view(caller, workspace)? else { return Ok(Vec::new()) };
        let before = view.before();
        let texts = ProtectedTexts::new(&view.project.directory, &before);
        let changes = view.present.changes_since(&before).into_iter().take(limit);
        let diff = |change: ProtectedChange| {
            let ProtectedText { diff, remark } = texts.of(&change);
            ProtectedDiff { change, diff, remark }
        };
        Ok(changes.map(diff).collect())
    }

    /// Records that a person has seen the protected files. Refused for every caller but a person,
    /// and if the files are not those with this digest any more.
    pub fn accept_protected(
        &self,
        caller: &Caller,
        workspace: &WorkspaceId,
        digest: &str,
    ) -> Result<(), Box<ApiError>> {
        let view = self.protected_view(caller, workspace)?;
        let Some(ProtectedView { project, present, .. }) = view else { return Err(nothing()) };
        // The rules say first who may do this at all.
        let is_person = caller.facts().is_person();
        if is_person && present.digest != digest {
            return Err(moved(&present.digest, digest));
        }
        let command = TaskCommand::ReviewProtected(project.state(present));
        let done = self.engine().execute_for::<TaskAggregate, _>(
            caller.facts(),
            workspace.stream(),
            move |draft| draft.apply(&command).map(|_| ()),
        );
        done.map_err(|error| task_failure(workspace, error).error)
    }

    /// `None` if the project of the caller protects nothing.
    fn protected_view(
        &self,
        caller: &Caller,
        workspace: &WorkspaceId,
    ) -> Result<Option<ProtectedView>, Box<ApiError>> {
        let error_of = |failure: CallFailure| failure.error;
        let project = self.reviewed_project(workspace, caller).map_err(error_of)?;
        let Some(project) = project.filter(|project| !project.definition.protected.is_empty())
        else {
            return Ok(None);
        };
        let files = self.project_files(&project, [].into_iter(), &[].into());
        let Some(ProtectedState { directory, files: present }) = files.protected else {
            return Err(unreadable(&project.root));
        };
        let baseline = self.protected_baseline(workspace, &directory, &project.root);
        let baseline = baseline.map_err(error_of)?;
        Ok(Some(ProtectedView { project, present, baseline }))
    }

    /// The protected files of a directory as a person last saw them.
    pub(crate) fn protected_baseline(
        &self,
        workspace: &WorkspaceId,
        directory: &str,
        root: &str,
    ) -> Result<Option<ProtectedBaseline>, CallFailure> {
        let read = |docs: &TaskDocs| Ok(lookup::protected(docs, directory, root)?.cloned());
        let baseline = self.engine().read::<TaskAggregate, _>(&workspace.stream(), read);
        baseline.map_err(|error| task_failure(workspace, error))
    }
}

impl ProtectedChanges {
    fn none() -> Self {
        Self {
            digest: String::new(),
            changes: Vec::new(),
            truncated: false,
            seen: true,
            baseline_at: None,
            baseline_by: None,
        }
    }
}

fn nothing() -> Box<ApiError> {
    let message = "no accepted project of this workspace protects files here";
    let recovery = "Call from the directory of the project. [protect] of its muster.toml names the \
                    files, and `muster trust` accepts it.";
    Box::new(ApiError::new(ErrorCode::InvalidInput, message, recovery))
}

fn unreadable(root: &str) -> Box<ApiError> {
    let message = format!("the {PROTECTED_GATE} of {root} cannot be read");
    let recovery = "Look at the directory of the project; the log of the server has the cause.";
    Box::new(ApiError::new(ErrorCode::CheckRequired, message, recovery))
}

fn moved(present: &str, digest: &str) -> Box<ApiError> {
    let message = format!("the {PROTECTED_GATE} changed since they were shown");
    let error = ApiError::new(ErrorCode::RevisionMismatch, message, "Look at them again.");
    Box::new(error.with("expected", &digest).with("actual", &present))
}
