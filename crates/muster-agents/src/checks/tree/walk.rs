//! The walk over the files of a project: which folders are read, by several threads at a time, and
//! what of them counts.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    num::NonZero,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    EntryKind, Tree, TreeCache, TreeError,
    entry::TreeEntry,
    folder::{ListedItem, Listing, OpenFolder, below},
    is_repository,
    settled::SettledStamps,
    unreadable,
};
use crate::checks::head::{GitReader, Head, HeadFolder};

/// Files of a project without a repository; more are not read.
const FILES_WITHOUT_GIT_MAX: usize = 50_000;
/// More do not help: the kernel's own locks are what they wait for.
const THREADS_MAX: usize = 4;

/// A repository within the walk.
struct Level {
    /// Bytes of paths before the part that is relative to the repository.
    start: usize,
    head: Arc<Head>,
}

impl Level {
    fn within<'p>(&self, path: &'p [u8]) -> &'p [u8] {
        path.get(self.start..).unwrap_or_default()
    }
}

/// A folder that is still to be read.
struct FolderJob {
    /// Relative to the root.
    path: Box<[u8]>,
    level: Arc<Level>,
    /// Then only files of the commit count.
    is_ignored: bool,
}

/// A folder that was read, and the folders in it.
struct ReadFolder {
    listing: Listing,
    jobs: Vec<FolderJob>,
    work: u64,
}

/// What the threads share.
#[derive(Default)]
struct Progress {
    jobs: Vec<FolderJob>,
    /// Folders that are being read now.
    busy: usize,
    folders: HashMap<Box<[u8]>, Listing>,
    /// See [`TreeCache::unsaved`].
    work: u64,
    failure: Option<TreeError>,
}

pub(super) struct TreeWalk<'a> {
    root: &'a Path,
    known: &'a TreeCache,
    settled: SettledStamps,
    heads: Mutex<BTreeMap<Box<[u8]>, Arc<Head>>>,
    progress: Mutex<Progress>,
    changed: Condvar,
    /// Files that may still be read.
    room: AtomicUsize,
    has_more: OnceLock<()>,
}

impl<'a> TreeWalk<'a> {
    pub(super) fn new(root: &'a Path, known: &'a TreeCache) -> Self {
        Self {
            root,
            known,
            settled: SettledStamps::at(root),
            heads: Mutex::default(),
            progress: Mutex::default(),
            changed: Condvar::new(),
            room: AtomicUsize::new(usize::MAX),
            has_more: OnceLock::new(),
        }
    }

    /// Walks a directory without a repository. One thread alone meets its files in a fixed order,
    /// so that the same ones are read if there are too many.
    pub(super) fn plain_directory(self) -> Result<(Tree, TreeCache), TreeError> {
        self.room.store(FILES_WITHOUT_GIT_MAX, Ordering::Relaxed);
        let level = Level { start: 0, head: Arc::default() };
        self.start(level);
        self.work();
        let has_more = self.has_more.get().is_some();
        let (mut tree, cache) = self.finish()?;
        if has_more {
            let max = FILES_WITHOUT_GIT_MAX;
            tree.unbound = Some(format!("there are more than {max} files and no repository"));
        }
        Ok((tree, cache))
    }

    pub(super) fn repository(self) -> Result<(Tree, TreeCache), TreeError> {
        let git = GitReader::new(self.root).map_err(TreeError::Git)?;
        let checked_out = git.checked_out().map_err(TreeError::Git)?;
        let level = self.level(&git, b"", checked_out.commit)?;
        let commit = level.head.commit.clone();
        self.start(level);
        thread::scope(|scope| {
            for _ in 1..threads() {
                scope.spawn(|| self.work());
            }
            self.work();
        });
        let (tree, cache) = self.finish()?;
        Ok((Tree { commit, branch: checked_out.branch, ..tree }, cache))
    }

