//! The files that output is kept in.

use std::{
    fs::{self, File},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
    time::{Duration, SystemTime},
};

use crate::checks::output::shown;

/// Bytes of a piece of output.
const PIECE_BYTES_MAX: u64 = 64 * 1024;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A piece of the output of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OutputPiece {
    /// As the command wrote it.
    pub bytes: Vec<u8>,
    /// Where the next piece starts.
    pub next: u64,
}

impl OutputPiece {
    /// As it may be shown: without escape sequences, control characters and secrets.
    #[must_use]
    pub fn text(&self) -> String {
        shown(&self.bytes)
    }
}

/// Reads a piece. A file that is not there has no output; one that became shorter belongs to the
/// second attempt of a run and is read from its beginning.
pub(super) fn read(path: &Path, offset: u64) -> io::Result<OutputPiece> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(OutputPiece { bytes: Vec::new(), next: offset });
        }
        Err(error) => return Err(error),
    };
    let start = if file.metadata()?.len() < offset { 0 } else { offset };
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(PIECE_BYTES_MAX).read_to_end(&mut bytes)?;
    let next = start + bytes.len() as u64;
    Ok(OutputPiece { bytes, next })
}

/// Removes files that were written many days ago.
pub(super) fn remove_old(folder: &Path, days: u64) {
    let age = DAY.saturating_mul(u32::try_from(days).unwrap_or(u32::MAX));
    let Some(oldest) = SystemTime::now().checked_sub(age) else { return };
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let changed = fs::metadata(&path).and_then(|data| data.modified());
        if changed.is_ok_and(|changed| changed < oldest)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::warn!(path = %path.display(), %error, "could not remove an old file");
        }
    }
}
