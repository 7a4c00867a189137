//! The files of a project as they are on the disk, and a digest that changes with any of them.
//!
//! ```text
//!   walk:  file of HEAD, or not ignored by HEAD ──► path, kind, mode, hash of the bytes
//!   link that leaves what is walked ──► the digest does not cover what it leads to: unbound
//! ```

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    ffi::OsStr,
    fs::{self, File, Metadata},
    io::{self, Read as _},
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::{FileTypeExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use muster_core::run::hash::hex;
use sha2::{Digest as _, Sha256};

use super::{
    globs::Globs,
    head::{GitReader, Head},
};

/// Files of a project without a repository; more are not read.
const FILES_WITHOUT_GIT_MAX: usize = 50_000;
/// A file that changed this recently may change again without a new time stamp.
const YOUNG: Duration = Duration::from_secs(2);
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

/// When a file was last touched; the same stamp means the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(data: &Metadata) -> Self {
        Self {
            inode: data.ino(),
            size: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }

    /// Whether a later change could leave the stamp as it is.
    fn is_young(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let recent = now.saturating_sub(YOUNG).as_secs();
        [self.modified, self.changed]
            .iter()
            .any(|(seconds, _)| u64::try_from(*seconds).is_ok_and(|seconds| seconds >= recent))
    }
}

/// Hashes of files that were read before.
#[derive(Default)]
pub(crate) struct TreeCache {
    hashes: HashMap<PathBuf, (Stamp, [u8; 32])>,
    heads: BTreeMap<PathBuf, Arc<Head>>,
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
    stamp: Stamp,
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
        let mut walk = Walk::new(&root, cache);
        if is_repository(&root.join(".git")) {
            walk.repository(&root)?;
        } else if ["HEAD", "objects", "refs"].iter().all(|name| root.join(name).exists()) {
            return Err(TreeError::Bare(root));
        } else {
            walk.files_max = Some(FILES_WITHOUT_GIT_MAX);
            walk.directory(&Level::outside_of_git(&root), &root, false)?;
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

/// A repository within the walk.
struct Level {
    root: PathBuf,
    head: Arc<Head>,
}

impl Level {
    fn outside_of_git(root: &Path) -> Self {
        Self { root: root.to_owned(), head: Arc::new(Head::default()) }
    }

    /// A path relative to the repository.
    fn name<'a>(&self, path: &'a Path) -> &'a [u8] {
        path.strip_prefix(&self.root).unwrap_or(path).as_os_str().as_bytes()
    }
}

