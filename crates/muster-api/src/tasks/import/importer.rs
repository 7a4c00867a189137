//! Writes a tree into a draft: the order of its parts, and fields of plans and tasks.

use std::collections::BTreeMap;

use muster_core::{
    WorkRefusal,
    plan_files::{
        ImportedPlan, ImportedTask,
        report::{ImportChange, ImportedPlanRow, PlansImported},
    },
    tasks::{
        TaskCommand, TaskDraft, TaskRejection, TaskResult,
        command::{CreatePlan, CreateTask, NoteOrigin},
        event::StepOrigin,
        fields,
        history::FieldValues,
        id::{EntityId, PlanId, TaskId},
        lookup,
        origin::{FreeMeta, ItemOrigin, value_digest},
        patch,
        path::StepPath,
    },
};

use super::{
    PlanSource, known,
    merge::{self, MergedFields},
    tally,
};

/// An import under way.
pub(super) struct Importer<'d, 'a, 's> {
    pub(super) draft: &'d mut TaskDraft<'a>,
    pub(super) source: &'s PlanSource,
    /// Plans and tasks by their ids at the source: those of earlier imports, then new ones.
    pub(super) ids: BTreeMap<String, EntityId>,
    pub(super) items: Vec<ItemWork<'s>>,
    pub(super) report: PlansImported,
}

/// A plan or task that is being imported.
pub(super) struct ItemWork<'s> {
    pub(super) id: EntityId,
    pub(super) of: WorkKind<'s>,
    pub(super) is_new: bool,
    pub(super) origin: ItemOrigin,
    pub(super) meta: FreeMeta,
    /// What is noted of its steps.
    pub(super) step_origins: Vec<StepOrigin>,
    /// Its steps at the source with their places here, parents first.
    pub(super) steps: Vec<(StepPath, &'s muster_core::plan_files::ImportedStep)>,
    changes: usize,
}

