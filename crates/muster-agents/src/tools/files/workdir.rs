//! Resolves paths below a node's directory (RUNS-SEC-4).
//!
//! A path is walked one name at a time, each folder opened relative to the one before and without
//! following links. The open file is checked, never a string, so a concurrent rename cannot change
//! where a path leads. `openat2` with `RESOLVE_BENEATH` would not replace the walk: each level has
//! to be checked anyway, and a single name that is not a link cannot lead outside.
//!
//! Two kinds of places are closed: the storage folder, recognized by device and inode, to
//! everything; and `.git` and `.muster` at any level to changes.

use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::{DirEntryExt as _, MetadataExt as _},
    path::{Component, Path, PathBuf},
};

use muster_core::run::event::ToolError;
use rustix::{
    fs::{Mode, OFlags, mkdirat, openat},
    io::Errno,
};

use super::fault;
use crate::worktree;

/// Names below which tools change nothing.
const CLOSED_NAMES: [&str; 2] = [".git", ".muster"];
/// Levels that are checked above a directory; deeper ones do not exist.
const LEVELS_ABOVE_MAX: usize = 4_096;

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// A pipe or a device is opened without waiting for its other end, and rejected.
const FILE: OFlags =
    OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// What a path is walked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathPurpose {
    Look,
    /// Missing folders on the path are created.
    Write,
    Delete,
}

/// The identity of a file or folder, whatever its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(known: &Metadata) -> Self {
        Self { device: known.dev(), inode: known.ino() }
    }
}

/// A node's directory, with the storage folder that may lie inside it.
pub(crate) struct Workdir {
    root: File,
    path: PathBuf,
    storage_dir: PathBuf,
    storage: Option<Identity>,
}

impl Workdir {
    pub(crate) fn open(path: &Path, storage_dir: &Path) -> Result<Self, ToolError> {
        let named = path.display().to_string();
        let flags = FOLDER.union(OFlags::NONBLOCK);
        let root = openat(rustix::fs::CWD, path, flags, Mode::empty()).map_err(failed(&named))?;
        let storage = fs::metadata(storage_dir).ok().map(|known| Identity::of(&known));
        let path = path.to_owned();
        let storage_dir = storage_dir.to_owned();
        let workdir = Self { root: root.into(), path, storage_dir, storage };
        if workdir.is_inside_storage().map_err(broken(&named))? {
            return Err(fault("FORBIDDEN_PATH", format!("{named} is inside the storage folder")));
        }
        Ok(workdir)
    }

    /// Whether the directory itself is a part of the storage folder. Worktrees are created there,
    /// and belong to their nodes.
    fn is_inside_storage(&self) -> io::Result<bool> {
        let Some(storage) = self.storage else { return Ok(false) };
        let worktrees = fs::metadata(self.storage_dir.join(worktree::FOLDER));
        let worktrees = worktrees.ok().map(|known| Identity::of(&known));
        let mut folder = self.root.try_clone()?;
        let mut below = None;
        for _ in 0..LEVELS_ABOVE_MAX {
            let identity = Identity::of(&folder.metadata()?);
            if identity == storage {
                return Ok(below.is_none() || below != worktrees);
            }
            if below == Some(identity) {
                break;
            }
            below = Some(identity);
            folder = openat(&folder, "..", FOLDER, Mode::empty())?.into();
        }
        Ok(false)
    }

    /// Opens the folder at this path.
    pub(super) fn folder(&self, names: &[&str], purpose: PathPurpose) -> Result<File, ToolError> {
        let shown = names.join("/");
        let mut folder = self.root.try_clone().map_err(broken(&shown))?;
        for name in names {
            self.judge_name(name, &shown, purpose)?;
            if purpose == PathPurpose::Write {
                match mkdirat(&folder, *name, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(failed(&shown)(error)),
                }
            }
            let flags = FOLDER.union(OFlags::NOFOLLOW);
            let inner: File =
                openat(&folder, *name, flags, Mode::empty()).map_err(failed(&shown))?.into();
            self.judge(&folder, &inner, &shown, purpose)?;
            folder = inner;
        }
        Ok(folder)
    }

