//! The lane of a run: follows its log, keeps its files in sync, and performs the effects that the
//! core requests.

pub(crate) mod drivers;

use std::sync::Arc;

use muster_core::run::{
    RunAggregate as Room, RunEvent,
    effect::{self, NodeEffect, RunEffect},
    id::{NodeId, RunId},
    view::history::{LoggedEvent, wire},
};
use muster_store::{EventRow, StoreError};
use tokio::{
    sync::{mpsc, oneshot},
    task::AbortHandle,
    time::{Duration, Instant},
};

use self::drivers::Drivers;
use super::{
    boot,
    driver::DriverOrder,
    logfile::LogFile,
    mirror::{self, Mirror, Numbered},
    originals::{self, Sweep},
    removal, reports,
    schedule::Wish,
    shared::RunsContext,
    timers, tools, verify,
};

const PAGE_EVENTS: u32 = 512;
/// Minimum time between writes of the snapshot file.
const SNAPSHOT_PAUSE: Duration = Duration::from_secs(5);

/// Events that may end the need for an original.
const OVER: [&str; 3] = ["turn.status", "node.inbox", "node.deleted"];

pub(crate) enum LaneOrder {
    /// The log may have grown.
    Look,
    /// Something else of a node is about to be recorded.
    Settle(NodeId, oneshot::Sender<()>),
    /// Effects that were left to perform when the server started.
    Perform(Vec<RunEffect>),
    /// Shutdown: processes are closed, files are written.
    Stop(oneshot::Sender<()>),
}

pub(crate) struct RunLane {
    shared: Arc<RunsContext>,
    run: RunId,
    after: u64,
    log: LogFile,
    drivers: Drivers,
    checks: Option<AbortHandle>,
    mirror: mpsc::UnboundedSender<Numbered>,
    snapshot_due: Option<Instant>,
    /// Whether the run was deleted.
    deleted: bool,
}

impl RunLane {
    /// A lane that has processed everything up to a number.
    pub(crate) fn of(shared: Arc<RunsContext>, run: RunId, after: u64) -> Self {
        let log = LogFile::of(&shared.files, run);
        let mirror = Mirror::start(Arc::clone(&shared), run);
        let drivers = Drivers::of(Arc::clone(&shared), run);
        let checks = None;
        let snapshot_due = None;
        let deleted = false;
        Self { shared, run, after, log, drivers, checks, mirror, snapshot_due, deleted }
    }

    /// Follows the run until shutdown.
    pub(crate) async fn follow(mut self, mut orders: mpsc::UnboundedReceiver<LaneOrder>) {
        self.catch_up_file().await;
        let mut next = None;
        loop {
            let due = self.snapshot_due;
            let order = match next.take() {
                Some(order) => Some(order),
                None => tokio::select! {
                    order = orders.recv() => order,
                    () = until(due) => {
                        self.write_snapshot().await;
                        continue;
                    }
                },
            };
            match order {
                Some(LaneOrder::Look) => {
                    // One check serves all requests that are queued by now.
                    while next.is_none()
                        && let Ok(order) = orders.try_recv()
                    {
                        next = (!matches!(order, LaneOrder::Look)).then_some(order);
                    }
                    self.look().await;
                    if self.deleted {
                        return self.vanish().await;
                    }
                }
                Some(LaneOrder::Settle(node, settled)) => {
                    self.drivers.order(node, DriverOrder::Settle(settled));
                }
                Some(LaneOrder::Perform(effects)) => {
                    effects.into_iter().for_each(|effect| self.perform(effect));
                }
                Some(LaneOrder::Stop(stopped)) => {
                    self.stop().await;
                    if stopped.send(()).is_err() {
                        tracing::debug!("run ended without a waiter");
                    }
                    return;
                }
                None => return,
            }
        }
    }

    /// Reads new events and performs their effects.
    async fn look(&mut self) {
        loop {
            let shared = Arc::clone(&self.shared);
            let run = self.run;
            let after = self.after;
            let read = crate::background::blocking(move || page(&shared, run, after)).await;
            let Page { rows, events, effects } = match read {
                Ok(Ok(page)) => page,
                Ok(Err(error)) => {
                    tracing::warn!(%error, run = %self.run, "could not follow the log of the run");
                    return;
                }
                Err(error) => {
                    tracing::error!(%error, run = %self.run, "could not follow the log of the run");
                    return;
                }
            };
            let Some(last) = rows.last() else { return };
            if last.kind == super::DELETED {
                self.deleted = true;
                return;
            }
            let full = rows.len() == PAGE_EVENTS as usize;
            self.after = last.seq;
            effects.into_iter().for_each(|effect| self.perform(effect));
            for numbered in events {
                if self.mirror.send(numbered).is_err() {
                    tracing::debug!(run = %self.run, "the session mirror of the run is closed");
                }
            }
            if rows.iter().any(|row| OVER.contains(&row.kind.as_ref())) {
                self.sweep();
            }
            self.write_file(rows).await;
            self.snapshot_due.get_or_insert_with(|| Instant::now() + SNAPSHOT_PAUSE);
            if !full {
                return;
            }
        }
    }

    /// Removes originals of inputs that no turn needs any more.
    fn sweep(&self) {
        let shared = Arc::clone(&self.shared);
        let run = self.run;
        crate::background::blocking(move || originals::sweep(&shared, run, Sweep::Known));
    }

