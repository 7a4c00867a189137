//! What the commands read of answers: only the fields that are shown.

use serde::Deserialize;

/// `tasks_context`.
#[derive(Deserialize)]
pub(super) struct Context {
    pub(super) counts: CountsRow,
    pub(super) by_status: StatusCountsRow,
    pub(super) plans: Vec<CliPlanRow>,
    pub(super) tasks: Vec<CliTaskRow>,
}

/// How many plans and tasks match.
#[derive(Deserialize)]
pub(super) struct CountsRow {
    pub(super) plans: u64,
    pub(super) tasks: u64,
}

/// Matching tasks by status.
#[derive(Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) struct StatusCountsRow {
    pub(super) todo: u64,
    pub(super) active: u64,
    pub(super) done: u64,
}

/// A plan in a list.
#[derive(Clone, Deserialize)]
pub(super) struct CliPlanRow {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) status: String,
    pub(super) priority: String,
    pub(super) tags: Vec<String>,
    pub(super) waiting_on: Vec<String>,
    pub(super) plan_progress: String,
    pub(super) tasks: DoneRow,
}

/// How many of a plan's tasks are done.
#[derive(Clone, Copy, Deserialize)]
pub(super) struct DoneRow {
    pub(super) total: u64,
    pub(super) done: u64,
}

/// A task in a list.
#[derive(Deserialize)]
pub(crate) struct CliTaskRow {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) status: String,
    pub(super) parent: String,
    pub(super) progress: u64,
    pub(crate) steps_count: u64,
    pub(crate) steps_open: u64,
    pub(super) priority: String,
    pub(super) assignee: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) waiting_on: Vec<String>,
    pub(super) blocked: u64,
    pub(super) forced: u64,
}

/// What is shown of evidence.
#[derive(Deserialize)]
pub(crate) struct EvidenceRow {
    pub(super) evidence_id: String,
    pub(super) path: Option<String>,
    pub(super) checkpoints: Vec<String>,
    pub(super) summary: String,
    pub(crate) checks: Vec<String>,
    pub(crate) attachments: Vec<String>,
}

impl EvidenceRow {
    /// Its id, where it is, what it is for and how much it holds.
    pub(crate) fn line(&self) -> String {
        let linked = match &self.checkpoints[..] {
            [] => String::new(),
            names => format!("for {}", names.join(", ")),
        };
        let place = self.path.as_deref().unwrap_or_default();
        let words = [self.evidence_id.as_str(), place, &linked, &self.summary];
        let words = words.into_iter().filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join("  ")
    }
}
