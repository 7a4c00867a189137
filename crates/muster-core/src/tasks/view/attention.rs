//! What about work waits for a person: one item for each cause, with what can be done about it.
//!
//! ```text
//!   catalogued tasks ─► waivers asked for, agents that stopped in the middle of a step
//!   accepted checks ─► ledger of each ─► failed for work in progress, flaky
//! ```
//!
//! Changes of project files and of protected files are found on the disk, not here.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Timestamp,
    checks::{
        ledger::{CheckLedger, LedgerEntry},
        project::WorkspaceProjects,
        record::CheckedWork,
        verdict::Verdict,
    },
    run::moment::Moment,
    tasks::{
        TaskDocs, TaskLookup,
        check_gate::{CheckWaiver, WaiverRequest},
        entity::{Task, TaskStatus},
        id::{CheckRunId, StepId, TaskId, WorkspaceId},
        lookup,
        step::Step,
        stop::UnprovenStop,
    },
    text,
};

/// Characters of a title.
const TITLE_CHARS_MAX: usize = 200;

/// What a person is needed for.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum WorkAttentionKind {
    /// A check failed for a step or a task in progress.
    CheckFailed,
    /// The project file differs from what was accepted.
    DefinitionsChanged,
    /// An agent asks to set a check aside.
    WaiverAsked,
    /// Protected files changed, and no person has looked.
    ProtectedChanged,
    /// A check passed and failed on the same files.
    FlakyCheck,
    /// An agent stopped although the checks of its step do not hold.
    AgentStopped,
}

/// What a person can do about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum WorkAction {
    /// Run the check.
    Run,
    /// Set the check aside.
    Waive,
    /// Decline what was asked for.
    Decline,
    /// Accept the definitions of the file.
    Accept,
    /// Keep the accepted definitions.
    Keep,
    /// Look at protected files.
    Review,
}

/// Something about work that waits for a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkAttention {
    pub kind: WorkAttentionKind,
    pub workspace: WorkspaceId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub task_id: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub step_id: Option<StepId>,
    /// Path of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub path: Option<String>,
    /// Name of the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub check: Option<String>,
    /// The run of the check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub check_run: Option<CheckRunId>,
    /// Root of the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub project: Option<String>,
    /// What happened, in one line.
    pub title: String,
    /// What a person can do, in one line.
    pub advice: String,
    pub actions: Vec<WorkAction>,
    pub since: Moment,
}

impl WorkAttention {
    /// An item about a workspace.
    #[must_use]
    pub fn new(
        kind: WorkAttentionKind,
        workspace: &WorkspaceId,
        (title, since): (&str, Timestamp),
        (advice, actions): (&str, &[WorkAction]),
    ) -> Self {
        Self {
            kind,
            workspace: workspace.clone(),
            task_id: None,
            step_id: None,
            path: None,
            check: None,
            check_run: None,
            project: None,
            title: text::cut(title, TITLE_CHARS_MAX),
            advice: advice.to_owned(),
            actions: actions.to_vec(),
            since: since.into(),
        }
    }

    /// The same item about a task and its step.
    fn on(mut self, task: &Task, step: Option<&Step>) -> Self {
        let place = step.map_or(&task.meta.title, |step| &step.title);
        self.title = text::cut(&format!("{place}: {}", self.title), TITLE_CHARS_MAX);
        self.task_id = Some(task.id);
        self.step_id = step.map(|step| step.id);
        self.path = step.map(|step| step.path.to_string());
        self
    }

    fn about(self, check: &str, run: Option<CheckRunId>) -> Self {
        Self { check: Some(check.to_owned()), check_run: run, ..self }
    }
}

/// Events after which the list may be another one.
const TELLING: [&str; 16] = [
    "check_finished",
    "check_waived",
    "check_waiver_asked",
    "check_waiver_taken_back",
    "plan_deleted",
    "project_accepted",
    "protected_reviewed",
    "redo_applied",
    "step_defined",
    "step_deleted",
    "step_done",
    "step_reopened",
    "stop_allowed",
    "task_completed",
    "task_deleted",
    "undo_applied",
];

/// Whether the list may be another one after an event of this type.
#[must_use]
pub fn may_change(event_type: &str) -> bool {
    TELLING.contains(&event_type)
}

