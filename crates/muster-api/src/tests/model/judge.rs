//! What a call should do: the reference after it, or the refusal.

mod entities;
mod history;
mod setup;
mod steps;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::reference::{
    Added, Change, Fields, No, Operation, Path, Place, Reference, State, Step, invalid, malformed,
    node_id, path_text, read_path, refuse, step_id,
};

/// The arguments of a call.
pub(super) type Arguments = Map<String, Value>;

/// What an accepted call should do.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) state: Reference,
    /// Types of its public events.
    pub(super) events: Vec<&'static str>,
    pub(super) warnings: BTreeSet<&'static str>,
    /// Whether it is answered from an earlier call under the same key.
    pub(super) replayed: bool,
    /// Of a batch: the refusal of each operation that fails.
    pub(super) parts: Vec<Option<No>>,
}

/// A call under way.
struct Judge<'a> {
    state: Reference,
    tool: &'a str,
    args: &'a Arguments,
    events: Vec<&'static str>,
    warnings: BTreeSet<&'static str>,
    parts: Vec<Option<No>>,
    /// Revisions that go up when the call is over.
    touched: BTreeSet<String>,
    /// Entities that the call made: they stay at revision 0.
    created: BTreeSet<String>,
    /// Entities with an event of their own, in order.
    mutated: Vec<String>,
    operations: Vec<Operation>,
    /// What the operation under way has added so far.
    added: Added,
}

/// Which kinds of target a tool takes.
#[derive(Clone, Copy, PartialEq)]
enum Takes {
    Any,
    Task,
    Plan,
}

/// Judges one call.
pub(super) fn judge(state: &Reference, tool: &str, args: &Arguments) -> Result<Verdict, No> {
    let own = Value::Object(args.iter().filter(|(name, _)| *name != "idempotency_key").fold(
        Map::new(),
        |mut own, (name, value)| {
            own.insert(name.clone(), value.clone());
            own
        },
    ));
    let key = args.get("idempotency_key").and_then(Value::as_str);
    let mut judge = Judge::over(state.clone(), tool, args);
    let outcome = judge.run();
    if let Err(no) = &outcome
        && no.early
    {
        return Err(no.clone());
    }
    if let Some((first_tool, first)) = key.and_then(|key| state.keys.get(key)) {
        if first_tool != tool || *first != own {
            return refuse("IDEMPOTENCY_CONFLICT");
        }
        let mut replayed = Judge::over(state.clone(), tool, args).verdict();
        replayed.replayed = true;
        return Ok(replayed);
    }
    outcome?;
    if key.is_some_and(|key| judge.state.keys.contains_key(key)) {
        // An operation of the batch took the key of the batch itself.
        return refuse("IDEMPOTENCY_CONFLICT");
    }
    judge.finish();
    if let Some(key) = key {
        judge.state.keys.insert(key.to_owned(), (tool.to_owned(), own));
    }
    Ok(judge.verdict())
}

impl<'a> Judge<'a> {
    fn over(state: Reference, tool: &'a str, args: &'a Arguments) -> Self {
        Self {
            state,
            tool,
            args,
            events: Vec::new(),
            warnings: BTreeSet::new(),
            parts: Vec::new(),
            touched: BTreeSet::new(),
            created: BTreeSet::new(),
            mutated: Vec::new(),
            operations: Vec::new(),
            added: Added::default(),
        }
    }

