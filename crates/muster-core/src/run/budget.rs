//! Usage, and what happens when a limit is near or reached (RUNS-BUD).

pub(crate) mod brake;

use crate::run::{
    RunFact,
    draft::RunDraft,
    event::{BudgetReached, Scope},
    id::{NodeId, TurnId},
    lookup::Found,
    record::{BudgetLevel, RunStatus, Spending, StatusCode, StatusReason, Warned, life},
    schedule,
    settings::{Budget, Spent, Usage},
    turn::{TurnReason, rules as turn_rules},
};

/// Adds what a node used to its counts and the run's.
pub(crate) fn add(draft: &mut RunDraft<'_>, node: NodeId, more: &Usage) -> Found<()> {
    draft.change_node(node, |node| node.usage.add(more))?;
    add_to_run(draft, more)?;
    watch(draft, node)
}

/// Adds what a node used to the run's counts.
pub(crate) fn add_to_run(draft: &mut RunDraft<'_>, more: &Usage) -> Found<()> {
    draft.change_run(|run| run.usage.add(more))
}

/// Reports limits that are near or reached, each once, and stops what has to stop.
pub(crate) fn watch(draft: &mut RunDraft<'_>, id: NodeId) -> Found<()> {
    let node = draft.node(id)?;
    let (hits, over) = found(&node.budget, &node.usage, &node.warned);
    for hit in &hits {
        draft.emit_for(id, RunFact::BudgetReached(reached(Scope::Node, hit)))?;
    }
    draft.change_node(id, |node| {
        node.warned.extend(hits.iter().map(|(_, warned)| *warned));
        node.over_budget |= over.is_some();
    })?;
    let run = draft.run()?;
    let (hits, over) = found(&run.budget, &run.usage, &run.warned);
    let working = run.status == RunStatus::Running;
    for hit in &hits {
        draft.emit(RunFact::BudgetReached(reached(Scope::Run, hit)))?;
    }
    draft.change_run(|run| run.warned.extend(hits.iter().map(|(_, warned)| *warned)))?;
    let Some(spent) = over.filter(|_| working) else { return Ok(()) };
    let Spent { metric, used, limit } = spent;
    let reason = StatusReason {
        detail: Some(Spending { metric, used, limit }),
        ..StatusReason::plain(StatusCode::Budget, draft.now())
    };
    life::pause(draft, reason)
}

/// Ends a turn that has far exceeded its time (RUNS-BUD-2).
pub(crate) fn check(draft: &mut RunDraft<'_>, id: TurnId) -> Found<()> {
    let now = draft.now();
    match schedule::budget_deadline(draft.docs(), id)? {
        Some(at) if at <= now => turn_rules::finish(draft, id, TurnReason::BudgetExceeded, None),
        Some(_) | None => Ok(()),
    }
}

type Hit = (Spent, Warned);

/// Limits to report for the first time, and the first that is reached.
fn found(budget: &Budget, usage: &Usage, warned: &[Warned]) -> (Vec<Hit>, Option<Spent>) {
    let mut hits = Vec::new();
    for spent in budget.spent(usage) {
        let levels =
            [(spent.is_near(), BudgetLevel::Warning), (spent.is_exceeded(), BudgetLevel::Exceeded)];
        for (_, level) in levels.into_iter().filter(|(holds, _)| *holds) {
            let note = Warned { metric: spent.metric, limit: spent.limit, level };
            if !warned.contains(&note) {
                hits.push((spent, note));
            }
        }
    }
    (hits, budget.exceeded(usage))
}

fn reached(scope: Scope, (spent, warned): &Hit) -> BudgetReached {
    let Spent { metric, used, limit } = *spent;
    BudgetReached { scope, metric, used, limit, level: warned.level }
}
