//! The project of a case: files that a person has accepted for its workspace.

use std::{collections::BTreeMap, fs, path::Path, process::Command};

use muster_api::{App, AppOptions, Caller, WorkspaceId, checks};
use muster_core::{AuthorKind, AuthorSurface, checks::trust::TrustDecision};
use serde::Deserialize;

/// Files by path; `null` removes one.
type Files = BTreeMap<String, Option<String>>;

/// A project as a case describes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseProject {
    /// As a person accepts them, with a `muster.toml`.
    files: Files,
    /// Whether they are committed to a repository.
    #[serde(default)]
    repository: bool,
}

/// A project on the disk. All surfaces share it, so that its path is the same in their answers.
pub struct StagedProject<'a> {
    project: &'a CaseProject,
    folder: tempfile::TempDir,
}

impl<'a> StagedProject<'a> {
    pub(super) fn new(project: &'a CaseProject) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Self { project, folder })
    }

    /// Writes the files again, and lets a person accept the project for a workspace.
    pub fn accept(&self, app: &App, workspace: &str) -> Result<(), String> {
        let root = self.folder.path().canonicalize().map_err(|error| error.to_string())?;
        // An earlier surface may have changed them.
        fs::remove_dir_all(&root)
            .and_then(|()| fs::create_dir(&root))
            .map_err(|error| error.to_string())?;
        self.write(&self.project.files)?;
        if self.project.repository {
            commit(&root)?;
        }
        let file = checks::read(&root.join(checks::PROJECT_FILE));
        let definition = Box::new(file.map_err(|error| error.to_string())?.definition);
        let person = Caller::of(AuthorKind::Person, "ada", AuthorSurface::Terminal);
        let workspace: WorkspaceId =
            workspace.parse().map_err(|_| format!("{workspace} is not a workspace"))?;
        let root = root.to_string_lossy().into_owned();
        let by = "ada".to_owned();
        let accepted_for = Some(workspace.clone());
        let decision = TrustDecision::Accepted { root, definition, by, workspace: accepted_for };
        app.decide_trust(&person, &workspace, decision).map_err(|error| error.to_string())
    }

    /// The same for the store of another process.
    pub(super) fn accept_in(&self, storage: &Path, workspace: &str) -> Result<(), String> {
        let options = AppOptions { storage_dir: storage.to_owned(), ..AppOptions::default() };
        self.accept(&App::open(options).map_err(|error| error.to_string())?, workspace)
    }

    /// Changes files.
    pub(super) fn write(&self, files: &Files) -> Result<(), String> {
        files.iter().try_for_each(|(name, text)| write(self.folder.path(), name, text.as_deref()))
    }
}

fn write(root: &Path, name: &str, text: Option<&str>) -> Result<(), String> {
    let path = root.join(name);
    let done = match text {
        Some(text) => {
            let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
            folder.and_then(|()| fs::write(&path, text))
        }
        None => fs::remove_file(&path),
    };
    done.map_err(|error| format!("{}: {error}", path.display()))
}

/// Commits everything; the same files give the same commit.
fn commit(root: &Path) -> Result<(), String> {
    for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "begin"]] {
        let mut git = Command::new("git");
        git.args(words).current_dir(root);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for role in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{role}_NAME"), "ada");
            git.env(format!("GIT_{role}_EMAIL"), "ada@example.org");
            git.env(format!("GIT_{role}_DATE"), "2031-04-02T09:15:07Z");
        }
        let output = git.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    Ok(())
}
