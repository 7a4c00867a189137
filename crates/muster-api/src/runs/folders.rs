//! `GET /api/fs/list`: folders that a run can work in, below the allowed roots.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Serialize;

use super::fault::{RunCode, RunFault};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "camelCase")]
pub struct Folder {
    pub name: String,
    /// Always true: files are not listed.
    pub is_directory: bool,
    pub path: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct FolderList {
    /// Folders, by name.
    pub entries: Vec<Folder>,
    /// The parent folder, if it may be listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub parent: Option<String>,
    /// The folder itself.
    pub current: String,
}

/// Lists the folders in a folder; nothing outside of the roots, not even through a link.
pub fn list(roots: &[PathBuf], path: &Path) -> Result<FolderList, RunFault> {
    let roots = real(roots);
    let current = resolve(&roots, path)?;
    let entries = fs::read_dir(&current).map_err(|_| absent())?;
    let folder = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok().filter(|name| !name.starts_with('.'))?;
        let target = entry.path().canonicalize().ok()?;
        let fits = target.is_dir() && is_below(&roots, &target);
        fits.then(|| Folder { path: shown(&entry.path()), name, is_directory: true })
    };
    let mut entries: Vec<Folder> = entries.flatten().filter_map(folder).collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let parent = current.parent().filter(|parent| is_below(&roots, parent)).map(shown);
    Ok(FolderList { entries, parent, current: shown(&current) })
}

/// Whether a folder is below one of the roots, with all links resolved.
pub fn is_allowed(roots: &[PathBuf], path: &Path) -> bool {
    resolve(roots, path).is_ok()
}

/// The existing roots, with all links resolved.
fn real(roots: &[PathBuf]) -> Vec<PathBuf> {
    roots.iter().filter_map(|root| root.canonicalize().ok()).collect()
}

/// The real path of a folder. A caller learns nothing about folders that it may not list.
pub(crate) fn resolve(roots: &[PathBuf], path: &Path) -> Result<PathBuf, RunFault> {
    let roots = &real(roots);
    let plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    match path.canonicalize() {
        Ok(real) if plain && is_below(roots, &real) && real.is_dir() => Ok(real),
        Err(_) if plain && is_below(roots, path) => Err(absent()),
        Ok(_) | Err(_) => {
            let detail = "this folder is not below an allowed folder";
            Err(RunFault::new(RunCode::ForbiddenPath, detail).at("path"))
        }
    }
}

fn is_below(roots: &[PathBuf], path: &Path) -> bool {
    roots.iter().any(|root| path.starts_with(root))
}

fn absent() -> RunFault {
    RunFault::bad_value("path", "path must be an existing folder")
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
