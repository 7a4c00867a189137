//! Steps as people see them: one line each in the tree, a paragraph each in full.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    people::OpenWorkspace,
    screen::{Screen, Tone, cut},
};

/// Rows of one page of steps.
const PAGE_ROWS: u32 = 1_000;
/// The checkpoints in their order; the first two are always required.
const CHECKPOINTS: [&str; 5] = ["criteria", "tests", "security", "perf", "docs"];

/// A step of `tasks_mirror` or `tasks_resume`; the former has fewer fields.
#[derive(Deserialize)]
pub(crate) struct StepRow {
    pub(crate) step_id: String,
    pub(crate) path: String,
    pub(crate) title: String,
    pub(crate) completed: bool,
    pub(crate) forced: bool,
    pub(crate) blocked: bool,
    pub(crate) block_reason: Option<String>,
    #[serde(default)]
    pub(crate) nodes: Vec<NodeRow>,
    #[serde(default)]
    pub(crate) success_criteria: Vec<String>,
    #[serde(default)]
    pub(crate) tests: Vec<String>,
    #[serde(default)]
    pub(crate) blockers: Vec<String>,
    #[serde(default)]
    pub(crate) notes_count: u64,
    #[serde(default)]
    pub(crate) evidence_count: u64,
    #[serde(default)]
    pub(crate) waiver: Option<WaiverRow>,
    /// `<checkpoint>_confirmed`, `require_<checkpoint>`, `proof_<checkpoint>_mode`, `…_present`.
    #[serde(flatten)]
    flags: Map<String, Value>,
}

/// A sub-task of a step.
#[derive(Deserialize)]
pub(crate) struct NodeRow {
    pub(crate) path: String,
    pub(crate) title: String,
    pub(crate) status: String,
    pub(crate) blocked: bool,
}

/// Why a step was closed by force, and what that skipped.
#[derive(Deserialize)]
pub(crate) struct WaiverRow {
    reason: Option<String>,
    skipped: Vec<String>,
    settled: bool,
}

impl StepRow {
    fn flag(&self, name: &str) -> bool {
        self.flags.get(name) == Some(&Value::Bool(true))
    }

    fn confirmed(&self, checkpoint: &str) -> bool {
        self.flag(&format!("{checkpoint}_confirmed"))
    }

    fn required(&self, checkpoint: &str) -> bool {
        matches!(checkpoint, "criteria" | "tests") || self.flag(&format!("require_{checkpoint}"))
    }

    /// What the gate still asks for: checkpoints without confirmation, then proofs that are
    /// missing.
    pub(crate) fn missing(&self) -> Vec<String> {
        let unconfirmed = |name: &&str| self.required(name) && !self.confirmed(name);
        let checkpoints = CHECKPOINTS.into_iter().filter(unconfirmed).map(str::to_owned);
        let proofs = CHECKPOINTS.into_iter().filter(|name| {
            self.proof_mode(name) == "require" && !self.flag(&format!("proof_{name}_present"))
        });
        checkpoints.chain(proofs.map(|name| format!("proof of {name}"))).collect()
    }

    /// Whether somebody has begun: a confirmation, a note or evidence on an open step.
    pub(crate) fn in_progress(&self) -> bool {
        let touched = CHECKPOINTS.iter().any(|name| self.confirmed(name));
        !self.completed && (touched || self.notes_count > 0 || self.evidence_count > 0)
    }

    fn proof_mode(&self, checkpoint: &str) -> &str {
        self.flags.get(&format!("proof_{checkpoint}_mode")).and_then(Value::as_str).unwrap_or("off")
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
        if self.blocked && !self.completed {
            let reason = self.block_reason.as_deref().unwrap_or("no reason given");
            remarks.push(format!("blocked: {reason}"));
        }
        if self.forced {
            remarks.push("forced".to_owned());
        }
        let missing = self.missing();
        if self.in_progress() && !missing.is_empty() {
            remarks.push(format!("needs {}", missing.join(", ")));
        }
        remarks.join(" · ")
    }

