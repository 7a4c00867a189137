//! Finds the running servers of a storage folder, for clients on this machine.
//!
//! Each server writes its address into a file and holds a lock beside it for as long as
//! it runs. A client trusts an address only while that lock is held: the address of a killed server
//! may belong to another program by now, which must not get the token.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    process,
    time::{SystemTime, UNIX_EPOCH},
};

/// Folder of the files, inside the storage folder.
const FOLDER: &str = "servers";
/// Extension of a file with an address.
const ADDRESS: &str = "url";
/// Extension of the lock beside it.
const LOCK: &str = "lock";

/// An address that is published until this is dropped.
#[derive(Debug)]
pub(crate) struct WrittenDown {
    address: PathBuf,
    lock: PathBuf,
    /// Holds the lock until it is closed.
    _held: File,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RunningServer {
    pub(crate) url: String,
    /// The file with the address.
    pub(crate) file: PathBuf,
}

impl WrittenDown {
    /// Publishes the address where this process serves the storage folder.
    pub(crate) fn write(storage_dir: &Path, url: &str) -> io::Result<Self> {
        let folder = storage_dir.join(FOLDER);
        create_private(&folder)?;
        sweep(&folder)?;
        // Never the name of an earlier process, whose files another server may be removing.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{}-{}", process::id(), now.as_nanos());
        let lock = folder.join(&name).with_extension(LOCK);
        let held = OpenOptions::new().write(true).create_new(true).open(&lock)?;
        held.try_lock()?;
        let address = folder.join(&name).with_extension(ADDRESS);
        let draft = folder.join(name).with_extension("draft");
        // Readers find the whole address or none.
        fs::write(&draft, format!("{url}\n"))?;
        fs::rename(&draft, &address)?;
        Ok(Self { address, lock, _held: held })
    }
}

impl Drop for WrittenDown {
    fn drop(&mut self) {
        for file in [&self.address, &self.lock] {
            if let Err(error) = fs::remove_file(file) {
                tracing::debug!(%error, file = %file.display(), "could not remove the file");
            }
        }
    }
}

/// The running server that was started last.
pub(crate) fn find(storage_dir: &Path) -> Option<RunningServer> {
    let entries = fs::read_dir(storage_dir.join(FOLDER)).ok()?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut found: Vec<(SystemTime, PathBuf)> = files
        .filter(|file| file.extension().is_some_and(|ending| ending == ADDRESS))
        .filter_map(|file| Some((fs::metadata(&file).ok()?.modified().ok()?, file)))
        .collect();
    found.sort();
    let running = found.into_iter().rev().map(|(_, file)| file).find(|file| is_held(file))?;
    let url = fs::read_to_string(&running).ok()?.trim_ascii().to_owned();
    Some(RunningServer { url, file: running })
}

/// Whether the process that wrote an address still runs.
fn is_held(address: &Path) -> bool {
    let lock = File::open(address.with_extension(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Removes the files of killed servers.
fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let file = entry?.path();
        let is_address = file.extension().is_some_and(|ending| ending == ADDRESS);
        if is_address && !is_held(&file) {
            for left in [&file, &file.with_extension(LOCK)] {
                remove_if_there(left)?;
            }
        }
    }
    Ok(())
}

fn remove_if_there(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{WrittenDown, find};

    fn found(folder: &tempfile::TempDir) -> Option<String> {
        find(folder.path()).map(|running| running.url)
    }

    #[test]
    fn an_address_is_there_as_long_as_its_server() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(found(&folder), None);
        let first = WrittenDown::write(folder.path(), "http://127.0.0.1:1").unwrap();
        assert_eq!(found(&folder).as_deref(), Some("http://127.0.0.1:1"));
        drop(first);
        assert_eq!(found(&folder), None);
        assert_eq!(fs::read_dir(folder.path().join("servers")).unwrap().count(), 0);
    }

    #[test]
    fn of_several_servers_one_that_runs_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let first = WrittenDown::write(folder.path(), "http://127.0.0.1:1").unwrap();
        let second = WrittenDown::write(folder.path(), "http://127.0.0.1:2").unwrap();
        assert!(found(&folder).is_some());
        drop(first);
        assert_eq!(found(&folder).as_deref(), Some("http://127.0.0.1:2"));
        drop(second);
        assert_eq!(found(&folder), None);
    }

    #[test]
    fn what_a_killed_server_left_behind_is_not_believed_and_swept_away() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join("servers");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("7-7.url"), "http://127.0.0.1:7\n").unwrap();
        assert_eq!(found(&folder), None, "no lock at all");
        fs::write(left.join("7-7.lock"), "").unwrap();
        assert_eq!(found(&folder), None, "a lock that no process holds");
        let running = WrittenDown::write(folder.path(), "http://127.0.0.1:8").unwrap();
        assert_eq!(found(&folder).as_deref(), Some("http://127.0.0.1:8"));
        assert!(!left.join("7-7.url").exists() && !left.join("7-7.lock").exists());
        drop(running);
    }
}
