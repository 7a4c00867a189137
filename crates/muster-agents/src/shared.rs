//! Shared by all parts of the run runtime: commands, reads, and the lanes.

use std::{
    collections::BTreeMap,
    fs::File,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use muster_core::{
    Documents, Recorded, WorkRefusal,
    run::{
        Ask, RunAggregate as Room, RunCommand, RunEvent, RunRejection,
        allow::Allowing,
        edge::Actor,
        event::ToolCompleted,
        id::{IdSeed, NodeId, RunId, ToolId, TurnId},
        inbox::InboxItem,
        node::{Containment, Node},
        prompt::Prompt,
    },
};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot, watch},
};

use super::{
    artifacts::Files,
    calls::TaskOperations,
    checks::CheckRunner,
    diff::Shadows,
    lane::{self, LaneOrder},
    originals::Originals,
    process::confine::{Confinement, Containing},
    schedule::Wish,
    settings::{LiveSettings, RunsSettings},
    todos::Lists,
    tokens::Tokens,
    tools::FileCalls,
    worktree::Placing,
};
use muster_engine::{Engine, ExecuteError, GrowthListener};

/// Events that a command gave, in order.
pub type RunEvents = Vec<Recorded<RunEvent>>;
/// Why a command gave none.
pub type AskError = ExecuteError<RunRejection>;

/// Pause before a failed write is retried.
const STORE_PAUSE: Duration = Duration::from_millis(500);
/// How long a call waits for the earlier output of its program.
const SETTLE_MAX: Duration = Duration::from_secs(2);

/// A prompt that is written and whose turn begins.
pub(crate) struct PromptedTurn {
    /// The sent and the effective prompt.
    pub(crate) prompt: Prompt,
    /// The inputs that it holds.
    pub(crate) inputs: Vec<InboxItem>,
}

/// What all parts share.
pub(crate) struct RunsContext {
    pub(crate) engine: Arc<Engine>,
    /// As the server started; where things are does not change.
    pub(crate) settings: RunsSettings,
    pub(crate) live: LiveSettings,
    pub(crate) files: Files,
    pub(crate) shadows: Shadows,
    /// What people typed where it held a secret.
    pub(crate) originals: Originals,
    /// Marks processes of this storage folder.
    pub(crate) mark: String,
    /// How processes are contained.
    pub(crate) containing: Containing,
    /// Runs the checks of runs.
    pub(crate) checks: Arc<CheckRunner>,
    /// Signals shutdown.
    pub(crate) closing: watch::Sender<bool>,
    /// Todo lists of nodes.
    pub(crate) lists: Lists,
    pub(crate) tokens: Tokens,
    /// Calls of tools that touch files.
    pub(crate) file_calls: FileCalls,
    /// Nodes whose worktrees are being made.
    pub(crate) placing: Placing,
    operations: OnceLock<Arc<dyn TaskOperations>>,
    schedule: mpsc::UnboundedSender<Wish>,
    lanes: Mutex<BTreeMap<RunId, mpsc::UnboundedSender<LaneOrder>>>,
    planned: Mutex<BTreeMap<TurnId, PromptedTurn>>,
    callers: Mutex<BTreeMap<ToolId, oneshot::Sender<ToolCompleted>>>,
    runtime: Handle,
    /// Held as long as this server drives the runs.
    lock: Mutex<Option<File>>,
}