    fn start(&self, level: Level) {
        let level = Arc::new(level);
        let root = FolderJob { path: Box::default(), level, is_ignored: false };
        self.progress().jobs.push(root);
    }

    /// A repository at a path below the root.
    fn level(
        &self,
        git: &GitReader,
        path: &[u8],
        commit: Option<String>,
    ) -> Result<Level, TreeError> {
        let start = if path.is_empty() { 0 } else { path.len() + 1 };
        let Some(commit) = commit else { return Ok(Level { start, head: Arc::default() }) };
        let head = match self.known.heads.get(path).filter(|known| known.commit == commit) {
            Some(known) => Arc::clone(known),
            None => {
                let head = git.head(commit).map_err(TreeError::Git)?;
                self.progress().work += head.folder_count();
                Arc::new(head)
            }
        };
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        heads.insert(path.into(), Arc::clone(&head));
        Ok(Level { start, head })
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads folders until none is left.
    fn work(&self) {
        while let Some(job) = self.next() {
            let turn = Turn(self);
            let read = self.folder(&job);
            let mut progress = self.progress();
            match read {
                Ok(read) => {
                    progress.folders.insert(job.path, read.listing);
                    progress.jobs.extend(read.jobs);
                    progress.work += read.work;
                }
                Err(failure) => progress.failure = Some(failure),
            }
            drop(progress);
            drop(turn);
        }
    }

    /// The next folder. Waits while another thread may still find one.
    fn next(&self) -> Option<FolderJob> {
        let mut progress = self.progress();
        loop {
            if progress.failure.is_some() || self.has_more.get().is_some() {
                return None;
            }
            if let Some(job) = progress.jobs.pop() {
                progress.busy += 1;
                return Some(job);
            }
            if progress.busy == 0 {
                return None;
            }
            progress = self.changed.wait(progress).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn folder(&self, job: &FolderJob) -> Result<ReadFolder, TreeError> {
        let place = below(self.root, &job.path);
        let folder = OpenFolder::open(&place).map_err(|error| unreadable(&place, error))?;
        let known = self.known.folders.get(&job.path).map_or(&[][..], |known| &known.items);
        let mut reader = folder.reader(known, &self.settled);
        let of_commit = job.level.head.folder(job.level.within(&job.path));
        let mut listing = Listing { items: Vec::new(), is_whole: !job.is_ignored };
        let mut jobs = Vec::new();
        let mut path = job.path.to_vec();
        if !path.is_empty() {
            path.push(b'/');
        }
        let start = path.len();
        for child in &folder.children {
            path.truncate(start);
            path.extend_from_slice(child.name());
            if child.is_folder() {
                if let Some(job) = self.subfolder(job, of_commit, child.name(), &path)? {
                    listing.items.push(ListedItem::Folder(path.as_slice().into()));
                    jobs.push(job);
                }
            } else if counts(job, of_commit, child.name(), &path) {
                if !self.take_room() {
                    break;
                }
                let entry = reader.read(child, &path);
                let entry = entry.map_err(|error| unreadable(&below(self.root, &path), error))?;
                listing.items.push(ListedItem::Entry(entry));
            }
        }
        Ok(ReadFolder { listing, jobs, work: reader.work })
    }

    /// Whether there is room for another file; notes if there is not.
    fn take_room(&self) -> bool {
        let less = |room: usize| room.checked_sub(1);
        let taken = self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        if taken.is_err() {
            self.has_more.get_or_init(|| ());
        }
        taken.is_ok()
    }

    /// The folder of a folder, unless nothing in it counts.
    fn subfolder(
        &self,
        job: &FolderJob,
        of_commit: Option<&HeadFolder>,
        name: &[u8],
        path: &[u8],
    ) -> Result<Option<FolderJob>, TreeError> {
        let place = below(self.root, path);
        if name == b".git" && is_repository(&place) {
            return Ok(None);
        }
        let path_of_job = path.into();
        if of_commit.is_some_and(|folder| folder.has_submodule(name))
            && is_repository(&place.join(".git"))
        {
            let git = GitReader::new(&place).map_err(TreeError::Git)?;
            let commit = git.checked_out().map_err(TreeError::Git)?.commit;
            let level = Arc::new(self.level(&git, path, commit)?);
            return Ok(Some(FolderJob { path: path_of_job, level, is_ignored: false }));
        }
        let within = job.level.within(path);
        let is_ignored = job.is_ignored || job.level.head.ignores(within, true);
        if is_ignored && job.level.head.folder(within).is_none() {
            return Ok(None);
        }
        Ok(Some(FolderJob { path: path_of_job, level: Arc::clone(&job.level), is_ignored }))
    }

    /// The tree, and what the next walk can use of it.
    fn finish(self) -> Result<(Tree, TreeCache), TreeError> {
        let progress = self.progress.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = progress.failure {
            return Err(failure);
        }
        let heads = self.heads.into_inner().unwrap_or_else(PoisonError::into_inner);
        let folders = progress.folders;
        let entries = in_order(&folders);
        debug_assert!(entries.is_sorted_by(|one, next| one.path < next.path));
        let is_complete = self.has_more.get().is_none();
        let mut tree = Tree { entries, is_complete, ..Tree::default() };
        let links = tree.entries.iter().filter(|entry| entry.kind == EntryKind::Link);
        let mut links = links.map(|entry| below(self.root, &entry.path));
        if let Some(link) = links.find(|link| !is_covered(self.root, link, &tree, &folders)) {
            let link = link.strip_prefix(self.root).unwrap_or(&link).display().to_string();
            tree.unbound = Some(format!("the link {link} leads out of the files that count"));
        }
        let unsaved = self.known.unsaved + progress.work;
        Ok((tree, TreeCache { folders, heads, unsaved }))
    }
}

/// A folder is being read until this is dropped.
struct Turn<'a, 'b>(&'a TreeWalk<'b>);

impl Drop for Turn<'_, '_> {
    fn drop(&mut self) {
        self.0.progress().busy -= 1;
        self.0.changed.notify_all();
    }
}

fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    let available = || thread::available_parallelism().map_or(1, NonZero::get);
    *THREADS.get_or_init(|| available().min(THREADS_MAX))
}

/// Whether a file counts.
fn counts(job: &FolderJob, of_commit: Option<&HeadFolder>, name: &[u8], path: &[u8]) -> bool {
    of_commit.is_some_and(|folder| folder.has_file(name))
        || !(name == b".git"
            || job.is_ignored
            || job.level.head.ignores(job.level.within(path), false))
}

/// All entries in the order of their paths.
fn in_order(folders: &HashMap<Box<[u8]>, Listing>) -> Vec<Arc<TreeEntry>> {
    let items = |path: &[u8]| folders.get(path).map_or(&[][..], |found| &found.items).iter();
    let mut entries = Vec::new();
    let mut open = vec![items(b"")];
    while let Some(folder) = open.last_mut() {
        match folder.next() {
            Some(ListedItem::Entry(entry)) => entries.push(Arc::clone(entry)),
            Some(ListedItem::Folder(path)) => open.push(items(path)),
            None => {
                open.pop();
            }
        }
    }
    entries
}

/// Whether a link leads to something that the digest covers, or to nothing inside of the root.
fn is_covered(
    root: &Path,
    link: &Path,
    tree: &Tree,
    folders: &HashMap<Box<[u8]>, Listing>,
) -> bool {
    let Ok(target) = link.canonicalize() else {
        return fs::read_link(link).is_ok_and(|target| stays_inside(root, link, &target));
    };
    let Ok(name) = target.strip_prefix(root) else { return false };
    let name = name.as_os_str().as_bytes();
    folders.get(name).is_some_and(|folder| folder.is_whole)
        || tree.entries.binary_search_by(|entry| entry.path.as_ref().cmp(name)).is_ok()
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
