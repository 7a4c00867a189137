//! A throwaway checkout: the files of a project as they are on the disk, and nothing that git
//! ignores (PROOF-RUN-8).
//!
//! It is a repository of its own that reads the objects of the project's repository, so nothing is
//! written there: no reference, index, configuration or list of worktrees. Each one has a lock next
//! to it. A process that gets the lock knows that the owner is gone, and removes the
//! checkout.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use super::{
    head::GitReader,
    tree::{EntryKind, Tree},
};
use crate::{artifacts::make_private, checkout};

/// The end of the names of locks.
const LOCK_END: &str = "lock";
/// Hexadecimal digits of a commit of a repository with SHA-256.
const LONG_COMMIT_CHARS: usize = 64;

/// A checkout that is removed when it is dropped.
pub(super) struct CleanCheckout {
    root: PathBuf,
    lock: CheckoutLock,
}

impl CleanCheckout {
    /// Lays the files of a tree out below a folder.
    pub(super) fn lay_out(
        folder: &Path,
        name: &str,
        source: &Path,
        tree: &Tree,
    ) -> io::Result<Self> {
        make_private(folder)?;
        let lock = CheckoutLock::take(folder, name)?
            .ok_or_else(|| io::Error::other("another process uses it"))?;
        let root = folder.join(name);
        remove(&root)?;
        let checkout = Self { root, lock };
        let root = &checkout.root;
        fs::create_dir(root)?;
        for (path, kind) in tree.files() {
            let to = root.join(path);
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent)?;
            }
            copy(&source.join(path), &to, kind).map_err(|error| named(path, &error))?;
        }
        make_repository(root, source, &tree.commit)?;
        Ok(checkout)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

impl Drop for CleanCheckout {
    fn drop(&mut self) {
        self.lock.clear(&self.root);
    }
}

/// Removes a checkout that a process left.
pub(super) fn sweep_one(folder: &Path, name: &str) {
    let root = folder.join(name);
    if !root.exists() {
        return;
    }
    match CheckoutLock::take(folder, name) {
        Ok(Some(lock)) => lock.clear(&root),
        Ok(None) => {}
        Err(error) => tracing::warn!(root = %root.display(), %error, "could not lock a checkout"),
    }
}

/// Removes all checkouts that processes left.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    folders.for_each(|entry| sweep_one(folder, &entry.file_name().to_string_lossy()));
}

/// Held by the process that uses a checkout.
struct CheckoutLock {
    path: PathBuf,
    _file: File,
}

impl CheckoutLock {
    /// Nothing if another process holds it.
    fn take(folder: &Path, name: &str) -> io::Result<Option<Self>> {
        let path = folder.join(format!("{name}.{LOCK_END}"));
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { path, _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a checkout and its lock.
    fn clear(&self, root: &Path) {
        if let Err(error) = remove(root).and_then(|()| fs::remove_file(&self.path)) {
            tracing::warn!(root = %root.display(), %error, "could not remove a checkout");
        }
    }
}

fn remove(root: &Path) -> io::Result<()> {
    match fs::remove_dir_all(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // Tools make folders read-only to protect what they have downloaded.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_writable(root)?;
            fs::remove_dir_all(root)
        }
        done => done,
    }
}

fn make_writable(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, kind: EntryKind) -> io::Result<()> {
    match kind {
        EntryKind::File => fs::copy(from, to).map(|_| ()),
        EntryKind::Link => symlink(fs::read_link(from)?, to),
        EntryKind::Pipe | EntryKind::Device => {
            Err(io::Error::other("it is neither a file nor a link"))
        }
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Makes a repository at the commit of the source.
fn make_repository(root: &Path, source: &Path, commit: &str) -> io::Result<()> {
    let git = root.join(".git");
    fs::create_dir_all(git.join("objects/info"))?;
    fs::create_dir_all(git.join("refs"))?;
    let format = match commit.len() {
        LONG_COMMIT_CHARS => "repositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n",
        _ => "repositoryformatversion = 0\n",
    };
    fs::write(git.join("config"), format!("[core]\n\t{format}"))?;
    if commit.is_empty() {
        return fs::write(git.join("HEAD"), "ref: refs/heads/main\n");
    }
    let objects = checkout::git_directory(source).map(|git| git.join("objects"));
    let objects = objects.ok_or_else(|| io::Error::other("its repository is gone"))?;
    let line = [objects.canonicalize()?.as_os_str().as_encoded_bytes(), b"\n"].concat();
    fs::write(git.join("objects/info/alternates"), line)?;
    fs::write(git.join("HEAD"), format!("{commit}\n"))?;
    let reader = GitReader::new(root).map_err(io::Error::other)?;
    reader.fill_index(commit).map_err(io::Error::other)
}
