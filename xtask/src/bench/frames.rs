//! Counts what a commit has written to the log of a store.
//!
//! ```text
//!   head of the log │ frame │ frame │ frame, commit │ frame │ frame, commit │ of an earlier turn …
//! ```

use std::{
    fs::File,
    io::ErrorKind,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

/// Bytes of the log before its first frame, and of a frame before its page.
const LOG_HEAD_BYTES: u64 = 32;
const FRAME_HEAD_BYTES: u64 = 24;

/// The log of one store, read up to some commit.
pub(crate) struct Log {
    path: PathBuf,
    /// The salt of all frames of this turn of the log.
    salt: [u8; 8],
    next: u64,
}

impl Log {
    /// The log of the store in a folder.
    pub(crate) fn of(folder: &Path) -> Self {
        let path = folder.join("muster.db-wal");
        Self { path, salt: [0; 8], next: LOG_HEAD_BYTES }
    }

    /// Frames of the newest commit, which must be a new one since the last call.
    pub(crate) fn newest_commit(&mut self) -> Result<u64> {
        let file = File::open(&self.path).context("open the log of a store")?;
        let mut head = [0; LOG_HEAD_BYTES as usize];
        file.read_exact_at(&mut head, 0).context("read the head of a log")?;
        let page_bytes = u64::from(number(&head, 8));
        if self.salt[..] != head[16..24] {
            self.salt.copy_from_slice(&head[16..24]);
            self.next = LOG_HEAD_BYTES;
        }
        let mut newest = 0;
        let mut open = 0;
        while let Some(frame) = self.frame(&file)? {
            self.next += FRAME_HEAD_BYTES + page_bytes;
            open += 1;
            // Only the last frame of a commit contains the size of the store.
            if number(&frame, 4) != 0 {
                (newest, open) = (open, 0);
            }
        }
        ensure!(newest > 0, "no new commit in {}", self.path.display());
        Ok(newest)
    }

    fn frame(&self, file: &File) -> Result<Option<[u8; FRAME_HEAD_BYTES as usize]>> {
        let mut frame = [0; FRAME_HEAD_BYTES as usize];
        match file.read_exact_at(&mut frame, self.next) {
            Ok(()) => Ok((frame[8..16] == self.salt).then_some(frame)),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error).context("read a frame of a log"),
        }
    }
}

fn number(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(number)
}
