//! The drivers of a run's nodes. Each is created with its first order; one that panics fails its
//! own turn and is replaced with the next order.

use std::{any::Any, collections::BTreeMap, sync::Arc};

use muster_core::{
    Documents,
    run::{
        Ask, RunAggregate as Room,
        effect::NodeEffect,
        id::{NodeId, RunId},
        lookup,
        node::Node,
        turn::TurnReason,
    },
};
use tokio::{
    sync::{
        mpsc::{self, error::SendError},
        oneshot,
    },
    task::JoinHandle,
};

use crate::{
    background,
    driver::{DriverOrder, NodeDriver},
    finish::{self, TurnFinish},
    shared::RunsContext,
};

/// The drivers of one run.
pub(crate) struct Drivers {
    shared: Arc<RunsContext>,
    run: RunId,
    orders: BTreeMap<NodeId, mpsc::UnboundedSender<DriverOrder>>,
    /// Whether the run is shutting down: no driver is created any more.
    ended: bool,
}

impl Drivers {
    pub(crate) fn of(shared: Arc<RunsContext>, run: RunId) -> Self {
        Self { shared, run, orders: BTreeMap::new(), ended: false }
    }

    /// Sends an order to the driver of a node.
    pub(crate) fn order(&mut self, node: NodeId, order: DriverOrder) {
        if self.ended {
            tracing::debug!(%node, "order ignored; the run is shutting down");
            return;
        }
        if matches!(order, DriverOrder::Perform(NodeEffect::CloseProvider))
            && !self.orders.contains_key(&node)
        {
            // Without a driver there is no program.
            return;
        }
        let refused = match self.orders.get(&node) {
            Some(driver) => driver.send(order).err(),
            None => Some(SendError(order)),
        };
        if let Some(SendError(order)) = refused
            && self.start(node).send(order).is_err()
        {
            tracing::error!(%node, "the node's driver has stopped");
        }
    }

    fn start(&mut self, node: NodeId) -> mpsc::UnboundedSender<DriverOrder> {
        let (sender, orders) = mpsc::unbounded_channel();
        let driver = NodeDriver::of(Arc::clone(&self.shared), self.run, node);
        let driving = background::spawn(driver.drive(orders));
        background::spawn(watch(Arc::clone(&self.shared), (self.run, node), driving));
        self.orders.insert(node, sender.clone());
        sender
    }

    /// The driver ends its program and itself when it has done what it was sent.
    pub(crate) fn remove(&mut self, node: NodeId) {
        self.orders.remove(&node);
    }

    pub(crate) async fn end(&mut self) {
        self.ended = true;
        let mut stopping = Vec::new();
        for driver in self.orders.values() {
            let (stopped, stop) = oneshot::channel();
            if driver.send(DriverOrder::Stop(stopped)).is_ok() {
                stopping.push(stop);
            }
        }
        for stop in stopping {
            if stop.await.is_err() {
                tracing::warn!(run = %self.run, "a node's driver stopped early");
            }
        }
    }
}

/// Waits for the end of a driver. If it panicked, nothing else would end the turn that it had in
/// flight.
pub(crate) async fn watch(
    shared: Arc<RunsContext>,
    (run, node): (RunId, NodeId),
    driving: JoinHandle<()>,
) {
    let Err(broken) = driving.await else { return };
    let Ok(cause) = broken.try_into_panic() else { return };
    let cause = words(cause.as_ref());
    tracing::error!(%run, %node, cause, "the node's driver panicked");
    let live =
        move |docs: &Documents<Room>| Ok(lookup::find_node(docs, node)?.and_then(Node::live_turn));
    let Ok(Some(turn)) = shared.view(run, live).await else { return };
    let detail = Some(format!("an internal error of the server ended it: {cause}"));
    let ask = Ask::EndTurn { turn, reason: TurnReason::Exited, detail };
    // The next driver of the node closes it. A turn that was about to end is not reported again.
    if shared.report(run, ask).await.is_empty() {
        finish::close(&shared, run, TurnFinish::of(turn)).await;
    }
}

/// The message of a panic.
fn words(cause: &(dyn Any + Send)) -> &str {
    let text = cause.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no reason was given")
}
