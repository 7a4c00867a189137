//! Everything needed to continue, in one result: views 4.6 and 4.7.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Requested,
    capsule::{self, Capsule, CapsuleContext},
    focus::FocusRestored,
    gather,
    graph::{self, GraphDiff},
    graph_page::GraphRequest,
    handoff,
    memory::{self, MemoryQuery, MemoryView},
    overview::{TargetProgress, TargetStanding, ViewPlace, overview},
    signals::{self, SignalLimits, Signals},
    timeline::Timeline,
};
use crate::tasks::{
    TaskDocs, TaskLookup, TaskResult,
    id::{EntityId, WorkspaceId},
    lookup,
};

/// What the resume views start with.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct ResumeHead {
    #[serde(flatten)]
    pub place: ViewPlace,
    #[serde(flatten)]
    pub restored: Option<FocusRestored>,
    #[serde(flatten)]
    pub standing: TargetStanding,
    #[serde(flatten)]
    pub progress: TargetProgress,
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
    pub fn of(docs: &TaskDocs, query: &SuperResumeQuery<'_>) -> TaskResult<Self> {
        gather::surroundings(docs, query.id)?;
        docs.have(&signals::lists(query.id, query.signals))?;
        Timeline::events(docs, query.id, query.events)?;
        let place = ViewPlace::of(docs, query.workspace, query.requested)?;
        let (standing, progress) = overview(docs, query.workspace, query.id)?;
        Ok(Self {
            head: ResumeHead { place, restored: query.restored, standing, progress },
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
    pub fn of(docs: &TaskDocs, query: &SuperQuery<'_>) -> TaskResult<Self> {
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
                focus: pack.head.place.focus,
                radar: &pack.head.standing.radar,
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
fn gather(docs: &TaskDocs, query: &SuperQuery<'_>) -> TaskResult<()> {
    let id = query.resume.id;
    gather::surroundings(docs, id)?;
    let mut lists = signals::lists(id, query.resume.signals).to_vec();
    lists.extend(memory::lists(id, &query.memory));
    lists.extend(query.graph_diff.map(|request| graph::cards(id, request)));
    docs.have(&lists)?;
    memory::trace_events(docs, id, query.memory.trace)?;
    memory::notes(docs, id, query.memory.notes)?;
    handoff::gather_lists(docs, id, capsule::REPORT_LINES)
}

/// TASKS 4.7: nothing but creation, or events without notes and cards. Checks the whole memory, not
/// the shown pages.
fn thinness(docs: &TaskDocs, id: EntityId) -> TaskLookup<Vec<&'static str>> {
    let counts = lookup::memory_counts(docs, id)?;
    if counts.notes > 0 || !counts.cards.is_empty() {
        return Ok(Vec::new());
    }
    let only_created = docs.get(&id.into())?.is_none_or(signals::is_only_created);
    let is_empty = only_created && counts.captures == 0;
    Ok(vec![if is_empty { "context_empty" } else { "trace_only" }])
}