    /// Performs one effect; never blocks.
    fn perform(&mut self, effect: RunEffect) {
        match effect {
            RunEffect::RunBoot => self.spawn(boot::check_environment),
            RunEffect::RunChecks => {
                let checks =
                    crate::background::spawn(verify::verify(Arc::clone(&self.shared), self.run));
                self.checks = Some(checks.abort_handle());
            }
            RunEffect::KillChecks => self.kill_checks(),
            RunEffect::Schedule => self.shared.wish(Wish::Look(self.run)),
            RunEffect::OfNode(_, NodeEffect::AnswerTool(completed))
                if self.shared.answer_call(&completed) => {}
            RunEffect::OfNode(node, effect) => {
                self.drivers.order(node, DriverOrder::Perform(effect));
            }
            RunEffect::RemoveNode { node } => {
                self.drivers.remove(node);
                crate::background::spawn(super::worktree::remove(
                    Arc::clone(&self.shared),
                    self.run,
                    node,
                ));
            }
            RunEffect::MakeWorktree { node } => {
                super::worktree::make_soon(&self.shared, self.run, node);
            }
            RunEffect::ExecuteTool { node, turn, tool } => {
                let shared = Arc::clone(&self.shared);
                let run = self.run;
                crate::background::spawn(tools::execute(
                    shared,
                    run,
                    tools::RuntimeToolCall { node, turn, tool: *tool },
                ));
            }
            RunEffect::SetTimer { at, timer } => {
                crate::background::spawn(timers::wake(
                    Arc::clone(&self.shared),
                    self.run,
                    at,
                    timer,
                ));
            }
            RunEffect::WriteStallReport { evidence } => {
                let shared = Arc::clone(&self.shared);
                let run = self.run;
                crate::background::spawn(
                    async move { reports::stall(&shared, run, &evidence).await },
                );
            }
        }
    }

    fn spawn<F>(&self, work: impl FnOnce(Arc<RunsContext>, RunId) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        crate::background::spawn(work(Arc::clone(&self.shared), self.run));
    }

    fn kill_checks(&mut self) {
        if let Some(checks) = self.checks.take() {
            checks.abort();
            let family = super::process::of_run(&self.shared.mark, self.run);
            crate::background::blocking(move || family.kill(None));
        }
    }

    /// The run was deleted: only its files in the trash are left.
    async fn vanish(mut self) {
        self.kill_checks();
        self.drivers.end().await;
        mirror::run_gone(&self.shared, self.run).await;
        removal::discard(&self.shared, self.run);
        self.shared.wish(Wish::Forget(self.run));
        self.shared.forget_lane(self.run);
    }

    async fn stop(&mut self) {
        self.kill_checks();
        self.drivers.end().await;
        self.look().await;
        if !self.deleted {
            self.write_snapshot().await;
        }
    }

    async fn catch_up_file(&mut self) {
        let shared = Arc::clone(&self.shared);
        let run = self.run;
        let log = self.log.clone();
        let repaired = move || {
            let is_there = |docs: &muster_core::Documents<Room>| {
                Ok(muster_core::run::lookup::find_run(docs)?.is_some())
            };
            // A deleted run gets no file.
            match shared.engine.read::<Room, bool>(&run.stream(), is_there) {
                Ok(true) => log.repair(shared.engine.store(), run),
                Ok(false) | Err(_) => Ok(()),
            }
        };
        settle(crate::background::blocking(repaired).await, run, "events.jsonl");
    }

    async fn write_file(&mut self, rows: Vec<EventRow>) {
        let log = self.log.clone();
        let run = self.run;
        let shared = Arc::clone(&self.shared);
        let written = move || log.append(shared.engine.store(), run, &rows);
        settle(crate::background::blocking(written).await, run, "events.jsonl");
    }

    async fn write_snapshot(&mut self) {
        self.snapshot_due = None;
        // A run that writes opens its file again; one that rests holds none open.
        self.log.rest();
        let shared = Arc::clone(&self.shared);
        let run = self.run;
        let engine = Arc::clone(&self.shared.engine);
        let written = move || super::logfile::snapshot(&shared, run);
        settle(engine.read_large(written).await, self.run, "run.json");
    }
}

/// A file that could not be written is written with the next events.
fn settle<E: std::fmt::Display>(
    outcome: Result<Result<(), super::logfile::FileFailure>, E>,
    run: RunId,
    file: &str,
) {
    let error = match outcome {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    tracing::warn!(%run, file, error, "could not write a file of the run");
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// A piece of the log.
struct Page {
    rows: Vec<EventRow>,
    events: Vec<Numbered>,
    effects: Vec<RunEffect>,
}

/// The next events with their effects.
fn page(shared: &RunsContext, run: RunId, after: u64) -> Result<Page, StoreError> {
    let stream = run.stream();
    let rows = shared.engine.store().snapshot()?.tail(&stream, after, PAGE_EVENTS)?;
    let mut events = Vec::with_capacity(rows.len());
    for row in &rows {
        let event: RunEvent = serde_json::from_str(&row.body).map_err(|error| {
            StoreError::Engine { action: "read an event", cause: error.to_string() }
        })?;
        events.push(event);
    }
    let follows = |docs: &muster_core::Documents<Room>| {
        let mut effects = Vec::new();
        for event in &events {
            effects.extend(effect::react(docs, event)?);
        }
        Ok(effects)
    };
    let effects = match shared.engine.read::<Room, _>(&stream, follows) {
        Ok(effects) => effects,
        Err(muster_engine::ExecuteError::Rejected(rejection)) => {
            tracing::debug!(%run, ?rejection, "event ignored; the run was deleted");
            Vec::new()
        }
        Err(muster_engine::ExecuteError::Store(failure)) => return Err(failure.0),
    };
    let numbered = rows.iter().map(|row| row.seq).zip(events);
    let events = numbered.filter(|(_, event)| mirror::concerns(event)).collect();
    Ok(Page { rows, events, effects })
}

/// An event as it appears in the file of its run.
pub(crate) fn written(run: RunId, row: &EventRow) -> String {
    wire(run, LoggedEvent { seq: row.seq, at: row.at, kind: &row.kind, body: &row.body })
}
