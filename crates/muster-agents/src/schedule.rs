//! Gives free slots to nodes that may start. Nothing is polled: code that changes something that
//! can let a node start requests a check of its run (RUNS-SCH).

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use muster_core::run::{
    id::{NodeId, RunId},
    moment::Moment,
    schedule::{Agenda, SlotRing, agenda},
};
use tokio::sync::mpsc;

use super::{begin, shared::RunsContext};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Something in this run may have changed.
    Look(RunId),
    /// A node's turn has begun, or could not begin.
    Begun(RunId, NodeId),
    /// The run was deleted.
    Forget(RunId),
}

/// The schedule of all runs.
pub(crate) struct Schedule {
    shared: Arc<RunsContext>,
    agendas: BTreeMap<RunId, Agenda>,
    /// Nodes whose turns are being prepared; they already hold slots.
    preparing: BTreeMap<RunId, BTreeSet<NodeId>>,
    ring: SlotRing,
}

impl Schedule {
    pub(crate) fn of(shared: Arc<RunsContext>) -> Self {
        let agendas = BTreeMap::new();
        let preparing = BTreeMap::new();
        let ring = SlotRing::default();
        Self { shared, agendas, preparing, ring }
    }

    /// Runs until all senders are gone, or the server shuts down.
    pub(crate) async fn work(mut self, mut wishes: mpsc::UnboundedReceiver<Wish>) {
        let mut closing = self.shared.closing.subscribe();
        loop {
            let wish = tokio::select! {
                wish = wishes.recv() => wish,
                _ = closing.wait_for(|closing| *closing) => return,
            };
            let Some(first) = wish else { return };
            let mut stale = BTreeSet::new();
            self.note(first, &mut stale);
            // Requests that are queued are handled together.
            while let Ok(wish) = wishes.try_recv() {
                self.note(wish, &mut stale);
            }
            for run in stale {
                self.refresh(run).await;
            }
            self.fill();
        }
    }

    fn note(&mut self, wish: Wish, stale: &mut BTreeSet<RunId>) {
        match wish {
            Wish::Look(run) => {
                stale.insert(run);
            }
            Wish::Begun(run, node) => {
                if let Some(nodes) = self.preparing.get_mut(&run) {
                    nodes.remove(&node);
                }
                stale.insert(run);
            }
            Wish::Forget(run) => {
                self.agendas.remove(&run);
                self.preparing.remove(&run);
                stale.remove(&run);
            }
        }
    }

    /// Computes again what can start in a run.
    async fn refresh(&mut self, run: RunId) {
        let now = Moment(self.shared.engine.now());
        match self.shared.view(run, move |docs| Ok(agenda(docs, now)?)).await {
            Ok(mut agenda) => {
                if let Some(preparing) = self.preparing.get(&run) {
                    agenda.starts.retain(|start| !preparing.contains(&start.node));
                }
                if let Some(next) = agenda.next {
                    self.come_back(run, next);
                }
                self.agendas.insert(run, agenda);
            }
            Err(error) => {
                tracing::warn!(%run, ?error, "could not determine what can start in the run");
                self.agendas.remove(&run);
            }
        }
    }

    /// Checks a run again at a later time.
    fn come_back(&self, run: RunId, at: Moment) {
        let shared = Arc::clone(&self.shared);
        crate::background::spawn(async move {
            let left = at.ms().saturating_sub(shared.engine.now().0).max(1);
            tokio::time::sleep(Duration::from_millis(u64::try_from(left).unwrap_or(1))).await;
            shared.wish(Wish::Look(run));
        });
    }

    /// Starts as many as there are free slots, alternating between runs.
    fn fill(&mut self) {
        while self.held() < self.shared.live.now().max_parallel_turns {
            let Some((run, start)) = self.ring.next(&mut self.agendas) else { return };
            self.preparing.entry(run).or_default().insert(start.node);
            let shared = Arc::clone(&self.shared);
            crate::background::spawn(async move {
                begin::begin(&shared, run, start).await;
                shared.wish(Wish::Begun(run, start.node));
            });
        }
    }

    /// Slots in use, over all runs.
    fn held(&self) -> u32 {
        let running: u32 = self.agendas.values().map(|agenda| agenda.running).sum();
        let preparing: usize = self.preparing.values().map(BTreeSet::len).sum();
        running.saturating_add(u32::try_from(preparing).unwrap_or(u32::MAX))
    }
}
