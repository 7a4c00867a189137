//! What the service and the tasks of its runs share: which runs this process works on, and the end
//! of those whose process is gone.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use muster_core::{
    checks::{changes::ChangesSince, record::CheckRecord},
    tasks::id::{CheckRunId, WorkspaceId},
};
use tokio::sync::Notify;

use super::{
    CheckPhase, CheckServiceError, CheckTicket, CheckWatch, CheckWish, log_name,
    records::{self, CheckRecords},
    work::CheckJob,
};
use crate::checks::{changes::KnownChanges, look::ProjectView, runner::CheckRunner};

/// A run that this process is responsible for.
pub(super) struct ActiveRun {
    pub(super) wish: CheckWish,
    pub(super) scope: String,
    pub(super) watch: CheckWatch,
    cancel: Arc<Notify>,
    /// It is about to end without a verdict, so no other caller may join it.
    is_cancelled: bool,
    /// Why it is cancelled, if the caller gave a reason.
    pub(super) reason: Option<String>,
    /// Callers that wait for it.
    pub(super) waiting: usize,
}

impl ActiveRun {
    /// Ends it without a verdict; its own task records that.
    pub(super) fn end(&mut self) {
        self.is_cancelled = true;
        self.cancel.notify_one();
    }
}

pub(super) type RunName = (WorkspaceId, CheckRunId);

pub(super) struct ServiceContext {
    pub(super) records: CheckRecords,
    pub(super) runner: Arc<CheckRunner>,
    active: Mutex<BTreeMap<RunName, ActiveRun>>,
    /// A run has left `active`.
    left: Condvar,
    pub(super) log_days: u64,
    changes: Mutex<KnownChanges>,
}

impl ServiceContext {
    pub(super) fn new(records: CheckRecords, runner: Arc<CheckRunner>, log_days: u64) -> Self {
        let left = Condvar::new();
        let changes = Mutex::default();
        Self { records, runner, active: Mutex::default(), left, log_days, changes }
    }

    /// What changed in a project since a commit.
    pub(super) fn changes(&self, view: &ProjectView<'_>, commit: &str) -> Option<ChangesSince> {
        let mut known = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        known.since(&self.runner, view, commit)
    }

    pub(super) fn active(&self) -> MutexGuard<'_, BTreeMap<RunName, ActiveRun>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run of the same check on the same files of the same directory.
    pub(super) fn same(
        &self,
        wish: &CheckWish,
        definition: &str,
        scope: &str,
    ) -> Option<CheckRunId> {
        let active = self.active();
        let same = active.iter().find(|((workspace, _), active)| {
            *workspace == wish.workspace
                && !active.is_cancelled
                && active.wish.name == wish.name
                && active.wish.root == wish.root
                && active.scope == scope
                && active.wish.definition.digest() == definition
        });
        same.map(|((_, run), _)| *run)
    }

    pub(super) fn enter(&self, job: &CheckJob, scope: String) {
        let watch = CheckWatch { phase: CheckPhase::Queued, bytes: 0, since: Instant::now() };
        let cancel = Arc::clone(&job.cancel);
        let wish = job.wish.clone();
        let active =
            ActiveRun { wish, scope, watch, cancel, is_cancelled: false, reason: None, waiting: 0 };
        self.active().insert(job.name(), active);
    }

    /// Why a run was cancelled.
    pub(super) fn cancelled(&self, name: &RunName) -> String {
        let reason = self.active().get(name).and_then(|active| active.reason.clone());
        reason.unwrap_or_else(|| "it was cancelled".to_owned())
    }

    pub(super) fn leave(&self, name: &RunName) {
        self.active().remove(name);
        self.left.notify_all();
    }

    pub(super) fn is_active_until(&self, ticket: &CheckTicket, until: Instant) -> bool {
        self.is_active(&(ticket.workspace.clone(), ticket.run), until)
    }

    /// Waits until this process has ended a run; returns whether it still has not.
    pub(super) fn is_active(&self, name: &RunName, until: Instant) -> bool {
        let left = until.saturating_duration_since(Instant::now());
        let active = self.active();
        let waited = self.left.wait_timeout_while(active, left, |active| active.contains_key(name));
        let (active, _) = waited.unwrap_or_else(PoisonError::into_inner);
        active.contains_key(name)
    }

    /// Ends the unfinished runs of a workspace whose Muster process is gone. The holder of the
    /// lock of a directory also knows that nothing else runs in it.
    pub(super) fn recover(
        &self,
        workspace: &WorkspaceId,
        held: Option<&Path>,
    ) -> Result<(), CheckServiceError> {
        for record in self.records.unfinished(workspace)? {
            let is_held = held.is_some_and(|held| held == Path::new(&record.directory));
            let is_ours = self.active().contains_key(&(workspace.clone(), record.id));
            let is_left = is_held && record.started_at.is_some();
            if !is_ours && (is_left || records::is_abandoned(&record)) {
                self.end(workspace, &record, "the Muster process that ran it is gone")?;
            }
        }
        Ok(())
    }

    /// Kills what is left of a run without a caller that waits, and records its end.
    pub(super) fn end(
        &self,
        workspace: &WorkspaceId,
        record: &CheckRecord,
        reason: &str,
    ) -> Result<(), CheckServiceError> {
        // The processes of an imported run are those of another store.
        if !record.imported {
            self.runner.kill(&log_name(workspace, record.id), record.process);
        }
        self.records.interrupt(workspace, record.id, reason)
    }

    /// Ends a run of another process. Its end is recorded first: then the verdict of a process that
    /// was killed is refused.
    pub(super) fn end_foreign(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
        reason: &str,
    ) -> Result<(), CheckServiceError> {
        let record = self.records.record(workspace, run)?;
        let Some(record) = record.filter(|record| !record.is_finished()) else { return Ok(()) };
        self.records.interrupt(workspace, run, reason)?;
        if !record.imported {
            self.runner.kill(&log_name(workspace, run), record.process);
        }
        Ok(())
    }

    /// A run that this process does not work on, as it is now.
    pub(super) fn settled(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
    ) -> Result<Option<CheckRecord>, CheckServiceError> {
        self.recover(workspace, None)?;
        let record = self.records.record(workspace, run)?;
        let is_lost = |record: &CheckRecord| {
            !record.is_finished() && record.runner == self.records.identity()
        };
        match record {
            Some(record) if is_lost(&record) => {
                self.end(workspace, &record, "its verdict could not be stored")?;
                self.records.record(workspace, run)
            }
            record => Ok(record),
        }
    }
}