/// What a task waits for.
#[must_use]
pub fn of_task(workspace: &WorkspaceId, task: &Task) -> Vec<WorkAttention> {
    if task.meta.status == TaskStatus::Done {
        return Vec::new();
    }
    let asked = task.waivers_asked.iter().filter_map(|asked| waiver_asked(workspace, task, asked));
    let stops = task.steps.iter().filter(|step| !step.is_closed());
    let stops = stops.filter_map(|step| Some((step, step.unproven_stop.as_ref()?)));
    let stops = stops.filter_map(|(step, stop)| agent_stopped(workspace, task, (step, stop)));
    asked.chain(stops).collect()
}

fn waiver_asked(
    workspace: &WorkspaceId,
    task: &Task,
    asked: &WaiverRequest,
) -> Option<WorkAttention> {
    let step = match asked.step {
        Some(id) => Some(task.steps.by_id(id).filter(|step| !step.is_closed())?),
        None => None,
    };
    let who = asked.by.as_ref().map_or("an agent", |by| by.name.as_str());
    let title = format!("{who} asks to set {} aside: {}", asked.check, asked.reason);
    let advice = "Set the check aside, or decline.";
    let actions = [WorkAction::Waive, WorkAction::Decline, WorkAction::Run];
    let kind = WorkAttentionKind::WaiverAsked;
    let item = WorkAttention::new(kind, workspace, (&title, asked.at), (advice, &actions));
    Some(item.on(task, step).about(&asked.check, None))
}

fn agent_stopped(
    workspace: &WorkspaceId,
    task: &Task,
    (step, stop): (&Step, &UnprovenStop),
) -> Option<WorkAttention> {
    let at = stop.allowed_at?;
    let states: Vec<String> =
        stop.checks.iter().map(|(name, state)| format!("{name} {}", state.name())).collect();
    let title = format!("an agent stopped although its checks do not hold: {}", states.join(", "));
    let advice = "Look at the step: let an agent go on, or set the check aside.";
    let actions = [WorkAction::Run, WorkAction::Waive];
    let kind = WorkAttentionKind::AgentStopped;
    let item = WorkAttention::new(kind, workspace, (&title, at), (advice, &actions));
    let item = item.on(task, Some(step));
    Some(match stop.checks.keys().next() {
        Some(check) => item.about(check, None),
        None => item,
    })
}

/// What the checks of a workspace wait for. Reads the ledgers of accepted checks, and of work only
/// what a failed run was asked for.
pub fn of_checks(docs: &TaskDocs, workspace: &WorkspaceId) -> TaskLookup<Vec<WorkAttention>> {
    let Some(projects) = lookup::projects(docs)? else { return Ok(Vec::new()) };
    let mut names: Vec<&String> =
        projects.accepted.iter().flat_map(|project| project.checks.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut items = Vec::new();
    for name in names {
        let ledger = lookup::check_ledger(docs, name)?;
        let reader = LedgerReader { docs, workspace, projects, ledger: &ledger };
        items.extend(reader.failed()?);
        items.extend(reader.flaky());
    }
    Ok(items)
}

/// The verdicts of one check.
struct LedgerReader<'a> {
    docs: &'a TaskDocs,
    workspace: &'a WorkspaceId,
    projects: &'a WorkspaceProjects,
    ledger: &'a CheckLedger,
}

impl<'a> LedgerReader<'a> {
    /// Whether the verdict is about a definition that is in force.
    fn is_in_force(&self, entry: &LedgerEntry) -> bool {
        let known = self.projects.accepted.iter();
        let mut known = known.filter_map(|project| project.checks.get(&self.ledger.check));
        known.any(|check| check.definition == entry.definition)
    }

    /// The newest verdict for each piece of work, if it is not a pass.
    fn failed(&self) -> TaskLookup<Vec<WorkAttention>> {
        let mut seen: BTreeSet<CheckedWork> = BTreeSet::new();
        let mut places = BTreeSet::new();
        let mut items = Vec::new();
        for (at, entry) in self.ledger.entries.iter().enumerate().rev() {
            let Some(work) = entry.asked_for else { continue };
            let is_failure =
                matches!(entry.verdict, Verdict::Failed | Verdict::TimedOut | Verdict::Empty);
            let says_something = is_failure || entry.verdict.is_pass();
            if !says_something || !seen.insert(work) || !is_failure || !self.is_in_force(entry) {
                continue;
            }
            let Some((task, step)) = self.place(work)? else { continue };
            let is_new = places.insert((task.id, step.map(|step| step.id)));
            if is_new && !self.is_waived(task, step, entry) && !self.is_mended(at)? {
                items.push(self.failure(task, step, entry));
            }
        }
        Ok(items)
    }

