//! The trash: files of runs that were deleted, for as long as a person may want them back.
//!
//! A folder there is named after its run and the moment of its deletion: `<run>-<milliseconds>`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use muster_core::{Timestamp, run::id::RunId};

/// Files of a run that was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discarded {
    pub path: PathBuf,
    pub deleted_at: Timestamp,
    /// Their size on the disk.
    pub bytes: u64,
}

/// The trash of a storage folder.
pub(super) fn folder(home: &Path) -> PathBuf {
    home.join("trash")
}

/// The name of a run's files there.
pub(super) fn name(run: RunId, deleted_at: Timestamp) -> String {
    format!("{run}-{}", deleted_at.0)
}

/// What was deleted before a moment, oldest first. Other entries are not Muster's.
pub fn discarded(home: &Path, before: Timestamp) -> io::Result<Vec<Discarded>> {
    let entries = match fs::read_dir(folder(home)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let found = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let (run, at) = name.to_str()?.rsplit_once('-')?;
        let _ = run.parse::<RunId>().ok()?;
        let at = at.parse::<i64>().ok()?;
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let path = entry.path();
        let bytes = bytes_below(&path);
        (is_folder && at < before.0).then_some(Discarded { path, deleted_at: Timestamp(at), bytes })
    });
    let mut found: Vec<Discarded> = found.collect();
    found.sort_by(|a, b| (a.deleted_at, &a.path).cmp(&(b.deleted_at, &b.path)));
    Ok(found)
}

impl Discarded {
    /// Removes the files permanently.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_dir_all(&self.path)
    }
}

/// The size of all files below a folder; links are not followed.
pub(crate) fn bytes_below(folder: &Path) -> u64 {
    let mut total = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(known) if known.is_dir() => folders.push(entry.path()),
                Ok(known) => total += known.len(),
                Err(_) => {}
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use std::fs;

    use muster_core::{Timestamp, run::id::RunId};

    use super::{discarded, name};

    #[test]
    fn only_old_folders_of_deleted_runs_are_found() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(discarded(home.path(), Timestamp(i64::MAX)).unwrap(), vec![]);
        let trash = home.path().join("trash");
        let add = |name: &str| {
            fs::create_dir_all(trash.join(name).join("artifacts")).unwrap();
            fs::write(trash.join(name).join("artifacts/a"), "12345").unwrap();
        };
        let old = name(RunId(1), Timestamp(1_000));
        for name in [old.as_str(), &name(RunId(2), Timestamp(5_000)), "mine-17", "notes"] {
            add(name);
        }
        let found = discarded(home.path(), Timestamp(2_000)).unwrap();
        let facts: Vec<_> = found.iter().map(|one| (one.path.clone(), one.bytes)).collect();
        assert_eq!(facts, [(trash.join(&old), 5)]);
        found[0].remove().unwrap();
        assert_eq!(discarded(home.path(), Timestamp(2_000)).unwrap(), vec![]);
        assert_eq!(fs::read_dir(&trash).unwrap().count(), 3);
    }
}
