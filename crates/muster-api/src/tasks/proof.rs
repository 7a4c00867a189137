//! Checks of a call that closes something: looked at only when a gate asks for them, run when the
//! call may wait for them (PROOF-GATE-4).
//!
//! ```text
//!   work ─► refused by a check ─► look at the files ─► work ─► refused ─► run, wait ─► work
//!                                                                           │
//!                                                          CHECK_RUNNING ◄──┘ not in time
//! ```
//!
//! The gate itself says which checks it needs, so nothing is computed for steps without any. A
//! refused attempt stores nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use muster_agents::{
    checkout,
    checks::{CheckServiceError, CheckWish, ProjectLook, ProjectView, project},
};
use muster_core::{
    AuthorSurface, CallFacts,
    checks::{
        definition::ProjectDefinition,
        project::ProjectFiles,
        protected::{ProtectedFiles, ProtectedState},
        record::CheckedWork,
    },
    tasks::{
        TaskAggregate, TaskRejection,
        check_gate::CheckGate,
        id::{CheckRunId, WorkspaceId},
        lookup,
    },
};

use super::{awaited::AwaitedCheck, work::failure};
use crate::{
    ApiError, App, Caller, ErrorCode,
    call::{CallFailure, Scene},
};

/// How long a closing call waits for checks unless it says otherwise: below the time after which
/// clients give a tool up.
pub(crate) const WAIT_SECONDS_DEFAULT: u64 = 25;

/// How long it waits for a caller that has a handle instead of an open call.
pub(crate) const PATIENT_WAIT_SECONDS: u64 = 24 * 60 * 60;

/// What a write does about checks that do not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckPolicy {
    /// The write is refused.
    Refuse,
    /// It looks at the files of all checks before it begins: it contains several calls, or reports
    /// what would be refused.
    Look,
    /// It runs them and waits.
    Run { wait: Duration },
}

/// An accepted project with the directory that a caller works in.
pub(crate) struct CallProject {
    /// The root that was accepted.
    pub(crate) root: String,
    /// Where its checks run.
    pub(crate) directory: PathBuf,
    pub(crate) definition: ProjectDefinition,
}

impl CallProject {
    /// The part of its files that some checks depend on.
    pub(crate) fn view<'n>(&'n self, checks: Vec<&'n str>) -> ProjectView<'n> {
        let directory = self.directory.clone();
        ProjectView { directory, definition: &self.definition, checks }
    }

    /// The protected files that were found in the directory of the caller.
    pub(crate) fn state(&self, files: ProtectedFiles) -> ProtectedState {
        ProtectedState { directory: self.directory.to_string_lossy().into_owned(), files }
    }
}

/// The attempts of one call.
pub(super) struct CheckRounds<'a> {
    app: &'a App,
    scene: &'a Scene,
    workspace: &'a WorkspaceId,
    policy: CheckPolicy,
    deadline: Option<Instant>,
    looked: bool,
    ran: BTreeSet<CheckRunId>,
}

impl<'a> CheckRounds<'a> {
    pub(super) fn of(
        app: &'a App,
        scene: &'a Scene,
        workspace: &'a WorkspaceId,
        policy: CheckPolicy,
    ) -> Self {
        let ran = BTreeSet::new();
        Self { app, scene, workspace, policy, deadline: None, looked: false, ran }
    }

    /// What the first attempt knows about the files.
    pub(super) fn first(&self) -> Result<CallFacts, CallFailure> {
        match self.policy {
            CheckPolicy::Look => self.app.project_facts(&self.scene.caller, self.workspace),
            CheckPolicy::Refuse | CheckPolicy::Run { .. } => Ok(self.scene.caller.facts()),
        }
    }

    /// What the next attempt knows about the files; `None` if another attempt would not help.
    pub(super) fn after(
        &mut self,
        rejection: &TaskRejection,
    ) -> Result<Option<CallFacts>, CallFailure> {
        let Some(unmet) = unmet_checks(rejection) else { return Ok(None) };
        let Some(project) = self.app.call_project(self.workspace, &self.scene.caller)? else {
            return Ok(None);
        };
        if self.looked && !self.run(&project, (unmet, checked_work(rejection)))? {
            return Ok(None);
        }
        self.looked = true;
        let names = unmet.iter().map(|check| check.name.as_str());
        let files = self.app.project_files(&project, names, &self.ran);
        Ok(Some(CallFacts { files: Some(Arc::new(files)), ..self.scene.caller.facts() }))
    }

