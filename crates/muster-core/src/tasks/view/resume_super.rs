//! Everything needed to continue, in one result: views 4.6 and 4.7.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    ReasoningRef, Requested, Rollup, StepsView, TargetView,
    capsule::{self, Capsule, CapsuleContext},
    focus::FocusRestored,
    gather,
    graph::{self, GraphDiff},
    graph_page::GraphRequest,
    handoff,
    memory::{self, MemoryQuery, MemoryView},
    radar::{Radar, RadarView},
    signals::{self, SignalLimits, Signals},
    timeline::Timeline,
};
use crate::{
    Documents, Unloaded, WorkRefusal,
    tasks::{
        TaskAggregate,
        id::{EntityId, WorkspaceId},
    },
};

/// What the resume views start with.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ResumeHead {
    pub workspace: String,
    pub requested: Requested,
    pub focus: Option<EntityId>,
    #[serde(flatten)]
    pub restored: Option<FocusRestored>,
    pub target: TargetView,
    pub reasoning_ref: ReasoningRef,
    pub radar: Radar,
    pub steps: StepsView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollup: Option<Rollup>,
}

impl ResumeHead {
    fn of(radar: RadarView, restored: Option<FocusRestored>) -> Self {
        Self {
            workspace: radar.workspace,
            requested: radar.requested,
            focus: radar.focus,
            restored,
            target: radar.target,
            reasoning_ref: radar.reasoning_ref,
            radar: radar.radar,
            steps: radar.steps,
            rollup: radar.rollup,
        }
    }
}

/// Radar, timeline and signals (view 4.6).
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ResumePack {
    #[serde(flatten)]
    pub head: ResumeHead,
    pub timeline: Timeline,
    pub signals: Signals,
    pub truncated: bool,
}

pub struct SuperResumeQuery<'a> {
    pub workspace: &'a WorkspaceId,
    /// The plan or task.
    pub id: EntityId,
    /// Which target the caller named.
    pub requested: Requested,
    /// The previous focus, if the call moved it.
    pub restored: Option<FocusRestored>,
    /// Events on the timeline.
    pub events: u32,
    pub signals: SignalLimits,
}

impl ResumePack {
    /// The pack of a plan or task.
    pub fn of(
        docs: &Documents<TaskAggregate>,
        query: &SuperResumeQuery<'_>,
    ) -> Result<Self, WorkRefusal<TaskAggregate>> {
        gather::surroundings(docs, query.id)?;
        docs.have(&signals::lists(query.id, query.signals))?;
        Timeline::events(docs, query.id, query.events)?;
        let radar = RadarView::of(docs, query.workspace, query.id, query.requested)?;
        Ok(Self {
            head: ResumeHead::of(radar, query.restored),
            timeline: Timeline::of(docs, query.id, query.events)?,
            signals: Signals::of(docs, query.id, query.signals)?,
            truncated: false,
        })
    }
}

/// Tasks, reasoning memory and explicit signs of degradation (view 4.7).
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ResumeSuper {
    #[serde(flatten)]
    pub head: ResumeHead,
    pub timeline: Timeline,
    pub signals: Signals,
    pub memory: MemoryView,
    pub degradation: Degradation,
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub graph_diff: Option<GraphDiff>,
    pub capsule: Capsule,
}

/// What is missing from the picture.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Degradation {
    /// What is thin about the context.
    pub signals: Vec<&'static str>,
    /// Fields that a budget cut.
    pub truncated_fields: Vec<String>,
    /// Whether only the minimal signal is left.
    pub minimal: bool,
}

/// What the super view needs besides the pack.
pub struct SuperQuery<'a> {
    /// The pack.
    pub resume: SuperResumeQuery<'a>,
    /// Pages of memory.
    pub memory: MemoryQuery,
    /// Page of the graph's difference, if requested.
    pub graph_diff: Option<GraphRequest>,
    /// Name of the toolset chosen at start.
    pub toolset: &'static str,
    /// Whether it lists a tool.
    pub lists: &'a dyn Fn(&str) -> bool,
}

impl ResumeSuper {
    /// The view of a plan or task.
    pub fn of(
        docs: &Documents<TaskAggregate>,
        query: &SuperQuery<'_>,
    ) -> Result<Self, WorkRefusal<TaskAggregate>> {
        let id = query.resume.id;
        gather(docs, query)?;
        let pack = ResumePack::of(docs, &query.resume)?;
        let memory = MemoryView::of(docs, id, &query.memory)?;
        let graph_diff =
            query.graph_diff.map(|request| GraphDiff::of(docs, id, request)).transpose()?;
        let capsule = Capsule::of(
            docs,
            &CapsuleContext {
                workspace: query.resume.workspace,
                id,
                focus: pack.head.focus,
                radar: &pack.head.radar,
                timeline: &pack.timeline.events,
                signals: &pack.signals,
                memory: &memory,
                graph_diff: graph_diff.as_ref(),
                toolset: query.toolset,
                lists: query.lists,
            },
        )?;
        Ok(Self {
            degradation: Degradation {
                signals: thinness(docs, id)?,
                truncated_fields: Vec::new(),
                minimal: false,
            },
            head: pack.head,
            timeline: pack.timeline,
            signals: pack.signals,
            memory,
            truncated: false,
            graph_diff,
            capsule,
        })
    }
}

/// Makes sure that everything the view shows is loaded.
fn gather(
    docs: &Documents<TaskAggregate>,
    query: &SuperQuery<'_>,
) -> Result<(), WorkRefusal<TaskAggregate>> {
    let id = query.resume.id;
    gather::surroundings(docs, id)?;
    let mut lists = signals::lists(id, query.resume.signals).to_vec();
    lists.extend(memory::lists(id, &query.memory));
    lists.extend(query.graph_diff.map(|request| graph::cards(id, request)));
    docs.have(&lists)?;
    memory::trace_events(docs, id, query.memory.trace)?;
    handoff::gather_lists(docs, id, capsule::REPORT_LINES)
}

/// TASKS 4.7: nothing but creation, or events without notes and cards. Checks the whole memory, not
/// the shown pages.
fn thinness(
    docs: &Documents<TaskAggregate>,
    id: EntityId,
) -> Result<Vec<&'static str>, Unloaded<TaskAggregate>> {
    let counts = signals::counts(docs, id)?;
    if counts.notes > 0 || !counts.cards.is_empty() {
        return Ok(Vec::new());
    }
    let only_created = docs.get(&id.into())?.is_none_or(signals::is_only_created);
    let is_empty = only_created && counts.captures == 0;
    Ok(vec![if is_empty { "context_empty" } else { "trace_only" }])
}