    /// Opens the folder of a file; returns it with the file's name in it.
    pub(super) fn parent<'a>(
        &self,
        path: &'a str,
        purpose: PathPurpose,
    ) -> Result<(File, &'a str), ToolError> {
        let names = names(path)?;
        let Some((last, folders)) = names.split_last() else {
            return Err(fault("INVALID_INPUT", format!("{path} is not a file")));
        };
        self.judge_name(last, path, purpose)?;
        Ok((self.folder(folders, purpose)?, *last))
    }

    /// Opens a regular file. One that is opened for writing is created if it is missing, and keeps
    /// its content until it is known to be writable.
    pub(crate) fn file(&self, path: &str, purpose: PathPurpose) -> Result<File, ToolError> {
        let (folder, name) = self.parent(path, purpose)?;
        let access = match purpose {
            PathPurpose::Look => OFlags::RDONLY,
            PathPurpose::Write => OFlags::WRONLY | OFlags::CREATE,
            PathPurpose::Delete => unreachable!("a file is deleted without being opened"),
        };
        let mode = Mode::from_raw_mode(0o666);
        let file: File = openat(&folder, name, access | FILE, mode).map_err(failed(path))?.into();
        if !file.metadata().map_err(broken(path))?.is_file() {
            return Err(fault("FORBIDDEN_PATH", format!("{path} is not a regular file")));
        }
        self.judge(&folder, &file, path, purpose)?;
        Ok(file)
    }

    /// A directory below this one, checked on the way down.
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, ToolError> {
        let names = names(path)?;
        self.folder(&names, PathPurpose::Look)?;
        Ok(names.iter().fold(self.path.clone(), |path, name| path.join(name)))
    }

    fn judge_name(&self, name: &str, path: &str, purpose: PathPurpose) -> Result<(), ToolError> {
        let is_closed = CLOSED_NAMES.iter().any(|closed| name.eq_ignore_ascii_case(closed));
        match purpose {
            PathPurpose::Write | PathPurpose::Delete if is_closed => Err(closed(path)),
            PathPurpose::Look | PathPurpose::Write | PathPurpose::Delete => Ok(()),
        }
    }

    /// Checks what was opened, whatever its name.
    fn judge(
        &self,
        folder: &File,
        opened: &File,
        path: &str,
        purpose: PathPurpose,
    ) -> Result<(), ToolError> {
        let known = opened.metadata().map_err(broken(path))?;
        if self.is_storage(&known) {
            return Err(closed(path));
        }
        let is_named = |name: &&str| {
            let flags = OFlags::RDONLY | FILE;
            let same = openat(folder, *name, flags, Mode::empty()).map(File::from);
            let same = same.ok().and_then(|same| same.metadata().ok());
            same.is_some_and(|same| Identity::of(&same) == Identity::of(&known))
        };
        // File systems may treat different names as the same: `.GIT` on most Macs.
        if purpose != PathPurpose::Look && CLOSED_NAMES.iter().any(is_named) {
            return Err(closed(path));
        }
        Ok(())
    }

    /// Whether this is the storage folder, or one of its files under a second name.
    pub(super) fn is_storage(&self, known: &Metadata) -> bool {
        let Some(storage) = self.storage else { return false };
        if known.is_dir() || known.dev() != storage.device || known.nlink() < 2 {
            return storage == Identity::of(known);
        }
        let Ok(entries) = fs::read_dir(&self.storage_dir) else { return false };
        entries.flatten().any(|entry| entry.ino() == known.ino())
    }
}

/// The names of a relative path that stays inside.
pub(super) fn names(path: &str) -> Result<Vec<&str>, ToolError> {
    let mut names = Vec::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => names.extend(name.to_str()),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(fault("FORBIDDEN_PATH", format!("{path} leads outside")));
            }
        }
    }
    Ok(names)
}

fn closed(path: &str) -> ToolError {
    fault("FORBIDDEN_PATH", format!("{path} is closed to tools"))
}

/// The meaning of a system error for a path.
pub(super) fn failed(path: &str) -> impl Fn(Errno) -> ToolError {
    move |error| match error {
        Errno::LOOP | Errno::NOTDIR => {
            fault("FORBIDDEN_PATH", format!("{path} leads through a link or a file"))
        }
        // The other end of a pipe, a socket or a device is missing.
        Errno::NXIO => fault("FORBIDDEN_PATH", format!("{path} is not a regular file")),
        Errno::NOENT => fault("NOT_FOUND", format!("{path} does not exist")),
        other => fault("IO", format!("{path}: {other}")),
    }
}

