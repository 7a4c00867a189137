//! Trees without git: paths, sizes and hashes of files. There is no patch text, and the diff states
//! that in its first line.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

use muster_core::run::hash::sha256_hex;
use serde::{Deserialize, Serialize};

use super::{FILE_BYTES_MAX, RecordedTree, SKIPPED_FOLDERS, TreeStore, patch::TreeChange};
use crate::{artifacts::write_whole, regular};

/// Files of a tree at most.
const FILES_MAX: usize = 50_000;

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    size: u64,
    hash: String,
}

type Listing = BTreeMap<String, Known>;

/// Records the tree of the directory.
pub(super) fn snapshot(place: &TreeStore<'_>) -> Result<RecordedTree, String> {
    let mut files = Listing::new();
    let mut skipped = Vec::new();
    walk(place, place.workdir, &mut files, &mut skipped).map_err(|error| error.to_string())?;
    let text = serde_json::to_string(&files).map_err(|error| error.to_string())?;
    let id = sha256_hex(text.as_bytes());
    let written = write_whole(&place.shadow.join(format!("tree-{id}.json")), text.as_bytes());
    written.map_err(|error| error.to_string())?;
    Ok(RecordedTree { id, skipped })
}

fn walk(
    place: &TreeStore<'_>,
    folder: &Path,
    files: &mut Listing,
    skipped: &mut Vec<String>,
) -> io::Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let known = fs::symlink_metadata(&path)?;
        if known.is_dir() {
            let own = name == ".git" || name == ".muster" || path == place.home;
            if !own && !SKIPPED_FOLDERS.contains(&&*name) {
                walk(place, &path, files, skipped)?;
            }
            continue;
        }
        let relative = path.strip_prefix(place.workdir).unwrap_or(&path).to_string_lossy();
        if known.len() > FILE_BYTES_MAX {
            skipped.push(relative.into_owned());
        } else if known.is_file() {
            if files.len() >= FILES_MAX {
                return Err(io::Error::other(format!("more than {FILES_MAX} files")));
            }
            let hash = sha256_hex(&regular::read(&path)?);
            files.insert(relative.into_owned(), Known { size: known.len(), hash });
        }
    }
    Ok(())
}

pub(super) fn compare(
    place: &TreeStore<'_>,
    before: &str,
    after: &str,
) -> Result<TreeChange, String> {
    let old = load(place, before)?;
    let new = load(place, after)?;
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut change = TreeChange::default();
    for name in names {
        let line = match (old.get(name), new.get(name)) {
            (Some(before), Some(after)) if before == after => continue,
            (Some(_), Some(after)) => format!("changed {name}: {}", described(after)),
            (None, Some(after)) => format!("added {name}: {}", described(after)),
            (Some(_), None) => format!("removed {name}"),
            (None, None) => continue,
        };
        change.text.push_str(&line);
        change.text.push('\n');
        change.files.push(name.clone());
    }
    if !change.files.is_empty() {
        change.text.insert_str(0, "no patch text is available: there is no git program\n");
    }
    Ok(change)
}

fn described(known: &Known) -> String {
    format!("{} bytes, sha256 {}", known.size, known.hash)
}

fn load(place: &TreeStore<'_>, id: &str) -> Result<Listing, String> {
    let text = fs::read_to_string(place.shadow.join(format!("tree-{id}.json")));
    let text = text.map_err(|error| format!("a recorded tree: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("a recorded tree: {error}"))
}

#[cfg(test)]
mod tests {
    use super::{compare, snapshot};
    use crate::diff::TreeStore;

    #[test]
    fn runs_diff_5_without_git_files_are_compared_by_size_and_hash() {
        let dir = tempfile::tempdir().unwrap();
        let work = dir.path().join("work");
        let shadow = dir.path().join("shadow");
        std::fs::create_dir_all(work.join("target")).unwrap();
        std::fs::create_dir(&shadow).unwrap();
        std::fs::write(work.join("a"), "1").unwrap();
        std::fs::write(work.join("b"), "1").unwrap();
        let place = TreeStore { shadow, workdir: &work, home: dir.path() };
        let before = snapshot(&place).unwrap();
        std::fs::write(work.join("a"), "2").unwrap();
        std::fs::remove_file(work.join("b")).unwrap();
        std::fs::write(work.join("target").join("x"), "built").unwrap();
        std::fs::write(work.join("c"), "new").unwrap();
        let after = snapshot(&place).unwrap();
        let change = compare(&place, &before.id, &after.id).unwrap();
        assert_eq!(change.files, ["a", "b", "c"]);
        assert!(change.text.starts_with("no patch text is available"), "{}", change.text);
        assert_eq!(compare(&place, &after.id, &after.id).unwrap().text, "");
    }
}
