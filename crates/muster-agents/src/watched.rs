//! Reports of hooks on their way into the store (HOST-WATCH-3).
//!
//! ```text
//!   hook ── one append ──► reports.jsonl ── moved aside ──► N.taken ── a transaction
//!   hook ──     …     ──►  under a shared lock               │          per session ──► store
//!                                                            └─ removed once all are durable
//! ```
//!
//! A hook may not wait for a store that is locked, large or of another version, and need not: it
//! leaves a line here. Any process that has the store open takes the lines, in order. Each line is
//! recorded with its place, so a crash between the store and the removal repeats nothing.

pub mod process;

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use muster_core::{session::watched::ReportPlace, watched::AgentReport};

/// Folder of the files, inside the storage folder.
const FOLDER: &str = "watched";
/// Where hooks append.
const REPORTS: &str = "reports.jsonl";
/// Extension of files that were moved aside.
const TAKEN: &str = "taken";
/// Held by the process that takes reports.
const LOCK: &str = "lock";
/// Bytes of one report; a longer one is not kept.
const REPORT_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of reports that may wait for a process that takes them.
const WAITING_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Reports that are handed over at once.
const BATCH_REPORTS: usize = 200;
/// How often a hook opens the file again when it was moved aside meanwhile.
const OPENINGS_MAX: usize = 20;

/// The reports of a storage folder that are not in the store yet.
#[derive(Clone, Debug)]
pub struct WaitingReports {
    folder: PathBuf,
}

/// A report with the place where it was found.
pub type PlacedReport = (ReportPlace, AgentReport);

impl WaitingReports {
    #[must_use]
    pub fn of(storage_dir: &Path) -> Self {
        Self { folder: storage_dir.join(FOLDER) }
    }

    /// Whether there may be any; looks at nothing but names.
    #[must_use]
    pub fn may_exist(&self) -> bool {
        self.folder.join(REPORTS).exists() || !self.left().unwrap_or_default().is_empty()
    }

    /// Adds a report. It is not forced to the disk: a power cut may lose the last of them.
    pub fn add(&self, report: &AgentReport) -> io::Result<()> {
        let json = serde_json::to_string(report)?;
        if json.len() > REPORT_BYTES_MAX {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        make_private(&self.folder)?;
        let path = self.folder.join(REPORTS);
        for _ in 0..OPENINGS_MAX {
            let mut file = private_file().append(true).create(true).open(&path)?;
            file.lock_shared()?;
            if !is_still_there(&file, &path)? {
                continue;
            }
            if file.metadata()?.len() > WAITING_BYTES_MAX {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            // A line begins with its own line feed, so half a line costs only itself.
            return file.write_all(format!("\n{json}\n").as_bytes());
        }
        Err(io::Error::from(io::ErrorKind::ResourceBusy))
    }

    /// Hands all reports over, oldest first, a few at a time. They are removed once `record` has
    /// returned for all of a file; after an error they stay. Returns at once while another process
    /// does the same.
    pub fn take<E: From<io::Error>>(
        &self,
        mut record: impl FnMut(Vec<PlacedReport>) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.may_exist() {
            return Ok(());
        }
        let lock = private_file().write(true).create(true).open(self.folder.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        self.move_aside()?;
        for file in self.left()? {
            hand_over(&file, &mut record)?;
            fs::remove_file(&file)?;
        }
        Ok(())
    }

    /// Moves the file away from the hooks, and waits for the one that may be writing to it.
    fn move_aside(&self) -> io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:020}-{}", now.as_nanos(), std::process::id());
        let aside = self.folder.join(name).with_extension(TAKEN);
        match fs::rename(self.folder.join(REPORTS), &aside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            moved => moved?,
        }
        let file = File::open(&aside)?;
        file.lock()?;
        file.unlock()
    }

    /// Files that were moved aside, oldest first.
    fn left(&self) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == TAKEN) {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }
}

fn hand_over<E: From<io::Error>>(
    path: &Path,
    record: &mut impl FnMut(Vec<PlacedReport>) -> Result<(), E>,
) -> Result<(), E> {
    let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut batch = Vec::with_capacity(BATCH_REPORTS);
    let mut unreadable = 0_u64;
    for (number, line) in (1_u64..).zip(BufReader::new(File::open(path)?).split(b'\n')) {
        let line = line?;
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice::<AgentReport>(&line) {
            Ok(report) => batch.push((ReportPlace { file: file.clone(), line: number }, report)),
            Err(_) => unreadable += 1,
        }
        if batch.len() == BATCH_REPORTS {
            record(std::mem::take(&mut batch))?;
        }
    }
    if unreadable > 0 {
        tracing::warn!(unreadable, file, "some reports of hooks are unreadable and were left out");
    }
    if batch.is_empty() { Ok(()) } else { record(batch) }
}