/// Values are moved in and out whole, so a panic elsewhere leaves them usable.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RunsContext {
    pub(crate) fn over(
        engine: Arc<Engine>,
        settings: RunsSettings,
        containing: Containing,
        schedule: mpsc::UnboundedSender<Wish>,
        lock: File,
    ) -> Self {
        Self {
            files: Files::below(&settings.home),
            shadows: Shadows::default(),
            originals: Originals::below(&settings.home),
            mark: super::process::mark(&settings.home),
            checks: Arc::new(CheckRunner::new(&settings.home)),
            containing,
            closing: watch::Sender::new(false),
            engine,
            live: LiveSettings::of(&settings),
            settings,
            schedule,
            lanes: Mutex::default(),
            planned: Mutex::default(),
            callers: Mutex::default(),
            lists: Lists::default(),
            tokens: Tokens::default(),
            file_calls: FileCalls::default(),
            placing: Placing::default(),
            operations: OnceLock::new(),
            runtime: Handle::current(),
            lock: Mutex::new(Some(lock)),
        }
    }

    /// How a process of a node is contained, and a description of it.
    pub(crate) fn confine(&self, node: &Node) -> (Option<Confinement>, Containment) {
        let live = self.live.now();
        let profile = live.profile(node.provider, &node.provider_profile);
        let contain = profile.map(|profile| profile.contain).unwrap_or_default();
        self.containing.confine(contain, Path::new(&node.workdir))
    }

    /// Lets another server drive the runs.
    pub(crate) fn unlock(&self) {
        locked(&self.lock).take();
    }

    /// Lets nodes call operations of the task store; only the first call counts.
    pub(crate) fn offer_operations(&self, operations: Arc<dyn TaskOperations>) {
        if self.operations.set(operations).is_err() {
            tracing::warn!("operations of the task store were registered already");
        }
    }

    /// The operations of the task store, if they are offered.
    pub(crate) fn operations(&self) -> Option<Arc<dyn TaskOperations>> {
        self.operations.get().cloned()
    }

    /// Sends a command to the core. Returns when its events are durable; blocks until then.
    pub(crate) fn ask(
        self: &Arc<Self>,
        run: RunId,
        by: Actor,
        ask: Ask,
    ) -> Result<RunEvents, AskError> {
        let command = RunCommand { by, seed: IdSeed(self.fresh()), ask };
        let work = move |draft: &mut muster_core::Draft<'_, Room>| {
            draft.apply(&command).map(<[Recorded<RunEvent>]>::to_vec)
        };
        self.engine.execute::<Room, _>(run.stream(), work)
    }

    /// Reports an outcome to the core, as the runtime. A store that cannot be written is retried
    /// until it can or the server shuts down (RUNS-EV-3).
    pub(crate) async fn submit(
        self: &Arc<Self>,
        run: RunId,
        ask: Ask,
    ) -> Result<RunEvents, AskError> {
        self.submit_within(run, ask, None).await
    }

    /// The same for a command that may ask a person, whom rules can answer for.
    pub(crate) async fn submit_within(
        self: &Arc<Self>,
        run: RunId,
        ask: Ask,
        allowing: Option<Allowing>,
    ) -> Result<RunEvents, AskError> {
        loop {
            let shared = Arc::clone(self);
            let command = ask.clone();
            let allowing = allowing.clone();
            let task = move || match allowing {
                Some(allowing) => shared.ask_within_rules(run, &command, allowing),
                None => shared.ask(run, Actor::RUNTIME, command),
            };
            match crate::background::blocking(task).await {
                Ok(Err(ExecuteError::Store(failure))) if !*self.closing.borrow() => {
                    tracing::warn!(
                        %run,
                        error = %failure.0,
                        "could not write to the store; retrying"
                    );
                    tokio::time::sleep(STORE_PAUSE).await;
                }
                Ok(outcome) => return outcome,
                Err(error) => {
                    let action = "reported to a run";
                    let cause = error.to_string();
                    return Err(muster_store::StoreError::Engine { action, cause }.into());
                }
            }
        }
    }

    /// Submits a command whose rejection means that the matter is settled already.
    pub(crate) async fn report(self: &Arc<Self>, run: RunId, ask: Ask) -> RunEvents {
        self.report_within(run, ask, None).await
    }

    /// The same for a command that may ask a person, whom rules can answer for.
    pub(crate) async fn report_within(
        self: &Arc<Self>,
        run: RunId,
        ask: Ask,
        allowing: Option<Allowing>,
    ) -> RunEvents {
        match self.submit_within(run, ask, allowing).await {
            Ok(events) => events,
            Err(error) => {
                tracing::debug!(%run, ?error, "report rejected");
                Vec::new()
            }
        }
    }

    /// Runs a view over one snapshot of a run, on a thread that may block.
    pub(crate) async fn view<T: Send + 'static>(
        self: &Arc<Self>,
        run: RunId,
        view: impl Fn(&Documents<Room>) -> Result<T, WorkRefusal<Room>> + Send + 'static,
    ) -> Result<T, AskError> {
        match crate::background::blocking(self.reading(run, view)).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let action = "read a run";
                let cause = error.to_string();
                Err(muster_store::StoreError::Engine { action, cause }.into())
            }
        }
    }

    /// The same for a view of many documents or events.
    pub(crate) async fn view_large<T: Send + 'static>(
        self: &Arc<Self>,
        run: RunId,
        view: impl Fn(&Documents<Room>) -> Result<T, WorkRefusal<Room>> + Send + 'static,
    ) -> Result<T, AskError> {
        self.engine.read_large(self.reading(run, view)).await?
    }

    fn reading<T>(
        &self,
        run: RunId,
        view: impl Fn(&Documents<Room>) -> Result<T, WorkRefusal<Room>> + Send + 'static,
    ) -> impl FnOnce() -> Result<T, AskError> + Send + 'static {
        let engine = Arc::clone(&self.engine);
        move || engine.read::<Room, T>(&run.stream(), view)
    }

    /// A fresh id: a version 7 UUID.
    pub(crate) fn fresh(&self) -> u128 {
        let mut bytes = [0; 16];
        if let Err(error) = getrandom::fill(&mut bytes) {
            unreachable!("the operating system has random numbers: {error}");
        }
        IdSeed(u128::from_be_bytes(bytes)).mint(self.engine.now()).fresh()
    }

    /// The lane of a run; it follows all events from now on.
    pub(crate) fn lane(
        self: &Arc<Self>,
        run: RunId,
    ) -> Result<mpsc::UnboundedSender<LaneOrder>, AskError> {
        let after = self.engine.store().snapshot()?.head(&run.stream())?.seq;
        Ok(self.lane_after(run, after))
    }

    /// The lane of a run; a new one follows it after this number.
    fn lane_after(self: &Arc<Self>, run: RunId, after: u64) -> mpsc::UnboundedSender<LaneOrder> {
        let mut lanes = locked(&self.lanes);
        if let Some(lane) = lanes.get(&run).filter(|lane| !lane.is_closed()) {
            return lane.clone();
        }
        let (lane, orders) = mpsc::unbounded_channel();
        self.runtime.spawn(lane::RunLane::of(Arc::clone(self), run, after).follow(orders));
        lanes.insert(run, lane.clone());
        lane
    }

    /// Wakes the lane of every run whose log grows, whatever writes to it.
    pub(crate) async fn attend(self: Arc<Self>, mut news: GrowthListener) {
        let mut closing = self.closing.subscribe();
        loop {
            let grown = tokio::select! {
                grown = news.next() => grown,
                _ = closing.wait_for(|closing| *closing) => return,
            };
            for (stream, from) in grown {
                let Some(run) = RunId::of_stream(&stream) else { continue };
                let lane = self.lane_after(run, from.saturating_sub(1));
                if lane.send(LaneOrder::Look).is_err() {
                    tracing::debug!(%run, "the lane of the run is closed");
                }
            }
        }
    }

    /// Waits until all output of a node's program so far is recorded (RUNS-EV-7), within a bound.
    pub(crate) async fn settle(&self, run: RunId, node: NodeId) {
        let (settled, flushed) = oneshot::channel();
        let lane = locked(&self.lanes).get(&run).cloned();
        let sent = lane.map(|lane| lane.send(LaneOrder::Settle(node, settled)));
        if matches!(sent, Some(Ok(()))) && tokio::time::timeout(SETTLE_MAX, flushed).await.is_err()
        {
            tracing::warn!(
                %run,
                %node,
                "timed out while flushing the program's earlier output before a call"
            );
        }
    }

    /// Deletes a run whose lane has ended.
    pub(crate) fn forget(&self, run: RunId) -> Result<(), AskError> {
        let seed = IdSeed(self.fresh());
        let command = RunCommand { by: Actor::RUNTIME, seed, ask: Ask::RemoveRun };
        let work = move |draft: &mut muster_core::Draft<'_, Room>| draft.apply(&command).map(drop);
        self.engine.execute::<Room, _>(run.stream(), work)
    }

    pub(crate) fn lanes(&self) -> Vec<(RunId, mpsc::UnboundedSender<LaneOrder>)> {
        locked(&self.lanes).iter().map(|(run, lane)| (*run, lane.clone())).collect()
    }

    /// Drops the lane of a deleted run.
    pub(crate) fn forget_lane(&self, run: RunId) {
        locked(&self.lanes).remove(&run);
    }

    /// Requests a check for nodes that may start.
    pub(crate) fn wish(&self, wish: Wish) {
        if self.schedule.send(wish).is_err() {
            tracing::debug!("the scheduler is closed");
        }
    }

    /// Keeps a prompt until its turn is sent.
    pub(crate) fn plan(&self, turn: TurnId, planned: PromptedTurn) {
        locked(&self.planned).insert(turn, planned);
    }

    pub(crate) fn take_plan(&self, turn: TurnId) -> Option<PromptedTurn> {
        locked(&self.planned).remove(&turn)
    }

    /// Waits for the outcome of a call.
    pub(crate) fn await_call(&self, tool: ToolId) -> oneshot::Receiver<ToolCompleted> {
        let (sender, receiver) = oneshot::channel();
        locked(&self.callers).insert(tool, sender);
        receiver
    }

    /// Whether a caller that gives up after a while waits for a call.
    pub(crate) fn is_awaited(&self, tool: ToolId) -> bool {
        locked(&self.callers).contains_key(&tool)
    }

    /// The caller has stopped waiting.
    pub(crate) fn leave_call(&self, tool: ToolId) {
        locked(&self.callers).remove(&tool);
    }

    /// Sends the outcome of a call to its waiter; returns whether there was one.
    pub(crate) fn answer_call(&self, completed: &ToolCompleted) -> bool {
        let caller = locked(&self.callers).remove(&completed.tool_id);
        caller.is_some_and(|caller| caller.send(completed.clone()).is_ok())
    }
}
