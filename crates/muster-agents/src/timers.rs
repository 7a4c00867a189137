//! What becomes due after a while: approvals without a decision, turns that take too long, budgets
//! that may be used up.

use std::{sync::Arc, time::Duration};

use muster_core::run::{
    Ask, RunAggregate as Room,
    effect::Timer,
    id::{ApprovalId, RunId},
    lookup,
    moment::Moment,
    turn::TurnReason,
};

use super::shared::RunsContext;

/// Whether the waiter of an approval gives up after a while.
async fn gives_up(shared: &Arc<RunsContext>, run: RunId, approval: ApprovalId) -> bool {
    let tool = move |docs: &muster_core::Documents<Room>| {
        Ok(lookup::find_approval(docs, approval)?.map(|approval| approval.tool.id))
    };
    let tool = shared.view(run, tool).await.ok().flatten();
    tool.is_some_and(|tool| shared.is_awaited(tool))
}

/// Runs later. Most turns end long before, so the waiting task is small: the future of the work is
/// allocated when it is due.
pub(crate) async fn wake(shared: Arc<RunsContext>, run: RunId, at: Moment, timer: Timer) {
    let left = at.ms().saturating_sub(shared.engine.now().0);
    tokio::time::sleep(Duration::from_millis(u64::try_from(left).unwrap_or(0))).await;
    Box::pin(act(shared, run, timer)).await;
}

async fn act(shared: Arc<RunsContext>, run: RunId, timer: Timer) {
    let ask = match timer {
        // A program that calls over JSON lines waits as long as it takes (RUNS-TOOL-5).
        Timer::Hold(approval) if !gives_up(&shared, run, approval).await => return,
        Timer::Hold(approval) => Ask::HoldExpired { approval },
        Timer::TurnLimit(turn) => {
            let detail = Some("the turn took longer than its run allows".to_owned());
            Ask::EndTurn { turn, reason: TurnReason::TurnTimeout, detail }
        }
        Timer::Budget(turn) => Ask::CheckBudget { turn },
    };
    shared.report(run, ask).await;
    let Timer::Budget(turn) = timer else { return };
    let again = move |docs: &muster_core::Documents<Room>| {
        Ok(muster_core::run::schedule::budget_deadline(docs, turn)?)
    };
    if let Ok(Some(at)) = shared.view(run, again).await {
        let now = Moment(shared.engine.now());
        let at = at.max(now.after_ms(1_000));
        Box::pin(wake(shared, run, at, timer)).await;
    }
}
