//! How a run is deleted: its turns, processes and lane end, its files go to the trash, and its log
//! is deleted.

use std::{sync::Arc, time::Duration};

use muster_core::{
    Timestamp,
    run::{Ask, id::RunId, lookup},
};

use super::{
    allow,
    artifacts::make_private,
    shared::{AskError, RunsContext},
    trash, worktree,
};

/// How long turns may take to end before the processes are killed anyway.
const PATIENCE: Duration = Duration::from_secs(8);
/// Pause between two checks.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

pub(crate) async fn delete(shared: &Arc<RunsContext>, run: RunId) -> Result<(), AskError> {
    shared.submit(run, Ask::DeleteRun).await?;
    let over = async {
        while shared.view(run, |docs| Ok(lookup::pulse(docs)?.active_turns)).await? > 0 {
            tokio::time::sleep(LOOK_PAUSE).await;
        }
        Ok::<_, AskError>(())
    };
    if let Ok(outcome) = tokio::time::timeout(PATIENCE, over).await {
        outcome?;
    }
    // Its lane sees that the run was deleted, ends what is left of it, and moves its files to the
    // trash.
    let lane = shared.lane(run)?;
    let gone = Arc::clone(shared);
    if let Ok(outcome) = crate::background::blocking(move || gone.forget(run)).await {
        outcome?;
    }
    if tokio::time::timeout(PATIENCE, lane.closed()).await.is_err() {
        tracing::warn!(%run, "processes of a deleted run did not end in time");
    }
    worktree::remove_all(shared, run).await;
    let rules = Arc::clone(shared);
    match crate::background::blocking(move || allow::forget_run(&rules, run)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%run, %error, "could not remove the run's allow rules"),
        Err(error) => tracing::error!(%run, %error, "could not remove the run's allow rules"),
    }
    Ok(())
}

/// Moves the files of a run to the trash.
pub(crate) fn discard(shared: &RunsContext, run: RunId) {
    shared.originals.forget_all(run);
    let trash = trash::folder(&shared.settings.home);
    let to = trash.join(trash::name(run, shared.engine.now()));
    let from = shared.files.of_run(run);
    if !from.exists() {
        return;
    }
    if let Err(error) = make_private(&trash).and_then(|()| std::fs::rename(&from, &to)) {
        tracing::warn!(%run, %error, "could not move the files of a deleted run to the trash");
    }
}

/// Removes unfinished files that are not being written (RUNS-DATA-4).
pub(crate) fn remove_unfinished(shared: &RunsContext) {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let mut folders = vec![shared.settings.home.join("runs")];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(known) = entry.metadata() else { continue };
            let name = entry.file_name();
            let inside = ["shadow", "worktrees"].iter().any(|other| name == *other);
            let old = known.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > DAY));
            if known.is_dir() && !inside {
                folders.push(entry.path());
            } else if known.is_file()
                && old
                && name.to_string_lossy().ends_with(".part")
                && let Err(error) = std::fs::remove_file(entry.path())
            {
                tracing::warn!(%error, "could not remove an unfinished file");
            }
        }
    }
}

/// Removes what has been in the trash for long enough.
pub(crate) fn empty_trash(shared: &RunsContext) {
    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
    let oldest = shared.engine.now().0 - i64::from(shared.live.now().trash_days) * DAY_MS;
    let emptied = trash::discarded(&shared.settings.home, Timestamp(oldest))
        .and_then(|old| old.iter().try_for_each(trash::Discarded::remove));
    if let Err(error) = emptied {
        tracing::warn!(%error, "could not empty the trash");
    }
}