pub(super) fn broken(path: &str) -> impl Fn(io::Error) -> ToolError {
    move |error| fault("IO", format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, path::Path};

    use super::{PathPurpose, Workdir};

    fn refusal<T>(outcome: Result<T, muster_core::run::event::ToolError>) -> Option<String> {
        outcome.err().and_then(|error| error.code)
    }

    fn forbidden() -> Option<String> {
        Some("FORBIDDEN_PATH".to_owned())
    }

    #[test]
    fn runs_sec_4_the_storage_folder_is_closed_wherever_it_lies() {
        let dir = tempfile::tempdir().unwrap();
        let store = dir.path().join("deep/store");
        fs::create_dir_all(store.join("runs")).unwrap();
        fs::write(store.join("token"), "secret").unwrap();
        fs::hard_link(store.join("token"), dir.path().join("second-name")).unwrap();
        symlink(&store, dir.path().join("link")).unwrap();
        fs::write(dir.path().join("plain"), "x").unwrap();
        fs::hard_link(dir.path().join("plain"), dir.path().join("plain-too")).unwrap();
        let workdir = Workdir::open(dir.path(), &store).unwrap();
        for path in ["deep/store/token", "deep/store/./token", "second-name", "link/token"] {
            for purpose in [PathPurpose::Look, PathPurpose::Write] {
                assert_eq!(refusal(workdir.file(path, purpose)), forbidden(), "{path} {purpose:?}");
            }
        }
        let parent = workdir.parent("deep/store/token", PathPurpose::Delete);
        assert_eq!(refusal(parent), forbidden());
        assert_eq!(refusal(workdir.resolve("deep/store/runs")), forbidden());
        assert_eq!(fs::read_to_string(store.join("token")).unwrap(), "secret");
        assert!(workdir.file("plain-too", PathPurpose::Look).is_ok(), "a hard link of its own");
    }

    #[test]
    fn a_directory_inside_the_storage_folder_is_a_worktree_or_closed() {
        let store = tempfile::tempdir().unwrap();
        let open = |path: &str| {
            fs::create_dir_all(store.path().join(path)).unwrap();
            refusal(Workdir::open(&store.path().join(path), store.path()))
        };
        assert_eq!(open("worktrees/r/n"), None);
        assert_eq!(open("worktrees/r/n/part"), None);
        assert_eq!(open("runs/r"), forbidden());
        assert_eq!(open("."), forbidden());
        assert_eq!(refusal(Workdir::open(Path::new("/"), store.path())), None);
    }

    #[test]
    fn runs_sec_4_git_and_muster_folders_are_closed_to_changes_at_any_level() {
        let dir = tempfile::tempdir().unwrap();
        for path in [".git/hooks", "sub/.git", "sub/.muster/templates"] {
            fs::create_dir_all(dir.path().join(path)).unwrap();
        }
        fs::write(dir.path().join("sub/.git/config"), "[core]").unwrap();
        let workdir = Workdir::open(dir.path(), Path::new("/nowhere")).unwrap();
        for path in [
            ".git/hooks/post-checkout",
            "sub/.git/config",
            "sub/.GIT/config",
            "sub/.muster/templates/a.md",
            "other/.git",
        ] {
            assert_eq!(refusal(workdir.file(path, PathPurpose::Write)), forbidden(), "{path}");
            assert_eq!(refusal(workdir.parent(path, PathPurpose::Delete)), forbidden(), "{path}");
        }
        assert!(workdir.file("sub/.git/config", PathPurpose::Look).is_ok(), "reading is harmless");
        assert_eq!(fs::read_to_string(dir.path().join("sub/.git/config")).unwrap(), "[core]");
        assert!(!dir.path().join("other").exists() || !dir.path().join("other/.git").exists());
    }

    #[test]
    fn pipes_sockets_and_devices_are_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
        let workdir = Workdir::open(dir.path(), Path::new("/nowhere")).unwrap();
        for path in ["pipe", "socket"] {
            for purpose in [PathPurpose::Look, PathPurpose::Write] {
                assert_eq!(refusal(workdir.file(path, purpose)), forbidden(), "{path} {purpose:?}");
            }
        }
        // With a process at its other end a pipe can be opened, and is refused all the same.
        let held = fs::File::options().read(true).write(true).open(&pipe).unwrap();
        assert_eq!(refusal(workdir.file("pipe", PathPurpose::Write)), forbidden());
        drop(held);
    }
}
