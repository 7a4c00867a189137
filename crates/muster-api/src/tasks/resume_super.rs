//! `tasks_resume_pack`, `tasks_resume_super`, `tasks_snapshot`, and the view that macros embed.

use std::sync::Arc;

use muster_core::tasks::{
    TaskAggregate, TaskDocs, TaskResult,
    id::{EntityId, WorkspaceId},
    lookup,
    view::{
        Requested,
        empty::EmptyWorkspace,
        focus::FocusRestored,
        graph::GraphDifference,
        graph_page::{GraphCursor, GraphRequest},
        memory::{EntryPage, MemoryEntry, MemoryQuery, SeqRequest},
        resume_super::{ResumePack, ResumeSuper, SuperQuery, SuperResumeQuery},
        shed::{self, PageStarts},
        signals::SignalLimits,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    groups::{Budgeted, BudgetedView, TaskOrPlan, VIEW_CHARS},
    refocus::Showing,
    work::failure,
};
use crate::{
    AccessRole, App, OperationEffect, Toolset,
    call::{CallAction, CallFailure, CallReply, CheckedCall},
    economy::AnswerSize,
    registry::Operation,
    suggest::ToolNames,
};

/// Characters of the view inside a macro's answer to a model that asks for no other size.
pub(crate) const RESUME_CHARS: u64 = 500;

const EVENTS_DEFAULT: u32 = 20;
const SIGNALS_DEFAULT: u32 = 5;
const NOTES_DEFAULT: u32 = 10;
const MEMORY_DEFAULT: u32 = 20;
const GRAPH_DEFAULT: u32 = 50;

/// Shows radar, timeline, decisions, evidence and blockers of a plan or task; an explicit target
/// becomes the focus unless read_only.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksResumePack {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    /// 0 to 1000; default 20.
    #[schemars(range(max = 1000))]
    events_limit: Option<u32>,
    /// 0 to 1000; default 5.
    #[schemars(range(max = 1000))]
    decisions_limit: Option<u32>,
    /// 0 to 1000; default 5.
    #[schemars(range(max = 1000))]
    evidence_limit: Option<u32>,
    #[serde(flatten)]
    budgeted: Budgeted,
    /// true leaves focus alone; default false.
    read_only: Option<bool>,
}

impl Operation for TasksResumePack {
    const NAME: &'static str = "tasks_resume_pack";
    const TITLE: &'static str = "Resume in short";
    const EFFECT: OperationEffect = OperationEffect::Set;
    const ROLE: AccessRole = AccessRole::Viewer;
    type Response = ResumePack;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let named = call.wanted(&self.workspace, self.selection.named()?);
        let requested = self.selection.requested();
        let signals = SignalLimits {
            blockers: SIGNALS_DEFAULT,
            decisions: self.decisions_limit.unwrap_or(SIGNALS_DEFAULT),
            evidence: self.evidence_limit.unwrap_or(SIGNALS_DEFAULT),
        };
        let events = self.events_limit.unwrap_or(EVENTS_DEFAULT);
        let workspace = self.workspace.clone();
        let size = call.size(self.budgeted.max_chars);
        let showing = Showing { named, read_only: self.read_only.unwrap_or(false) };
        call.show(&self.workspace, showing, move |docs, target, restored| {
            let workspace = &workspace;
            let id = target.id;
            let query = SuperResumeQuery { workspace, id, requested, restored, events, signals };
            let view = ResumePack::of(docs, &query)?;
            Ok(CallReply::view(&view, size, shed::resume_pack))
        })
    }
}

/// Limits and cursors of the super view.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct SuperLimits {
    /// 0 to 1000; default 20.
    #[schemars(range(max = 1000))]
    events_limit: Option<u32>,
    /// Default 5.
    #[schemars(range(max = 1000))]
    decisions_limit: Option<u32>,
    /// Default 5.
    #[schemars(range(max = 1000))]
    evidence_limit: Option<u32>,
    /// Default 5.
    #[schemars(range(max = 1000))]
    blockers_limit: Option<u32>,
    /// Default 10.
    #[schemars(range(max = 1000))]
    notes_limit: Option<u32>,
    /// Default 20.
    #[schemars(range(max = 1000))]
    trace_limit: Option<u32>,
    /// Default 20.
    #[schemars(range(max = 1000))]
    cards_limit: Option<u32>,
    /// Only older than this seq.
    notes_cursor: Option<u64>,
    /// Only older than this seq.
    trace_cursor: Option<u64>,
    /// Only older than this seq.
    cards_cursor: Option<u64>,
    /// Default 50.
    #[schemars(range(max = 1000))]
    graph_diff_limit: Option<u32>,
    /// Only older than this seq, or the previous next_cursor.
    graph_diff_cursor: Option<GraphCursor>,
}

