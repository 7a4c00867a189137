//! The project file that `muster init` proposes, or finds.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::OpenOptions,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use muster_api::{
    WorkspaceId, checkout,
    checks::{self, PROJECT_FILE, ProjectFile, ProposedCheck, RepositoryFiles},
};
use muster_core::checks::{
    definition::{CheckDefinition, ProjectDefinition},
    difference::definition_lines,
};

use crate::{
    config::Settings,
    output, screen, storage,
    workspace::{self, Surroundings},
};

/// Where a project is set up.
pub(super) struct Place {
    /// The directory that was named.
    directory: PathBuf,
    /// The root of the repository, or the directory itself.
    root: PathBuf,
    is_repository: bool,
}

impl Place {
    pub(super) fn of(directory: &Path) -> anyhow::Result<Self> {
        let directory = directory
            .canonicalize()
            .with_context(|| format!("cannot use the folder {}", directory.display()))?;
        let root = checkout::root(&directory);
        let is_repository = root.is_some();
        Ok(Self { root: root.unwrap_or_else(|| directory.clone()), directory, is_repository })
    }

    pub(super) fn file(&self) -> PathBuf {
        self.root.join(PROJECT_FILE)
    }

    pub(super) fn heading(&self) -> String {
        let root = self.root.to_string_lossy();
        let root = screen::spelled_out(&root);
        match self.is_repository {
            true => format!("Project {root}\n\n"),
            false => format!("Project {root}, which is not in a git repository\n\n"),
        }
    }

    /// The file that is there already, after saying what it has and what could be added.
    pub(super) fn existing(&self) -> anyhow::Result<Option<ProjectFile>> {
        let file = checks::find(&self.directory).filter(|file| file.starts_with(&self.root));
        let Some(file) = file else { return Ok(None) };
        let project = checks::read(&file)
            .context("muster.toml exists and was not changed, but it cannot be used")?;
        let mut text = format!("{} exists and is not changed:\n\n", file.display());
        for line in definition_lines(&project.definition) {
            text += &format!("    {}\n", screen::spelled_out(&line));
        }
        let missing = missing(&project.definition, self.checks(&project.root)?);
        if !missing.is_empty() {
            text += "\nThese checks would fit too; add them to the file if you want them:\n\n";
            text += &indented(&checks::additional_checks(missing));
        }
        output::print(&(text + "\n"))?;
        Ok(Some(project))
    }

    /// The text of a new file, after showing it.
    pub(super) fn proposal(
        &self,
        settings: &Settings,
        workspace: Option<&str>,
    ) -> anyhow::Result<String> {
        let checks = self.checks(&self.root)?;
        let sources: BTreeSet<&str> = checks.iter().map(|check| check.because).collect();
        let sources = sources.into_iter().collect::<Vec<_>>().join(", ");
        let definition = ProjectDefinition {
            workspace: self.workspace(settings, workspace)?,
            checks: by_name(checks),
            ..ProjectDefinition::default()
        };
        let text = checks::text(&definition);
        let reason = match sources.is_empty() {
            true => "no test command was found".to_owned(),
            false => format!("from {sources}"),
        };
        output::print(&format!("{PROJECT_FILE}, {reason}:\n\n{}\n", indented(&text)))?;
        Ok(text)
    }

    /// Writes a file that does not exist yet.
    pub(super) fn write(&self, text: &str) -> anyhow::Result<ProjectFile> {
        let file = self.file();
        let opened = OpenOptions::new().write(true).create_new(true).open(&file);
        match opened.and_then(|mut open| open.write_all(text.as_bytes())) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                bail!("{} exists and was not changed", file.display());
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot write {}", file.display()));
            }
        }
        output::print(&format!("{} was written.\n", file.display()))?;
        Ok(checks::read(&file)?)
    }

    fn checks(&self, root: &Path) -> anyhow::Result<Vec<ProposedCheck>> {
        let files = RepositoryFiles::read(root)
            .with_context(|| format!("cannot read the folder {}", root.display()))?;
        Ok(checks::propose(&files))
    }

    /// The workspace that counts here already, so that a new file does not move any work.
    fn workspace(
        &self,
        settings: &Settings,
        asked: Option<&str>,
    ) -> anyhow::Result<Option<WorkspaceId>> {
        let app = storage::open_if_there(settings)?;
        let here = Surroundings { directory: self.root.clone(), app: app.as_ref() };
        let found = workspace::find(settings, asked, &here)?;
        let own_name = || WorkspaceId::named_after(&self.root.to_string_lossy());
        Ok(found.map(|found| found.name).or_else(own_name))
    }
}

fn by_name(checks: Vec<ProposedCheck>) -> BTreeMap<String, CheckDefinition> {
    checks.into_iter().map(|check| (check.name, check.definition)).collect()
}

/// Proposed checks that a file has neither by name nor by command.
fn missing(
    project: &ProjectDefinition,
    proposed: Vec<ProposedCheck>,
) -> BTreeMap<String, CheckDefinition> {
    let mut missing = by_name(proposed);
    missing.retain(|name, check| {
        let is_known = project.checks.values().any(|known| known.run.line() == check.run.line());
        !is_known && !project.checks.contains_key(name)
    });
    missing
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| match line.is_empty() {
        true => "\n".to_owned(),
        false => format!("    {line}\n"),
    });
    lines.collect()
}