/// Whether an open file still has its name, so that what is written to it will be read.
#[cfg(unix)]
fn is_still_there(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let own = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (own.dev(), own.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere an open file cannot be renamed.
#[cfg(not(unix))]
fn is_still_there(_file: &File, _path: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(unix)]
fn private_file() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn private_file() -> OpenOptions {
    OpenOptions::new()
}

/// Makes the folder. The storage folder itself is not made: without one nothing is kept.
#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, fs, io, thread};

    use muster_core::{
        Timestamp,
        watched::{AgentReport, ReportFact, WatchedProgram},
    };

    use super::{PlacedReport, WaitingReports};

    fn report(native_id: &str) -> AgentReport {
        AgentReport {
            program: WatchedProgram::Claude,
            native_id: native_id.to_owned(),
            at: Timestamp(1),
            version: None,
            directory: None,
            workspace: None,
            model: None,
            permission_mode: None,
            process: None,
            facts: vec![ReportFact::Started],
        }
    }

    fn taken(reports: &WaitingReports) -> Vec<String> {
        let ids = RefCell::new(Vec::new());
        let record = |batch: Vec<PlacedReport>| {
            ids.borrow_mut().extend(batch.into_iter().map(|(_, report)| report.native_id));
            io::Result::Ok(())
        };
        reports.take(record).unwrap();
        ids.into_inner()
    }

    #[test]
    fn reports_are_taken_once_and_in_order() {
        let storage = tempfile::tempdir().unwrap();
        let reports = WaitingReports::of(storage.path());
        assert!(!reports.may_exist());
        assert_eq!(taken(&reports), Vec::<String>::new());
        for id in ["a", "b", "c"] {
            reports.add(&report(id)).unwrap();
        }
        assert_eq!(taken(&reports), ["a", "b", "c"]);
        assert!(!reports.may_exist());
        reports.add(&report("d")).unwrap();
        assert_eq!(taken(&reports), ["d"]);
    }

    #[test]
    fn what_could_not_be_recorded_stays_with_its_place() {
        let storage = tempfile::tempdir().unwrap();
        let reports = WaitingReports::of(storage.path());
        reports.add(&report("a")).unwrap();
        let places = RefCell::new(Vec::new());
        let full = |batch: Vec<PlacedReport>| {
            places.borrow_mut().extend(batch.into_iter().map(|(place, _)| place));
            Err(io::Error::from(io::ErrorKind::StorageFull))
        };
        reports.take(full).unwrap_err();
        reports.add(&report("b")).unwrap();
        let mut again = Vec::new();
        let record = |batch: Vec<PlacedReport>| {
            again.extend(batch);
            io::Result::Ok(())
        };
        reports.take(record).unwrap();
        assert_eq!(again[0].0, places.into_inner()[0]);
        assert_eq!(again[1].1.native_id, "b");
    }

    #[test]
    fn half_a_line_costs_only_itself() {
        let storage = tempfile::tempdir().unwrap();
        let reports = WaitingReports::of(storage.path());
        reports.add(&report("a")).unwrap();
        let file = storage.path().join("watched/reports.jsonl");
        let torn = fs::read_to_string(&file).unwrap() + "\n{\"program\":\"cl";
        fs::write(&file, torn).unwrap();
        reports.add(&report("b")).unwrap();
        assert_eq!(taken(&reports), ["a", "b"]);
    }

    #[test]
    fn nothing_is_lost_while_reports_are_added_and_taken_at_once() {
        const EACH: usize = 200;
        let storage = tempfile::tempdir().unwrap();
        let reports = WaitingReports::of(storage.path());
        let mut found = Vec::new();
        thread::scope(|scope| {
            let adders: Vec<_> = (0..4)
                .map(|writer| {
                    let reports = reports.clone();
                    scope.spawn(move || {
                        for number in 0..EACH {
                            reports.add(&report(&format!("{writer}-{number:03}"))).unwrap();
                        }
                    })
                })
                .collect();
            while !adders.iter().all(thread::ScopedJoinHandle::is_finished) {
                found.extend(taken(&reports));
            }
        });
        found.extend(taken(&reports));
        for writer in 0..4 {
            let prefix = format!("{writer}-");
            let own: Vec<_> = found.iter().filter(|id| id.starts_with(&prefix)).collect();
            assert_eq!(own.len(), EACH);
            assert!(own.is_sorted(), "each writer's reports keep their order");
        }
    }

    #[test]
    fn no_storage_folder_is_made_for_a_report() {
        let storage = tempfile::tempdir().unwrap();
        let missing = storage.path().join("missing");
        WaitingReports::of(&missing).add(&report("a")).unwrap_err();
        assert!(!missing.exists());
    }

    #[cfg(unix)]
    #[test]
    fn reports_are_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let storage = tempfile::tempdir().unwrap();
        let reports = WaitingReports::of(storage.path());
        reports.add(&report("a")).unwrap();
        let mode = |name: &str| {
            fs::metadata(storage.path().join(name)).unwrap().permissions().mode() & 0o777
        };
        assert_eq!((mode("watched"), mode("watched/reports.jsonl")), (0o700, 0o600));
    }
}