struct Walk<'a> {
    root: &'a Path,
    cache: &'a mut TreeCache,
    fresh: HashMap<PathBuf, (Stamp, [u8; 32])>,
    entries: Vec<TreeEntry>,
    /// Those whose files all count.
    directories: BTreeSet<PathBuf>,
    links: Vec<PathBuf>,
    files_max: Option<usize>,
    unbound: Option<String>,
    commit: String,
    branch: Option<String>,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Path, cache: &'a mut TreeCache) -> Self {
        Self {
            root,
            cache,
            fresh: HashMap::new(),
            entries: Vec::new(),
            directories: BTreeSet::new(),
            links: Vec::new(),
            files_max: None,
            unbound: None,
            commit: String::new(),
            branch: None,
        }
    }

    fn repository(&mut self, root: &Path) -> Result<(), TreeError> {
        let git = GitReader::new(root).map_err(TreeError::Git)?;
        let head = match git.commit().map_err(TreeError::Git)? {
            Some(commit) => self.head(root, &git, commit)?,
            None => Arc::new(Head::default()),
        };
        if root == self.root {
            self.commit.clone_from(&head.commit);
            self.branch = git.branch();
        }
        self.directory(&Level { root: root.to_owned(), head }, root, false)
    }

    fn head(
        &mut self,
        root: &Path,
        git: &GitReader,
        commit: String,
    ) -> Result<Arc<Head>, TreeError> {
        if let Some(known) = self.cache.heads.get(root).filter(|known| known.commit == commit) {
            return Ok(known.clone());
        }
        let head = Arc::new(git.head(commit).map_err(TreeError::Git)?);
        self.cache.heads.insert(root.to_owned(), head.clone());
        Ok(head)
    }

    /// Walks a directory. In an ignored one only files of the commit count.
    fn directory(
        &mut self,
        level: &Level,
        folder: &Path,
        is_ignored: bool,
    ) -> Result<(), TreeError> {
        if !is_ignored {
            self.directories.insert(folder.to_owned());
        }
        for entry in fs::read_dir(folder).map_err(|error| unreadable(folder, error))? {
            let entry = entry.map_err(|error| unreadable(folder, error))?;
            let path = entry.path();
            if self.files_max.is_some_and(|max| self.entries.len() >= max) {
                let max = FILES_WITHOUT_GIT_MAX;
                self.unbound = Some(format!("there are more than {max} files and no repository"));
                return Ok(());
            }
            let kind = entry.file_type().map_err(|error| unreadable(&path, error))?;
            match kind.is_dir() {
                true => self.subdirectory(level, &path, is_ignored)?,
                false => self.file(level, &path, is_ignored)?,
            }
        }
        Ok(())
    }

    fn subdirectory(
        &mut self,
        level: &Level,
        path: &Path,
        is_ignored: bool,
    ) -> Result<(), TreeError> {
        let name = level.name(path);
        if path.file_name().is_some_and(|name| name == ".git") && is_repository(path) {
            return Ok(());
        }
        if level.head.is_submodule(name) && is_repository(&path.join(".git")) {
            return self.repository(path);
        }
        let is_ignored = is_ignored || level.head.ignores(name, true);
        match is_ignored && !level.head.has_directory(name) {
            true => Ok(()),
            false => self.directory(level, path, is_ignored),
        }
    }

    fn file(&mut self, level: &Level, path: &Path, is_ignored: bool) -> Result<(), TreeError> {
        let name = level.name(path);
        let is_git = path.file_name().is_some_and(|name| name == ".git");
        let is_covered =
            level.head.has_file(name) || !(is_git || is_ignored || level.head.ignores(name, false));
        match is_covered {
            true => self.add(path).map_err(|error| unreadable(path, error)),
            false => Ok(()),
        }
    }

    fn add(&mut self, path: &Path) -> io::Result<()> {
        let data = fs::symlink_metadata(path)?;
        let stamp = Stamp::of(&data);
        let kind = data.file_type();
        let (kind, hash) = if kind.is_file() {
            (EntryKind::File, self.hash(path, stamp)?)
        } else if kind.is_symlink() {
            self.links.push(path.to_owned());
            (
                EntryKind::Link,
                Sha256::digest(fs::read_link(path)?.into_os_string().into_vec()).into(),
            )
        } else if kind.is_fifo() || kind.is_socket() {
            (EntryKind::Pipe, [0; 32])
        } else {
            (EntryKind::Device, [0; 32])
        };
        let name = path.strip_prefix(self.root).unwrap_or(path).as_os_str().as_bytes().to_vec();
        self.entries.push(TreeEntry { path: name, kind, mode: data.mode() & 0o7777, hash, stamp });
        Ok(())
    }

    fn hash(&mut self, path: &Path, stamp: Stamp) -> io::Result<[u8; 32]> {
        // A hash moves from the old map to the new one: what is gone is forgotten.
        let known = self.cache.hashes.remove_entry(path);
        let (path, hash) = match known {
            Some((path, (then, hash))) if then == stamp => (path, hash),
            Some((path, _)) => {
                let hash = hash_of(&path)?;
                (path, hash)
            }
            None => (path.to_owned(), hash_of(path)?),
        };
        if !stamp.is_young() {
            self.fresh.insert(path, (stamp, hash));
        }
        Ok(hash)
    }

    fn tree(mut self) -> Tree {
        self.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        for link in std::mem::take(&mut self.links) {
            if self.unbound.is_none() && !self.is_covered(&link) {
                let link = link.strip_prefix(self.root).unwrap_or(&link).display().to_string();
                self.unbound = Some(format!("the link {link} leads out of the files that count"));
            }
        }
        self.cache.hashes = self.fresh;
        Tree {
            entries: self.entries,
            unbound: self.unbound,
            commit: self.commit,
            branch: self.branch,
        }
    }

    /// Whether a link leads to something that the digest covers, or to nothing inside of the root.
    fn is_covered(&self, link: &Path) -> bool {
        let Ok(target) = link.canonicalize() else {
            return fs::read_link(link).is_ok_and(|target| stays_inside(self.root, link, &target));
        };
        let name = target.strip_prefix(self.root).map(|name| name.as_os_str().as_bytes());
        let has_entry = |name: &[u8]| {
            self.entries.binary_search_by(|entry| entry.path.as_slice().cmp(name)).is_ok()
        };
        self.directories.contains(&target) || name.is_ok_and(has_entry)
    }
}

/// Whether a link that leads to nothing would lead to a place inside of the root.
fn stays_inside(root: &Path, link: &Path, target: &Path) -> bool {
    use std::path::Component;
    let mut place = link.parent().unwrap_or(root).to_owned();
    for part in target.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => place = PathBuf::from("/"),
            Component::ParentDir => {
                place.pop();
            }
            Component::Normal(name) => place.push(name),
            Component::CurDir => {}
        }
    }
    place.starts_with(root)
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
