//! A change of a configuration file: worked out first, applied with the old file kept beside it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::{json, toml::ServerTable};

/// What a file shall hold, whatever else is in it.
pub(super) struct FileChange {
    pub(super) file: PathBuf,
    /// What belongs in it, for people.
    pub(super) snippet: String,
    /// How it gets there.
    pub(super) edit: FileEdit,
}

/// How a change is made.
pub(super) enum FileEdit {
    /// Settings to merge into a JSON object.
    Json(Value),
    /// A table of a TOML file.
    Toml(ServerTable),
}

/// What a change comes to, given the file as it is.
pub(super) enum FileOutcome {
    /// There is no such file yet.
    Created(String),
    /// The file changes.
    Changed(String),
    InPlace,
}

impl FileOutcome {
    /// What would happen.
    pub(super) fn plan(&self) -> &'static str {
        match self {
            Self::Created(_) => "does not exist yet; this would go in",
            Self::Changed(_) => "other settings stay; this would be added or brought up to date",
            Self::InPlace => "in place already",
        }
    }
}

impl FileChange {
    /// Works out what the file would become; touches nothing.
    pub(super) fn outcome(&self) -> anyhow::Result<FileOutcome> {
        let old = match fs::read_to_string(&self.file) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", self.file.display()));
            }
        };
        let new = match &self.edit {
            FileEdit::Json(wanted) => json::merged(old.as_deref().unwrap_or_default(), wanted),
            FileEdit::Toml(table) => table.put_into(old.as_deref().unwrap_or_default()),
        };
        let new = new.with_context(|| {
            format!("{} was left alone; add this by hand:\n{}", self.file.display(), self.snippet)
        })?;
        Ok(match (old, new) {
            (Some(_), None) => FileOutcome::InPlace,
            (Some(_), Some(new)) => FileOutcome::Changed(new),
            (None, new) => FileOutcome::Created(new.unwrap_or_default()),
        })
    }

    /// Writes the file, and says what was done.
    pub(super) fn apply(&self, outcome: &FileOutcome) -> anyhow::Result<String> {
        let context = || format!("cannot write {}", self.file.display());
        match outcome {
            FileOutcome::InPlace => Ok("in place already; nothing was written".to_owned()),
            FileOutcome::Created(text) => {
                if let Some(folder) = self.file.parent() {
                    fs::create_dir_all(folder).with_context(context)?;
                }
                fs::write(&self.file, text).with_context(context)?;
                Ok("written".to_owned())
            }
            FileOutcome::Changed(text) => {
                let backup = free_name(&self.file)?;
                fs::copy(&self.file, &backup).with_context(context)?;
                replace(&self.file, text).with_context(context)?;
                Ok(format!("written; as it was: {}", backup.display()))
            }
        }
    }
}

/// Puts the new text in the file's place at once, with the rights that it had. A link stays a link.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let file = file.canonicalize()?;
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(format!(".muster-{}", std::process::id()));
    let fresh = file.with_file_name(name);
    // Copied, not created, so that nobody else gets to read what was private.
    let written = fs::copy(&file, &fresh)
        .and_then(|_| fs::write(&fresh, text))
        .and_then(|()| fs::rename(&fresh, &file));
    if written.is_err() && fresh.exists() {
        fs::remove_file(&fresh)?;
    }
    written
}

/// A name beside the file that nothing has yet.
fn free_name(file: &Path) -> anyhow::Result<PathBuf> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..1_000 {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let candidate = file.with_file_name(format!("{name}.before-muster{suffix}"));
        if !candidate.try_exists()? {
            return Ok(candidate);
        }
    }
    bail!("{} has too many copies beside it: remove some", file.display())
}
