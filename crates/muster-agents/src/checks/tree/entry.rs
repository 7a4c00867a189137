//! One file, link or other entry of a tree.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

use rustix::fs::{FileType, Stat};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(in crate::checks) enum EntryKind {
    File = b'f',
    Link = b'l',
    /// Or a socket.
    Pipe = b'p',
    Device = b'd',
}

impl EntryKind {
    pub(super) const ALL: [Self; 4] = [Self::File, Self::Link, Self::Pipe, Self::Device];

    pub(super) fn of(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_symlink() {
            Self::Link
        } else if kind.is_fifo() || kind.is_socket() {
            Self::Pipe
        } else {
            Self::Device
        }
    }
}

/// An entry with what the digest says about it.
#[derive(Debug)]
pub(in crate::checks) struct TreeEntry {
    /// Relative to the root.
    pub(super) path: Box<[u8]>,
    pub(in crate::checks) kind: EntryKind,
    pub(in crate::checks) mode: u32,
    pub(in crate::checks) hash: [u8; 32],
    pub(super) stamp: FileStamp,
    /// Whether the same stamp means the same bytes from now on.
    pub(super) is_settled: bool,
}

impl TreeEntry {
    /// Relative to the root.
    pub(in crate::checks) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }
}

/// When a file was last touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FileStamp {
    pub(super) inode: u64,
    pub(super) size: i64,
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
}

impl FileStamp {
    pub(super) fn of(data: &Stat) -> Self {
        Self {
            inode: data.st_ino,
            size: wide(data.st_size),
            modified: (wide(data.st_mtime), wide(data.st_mtime_nsec)),
            changed: (wide(data.st_ctime), wide(data.st_ctime_nsec)),
        }
    }
}

/// The bits of the mode that the digest covers.
pub(super) fn permissions(data: &Stat) -> u32 {
    bits(data.st_mode) & 0o7777
}

fn bits(mode: impl Into<u32>) -> u32 {
    mode.into()
}

/// Systems have numbers of different sizes here.
fn wide(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