/// What the super view shows besides the state: pages, toolset, budget.
#[derive(Clone)]
pub(crate) struct SuperView {
    limits: SuperLimits,
    graph_diff: bool,
    size: AnswerSize,
    toolset: Toolset,
    listed: Arc<ToolNames>,
}

impl SuperView {
    /// The view as macros embed it: default pages, no graph.
    pub(crate) fn embedded(app: &App, size: AnswerSize) -> Self {
        Self::new(app, SuperLimits::default(), false, size)
    }

    fn new(app: &App, limits: SuperLimits, graph_diff: bool, size: AnswerSize) -> Self {
        let toolset = app.toolset();
        let listed = Arc::new(app.registry().names(toolset));
        Self { limits, graph_diff, size, toolset, listed }
    }

    /// Shows a plan or task.
    pub(crate) fn show(
        &self,
        docs: &TaskDocs,
        workspace: &WorkspaceId,
        id: EntityId,
        (requested, restored): (Requested, Option<FocusRestored>),
    ) -> TaskResult<CallReply> {
        let limits = &self.limits;
        let page = |cursor, limit: Option<u32>, default| SeqRequest {
            cursor,
            limit: limit.unwrap_or(default),
        };
        let signal = |limit: Option<u32>| limit.unwrap_or(SIGNALS_DEFAULT);
        let lists = |tool: &str| self.listed.contains(tool);
        let graph = GraphRequest {
            cursor: limits.graph_diff_cursor,
            limit: limits.graph_diff_limit.unwrap_or(GRAPH_DEFAULT),
        };
        let view = ResumeSuper::of(
            docs,
            &SuperQuery {
                resume: SuperResumeQuery {
                    workspace,
                    id,
                    requested,
                    restored,
                    events: limits.events_limit.unwrap_or(EVENTS_DEFAULT),
                    signals: SignalLimits {
                        blockers: signal(limits.blockers_limit),
                        decisions: signal(limits.decisions_limit),
                        evidence: signal(limits.evidence_limit),
                    },
                },
                memory: MemoryQuery {
                    notes: page(limits.notes_cursor, limits.notes_limit, NOTES_DEFAULT),
                    trace: page(limits.trace_cursor, limits.trace_limit, MEMORY_DEFAULT),
                    cards: page(limits.cards_cursor, limits.cards_limit, MEMORY_DEFAULT),
                },
                graph_diff: self.graph_diff.then_some(graph),
                toolset: self.toolset.name(),
                lists: &lists,
            },
        )?;
        let starts = self.starts(&view);
        let view = Snapshot::Target(Box::new(view));
        Ok(CallReply::view(&view, self.size, || shed::resume_super(starts)))
    }

    /// What to show while there is nothing.
    fn beginning(&self, workspace: &WorkspaceId) -> CallReply {
        let empty = EmptyWorkspace::of(workspace, &|tool| self.listed.contains(tool));
        CallReply::new(&Snapshot::Empty(Box::new(empty)))
    }

    /// Where each page would restart if a budget emptied it.
    fn starts(&self, view: &ResumeSuper) -> PageStarts {
        let newest = |page: &EntryPage| page.entries.last().map(MemoryEntry::seq);
        let first_change = view.graph_diff.as_ref().and_then(|diff| diff.changes.first());
        let after = |seq: Option<u64>| seq.map_or(0, |seq| seq + 1);
        let limits = &self.limits;
        PageStarts {
            notes: limits.notes_cursor.unwrap_or(after(newest(&view.memory.notes))),
            trace: limits.trace_cursor.unwrap_or(after(newest(&view.memory.trace))),
            cards: limits
                .cards_cursor
                .unwrap_or(after(view.memory.cards.first().map(|card| card.last_seq))),
            graph: limits
                .graph_diff_cursor
                .unwrap_or(GraphCursor::older_than(after(first_change.map(GraphDifference::seq)))),
        }
    }
}

