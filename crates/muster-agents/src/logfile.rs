//! `events.jsonl` and `run.json` of a run: copies for readers of files. The store is the authority.
//!
//! ```text
//!   start          the last line fits the store ──► the missing events are appended
//!                  no line, a torn or another one ─► everything is written again
//!   while it runs  the file is as it was left ────► the new events are appended
//!                  replaced, cut, removed ────────► as at the start
//! ```
//!
//! Only the end of the file is read (RUNS-DATA-1): its cost does not depend on the length of a run.

mod tail;

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, BufRead as _, BufReader, BufWriter, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use muster_core::run::{
    RunAggregate as Room,
    id::RunId,
    layout::Layouts,
    view::snapshot::{SnapshotRequest, snapshot as shown},
};
use muster_store::{EventRow, Store, StoreError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use self::tail::LogTail;
use super::{
    artifacts::{Files, make_private, publish, write_whole},
    lane::written,
    shared::RunsContext,
};
use muster_engine::ExecuteError;

/// Suffix, followed by a number, of a file that had more events than the store.
pub(crate) const NEWER: &str = "jsonl.newer-";
/// Files of events that are kept open at once; other runs open theirs for each write.
pub(crate) const LOGS_OPEN_MAX: usize = 64;

const PAGE_EVENTS: u32 = 1_000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum FileFailure {
    #[error(transparent)]
    Disk(#[from] io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the run is gone")]
    Gone,
}

/// Which file it is and how long. A file that was replaced, cut or written to by others has another
/// one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    device: u64,
    inode: u64,
    bytes: u64,
}

impl FileStamp {
    fn of(file: &Metadata) -> Self {
        Self { device: file.dev(), inode: file.ino(), bytes: file.len() }
    }
}

/// Where the file ends.
#[derive(Clone, Copy)]
struct LogEnd {
    /// Number of its last event.
    last: u64,
    /// The file as it was left; `None` if there is none yet.
    stamp: Option<FileStamp>,
}

/// The file while its run writes.
struct OpenLog {
    file: File,
    /// Absent for one that is closed after the write.
    place: Option<OwnedSemaphorePermit>,
}

#[derive(Default)]
struct LogState {
    /// `None` until the file was compared with the store, and after a write that failed.
    end: Option<LogEnd>,
    open: Option<OpenLog>,
}

/// The file of events of one run. One lane writes it.
#[derive(Clone)]
pub(crate) struct LogFile {
    path: PathBuf,
    state: Arc<Mutex<LogState>>,
    places: Arc<Semaphore>,
}

impl LogFile {
    pub(crate) fn of(files: &Files, run: RunId) -> Self {
        let path = files.of_run(run).join("events.jsonl");
        Self { path, state: Arc::default(), places: Arc::clone(&files.open_logs) }
    }

    /// A panic while it was held leaves an end that no longer fits the file, which is noticed.
    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the file until the next events.
    pub(crate) fn rest(&self) {
        self.state().open = None;
    }

    /// Makes the file equal to the store.
    pub(crate) fn repair(&self, store: &dyn Store, run: RunId) -> Result<(), FileFailure> {
        self.repair_locked(&mut self.state(), store, run)
    }

    fn repair_locked(
        &self,
        state: &mut LogState,
        store: &dyn Store,
        run: RunId,
    ) -> Result<(), FileFailure> {
        *state = LogState::default();
        match self.fitting_end(store, run)? {
            Some(end) => {
                state.end = Some(end);
                self.append_missing(state, store, run)
            }
            None => {
                tracing::info!(%run, "rebuilding the file of events");
                state.end = Some(self.rebuild(store, run)?);
                Ok(())
            }
        }
    }

    /// Where the file ends, if its last line is the event of the store with that number.
    fn fitting_end(&self, store: &dyn Store, run: RunId) -> Result<Option<LogEnd>, FileFailure> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Some(LogEnd { last: 0, stamp: None }));
            }
            Err(error) => return Err(error.into()),
        };
        let stamp = FileStamp::of(&file.metadata()?);
        let end = |last| Some(LogEnd { last, stamp: Some(stamp) });
        let line = match tail::read(&file, stamp.bytes)? {
            LogTail::Empty => return Ok(end(0)),
            LogTail::Torn => return Ok(None),
            LogTail::Line(line) => line,
        };
        let Some(seq) = tail::seq(&line) else { return Ok(None) };
        let rows = store.snapshot()?.tail(&run.stream(), seq - 1, 1)?;
        let stored = rows.first().filter(|row| row.seq == seq).map(|row| written(run, row));
        Ok(end(seq).filter(|_| stored.is_some_and(|stored| stored.as_bytes() == line)))
    }

    /// Appends every event of the store after the end of the file.
    fn append_missing(
        &self,
        state: &mut LogState,
        store: &dyn Store,
        run: RunId,
    ) -> Result<(), FileFailure> {
        while let Some(end) = state.end {
            let rows = store.snapshot()?.tail(&run.stream(), end.last, PAGE_EVENTS)?;
            if rows.is_empty() {
                return Ok(());
            }
            self.write(state, end, run, &rows)?;
        }
        Ok(())
    }

    /// Writes everything to a temporary file, then renames it.
    fn rebuild(&self, store: &dyn Store, run: RunId) -> Result<LogEnd, FileFailure> {
        if let Some(folder) = self.path.parent() {
            make_private(folder)?;
        }
        let beside = self.path.with_extension("jsonl.part");
        let mut file = BufWriter::new(File::create(&beside)?);
        file.get_ref().set_permissions(fs::Permissions::from_mode(0o600))?;
        let mut last = 0;
        loop {
            let rows = store.snapshot()?.tail(&run.stream(), last, PAGE_EVENTS)?;
            for row in &rows {
                writeln!(file, "{}", written(run, row))?;
            }
            match rows.last() {
                Some(row) => last = row.seq,
                None => break,
            }
        }
        file.flush()?;
        file.get_ref().sync_all()?;
        let stamp = FileStamp::of(&file.get_ref().metadata()?);
        self.keep_longer(run, last)?;
        publish(&beside, &self.path)?;
        Ok(LogEnd { last, stamp: Some(stamp) })
    }

    /// Keeps a file that has more events than the store: the store was restored from an older copy,
    /// and later events exist nowhere else.
    fn keep_longer(&self, run: RunId, events: u64) -> Result<(), FileFailure> {
        let Some(lines) = self.whole_lines()?.filter(|lines| *lines > events) else {
            return Ok(());
        };
        let kept = (1_u32..)
            .map(|number| self.path.with_extension(format!("{NEWER}{number}")))
            .find(|path| !path.exists());
        let Some(kept) = kept else { return Ok(()) };
        publish(&self.path, &kept)?;
        tracing::warn!(
            %run,
            kept = %kept.display(),
            newer = lines - events,
            "the file of a run has events that the store has not, as after a restored backup; it \
             is kept: to put them back, run `muster doctor --rebuild-runs` while no server runs, \
             and restore the backup again before that if the run has gone on"
        );
        Ok(())
    }

    /// Number of complete lines, if there is a file.
    fn whole_lines(&self) -> io::Result<Option<u64>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut reader = BufReader::with_capacity(256 * 1024, file);
        let mut lines = 0;
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            lines += u64::from(line.ends_with(b"\n"));
            line.clear();
        }
        Ok(Some(lines))
    }

    /// Adds events. Events that an earlier failure left out are added first, so that the file never
    /// has a gap.
    pub(crate) fn append(
        &self,
        store: &dyn Store,
        run: RunId,
        rows: &[EventRow],
    ) -> Result<(), FileFailure> {
        let mut state = self.state();
        let stamp = match fs::metadata(&self.path) {
            Ok(file) => Some(FileStamp::of(&file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let Some(end) = state.end.filter(|end| end.stamp == stamp) else {
            return self.repair_locked(&mut state, store, run);
        };
        let rows = &rows[rows.partition_point(|row| row.seq <= end.last)..];
        match rows.first() {
            None => Ok(()),
            Some(first) if first.seq == end.last + 1 => self.write(&mut state, end, run, rows),
            Some(_) => self.append_missing(&mut state, store, run),
        }
    }

    /// Writes the next events at the end.
    fn write(
        &self,
        state: &mut LogState,
        end: LogEnd,
        run: RunId,
        rows: &[EventRow],
    ) -> Result<(), FileFailure> {
        let mut text = String::new();
        for row in rows {
            text.push_str(&written(run, row));
            text.push('\n');
        }
        let mut open = match state.open.take() {
            Some(open) => open,
            None => self.open(end)?,
        };
        // A write that fails may leave a part of it, so until it succeeds the end is unknown.
        state.end = None;
        open.file.write_all(text.as_bytes())?;
        let stamp = match end.stamp {
            Some(stamp) => FileStamp { bytes: stamp.bytes + text.len() as u64, ..stamp },
            None => FileStamp::of(&open.file.metadata()?),
        };
        let last = rows.last().map_or(end.last, |row| row.seq);
        state.end = Some(LogEnd { last, stamp: Some(stamp) });
        state.open = Some(open).filter(|open| open.place.is_some());
        Ok(())
    }

    fn open(&self, end: LogEnd) -> io::Result<OpenLog> {
        if end.stamp.is_none()
            && let Some(folder) = self.path.parent()
        {
            make_private(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?;
        Ok(OpenLog { file, place: Arc::clone(&self.places).try_acquire_owned().ok() })
    }
}

/// Writes `run.json`, the run as it is served.
pub(crate) fn snapshot(shared: &RunsContext, run: RunId) -> Result<(), FileFailure> {
    let folder = shared.files.prepare(run)?;
    let placed = |docs: &muster_core::Documents<Layouts>| Ok(docs.get(&())?.cloned());
    let layout = shared.engine.read::<Layouts, _>(&run.layout_stream(), placed);
    let layout = layout.ok().flatten().unwrap_or_default();
    let view = |docs: &muster_core::Documents<Room>| shown(docs, SnapshotRequest::DEFAULT, &layout);
    match shared.engine.read::<Room, _>(&run.stream(), view) {
        Ok(json) => Ok(write_whole(&folder.join("run.json"), json.text().as_bytes())?),
        Err(ExecuteError::Rejected(_)) => Err(FileFailure::Gone),
        Err(ExecuteError::Store(failure)) => Err(failure.0.into()),
    }
}
