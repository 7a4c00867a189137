//! Takes out what `muster setup --write` put into a file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use super::file::{FileChange, FileEdit, backups, replace};

/// The folder of an agent's plugins, inside that of its settings.
const PLUGINS: &str = "plugins";

/// What taking our part out means for a file.
pub(super) enum FileRemoval {
    /// It has nothing of ours.
    Untouched,
    /// It had nothing else, so it goes.
    Deleted,
    /// The copy of the file before our change returns, byte for byte.
    Restored(PathBuf),
    /// It was changed since, so only our part is removed.
    Cut(String),
}

impl FileRemoval {
    /// Finds out what to do; changes nothing.
    pub(super) fn of(change: &FileChange) -> anyhow::Result<Self> {
        let file = &change.file;
        let current = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Untouched),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", file.display()));
            }
        };
        if change.edit.put_into("").is_ok_and(|fresh| fresh.as_deref() == Some(&current)) {
            return Ok(Self::Deleted);
        }
        for backup in backups(file) {
            let old = fs::read_to_string(&backup).unwrap_or_default();
            if change.edit.put_into(&old).is_ok_and(|new| new.as_deref() == Some(&current)) {
                return Ok(Self::Restored(backup));
            }
        }
        let rest = change.edit.take_from(&current);
        let rest = rest.with_context(|| format!("{} was not changed", file.display()))?;
        Ok(match rest {
            rest if rest == current => Self::Untouched,
            rest if rest.is_empty() && matches!(change.edit, FileEdit::Plugin(_)) => Self::Deleted,
            rest => Self::Cut(rest),
        })
    }

    /// Does it, and reports what was done.
    pub(super) fn apply(&self, file: &Path) -> anyhow::Result<String> {
        let context = || format!("cannot write {}", file.display());
        Ok(match self {
            Self::Untouched => "has nothing of Muster".to_owned(),
            Self::Deleted => {
                fs::remove_file(file).with_context(context)?;
                remove_empty_settings_folder(file);
                "removed: it held nothing else".to_owned()
            }
            Self::Restored(backup) => {
                let old = fs::read_to_string(backup).with_context(context)?;
                replace(file, &old).with_context(context)?;
                fs::remove_file(backup).with_context(context)?;
                "restored as it was before".to_owned()
            }
            Self::Cut(rest) => {
                replace(file, rest).with_context(context)?;
                "Muster's part was taken out; the rest stays".to_owned()
            }
        })
    }
}

/// Removes folders such as `.claude` and `.opencode/plugins` that were only there for the file.
fn remove_empty_settings_folder(file: &Path) {
    let Some(folder) = file.parent() else { return };
    let is_hidden = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    let is_inside = folder.ends_with(PLUGINS);
    if !is_hidden && !is_inside {
        return;
    }
    // It fails where something else is in the folder, which then stays.
    let is_gone = fs::remove_dir(folder).is_ok();
    if is_gone && is_inside {
        remove_empty_settings_folder(folder);
    }
}
