//! The application as the surfaces see it: the registry and what its operations work on.

mod status;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

use muster_agents::{
    Rebuilt,
    checks::{CheckRunner, CheckService, PROOF_LOG_DAYS_DEFAULT},
    rebuild,
};
use muster_core::{
    Timestamp,
    session::SessionId,
    tasks::{
        TaskAggregate,
        id::{PlanId, TaskId, WorkspaceId},
    },
};
use muster_engine::{
    Clock, Encoded, Engine, Follower, SystemClock,
    doctor::DoctorReport,
    log_index, survey,
    transfer::{self, TransferError},
};
use muster_store::{DatabaseUrl, SqliteOptions, Store, StoreAccess, StoreError};
use serde_json::{Map, Value};

use crate::{
    Caller, Envelope, Registry, SessionBinding, Toolset, access,
    call::{self, CallFailure, Prepared},
    inspection, refusals,
    runs::{LiveRunOptions, RunOptions, RunsSettings, agent_operations},
    suggest,
    tasks::FocusMemory,
    todos::BoundSession,
    work::attention::ProtectedLooks,
};

pub use self::status::{ServerStatus, WorkspaceStatus};

/// How an [`App`] is set up.
#[derive(Clone, Debug, Default)]
pub struct AppOptions {
    /// Folder of the store and of what each installation has for itself.
    pub storage_dir: PathBuf,
    /// Which database holds the store, if not a file in that folder.
    pub database: DatabaseUrl,
    /// What the store is opened for.
    pub access: StoreAccess,
    /// Which tools are listed to agents.
    pub toolset: Toolset,
    /// Default workspace of portal calls.
    pub default_workspace: Option<WorkspaceId>,
    /// Whether this process keeps running and lets the store clean up when it is idle.
    pub keeps_house: bool,
    /// Whether calls arrive one after the other, as from a single agent.
    pub one_caller: bool,
    /// The session of the callers.
    pub session: SessionBinding,
    /// Task of the default workspace for calls without a target.
    pub bound_task: Option<TaskId>,
    /// Plan that calls may change, unless there is a task, whose plan it is then.
    pub bound_plan: Option<PlanId>,
    /// Budget of the text of a session's tree, in characters, if not the default.
    pub ctree_max_chars: Option<u64>,
    /// Days that the whole output of checks is kept, if not the default.
    pub proof_log_days: Option<u64>,
    /// How runs are set up.
    pub runs: LiveRunOptions,
    /// Who makes the calls whose surface does not say.
    pub caller: Caller,
}

/// The answer to a call of an operation that does not exist, for callers without a store.
pub fn unknown_operation(registry: &Registry, name: &str) -> Envelope {
    call::failure_envelope(name, refusals::unknown_tool(registry, name), SystemClock.now())
}

/// Everything an operation needs. Cheap to share behind an `Arc`; all calls block.
pub struct App {
    registry: Arc<Registry>,
    options: AppOptions,
    engine: Arc<Engine>,
    bound: Arc<BoundSession>,
    driver: OnceLock<muster_agents::Runs>,
    checks: Arc<CheckService>,
    focus: Arc<FocusMemory>,
    looks: Arc<ProtectedLooks>,
}

/// Whom a caller acts for.
#[derive(Clone, Debug)]
pub(crate) struct Standpoint {
    /// The session that records what it does.
    pub(crate) session: SessionId,
    pub(crate) workspace: WorkspaceId,
    /// The task that it works on.
    pub(crate) task: Option<TaskId>,
    /// The plan of its run.
    pub(crate) plan: Option<PlanId>,
    pub(crate) caller: Caller,
}

impl App {
    /// Opens the store in the options' directory; creates it if there is none.
    pub fn open(options: AppOptions) -> Result<Self, StoreError> {
        let access = options.access;
        let one_caller = options.one_caller;
        let files = SqliteOptions { access, one_caller, ..SqliteOptions::default() };
        let store = muster_store::open(&options.database, &options.storage_dir, files)?;
        if let Err(error) = survey::complete::<TaskAggregate>(&*store) {
            tracing::warn!(%error, "could not fill the index of searches; they read every task");
        }
        Ok(Self::over(store, Arc::new(SystemClock), options))
    }

