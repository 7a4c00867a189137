//! Runs of checks in the store.

use std::sync::Arc;

use muster_core::{
    Author, CallFacts,
    checks::{
        ledger::CheckLedger,
        record::{CheckRecord, CheckResult},
    },
    run::node::Process,
    tasks::{
        TaskAggregate, TaskCommand, TaskEvent, TaskLookup, TaskRejection,
        command::RequestCheck,
        id::{CheckRunId, WorkspaceId},
        lookup,
    },
};
use muster_engine::{Engine, ExecuteError};

use super::{CheckServiceError, CheckWish};
use crate::process::family;

/// Reads and writes them.
pub(super) struct CheckRecords {
    engine: Arc<Engine>,
    identity: Process,
}

impl CheckRecords {
    pub(super) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, identity: identity() }
    }

    /// The Muster process that this is.
    pub(super) fn identity(&self) -> Process {
        self.identity
    }

    /// Stores the intent; it is durable when this returns.
    pub(super) fn request(
        &self,
        wish: &CheckWish,
        request: RequestCheck,
    ) -> Result<CheckRunId, CheckServiceError> {
        let command = TaskCommand::RequestCheck(request);
        let work = move |draft: &mut muster_core::Draft<'_, TaskAggregate>| {
            let emitted = draft.apply(&command)?;
            Ok(emitted.iter().find_map(|recorded| requested(&recorded.event)))
        };
        let facts = CallFacts { by: wish.by.clone(), ..CallFacts::default() };
        let stream = wish.workspace.stream();
        let run = self.engine.execute_for::<TaskAggregate, _>(facts, stream, work)?;
        Ok(run.unwrap_or_else(|| unreachable!("a request is always one event")))
    }

    pub(super) fn start(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
        process: Process,
    ) -> Result<(), CheckServiceError> {
        self.apply(workspace, TaskCommand::StartCheck { run, process })
    }

    pub(super) fn finish(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
        result: CheckResult,
    ) -> Result<(), CheckServiceError> {
        self.apply(workspace, TaskCommand::FinishCheck { run, result: Box::new(result) })
    }

    pub(super) fn answer(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
        by: CheckRunId,
    ) -> Result<(), CheckServiceError> {
        self.apply(workspace, TaskCommand::AnswerCheck { run, by })
    }

    /// Records that a run ended without a verdict, unless it has ended: several processes may
    /// notice it.
    pub(super) fn interrupt(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
        reason: &str,
    ) -> Result<(), CheckServiceError> {
        let reason = reason.to_owned();
        let done = self.apply(workspace, TaskCommand::InterruptCheck { run, reason });
        match done {
            Err(CheckServiceError::Refused(refused))
                if matches!(*refused, TaskRejection::CheckRunFinished { .. }) =>
            {
                Ok(())
            }
            done => done,
        }
    }

    fn apply(
        &self,
        workspace: &WorkspaceId,
        command: TaskCommand,
    ) -> Result<(), CheckServiceError> {
        let work = move |draft: &mut muster_core::Draft<'_, TaskAggregate>| {
            draft.apply(&command).map(|_| ())
        };
        let facts =
            CallFacts { by: Some(Arc::new(Author::server("check"))), ..CallFacts::default() };
        Ok(self.engine.execute_for::<TaskAggregate, _>(facts, workspace.stream(), work)?)
    }

    pub(super) fn record(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
    ) -> Result<Option<CheckRecord>, CheckServiceError> {
        self.read(workspace, |docs| Ok(lookup::check_run(docs, run)?.cloned()))
    }

    pub(super) fn ledger(
        &self,
        workspace: &WorkspaceId,
        check: &str,
    ) -> Result<CheckLedger, CheckServiceError> {
        self.read(workspace, |docs| lookup::check_ledger(docs, check))
    }

    pub(super) fn unfinished(
        &self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<CheckRecord>, CheckServiceError> {
        self.read(workspace, lookup::unfinished_checks)
    }

    pub(super) fn newest(
        &self,
        workspace: &WorkspaceId,
        check: Option<&str>,
        limit: u32,
    ) -> Result<Vec<CheckRecord>, CheckServiceError> {
        self.read(workspace, |docs| lookup::newest_checks(docs, check, limit))
    }

    /// Whether an older run waits for the same directory: it goes first.
    pub(super) fn is_next(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
    ) -> Result<bool, CheckServiceError> {
        let unfinished = self.unfinished(workspace)?;
        let own = unfinished.iter().find(|record| record.id == run);
        let Some(own) = own else { return Ok(true) };
        Ok(!unfinished.iter().any(|record| {
            record.id < run
                && record.directory == own.directory
                && record.started_at.is_none()
                && !is_abandoned(record)
        }))
    }

    fn read<T>(
        &self,
        workspace: &WorkspaceId,
        view: impl Fn(&muster_core::tasks::TaskDocs) -> TaskLookup<T>,
    ) -> Result<T, CheckServiceError> {
        let read =
            self.engine.read::<TaskAggregate, _>(&workspace.stream(), |docs| Ok(view(docs)?));
        read.map_err(|error: ExecuteError<TaskRejection>| error.into())
    }
}

fn requested(event: &TaskEvent) -> Option<CheckRunId> {
    if let TaskEvent::CheckRequested(requested) = event { Some(requested.run) } else { None }
}

/// The Muster process that this is.
fn identity() -> Process {
    let pid = std::process::id();
    Process { pid, started: family::start_time(pid).unwrap_or(0) }
}

/// Whether the Muster process of an unfinished run is gone.
pub(super) fn is_abandoned(record: &CheckRecord) -> bool {
    let Process { pid, started } = record.runner;
    // Without a start time it cannot be told apart from a later process with its number.
    let is_same = started == 0 || family::start_time(pid) == Some(started);
    record.imported || !is_same || started != 0 && !family::is_alive(pid)
}