    /// The work in progress that a run was asked for and that still has to pass the check.
    fn place(&self, work: CheckedWork) -> TaskLookup<Option<(&'a Task, Option<&'a Step>)>> {
        let check = &self.ledger.check;
        let task = lookup::find_task(self.docs, work.task)?;
        let Some(task) = task.filter(|task| task.meta.status != TaskStatus::Done) else {
            return Ok(None);
        };
        let waits = |step: &&Step| !step.is_closed() && step.checks.contains(check);
        if let Some(id) = work.step {
            let step = task.steps.by_id(id).filter(waits);
            return Ok(step.map(|step| (task, Some(step))));
        }
        if let Some(step) = task.steps.iter().find(waits) {
            return Ok(Some((task, Some(step))));
        }
        let is_required = self
            .projects
            .accepted
            .iter()
            .any(|project| project.checks.get(check).is_some_and(|accepted| accepted.required));
        Ok((is_required || task.checks.contains(check)).then_some((task, None)))
    }

    fn is_waived(&self, task: &Task, step: Option<&Step>, entry: &LedgerEntry) -> bool {
        let own = step.into_iter().flat_map(|step| &step.check_waivers);
        let fits = |waiver: &CheckWaiver| {
            let is_for_files = waiver.scope.as_ref().is_none_or(|scope| *scope == entry.scope);
            waiver.check == self.ledger.check && is_for_files
        };
        own.chain(&task.check_waivers).any(fits)
    }

    /// Whether the check passed later in the same directory.
    fn is_mended(&self, at: usize) -> TaskLookup<bool> {
        let failed = &self.ledger.entries[at];
        let Some(failed) = lookup::check_run(self.docs, failed.run)? else { return Ok(false) };
        for later in self.ledger.entries[at..].iter().filter(|entry| entry.verdict.is_pass()) {
            let passed = lookup::check_run(self.docs, later.run)?;
            if passed.is_some_and(|passed| passed.directory == failed.directory) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn failure(&self, task: &Task, step: Option<&Step>, entry: &LedgerEntry) -> WorkAttention {
        let check = &self.ledger.check;
        let failed = entry.counts.map_or(0, |counts| counts.failed);
        let tests = match failed {
            0 => String::new(),
            1 => ", 1 test".to_owned(),
            many => format!(", {many} tests"),
        };
        let what = match entry.verdict {
            Verdict::TimedOut => "timed out",
            Verdict::Empty => "ran no test",
            Verdict::Failed | Verdict::Passed | Verdict::Moved | Verdict::Interrupted => "failed",
        };
        let title = format!("{check} {what}{tests}");
        let advice = "Let an agent mend it, run the check again, or set it aside.";
        let actions = [WorkAction::Run, WorkAction::Waive];
        let kind = WorkAttentionKind::CheckFailed;
        let item = WorkAttention::new(kind, self.workspace, (&title, entry.at), (advice, &actions));
        item.on(task, step).about(check, Some(entry.run))
    }

    /// Whether the newest verdict differs from another one on the same files (PROOF-RUN-7).
    fn flaky(&self) -> Option<WorkAttention> {
        let last = self.ledger.last().filter(|last| self.is_in_force(last))?;
        let flaky = self.ledger.is_flaky(&last.definition, &last.scope)?;
        let is_same = |entry: &&LedgerEntry| {
            (&entry.definition, &entry.scope) == (&last.definition, &last.scope)
        };
        let mut same = self.ledger.entries.iter().filter(is_same);
        let first = same.clone().find(|entry| entry.verdict.is_pass());
        let failed = same.find(|entry| entry.verdict == Verdict::Failed);
        let since = first.zip(failed).map_or(last.at, |(one, other)| one.at.max(other.at));
        let check = &self.ledger.check;
        let times =
            |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
        let title = format!(
            "{check} is flaky: on the same files it passed {} and failed {}",
            times(flaky.passed),
            times(flaky.failed)
        );
        let advice = "Have the check or what it tests mended; a pass still counts.";
        let kind = WorkAttentionKind::FlakyCheck;
        let actions = [WorkAction::Run];
        let item = WorkAttention::new(kind, self.workspace, (&title, since), (advice, &actions));
        let item = item.about(check, Some(last.run));
        Some(WorkAttention { task_id: last.asked_for.map(|work| work.task), ..item })
    }
}

/// The list, oldest first.
#[must_use]
pub fn sorted(mut items: Vec<WorkAttention>) -> Vec<WorkAttention> {
    items.sort_by(|one, other| {
        let key = |item: &WorkAttention| (item.since, item.workspace.to_string(), item.kind);
        key(one).cmp(&key(other)).then_with(|| one.title.cmp(&other.title))
    });
    items
}