    /// An application over any store and clock.
    pub fn over(store: Arc<dyn Store>, clock: Arc<dyn Clock>, options: AppOptions) -> Self {
        let engine = match (options.keeps_house, options.one_caller) {
            (true, true) => Engine::for_one_caller(store, clock),
            (keeps_house, _) => Engine::new(store, clock, keeps_house),
        };
        let engine = Arc::new(engine);
        let registry = Arc::new(Registry::default());
        let bound = Arc::new(BoundSession::new(options.session.clone()));
        let runner = Arc::new(CheckRunner::new(&options.storage_dir));
        let log_days = options.proof_log_days.unwrap_or(PROOF_LOG_DAYS_DEFAULT);
        let checks = CheckService::new(Arc::clone(&engine), runner, log_days);
        let checks = Arc::new(checks);
        let focus = Arc::default();
        let looks = Arc::default();
        Self { registry, options, engine, bound, driver: OnceLock::new(), checks, focus, looks }
    }

    /// The same application for calls that work in this workspace unless they name another.
    #[must_use]
    pub fn in_workspace(mut self, workspace: Option<WorkspaceId>) -> Self {
        self.options.default_workspace = workspace;
        self
    }

    /// The same store for callers who act for a session and work on a task.
    pub(crate) fn standing_for(&self, standpoint: Standpoint) -> Self {
        let Standpoint { session, workspace, task, plan, caller } = standpoint;
        let options = AppOptions {
            default_workspace: Some(workspace),
            session: SessionBinding::Named(session),
            bound_task: task,
            bound_plan: plan,
            caller,
            ..self.options.clone()
        };
        let bound = Arc::new(BoundSession::new(options.session.clone()));
        self.sharing(options, bound)
    }

    /// The same store and session for a caller who turns out to work elsewhere.
    #[must_use]
    pub fn moved_to(&self, workspace: WorkspaceId, directory: PathBuf) -> Self {
        let caller = Caller { directory: Some(directory), ..self.options.caller.clone() };
        let default_workspace = Some(workspace);
        let options = AppOptions { default_workspace, caller, ..self.options.clone() };
        self.sharing(options, Arc::clone(&self.bound))
    }

    fn sharing(&self, options: AppOptions, bound: Arc<BoundSession>) -> Self {
        let registry = Arc::clone(&self.registry);
        let engine = Arc::clone(&self.engine);
        let checks = Arc::clone(&self.checks);
        let focus = Arc::clone(&self.focus);
        let looks = Arc::clone(&self.looks);
        Self { registry, options, engine, bound, driver: OnceLock::new(), checks, focus, looks }
    }

