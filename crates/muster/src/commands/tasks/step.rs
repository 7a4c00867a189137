//! Steps as people see them: one line each in the tree, a paragraph each in full.

use muster_core::tasks::{
    entity::TaskStatus,
    id::TaskId,
    step::{Checkpoint, ProofMode},
    view::{mirror::MirrorStep, step_object::StepObject},
};

use super::calls::{MirrorCall, PAGE_ROWS};
use crate::{
    people::OpenWorkspace,
    screen::{Screen, Tone, cut},
};

/// How a step stands, from either of its views; a mirror knows no requirements and no proofs.
pub(crate) struct StepState<'a> {
    path: &'a str,
    completed: bool,
    forced: bool,
    blocked: bool,
    block_reason: Option<&'a str>,
    /// Whether there are notes or evidence.
    has_memory: bool,
    checkpoints: [CheckpointState; 5],
}

/// What a step says about one checkpoint.
struct CheckpointState {
    name: &'static str,
    required: bool,
    confirmed: bool,
    proof: ProofMode,
    proven: bool,
}

impl CheckpointState {
    fn new(checkpoint: Checkpoint, confirmed: bool) -> Self {
        Self {
            name: checkpoint.name(),
            required: Checkpoint::GATE.contains(&checkpoint),
            confirmed,
            proof: ProofMode::Off,
            proven: false,
        }
    }

    fn misses_proof(&self) -> bool {
        self.proof == ProofMode::Require && !self.proven
    }
}

impl<'a> From<&'a MirrorStep> for StepState<'a> {
    fn from(step: &'a MirrorStep) -> Self {
        Self {
            path: &step.path,
            completed: step.completed,
            forced: step.forced,
            blocked: step.blocked,
            block_reason: step.block_reason.as_deref(),
            has_memory: false,
            checkpoints: [
                CheckpointState::new(Checkpoint::Criteria, step.criteria_confirmed),
                CheckpointState::new(Checkpoint::Tests, step.tests_confirmed),
                CheckpointState::new(Checkpoint::Security, step.security_confirmed),
                CheckpointState::new(Checkpoint::Perf, step.perf_confirmed),
                CheckpointState::new(Checkpoint::Docs, step.docs_confirmed),
            ],
        }
    }
}

impl<'a> From<&'a StepObject> for StepState<'a> {
    fn from(step: &'a StepObject) -> Self {
        let asked = |checkpoint, (confirmed, required), (proof, proven)| CheckpointState {
            required,
            proof,
            proven,
            ..CheckpointState::new(checkpoint, confirmed)
        };
        Self {
            path: &step.path,
            completed: step.completed,
            forced: step.forced,
            blocked: step.blocked,
            block_reason: step.block_reason.as_deref(),
            has_memory: step.notes_count > 0 || step.evidence_count > 0,
            checkpoints: [
                CheckpointState::new(Checkpoint::Criteria, step.criteria_confirmed),
                asked(
                    Checkpoint::Tests,
                    (step.tests_confirmed, true),
                    (step.proof_tests_mode, step.proof_tests_present),
                ),
                asked(
                    Checkpoint::Security,
                    (step.security_confirmed, step.require_security),
                    (step.proof_security_mode, step.proof_security_present),
                ),
                asked(
                    Checkpoint::Perf,
                    (step.perf_confirmed, step.require_perf),
                    (step.proof_perf_mode, step.proof_perf_present),
                ),
                asked(
                    Checkpoint::Docs,
                    (step.docs_confirmed, step.require_docs),
                    (step.proof_docs_mode, step.proof_docs_present),
                ),
            ],
        }
    }
}