    /// Runs the checks that may pass now; false if there are none.
    fn run(
        &mut self,
        project: &CallProject,
        (unmet, asked_for): (&[CheckGate], Option<CheckedWork>),
    ) -> Result<bool, CallFailure> {
        let CheckPolicy::Run { wait } = self.policy else { return Ok(false) };
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + wait);
        let wanted = unmet.iter().filter(|check| check.state.wants_a_run());
        let wishes: Vec<CheckWish> =
            wanted.filter_map(|check| self.wish(project, &check.name)).collect();
        let mut awaited = Vec::new();
        for wish in wishes {
            let wish = CheckWish { asked_for, ..wish };
            awaited.push(AwaitedCheck::of(self.app, self.scene, wish)?);
        }
        let mut new = false;
        for check in &awaited {
            match check.record(self.app, self.scene, deadline)? {
                Some(record) => new |= self.ran.insert(record.answered_by.unwrap_or(record.id)),
                None => return Err(still_running(self.scene.tool, check)),
            }
        }
        Ok(new)
    }

    fn wish(&self, project: &CallProject, name: &str) -> Option<CheckWish> {
        self.app.check_wish(self.workspace, project, name, self.scene.caller.by.clone())
    }
}

impl App {
    /// The project whose files a call is about: the accepted one that its caller works in, else
    /// the one that was accepted last for the workspace.
    pub(crate) fn call_project(
        &self,
        workspace: &WorkspaceId,
        caller: &Caller,
    ) -> Result<Option<CallProject>, CallFailure> {
        let is_of_run = caller.by.as_ref().is_some_and(|by| by.via == AuthorSurface::Run);
        self.project_in(workspace, caller, is_of_run)
    }

    /// The project whose protected files a caller looks at. A person may also look at the worktree
    /// of a run, which is not accepted on its own.
    pub(crate) fn reviewed_project(
        &self,
        workspace: &WorkspaceId,
        caller: &Caller,
    ) -> Result<Option<CallProject>, CallFailure> {
        let is_person = caller.by.as_ref().is_some_and(|by| by.is_person());
        match self.call_project(workspace, caller)? {
            None if is_person => self.project_in(workspace, caller, true),
            project => Ok(project),
        }
    }

    fn project_in(
        &self,
        workspace: &WorkspaceId,
        caller: &Caller,
        worktrees_count: bool,
    ) -> Result<Option<CallProject>, CallFailure> {
        let read = |docs: &_| Ok(lookup::projects(docs)?.cloned());
        let projects = self.engine().read::<TaskAggregate, _>(&workspace.stream(), read);
        let Some(projects) = projects.map_err(|error| failure(workspace, error))? else {
            return Ok(None);
        };
        let own = caller.directory.as_ref().and_then(|directory| directory.canonicalize().ok());
        let own = own.and_then(|directory| project::find(&directory));
        let own = own.and_then(|file| file.parent().map(Path::to_owned));
        let accepted = match &own {
            Some(own) => {
                accepted_root(own, worktrees_count).and_then(|root| projects.find(Some(&root)))
            }
            None => projects.find(None),
        };
        let Some(root) = accepted.map(|project| project.root.clone()) else { return Ok(None) };
        let trust = self.project_trust(&root)?;
        Ok(trust.accepted.map(|accepted| CallProject {
            directory: own.unwrap_or_else(|| PathBuf::from(&root)),
            root,
            definition: accepted.definition,
        }))
    }

