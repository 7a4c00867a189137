//! The files of a project as they are on the disk, and a digest that changes with any of them.
//!
//! ```text
//!   walk:  file of HEAD, or not ignored by HEAD ──► path, kind, mode, hash of the bytes
//!   link that leaves what is walked ──► the digest does not cover what it leads to: unbound
//! ```

mod cache;
mod commit;
mod entry;
mod folder;
mod settled;
mod walk;

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use muster_core::run::hash::hex;
use sha2::{Digest as _, Sha256};

use self::walk::TreeWalk;
use super::globs::Globs;

pub(crate) use cache::TreeCache;
pub(super) use entry::{EntryKind, TreeEntry};

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

/// All files that the digest covers.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// In the order of their paths, as bytes.
    entries: Vec<Arc<TreeEntry>>,
    /// Why a verdict on it holds for no later call.
    pub(crate) unbound: Option<String>,
    /// Whether all files were read; without a repository there is a limit.
    pub(super) is_complete: bool,
    /// Empty without a repository or a commit.
    pub(crate) commit: String,
    pub(crate) branch: Option<String>,
    whole: OnceLock<Scope>,
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
        let walk = TreeWalk::new(&root, cache);
        let (tree, fresh) = if is_repository(&root.join(".git")) {
            walk.repository()?
        } else if ["HEAD", "objects", "refs"].iter().all(|name| root.join(name).exists()) {
            return Err(TreeError::Bare(root));
        } else {
            walk.plain_directory()?
        };
        *cache = fresh;
        Ok(tree)
    }

    /// Its entries, each with a path relative to the root.
    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, EntryKind)> {
        self.entries.iter().map(|entry| (entry.path(), entry.kind))
    }

    /// The entries that globs cover.
    pub(super) fn covered<'a>(&'a self, globs: &'a Globs) -> impl Iterator<Item = &'a TreeEntry> {
        self.entries.iter().map(AsRef::as_ref).filter(|entry| globs.cover(&entry.path))
    }

    /// All of it. Computed once.
    pub(crate) fn whole(&self) -> &Scope {
        self.whole.get_or_init(|| Scope::of(self.entries.iter()))
    }

    /// The entries that globs cover, all of them without any.
    pub(crate) fn scope(&self, globs: Option<&Globs>) -> Scope {
        match globs {
            Some(globs) => Scope::of(self.entries.iter().filter(|entry| globs.cover(&entry.path))),
            None => self.whole().clone(),
        }
    }
}

impl Scope {
    fn of<'a>(entries: impl Iterator<Item = &'a Arc<TreeEntry>>) -> Self {
        let mut digest = BufferedHash::default();
        let mut touched = BufferedHash::default();
        for entry in entries {
            digest.add(&(entry.path.len() as u64).to_le_bytes());
            digest.add(&entry.path);
            digest.add(&[entry.kind as u8]);
            digest.add(&entry.mode.to_le_bytes());
            digest.add(&entry.hash);
            touched.add(&entry.stamp.inode.to_le_bytes());
            touched.add(&entry.stamp.changed.0.to_le_bytes());
            touched.add(&entry.stamp.changed.1.to_le_bytes());
        }
        Self { digest: hex(&digest.finish()), touched: touched.finish() }
    }
}

/// A hash of many small pieces, of which each alone would cost more than its bytes.
#[derive(Default)]
struct BufferedHash {
    hash: Sha256,
    buffer: Vec<u8>,
}

impl BufferedHash {
    fn add(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
        if self.buffer.len() >= CHUNK_BYTES {
            self.hash.update(&self.buffer);
            self.buffer.clear();
        }
    }

    fn finish(mut self) -> [u8; 32] {
        self.hash.update(&self.buffer);
        self.hash.finalize().into()
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
    folder::hash_of_file(File::open(path)?, &mut vec![0; CHUNK_BYTES])
}

#[cfg(test)]
mod tests;
