//! What a turn changed, from trees before and after it (RUNS-DIFF). The user's index, objects,
//! hooks and settings are not touched: a shadow repository under the storage folder has its own.
//! Without git, files are compared by size and hash, and the diff states that.

pub(super) mod git;
pub(crate) mod net;
mod patch;
mod plain;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex as StdMutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use muster_core::run::{
    artifact::{DiffMetadata, DiffMethod},
    id::RunId,
};
use tokio::sync::Mutex;

pub(crate) use self::patch::NO_CHANGES;
use self::patch::TreeChange;
use super::{artifacts::make_private, shared::RunsContext};

/// How long a tree may take (RUNS-DIFF-2).
const SNAPSHOT_MAX: Duration = Duration::from_secs(60);
/// Files larger than this are skipped.
pub(crate) const FILE_BYTES_MAX: u64 = 5 * 1024 * 1024;
/// Folders that are skipped where no repository defines what to ignore.
pub(crate) const SKIPPED_FOLDERS: [&str; 5] = ["node_modules", "target", ".venv", "dist", "build"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordedTree {
    pub(crate) id: String,
    pub(crate) skipped: Vec<String>,
}

/// A diff that is ready to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diff {
    pub(crate) content: String,
    pub(crate) metadata: DiffMetadata,
}

/// Where the trees of a directory are kept.
pub(crate) struct TreeStore<'a> {
    /// The shadow's folder.
    pub(crate) shadow: PathBuf,
    pub(crate) workdir: &'a Path,
    /// The storage folder, which never belongs to a tree.
    pub(crate) home: &'a Path,
}

#[derive(Default)]
pub(crate) struct Shadows(StdMutex<BTreeMap<RunId, Arc<Shadow>>>);

/// The shadow of one run. Its trees are recorded one after the other; a waiter takes the next one
/// that begins, so that many concurrent turns cost as much as two.
#[derive(Default)]
struct Shadow {
    begun: AtomicU64,
    latest: Mutex<BTreeMap<PathBuf, Recorded>>,
}

/// The newest tree of a directory.
struct Recorded {
    tree: RecordedTree,
    /// Which recording of the run it was.
    number: u64,
}

impl Shadows {
    fn of(&self, run: RunId) -> Arc<Shadow> {
        let mut shadows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(shadows.entry(run).or_default())
    }

    /// Records the current tree of a directory; the error gives the reason why it cannot be
    /// recorded.
    pub(crate) async fn snapshot(
        &self,
        shared: &RunsContext,
        run: RunId,
        workdir: &Path,
    ) -> Result<RecordedTree, String> {
        let shadow = self.of(run);
        let requested = shadow.begun.load(Ordering::SeqCst);
        let mut latest = shadow.latest.lock().await;
        let known = latest.get(workdir);
        // It began after the request, so it shows everything that was there then.
        if let Some(known) = known.filter(|known| known.number > requested) {
            return Ok(known.tree.clone());
        }
        let number = shadow.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let place = place(shared, run, workdir)?;
        let known = known.map(|known| &known.tree);
        let recorded = async {
            match git::is_there() {
                true => git::snapshot(&place, known).await,
                false => plain::snapshot(&place),
            }
        };
        let tree = match tokio::time::timeout(SNAPSHOT_MAX, recorded).await {
            Ok(tree) => tree?,
            Err(_) => return Err(format!("it took longer than {} s", SNAPSHOT_MAX.as_secs())),
        };
        latest.insert(workdir.to_owned(), Recorded { tree: tree.clone(), number });
        Ok(tree)
    }

    /// Compares a recorded tree with the current directory. Failures are stated in the diff; they
    /// never fail a turn (RUNS-DIFF-5).
    pub(crate) async fn diff(
        &self,
        shared: &RunsContext,
        run: RunId,
        workdir: &Path,
        before: Option<&str>,
    ) -> Diff {
        let Some(before) = before else {
            return impossible("the tree before the turn was not recorded");
        };
        let after = match self.snapshot(shared, run, workdir).await {
            Ok(tree) => tree,
            Err(cause) => return impossible(&cause),
        };
        let place = match place(shared, run, workdir) {
            Ok(place) => place,
            Err(cause) => return impossible(&cause),
        };
        let (change, method) = if git::is_there() {
            (git::compare(&place, before, &after.id).await, DiffMethod::GitShadow)
        } else {
            (plain::compare(&place, before, &after.id), DiffMethod::Snapshot)
        };
        match change {
            Ok(change) => finished(change, method, before, after),
            Err(cause) => impossible(&cause),
        }
    }
}

fn place<'a>(
    shared: &'a RunsContext,
    run: RunId,
    workdir: &'a Path,
) -> Result<TreeStore<'a>, String> {
    let shadow = shared.files.of_run(run).join("shadow");
    make_private(&shadow).map_err(|error| error.to_string())?;
    Ok(TreeStore { shadow, workdir, home: &shared.settings.home })
}

fn finished(change: TreeChange, method: DiffMethod, before: &str, after: RecordedTree) -> Diff {
    let metadata = DiffMetadata {
        summary: patch::summary(&change),
        diff_hash: patch::hash(&change),
        files_changed: change.files,
        insertions: change.insertions,
        deletions: change.deletions,
        method,
        base: Some(before.to_owned()),
        tree: Some(after.id),
        shared: false,
        overlap_turns: Vec::new(),
        skipped: after.skipped,
        violations: Vec::new(),
    };
    let content = if change.text.is_empty() { NO_CHANGES.to_owned() } else { change.text };
    Diff { content, metadata }
}

/// A diff that states why there is none.
fn impossible(cause: &str) -> Diff {
    Diff {
        content: format!("no diff is available: {cause}\n"),
        metadata: DiffMetadata {
            files_changed: Vec::new(),
            summary: muster_core::text::cut(&format!("no diff: {cause}"), patch::SUMMARY_CHARS_MAX),
            insertions: 0,
            deletions: 0,
            method: DiffMethod::None,
            base: None,
            tree: None,
            diff_hash: None,
            shared: false,
            overlap_turns: Vec::new(),
            skipped: Vec::new(),
            violations: Vec::new(),
        },
    }
}
