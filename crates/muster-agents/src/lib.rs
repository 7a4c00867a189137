//! Runs: graphs of agents that this process drives.
//!
//! ```text
//!   surface ── ask ──► log ──► lane (one per run) ── effects ──► driver (one per node) ──► program
//!                       ▲                  │                          │
//!                       │                  └──► schedule ──► begin    │
//!                       └───────────────── asks of the runtime ◄──────┘
//! ```
//!
//! Every change is a command to the core, whatever its source. A lane follows the log of its run
//! and performs the effects that the core derives from it; their outcome is another command. So the
//! log alone records how far a run is, and a restart finds in it what is left to do.

mod allow;
mod artifacts;
mod attend;
mod background;
mod begin;
mod boot;
mod bound;
mod calls;
pub mod checkout;
pub mod checks;
pub mod contained;
pub mod desktop;
mod diff;
mod driver;
mod finish;
mod hook;
mod lane;
mod lock;
mod logfile;
mod mirror;
pub mod notify;
mod originals;
mod packs;
mod process;
mod provider;
mod rebuild;
mod recovery;
mod regular;
mod removal;
mod reports;
mod repository;
mod revert;
mod schedule;
mod settings;
mod shared;
mod survey;
mod templates;
#[cfg(test)]
mod tests;
mod timers;
mod todos;
mod tokens;
mod tools;
mod trash;
mod verify;
pub mod watched;
mod worktree;

use std::{sync::Arc, time::Duration};

use muster_core::{
    Documents, WorkRefusal,
    run::{
        Ask, RunAggregate as Room,
        artifact::Artifact,
        command::{CallFiles, Recover, Resolve},
        edge::Actor,
        id::{AllowRuleId, ApprovalId, ArtifactId, NodeId, RunId},
        lookup,
        node::Provider,
        view::attention::Attention,
    },
};
use muster_store::StoreError;
use tokio::sync::{mpsc, oneshot};

pub use allow::{allow_rules, clear_places};
pub use artifacts::{ArtifactChunk, ArtifactError, CHUNK_BYTES_MAX};
pub use attend::Attended;
pub use calls::{AgentWish, TaskOperations, Witnessed};
pub use diff::net::{ChangedDirectory, NetChangeKind, NetChanges, NetFile, NotReverted, TurnTouch};
pub use hook::{HookAnswer, HookQuestion, ask as ask_hook};
pub use originals::OriginalOf;
pub use provider::{OfferedTool, Probe};
pub use rebuild::{Rebuilt, rebuild};
pub use repository::make_repository;
pub use revert::RevertedFiles;
pub use settings::{Contain, McpCommand, Profile, Protocol, RunsSettings, Sandbox, ToolExecution};
pub use shared::{AskError, RunEvents};
pub use survey::{ProviderFamily, survey};
pub use templates::{FoundTemplate, TemplateShelf};
pub use tokens::Bearer;
pub use tools::{AnswerError, ToolAnswer};
pub use trash::{Discarded, discarded};
pub use worktree::{
    IgnoredFiles, MadeBranch, Merged, NotMerged, Worktree, WorktreeState, worktrees,
};

use self::{
    lane::LaneOrder, process::confine::Containing, schedule::Schedule, shared::RunsContext,
};
use muster_engine::Engine;

/// Time limit of the shutdown of all runs (RUNS-REC-4).
const SHUTDOWN_MAX: Duration = Duration::from_secs(9);

/// Prefix of their streams.
const RUN_STREAMS: &str = "run/";
/// Prefix of the streams of sessions.
const SESSION_STREAMS: &str = "session/";
/// The last event of a run.
const DELETED: &str = "run.deleted";

