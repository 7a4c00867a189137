//! The capsule: a small, version-stable container of goal, state and next action (TASKS-VIEW-9).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    ReasoningRef, ViewLine,
    graph::GraphDiff,
    handoff::Handoff,
    memory::MemoryView,
    page::CursorPage,
    radar::Radar,
    signals::{SignalCounts, Signals},
};
use crate::{
    tasks::{
        TaskDocs, TaskDocument, TaskResult,
        entity::TaskStatus,
        id::{EntityId, EntityKind, WorkspaceId},
        lookup,
        wire::EventView,
    },
    text,
};

const TITLE_CHARS: usize = 120;
const NOW_CHARS: usize = 140;
const WHY_CHARS: usize = 160;
const LINE_CHARS: usize = 120;
const LINES: usize = 3;
/// Lines to verify: they hold the criteria and tests of the step to work on.
const VERIFY_LINES: usize = 6;
/// Lines requested from the report: one more than shown, to detect a longer list.
pub(super) const REPORT_LINES: usize = LINES + 1;

/// The capsule.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Capsule {
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    pub version: u32,
    pub toolset: Cow<'static, str>,
    pub workspace: String,
    pub focus: Option<EntityId>,
    pub target: CapsuleTarget,
    pub reasoning_ref: ReasoningRef,
    pub radar: Radar,
    pub handoff: Handoff,
    pub counts: CapsuleCounts,
    pub last_event: Option<LastEvent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph_diff: Option<Value>,
    pub action: Option<NextAction>,
    pub escalation: Option<Escalation>,
}

/// The plan or task in short.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleTarget {
    pub kind: EntityKind,
    pub id: String,
    pub qualified_id: String,
    pub title: String,
    pub revision: u64,
    pub status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// How much the view around the capsule shows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CapsuleCounts {
    pub timeline_events: usize,
    pub notes: PageCount,
    pub trace: PageCount,
    pub cards: PageCount,
    pub signals: SignalCounts,
}

/// How much of a page is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PageCount {
    pub count: usize,
    pub has_more: bool,
}

impl PageCount {
    fn of(page: &CursorPage<u64>) -> Self {
        Self { count: page.count, has_more: page.has_more }
    }
}

/// The newest event in short.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LastEvent {
    pub event_id: String,
    pub ts: String,
    pub ts_ms: i64,
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    pub path: Option<String>,
}

/// The call to make next.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NextAction {
    /// Operation to call.
    pub tool: Cow<'static, str>,
    /// What it is for.
    pub purpose: Cow<'static, str>,
    /// Whether the toolset lists it.
    pub available: bool,
    /// Arguments that work verbatim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Map<String, Value>>,
    /// A template to fill in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args_hint: Option<Map<String, Value>>,
}

/// Which toolset lists the action.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Escalation {
    /// Always true.
    pub required: bool,
    /// The toolset.
    pub toolset: Cow<'static, str>,
    /// Why.
    pub reason: String,
}

/// Input of the capsule from its view.
pub struct CapsuleContext<'a> {
    pub workspace: &'a WorkspaceId,
    /// The plan or task.
    pub id: EntityId,
    /// Focus after the call.
    pub focus: Option<EntityId>,
    /// One screen of state.
    pub radar: &'a Radar,
    pub timeline: &'a [EventView],
    pub signals: &'a Signals,
    pub memory: &'a MemoryView,
    /// The graph's difference, if requested.
    pub graph_diff: Option<&'a GraphDiff>,
    /// Name of the toolset chosen at start.
    pub toolset: &'static str,
    /// Whether it lists a tool.
    pub lists: &'a dyn Fn(&str) -> bool,
}

impl Capsule {
    /// The capsule of a view.
    pub fn of(docs: &TaskDocs, around: &CapsuleContext<'_>) -> TaskResult<Self> {
        let action = super::action::next(docs, around.workspace, around.id)?;
        let action =
            action.map(|action| NextAction { available: (around.lists)(&action.tool), ..action });
        let escalation = action.as_ref().filter(|action| !action.available).map(|action| {
            let reason = format!("{} is not listed in toolset {}", action.tool, around.toolset);
            Escalation { required: true, toolset: "full".into(), reason }
        });
        let last = around.timeline.last();
        Ok(Self {
            kind: "handoff_capsule".into(),
            version: 1,
            toolset: around.toolset.into(),
            workspace: around.workspace.to_string(),
            focus: around.focus,
            target: target(docs, around)?,
            reasoning_ref: ReasoningRef::of(around.id),
            radar: short_radar(around.radar),
            handoff: short_handoff(&Handoff::of(docs, around.id, REPORT_LINES)?),
            counts: CapsuleCounts {
                timeline_events: around.timeline.len(),
                notes: PageCount::of(&around.memory.notes.pagination),
                trace: PageCount::of(&around.memory.trace.pagination),
                cards: PageCount::of(&around.memory.cards_pagination),
                signals: around.signals.stats,
            },
            last_event: last.map(|event| LastEvent {
                event_id: event.event_id.clone(),
                ts: event.ts.clone(),
                ts_ms: event.ts_ms,
                kind: event.fact.kind.clone(),
                path: event.fact.path.clone(),
            }),
            graph_diff: around
                .graph_diff
                .map(|diff| json!({"available": diff.available, "summary": diff.summary})),
            action,
            escalation,
        })
    }
}

fn target(docs: &TaskDocs, around: &CapsuleContext<'_>) -> TaskResult<CapsuleTarget> {
    lookup::revision(docs, around.id)?;
    let document = docs.get(&around.id.into())?;
    let Some(meta) = document.and_then(TaskDocument::meta) else {
        unreachable!("{} was just found", around.id)
    };
    Ok(CapsuleTarget {
        kind: around.id.kind(),
        id: around.id.to_string(),
        qualified_id: format!("{}:{}", around.workspace, around.id),
        title: text::cut(&meta.title, TITLE_CHARS),
        revision: meta.revision,
        status: meta.status,
        parent: document.and_then(TaskDocument::as_task).map(|task| task.parent.to_string()),
    })
}

fn short(lines: &[ViewLine]) -> Vec<ViewLine> {
    first(lines, LINES)
}

fn first(lines: &[ViewLine], count: usize) -> Vec<ViewLine> {
    lines.iter().take(count).map(|line| text::cut(line, LINE_CHARS)).collect()
}

fn short_radar(radar: &Radar) -> Radar {
    Radar {
        now: text::cut(&radar.now, NOW_CHARS),
        why: text::cut(&radar.why, WHY_CHARS),
        verify: first(&radar.verify, VERIFY_LINES),
        next: short(&radar.next),
        blockers: short(&radar.blockers),
    }
}

fn short_handoff(handoff: &Handoff) -> Handoff {
    Handoff {
        done: short(&handoff.done),
        remaining: short(&handoff.remaining),
        risks: short(&handoff.risks),
        notes: Vec::new(),
    }
}
