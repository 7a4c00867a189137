//! Projects as a person sees them: what is accepted, what the file says now, and how they differ.

use std::path::{Path, PathBuf};

use muster_agents::{
    checkout,
    checks::{
        project::{self, PROJECT_FILE, ProjectFileError},
        touch::{self, FileTouch},
    },
};
use muster_core::{
    Timestamp,
    checks::{
        definition::ProjectDefinition,
        difference::{DefinitionChange, definition_changes},
        trust::{ProjectTrust, TrustDecision},
    },
    tasks::{TaskAggregate, id::WorkspaceId, lookup},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    WorkDesk,
    request::{DecideInput, ProjectDecision},
};
use crate::{
    Caller, TrustError, person_name,
    runs::{RunCode, RunFault, RunTold, folders},
    tasks::task_failure,
};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ProjectsAnswer {
    /// By root.
    pub projects: Vec<ProjectOverview>,
}

/// A project: what a person accepted and what its file says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProjectView")]
pub struct ProjectOverview {
    /// The directory of the project file.
    pub root: String,
    /// The workspace whose tasks have to pass its checks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub workspace: Option<WorkspaceId>,
    pub state: ProjectState,
    /// What is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<AcceptedView>,
    /// What the file says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundDefinition>,
    /// How the file differs from what is in force.
    pub changes: Vec<DefinitionChange>,
    /// Why the file cannot be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ProjectState {
    /// The file says what was accepted.
    Accepted,
    /// The file differs from what was accepted, and no person has decided about that.
    Changed,
    /// A person has declined what the file says; what was accepted before is in force.
    Declined,
    /// No person has decided yet.
    New,
    /// There is no file.
    Missing,
    /// The file cannot be used.
    Broken,
}

/// What a person accepted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct AcceptedView {
    pub definition: ProjectDefinition,
    pub digest: String,
    /// The person's name.
    pub by: String,
    #[serde(rename = "at_ms")]
    pub at: Timestamp,
}

/// What a project file says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct FoundDefinition {
    pub definition: ProjectDefinition,
    pub digest: String,
    /// Who changed the file last; known if it differs from what was accepted, and to git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched_by: Option<TouchView>,
}

/// The last change of a file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TouchView {
    /// The author, or that the change is not committed.
    pub name: String,
    #[serde(rename = "at_ms")]
    pub at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl From<FileTouch> for TouchView {
    fn from(touch: FileTouch) -> Self {
        let FileTouch { at, commit } = touch;
        match commit {
            Some(commit) => Self { name: commit.author, at, commit: Some(commit.id) },
            None => Self { name: "uncommitted change".to_owned(), at, commit: None },
        }
    }
}

/// The file of a project as it is now.
pub(super) enum FoundFile {
    Read(ProjectDefinition),
    Missing,
    Broken(ProjectFileError),
}

impl FoundFile {
    pub(super) fn of(root: &str) -> Self {
        let file = Path::new(root).join(PROJECT_FILE);
        if !file.is_file() {
            return Self::Missing;
        }
        match project::read(&file) {
            Ok(found) => Self::Read(found.definition),
            Err(error) => Self::Broken(error),
        }
    }

    fn definition(&self) -> Option<&ProjectDefinition> {
        match self {
            Self::Read(definition) => Some(definition),
            Self::Missing | Self::Broken(_) => None,
        }
    }

    pub(super) fn state(&self, known: &ProjectTrust) -> ProjectState {
        let definition = match self {
            Self::Read(definition) => definition,
            Self::Missing => return ProjectState::Missing,
            Self::Broken(_) => return ProjectState::Broken,
        };
        match &known.accepted {
            Some(accepted) if accepted.definition == *definition => ProjectState::Accepted,
            _ if known.declined.as_deref() == Some(&definition.digest()) => ProjectState::Declined,
            Some(_) => ProjectState::Changed,
            None => ProjectState::New,
        }
    }

