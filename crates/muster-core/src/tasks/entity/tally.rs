//! What a task contributes to the counts of its plan.

use super::{Task, TaskStatus};
use crate::tasks::{
    step::{Checkpoint, Step},
    tree::StepTree,
};

/// Sums over the steps of a task. They follow from the steps alone, so that the tree keeps them
/// until one of the steps changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepSums {
    pub closed: usize,
    /// Whether an open step is blocked.
    blocked: bool,
    /// Blocker lines of open steps and their open nodes.
    blocker_lines: u64,
    unconfirmed: bool,
    /// Lines about missing confirmations and proofs: one per checkpoint.
    verify_lines: u64,
    /// Steps closed by force.
    forced: u64,
    /// Risks and problems of open nodes.
    node_risks: u64,
}

impl StepSums {
    pub(in crate::tasks) fn of(steps: &StepTree) -> Self {
        let open = || steps.iter().filter(|step| !step.is_closed());
        let nodes = || open().flat_map(Step::open_nodes);
        let step_lines: usize =
            open().map(|step| usize::from(step.block.is_some()) + step.blockers.len()).sum();
        let node_lines: usize =
            nodes().map(|node| usize::from(node.blocked) + node.lists.blockers.len()).sum();
        let all_nodes = steps.iter().flat_map(Step::open_nodes);
        let node_risks: usize =
            all_nodes.map(|node| node.lists.risks.len() + node.lists.problems.len()).sum();
        let any = |test: &dyn Fn(&Step) -> bool| steps.iter().any(test);
        let missing = Checkpoint::ALL.into_iter().filter(|cp| any(&|step| step.misses(*cp)));
        let unproven = Checkpoint::ALL.into_iter().filter(|cp| any(&|step| step.misses_proof(*cp)));
        Self {
            closed: steps.iter().filter(|step| step.is_closed()).count(),
            blocked: open().any(|step| step.block.is_some()),
            blocker_lines: (step_lines + node_lines) as u64,
            unconfirmed: steps.iter().any(Step::is_unconfirmed),
            verify_lines: (missing.count() + unproven.count()) as u64,
            forced: steps.iter().filter(|step| step.waiver.is_some()).count() as u64,
            node_risks: node_risks as u64,
        }
    }
}

impl Task {
    /// Closed steps and all steps.
    pub fn closed_of_total(&self) -> (usize, usize) {
        (self.steps.sums().closed, self.steps.len())
    }

    /// Its contribution to the counts of its plan.
    pub fn tally(&self) -> TaskTally {
        let sums = self.steps.sums();
        let others = self.meta.waiting_on.len() + self.meta.blocker_cards.len();
        let blocker_lines = sums.blocker_lines + others as u64;
        TaskTally {
            status: self.meta.status,
            steps_total: self.steps.len() as u64,
            steps_completed: sums.closed as u64,
            blocked: sums.blocked,
            blocker_lines,
            waiting: self.meta.is_waiting(),
            unconfirmed: sums.unconfirmed,
            risk_lines: sums.verify_lines + blocker_lines + sums.forced + sums.node_risks,
            forced: sums.forced,
        }
    }
}

/// One task's contribution to the sums of its plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TaskTally {
    pub status: TaskStatus,
    pub steps_total: u64,
    /// Its closed steps.
    pub steps_completed: u64,
    /// Whether an open step is blocked.
    pub blocked: bool,
    /// How many blocker lines its views show.
    pub blocker_lines: u64,
    /// Whether a dependency is open.
    pub waiting: bool,
    /// Whether a required confirmation or proof is missing.
    pub unconfirmed: bool,
    /// How many lines its risks have.
    pub risk_lines: u64,
    /// Steps closed by force.
    pub forced: u64,
}
