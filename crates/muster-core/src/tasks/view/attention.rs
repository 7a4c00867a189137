//! What about work waits for a person: one item for each cause, with what can be done about it.
//!
//! ```text
//!   catalogued tasks ─► waivers asked for, agents that stopped in the middle of a step
//!   accepted checks ─► ledger of each ─► failed for work in progress, doubtful pass, flaky
//! ```
//!
//! Changes of project files and of protected files are found on the disk, not here.

mod checks;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use checks::of_checks;

use crate::{
    Timestamp,
    run::moment::Moment,
    session::{SessionId, watched::WaitingSession},
    tasks::{
        check_gate::WaiverRequest,
        entity::{Task, TaskStatus},
        id::{CheckRunId, StepId, TaskId, WorkspaceId},
        step::Step,
        stop::UnprovenStop,
    },
    text,
    watched::WaitReason,
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
    /// A pass differs from those before it: tests are gone, or another program ran.
    DoubtfulPass,
    /// An agent stopped although the checks of its step do not hold.
    AgentStopped,
    /// An agent that a person started waits for an answer where it runs.
    AgentWaits,
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
    /// The session of the agent that waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub session_id: Option<SessionId>,
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
            session_id: None,
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
    let states: Vec<String> = stop
        .checks
        .iter()
        .map(|(name, state)| format!("{name} {}", state.name().replace('_', " ")))
        .collect();
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

/// What an agent that a person started waits for: an answer in the place where it runs.
#[must_use]
pub fn of_session(id: &SessionId, waiting: &WaitingSession) -> WorkAttention {
    let host = waiting.host.name();
    let what = &waiting.wait.text;
    let title = match waiting.wait.kind {
        WaitReason::Permission => format!("{host} asks for permission: {what}"),
        WaitReason::Question => format!("{host} asks: {what}"),
        WaitReason::Plan => format!("{host} has {what}"),
        WaitReason::Prompt => format!("{host} waits for your next message"),
    };
    let session = waiting.title.as_deref().unwrap_or("a session without a title");
    let place = match &waiting.directory {
        Some(directory) => format!("in the terminal of {host} in {directory}"),
        None => format!("in the terminal of {host}"),
    };
    let advice = format!("Answer {place} ({session}).");
    let kind = WorkAttentionKind::AgentWaits;
    let workspace = waiting.workspace.as_deref().and_then(|name| name.parse().ok());
    let of_directory = || waiting.directory.as_deref().and_then(WorkspaceId::named_after);
    let of_host = || WorkspaceId::named_after(host);
    let workspace = workspace.or_else(of_directory).or_else(of_host);
    let Some(workspace) = workspace else {
        unreachable!("the name of a host is that of a workspace")
    };
    let item =
        WorkAttention::new(kind, &workspace, (&title, waiting.wait.since_ms), (&advice, &[]));
    WorkAttention { session_id: Some(id.clone()), ..item }
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
