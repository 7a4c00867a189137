//! What about work waits for a person, in all workspaces of the store.
//!
//! Tasks come from the catalogue, verdicts from the ledgers of accepted checks, changed definitions
//! from the project files. Whether protected files changed needs a walk over the files of a
//! project, so that is looked at only while tasks are in progress, and remembered for a while.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use muster_agents::checks::project::PROJECT_FILE;
use muster_core::{
    Timestamp,
    checks::trust::ProjectTrust,
    tasks::{
        TaskAggregate, TaskDocs,
        id::WorkspaceId,
        lookup,
        view::attention::{self, WorkAction, WorkAttention, WorkAttentionKind},
    },
};
use muster_engine::{Encoded, Follower};
use muster_store::{CatalogueQuery, EventRow};

use super::{
    WorkDesk,
    projects::{FoundFile, ProjectState},
};
use crate::{Caller, ProtectedChanges, runs::RunTold, tasks::task_failure};

/// How long a look at protected files counts.
const LOOK_AGE_MAX: Duration = Duration::from_secs(20);
/// Changed files whose age is looked at.
const FILES_MAX: usize = 20;
/// Changed parts that are named.
const NAMED_MAX: usize = 3;

/// What was found out about the protected files of projects, by workspace and root.
#[derive(Default)]
pub(crate) struct ProtectedLooks(Mutex<BTreeMap<(WorkspaceId, String), ProtectedLook>>);

struct ProtectedLook {
    at: Instant,
    /// What waits for a person.
    item: Option<WorkAttention>,
}

impl ProtectedLooks {
    /// The result of a look that is not too old.
    fn known(&self, key: &(WorkspaceId, String)) -> Option<Option<WorkAttention>> {
        let looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let look = looks.get(key).filter(|look| look.at.elapsed() < LOOK_AGE_MAX)?;
        Some(look.item.clone())
    }

    fn keep(&self, key: (WorkspaceId, String), item: Option<WorkAttention>) {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        looks.retain(|_, look| look.at.elapsed() < LOOK_AGE_MAX);
        looks.insert(key, ProtectedLook { at: Instant::now(), item });
    }

    /// Forgets what was found out: a person has looked, or accepted definitions.
    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// What waits in one workspace, without the state of its files.
struct WorkspaceState {
    items: Vec<WorkAttention>,
    /// Roots with protected files, if tasks are in progress.
    guarded: Vec<String>,
}

impl WorkDesk<'_> {
    /// What waits for a person, oldest first.
    pub fn attention(self) -> RunTold<Vec<WorkAttention>> {
        let mut items = self.of_tasks()?;
        for workspace in self.workspaces()? {
            let WorkspaceState { items: found, guarded } = self.of_workspace(&workspace)?;
            items.extend(found);
            items.extend(guarded.iter().filter_map(|root| self.of_files(&workspace, root)));
        }
        for known in self.0.known_projects()? {
            items.extend(self.of_project(&known)?);
        }
        items.extend(self.of_sessions()?);
        Ok(attention::sorted(items))
    }

    /// What agents wait for that a person started.
    pub fn of_sessions(self) -> RunTold<Vec<WorkAttention>> {
        let waiting = self.0.sessions().waiting()?;
        Ok(waiting.iter().map(|(id, waiting)| attention::of_session(id, waiting)).collect())
    }

    /// Follows all workspaces. Events after which the list may be another one are not empty.
    pub fn follow_attention(self) -> RunTold<Follower> {
        let encode = |_: &str, event: &EventRow| match attention::may_change(&event.kind) {
            true => Encoded::NOTICED,
            false => Encoded::NUMBER_ONLY,
        };
        Ok(self.0.engine().follow_all("workspace/", encode)?)
    }

    fn of_tasks(self) -> RunTold<Vec<WorkAttention>> {
        let query = CatalogueQuery { kind: "task", below: None, limit: None };
        let tasks = self.0.engine().catalogue::<TaskAggregate>(&query)?;
        let mut items = Vec::new();
        for (stream, document) in &tasks {
            let workspace = stream.strip_prefix("workspace/").and_then(|name| name.parse().ok());
            if let (Some(workspace), Some(task)) = (workspace, document.as_task()) {
                items.extend(attention::of_task(&workspace, task));
            }
        }
        Ok(items)
    }