    /// The places in the file that differ from what was accepted.
    pub(super) fn changes(&self, known: &ProjectTrust) -> Vec<String> {
        let before = known.accepted.as_ref().map(|accepted| &accepted.definition);
        let changes = self.definition().map(|definition| definition_changes(before, definition));
        changes.unwrap_or_default().into_iter().map(|change| change.what).collect()
    }
}

impl WorkDesk<'_> {
    /// Every project that a person decided about, and that of a directory.
    pub fn projects(self, directory: Option<&Path>) -> RunTold<ProjectsAnswer> {
        let mut known = self.0.known_projects()?;
        if let Some(directory) = directory {
            let root = self.root_of(directory)?;
            if known.iter().all(|project| project.root != root) {
                known.push(ProjectTrust { root, ..ProjectTrust::default() });
            }
        }
        known.sort_by(|one, other| one.root.cmp(&other.root));
        let views = known.iter().map(|project| self.view(project));
        Ok(ProjectsAnswer { projects: views.collect::<RunTold<_>>()? })
    }

    /// Records what a person decided about the definition that they have seen.
    pub fn decide(self, caller: &Caller, input: DecideInput) -> RunTold<ProjectOverview> {
        let DecideInput { root, digest, decision } = input;
        let known = self.0.project_trust(&root)?;
        if known.root.is_empty() {
            self.expect_project(&root)?;
        }
        let definition = seen_definition(&root, &digest)?;
        let workspace = self.workspace_of(&known, &root, Some(&definition))?;
        let by = caller.by.as_ref().map_or_else(person_name, |by| by.name.clone());
        let decision = match decision {
            ProjectDecision::Accept => TrustDecision::Accepted {
                root: root.clone(),
                definition: Box::new(definition),
                by,
                workspace: Some(workspace.clone()),
            },
            ProjectDecision::Keep => TrustDecision::Declined { root: root.clone(), digest, by },
        };
        self.0.decide_trust(caller, &workspace, decision).map_err(|error| match error {
            TrustError::Store(error) => error.into(),
            TrustError::PersonRequired => RunFault::new(RunCode::PersonRequired, error.to_string()),
            TrustError::Files(error) => error.into(),
            TrustError::Refused(error) => (*error).into(),
        })?;
        self.0.protected_looks().forget();
        self.view(&self.0.project_trust(&root)?)
    }

    fn view(self, known: &ProjectTrust) -> RunTold<ProjectOverview> {
        let root = &known.root;
        let accepted = known.accepted.as_ref();
        let found = FoundFile::of(root);
        let definition =
            if let FoundFile::Read(definition) = &found { Some(definition) } else { None };
        let state = found.state(known);
        let touched_by = match state {
            ProjectState::Changed | ProjectState::Declined | ProjectState::New => {
                touch::last_touch(&Path::new(root).join(PROJECT_FILE)).map(TouchView::from)
            }
            ProjectState::Accepted | ProjectState::Missing | ProjectState::Broken => None,
        };
        let before = accepted.map(|accepted| &accepted.definition);
        let changes = definition.map(|definition| definition_changes(before, definition));
        let in_force = before.or(definition);
        Ok(ProjectOverview {
            root: root.clone(),
            workspace: Some(self.workspace_of(known, root, in_force)?),
            state,
            accepted: accepted.map(|accepted| AcceptedView {
                definition: accepted.definition.clone(),
                digest: accepted.digest.clone(),
                by: accepted.by.clone(),
                at: accepted.at,
            }),
            found: definition.map(|definition| FoundDefinition {
                definition: definition.clone(),
                digest: definition.digest(),
                touched_by,
            }),
            changes: changes.unwrap_or_default(),
            error: if let FoundFile::Broken(error) = &found {
                Some(error.to_string())
            } else {
                None
            },
        })
    }

    /// The root of the project that a directory belongs to; the directory itself if it has none.
    fn root_of(self, directory: &Path) -> RunTold<String> {
        let options = self.0.options().runs.now();
        let roots = &options.roots;
        let at_directory =
            |fault: RunFault| RunFault { path: Some("directory".to_owned()), ..fault };
        let real = folders::resolve(roots, directory).map_err(at_directory)?;
        let file = project::find(&real);
        let root = file.as_deref().and_then(Path::parent);
        let root = root.filter(|root| folders::is_allowed(roots, root)).unwrap_or(&real);
        let root = root.to_str();
        root.map(str::to_owned).ok_or_else(|| RunFault::bad_value("directory", "it is not UTF-8"))
    }

    /// Refuses a root that is not a directory with a project file, by its real path.
    fn expect_project(self, root: &str) -> RunTold<()> {
        let options = self.0.options().runs.now();
        let roots = &options.roots;
        let at_root = |fault: RunFault| RunFault { path: Some("root".to_owned()), ..fault };
        let real = folders::resolve(roots, Path::new(root)).map_err(at_root)?;
        if real == Path::new(root) && real.join(PROJECT_FILE).is_file() {
            return Ok(());
        }
        let detail = format!("{root} is not the directory of a project: it has no {PROJECT_FILE}");
        Err(RunFault::new(RunCode::UnknownProject, detail).at("root"))
    }

    /// The workspace of a project: the declared one, that of the last decision, the server's, or
    /// the one that is named after the repository.
    pub(super) fn workspace_of(
        self,
        known: &ProjectTrust,
        root: &str,
        definition: Option<&ProjectDefinition>,
    ) -> RunTold<WorkspaceId> {
        let declared = definition.and_then(|definition| definition.workspace.as_ref());
        if let Some(name) = declared.or(known.workspace.as_ref()) {
            return Ok(name.clone());
        }
        if known.accepted.is_some()
            && let Some(name) = self.workspace_with(root)?
        {
            return Ok(name);
        }
        if let Some(name) = self.0.default_workspace() {
            return Ok(name.clone());
        }
        let main = checkout::main_root(Path::new(root)).unwrap_or_else(|| PathBuf::from(root));
        WorkspaceId::named_after(&main.to_string_lossy()).ok_or_else(|| {
            let detail = format!(
                "{root} gives a workspace no name: declare one in {PROJECT_FILE}, as \
                 workspace = \"NAME\""
            );
            RunFault::bad_value("root", detail)
        })
    }

    /// The workspace that a project was accepted for, if that was not recorded with the decision.
    fn workspace_with(self, root: &str) -> RunTold<Option<WorkspaceId>> {
        for workspace in self.workspaces()? {
            let read = |docs: &_| {
                let projects = lookup::projects(docs)?;
                Ok(projects.is_some_and(|projects| projects.find(Some(root)).is_some()))
            };
            let found = self.0.engine().read::<TaskAggregate, _>(&workspace.stream(), read);
            if found.map_err(|error| task_failure(&workspace, error))? {
                return Ok(Some(workspace));
            }
        }
        Ok(None)
    }

    /// All workspaces of the store.
    pub(super) fn workspaces(self) -> RunTold<Vec<WorkspaceId>> {
        let streams = self.0.engine().store().snapshot()?.streams("workspace/")?;
        let names = streams.iter().filter_map(|stream| stream.name.strip_prefix("workspace/"));
        Ok(names.filter_map(|name| name.parse().ok()).collect())
    }
}

/// The definition of the file, if it is the one with this digest.
fn seen_definition(root: &str, digest: &str) -> RunTold<ProjectDefinition> {
    let changed = |detail: String| RunFault::new(RunCode::ChangedSince, detail).at("digest");
    match FoundFile::of(root) {
        FoundFile::Read(definition) if definition.digest() == digest => Ok(definition),
        FoundFile::Read(_) => Err(changed(format!(
            "{PROJECT_FILE} of {root} is not what you decided about: it has changed since; look at \
             it again. Nothing was recorded"
        ))),
        FoundFile::Missing => {
            Err(changed(format!("{root} has no {PROJECT_FILE} any more. Nothing was recorded")))
        }
        FoundFile::Broken(error) => Err(changed(format!("{error}. Nothing was recorded"))),
    }
}