impl StepState<'_> {
    /// What the gate still asks for: checkpoints without confirmation, then proofs that are
    /// missing.
    pub(crate) fn missing(&self) -> Vec<String> {
        let unconfirmed = self.checkpoints.iter().filter(|it| it.required && !it.confirmed);
        let unproven = self.checkpoints.iter().filter(|it| it.misses_proof());
        unconfirmed
            .map(|checkpoint| checkpoint.name.to_owned())
            .chain(unproven.map(|checkpoint| format!("proof of {}", checkpoint.name)))
            .collect()
    }

    /// Whether work on it has begun: a confirmation, a note or evidence on an open step.
    pub(crate) fn in_progress(&self) -> bool {
        let touched = self.checkpoints.iter().any(|checkpoint| checkpoint.confirmed);
        !self.completed && (touched || self.has_memory)
    }

    /// How deep it stands in the tree.
    pub(crate) fn depth(&self) -> usize {
        self.path.matches('.').count()
    }

    /// Its state as one glyph.
    pub(super) fn glyph(&self) -> (&'static str, Tone) {
        match (self.completed, self.forced, self.blocked) {
            (true, true, _) => ("⚑", Tone::Warning),
            (true, false, _) => ("✔", Tone::Good),
            (false, _, true) => ("⊘", Tone::Bad),
            (false, _, false) if self.in_progress() => ("◐", Tone::Active),
            (false, _, false) => ("○", Tone::Faint),
        }
    }

    /// What is particular about it, in a few words.
    fn remark(&self) -> String {
        let mut remarks = Vec::new();
        remarks.extend(self.block());
        if self.forced {
            remarks.push("forced".to_owned());
        }
        let missing = self.missing();
        if self.in_progress() && !missing.is_empty() {
            remarks.push(format!("needs {}", missing.join(", ")));
        }
        remarks.join(" · ")
    }

    /// Why it cannot go on.
    fn block(&self) -> Option<String> {
        let reason = self.block_reason.unwrap_or("no reason given");
        (self.blocked && !self.completed).then(|| format!("blocked: {reason}"))
    }

    /// Its checkpoints and proofs, those that matter.
    pub(crate) fn marks(&self, screen: Screen) -> String {
        let marks = self.checkpoints.iter().filter_map(|checkpoint| {
            let CheckpointState { name, required, confirmed, .. } = *checkpoint;
            let (glyph, tone) = if confirmed { ("✔", Tone::Good) } else { ("·", Tone::Faint) };
            (confirmed || required).then(|| screen.paint(tone, &format!("{glyph} {name}")))
        });
        let proofs = self.checkpoints.iter().filter_map(|checkpoint| {
            let (glyph, tone) = match (checkpoint.proof, checkpoint.proven) {
                (_, true) => ("✔", Tone::Good),
                (ProofMode::Require, false) => ("✘", Tone::Bad),
                (ProofMode::Warn, false) => ("·", Tone::Warning),
                (ProofMode::Off, false) => return None,
            };
            Some(screen.paint(tone, &format!("{glyph} proof of {}", checkpoint.name)))
        });
        marks.chain(proofs).collect::<Vec<_>>().join("  ")
    }
}

/// What stands in the way of a step, or was passed over.
pub(crate) fn troubles(step: &StepObject) -> Vec<String> {
    let block = StepState::from(step).block().map(|block| format!("⊘ {block}"));
    let waiver = step.waiver.as_ref().map(|waiver| {
        let reason = waiver.reason.as_deref().unwrap_or("no reason given");
        let settled = if waiver.settled { ", made up for since" } else { "" };
        let skipped = waiver.skipped.join(", ");
        format!("⚑ closed by force: {reason} (skipped {skipped}{settled})")
    });
    block.into_iter().chain(waiver).collect()
}

/// The line of a sub-task with its path and title, behind `before` columns.
pub(super) fn node_line(
    screen: Screen,
    before: usize,
    (glyph, tone): (&str, Tone),
    path: &str,
    title: &str,
) -> String {
    let room = screen.columns().saturating_sub(before + path.len() + 3).max(10);
    let glyph = screen.paint(tone, glyph);
    format!("{glyph} {} {}", screen.paint(Tone::Faint, path), cut(title, room))
}

/// The glyph of a sub-task.
pub(super) fn node_glyph(status: TaskStatus, blocked: bool) -> (&'static str, Tone) {
    if blocked { ("⊘", Tone::Bad) } else { status_glyph(status) }
}

/// All steps of a task, in path order.
pub(super) fn mirrored(desk: &OpenWorkspace, task: TaskId) -> anyhow::Result<Vec<MirrorStep>> {
    let mut steps = Vec::new();
    let mut call = MirrorCall { task: task.to_string(), limit: PAGE_ROWS, cursor: None };
    loop {
        let page = desk.ask(&call)?;
        steps.extend(page.steps);
        call.cursor = page.pagination.next_cursor;
        if call.cursor.is_none() {
            return Ok(steps);
        }
    }
}

/// A task's steps as lines below it.
pub(super) fn tree(screen: Screen, steps: &[MirrorStep], indent: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for step in steps {
        let state = StepState::from(step);
        let (glyph, tone) = state.glyph();
        let inner = "  ".repeat(state.depth());
        let taken = indent.chars().count() + 4 + inner.len() + step.path.len() + 1;
        let room = screen.columns().saturating_sub(taken).max(10);
        let remark = cut(&state.remark(), room / 2);
        let reserved = if remark.is_empty() { 0 } else { remark.chars().count() + 2 };
        let title = cut(&step.title, room - reserved);
        let indent = screen.paint(Tone::Faint, indent);
        lines.push(format!(
            "{indent}  {inner}{} {} {title}  {}",
            screen.paint(tone, glyph),
            screen.paint(Tone::Faint, &step.path),
            screen.paint(tone, &remark)
        ));
        let before = taken - step.path.len() + 2;
        for node in &step.nodes {
            let glyph = node_glyph(node.status, node.blocked);
            let line = node_line(screen, before, glyph, &node.path, &node.title);
            lines.push(format!("{indent}    {inner}{line}"));
        }
    }
    lines
}

/// The glyph of a plan's, task's or sub-task's status.
pub(super) fn status_glyph(status: TaskStatus) -> (&'static str, Tone) {
    match status {
        TaskStatus::Done => ("✔", Tone::Good),
        TaskStatus::Active => ("●", Tone::Active),
        TaskStatus::Todo => ("○", Tone::Faint),
    }
}
