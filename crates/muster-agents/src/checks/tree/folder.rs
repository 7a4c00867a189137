//! Reads one folder: which of its entries count, and their hashes.
//!
//! Entries are looked up by name in the open folder, so that neither the system nor Muster walks
//! the path of each file, and no link is followed.

use std::{
    cmp::Ordering,
    ffi::{CStr, OsStr},
    fs::File,
    io::{self, Read as _},
    os::{fd::BorrowedFd, unix::ffi::OsStrExt as _},
    path::Path,
    sync::Arc,
};

use rustix::fs::{
    AtFlags, Dir, DirEntry, FileType, Mode, OFlags, open, openat, readlinkat, statat,
};
use sha2::{Digest as _, Sha256};

use super::{
    CHUNK_BYTES,
    entry::{EntryKind, FileStamp, TreeEntry, permissions},
    settled::SettledStamps,
};

/// What a folder holds of the tree.
#[derive(Default)]
pub(super) struct Listing {
    /// In the order of their paths, as bytes.
    pub(super) items: Vec<ListedItem>,
    /// Whether the folder itself is not ignored.
    pub(super) is_whole: bool,
}

impl Listing {
    pub(super) fn entries(&self) -> impl Iterator<Item = &TreeEntry> {
        self.items.iter().filter_map(|item| match item {
            ListedItem::Entry(entry) => Some(entry.as_ref()),
            ListedItem::Folder(_) => None,
        })
    }

    /// As if all of its files were old.
    #[cfg(test)]
    pub(super) fn settle(&mut self) {
        for item in &mut self.items {
            if let ListedItem::Entry(entry) = item
                && let Some(entry) = Arc::get_mut(entry)
            {
                entry.is_settled = true;
            }
        }
    }
}

pub(super) enum ListedItem {
    Entry(Arc<TreeEntry>),
    /// A folder, by its path relative to the root.
    Folder(Box<[u8]>),
}

/// A folder that is open for reading.
pub(super) struct OpenFolder {
    directory: Dir,
    /// In the order of their paths, as bytes.
    pub(super) children: Vec<Child>,
}

pub(super) struct Child {
    entry: DirEntry,
    kind: FileType,
}

impl Child {
    pub(super) fn name(&self) -> &[u8] {
        self.entry.file_name().to_bytes()
    }

    pub(super) fn is_folder(&self) -> bool {
        self.kind.is_dir()
    }
}

impl OpenFolder {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut directory = Dir::new(open(path, flags, Mode::empty())?)?;
        let mut children = Vec::new();
        while let Some(entry) = directory.read() {
            let entry = entry?;
            if matches!(entry.file_name().to_bytes(), b"." | b"..") {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Some file systems do not say it here.
                let data = statat(directory.fd()?, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW)?;
                kind = FileType::from_raw_mode(data.st_mode);
            }
            children.push(Child { entry, kind });
        }
        children.sort_unstable_by(path_order);
        Ok(Self { directory, children })
    }

    /// Reads entries of this folder; `known` is what it held before.
    pub(super) fn reader<'a>(
        &'a self,
        known: &'a [ListedItem],
        settled: &'a SettledStamps,
    ) -> EntryReader<'a> {
        EntryReader { folder: self, known, settled, chunk: Vec::new(), work: 0 }
    }
}

/// The order of the paths of all that is in two entries: a folder comes where its files would.
fn path_order(one: &Child, other: &Child) -> Ordering {
    let shared = one.name().len().min(other.name().len());
    let (start, rest) = one.name().split_at(shared);
    let (other_start, other_rest) = other.name().split_at(shared);
    let next = |rest: &[u8], child: &Child| match rest.first() {
        Some(byte) => Some(*byte),
        None => child.is_folder().then_some(b'/'),
    };
    start.cmp(other_start).then_with(|| next(rest, one).cmp(&next(other_rest, other)))
}

/// Reads the entries of a folder in their order.
pub(super) struct EntryReader<'a> {
    folder: &'a OpenFolder,
    known: &'a [ListedItem],
    /// As of the beginning of the walk: no file that changes later is among them.
    settled: &'a SettledStamps,
    chunk: Vec<u8>,
    /// What was read and need not be read again: a number for each file, which grows with its
    /// size.
    pub(super) work: u64,
}

impl EntryReader<'_> {
    /// An entry, given its path relative to the root.
    pub(super) fn read(&mut self, child: &Child, path: &[u8]) -> io::Result<Arc<TreeEntry>> {
        let name = child.entry.file_name();
        let folder = self.folder.directory.fd()?;
        let data = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let stamp = FileStamp::of(&data);
        let mode = permissions(&data);
        let kind = EntryKind::of(FileType::from_raw_mode(data.st_mode));
        if let Some(known) = self.known(path)
            && known.is_settled
            && (known.stamp, known.kind, known.mode) == (stamp, kind, mode)
        {
            return Ok(Arc::clone(known));
        }
        let hash = match kind {
            EntryKind::File => self.hash(folder, name)?,
            EntryKind::Link => {
                Sha256::digest(readlinkat(folder, name, Vec::new())?.to_bytes()).into()
            }
            EntryKind::Pipe | EntryKind::Device => [0; 32],
        };
        let is_settled = self.settled.cover(&data, &stamp);
        if is_settled {
            self.work += 1 + u64::try_from(stamp.size).unwrap_or(0) / CHUNK_BYTES as u64;
        }
        Ok(Arc::new(TreeEntry { path: path.into(), kind, mode, hash, stamp, is_settled }))
    }

    /// What was at a path before. Paths are asked for in their order.
    fn known(&mut self, path: &[u8]) -> Option<&Arc<TreeEntry>> {
        loop {
            let (item, rest) = self.known.split_first()?;
            let ListedItem::Entry(entry) = item else {
                self.known = rest;
                continue;
            };
            match entry.path.as_ref().cmp(path) {
                Ordering::Less => self.known = rest,
                Ordering::Equal => return Some(entry),
                Ordering::Greater => return None,
            }
        }
    }

    fn hash(&mut self, folder: BorrowedFd<'_>, name: &CStr) -> io::Result<[u8; 32]> {
        // A pipe in the place of the file must not stop the walk.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(folder, name, flags, Mode::empty())?);
        self.chunk.resize(CHUNK_BYTES, 0);
        hash_of_file(file, &mut self.chunk)
    }
}

/// The hash of what is left of a file, read in pieces.
pub(super) fn hash_of_file(mut file: File, chunk: &mut [u8]) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    loop {
        match file.read(chunk) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(count) => hash.update(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A path below the root as the system takes it.
pub(super) fn below(root: &Path, path: &[u8]) -> std::path::PathBuf {
    root.join(OsStr::from_bytes(path))
}
