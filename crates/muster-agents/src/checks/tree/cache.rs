//! What is known about the files of a project from the last time, also from another process.
//!
//! ```text
//!   checks/trees/…:  version, digest of the rest, root, folders with their entries, commits
//! ```
//!
//! A file of this that is damaged, or of another version or project, is not used: everything is
//! then read again.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::{self, Write as _},
    os::unix::ffi::OsStrExt as _,
    path::Path,
    sync::Arc,
};

use sha2::{Digest as _, Sha256};

use super::{
    entry::{EntryKind, FileStamp, TreeEntry},
    folder::{ListedItem, Listing},
};
use crate::{
    artifacts::make_private,
    checks::{
        encoding::{ByteReader, ByteWriter},
        head::Head,
    },
};

const VERSION: [u8; 8] = *b"trees  1";
/// A cache that would save less work than this is not written. See [`TreeCache::unsaved`].
const WORK_MIN: u64 = 500;

/// The entries that were read before, by their folders, and the commits they were compared with.
/// An entry is only used again while it is the same file with the same time stamps.
#[derive(Default)]
pub(crate) struct TreeCache {
    /// By their paths relative to the root.
    pub(super) folders: HashMap<Box<[u8]>, Listing>,
    /// By the paths of their repositories.
    pub(super) heads: BTreeMap<Box<[u8]>, Arc<Head>>,
    /// Work that was done since it was written: files that were read, where a large one counts as
    /// several, and folders of commits.
    pub(super) unsaved: u64,
}

impl TreeCache {
    /// What a process left about a root; empty if that cannot be used.
    pub(in crate::checks) fn load(path: &Path, root: &Path) -> Self {
        let Ok(bytes) = fs::read(path) else { return Self::default() };
        let loaded = Self::decode(&bytes, root);
        if loaded.is_none() {
            tracing::warn!(path = %path.display(), "a cache of files is damaged and is not used");
        }
        loaded.unwrap_or_default()
    }

    /// Writes it for other processes if enough has changed.
    pub(in crate::checks) fn save(&mut self, path: &Path, root: &Path) -> io::Result<()> {
        if self.unsaved < WORK_MIN {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            make_private(folder)?;
        }
        let draft = path.with_extension(std::process::id().to_string());
        let written = fs::File::create(&draft)
            .and_then(|mut file| file.write_all(&self.encode(root)))
            .and_then(|()| fs::rename(&draft, path));
        if written.is_err() {
            fs::remove_file(&draft).ok();
        }
        self.unsaved = 0;
        written
    }

    fn encode(&self, root: &Path) -> Vec<u8> {
        let mut rest = ByteWriter::default();
        rest.bytes(root.as_os_str().as_bytes());
        rest.list(self.folders.iter(), |to, (path, folder)| {
            to.bytes(path);
            let settled: Vec<&TreeEntry> =
                folder.entries().filter(|entry| entry.is_settled).collect();
            to.list(settled.into_iter(), write_entry);
        });
        rest.list(self.heads.iter(), |to, (path, head)| {
            to.bytes(path);
            head.write(to);
        });
        let rest = rest.finish();
        [&VERSION[..], &Sha256::digest(&rest)[..], &rest[..]].concat()
    }

    fn decode(bytes: &[u8], root: &Path) -> Option<Self> {
        let rest = bytes.strip_prefix(&VERSION)?;
        let (digest, rest) = rest.split_first_chunk::<32>()?;
        if Sha256::digest(rest)[..] != digest[..] {
            return None;
        }
        let mut from = ByteReader::new(rest);
        if from.bytes()? != root.as_os_str().as_bytes() {
            return None;
        }
        let folders = from.list(|from| {
            let path = from.bytes()?;
            let items = from.list(|from| read_entry(from).map(Arc::new).map(ListedItem::Entry))?;
            Some((path.into(), Listing { items, ..Listing::default() }))
        })?;
        let heads = from.list(|from| Some((from.bytes()?.into(), Arc::new(Head::read(from)?))))?;
        from.is_at_end().then_some(Self { folders, heads, unsaved: 0 })
    }
}

fn write_entry(to: &mut ByteWriter, entry: &TreeEntry) {
    to.bytes(&entry.path);
    to.plain(&[entry.kind as u8]);
    to.plain(&entry.mode.to_le_bytes());
    to.plain(&entry.hash);
    let FileStamp { inode, size, modified, changed } = entry.stamp;
    to.number(inode);
    for number in [size, modified.0, modified.1, changed.0, changed.1] {
        to.plain(&number.to_le_bytes());
    }
}