/// Shows everything to continue a plan or task in one result: radar, steps, timeline, signals,
/// reasoning memory, and a capsule with the next call. An explicit target becomes the focus unless
/// read_only.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksResumeSuper {
    /// Workspace id.
    workspace: WorkspaceId,
    #[serde(flatten)]
    selection: TaskOrPlan,
    #[serde(flatten)]
    limits: SuperLimits,
    /// true adds how the graph differs from its base; default false.
    graph_diff: Option<bool>,
    #[serde(flatten)]
    budgeted: BudgetedView,
    /// true leaves focus alone; default false.
    read_only: Option<bool>,
}

impl Operation for TasksResumeSuper {
    const NAME: &'static str = "tasks_resume_super";
    const TITLE: &'static str = "Resume with everything";
    const EFFECT: OperationEffect = OperationEffect::Set;
    const ROLE: AccessRole = AccessRole::Viewer;
    const BRIEF_CHARS: Option<u64> = Some(VIEW_CHARS);
    type Response = ResumeSuper;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let graph_diff = self.graph_diff.unwrap_or(false);
        let size = call.size(self.budgeted.max_chars);
        let view = SuperView::new(call.app, self.limits, graph_diff, size);
        show(call, &self.workspace, &self.selection, self.read_only, view)
    }
}

/// Shows a plan or task for picking it up: state, memory, graph changes, and a capsule with the
/// next call. Start here when you take over work.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct TasksSnapshot {
    /// Workspace id; default: the server's.
    workspace: Option<WorkspaceId>,
    #[serde(flatten)]
    selection: TaskOrPlan,
    #[serde(flatten)]
    limits: SuperLimits,
    #[serde(flatten)]
    budgeted: BudgetedView,
    /// true leaves focus alone; default false.
    read_only: Option<bool>,
}

impl Operation for TasksSnapshot {
    const NAME: &'static str = "tasks_snapshot";
    const TITLE: &'static str = "Show a task for picking it up";
    const TOOLSET: Toolset = Toolset::Core;
    const EFFECT: OperationEffect = OperationEffect::Set;
    const ROLE: AccessRole = AccessRole::Viewer;
    const BRIEF_CHARS: Option<u64> = Some(VIEW_CHARS);
    type Response = Snapshot;

    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure> {
        let workspace = call.workspace(self.workspace)?;
        let size = call.size(self.budgeted.max_chars);
        let view = SuperView::new(call.app, self.limits, true, size);
        match begins(call, &workspace, &self.selection)? {
            true => Ok(call.answer(Some(&workspace), view.beginning(&workspace))),
            false => show(call, &workspace, &self.selection, self.read_only, view),
        }
    }
}

/// A snapshot: of a plan or task, or of a workspace that has none yet.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Snapshot {
    Target(Box<ResumeSuper>),
    Empty(Box<EmptyWorkspace>),
}

/// Whether nothing was named and there is nothing to show.
fn begins(
    call: &CheckedCall<'_>,
    workspace: &WorkspaceId,
    selection: &TaskOrPlan,
) -> Result<bool, CallFailure> {
    let wanted = call.wanted(workspace, selection.named()?);
    if wanted.named.is_some() || wanted.bound.is_some() {
        return Ok(false);
    }
    let read = call.app.engine().read::<TaskAggregate, _>(&workspace.stream(), |docs| {
        let workspace = lookup::workspace(docs)?;
        Ok(workspace.plans.total() + workspace.tasks.total() == 0)
    });
    read.map_err(|error| failure(workspace, error))
}

fn show(
    call: &CheckedCall<'_>,
    workspace: &WorkspaceId,
    selection: &TaskOrPlan,
    read_only: Option<bool>,
    view: SuperView,
) -> Result<CallAction, CallFailure> {
    let named = call.wanted(workspace, selection.named()?);
    let requested = selection.requested();
    let scope = workspace.clone();
    let showing = Showing { named, read_only: read_only.unwrap_or(false) };
    call.show(workspace, showing, move |docs, target, restored| {
        view.show(docs, &scope, target.id, (requested, restored))
    })
}
