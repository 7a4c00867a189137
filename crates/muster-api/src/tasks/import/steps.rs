//! Steps of an imported task: new ones are added, known ones brought up to date.

use std::collections::BTreeMap;

use muster_core::{
    plan_files::ImportedStep,
    tasks::{
        TaskCommand, TaskEvent, TaskResult,
        command::{AddSteps, NewStep, StepSelector, StepTarget},
        entity::TaskStatus,
        event::{StepFields, StepOrigin},
        fields,
        history::FieldValues,
        id::TaskId,
        lookup,
        origin::value_digest,
        patch,
        path::StepPath,
    },
};
use serde_json::Value;

use super::{
    importer::{Importer, ItemWork},
    merge, tally,
};

/// Steps of earlier imports by their ids at the source.
type KnownSteps = BTreeMap<String, StepPath>;

impl<'s> Importer<'_, '_, 's> {
    pub(super) fn sync_steps(
        &mut self,
        work: &mut ItemWork<'s>,
        task: TaskId,
        steps: &'s [ImportedStep],
    ) -> TaskResult<()> {
        let mut known = KnownSteps::new();
        if !work.is_new {
            let form = self.source.form.name();
            for step in lookup::task(self.draft.documents(), task)?.steps.iter() {
                let origin = step.origin.as_deref();
                let is_ours = |origin: &&muster_core::tasks::origin::ItemOrigin| {
                    origin.form == form && origin.source == self.source.name
                };
                if let Some(origin) = origin.filter(is_ours) {
                    known.insert(origin.id.clone(), step.path.clone());
                }
            }
        }
        self.sync_level(work, (task, None), steps, &known)
    }

    /// The steps below one parent.
    fn sync_level(
        &mut self,
        work: &mut ItemWork<'s>,
        (task, parent): (TaskId, Option<&StepPath>),
        steps: &'s [ImportedStep],
        known: &KnownSteps,
    ) -> TaskResult<()> {
        let (old, new): (Vec<&ImportedStep>, Vec<&ImportedStep>) =
            steps.iter().partition(|step| known.contains_key(&step.id));
        let mut placed: Vec<(StepPath, &'s ImportedStep)> = Vec::new();
        for step in old {
            let path = known[&step.id].clone();
            self.update_step(work, (task, &path), step)?;
            placed.push((path, step));
        }
        if !new.is_empty() {
            for path in self.add_steps(work, (task, parent), &new)?.into_iter().zip(new) {
                placed.push(path);
            }
        }
        for (path, step) in placed {
            work.steps.push((path.clone(), step));
            if !step.steps.is_empty() {
                self.sync_level(work, (task, Some(&path)), &step.steps, known)?;
            }
        }
        Ok(())
    }

    /// Adds steps and returns their places; none where the task is closed here.
    fn add_steps(
        &mut self,
        work: &mut ItemWork<'s>,
        (task, parent): (TaskId, Option<&StepPath>),
        new: &[&'s ImportedStep],
    ) -> TaskResult<Vec<StepPath>> {
        let status = lookup::task(self.draft.documents(), task)?.meta.status;
        if status == TaskStatus::Done {
            let here = Value::from("the task is closed here");
            for step in new {
                let there = Value::from(format!("new step {}", step.title));
                let place = (work.id, work.origin.id.as_str());
                tally::conflict(&mut self.report, place, ("steps", &here, &there));
            }
            return Ok(Vec::new());
        }
        let steps = new.iter().map(|step| NewStep {
            title: step.title.clone(),
            fields: StepFields {
                success_criteria: Some(step.success_criteria.clone()),
                tests: (!step.tests.is_empty()).then(|| step.tests.clone()),
                ..StepFields::default()
            },
        });
        let steps = steps.collect();
        let parent = parent.cloned().map(StepSelector::Path);
        let add = TaskCommand::AddSteps(AddSteps { task, parent, steps });
        let mut paths = Vec::new();
        for recorded in self.draft.apply(&add)? {
            if let TaskEvent::StepsAdded(added) = &recorded.event {
                paths.extend(added.steps.iter().map(|step| step.path.clone()));
            }
        }
        self.report.counts.steps_created += paths.len() as u64;
        work.touch();
        for (path, step) in paths.iter().zip(new) {
            let mut origin = self.origin(&step.id);
            let fields = merge::step_fields(step);
            let seen = fields.iter().map(|(name, value)| (name.clone(), value_digest(value)));
            origin.seen = seen.collect();
            let meta = step.meta.clone();
            work.step_origins.push(StepOrigin { path: path.clone(), origin, meta });
        }
        Ok(paths)
    }

    fn update_step(
        &mut self,
        work: &mut ItemWork<'s>,
        (task, path): (TaskId, &StepPath),
        step: &'s ImportedStep,
    ) -> TaskResult<()> {
        let target = StepTarget { task, selector: StepSelector::Path(path.clone()) };
        let (_, here) = lookup::task_and_step(self.draft.documents(), &target)?;
        let current: FieldValues = fields::of_step(here);
        let mut origin = here.origin.as_deref().cloned().unwrap_or_default();
        let before = origin.seen.clone();
        let merged = merge::merge(&merge::step_fields(step), &current, &mut origin.seen);
        let mut conflicts = merged.conflicts;
        if !merged.write.is_empty() {
            let define = patch::define_of(&target, &merged.write);
            match self.attempt(&define)? {
                Ok(()) => work.touch(),
                // Work has begun, and only a person rewrites what it has to fulfil.
                Err(_) => {
                    origin.seen = before;
                    let here = |name: &String| current.get(name).cloned().unwrap_or_default();
                    let all = merged.write.iter();
                    conflicts
                        .extend(all.map(|(name, value)| (name.clone(), here(name), value.clone())));
                }
            }
        }
        for (name, here, there) in &conflicts {
            let name = format!("{path} {name}");
            let place = (work.id, work.origin.id.as_str());
            tally::conflict(&mut self.report, place, (&name, here, there));
        }
        let meta = step.meta.clone();
        work.step_origins.push(StepOrigin { path: path.clone(), origin, meta });
        Ok(())
    }
}
