//! Plans, tasks, steps and notes.

use std::collections::BTreeSet;

use muster_core::{
    FIELD_SEPARATOR, MatchGrade, SearchTopic,
    tasks::{
        TaskAggregate, TaskDocument, TaskEvent, TaskKey,
        entity::{Meta, Task},
        id::{EntityId, PlanId, TaskId, WorkspaceId},
        strings,
    },
};
use muster_store::{FoundDocument, LogPlace, StoreError, StringsQuery};

use super::{FoundItem, FoundKind, FoundPlace, finder::Finder};

/// Candidates among plans and tasks that are graded; their strings are in the index.
const DOCUMENTS_MAX: u32 = 400;
/// A string that every plan is found by, and few tasks.
const OF_PLANS: &str = "plan-";

impl Finder<'_> {
    pub(super) fn plans_and_tasks(&mut self) -> Result<(), StoreError> {
        self.entities(FoundKind::Task, None)?;
        self.entities(FoundKind::Plan, Some(OF_PLANS))
    }

    /// Plans or tasks. The best are chosen by the string that they are found by; only those are
    /// read.
    fn entities(&mut self, kind: FoundKind, mark: Option<&str>) -> Result<(), StoreError> {
        if !self.wants(kind) {
            return Ok(());
        }
        let stream = self.request.workspace.as_ref().map(WorkspaceId::stream);
        let mut graded: Vec<(MatchGrade, FoundDocument)> = Vec::new();
        let mut has_more = false;
        for mut strings in self.request.words.probes("") {
            strings.extend(mark.map(str::to_owned));
            let stream = stream.as_deref();
            let query = StringsQuery { strings: &strings, stream, limit: DOCUMENTS_MAX };
            let Some(found) = self.search.documents(&query)? else {
                has_more = true;
                break;
            };
            has_more = found.len() == DOCUMENTS_MAX as usize;
            for document in found.into_iter().filter(|found| found.address.kind == kind.name()) {
                let known = |(_, other): &(MatchGrade, FoundDocument)| *other == document;
                if !graded.iter().any(known)
                    && let Some(grade) = self.grade(&document.searched)
                {
                    graded.push((grade, document));
                }
            }
            if graded.len() > self.request.limit as usize || self.is_late() {
                has_more = true;
                break;
            }
        }
        graded.sort_by_key(|(grade, _)| *grade);
        let mut found = Vec::new();
        for (grade, document) in graded.iter().take(self.request.limit as usize + 1) {
            let workspace = workspace_of(&document.stream);
            let id = document.address.name.parse().ok();
            if let (Some(workspace), Some(id)) = (workspace, id) {
                found.extend(self.entity(&workspace, id, *grade)?);
            }
        }
        self.keep(&[kind], found, has_more);
        Ok(())
    }

    /// How well a plan or task matches, by the string that it is found by: its id, its title, and
    /// the rest.
    fn grade(&self, searched: &str) -> Option<MatchGrade> {
        let mut fields = searched.split(FIELD_SEPARATOR);
        let (_, title) = (fields.next()?, fields.next()?);
        self.request.words.grade(title, &[searched])
    }

    /// A plan or task as a result; nothing if it does not exist.
    pub(super) fn entity(
        &mut self,
        workspace: &WorkspaceId,
        id: EntityId,
        matched: MatchGrade,
    ) -> Result<Option<FoundItem>, StoreError> {
        let key = match id {
            EntityId::Plan(plan) => TaskKey::Plan(plan),
            EntityId::Task(task) => TaskKey::Task(task),
        };
        let Some(document) = self.work_document(workspace, &key)? else { return Ok(None) };
        let Some(meta) = document.meta() else { return Ok(None) };
        let mut place = FoundPlace { workspace: Some(workspace.clone()), ..FoundPlace::default() };
        let kind = match (id, document.as_task()) {
            (EntityId::Task(id), Some(task)) => {
                place.task_id = Some(id);
                place.plan_id = Some(task.parent);
                place.plan_title = self.plan_title(workspace, task.parent)?;
                FoundKind::Task
            }
            (EntityId::Plan(_) | EntityId::Task(_), _) => FoundKind::Plan,
        };
        let excerpt = self.excerpt(matched, meta);
        Ok(Some(FoundItem {
            kind,
            id: id.to_string(),
            title: meta.title.clone(),
            matched,
            excerpt,
            status: Some(meta.status.name().to_owned()),
            said: None,
            place,
        }))
    }

    /// The text that matched, if the title did not.
    fn excerpt(&self, matched: MatchGrade, meta: &Meta) -> Option<String> {
        let texts = [&meta.description, &meta.context].into_iter().flatten();
        let mut texts = texts.filter(|_| matched == MatchGrade::Text);
        texts.find_map(|text| self.request.words.excerpt(text))
    }

    pub(super) fn steps(&mut self) -> Result<(), StoreError> {
        let stream = self.request.workspace.as_ref().map(WorkspaceId::stream);
        let mut looked_at: BTreeSet<(String, TaskId)> = BTreeSet::new();
        let place = (&[FoundKind::Step][..], stream.as_deref());
        self.gather(SearchTopic::Step, place, |finder, place| {
            let Some(row) = finder.search.event(place)? else { return Ok(Vec::new()) };
            let task = row.subject.and_then(|subject| subject.entity.parse().ok());
            match (workspace_of(&place.stream), task) {
                (Some(workspace), Some(task)) if looked_at.insert((place.stream.clone(), task)) => {
                    finder.steps_of(&workspace, task)
                }
                (Some(_) | None, _) => Ok(Vec::new()),
            }
        })
    }

    /// The matching steps of a task, as they are now.
    fn steps_of(
        &mut self,
        workspace: &WorkspaceId,
        id: TaskId,
    ) -> Result<Vec<FoundItem>, StoreError> {
        let Some(TaskDocument::Task(task)) = self.work_document(workspace, &TaskKey::Task(id))?
        else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for step in task.steps.iter() {
            let others = strings::of_step(step);
            let words = &self.request.words;
            let Some(matched) = words.grade(&step.title, &others) else { continue };
            let excerpt = others.iter().find_map(|text| words.excerpt(text));
            let path = step.path.to_string();
            let status = if step.completed_at.is_some() { "DONE" } else { "TODO" };
            found.push(FoundItem {
                kind: FoundKind::Step,
                id: path.clone(),
                title: step.title.clone(),
                matched,
                excerpt: excerpt.filter(|_| matched == MatchGrade::Text),
                status: Some(status.to_owned()),
                said: None,
                place: FoundPlace { step: Some(path), ..self.place_in(workspace, &task)? },
            });
        }
        Ok(found)
    }

    pub(super) fn notes(&mut self) -> Result<(), StoreError> {
        let stream = self.request.workspace.as_ref().map(WorkspaceId::stream);
        let place = (&[FoundKind::Note][..], stream.as_deref());
        self.gather(SearchTopic::Note, place, |finder, place| {
            let Some(workspace) = workspace_of(&place.stream) else { return Ok(Vec::new()) };
            Ok(Vec::from_iter(finder.note(&workspace, place)?))
        })
    }

    /// A note, if what it was written on still exists.
    fn note(
        &mut self,
        workspace: &WorkspaceId,
        at: &LogPlace,
    ) -> Result<Option<FoundItem>, StoreError> {
        let Some(row) = self.search.event(at)? else { return Ok(None) };
        let Ok(event) = serde_json::from_str::<TaskEvent>(&row.body) else { return Ok(None) };
        let (entity, step, title, content) = if let TaskEvent::StepNoted(noted) = event {
            let path = noted.step.path.to_string();
            (noted.step.task.task.into(), Some(path), None, noted.note)
        } else if let TaskEvent::NoteKept(kept) = event {
            (kept.id, None, kept.note.title, kept.note.content)
        } else {
            return Ok(None);
        };
        let words = &self.request.words;
        let excerpt = words.excerpt(&content);
        let matched = words.grade(title.as_deref().unwrap_or(&content), &[&content]);
        let Some(matched) = matched else { return Ok(None) };
        let Some(place) = self.place_of(workspace, entity)? else { return Ok(None) };
        let (title, excerpt) = match title {
            Some(title) => (title, excerpt),
            None => (excerpt.unwrap_or(content), None),
        };
        Ok(Some(FoundItem {
            kind: FoundKind::Note,
            id: at.seq.to_string(),
            title,
            matched,
            excerpt,
            status: None,
            said: None,
            place: FoundPlace { step, ..place },
        }))
    }

    /// The place of what belongs to a plan or task; nothing if that does not exist.
    fn place_of(
        &mut self,
        workspace: &WorkspaceId,
        entity: EntityId,
    ) -> Result<Option<FoundPlace>, StoreError> {
        match entity {
            EntityId::Plan(plan) => Ok(self.plan_title(workspace, plan)?.map(|title| FoundPlace {
                workspace: Some(workspace.clone()),
                plan_id: Some(plan),
                plan_title: Some(title),
                ..FoundPlace::default()
            })),
            EntityId::Task(task) => {
                let document = self.work_document(workspace, &TaskKey::Task(task))?;
                let task = document.as_ref().and_then(TaskDocument::as_task);
                task.map(|task| self.place_in(workspace, task)).transpose()
            }
        }
    }

    fn place_in(&mut self, workspace: &WorkspaceId, task: &Task) -> Result<FoundPlace, StoreError> {
        Ok(FoundPlace {
            workspace: Some(workspace.clone()),
            plan_id: Some(task.parent),
            plan_title: self.plan_title(workspace, task.parent)?,
            task_id: Some(task.id),
            task_title: Some(task.meta.title.clone()),
            ..FoundPlace::default()
        })
    }

    fn plan_title(
        &mut self,
        workspace: &WorkspaceId,
        plan: PlanId,
    ) -> Result<Option<String>, StoreError> {
        let key = (workspace.clone(), plan);
        if let Some(title) = self.plan_titles.get(&key) {
            return Ok(title.clone());
        }
        let document = self.work_document(workspace, &TaskKey::Plan(plan))?;
        let title = document.and_then(|document| Some(document.meta()?.title.clone()));
        self.plan_titles.insert(key, title.clone());
        Ok(title)
    }

    fn work_document(
        &mut self,
        workspace: &WorkspaceId,
        key: &TaskKey,
    ) -> Result<Option<TaskDocument>, StoreError> {
        self.search.document::<TaskAggregate>(&workspace.stream(), key)
    }
}

fn workspace_of(stream: &str) -> Option<WorkspaceId> {
    stream.strip_prefix("workspace/")?.parse().ok()
}
