//! Undo and redo.

use serde_json::{Value, json};

use super::{
    super::reference::{
        Added, Change, No, Operation, Path, Place, State, Step, Withdrawn, invalid, malformed,
        refuse, strings,
    },
    Judge,
};

impl Judge<'_> {
    /// TASKS-UNDO-4.
    pub(super) fn leave_stacks(&mut self, gone: impl Fn(&Place) -> bool) {
        for operation in self.state.history.iter_mut().filter(|entry| gone(&entry.place)) {
            operation.state = match operation.state {
                State::Undoable => State::Final,
                State::Redoable => State::Undone,
                State::Final | State::Undone => continue,
            };
        }
    }

    /// The operation on top: newest to undo, undone last to redo.
    fn top(&self, scope: Option<&str>, undo: bool) -> Option<usize> {
        let in_scope = |entry: &Operation| scope.is_none_or(|id| entry.place.entity == id);
        let entries = self.state.history.iter().enumerate().filter(|(_, entry)| in_scope(entry));
        let of = |state| entries.clone().filter(move |(_, entry)| entry.state == state);
        if undo {
            of(State::Undoable).map(|(at, _)| at).max()
        } else {
            of(State::Redoable).max_by_key(|(_, entry)| entry.undone_at).map(|(at, _)| at)
        }
    }

    pub(super) fn restore(&mut self, undo: bool) -> Result<(), No> {
        let named = self.named(&["task", "plan", "target"])?;
        if self.text("plan").is_some_and(|id| id.starts_with("TASK")) {
            return malformed("wrong_kind");
        }
        if named.is_none() && self.get("expected_revision").is_some() {
            return malformed("missing");
        }
        if let Some(id) = &named {
            self.existing(id)?;
            self.expects(id)?;
        }
        let Some(at) = self.top(named.as_deref(), undo) else {
            return invalid(if undo { "nothing_to_undo" } else { "nothing_to_redo" });
        };
        let stays = |entry: &Operation| {
            named.as_ref().is_none_or(|id| entry.place.entity == *id)
                && matches!(entry.state, State::Final | State::Undoable)
        };
        if undo && self.state.history[at + 1..].iter().any(stays) {
            self.warnings.insert("UNDO_SKIPPED");
        }
        let operation = self.state.history[at].clone();
        let Operation { place, change, .. } = &operation;
        let Some(change) = change else { unreachable!("only changes are on the stacks") };
        let withdrawn = if change.added.has_places() {
            self.restore_places(at, undo)?
        } else {
            self.restore_fields(&operation, change, undo)?
        };
        self.touched.insert(place.entity.clone());
        self.events.push(if undo { "undo_applied" } else { "redo_applied" });
        self.state.undos += 1;
        let undone_at = self.state.undos;
        let entry = &mut self.state.history[at];
        entry.state = if undo { State::Redoable } else { State::Undoable };
        entry.undone_at = undone_at;
        entry.withdrawn = withdrawn;
        Ok(())
    }

    /// Steps or a task go and come back as a whole.
    fn restore_places(&mut self, at: usize, undo: bool) -> Result<Option<Withdrawn>, No> {
        let Operation { place, change, withdrawn, .. } = self.state.history[at].clone();
        let Some(Change { added, .. }) = change else { unreachable!("it has added something") };
        if !undo {
            self.bring_back(&place, &added, withdrawn.unwrap_or_default())?;
            return Ok(None);
        }
        let later = |id: &String| {
            self.state.history[at + 1..].iter().any(|entry| {
                entry.place.entity == *id && matches!(entry.state, State::Final | State::Undoable)
            })
        };
        let content = match added.task {
            Some(_) => self.state.content_of_entities(&added),
            None => self.state.content_of_steps(&place.entity, &added.steps),
        };
        if added.entities().any(later) || content != added.content {
            return refuse("UNDO_CONFLICT");
        }
        Ok(Some(self.withdraw(&place, &added)))
    }

    fn withdraw(&mut self, place: &Place, added: &Added) -> Withdrawn {
        let mut gone = Withdrawn::default();
        for path in &added.steps {
            let steps = &mut self.state.entity(&place.entity).steps;
            let below: Vec<Path> =
                steps.keys().filter(|at| at.starts_with(path)).cloned().collect();
            gone.steps.extend(below.into_iter().filter_map(|at| steps.remove_entry(&at)));
        }
        if let Some(task) = &added.task {
            self.state.entity(task).revision += 1;
            if self.state.focus.as_ref() == Some(task) {
                self.state.focus = added.focus_before.clone();
            }
        }
        for id in added.entities() {
            gone.entities.extend(self.state.entities.remove_entry(id));
            let cards = &mut self.state.cards;
            let own: Vec<String> = cards
                .iter()
                .filter(|(_, owner)| *owner == id)
                .map(|(card, _)| card.clone())
                .collect();
            gone.cards.extend(own.into_iter().filter_map(|card| cards.remove_entry(&card)));
        }
        let entities = &self.state.entities;
        self.state.focus = self.state.focus.take().filter(|id| entities.contains_key(id));
        self.mark_creation(added, State::Final, State::Undone);
        gone
    }

    fn bring_back(&mut self, place: &Place, added: &Added, back: Withdrawn) -> Result<(), No> {
        if let Some(task) = &added.task {
            let plan = back.entities[task].parent.clone().unwrap();
            if !back.entities.contains_key(&plan) {
                match self.state.entities.get(&plan) {
                    None => return refuse("UNDO_CONFLICT"),
                    Some(plan_now) if plan_now.is_done() => self.wake(&plan),
                    Some(_) => {}
                }
            }
            self.state.focus = Some(task.clone());
        }
        self.state.entities.extend(back.entities);
        self.state.cards.extend(back.cards);
        self.mark_creation(added, State::Undone, State::Final);
        if let Some(first) = added.steps.first() {
            let parent = &first[..first.len() - 1];
            let steps = &mut self.state.entity(&place.entity).steps;
            if !parent.is_empty() && !steps.contains_key(parent) {
                return refuse("UNDO_CONFLICT");
            }
            steps.extend(back.steps);
            self.reopen_upwards(&place.entity, &parent.to_vec());
        }
        Ok(())
    }

    /// A plan has an operation of its own for its creation.
    fn mark_creation(&mut self, added: &Added, from: State, to: State) {
        let Some(plan) = &added.plan else { return };
        for entry in self.state.history.iter_mut().filter(|entry| entry.place.entity == *plan) {
            if entry.change.is_none() && entry.state == from {
                entry.state = to;
            }
        }
    }

    /// Evidence and notes go and come back with the fields.
    fn restore_fields(
        &mut self,
        operation: &Operation,
        change: &Change,
        undo: bool,
    ) -> Result<Option<Withdrawn>, No> {
        let place = &operation.place;
        let added = &change.added;
        let records = (added.evidence.len() as u64) + added.notes;
        if undo {
            self.write_back(place, change, undo)?;
            self.state.entity(&place.entity).memory -= records;
            let mut gone = Withdrawn { notes: added.notes, ..Withdrawn::default() };
            if let Some(step) = self.place_step(place) {
                step.notes -= added.notes;
                for number in &added.evidence {
                    gone.evidence.extend(step.evidence.remove_entry(number));
                }
                step.proven = step.evidence.values().flatten().cloned().collect();
            }
            return Ok(Some(gone));
        }
        let back = operation.withdrawn.clone().unwrap_or_default();
        self.state.entity(&place.entity).memory += records;
        if let Some(step) = self.place_step(place) {
            step.notes += back.notes;
            step.evidence.extend(back.evidence);
            step.proven = step.evidence.values().flatten().cloned().collect();
        }
        self.write_back(place, change, undo)?;
        Ok(None)
    }

    fn place_step(&mut self, place: &Place) -> Option<&mut Step> {
        let path = place.path.as_ref().filter(|_| place.node.is_none())?;
        self.state.entity(&place.entity).steps.get_mut(path)
    }

    /// TASKS-UNDO-2: only the changed fields are written, and only if they were not changed since.
    fn write_back(&mut self, place: &Place, change: &Change, undo: bool) -> Result<(), No> {
        let (found, written) =
            if undo { (&change.after, &change.before) } else { (&change.before, &change.after) };
        let now = self.state.fields_at(place);
        if found.iter().any(|(name, value)| now.get(name) != Some(value)) {
            return refuse("UNDO_CONFLICT");
        }
        let dependencies = written.get("depends_on").map(strings).unwrap_or_default();
        let dependencies = self.state.added(&place.entity, &dependencies);
        if dependencies.iter().any(|id| self.state.leads_to(id, &place.entity)) {
            return refuse("UNDO_CONFLICT");
        }
        if place.path.is_none()
            && let Some(to) = written.get("status")
        {
            let to = ["TODO", "ACTIVE", "DONE"].into_iter().find(|status| to == status).unwrap();
            if to == "DONE" {
                self.may_be_done(&place.entity)?;
            }
            self.set_status(&place.entity, to);
        }
        if place.path.is_none()
            && let Some(plan) = written.get("plan").and_then(Value::as_str)
        {
            let is_there = self.state.entities.contains_key(plan);
            if !is_there || self.state.leads_to(&place.entity, plan) {
                return refuse("UNDO_CONFLICT");
            }
            self.come_under(&place.entity, plan);
        }
        self.state.write(place, written);
        let Some(path) = &place.path else { return Ok(()) };
        let step = self.state.step(&place.entity, path);
        if place.node.is_some() {
            if written.get("status").is_some_and(|status| status != "DONE") && step.is_closed() {
                self.reopen_upwards(&place.entity, path);
            }
            return Ok(());
        }
        let skipped = strings(&step.fields["waiver"]["skipped"]);
        let closed_blocked = skipped.iter().any(|skipped| skipped == "blocked");
        let blocks = written.get("blocked") == Some(&json!(true));
        if blocks && step.is_closed() && !closed_blocked {
            return refuse("UNDO_CONFLICT");
        }
        // TASKS-STATE-7: as for a direct call.
        let mut opens = false;
        for (list, confirmed) in
            [("success_criteria", "criteria_confirmed"), ("tests", "tests_confirmed")]
        {
            if written.get(list).is_some_and(|value| *value != now[list]) {
                opens = true;
                if !written.contains_key(confirmed) {
                    step.set(confirmed, json!(false));
                }
            }
        }
        let is_closed = step.is_closed();
        match written.get("completed").and_then(Value::as_bool) {
            Some(true) => {
                self.check_closing(place, path, change)?;
                self.begin(&place.entity);
            }
            Some(false) => self.reopen_upwards(&place.entity, path),
            None if opens && is_closed => self.reopen_upwards(&place.entity, path),
            None => {}
        }
        Ok(())
    }

    /// TASKS-UNDO-3.
    fn check_closing(&mut self, place: &Place, path: &Path, change: &Change) -> Result<(), No> {
        let entity = &self.state.entities[&place.entity];
        let step = &entity.steps[path];
        let mut skipped: Vec<String> =
            step.unconfirmed(&[]).into_iter().map(str::to_owned).collect();
        skipped.extend(step.unproven().into_iter().map(|name| format!("proof:{name}")));
        if step.fields["blocked"] == true {
            skipped.push("blocked".to_owned());
        }
        let waived = strings(&step.fields["waiver"]["skipped"]);
        let covered =
            !step.fields["waiver"].is_null() && skipped.iter().all(|s| waived.contains(s));
        let open = if change.forced || covered {
            entity.has_open_children(path)
        } else {
            entity.gate(path, &[]).is_some()
        };
        if open { refuse("UNDO_CONFLICT") } else { Ok(()) }
    }
}