    fn of_workspace(self, workspace: &WorkspaceId) -> RunTold<WorkspaceState> {
        let read = |docs: &TaskDocs| {
            let items = attention::of_checks(docs, workspace)?;
            let is_active = lookup::workspace(docs)?.tasks.active > 0;
            let projects = lookup::projects(docs)?.filter(|_| is_active);
            let accepted = projects.into_iter().flat_map(|projects| &projects.accepted);
            let guarded = accepted.filter(|project| !project.protected.is_empty());
            let guarded = guarded.map(|project| project.root.clone()).collect();
            Ok(WorkspaceState { items, guarded })
        };
        let state = self.0.engine().read::<TaskAggregate, _>(&workspace.stream(), read);
        Ok(state.map_err(|error| task_failure(workspace, error))?)
    }

    /// A project file that differs from what was accepted.
    fn of_project(self, known: &ProjectTrust) -> RunTold<Option<WorkAttention>> {
        let root = &known.root;
        let Some(accepted) = &known.accepted else { return Ok(None) };
        let found = FoundFile::of(root);
        let (title, advice, actions): (String, &str, &[WorkAction]) = match found.state(known) {
            ProjectState::Changed => (
                format!("{PROJECT_FILE} of {root} changed: {}", named(&found.changes(known))),
                "Accept the new definitions, or keep the accepted ones, which are in force.",
                &[WorkAction::Accept, WorkAction::Keep],
            ),
            ProjectState::Broken => (
                format!("{PROJECT_FILE} of {root} cannot be read any more"),
                "Mend the file; the accepted definitions are in force.",
                &[],
            ),
            ProjectState::Accepted
            | ProjectState::Declined
            | ProjectState::New
            | ProjectState::Missing => return Ok(None),
        };
        let workspace = self.workspace_of(known, root, Some(&accepted.definition))?;
        let since = modified(&Path::new(root).join(PROJECT_FILE)).unwrap_or_else(|| self.0.now());
        let kind = WorkAttentionKind::DefinitionsChanged;
        let item = WorkAttention::new(kind, &workspace, (&title, since), (advice, actions));
        Ok(Some(WorkAttention { project: Some(root.clone()), ..item }))
    }

    /// Protected files of a project that no person has looked at.
    fn of_files(self, workspace: &WorkspaceId, root: &str) -> Option<WorkAttention> {
        let key = (workspace.clone(), root.to_owned());
        let looks = self.0.protected_looks();
        if let Some(known) = looks.known(&key) {
            return known;
        }
        let caller = Caller { directory: Some(root.into()), ..Caller::default() };
        let item = match self.0.protected_changes(&caller, workspace) {
            Ok(found) if !found.seen => Some(self.unseen(workspace, root, &found)),
            Ok(_) => None,
            Err(error) => {
                tracing::debug!(root, message = error.message, "could not read protected files");
                None
            }
        };
        looks.keep(key, item.clone());
        item
    }

    fn unseen(
        self,
        workspace: &WorkspaceId,
        root: &str,
        found: &ProtectedChanges,
    ) -> WorkAttention {
        let paths: Vec<&str> = found.changes.iter().map(|change| change.path.as_str()).collect();
        let title = match paths.len() {
            0 => format!("protected files of {root} changed"),
            _ => format!("protected files of {root} changed: {}", named(&paths)),
        };
        let changed = paths.iter().take(FILES_MAX);
        let since = changed.filter_map(|path| modified(&Path::new(root).join(path))).max();
        let since = since.unwrap_or_else(|| self.0.now());
        let advice = "Look at the changes; no task of the workspace is done before.";
        let kind = WorkAttentionKind::ProtectedChanged;
        let actions = [WorkAction::Review];
        let item = WorkAttention::new(kind, workspace, (&title, since), (advice, &actions));
        WorkAttention { project: Some(root.to_owned()), ..item }
    }
}

/// The first names, and how many more there are.
fn named(names: &[impl AsRef<str>]) -> String {
    let first: Vec<&str> = names.iter().take(NAMED_MAX).map(AsRef::as_ref).collect();
    match names.len().saturating_sub(NAMED_MAX) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn modified(file: &Path) -> Option<Timestamp> {
    let changed: SystemTime = fs::symlink_metadata(file).ok()?.modified().ok()?;
    let since = changed.duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp(i64::try_from(since.as_millis()).ok()?))
}
