//! The files of a project as they are on the disk, and a digest that changes with any of them.
//!
//! ```text
//!   walk:  file of HEAD, or not ignored by HEAD ──► path, kind, mode, hash of the bytes
//!   link that leaves what is walked ──► the digest does not cover what it leads to: unbound
//! ```

mod commit;
mod walk;

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use muster_core::run::hash::hex;
use sha2::{Digest as _, Sha256};

use self::walk::{FileStamp, TreeWalk};
use super::globs::Globs;

pub(crate) use walk::TreeCache;

const CHUNK_BYTES: usize = 64 * 1024;

/// A tree that cannot be read, so that nothing can be said about it.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{}: a bare repository has no files; run this in a checkout of it", .0.display())]
    Bare(PathBuf),
    #[error("git: {0}")]
    Git(String),
}

/// What an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum EntryKind {
    File = b'f',
    Link = b'l',
    /// Or a socket.
    Pipe = b'p',
    Device = b'd',
}

/// One file, link or other entry.
#[derive(Debug)]
struct TreeEntry {
    /// Relative to the root.
    path: Vec<u8>,
    kind: EntryKind,
    mode: u32,
    hash: [u8; 32],
    stamp: FileStamp,
}

/// All files that the digest covers.
#[derive(Debug)]
pub(crate) struct Tree {
    entries: Vec<TreeEntry>,
    /// Why a verdict on it holds for no later call.
    pub(crate) unbound: Option<String>,
    /// Empty without a repository or a commit.
    pub(crate) commit: String,
    pub(crate) branch: Option<String>,
}

/// The part of a tree that a check depends on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) digest: String,
    /// Changes when a file was written, even if its bytes are the same.
    touched: [u8; 32],
}

impl Tree {
    /// Reads the files of a directory and all below it.
    pub(crate) fn read(root: &Path, cache: &mut TreeCache) -> Result<Self, TreeError> {
        let root = root.canonicalize().map_err(|error| unreadable(root, error))?;
        let mut walk = TreeWalk::new(&root, cache);
        if is_repository(&root.join(".git")) {
            walk.repository(&root)?;
        } else if ["HEAD", "objects", "refs"].iter().all(|name| root.join(name).exists()) {
            return Err(TreeError::Bare(root));
        } else {
            walk.plain_directory()?;
        }
        Ok(walk.tree())
    }

    /// Identifies all of it.
    pub(crate) fn digest(&self) -> String {
        self.scope(None).digest
    }

    /// Its entries, each with a path relative to the root.
    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, EntryKind)> {
        let path = |entry| Path::new(OsStr::from_bytes(entry));
        self.entries.iter().map(move |entry| (path(&entry.path), entry.kind))
    }

    /// The entries that globs cover, all of them without any.
    pub(crate) fn scope(&self, globs: Option<&Globs>) -> Scope {
        let mut digest = Sha256::new();
        let mut touched = Sha256::new();
        for entry in &self.entries {
            if globs.is_some_and(|globs| !globs.cover(&entry.path)) {
                continue;
            }
            digest.update((entry.path.len() as u64).to_le_bytes());
            digest.update(&entry.path);
            digest.update([entry.kind as u8]);
            digest.update(entry.mode.to_le_bytes());
            digest.update(entry.hash);
            touched.update(entry.stamp.inode.to_le_bytes());
            touched.update(entry.stamp.changed.0.to_le_bytes());
            touched.update(entry.stamp.changed.1.to_le_bytes());
        }
        Scope { digest: hex(&digest.finalize()), touched: touched.finalize().into() }
    }
}

/// Whether a `.git` belongs to a repository; an entry of this name could also hide files.
pub(crate) fn is_repository(git: &Path) -> bool {
    git.is_file() || git.join("HEAD").is_file()
}

fn unreadable(path: &Path, error: io::Error) -> TreeError {
    TreeError::Unreadable { path: path.to_owned(), error }
}

pub(super) fn hash_of(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(hash.finalize().into()),
            count => hash.update(&chunk[..count]),
        }
    }
}

#[cfg(test)]
mod tests;
