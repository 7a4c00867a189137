//! What keeps a step from closing (TASKS-GATE).

use super::{
    TaskLookup,
    check_gate::{ProjectGate, strictly_unproven},
    entity::Task,
    rejection::{GateReport, StepGate},
    step::{Checkpoint, Checkpoints, Step},
};
use crate::text;

/// Lines in the list of what is unconfirmed.
const LINES_MAX: usize = 10;
/// Characters of each.
const LINE_CHARS_MAX: usize = 160;

impl GateReport {
    /// The whole state of a step's gate; `named` are checkpoints the closing call itself mentions.
    pub fn of(task: &Task, step: &Step, named: &Checkpoints) -> Self {
        let required: Vec<Checkpoint> = Checkpoint::ALL
            .into_iter()
            .filter(|checkpoint| step.requires(*checkpoint) || named.contains(checkpoint))
            .collect();
        let missing = |checkpoint: &Checkpoint| !step.confirmed.contains(checkpoint);
        Self {
            task: task.id,
            step_id: step.id,
            path: step.path.clone(),
            missing_checkpoints: required.iter().copied().filter(missing).collect(),
            missing_proofs: step.unproven(),
            checks: Vec::new(),
            open_children: task.steps.open_children(&step.path).map(|s| s.path.clone()).collect(),
            open_nodes: step.open_nodes().map(|node| step.node_path(node)).collect(),
            blocked: step.block.is_some(),
            block_reason: step.block.as_ref().and_then(|block| block.reason.clone()),
            closed: step.is_closed(),
            steps: Vec::new(),
            unconfirmed: Vec::new(),
            one_by_one: false,
            is_undone: false,
        }
    }

    /// Adds the checks of the step. What they decide about needs no other confirmation or proof;
    /// stricter rules of the project ask for more where there is no check.
    pub fn with_checks(
        mut self,
        project: &ProjectGate<'_>,
        task: &Task,
        step: &Step,
    ) -> TaskLookup<Self> {
        let decided = project.decided(step);
        self.missing_checkpoints.retain(|checkpoint| !decided.contains(checkpoint));
        self.missing_proofs.retain(|checkpoint| !decided.contains(checkpoint));
        self.checks =
            project.of_step(task, step)?.into_iter().filter(|c| !c.state.holds()).collect();
        if project.is_strict() {
            self.one_by_one = !step.success_criteria.is_empty();
            if step.is_bulk(Checkpoint::Criteria) {
                self.missing_checkpoints.push(Checkpoint::Criteria);
                self.missing_checkpoints.sort_unstable();
            }
            let claimed = strictly_unproven(step).filter(|cp| !self.missing_proofs.contains(cp));
            self.missing_proofs.extend(claimed);
        }
        self.unconfirmed = unconfirmed(step, &self.missing_checkpoints);
        Ok(self)
    }

    /// Whether a child step or a sub-plan node is open.
    pub fn has_open_children(&self) -> bool {
        !self.open_children.is_empty() || !self.open_nodes.is_empty()
    }

    /// The first open gate that force does not skip: checks and open children (TASKS-GATE-4,
    /// PROOF-GATE-6).
    pub fn first_firm(&self) -> Option<StepGate> {
        if !self.checks.is_empty() {
            Some(StepGate::Checks)
        } else {
            self.has_open_children().then_some(StepGate::Children)
        }
    }

    /// The first open gate in order (TASKS-GATE-1).
    pub fn first_open(&self) -> Option<StepGate> {
        if !self.missing_checkpoints.is_empty() {
            Some(StepGate::Checkpoints)
        } else if !self.missing_proofs.is_empty() {
            Some(StepGate::Proof)
        } else if !self.checks.is_empty() {
            Some(StepGate::Checks)
        } else if self.has_open_children() {
            Some(StepGate::Children)
        } else if self.blocked {
            Some(StepGate::Blocked)
        } else {
            None
        }
    }
}

/// What is to be looked at: the lines of each checkpoint that is not confirmed, or its name.
fn unconfirmed(step: &Step, missing: &[Checkpoint]) -> Vec<String> {
    let mut lines = Vec::new();
    for checkpoint in missing {
        let left = step.unconfirmed_items(*checkpoint);
        if left.is_empty() {
            lines.push(checkpoint.name().to_owned());
        }
        lines.extend(left.iter().map(|(_, line)| text::cut(line, LINE_CHARS_MAX)));
    }
    if lines.len() > LINES_MAX {
        let hidden = lines.len() - (LINES_MAX - 1);
        lines.truncate(LINES_MAX - 1);
        lines.push(format!("+{hidden} more"));
    }
    lines
}
