//! The storage directory: made private, and rejected where SQLite's locks do not hold.

use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
};

use crate::StoreError;

/// File systems on which locks or shared memory cannot be trusted between machines.
const NETWORK_FILE_SYSTEMS: &[&str] = &[
    "9p",
    "afs",
    "ceph",
    "cifs",
    "coda",
    "fuse.ceph",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "glusterfs",
    "gpfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "smb2",
    "smb3",
    "smbfs",
];

/// A disk with less room than this counts as full: the shared-memory file takes half of it.
const ROOM_BYTES_MIN: u64 = 64 * 1024;

/// Makes sure that the directory exists and can hold a store.
pub(super) fn prepare(directory: &Path) -> Result<(), StoreError> {
    let refuse = |cause: String| StoreError::Directory { path: directory.to_owned(), cause };
    let failed = |error: io::Error| StoreError::of_file(directory, &error);
    prepare_folder(directory)?;
    let real = directory.canonicalize().map_err(failed)?;
    let Ok(mounts) = fs::read_to_string("/proc/self/mountinfo") else { return Ok(()) };
    match network_file_system(&mounts, &real) {
        None => Ok(()),
        Some(kind) => Err(refuse(format!(
            "it is on a network file system ({kind}), where file locks are not reliable; \
             choose a directory on a local disk"
        ))),
    }
}

/// Makes sure that the directory exists.
pub(crate) fn prepare_folder(directory: &Path) -> Result<(), StoreError> {
    if directory.is_dir() {
        return Ok(());
    }
    create_private(directory).map_err(|error| StoreError::of_file(directory, &error))
}

#[cfg(unix)]
pub(super) fn create_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

#[cfg(not(unix))]
pub(super) fn create_private(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}

/// Options for a file that only its owner may read.
pub(super) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates the database file empty and private; the files that SQLite adds inherit its mode.
pub(super) fn create_database(path: &Path) -> Result<(), StoreError> {
    match private_file().write(true).create_new(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StoreError::of_file(path, &error)),
    }
}

/// Whether the file system of a file is full, as far as that can be determined.
pub(super) fn is_full(file: &Path) -> bool {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let room = rustix::fs::statvfs(directory.unwrap_or(Path::new(".")));
    room.is_ok_and(|room| room.f_bavail.saturating_mul(room.f_frsize) < ROOM_BYTES_MIN)
}

/// The kind of network file system that the path is on, according to a `mountinfo` table.
fn network_file_system<'a>(mounts: &'a str, path: &Path) -> Option<&'a str> {
    let mut best: Option<(usize, &str)> = None;
    for (point, kind) in mounts.lines().filter_map(mount) {
        let depth = point.components().count();
        // A later line of the same depth is mounted on top of the earlier one.
        if path.starts_with(&point) && best.is_none_or(|(deepest, _)| depth >= deepest) {
            best = Some((depth, kind));
        }
    }
    best.map(|(_, kind)| kind).filter(|kind| NETWORK_FILE_SYSTEMS.contains(kind))
}

/// Mount point and file system of one line: `36 35 98:0 /root /point options - ext4 ...`.
fn mount(line: &str) -> Option<(PathBuf, &str)> {
    let (before, after) = line.split_once(" - ")?;
    let point = before.split(' ').nth(4)?;
    let kind = after.split(' ').next()?;
    Some((PathBuf::from(unescaped(point)), kind))
}

/// Undoes the octal escapes that the kernel writes for blanks and backslashes.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::network_file_system;

    const MOUNTS: &str = "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
40 22 0:35 / /home/ann rw - nfs4 files:/ann rw
41 40 0:36 / /home/ann/local rw - ext4 /dev/sdb1 rw
42 22 0:37 / /mnt/two\\040words rw master:3 - fuse.sshfs host: rw
";

    #[test]
    fn finds_the_file_system_that_is_mounted_deepest() {
        let kind = |path: &str| network_file_system(MOUNTS, Path::new(path));
        assert_eq!(kind("/var/lib/muster"), None);
        assert_eq!(kind("/home/anna/muster"), None);
        assert_eq!(kind("/home/ann/muster"), Some("nfs4"));
        assert_eq!(kind("/home/ann/local/muster"), None);
        assert_eq!(kind("/mnt/two words/muster"), Some("fuse.sshfs"));
    }
}
