//! Undo and redo.

use serde_json::{Value, json};

use super::{
    super::reference::{
        Change, No, Operation, Path, Place, State, invalid, malformed, refuse, strings,
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
        let Operation { place, change, .. } = self.state.history[at].clone();
        let Some(change) = change else { unreachable!("only changes are on the stacks") };
        self.write_back(&place, &change, undo)?;
        self.touched.insert(place.entity.clone());
        self.events.push(if undo { "undo_applied" } else { "redo_applied" });
        self.state.undos += 1;
        let undone_at = self.state.undos;
        let entry = &mut self.state.history[at];
        entry.state = if undo { State::Redoable } else { State::Undoable };
        entry.undone_at = undone_at;
        Ok(())
    }

    /// TASKS-UNDO-2: only the changed fields are written, and only where nobody changed them since.
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
        let open = if change.forced {
            entity.has_open_children(path)
        } else {
            entity.gate(path, &[]).is_some()
        };
        if open { refuse("UNDO_CONFLICT") } else { Ok(()) }
    }
}