    fn run(&mut self) -> Result<(), No> {
        match self.tool {
            "tasks_decompose" | "tasks_batch" => {}
            "tasks_move" => {
                let named = self.named(&["task", "target"]);
                named.map_err(|no| No { reason: "", ..no })?;
            }
            _ => {
                // Which of several contradictions is answered is not fixed.
                let named = self.named(&["task", "plan", "parent", "target"]);
                named.map_err(|no| No { reason: "", ..no })?;
            }
        }
        match self.tool {
            "tasks_create" => self.create(),
            "tasks_edit" => self.edit(),
            "tasks_move" => self.move_task(),
            "tasks_focus_set" => self.focus_set(),
            "tasks_focus_clear" => self.focus_clear(),
            "tasks_decompose" => self.decompose(),
            "tasks_define" => self.define(),
            "tasks_note" => self.note(),
            "tasks_verify" => self.verify(),
            "tasks_done" => self.done(),
            "tasks_close_step" => self.close_step(),
            "tasks_complete" | "tasks_macro_finish" => self.complete(),
            "tasks_close_task" => self.close_task(),
            "tasks_patch" => self.patch(),
            "tasks_delete" => self.delete(),
            "tasks_progress" => self.progress(),
            "tasks_block" => self.block(),
            "tasks_plan" => self.plan(),
            "tasks_contract" => self.contract(),
            "tasks_batch" => self.batch(),
            "tasks_undo" => self.restore(true),
            "tasks_redo" => self.restore(false),
            "tasks_evidence_capture" => self.evidence_capture(),
            "tasks_resume" | "tasks_resume_pack" | "tasks_resume_super" | "tasks_snapshot" => {
                self.show()
            }
            "tasks_task_add" => self.task_add(),
            "tasks_task_define" => self.task_define(),
            "tasks_task_delete" => self.task_delete(),
            "tasks_scaffold" => self.scaffold(),
            "tasks_bootstrap" => self.bootstrap(None),
            "tasks_macro_start" => self.macro_start(),
            "tasks_macro_close_step" => self.macro_close_step(),
            "tasks_macro_create_done" => self.macro_create_done(),
            "think_pipeline" => self.think_pipeline(),
            "think_card" => self.think_card(),
            "notes_commit" => self.notes_commit(),
            other => panic!("the reference does not know {other}"),
        }
    }

    fn verdict(self) -> Verdict {
        Verdict {
            state: self.state,
            events: self.events,
            warnings: self.warnings,
            replayed: false,
            parts: self.parts,
        }
    }

    /// Ends a call: revisions go up by one, the history grows, redo stacks empty (TASKS-REV-2,
    /// TASKS-HIST-1, TASKS-REDO-1).
    fn finish(&mut self) {
        for id in std::mem::take(&mut self.touched) {
            if !self.created.contains(&id)
                && let Some(entity) = self.state.entities.get_mut(&id)
            {
                entity.revision += 1;
            }
        }
        self.created.clear();
        let intent = self.tool.trim_start_matches("tasks_");
        let mut operations = std::mem::take(&mut self.operations);
        let mut plain = Vec::new();
        for id in std::mem::take(&mut self.mutated) {
            for operation in &mut self.state.history {
                if operation.place.entity == id && operation.state == State::Redoable {
                    operation.state = State::Undone;
                }
            }
            if operations.iter().all(|operation| operation.place.entity != id) {
                let place = Place { entity: id, path: None, node: None };
                let intent = intent.to_owned();
                let state = State::Final;
                plain.push(Operation {
                    place,
                    intent,
                    change: None,
                    state,
                    undone_at: 0,
                    withdrawn: None,
                });
            }
        }
        // The creation of a plan comes before that of its task.
        self.state.history.append(&mut plain);
        self.state.history.append(&mut operations);
    }

    /// An event about a plan or task that changes its revision.
    fn changed(&mut self, id: &str, event: &'static str) {
        self.events.push(event);
        self.touched.insert(id.to_owned());
        if !self.mutated.iter().any(|known| known == id) {
            self.mutated.push(id.to_owned());
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.args.get(name).filter(|value| !value.is_null())
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(Value::as_str)
    }

    fn flag(&self, name: &str) -> Option<bool> {
        self.get(name).and_then(Value::as_bool)
    }

    /// A title as it is stored.
    fn title(&self, name: &str) -> Option<&'a str> {
        self.text(name).map(str::trim)
    }

    fn prose(&self, name: &str) -> Value {
        self.get(name).map(super::reference::prose).unwrap_or_default()
    }

    /// All arguments that are given name the same plan or task (TASKS-TGT-1, -2).
    fn named(&self, names: &[&str]) -> Result<Option<String>, No> {
        let mut named: Option<String> = None;
        for name in names {
            let Some(value) = self.get(name) else { continue };
            let id = value.get("id").unwrap_or(value).as_str().unwrap().to_owned();
            if named.as_ref().is_some_and(|known| *known != id) {
                return malformed("conflict");
            }
            named = Some(id);
        }
        Ok(named)
    }