    /// The digests of the files that checks depend on, and the protected files. What cannot be read
    /// is left out, so that nothing holds for it.
    pub(crate) fn project_files<'n>(
        &self,
        project: &CallProject,
        names: impl Iterator<Item = &'n str>,
        ran: &BTreeSet<CheckRunId>,
    ) -> ProjectFiles {
        let look = self.checks().look(&project.view(names.collect())).unwrap_or_else(|error| {
            tracing::warn!(root = project.root, %error, "could not read the files of a project");
            ProjectLook::default()
        });
        ProjectFiles {
            root: project.root.clone(),
            scopes: look.scopes,
            protected: look.protected.map(|files| project.state(files)),
            changes: BTreeMap::new(),
            ran: ran.clone(),
        }
    }

    /// What a call knows that has read the files of all checks of its project.
    pub(crate) fn project_facts(
        &self,
        caller: &Caller,
        workspace: &WorkspaceId,
    ) -> Result<CallFacts, CallFailure> {
        let Some(project) = self.call_project(workspace, caller)? else {
            return Ok(caller.facts());
        };
        let names = project.definition.checks.keys().map(String::as_str);
        let files = self.project_files(&project, names, &BTreeSet::new());
        Ok(CallFacts { files: Some(Arc::new(files)), ..caller.facts() })
    }

    /// A request for the verdict of an accepted check.
    pub(crate) fn check_wish(
        &self,
        workspace: &WorkspaceId,
        project: &CallProject,
        name: &str,
        by: Option<Arc<muster_core::Author>>,
    ) -> Option<CheckWish> {
        Some(CheckWish {
            workspace: workspace.clone(),
            root: project.directory.clone(),
            name: name.to_owned(),
            definition: project.definition.checks.get(name)?.clone(),
            fresh: false,
            by,
            asked_for: None,
        })
    }
}

/// The directory that a person would have accepted for a project file: its own, or if worktrees
/// count, as for an agent of a run, whose worktree the server has made, the one in the main
/// checkout.
fn accepted_root(own: &Path, worktrees_count: bool) -> Option<String> {
    let main = checkout::main_root(own).filter(|_| worktrees_count);
    let root = match (main, checkout::root(own)) {
        (Some(main), Some(worktree)) => main.join(own.strip_prefix(worktree).ok()?),
        (_, _) => own.to_owned(),
    };
    // Joining nothing leaves a slash at the end.
    root.components().collect::<PathBuf>().to_str().map(str::to_owned)
}

/// Whether another attempt may succeed once the files are looked at.
pub(super) fn asks_for_checks(rejection: &TaskRejection) -> bool {
    unmet_checks(rejection).is_some()
}

/// The checks because of which a call was refused.
fn unmet_checks(rejection: &TaskRejection) -> Option<&[CheckGate]> {
    let checks = if let TaskRejection::GateOpen { report, .. } = rejection {
        &report.checks
    } else if let TaskRejection::ChecksOpen { checks, .. } = rejection {
        checks
    } else if let TaskRejection::RestoreConflict { unmet: Some((_, report)), .. } = rejection {
        &report.checks
    } else {
        return None;
    };
    (!checks.is_empty()).then_some(checks)
}

/// What the refused call was about.
fn checked_work(rejection: &TaskRejection) -> Option<CheckedWork> {
    if let TaskRejection::GateOpen { report, .. } = rejection {
        Some(CheckedWork { task: report.task, step: Some(report.step_id) })
    } else if let TaskRejection::ChecksOpen { task, .. } = rejection {
        Some(CheckedWork { task: *task, step: None })
    } else {
        None
    }
}

/// A check that could not be run at all.
pub(crate) fn not_run(error: &CheckServiceError) -> CallFailure {
    let recovery = "Look at the directory of the project, then call again; nothing was changed.";
    ApiError::new(ErrorCode::CheckRequired, error.to_string(), recovery).into()
}

fn still_running(tool: &str, check: &AwaitedCheck) -> CallFailure {
    let name = &check.name;
    let run = check.ticket.run;
    let message = format!("{name} is still running as {run}");
    let recovery = format!(
        "Call {tool} again with the same arguments: it waits for {run} and starts no second run."
    );
    ApiError::new(ErrorCode::CheckRunning, message, recovery)
        .with("run", &run)
        .with("check", name)
        .into()
}
