//! Steps for people: one line each in the tree, a paragraph each in full.

use muster_core::tasks::{
    entity::TaskStatus,
    id::TaskId,
    step::{Checkpoint, ProofMode, StepLook},
    view::{gate::Confirmed, mirror::MirrorStep, step_object::StepObject},
};

use super::calls::{MirrorCall, PAGE_ROWS};
use crate::{
    people::OpenWorkspace,
    screen::{Screen, Tone, cut},
};

/// The state of a step, from either of its views; a mirror has no requirements and no proofs.
pub(crate) struct StepState<'a> {
    path: &'a str,
    completed: bool,
    forced: bool,
    look: Option<StepLook>,
    blocked: bool,
    block_reason: Option<&'a str>,
    /// Whether there are notes or evidence.
    has_memory: bool,
    checkpoints: [CheckpointState; 5],
}

/// The state of one checkpoint of a step.
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

    fn ask(&mut self, required: bool, proof: ProofMode, proven: bool) {
        *self = Self { required, proof, proven, ..*self };
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
            look: step.look,
            blocked: step.blocked,
            block_reason: step.block_reason.as_deref(),
            has_memory: false,
            checkpoints: confirmed(&step.confirmed),
        }
    }
}

impl<'a> From<&'a StepObject> for StepState<'a> {
    fn from(step: &'a StepObject) -> Self {
        let gate = &step.gate;
        let mut checkpoints = confirmed(&gate.confirmed);
        let [_, tests, security, perf, docs] = &mut checkpoints;
        tests.ask(true, gate.proof_tests_mode, gate.proof_tests_present);
        security.ask(gate.require_security, gate.proof_security_mode, gate.proof_security_present);
        perf.ask(gate.require_perf, gate.proof_perf_mode, gate.proof_perf_present);
        docs.ask(gate.require_docs, gate.proof_docs_mode, gate.proof_docs_present);
        Self {
            path: &step.path,
            completed: step.completed,
            forced: step.forced,
            look: step.look,
            blocked: step.blocked,
            block_reason: step.block_reason.as_deref(),
            has_memory: step.notes_count > 0 || step.evidence_count > 0,
            checkpoints,
        }
    }
}

fn confirmed(of: &Confirmed) -> [CheckpointState; 5] {
    [
        CheckpointState::new(Checkpoint::Criteria, of.criteria_confirmed),
        CheckpointState::new(Checkpoint::Tests, of.tests_confirmed),
        CheckpointState::new(Checkpoint::Security, of.security_confirmed),
        CheckpointState::new(Checkpoint::Perf, of.perf_confirmed),
        CheckpointState::new(Checkpoint::Docs, of.docs_confirmed),
    ]
}

impl StepState<'_> {
    /// What the gate still requires: unconfirmed checkpoints, then missing
    /// proofs.
    pub(crate) fn missing(&self) -> Vec<String> {
        let unconfirmed = self.checkpoints.iter().filter(|it| it.required && !it.confirmed);
        let unproven = self.checkpoints.iter().filter(|it| it.misses_proof());
        unconfirmed
            .map(|checkpoint| checkpoint.name.to_owned())
            .chain(unproven.map(|checkpoint| format!("proof of {}", checkpoint.name)))
            .collect()
    }

    /// Whether work on it has started: a confirmation, a note or evidence on an open step.
    pub(crate) fn in_progress(&self) -> bool {
        let touched = self.checkpoints.iter().any(|checkpoint| checkpoint.confirmed);
        !self.completed && (touched || self.has_memory)
    }

    /// Its depth in the tree.
    pub(crate) fn depth(&self) -> usize {
        self.path.matches('.').count()
    }

    /// Its state as one glyph.
    pub(super) fn glyph(&self) -> (&'static str, Tone) {
        match (self.completed, self.forced, self.blocked) {
            (true, true, _) => ("⚑", Tone::Warning),
            (true, false, _) => ("✔", self.look.map_or(Tone::Good, look_tone)),
            (false, _, true) => ("⊘", Tone::Bad),
            (false, _, false) if self.in_progress() => ("◐", Tone::Active),
            (false, _, false) => ("○", Tone::Faint),
        }
    }

    /// Remarks about it, in a few words.
    fn remark(&self) -> String {
        let mut remarks = Vec::new();
        remarks.extend(self.block());
        if self.forced {
            remarks.push("forced".to_owned());
        }
        remarks.extend(self.look.map(|look| look.name().to_owned()));
        let missing = self.missing();
        if self.in_progress() && !missing.is_empty() {
            remarks.push(format!("needs {}", missing.join(", ")));
        }
        remarks.join(" · ")
    }

    /// Why it is blocked.
    fn block(&self) -> Option<String> {
        let reason = self.block_reason.unwrap_or("no reason given");
        (self.blocked && !self.completed).then(|| format!("blocked: {reason}"))
    }

    /// Its checkpoints and proofs that matter.
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

/// Who closed a step, and what backs it.
pub(crate) fn closing(screen: Screen, step: &StepObject) -> Option<String> {
    let look = step.look?;
    let by = step.closed_by.as_ref().map(|by| format!(" by {}", by.name)).unwrap_or_default();
    let backed = match look {
        StepLook::Claimed => "nothing else backs it",
        StepLook::Evidence => "evidence is attached",
        StepLook::Proven => "Muster ran its checks",
        StepLook::Waived => "a check was set aside",
    };
    let word = screen.paint(look_tone(look), look.name());
    Some(format!("{word}: closed{by}, {backed}"))
}

/// The colour of a look.
pub(super) fn look_tone(look: StepLook) -> Tone {
    match look {
        StepLook::Claimed => Tone::Faint,
        StepLook::Evidence => Tone::Active,
        StepLook::Proven => Tone::Good,
        StepLook::Waived => Tone::Warning,
    }
}

/// What blocks a step, what was skipped when it was forced, and whether an agent left it.
pub(crate) fn troubles(step: &StepObject) -> Vec<String> {
    let block = StepState::from(step).block().map(|block| format!("⊘ {block}"));
    let waiver = step.waiver.as_ref().map(|waiver| {
        let reason = waiver.reason.as_deref().unwrap_or("no reason given");
        let settled = if waiver.settled { ", completed since" } else { "" };
        let skipped = waiver.skipped.join(", ");
        format!("⚑ closed by force: {reason} (skipped {skipped}{settled})")
    });
    let left = step.unproven_stop.as_ref().filter(|stop| stop.allowed_at.is_some());
    let left = left.map(|stop| {
        let states = stop.checks.iter().map(|(name, state)| format!("{name} {}", state.name()));
        let states = states.collect::<Vec<_>>().join(", ");
        format!("⚑ an agent stopped after {} refusals: {states}", stop.refusals)
    });
    block.into_iter().chain(waiver).chain(left).collect()
}

/// The line of a sub-task with its path and title, after `before` columns.
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
