//! `events.jsonl` and `run.json` of a run: copies for readers of files. The store is the authority;
//! the file of events is compared with it and rebuilt if it is short, long, torn or wrong
//! (RUNS-DATA-1).

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead as _, BufReader, BufWriter, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use muster_core::run::{
    RunAggregate as Room,
    id::RunId,
    layout::Layouts,
    view::snapshot::{SnapshotRequest, snapshot as shown},
};
use muster_store::{EventRow, Store, StoreError};

use super::{
    artifacts::{Files, make_private, publish, write_whole},
    lane::written,
    shared::RunsContext,
};
use muster_engine::ExecuteError;

/// Suffix, followed by a number, of a file that had more events than the store.
pub(crate) const NEWER: &str = "jsonl.newer-";

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

/// What is in a file of events.
#[derive(Default)]
struct Lines {
    /// Number of complete lines.
    whole: u64,
    last: Vec<u8>,
    /// Whether the last line is incomplete.
    is_torn: bool,
}

/// The file of events of one run. One lane writes it.
#[derive(Clone)]
pub(crate) struct LogFile {
    path: PathBuf,
    /// Number of the last event in it, as far as it is known.
    last: Arc<Mutex<u64>>,
}

impl LogFile {
    pub(crate) fn of(files: &Files, run: RunId) -> Self {
        let path = files.of_run(run).join("events.jsonl");
        Self { path, last: Arc::default() }
    }

    fn last(&self) -> u64 {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_last(&self, seq: u64) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = seq;
    }

    /// Compares the file with the store, and rebuilds it if they differ.
    pub(crate) fn repair(
        &self,
        store: &dyn Store,
        run: RunId,
        head: u64,
    ) -> Result<(), FileFailure> {
        if self.is_sound(store, run, head)? {
            self.set_last(head);
            return Ok(());
        }
        if head == 0 {
            return Ok(());
        }
        tracing::info!(%run, "rebuilding the file of events");
        self.rebuild(store, run)
    }

    /// Whether the file holds every event up to the head, and nothing else.
    fn is_sound(&self, store: &dyn Store, run: RunId, head: u64) -> Result<bool, FileFailure> {
        let Some(Lines { whole, last, is_torn }) = self.lines()? else { return Ok(head == 0) };
        if whole != head || is_torn || head == 0 {
            return Ok(whole == head && !is_torn);
        }
        let newest = store.snapshot()?.tail(&run.stream(), head - 1, 1)?;
        Ok(newest.first().is_some_and(|row| format!("{}\n", written(run, row)).as_bytes() == last))
    }

    /// The lines of the file, if there is one.
    fn lines(&self) -> io::Result<Option<Lines>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut reader = BufReader::with_capacity(256 * 1024, file);
        let mut lines = Lines::default();
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            match line.ends_with(b"\n") {
                true => lines.whole += 1,
                false => lines.is_torn = true,
            }
            std::mem::swap(&mut line, &mut lines.last);
            line.clear();
        }
        Ok(Some(lines))
    }

    /// Writes everything to a temporary file, then renames it.
    fn rebuild(&self, store: &dyn Store, run: RunId) -> Result<(), FileFailure> {
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
        self.keep_longer(run, last)?;
        publish(&beside, &self.path)?;
        self.set_last(last);
        Ok(())
    }

    /// Keeps a file that has more events than the store: the store was restored from an older copy,
    /// and later events exist nowhere else.
    fn keep_longer(&self, run: RunId, events: u64) -> Result<(), FileFailure> {
        let Some(lines) = self.lines()?.filter(|lines| lines.whole > events) else {
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
            newer = lines.whole - events,
            "the file of a run has events that the store has not, as after a restored backup; it \
             is kept: to put them back, run `muster doctor --rebuild-runs` while no server runs, \
             and restore the backup again before that if the run has gone on"
        );
        Ok(())
    }

    /// Adds events. Events that an earlier failure left out are added first, so that the file never
    /// has a gap.
    pub(crate) fn append(
        &self,
        store: &dyn Store,
        run: RunId,
        rows: &[EventRow],
    ) -> Result<(), FileFailure> {
        let known = self.last();
        let rows = &rows[rows.partition_point(|row| row.seq <= known)..];
        let Some(first) = rows.first() else { return Ok(()) };
        if first.seq != known + 1 {
            return self.rebuild(store, run);
        }
        if let Some(folder) = self.path.parent() {
            make_private(folder)?;
        }
        let mut text = String::new();
        for row in rows {
            text.push_str(&written(run, row));
            text.push('\n');
        }
        let mut file = OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)?;
        if let Err(error) = file.write_all(text.as_bytes()) {
            // Part of it may be written; the next attempt rewrites everything.
            self.set_last(0);
            return Err(error.into());
        }
        self.set_last(rows.last().map_or(0, |row| row.seq));
        Ok(())
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