    /// The plan or task of a call, at the revision it expects (TASKS-TGT-5, -6, TASKS-REV-4).
    fn target(&self, names: &[&str], takes: Takes) -> Result<String, No> {
        let Some(id) = self.named(names)?.or_else(|| self.state.focus.clone()) else {
            return invalid("no_target");
        };
        let fits = match takes {
            Takes::Any => true,
            Takes::Task => id.starts_with("TASK"),
            Takes::Plan => id.starts_with("PLAN"),
        };
        if !fits {
            return invalid("wrong_kind");
        }
        self.existing(&id)?;
        self.expects(&id)?;
        Ok(id)
    }

    fn existing(&self, id: &str) -> Result<(), No> {
        if self.state.entities.contains_key(id) { Ok(()) } else { refuse("UNKNOWN_ID") }
    }

    fn expects(&self, id: &str) -> Result<(), No> {
        match self.get("expected_revision").and_then(Value::as_u64) {
            Some(expected) if expected != self.state.entities[id].revision => {
                refuse("REVISION_MISMATCH")
            }
            Some(_) | None => Ok(()),
        }
    }

    fn one_task(&self) -> Result<String, No> {
        self.target(&["task", "target"], Takes::Task)
    }

    fn task_or_plan(&self) -> Result<String, No> {
        if self.text("plan").is_some_and(|id| id.starts_with("TASK")) {
            return malformed("wrong_kind");
        }
        self.target(&["task", "plan", "target"], Takes::Any)
    }

    fn one_plan(&self) -> Result<String, No> {
        self.target(&["plan", "target"], Takes::Plan)
    }

    /// The step that `path` and `step_id` name (TASKS-TGT-4).
    fn step(&self, task: &str) -> Result<Path, No> {
        self.step_of(task, self.args)
    }

    fn step_of(&self, task: &str, args: &Arguments) -> Result<Path, No> {
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let steps = &self.state.entities[task].steps;
        let by_path = text("path").map(read_path);
        if by_path.as_ref().is_some_and(|path| !steps.contains_key(path)) {
            return refuse("UNKNOWN_ID");
        }
        let Some(id) = text("step_id") else {
            return by_path.map_or_else(|| malformed("missing"), Ok);
        };
        let by_id = steps.iter().find(|(_, step)| step_id(step.id) == id).map(|(path, _)| path);
        let Some(by_id) = by_id else { return refuse("UNKNOWN_ID") };
        if by_path.is_some_and(|path| path != *by_id) {
            return invalid("conflict");
        }
        Ok(by_id.clone())
    }

    fn needs_step(&self) -> Result<(), No> {
        if self.get("path").is_none() && self.get("step_id").is_none() {
            return malformed("missing");
        }
        Ok(())
    }

    /// The node that `path` and `task_node_id` name.
    fn node(&self, task: &str) -> Result<(Path, u32), No> {
        self.node_of(task, self.args)
    }

    fn node_of(&self, task: &str, args: &Arguments) -> Result<(Path, u32), No> {
        let text = |name: &str| args.get(name).and_then(Value::as_str);
        let steps = &self.state.entities[task].steps;
        let mut found: Option<(Path, u32)> = None;
        let nodes = || {
            steps.iter().flat_map(|(path, step)| {
                step.nodes.iter().map(move |(ordinal, node)| (path, *ordinal, node.id))
            })
        };
        if let Some(path_given) = text("path") {
            let at = |(path, ordinal, _): &(&Path, u32, u64)| {
                format!("{}.t:{ordinal}", path_text(path)) == path_given
            };
            let Some((path, ordinal, _)) = nodes().find(at) else { return refuse("UNKNOWN_ID") };
            found = Some((path.clone(), ordinal));
        }
        if let Some(id) = text("task_node_id") {
            let Some((path, ordinal, _)) = nodes().find(|(_, _, number)| node_id(*number) == id)
            else {
                return refuse("UNKNOWN_ID");
            };
            if found.is_some_and(|other| other != (path.clone(), ordinal)) {
                return invalid("conflict");
            }
            found = Some((path.clone(), ordinal));
        }
        found.map_or_else(|| malformed("missing"), Ok)
    }

