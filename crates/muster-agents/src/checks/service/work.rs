//! One run of a check, from the queue of its directory to its verdict.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use muster_core::{
    checks::record::{CheckResult, TreeState},
    tasks::id::CheckRunId,
};
use tokio::sync::Notify;

use super::{CheckPhase, CheckServiceError, CheckWish, RunName, ServiceContext, log_name, order};
use crate::{
    background,
    checks::{
        directory::{DirectoryLock, LOCK_PAUSE},
        runner::{CheckOrder, CheckOutcome, CheckProgress, CheckRunError},
    },
};

/// How long a run lets older ones go first that do not take their turn.
const COURTESY: Duration = Duration::from_secs(2);

/// A run to perform.
pub(super) struct CheckJob {
    pub(super) wish: CheckWish,
    pub(super) cancel: Arc<Notify>,
    run: CheckRunId,
    order: CheckOrder,
}

/// The outcome of a run.
enum WorkEnd {
    /// With the lock, which is kept until the verdict is stored.
    Judged(Box<CheckOutcome>, DirectoryLock),
    Answered(CheckRunId, DirectoryLock),
    Interrupted(String),
}

/// Why a run has no verdict.
#[derive(Debug, thiserror::Error)]
enum WorkError {
    #[error(transparent)]
    Run(#[from] CheckRunError),
    #[error(transparent)]
    Service(#[from] CheckServiceError),
    #[error("the files of the project could not be read: {0}")]
    Reader(#[from] tokio::task::JoinError),
}

impl CheckJob {
    pub(super) fn of(wish: CheckWish, run: CheckRunId) -> Self {
        let order = order(&wish, log_name(&wish.workspace, run), wish.root.clone());
        Self { wish, cancel: Arc::default(), run, order }
    }

    pub(super) fn name(&self) -> RunName {
        (self.wish.workspace.clone(), self.run)
    }
}

/// Performs a run and records its end.
pub(super) async fn perform(context: Arc<ServiceContext>, job: CheckJob) {
    let ended = tokio::select! {
        ended = work(&context, &job) => {
            ended.unwrap_or_else(|error| WorkEnd::Interrupted(error.to_string()))
        }
        // The processes are dead by then: they die with the work.
        () = job.cancel.notified() => WorkEnd::Interrupted(context.cancelled(&job.name())),
    };
    let workspace = &job.wish.workspace;
    let (stored, lock) = match ended {
        WorkEnd::Judged(outcome, lock) => {
            (context.records.finish(workspace, job.run, result(*outcome)), Some(lock))
        }
        WorkEnd::Answered(by, lock) => (context.records.answer(workspace, job.run, by), Some(lock)),
        WorkEnd::Interrupted(reason) => {
            (context.records.interrupt(workspace, job.run, &reason), None)
        }
    };
    if let Err(error) = stored {
        tracing::warn!(run = %job.run, %workspace, %error, "could not record the end of a check");
    }
    drop(lock);
    context.leave(&job.name());
}

async fn work(context: &Arc<ServiceContext>, job: &CheckJob) -> Result<WorkEnd, WorkError> {
    let lock = turn(context, job).await?;
    let workspace = &job.wish.workspace;
    context.recover(workspace, Some(&job.wish.root))?;
    if !job.wish.fresh
        && let Some(by) = answer(context, job).await?
    {
        return Ok(WorkEnd::Answered(by, lock));
    }
    let progress = |step: CheckProgress<'_>| context.note(job, step);
    let outcome = context.runner.run(&job.order, &lock, progress).await?;
    Ok(WorkEnd::Judged(Box::new(outcome), lock))
}

/// Waits for the directory. The lock itself knows no order, so a younger run hands it back while an
/// older one waits.
async fn turn(context: &ServiceContext, job: &CheckJob) -> Result<DirectoryLock, WorkError> {
    let mut courtesy: Option<Instant> = None;
    loop {
        let waiting = |step: CheckProgress<'_>| context.note(job, step);
        let lock = context.runner.lock(&job.wish.root, &waiting).await?;
        let is_over = courtesy.is_some_and(|until| Instant::now() >= until);
        if is_over || context.records.is_next(&job.wish.workspace, job.run)? {
            return Ok(lock);
        }
        drop(lock);
        context.note(job, CheckProgress::Waiting);
        courtesy.get_or_insert_with(|| Instant::now() + COURTESY);
        tokio::time::sleep(LOCK_PAUSE).await;
    }
}

/// A pass on these files that was made while this run waited.
async fn answer(
    context: &Arc<ServiceContext>,
    job: &CheckJob,
) -> Result<Option<CheckRunId>, WorkError> {
    let runner = Arc::clone(&context.runner);
    let order = job.order.clone();
    let read = background::blocking(move || runner.trees().state(&order));
    let files: TreeState = read.await?.map_err(CheckRunError::Tree)?;
    if files.unbound.is_some() {
        return Ok(None);
    }
    let ledger = context.records.ledger(&job.wish.workspace, &job.wish.name)?;
    let definition = job.wish.definition.digest();
    Ok(ledger.holding(&definition, &files.scope).map(|entry| entry.run))
}

impl ServiceContext {
    /// Keeps what a watcher sees, and records the start.
    fn note(&self, job: &CheckJob, step: CheckProgress<'_>) {
        if let CheckProgress::Started(process) = step
            && let Err(error) = self.records.start(&job.wish.workspace, job.run, process)
        {
            tracing::warn!(run = %job.run, %error, "could not record the start of a check");
        }
        let mut active = self.active();
        let Some(active) = active.get_mut(&job.name()) else { return };
        match step {
            CheckProgress::Waiting => active.watch.phase = CheckPhase::Waiting,
            // Once it is repeated, that is what a watcher has to know.
            CheckProgress::Started(_) if active.watch.phase == CheckPhase::Repeated => {}
            CheckProgress::Started(_) => active.watch.phase = CheckPhase::Started,
            CheckProgress::Output(piece) => active.watch.bytes += piece.len() as u64,
            CheckProgress::Repeated => {
                active.watch.phase = CheckPhase::Repeated;
                active.watch.bytes = 0;
            }
        }
    }
}

fn result(outcome: CheckOutcome) -> CheckResult {
    let result = CheckResult {
        verdict: outcome.verdict,
        end: outcome.end,
        duration_ms: u64::try_from(outcome.duration.as_millis()).unwrap_or(u64::MAX),
        counts: None,
        failed_tests: Vec::new(),
        names: std::collections::BTreeMap::new(),
        files: outcome.tree,
        output: outcome.output,
        program: outcome.program,
    };
    result.with_tests(outcome.results)
}
