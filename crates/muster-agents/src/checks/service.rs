//! Runs checks for everyone who needs a verdict, and records them in the workspace.
//!
//! ```text
//!   request ─► a verdict that holds for these files ──────────────────────► ticket
//!           ─► the same check is queued or running here: joined ──────────► ticket
//!           ─► check_requested is stored ─► queue of the directory ───────► ticket
//!                                             │
//!                       check_started ◄── process ──► check_finished
//! ```
//!
//! The interface blocks. The runtime that the processes are driven on starts with the first check.
//! What a crash left is found by the next reader or the next check of the directory: a run whose
//! Muster process is gone is recorded as interrupted, and its processes are killed.

mod context;
mod files;
mod project;
mod records;
mod shown;
mod waiter;
mod work;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use muster_core::{
    Author,
    checks::{
        definition::CheckDefinition,
        ledger::CheckLedger,
        record::{CheckRecord, CheckedWork, TreeState},
    },
    run::hash::sha256_hex,
    tasks::{TaskRejection, command::RequestCheck, id::CheckRunId, id::WorkspaceId},
};
use muster_engine::{Engine, ExecuteError};
use muster_store::StoreError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

pub use files::OutputPiece;
pub use shown::ShownOutput;
pub use waiter::CheckWaiter;

use self::{
    context::{ActiveRun, RunName, ServiceContext},
    records::CheckRecords,
    work::CheckJob,
};
use super::{
    runner::{CheckOrder, CheckPurpose, CheckRunner},
    tree::TreeError,
};

/// Days that the file of an output is kept unless the settings say otherwise.
pub const PROOF_LOG_DAYS_DEFAULT: u64 = 30;
/// Threads that drive processes.
const WORKERS: usize = 2;
/// How often a run of another process is looked at.
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// How long stopping waits for the processes of checks.
const STOP_MAX: Duration = Duration::from_secs(10);

/// A verdict that a caller needs.
#[derive(Clone, Debug)]
pub struct CheckWish {
    pub workspace: WorkspaceId,
    /// The directory of the project.
    pub root: PathBuf,
    /// Name of the check.
    pub name: String,
    /// The accepted definition.
    pub definition: CheckDefinition,
    /// Whether it has to run although a verdict holds.
    pub fresh: bool,
    /// Who asks for it.
    pub by: Option<Arc<Author>>,
    pub asked_for: Option<CheckedWork>,
}

/// Where to get the verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckTicket {
    pub workspace: WorkspaceId,
    pub run: CheckRunId,
    /// It is an earlier run, whose verdict holds for the files as they are.
    pub is_reused: bool,
    /// The files when the verdict was asked for.
    pub files: TreeState,
}

/// How far a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum CheckPhase {
    /// Its turn has not come yet.
    Queued,
    /// Another check uses the directory.
    Waiting,
    Started,
    /// Files changed while it ran, so it runs once more.
    Repeated,
}

/// A run as a watcher sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckWatch {
    pub phase: CheckPhase,
    /// Bytes of output so far.
    pub bytes: u64,
    /// When this process was asked for it.
    pub since: Instant,
}

