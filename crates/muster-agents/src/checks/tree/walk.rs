//! The walk over the files of a project: which of them count, and their hashes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::{self, DirEntry, Metadata},
    io,
    os::unix::{
        ffi::{OsStrExt as _, OsStringExt as _},
        fs::{FileTypeExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sha2::{Digest as _, Sha256};

use super::{EntryKind, Tree, TreeEntry, TreeError, hash_of, is_repository, unreadable};
use crate::checks::head::{GitReader, Head};

/// Files of a project without a repository; more are not read.
const FILES_WITHOUT_GIT_MAX: usize = 50_000;
/// A file that changed this recently may change again without a new time stamp.
const YOUNG: Duration = Duration::from_secs(2);

/// When a file was last touched; the same stamp means the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileStamp {
    pub(super) inode: u64,
    size: u64,
    modified: (i64, i64),
    pub(super) changed: (i64, i64),
}

impl FileStamp {
    fn of(data: &Metadata) -> Self {
        Self {
            inode: data.ino(),
            size: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }

    /// Whether a later change could leave the stamp as it is.
    fn is_young(&self, now: Duration) -> bool {
        let recent = now.saturating_sub(YOUNG).as_secs();
        [self.modified, self.changed]
            .iter()
            .any(|(seconds, _)| u64::try_from(*seconds).is_ok_and(|seconds| seconds >= recent))
    }
}

/// Hashes of files that were read before.
#[derive(Default)]
pub(crate) struct TreeCache {
    /// By the bytes of the path: those of a path hash slowly.
    hashes: HashMap<Vec<u8>, (FileStamp, [u8; 32])>,
    heads: BTreeMap<PathBuf, Arc<Head>>,
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
        below(&self.root, path)
    }
}

pub(super) struct TreeWalk<'a> {
    root: &'a Path,
    cache: &'a mut TreeCache,
    fresh: HashMap<Vec<u8>, (FileStamp, [u8; 32])>,
    entries: Vec<TreeEntry>,
    /// Those whose files all count.
    directories: BTreeSet<PathBuf>,
    links: Vec<PathBuf>,
    files_max: Option<usize>,
    /// When the walk began; a file that changes later is young, too.
    now: Duration,
    unbound: Option<String>,
    commit: String,
    branch: Option<String>,
}

impl<'a> TreeWalk<'a> {
    pub(super) fn new(root: &'a Path, cache: &'a mut TreeCache) -> Self {
        Self {
            root,
            fresh: HashMap::with_capacity(cache.hashes.len()),
            entries: Vec::with_capacity(cache.hashes.len()),
            cache,
            directories: BTreeSet::new(),
            links: Vec::new(),
            files_max: None,
            now: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
            unbound: None,
            commit: String::new(),
            branch: None,
        }
    }

    /// Walks a directory without a repository.
    pub(super) fn plain_directory(&mut self) -> Result<(), TreeError> {
        self.files_max = Some(FILES_WITHOUT_GIT_MAX);
        self.directory(&Level::outside_of_git(self.root), self.root, false)
    }

    pub(super) fn repository(&mut self, root: &Path) -> Result<(), TreeError> {
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
                false => self.file(level, &entry, &path, is_ignored)?,
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

    fn file(
        &mut self,
        level: &Level,
        entry: &DirEntry,
        path: &Path,
        is_ignored: bool,
    ) -> Result<(), TreeError> {
        let name = level.name(path);
        let is_git = path.file_name().is_some_and(|name| name == ".git");
        let is_covered =
            level.head.has_file(name) || !(is_git || is_ignored || level.head.ignores(name, false));
        match is_covered {
            true => self.add(entry, path).map_err(|error| unreadable(path, error)),
            false => Ok(()),
        }
    }

    fn add(&mut self, entry: &DirEntry, path: &Path) -> io::Result<()> {
        // Of a link itself, and without a walk from the root of the file system.
        let data = entry.metadata()?;
        let stamp = FileStamp::of(&data);
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
        let name = below(self.root, path).to_vec();
        self.entries.push(TreeEntry { path: name, kind, mode: data.mode() & 0o7777, hash, stamp });
        Ok(())
    }

    fn hash(&mut self, path: &Path, stamp: FileStamp) -> io::Result<[u8; 32]> {
        // A hash moves from the old map to the new one: what is gone is forgotten.
        let key = path.as_os_str().as_bytes();
        let (key, hash) = match self.cache.hashes.remove_entry(key) {
            Some((key, (then, hash))) if then == stamp => (key, hash),
            Some((key, _)) => (key, hash_of(path)?),
            None => (key.to_vec(), hash_of(path)?),
        };
        if !stamp.is_young(self.now) {
            self.fresh.insert(key, (stamp, hash));
        }
        Ok(hash)
    }

    pub(super) fn tree(mut self) -> Tree {
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

/// The bytes of a path below a folder; components need not be looked at for this.
fn below<'a>(folder: &Path, path: &'a Path) -> &'a [u8] {
    let bytes = path.as_os_str().as_bytes();
    let folder = folder.as_os_str().as_bytes();
    match bytes.strip_prefix(folder.strip_suffix(b"/").unwrap_or(folder)) {
        Some([b'/', rest @ ..]) => rest,
        Some(_) | None => bytes,
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