/// Why runs cannot be driven.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Another server drives the runs of the same storage folder.
    #[error(
        "another server (process {pid}) drives the runs of this storage folder: use that one, \
         `muster status` says where it is, or start this one with another --storage-dir"
    )]
    Locked { pid: String },
    /// The storage folder cannot be used.
    #[error("the storage folder cannot be used: {0}")]
    Disk(#[from] std::io::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The runs of one server. Cheap to clone; all clones are the same runs.
#[derive(Clone)]
pub struct Runs {
    shared: Arc<RunsContext>,
}

impl Runs {
    /// Starts to drive runs: recovers what an earlier server left, then continues. Needs an
    /// asynchronous runtime, which everything runs on.
    pub async fn start(engine: Arc<Engine>, settings: RunsSettings) -> Result<Self, StartError> {
        provider::agent::resume_delay::watch();
        let lock = lock::take(&settings.home).await?;
        hook::sweep(&settings.home);
        process::strays::adopt();
        let containing = Containing::tried(&settings).await;
        let (wish, wishes) = mpsc::unbounded_channel();
        let shared = Arc::new(RunsContext::over(engine, settings, containing, wish, lock));
        let runs = Self { shared: Arc::clone(&shared) };
        // Subscribed before anything is read, so that nothing is missed.
        let news = shared.engine.grown(RUN_STREAMS);
        let sessions = shared.engine.grown(SESSION_STREAMS);
        recovery::recover(&shared).await?;
        let tidied = Arc::clone(&shared);
        background::blocking(move || {
            removal::empty_trash(&tidied);
            removal::remove_unfinished(&tidied);
        });
        background::spawn(Arc::clone(&shared).attend(news));
        background::spawn(todos::show(Arc::clone(&shared), sessions));
        background::spawn(Schedule::of(shared).work(wishes));
        Ok(runs)
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<RunsSettings> {
        self.shared.live.now()
    }

    /// Puts other settings in force, from the next turn or program on.
    pub fn reload(&self, settings: RunsSettings) {
        self.shared.live.replace(settings);
    }

    /// Records that changed settings cannot be read; those from before stay in force.
    pub fn refuse_settings(&self, why: String) {
        *self.shared.live.fault() = Some(why);
    }

    /// Why changed settings are not in force.
    pub fn settings_fault(&self) -> Option<String> {
        self.shared.live.fault().clone()
    }

    /// The engine, for reading several streams in one snapshot.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.shared.engine
    }

    /// Lets nodes call operations of the task store that need a person's approval.
    pub fn offer_operations(&self, operations: Arc<dyn TaskOperations>) {
        self.shared.offer_operations(operations);
    }

    /// A fresh id for something that its creator names, such as a run.
    pub fn fresh_id(&self) -> u128 {
        self.shared.fresh()
    }

    /// Keeps what a person typed until the turn that gets it has ended; the log has it without the
    /// secret. It is durable when this returns; blocks until then.
    pub fn keep_original(&self, run: RunId, of: OriginalOf, text: &str) -> std::io::Result<()> {
        self.shared.originals.keep(run, of, text)
    }

    /// Removes an original whose input was not created.
    pub fn forget_original(&self, run: RunId, of: OriginalOf) {
        self.shared.originals.forget(run, of);
    }

    /// Requests a change. Returns its events when they are durable; they name everything that was
    /// created. Blocks until then.
    pub fn ask(&self, run: RunId, by: Actor, ask: Ask) -> Result<RunEvents, AskError> {
        self.shared.ask(run, by, ask)
    }

    /// Runs a view over one snapshot of a run; blocks.
    pub fn read<T>(
        &self,
        run: RunId,
        view: impl Fn(&Documents<Room>) -> Result<T, WorkRefusal<Room>>,
    ) -> Result<T, AskError> {
        self.shared.engine.read::<Room, T>(&run.stream(), view)
    }

    /// Reads a piece of an artifact's file; blocks.
    pub fn read_artifact(
        &self,
        artifact: &Artifact,
        offset: u64,
        max_bytes: usize,
    ) -> Result<ArtifactChunk, ArtifactError> {
        self.shared.files.read(artifact, offset, max_bytes)
    }

    /// An artifact of a run, if there is one; blocks.
    pub fn artifact(&self, run: RunId, id: ArtifactId) -> Result<Artifact, AskError> {
        self.read(run, |docs| lookup::artifact(docs, id).cloned())
    }

    /// Makes a tool call for the agent of a node, in the turn that it has in flight. It always gets
    /// a result (RUNS-TOOL-2).
    pub async fn call_tool(&self, caller: Bearer, call: AgentWish) -> ToolAnswer {
        calls::call(&self.shared, caller, call).await
    }

    /// Executes a call elsewhere, and records it in the turn that the node has in flight: proposed
    /// and begun before, completed after. The work blocks.
    pub async fn witness_call<T: Send + 'static>(
        &self,
        caller: Bearer,
        call: AgentWish,
        work: impl FnOnce() -> (Witnessed, T) + Send + 'static,
    ) -> Result<T, StoreError> {
        calls::witness(&self.shared, caller, call, work).await
    }

    /// Resolves an approval for a person. An approved call may need files, which are written first.
    pub async fn resolve(&self, run: RunId, resolve: Resolve) -> Result<RunEvents, AskError> {
        calls::resolve(&self.shared, run, resolve).await
    }

    /// Lets a rule that a person has just made answer what already waits; blocks. Returns how many
    /// approvals it answered.
    pub fn answer_pending(&self, rule: AllowRuleId) -> Result<usize, StoreError> {
        allow::answer_pending(&self.shared, rule)
    }

    /// Files that a decision needs before it is recorded: a node that is created with it gets what
    /// its parent knows (RUNS-TOOL-7).
    pub async fn files_for_answer(&self, run: RunId, id: ApprovalId) -> CallFiles {
        calls::files_for_answer(&self.shared, run, id).await
    }

    /// What a run has changed as a whole, compared with its start.
    pub async fn net_changes(&self, run: RunId) -> Result<NetChanges, AskError> {
        diff::net::changes(&self.shared, run).await
    }

    /// The same as a patch: of the directory of the run or the worktree of a node, of all files or
    /// of these.
    pub async fn net_patch(
        &self,
        run: RunId,
        node: Option<NodeId>,
        paths: &[String],
    ) -> Result<Result<String, NotReverted>, AskError> {
        diff::net::patch(&self.shared, run, node, paths).await
    }

    /// Puts files back to what they were before the run; a patch that makes the changes again is
    /// kept as an artifact.
    pub async fn revert(
        &self,
        run: RunId,
        node: Option<NodeId>,
        paths: &[String],
    ) -> Result<Result<RevertedFiles, NotReverted>, AskError> {
        revert::revert(&self.shared, run, node, paths).await
    }

    /// Makes a branch of what the run changed in a directory.
    pub async fn make_branch(
        &self,
        run: RunId,
        node: Option<NodeId>,
        name: &str,
    ) -> Result<Result<MadeBranch, NotReverted>, AskError> {
        revert::make_branch(&self.shared, run, node, name).await
    }

    /// What waits for a person, over all runs, oldest first; blocks.
    pub fn attention(&self) -> Result<Vec<Attention>, StoreError> {
        calls::attention(&self.shared)
    }

    /// The node whose agent bears a token, while its process runs (RUNS-SEC-3).
    pub fn node_of_token(&self, token: &str) -> Option<Bearer> {
        self.shared.tokens.bearer(token)
    }

    /// The tools that a node may call now; blocks.
    pub fn tools(&self, caller: Bearer) -> Result<Vec<OfferedTool>, AskError> {
        let node = self.read(caller.run, |docs| lookup::node(docs, caller.node).cloned())?;
        Ok(tools::offered(&node, false))
    }

    /// Whether the program of a profile can be used.
    pub async fn probe(&self, provider: Provider, profile: &str) -> Option<Probe> {
        let profile = self.shared.live.now().profile(provider, profile)?.clone();
        Some(provider::adapter(provider, &profile).probe().await)
    }

    /// Deletes a run: its turns and processes end, its files go to the trash.
    pub async fn delete(&self, run: RunId) -> Result<(), AskError> {
        removal::delete(&self.shared, run).await
    }

    /// Shuts down: turns are interrupted, processes closed, files written (RUNS-REC-4).
    pub async fn shut_down(&self) {
        self.shared.closing.send_replace(true);
        let stopped = async {
            let lanes = self.shared.lanes();
            for (run, _) in &lanes {
                self.shared.report(*run, Ask::ShutDown).await;
            }
            let mut stopping = Vec::new();
            for (run, lane) in lanes {
                let (stopped, stop) = oneshot::channel();
                if lane.send(LaneOrder::Stop(stopped)).is_ok() {
                    stopping.push((run, stop));
                }
            }
            for (run, stop) in stopping {
                if stop.await.is_err() {
                    tracing::warn!(%run, "the lane of a run stopped early");
                }
                let recover = Recover { shutdown: true, turns: Vec::new() };
                self.shared.report(run, Ask::Recover(Box::new(recover))).await;
            }
        };
        if tokio::time::timeout(SHUTDOWN_MAX, stopped).await.is_err() {
            tracing::warn!("some runs did not stop in time; the next start recovers them");
        }
        self.shared.unlock();
    }
}