/// Why there is no run.
#[derive(Debug, thiserror::Error)]
pub enum CheckServiceError {
    #[error("{}: {error}", root.display())]
    Root { root: PathBuf, error: io::Error },
    #[error("the files of the project cannot be read: {0}")]
    Tree(#[from] TreeError),
    #[error("the check run could not be recorded: {0}")]
    Store(#[from] StoreError),
    #[error("the check run could not be recorded: {0:?}")]
    Refused(Box<TaskRejection>),
    #[error("no thread for checks could be started: {0}")]
    Runtime(io::Error),
}

impl From<ExecuteError<TaskRejection>> for CheckServiceError {
    fn from(error: ExecuteError<TaskRejection>) -> Self {
        match error {
            ExecuteError::Rejected(rejection) => Self::Refused(rejection),
            ExecuteError::Store(failure) => Self::Store(failure.0),
        }
    }
}

/// Runs checks. Meant to be shared; all calls block.
pub struct CheckService {
    context: Arc<ServiceContext>,
    /// Taken for the whole of a request, so that equal ones join.
    runtime: Mutex<Option<Runtime>>,
}

impl CheckService {
    /// For the checks of a store. Output files are kept for some days.
    #[must_use]
    pub fn new(engine: Arc<Engine>, runner: Arc<CheckRunner>, log_days: u64) -> Self {
        let records = CheckRecords::new(engine);
        let context = ServiceContext::new(records, runner, log_days);
        Self { context: Arc::new(context), runtime: Mutex::default() }
    }

    /// The files a check depends on, as they are now.
    pub fn state(&self, wish: &CheckWish) -> Result<TreeState, CheckServiceError> {
        let order = order(wish, String::new(), wish.real_root()?);
        Ok(self.context.runner.trees().state(&order)?)
    }

    /// Finds or starts the run that gives the verdict. Returns as soon as its intent is stored.
    pub fn request(&self, mut wish: CheckWish) -> Result<CheckTicket, CheckServiceError> {
        let context = &self.context;
        wish.root = wish.real_root()?;
        let files = self.state(&wish)?;
        context.recover(&wish.workspace, None)?;
        let definition = wish.definition.digest();
        let workspace = wish.workspace.clone();
        let ticket = |run, is_reused| CheckTicket {
            workspace: workspace.clone(),
            run,
            is_reused,
            files: files.clone(),
        };
        let mut runtime = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if !wish.fresh && files.unbound.is_none() {
            let ledger = context.records.ledger(&wish.workspace, &wish.name)?;
            if let Some(entry) = ledger.holding(&definition, &files.scope) {
                return Ok(ticket(entry.run, true));
            }
        }
        if let Some(run) = context.same(&wish, &definition, &files.scope) {
            return Ok(ticket(run, false));
        }
        let driver = self.driver(&mut runtime)?;
        let request = RequestCheck {
            check: wish.name.clone(),
            definition,
            command: wish.definition.run.line(),
            directory: wish.root.to_string_lossy().into_owned(),
            runner: context.records.identity(),
            files: files.clone(),
            asked_for: wish.asked_for,
        };
        let run = context.records.request(&wish, request)?;
        let job = CheckJob::of(wish, run);
        context.enter(&job, files.scope.clone());
        driver.spawn(work::perform(Arc::clone(context), job));
        Ok(ticket(run, false))
    }

    /// The runtime, started with the first check.
    fn driver<'a>(&self, slot: &'a mut Option<Runtime>) -> Result<&'a Runtime, CheckServiceError> {
        let runtime = match slot.take() {
            Some(runtime) => runtime,
            None => {
                let mut builder = tokio::runtime::Builder::new_multi_thread();
                let builder = builder.worker_threads(WORKERS).thread_name("checks").enable_all();
                let runtime = builder.build().map_err(CheckServiceError::Runtime)?;
                let runner = Arc::clone(&self.context.runner);
                let days = self.context.log_days;
                runtime.spawn_blocking(move || {
                    files::remove_old(&runner.logs(), days);
                    files::remove_old(&runner.trees().cache_folder(), days);
                    runner.sweep();
                });
                runtime
            }
        };
        Ok(slot.insert(runtime))
    }