    /// All operations.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// All operations, for surfaces that list them.
    pub fn registry_handle(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    /// The toolset chosen at start.
    pub fn toolset(&self) -> Toolset {
        self.options.toolset
    }

    /// The default workspace of portal calls.
    pub fn default_workspace(&self) -> Option<&WorkspaceId> {
        self.options.default_workspace.as_ref()
    }

    /// The task of the default workspace for calls without a target.
    pub(crate) fn bound_task(&self) -> Option<TaskId> {
        self.options.bound_task
    }

    /// Who makes the calls whose surface does not say.
    pub fn caller(&self) -> &Caller {
        &self.options.caller
    }

    /// Budget of the text of a session's tree, if not the default (CC-5).
    pub fn ctree_max_chars(&self) -> Option<u64> {
        self.options.ctree_max_chars
    }

    pub(crate) fn options(&self) -> &AppOptions {
        &self.options
    }

    /// Where the store is.
    pub(crate) fn storage_dir(&self) -> &Path {
        &self.options.storage_dir
    }

    /// Puts other settings of runs in force, from the next request, turn or program on.
    pub fn reload_runs(&self, settings: RunsSettings, roots: Vec<PathBuf>) {
        self.options.runs.replace(RunOptions::of(&settings, roots));
        if let Some(driver) = self.driver() {
            driver.reload(settings);
        }
    }

    /// Connects the engine of runs: from now on the effects of their rules are carried out. Only
    /// the first call counts.
    pub fn drive(self: &Arc<Self>, runs: muster_agents::Runs) {
        runs.offer_operations(agent_operations(self));
        if self.driver.set(runs).is_err() {
            tracing::warn!("runs are driven already");
        }
    }

    /// Runs checks and records them; costs nothing until the first one.
    pub fn checks(&self) -> &Arc<CheckService> {
        &self.checks
    }

    /// The engine of runs, if there is one.
    pub fn driver(&self) -> Option<&muster_agents::Runs> {
        self.driver.get()
    }

    /// The store's engine, for the engine of runs.
    pub fn engine_handle(&self) -> Arc<Engine> {
        Arc::clone(&self.engine)
    }

    /// The engine, for surfaces that follow streams.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Calls an operation by name; its answer is whole. Blocks until the result is durable.
    pub fn call(&self, name: &str, arguments: Map<String, Value>) -> Envelope {
        self.call_as(self.caller(), name, arguments)
    }

    /// The same for a caller whom the surface knows.
    pub fn call_as(&self, caller: &Caller, name: &str, arguments: Map<String, Value>) -> Envelope {
        let prepared = self.prepare(caller, name, arguments);
        let answer = prepared.and_then(|prepared| prepared.perform(self));
        self.finish(caller, name, answer)
    }

    /// Checks the arguments of a call; reads what it only reads.
    pub(crate) fn prepare(
        &self,
        caller: &Caller,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Prepared, CallFailure> {
        match self.registry.get(name) {
            Some(row) => {
                access::check(self, row, caller, &arguments)?;
                (row.prepare)(self, caller, arguments)
            }
            None => Err(refusals::unknown_tool(&self.registry, name)),
        }
    }

    /// Completes the answer to a call.
    pub(crate) fn finish(
        &self,
        caller: &Caller,
        name: &str,
        answer: Result<Envelope, CallFailure>,
    ) -> Envelope {
        let mut envelope = answer.unwrap_or_else(|failure| call::failed(self, name, failure));
        self.focus.learn(caller, name, &envelope);
        suggest::fit_envelope(&mut envelope, &self.registry, self.options.toolset);
        envelope
    }

    /// What connections know of the focus.
    pub(crate) fn focus_memory(&self) -> &FocusMemory {
        &self.focus
    }

    /// What was found out about protected files a moment ago.
    pub(crate) fn protected_looks(&self) -> &ProtectedLooks {
        &self.looks
    }

    /// Follows how far a workspace has come, from now on. What happened is not sent:
    /// `tasks_delta` shows it.
    pub fn follow_work(&self, workspace: &str) -> Result<Follower, StoreError> {
        let stream = format!("workspace/{workspace}");
        let after = self.engine.store().snapshot()?.head(&stream)?.seq;
        self.engine.follow(stream, after, |_, _| Encoded::NUMBER_ONLY)
    }

    /// Replays the log and compares it with the documents; changes nothing.
    pub fn doctor(&self) -> Result<DoctorReport, StoreError> {
        inspection::examine(self.engine.store())
    }

    /// Fills the indexes of searches again.
    pub fn reindex(&self) -> Result<(), StoreError> {
        survey::rebuild::<TaskAggregate>(self.engine.store())?;
        log_index::rebuild(self.engine.store())
    }

    /// Restores runs that the store has lost from their files.
    pub fn rebuild_runs(&self) -> Result<Rebuilt, TransferError> {
        rebuild(&self.engine, &self.options.storage_dir)
    }

    /// Shrinks the store's file to its content.
    pub fn compact(&self) -> Result<(), StoreError> {
        self.engine.store().compact()
    }

    /// Writes every event of a workspace as one line of JSON; returns their number.
    pub fn export(
        &self,
        workspace: &WorkspaceId,
        write: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> Result<u64, TransferError> {
        transfer::export::<TaskAggregate>(self.engine.store(), &workspace.stream(), write)
    }

    /// Imports such lines into an empty workspace, completely or not at all; returns the number of
    /// events it then has.
    pub fn import<'a>(
        &self,
        workspace: &WorkspaceId,
        lines: impl Iterator<Item = &'a str>,
    ) -> Result<u64, TransferError> {
        self.engine.import::<TaskAggregate>(workspace.stream(), lines)
    }

    /// The session of the callers, once it exists.
    pub fn session(&self) -> Option<SessionId> {
        self.bound.session()
    }

    pub(crate) fn bound(&self) -> &BoundSession {
        &self.bound
    }

    /// The current moment.
    pub fn now(&self) -> Timestamp {
        self.engine.now()
    }
}
