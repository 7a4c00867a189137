//! The target of a call: what an argument names, the binding of the caller, the focus.

use super::{candidates, plan, plan_of, revision, status, workspace};
use crate::{
    WorkRefusal,
    tasks::{
        TaskDocs, TaskRejection, TaskResult,
        id::{EntityId, EntityKind, PlanId},
    },
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetSource {
    /// An argument named it.
    Explicit,
    /// The binding of the caller.
    Bound,
    /// The workspace focus.
    Focus,
}

/// The requested target, before it is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LookupRequest {
    /// What an argument names.
    pub named: Option<EntityId>,
    /// The binding of the caller; it comes before the focus (RUNS-TIE-3).
    pub bound: Option<EntityId>,
    /// What the caller's connection knows of the focus.
    pub focus: KnownFocus,
    /// Whether the call changes its target: then a focus that others have moved does not count.
    pub changes: bool,
}

/// The focus as a connection knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KnownFocus {
    /// What the connection has focused on itself; it comes before the focus of the workspace.
    pub own: Option<EntityId>,
    /// The focus of the workspace as the connection last saw it.
    pub seen: Option<EntityId>,
}

impl From<Option<EntityId>> for LookupRequest {
    fn from(named: Option<EntityId>) -> Self {
        Self { named, ..Self::default() }
    }
}

impl LookupRequest {
    /// The target without the focus; a binding counts only if the call accepts its kind.
    fn target(self, accepts: Accepts) -> Option<Target> {
        let explicit = self.named.map(|id| Target { id, source: TargetSource::Explicit });
        let bound = self.bound.filter(|id| match accepts {
            Accepts::Any => true,
            Accepts::Only(kind) => id.kind() == kind,
        });
        explicit.or_else(|| bound.map(|id| Target { id, source: TargetSource::Bound }))
    }
}

/// The resolved target of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The plan or task.
    pub id: EntityId,
    /// How it was found.
    pub source: TargetSource,
}

/// Which kinds of target a call accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accepts {
    /// Plans and tasks.
    Any,
    Only(EntityKind),
}

/// Finds the target of a call: the explicit one, else the caller's binding, else focus
/// (TASKS-TGT-3, -5, -6).
pub fn target(
    docs: &TaskDocs,
    wanted: impl Into<LookupRequest>,
    accepts: Accepts,
) -> TaskResult<Target> {
    let wanted = wanted.into();
    let target = match wanted.target(accepts) {
        Some(target) => target,
        None => match focused(docs, wanted)? {
            Some(id) => Target { id, source: TargetSource::Focus },
            None => {
                return Err(WorkRefusal::rejected(TaskRejection::NoTarget(candidates(
                    docs, None,
                )?)));
            }
        },
    };
    if let Accepts::Only(wanted) = accepts
        && target.id.kind() != wanted
    {
        let within = match target.id {
            EntityId::Plan(plan) => Some(plan),
            EntityId::Task(_) => None,
        };
        return Err(WorkRefusal::rejected(TaskRejection::WrongKind {
            id: target.id,
            wanted,
            from_focus: target.source == TargetSource::Focus,
            candidates: candidates(docs, within)?,
        }));
    }
    revision(docs, target.id)?;
    Ok(target)
}

/// The focus of a call: that of its connection, else that of the workspace (EASE-TEAM-1).
fn focused(docs: &TaskDocs, wanted: LookupRequest) -> TaskResult<Option<EntityId>> {
    let KnownFocus { own, seen } = wanted.focus;
    if let Some(own) = own
        && status(docs, own)?.is_some()
    {
        return Ok(Some(own));
    }
    match (seen, workspace(docs)?.focus) {
        (Some(seen), Some(focus)) if wanted.changes && seen != focus => {
            Err(WorkRefusal::rejected(TaskRejection::FocusMoved { seen, focus }))
        }
        (_, focus) => Ok(focus),
    }
}

/// The plan of a new task: the named one, else that of the task that the caller is bound to
/// (RUNS-TIE-3), else that of the focus (TASKS-PAR-1).
pub fn parent_plan(
    docs: &TaskDocs,
    explicit: Option<PlanId>,
    wanted: LookupRequest,
) -> TaskResult<PlanId> {
    if let Some(id) = explicit {
        return plan(docs, id).map(|plan| plan.id);
    }
    let beside = match wanted.bound {
        Some(bound) => Some(bound),
        None => focused(docs, wanted)?,
    };
    match beside {
        Some(id) => plan_of(docs, id),
        None => Err(WorkRefusal::rejected(TaskRejection::ParentMissing)),
    }
}