    /// The record of a run once it has its verdict; `None` if it takes longer than the limit.
    pub fn wait(
        &self,
        ticket: &CheckTicket,
        limit: Duration,
    ) -> Result<Option<CheckRecord>, CheckServiceError> {
        let deadline = Instant::now() + limit;
        loop {
            if self.context.is_active_until(ticket, deadline) {
                return Ok(None);
            }
            let record = self.context.settled(&ticket.workspace, ticket.run)?;
            if record.as_ref().is_none_or(CheckRecord::is_finished) {
                return Ok(record);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            std::thread::sleep(left.min(LOOK_PAUSE));
        }
    }

    /// Counts a caller among those who wait for a run, so that it can give up.
    pub fn waiter(&self, ticket: &CheckTicket) -> CheckWaiter {
        CheckWaiter::new(&self.context, (ticket.workspace.clone(), ticket.run))
    }

    /// Ends a run without a verdict and kills its processes; nothing if it has ended.
    pub fn cancel(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
        reason: &str,
    ) -> Result<(), CheckServiceError> {
        let name = (workspace.clone(), run);
        // Its own task records the end, after the processes are gone.
        let is_ours = self.context.active().get_mut(&name).map(|active| {
            active.reason = Some(reason.to_owned());
            active.end();
        });
        if is_ours.is_none() {
            self.context.end_foreign(workspace, run, reason)?;
        }
        let until = Instant::now() + STOP_MAX;
        self.context.is_active(&name, until);
        Ok(())
    }

    /// Ends all runs of this process.
    pub fn stop(&self) {
        let until = Instant::now() + STOP_MAX;
        let all: Vec<RunName> = {
            let mut active = self.context.active();
            active.values_mut().for_each(ActiveRun::end);
            active.keys().cloned().collect()
        };
        for name in all {
            if self.context.is_active(&name, until) {
                tracing::warn!(run = %name.1, "a check did not end in time");
            }
        }
    }

    /// How far a run of this process is; `None` if it has ended or belongs to another process.
    #[must_use]
    pub fn watch(&self, workspace: &WorkspaceId, run: CheckRunId) -> Option<CheckWatch> {
        let name = (workspace.clone(), run);
        self.context.active().get(&name).map(|active| active.watch)
    }

    /// A piece of the output of a run, at most 64 KiB. Empty at its end, for now or for good.
    pub fn output(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
        offset: u64,
    ) -> io::Result<OutputPiece> {
        files::read(&self.context.runner.log_path(&log_name(workspace, run)), offset)
    }

    /// A piece of the output of a run as it may be shown, from an offset on, and whether the run
    /// has ended; `None` if there is no file of it.
    pub fn shown_output(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
        at: (u64, bool),
    ) -> io::Result<Option<ShownOutput>> {
        shown::read(&self.context.runner.log_path(&log_name(workspace, run)), at)
    }

    /// The newest runs of a check, or of all checks.
    pub fn newest(
        &self,
        workspace: &WorkspaceId,
        check: Option<&str>,
        limit: u32,
    ) -> Result<Vec<CheckRecord>, CheckServiceError> {
        self.context.recover(workspace, None)?;
        self.context.records.newest(workspace, check, limit)
    }

    /// The record of a run.
    pub fn record(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
    ) -> Result<Option<CheckRecord>, CheckServiceError> {
        self.context.recover(workspace, None)?;
        self.context.records.record(workspace, run)
    }

    /// The verdicts of a check.
    pub fn ledger(
        &self,
        workspace: &WorkspaceId,
        check: &str,
    ) -> Result<CheckLedger, CheckServiceError> {
        self.context.recover(workspace, None)?;
        self.context.records.ledger(workspace, check)
    }
}

impl Drop for CheckService {
    fn drop(&mut self) {
        self.stop();
        let runtime = self.runtime.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl CheckWish {
    fn real_root(&self) -> Result<PathBuf, CheckServiceError> {
        real(&self.root)
    }
}

fn real(root: &Path) -> Result<PathBuf, CheckServiceError> {
    root.canonicalize().map_err(|error| CheckServiceError::Root { root: root.to_owned(), error })
}

/// Names the files and marks the processes of a run; runs of other workspaces have other names.
fn log_name(workspace: &WorkspaceId, run: CheckRunId) -> String {
    format!("{}-{run}", &sha256_hex(workspace.as_str().as_bytes())[..16])
}

fn order(wish: &CheckWish, id: String, root: PathBuf) -> CheckOrder {
    let purpose = CheckPurpose::Proof;
    CheckOrder { id, definition: wish.definition.clone(), root, purpose }
}

#[cfg(test)]
mod tests;
