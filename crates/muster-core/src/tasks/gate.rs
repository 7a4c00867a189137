//! What keeps a step from closing (TASKS-GATE).

use super::{
    entity::Task,
    rejection::{GateReport, StepGate},
    step::{Checkpoint, Checkpoints, Step},
};
use crate::text;

/// Lines in the list of what is unconfirmed.
const LINES_MAX: usize = 10;
/// Characters of each.
const LINE_CHARS_MAX: usize = 160;

impl Step {
    /// The lines that a checkpoint confirms; none for those that a step does not describe.
    pub fn lines_of(&self, checkpoint: Checkpoint) -> &[String] {
        match checkpoint {
            Checkpoint::Criteria => &self.success_criteria,
            Checkpoint::Tests => &self.tests,
            Checkpoint::Security | Checkpoint::Perf | Checkpoint::Docs => &[],
        }
    }
}

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
            open_children: task.steps.open_children(&step.path).map(|s| s.path.clone()).collect(),
            open_nodes: step.open_nodes().map(|node| step.node_path(node)).collect(),
            blocked: step.block.is_some(),
            block_reason: step.block.as_ref().and_then(|block| block.reason.clone()),
            closed: step.is_closed(),
            steps: Vec::new(),
            unconfirmed: unconfirmed(step, named),
            is_undone: false,
        }
    }

    /// Whether a child step or a sub-plan node is open.
    pub fn has_open_children(&self) -> bool {
        !self.open_children.is_empty() || !self.open_nodes.is_empty()
    }

    /// The first open gate in order (TASKS-GATE-1).
    pub fn first_open(&self) -> Option<StepGate> {
        if !self.missing_checkpoints.is_empty() {
            Some(StepGate::Checkpoints)
        } else if !self.missing_proofs.is_empty() {
            Some(StepGate::Proof)
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
fn unconfirmed(step: &Step, named: &Checkpoints) -> Vec<String> {
    let missing = |checkpoint: &Checkpoint| {
        (step.requires(*checkpoint) || named.contains(checkpoint))
            && !step.confirmed.contains(checkpoint)
    };
    let mut lines = Vec::new();
    for checkpoint in Checkpoint::ALL.into_iter().filter(missing) {
        match step.lines_of(checkpoint) {
            [] => lines.push(checkpoint.name().to_owned()),
            texts => lines.extend(texts.iter().map(|line| text::cut(line, LINE_CHARS_MAX))),
        }
    }
    if lines.len() > LINES_MAX {
        let hidden = lines.len() - (LINES_MAX - 1);
        lines.truncate(LINES_MAX - 1);
        lines.push(format!("+{hidden} more"));
    }
    lines
}
