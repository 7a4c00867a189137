//! A check that a call waits for: it reports how far the check is, and a call that is cancelled
//! ends it, unless others wait for it, too.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use muster_agents::checks::{CheckPhase, CheckTicket, CheckWaiter, CheckWatch, CheckWish};
use muster_core::checks::record::CheckRecord;

use super::proof::not_run;
use crate::{
    App,
    call::{CallFailure, Scene},
    refusals,
};

/// How often a waiting call says how far it is.
const REPORT_PERIOD: Duration = Duration::from_secs(1);
const BYTES_PER_KB: u64 = 1_000;

/// A run that a call waits for.
pub(super) struct AwaitedCheck {
    pub(super) name: String,
    pub(super) ticket: CheckTicket,
    /// Dropped with the call. One that merely ran out of time leaves the run to the next call.
    _waiter: Arc<CheckWaiter>,
}

impl AwaitedCheck {
    /// Finds or starts a run. Cancelling the call gives it up.
    pub(super) fn of(app: &App, scene: &Scene, wish: CheckWish) -> Result<Self, CallFailure> {
        let name = wish.name.clone();
        let ticket = app.checks().request(wish).map_err(|error| not_run(&error))?;
        let waiter = Arc::new(app.checks().waiter(&ticket));
        let waiting = Arc::downgrade(&waiter);
        scene.caller.watch.on_cancel(move || {
            if let Some(waiter) = waiting.upgrade() {
                waiter.give_up();
            }
        });
        Ok(Self { name, ticket, _waiter: waiter })
    }

    /// The record of the run once it has its verdict; `None` if it takes longer.
    pub(super) fn record(
        &self,
        app: &App,
        scene: &Scene,
        deadline: Instant,
    ) -> Result<Option<CheckRecord>, CallFailure> {
        let watch = &scene.caller.watch;
        let ticket = &self.ticket;
        let began = Instant::now();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let record = app
                .checks()
                .wait(ticket, left.min(REPORT_PERIOD))
                .map_err(|error| not_run(&error))?;
            if watch.is_cancelled() {
                return Err(refusals::cancelled(scene.tool).into());
            }
            if record.is_some() || left <= REPORT_PERIOD {
                return Ok(record);
            }
            let seen = app.checks().watch(&ticket.workspace, ticket.run);
            watch.report(self.progress(seen, began));
        }
    }

    /// One line for people.
    fn progress(&self, seen: Option<CheckWatch>, began: Instant) -> String {
        let name = &self.name;
        let Some(CheckWatch { phase, bytes, since }) = seen else {
            let seconds = began.elapsed().as_secs();
            return format!("{name}: {} runs in another process, {seconds} s", self.ticket.run);
        };
        let seconds = since.elapsed().as_secs();
        let output = bytes / BYTES_PER_KB;
        match phase {
            CheckPhase::Queued | CheckPhase::Waiting => {
                format!("{name}: waiting for another check in this directory, {seconds} s")
            }
            CheckPhase::Started => format!("{name}: running, {seconds} s, {output} KB of output"),
            CheckPhase::Repeated => format!(
                "{name}: running once more because its files changed, {seconds} s, {output} KB of \
                 output"
            ),
        }
    }
}
