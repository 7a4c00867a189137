//! The lock of a directory: one check at a time uses it, whichever process runs it.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::Path,
    time::Duration,
};

use muster_core::run::hash::sha256_hex;
use rustix::fs::{FlockOperation, flock};

/// How often a waiting check looks whether the directory is free.
pub(super) const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Held until it is dropped; a process that dies drops it.
pub(crate) struct DirectoryLock {
    file: File,
}

impl DirectoryLock {
    /// The lock of a directory, not taken yet.
    pub(super) fn file(home: &Path, root: &Path) -> io::Result<Self> {
        let folder = home.join("locks");
        fs::create_dir_all(&folder)?;
        let root = root.canonicalize()?;
        let name = sha256_hex(root.as_os_str().as_encoded_bytes());
        let path = folder.join(&name[..32]);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        Ok(Self { file })
    }

    /// Waits for the directory. `waiting` is called once if another check uses it.
    pub(super) async fn take(self, waiting: impl Fn()) -> io::Result<Self> {
        let mut is_said = false;
        loop {
            match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(self),
                Err(rustix::io::Errno::WOULDBLOCK) => {}
                Err(error) => return Err(error.into()),
            }
            if !is_said {
                waiting();
                is_said = true;
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
    }
}
