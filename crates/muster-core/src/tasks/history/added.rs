//! What an operation added besides the fields that it changed: steps, a task with its plan,
//! evidence and notes. An undo takes it away as a whole and keeps it with the operation, so that a
//! redo can bring back exactly that.

use serde::{Deserialize, Serialize};

use crate::{
    ListQuery, Recorded, Timestamp,
    run::hash::sha256_hex,
    tasks::{
        TaskDocs, TaskDocument, TaskEvent, TaskLookup,
        entity::{Checklist, Meta, Plan, Task, TaskStatus},
        id::{CardId, EntityId, EvidenceId, PlanId, TaskId},
        lookup,
        memory::{Card, Evidence, MemoryCounts, NoteEntry},
        path::StepPath,
        step::Step,
    },
};

/// What an operation added.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AddedParts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanId>,
    /// The task; everything else that it added is then inside of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Steps of a task that was there before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepPath>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<EvidenceId>,
    /// Positions of notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<u64>,
    /// Digest of the steps, or of the task with its plan, as the operation left them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The focus before, if there was one and the operation moved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus_before: Option<EntityId>,
}

/// What an undo has taken away, for a redo.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WithdrawnParts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<Card>,
    /// Totals of the memories of plan and task, in documents of earlier versions only.
    #[serde(skip_serializing)]
    counts: Vec<(EntityId, MemoryCounts)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Checks of these steps that the task has had to pass since.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<NoteEntry>,
    /// Positions of notes on steps, which have no document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub step_notes: Vec<u64>,
}

impl WithdrawnParts {
    pub(super) fn bring_up_to_date(&mut self) {
        for (id, counts) in std::mem::take(&mut self.counts) {
            let meta = match id {
                EntityId::Plan(_) => self.plan.as_mut().map(|plan| &mut plan.meta),
                EntityId::Task(_) => self.task.as_mut().map(|task| &mut task.meta),
            };
            if let Some(meta) = meta {
                meta.memory = counts;
            }
        }
        let (on_steps, notes): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.notes).into_iter().partition(NoteEntry::is_on_step);
        self.notes = notes;
        self.step_notes.extend(on_steps.iter().map(|note| note.seq));
    }
}

impl AddedParts {
    /// What the events of one operation added; `None` if it only changed fields.
    pub(super) fn of(
        docs: &TaskDocs,
        entity: EntityId,
        events: &[Recorded<TaskEvent>],
    ) -> TaskLookup<Option<Self>> {
        let mut added = Self::default();
        for recorded in events {
            added.add(recorded);
        }
        if added.task.is_some() {
            added.steps.clear();
            added.evidence.clear();
            added.notes.clear();
        }
        added.digest = added.current_digest(docs, entity)?;
        Ok((added != Self::default()).then_some(added))
    }

    fn add(&mut self, Recorded { event, global, .. }: &Recorded<TaskEvent>) {
        if let TaskEvent::PlanCreated(created) = event {
            self.plan = Some(created.id);
        } else if let TaskEvent::TaskCreated(created) = event {
            self.task = Some(created.id);
        } else if let TaskEvent::StepsAdded(steps) = event {
            self.steps.extend(steps.steps.iter().map(|step| step.path.clone()));
        } else if let TaskEvent::EvidenceCaptured(captured) = event {
            self.evidence.push(captured.evidence.id);
            self.notes.push(*global);
        } else if let TaskEvent::StepNoted(_) | TaskEvent::NoteKept(_) = event {
            self.notes.push(*global);
        }
    }

    /// Whether it added steps, a task or a plan, which others may have worked on since.
    pub fn has_places(&self) -> bool {
        self.task.is_some() || !self.steps.is_empty()
    }

    /// The plan and the task that it created.
    pub fn entities(&self) -> impl Iterator<Item = EntityId> {
        let plan = self.plan.map(EntityId::Plan);
        plan.into_iter().chain(self.task.map(EntityId::Task))
    }

