//! A change of a configuration file: computed first, then applied with a copy of the old file kept.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{json, plugin, section, toml::ServerTable};

/// Copies of one file at most.
const BACKUPS_MAX: u32 = 1_000;

/// The required content of a file, whatever else it has.
pub(super) struct FileChange {
    pub(super) file: PathBuf,
    /// The content to show to people.
    pub(super) snippet: String,
    /// How it is put in.
    pub(super) edit: FileEdit,
}

/// How a change is made.
pub(super) enum FileEdit {
    /// Settings to merge into a JSON object.
    Json(Value),
    /// A table of a TOML file.
    Toml(ServerTable),
    /// The section with instructions for agents.
    Section,
    /// A file that is ours as a whole.
    Plugin(String),
}

impl FileEdit {
    /// The new content of a file, or `None` when everything is in place.
    pub(super) fn put_into(&self, old: &str) -> anyhow::Result<Option<String>> {
        match self {
            Self::Json(wanted) => json::merged(old, wanted),
            Self::Toml(table) => table.put_into(old),
            Self::Section => Ok(section::put_into(old)),
            Self::Plugin(wanted) => plugin::put_into(old, wanted),
        }
    }

    /// The content of a file without our part.
    pub(super) fn take_from(&self, old: &str) -> anyhow::Result<String> {
        match self {
            Self::Json(wanted) => json::without(old, wanted),
            Self::Toml(table) => table.take_from(old),
            Self::Section => Ok(section::take_from(old)),
            Self::Plugin(_) if plugin::is_ours(old) => Ok(String::new()),
            Self::Plugin(_) => Ok(old.to_owned()),
        }
    }
}

/// The result of a change, given the current file.
pub(super) enum FileOutcome {
    /// The file does not exist yet.
    Created(String),
    /// The file changes.
    Changed(String),
    InPlace,
}

impl FileOutcome {
    /// A description of what would happen.
    pub(super) fn plan(&self) -> &'static str {
        match self {
            Self::Created(_) => "does not exist yet; it would be created with",
            Self::Changed(_) => "other settings stay; this would be added or updated",
            Self::InPlace => "already in place",
        }
    }
}

impl FileChange {
    /// Computes the new content of the file; changes nothing.
    pub(super) fn outcome(&self) -> anyhow::Result<FileOutcome> {
        let old = match fs::read_to_string(&self.file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", self.file.display()));
            }
        };
        let new = self.edit.put_into(old.as_deref().unwrap_or_default());
        let new = new.with_context(|| {
            format!("{} was not changed; add this by hand:\n{}", self.file.display(), self.snippet)
        })?;
        Ok(match (old, new) {
            (Some(_), None) => FileOutcome::InPlace,
            (Some(_), Some(new)) => FileOutcome::Changed(new),
            (None, new) => FileOutcome::Created(new.unwrap_or_default()),
        })
    }

    /// Writes the file, and reports what was done.
    pub(super) fn apply(&self, outcome: &FileOutcome) -> anyhow::Result<String> {
        let context = || format!("cannot write {}", self.file.display());
        match outcome {
            FileOutcome::InPlace => Ok("already in place; nothing was written".to_owned()),
            FileOutcome::Created(text) => {
                if let Some(folder) = self.file.parent() {
                    fs::create_dir_all(folder).with_context(context)?;
                }
                fs::write(&self.file, text).with_context(context)?;
                Ok("written".to_owned())
            }
            // An older version of ours is nothing that a person would want back.
            FileOutcome::Changed(text) if matches!(self.edit, FileEdit::Plugin(_)) => {
                replace(&self.file, text).with_context(context)?;
                Ok("written".to_owned())
            }
            FileOutcome::Changed(text) => {
                let backup = free_name(&self.file)?;
                fs::copy(&self.file, &backup).with_context(context)?;
                replace(&self.file, text).with_context(context)?;
                Ok(format!("written; the old file is {}", backup.display()))
            }
        }
    }
}

/// Replaces the content of the file atomically and keeps its permissions. A link stays a link.
pub(super) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let file = file.canonicalize()?;
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".muster-{}", std::process::id()));
    let fresh = file.with_file_name(name);
    // Copied, not created, so that a private file does not become readable for others.
    let written = fs::copy(&file, &fresh)
        .and_then(|_| fs::write(&fresh, text))
        .and_then(|()| fs::rename(&fresh, &file));
    if written.is_err() && fresh.exists() {
        fs::remove_file(&fresh)?;
    }
    written
}

/// The names of copies beside the file, oldest first.
fn backup_names(file: &Path) -> impl Iterator<Item = PathBuf> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    (1..BACKUPS_MAX).map(move |number| {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        file.with_file_name(format!("{name}.before-muster{suffix}"))
    })
}

/// The copies beside the file, newest first.
pub(super) fn backups(file: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = backup_names(file).take_while(|name| name.is_file()).collect();
    found.reverse();
    found
}

/// A free name for the copy beside the file.
fn free_name(file: &Path) -> anyhow::Result<PathBuf> {
    for candidate in backup_names(file) {
        if !candidate.try_exists()? {
            return Ok(candidate);
        }
    }
    bail!("{} has too many backup copies: remove some", file.display())
}