    /// TASKS-STATE-5, for a task whose status moves.
    fn set_status(&mut self, task: &str, to: &'static str) {
        let from = std::mem::replace(&mut self.state.entity(task).status, to);
        let plan = self.state.entities[task].parent.clone().unwrap();
        let wakes = match self.state.entities[&plan].status {
            "TODO" => from == "TODO",
            "DONE" => to != "DONE",
            _ => false,
        };
        if wakes {
            self.wake(&plan);
        }
    }

    fn wake(&mut self, plan: &str) {
        self.state.entity(plan).status = "ACTIVE";
        self.touched.insert(plan.to_owned());
    }

    /// TASKS-STATE-2.
    fn begin(&mut self, task: &str) {
        if self.state.entities[task].status == "TODO" {
            self.set_status(task, "ACTIVE");
        }
    }

    /// TASKS-STATE-4.
    fn unfinish(&mut self, task: &str) {
        if self.state.entities[task].is_done() {
            self.set_status(task, "ACTIVE");
        }
    }

    /// TASKS-STATE-3: a step and its closed ancestors open again.
    fn reopen_upwards(&mut self, task: &str, path: &Path) {
        for length in 1..=path.len() {
            if let Some(step) = self.state.entity(task).steps.get_mut(&path[..length])
                && step.is_closed()
            {
                step.reopen();
            }
        }
        self.unfinish(task);
    }

    /// Records what the change does as an operation that can be undone (TASKS-HIST-2).
    fn undoable(
        &mut self,
        intent: &str,
        place: Place,
        change: impl FnOnce(&mut Self) -> Result<(), No>,
    ) -> Result<(), No> {
        let before = self.state.clone();
        self.added = Added::default();
        change(self)?;
        let mut added = std::mem::take(&mut self.added);
        let (old, new) = if added.has_places() {
            added.content = match added.task {
                Some(_) => self.state.content_of_entities(&added),
                None => self.state.content_of_steps(&place.entity, &added.steps),
            };
            (Fields::new(), Fields::new())
        } else {
            (before.fields_at(&place), self.state.fields_at(&place))
        };
        let differs = |name: &&String| old.get(*name) != new.get(*name);
        let names: Vec<&String> = new.keys().filter(differs).collect();
        let pick = |fields: &Fields| -> Fields {
            names.iter().map(|name| ((*name).clone(), fields[*name].clone())).collect()
        };
        let before_fields = pick(&old);
        let after = pick(&new);
        let forced = after.get("waiver").is_some_and(|waiver| !waiver.is_null());
        let is_field = place.path.is_none() && after.contains_key("status");
        let derived = derived(&before, &self.state, &place, is_field);
        self.operations.push(Operation {
            place,
            intent: intent.to_owned(),
            change: Some(Change { before: before_fields, after, derived, forced, added }),
            state: State::Undoable,
            undone_at: 0,
            withdrawn: None,
        });
        Ok(())
    }
}

/// Changes of other steps and of statuses, by the words of the history.
fn derived(before: &Reference, after: &Reference, place: &Place, is_field: bool) -> Vec<Value> {
    let mut changes = Vec::new();
    let new = &after.entities[&place.entity];
    for (path, step) in &new.steps {
        let own = place.node.is_none() && place.path.as_ref() == Some(path);
        let old = before.entities.get(&place.entity).and_then(|old| old.steps.get(path));
        let Some(was) = old.map(Step::is_closed) else { continue };
        if !own && was != step.is_closed() {
            changes.push(json!({
                "id": place.entity, "path": path_text(path), "field": "completed",
                "before": was, "after": step.is_closed(),
            }));
        }
    }
    for (id, entity) in &after.entities {
        let Some(was) = before.entities.get(id).map(|entity| entity.status) else { continue };
        let own = is_field && *id == place.entity;
        if was != entity.status && !own {
            changes.push(json!({
                "id": id, "path": null, "field": "status", "before": was, "after": entity.status,
            }));
        }
    }
    changes
}