    /// Whether steps, task and plan are as the operation left them.
    pub fn is_untouched(&self, docs: &TaskDocs, entity: EntityId) -> TaskLookup<bool> {
        Ok(self.digest.is_some() && self.digest == self.current_digest(docs, entity)?)
    }

    /// The digest of what is there now; `None` if a part of it is gone or there was none.
    fn current_digest(&self, docs: &TaskDocs, entity: EntityId) -> TaskLookup<Option<String>> {
        let content = if let Some(id) = self.task {
            let Some(task) = lookup::find_task(docs, id)? else { return Ok(None) };
            let plan = match self.plan {
                Some(id) => lookup::find_plan(docs, id)?.map(PlanContent::of),
                None => None,
            };
            let mut memories = Vec::new();
            for entity in self.entities() {
                memories.push((lookup::memory_counts(docs, entity)?, cards_of(docs, entity)?));
            }
            serde_json::to_vec(&(TaskContent::of(task), plan, memories))
        } else if let (EntityId::Task(id), [_, ..]) = (entity, &self.steps[..]) {
            let Some(task) = lookup::find_task(docs, id)? else { return Ok(None) };
            if self.steps.iter().any(|path| task.steps.at(path).is_none()) {
                return Ok(None);
            }
            let steps = self.steps.iter().flat_map(|path| task.steps.subtree(path));
            serde_json::to_vec(&steps.map(step_content).collect::<Vec<_>>())
        } else {
            return Ok(None);
        };
        Ok(content.ok().map(|content| sha256_hex(&content)))
    }
}

/// The cards of a memory with the moment of their last commit.
fn cards_of(docs: &TaskDocs, id: EntityId) -> TaskLookup<Vec<(CardId, Timestamp)>> {
    let query = ListQuery { parent: Some(id.to_string()), ..ListQuery::of("card") };
    let cards = docs.list(&query)?.into_iter().filter_map(TaskDocument::as_card);
    Ok(cards.map(|card| (card.id, card.last_at)).collect())
}

/// What a task holds, without what undo and redo, positions and other plans and tasks change. The
/// status is left out because it never moves back (TASKS-UNDO-2).
#[derive(Serialize)]
struct TaskContent {
    meta: Meta,
    fields: [Option<String>; 4],
    checks: Vec<String>,
    waivers: usize,
    steps: Vec<Step>,
}

impl TaskContent {
    fn of(task: &Task) -> Self {
        let own = [&task.domain, &task.phase, &task.component, &task.assignee];
        Self {
            meta: meta_content(&task.meta),
            fields: own.map(Clone::clone),
            checks: task.checks.clone(),
            waivers: task.check_waivers.len() + task.waivers_asked.len(),
            steps: task.steps.iter().map(step_content).collect(),
        }
    }
}

/// The same of a plan, with the number of its tasks.
#[derive(Serialize)]
struct PlanContent {
    meta: Meta,
    contract: Option<String>,
    contract_data: Option<serde_json::Map<String, serde_json::Value>>,
    checklist: Checklist,
    tasks: u64,
}

impl PlanContent {
    fn of(plan: &Plan) -> Self {
        Self {
            meta: meta_content(&plan.meta),
            contract: plan.contract.clone(),
            contract_data: plan.contract_data.clone(),
            checklist: plan.checklist.clone(),
            tasks: plan.sums.tasks.total(),
        }
    }
}

fn meta_content(meta: &Meta) -> Meta {
    Meta {
        revision: 0,
        status: TaskStatus::default(),
        waiting_on: std::collections::BTreeSet::new(),
        redoable: false,
        memory: MemoryCounts::default(),
        created_seq: 0,
        updated_at: Timestamp::default(),
        ..meta.clone()
    }
}

fn step_content(step: &Step) -> Step {
    Step {
        added_seq: 0,
        graph_seq: 0,
        next_child: 0,
        next_node: 0,
        updated_at: Timestamp::default(),
        ..step.clone()
    }
}