#[derive(Clone, Copy)]
pub(super) enum WorkKind<'s> {
    Plan(&'s ImportedPlan),
    Task(&'s ImportedTask),
}

impl<'d, 'a, 's> Importer<'d, 'a, 's> {
    pub(super) fn of(draft: &'d mut TaskDraft<'a>, source: &'s PlanSource) -> TaskResult<Self> {
        let ids = known::items(draft.documents(), source.form.name(), &source.name)?;
        let report = tally::empty(&source.workspace, source.form, &source.name);
        Ok(Self { draft, source, ids, items: Vec::new(), report })
    }

    pub(super) fn run(mut self) -> TaskResult<PlansImported> {
        self.find_gone();
        for plan in &self.source.plans {
            let id = self.plan(plan)?;
            for task in &plan.tasks {
                self.task(id, task)?;
            }
        }
        self.link_needs()?;
        let mut items = std::mem::take(&mut self.items);
        // Only what is known to be imported can be closed.
        for item in items.iter().filter(|item| item.closes()) {
            self.note_origin(item)?;
        }
        for item in &mut items {
            self.settle(item)?;
            self.note_origin(item)?;
        }
        self.count(&items)?;
        Ok(self.report)
    }

    /// Items of earlier imports that the source does not have any more.
    fn find_gone(&mut self) {
        let plans = self.source.plans.iter();
        let tasks = plans.clone().flat_map(|plan| plan.tasks.iter().map(|task| &task.item.id));
        let there: std::collections::BTreeSet<&String> =
            plans.map(|plan| &plan.item.id).chain(tasks).collect();
        for id in self.ids.keys().filter(|id| !there.contains(id)) {
            tally::gone(&mut self.report, id);
        }
    }

    fn plan(&mut self, plan: &'s ImportedPlan) -> TaskResult<PlanId> {
        let known = self.ids.get(&plan.item.id).and_then(|id| match id {
            EntityId::Plan(id) => Some(*id),
            EntityId::Task(_) => None,
        });
        let id = match known {
            Some(id) => id,
            None => {
                let item = &plan.item;
                self.draft.apply(&TaskCommand::CreatePlan(CreatePlan {
                    title: item.title.clone(),
                    description: item.description.clone(),
                    contract: None,
                    contract_data: None,
                }))?;
                self.report.counts.plans_created += 1;
                PlanId(lookup::workspace(self.draft.documents())?.last_plan)
            }
        };
        let work = self.begin(WorkKind::Plan(plan), id.into(), known.is_none())?;
        self.items.push(work);
        Ok(id)
    }

    fn task(&mut self, parent: PlanId, task: &'s ImportedTask) -> TaskResult<()> {
        let known = self.ids.get(&task.item.id).and_then(|id| match id {
            EntityId::Task(id) => Some(*id),
            EntityId::Plan(_) => None,
        });
        let id = match known {
            Some(id) => id,
            None => {
                let title = task.item.title.clone();
                let description = task.item.description.clone();
                let create = CreateTask { parent, title, description };
                self.draft.apply(&TaskCommand::CreateTask(create))?;
                self.report.counts.tasks_created += 1;
                TaskId(lookup::workspace(self.draft.documents())?.last_task)
            }
        };
        let mut work = self.begin(WorkKind::Task(task), id.into(), known.is_none())?;
        self.sync_steps(&mut work, id, &task.steps)?;
        self.items.push(work);
        Ok(())
    }

    /// Brings the fields of a plan or task up to date.
    fn begin(&mut self, of: WorkKind<'s>, id: EntityId, is_new: bool) -> TaskResult<ItemWork<'s>> {
        let (item, wanted) = match of {
            WorkKind::Plan(plan) => (&plan.item, merge::item_fields(&plan.item)),
            WorkKind::Task(task) => (&task.item, merge::task_fields(task)),
        };
        let docs = self.draft.documents();
        let (current, origin) = match id {
            EntityId::Plan(id) => {
                let plan = lookup::plan(docs, id)?;
                (fields::of_plan(plan), plan.meta.origin.as_deref().cloned())
            }
            EntityId::Task(id) => {
                let task = lookup::task(docs, id)?;
                (fields::of_task(task), task.meta.origin.as_deref().cloned())
            }
        };
        let mut origin = origin.unwrap_or_else(|| self.origin(&item.id));
        let merged = merge_new(is_new, &wanted, &current, &mut origin.seen);
        if !merged.write.is_empty() {
            self.draft.apply(&patch::edit_of(id, &merged.write))?;
        }
        for (name, here, source) in &merged.conflicts {
            tally::conflict(&mut self.report, (id, &item.id), (name, here, source));
        }
        self.ids.insert(item.id.clone(), id);
        Ok(ItemWork {
            id,
            of,
            is_new,
            origin,
            meta: item.meta.clone(),
            step_origins: Vec::new(),
            steps: Vec::new(),
            changes: merged.write.len(),
        })
    }

    pub(super) fn origin(&self, id: &str) -> ItemOrigin {
        ItemOrigin {
            form: self.source.form.name().to_owned(),
            source: self.source.name.clone(),
            id: id.to_owned(),
            seen: BTreeMap::new(),
        }
    }

    /// Notes where an item came from, unless that is known already.
    fn note_origin(&mut self, item: &ItemWork<'s>) -> TaskResult<()> {
        let docs = self.draft.documents();
        let (meta, steps) = match item.id {
            EntityId::Plan(id) => (&lookup::plan(docs, id)?.meta, Vec::new()),
            EntityId::Task(id) => {
                let task = lookup::task(docs, id)?;
                let is_new = |part: &&StepOrigin| {
                    task.steps.at(&part.path).is_some_and(|step| {
                        step.origin.as_deref() != Some(&part.origin) || step.free != part.meta
                    })
                };
                (&task.meta, item.step_origins.iter().filter(is_new).cloned().collect())
            }
        };
        let is_known = meta.origin.as_deref() == Some(&item.origin) && meta.free == item.meta;
        if is_known && steps.is_empty() {
            return Ok(());
        }
        let (origin, meta) = (item.origin.clone(), item.meta.clone());
        let note = NoteOrigin { id: item.id, origin, meta, steps };
        self.draft.apply(&TaskCommand::NoteOrigin(note))?;
        Ok(())
    }

    /// Applies a command that a rule may reject without harm to the import.
    pub(super) fn attempt(
        &mut self,
        command: &TaskCommand,
    ) -> TaskResult<Result<(), Box<TaskRejection>>> {
        match self.draft.apply(command) {
            Ok(_) => Ok(Ok(())),
            Err(WorkRefusal::Rejected(rejection)) => Ok(Err(rejection)),
            Err(unloaded @ WorkRefusal::Unloaded(_)) => Err(unloaded),
        }
    }

    /// Counts what became of the items, and lists the plans.
    fn count(&mut self, items: &[ItemWork<'s>]) -> TaskResult<()> {
        for item in items {
            let change = item.change();
            match change {
                ImportChange::Created => {}
                ImportChange::Updated => self.report.counts.updated += 1,
                ImportChange::Unchanged => self.report.counts.unchanged += 1,
            }
            let in_steps = item.step_origins.iter().map(|part| part.meta.len());
            let kept = item.meta.len() + in_steps.sum::<usize>();
            self.report.counts.kept_in_meta += kept as u64;
            let WorkKind::Plan(plan) = item.of else { continue };
            self.report.plans.push(ImportedPlanRow {
                id: item.id.to_string(),
                source_id: plan.item.id.clone(),
                title: plan.item.title.clone(),
                change,
                tasks: plan.tasks.len(),
                steps: plan.steps(),
            });
        }
        Ok(())
    }
}

impl ItemWork<'_> {
    /// Records that the import wrote something about it.
    pub(super) fn touch(&mut self) {
        self.changes += 1;
    }

    /// Whether the source has closed any of it.
    fn closes(&self) -> bool {
        let WorkKind::Task(task) = self.of else { return false };
        task.item.state.is_over() || self.steps.iter().any(|(_, step)| step.state.is_over())
    }

    fn change(&self) -> ImportChange {
        if self.is_new {
            ImportChange::Created
        } else if self.changes > 0 {
            ImportChange::Updated
        } else {
            ImportChange::Unchanged
        }
    }
}

/// A new plan or task takes everything.
fn merge_new(
    is_new: bool,
    wanted: &FieldValues,
    current: &FieldValues,
    seen: &mut BTreeMap<String, String>,
) -> MergedFields {
    if !is_new {
        return merge::merge(wanted, current, seen);
    }
    let mut merged = MergedFields::default();
    for (name, value) in wanted {
        seen.insert(name.clone(), value_digest(value));
        if current.get(name) != Some(value) {
            merged.write.insert(name.clone(), value.clone());
        }
    }
    merged
}