fn read_entry(from: &mut ByteReader<'_>) -> Option<TreeEntry> {
    let path = from.bytes()?.into();
    let [kind] = from.plain()?;
    let kind = EntryKind::ALL.into_iter().find(|known| *known as u8 == kind)?;
    let mode = u32::from_le_bytes(from.plain()?);
    let hash = from.plain()?;
    let inode = from.number()?;
    let mut number = || from.plain().map(i64::from_le_bytes);
    let size = number()?;
    let modified = (number()?, number()?);
    let changed = (number()?, number()?);
    let stamp = FileStamp { inode, size, modified, changed };
    Some(TreeEntry { path, kind, mode, hash, stamp, is_settled: true })
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, process::Command};

    use super::{TreeCache, WORK_MIN};
    use crate::checks::{
        tree::{Scope, Tree},
        trees::ProjectTrees,
    };

    /// A repository with enough files that its cache is worth keeping.
    fn repository(root: &Path) {
        let script = "git init -q .; for a in $(seq 30); do mkdir -p a$a; (cd a$a; for b in $(seq \
            20); do echo $a $b > f$b; done); done; ln -s a1 link; mkdir ignored; echo x > ignored/x
            echo ignored > .gitignore; git add .; git -c user.name=a -c user.email=a@localhost \
            commit -qm first";
        fs::create_dir(root).unwrap();
        let mut shell = Command::new("sh");
        let done = shell.args(["-ec", script]).current_dir(root).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// As if all files had settled: their change time cannot be set.
    fn settled(path: &Path, root: &Path) -> Scope {
        let mut cache = TreeCache::default();
        let scope = Tree::read(root, &mut cache).unwrap().whole().clone();
        cache.unsaved = WORK_MIN;
        for folder in cache.folders.values_mut() {
            folder.settle();
        }
        cache.save(path, root).unwrap();
        scope
    }

    #[test]
    fn another_process_uses_what_was_kept_and_sees_every_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("work");
        repository(&root);
        let path = folder.path().join("kept");
        let first = settled(&path, &root);
        let mut loaded = TreeCache::load(&path, &root);
        assert_eq!(loaded.heads.len(), 1);
        let again = Tree::read(&root, &mut loaded).unwrap();
        assert_eq!(*again.whole(), first);
        assert_eq!(loaded.unsaved, 0, "nothing was read again");
        for (change, undo) in [
            ("echo X > a7/f7", "echo 7 7 > a7/f7"),
            ("chmod +x a7/f7", "chmod -x a7/f7"),
            ("rm a7/f7", "echo 7 7 > a7/f7"),
            ("ln -sfn a2 link", "ln -sfn a1 link"),
            ("mv a7 a8/a7", "mv a8/a7 a7"),
        ] {
            let shell =
                |script| Command::new("sh").args(["-ec", script]).current_dir(&root).status();
            assert!(shell(change).unwrap().success());
            let changed = Tree::read(&root, &mut TreeCache::load(&path, &root)).unwrap();
            assert_ne!(changed.whole().digest, first.digest, "{change}");
            assert!(shell(undo).unwrap().success());
            let undone = Tree::read(&root, &mut TreeCache::load(&path, &root)).unwrap();
            assert_eq!(undone.whole().digest, first.digest, "{undo}");
        }
    }

    /// A byte that is wrong anywhere must not change what is said about the files.
    #[test]
    fn a_damaged_cache_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("work");
        repository(&root);
        let path = folder.path().join("kept");
        let first = settled(&path, &root);
        let whole = fs::read(&path).unwrap();
        assert!(TreeCache::decode(&whole, &root).is_some());
        assert!(TreeCache::decode(&whole, folder.path()).is_none(), "of another directory");
        for at in (0..whole.len()).step_by(997).chain([0, 8, 40, whole.len() - 1]) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(TreeCache::decode(&damaged, &root).is_none(), "byte {at}");
            assert!(TreeCache::decode(&whole[..at], &root).is_none(), "{at} bytes");
        }
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let tree = Tree::read(&root, &mut TreeCache::load(&path, &root)).unwrap();
        assert_eq!(*tree.whole(), first);
    }

    #[test]
    fn a_cache_is_kept_for_others_only_if_it_saves_work() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("work");
        repository(&root);
        let trees = ProjectTrees::new(&folder.path().join("checks"));
        trees.tree(&root).unwrap();
        assert!(!trees.cache_folder().exists(), "its files are too young to be kept");
    }
}
