//! The walk over the files of a project: which of them count, and their hashes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs::{self, Metadata},
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
pub(super) struct Stamp {
    pub(super) inode: u64,
    size: u64,
    modified: (i64, i64),
    pub(super) changed: (i64, i64),
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

pub(super) struct Walk<'a> {
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
    pub(super) fn new(root: &'a Path, cache: &'a mut TreeCache) -> Self {
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