    /// What stands in its way, or was passed over.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let mut troubles = Vec::new();
        if self.blocked && !self.completed {
            let reason = self.block_reason.as_deref().unwrap_or("no reason given");
            troubles.push(format!("⊘ blocked: {reason}"));
        }
        if let Some(WaiverRow { reason, skipped, settled }) = &self.waiver {
            let reason = reason.as_deref().unwrap_or("no reason given");
            let settled = if *settled { ", made up for since" } else { "" };
            let skipped = skipped.join(", ");
            troubles.push(format!("⚑ closed by force: {reason} (skipped {skipped}{settled})"));
        }
        troubles
    }

    /// Its checkpoints and proofs, those that matter.
    pub(crate) fn marks(&self, screen: Screen) -> String {
        let marks = CHECKPOINTS.into_iter().filter_map(|name| {
            let confirmed = self.confirmed(name);
            let (glyph, tone) = if confirmed { ("✔", Tone::Good) } else { ("·", Tone::Faint) };
            let shown = confirmed || self.required(name);
            shown.then(|| screen.paint(tone, &format!("{glyph} {name}")))
        });
        let proofs = CHECKPOINTS.into_iter().filter_map(|name| {
            let mode = self.proof_mode(name);
            let present = self.flag(&format!("proof_{name}_present"));
            let (words, tone) = match (mode, present) {
                (_, true) => (format!("✔ proof of {name}"), Tone::Good),
                ("require", false) => (format!("✘ proof of {name}"), Tone::Bad),
                ("warn", false) => (format!("· proof of {name}"), Tone::Warning),
                (_, false) => return None,
            };
            Some(screen.paint(tone, &words))
        });
        marks.chain(proofs).collect::<Vec<_>>().join("  ")
    }
}

impl NodeRow {
    /// Its line, behind `before` columns.
    pub(super) fn line(&self, screen: Screen, before: usize) -> String {
        let (glyph, tone) =
            if self.blocked { ("⊘", Tone::Bad) } else { status_glyph(&self.status) };
        let room = screen.columns().saturating_sub(before + self.path.len() + 3).max(10);
        let path = screen.paint(Tone::Faint, &self.path);
        format!("{} {path} {}", screen.paint(tone, glyph), cut(&self.title, room))
    }
}

/// All steps of a task, in path order.
pub(super) fn mirrored(desk: &OpenWorkspace, task: &str) -> anyhow::Result<Value> {
    let mut steps = Vec::new();
    let mut arguments = json!({"task": task, "limit": PAGE_ROWS});
    loop {
        let mut page = desk.ask("tasks_mirror", arguments.clone())?;
        steps.extend(page["steps"].as_array_mut().map(std::mem::take).unwrap_or_default());
        let cursor = page["pagination"]["next_cursor"].take();
        if cursor.is_null() {
            return Ok(Value::Array(steps));
        }
        arguments["cursor"] = cursor;
    }
}

/// A task's steps as lines below it.
pub(super) fn tree(screen: Screen, steps: &[StepRow], indent: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for step in steps {
        let (glyph, tone) = step.glyph();
        let inner = "  ".repeat(step.depth());
        let taken = indent.chars().count() + 4 + inner.len() + step.path.len() + 1;
        let room = screen.columns().saturating_sub(taken).max(10);
        let remark = cut(&step.remark(), room / 2);
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
        let node = |node: &NodeRow| format!("{indent}    {inner}{}", node.line(screen, before));
        lines.extend(step.nodes.iter().map(node));
    }
    lines
}

/// The glyph of a plan's, task's or sub-task's status.
pub(super) fn status_glyph(status: &str) -> (&'static str, Tone) {
    match status {
        "DONE" => ("✔", Tone::Good),
        "ACTIVE" => ("●", Tone::Active),
        _ => ("○", Tone::Faint),
    }
}
