//! Steps, their gates, their sub-plans and evidence.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    super::reference::{
        CHECKPOINTS, Fields, GATE, NODE_LISTS, No, Node, Path, Place, Step, invalid, lines,
        malformed, prose, read_path, refuse, step_id, strings,
    },
    Judge,
};

impl Judge<'_> {
    /// TASKS-GATE-8, as pairs in order.
    fn confirmations(&self) -> Vec<(String, bool)> {
        let all = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), true)).collect();
        match self.get("checkpoints") {
            None => all(&GATE),
            Some(Value::String(word)) if word == "gate" => all(&GATE),
            Some(Value::String(_)) => all(&CHECKPOINTS),
            Some(object) => CHECKPOINTS
                .iter()
                .filter_map(|name| {
                    let value = object.get(*name).filter(|value| !value.is_null())?;
                    let value = value.get("confirmed").unwrap_or(value);
                    Some(((*name).to_owned(), value.as_bool().unwrap()))
                })
                .collect(),
        }
    }

    fn names_the_gate(&self) -> Result<(), No> {
        let named = self.confirmations();
        if named.iter().any(|(name, _)| GATE.contains(&name.as_str())) {
            return Ok(());
        }
        malformed("bad_format")
    }

    /// Adds steps below a path and answers where they are.
    pub(super) fn add_steps(
        &mut self,
        task: &str,
        parent: Option<&Path>,
        steps: &[Value],
    ) -> Vec<Path> {
        let mut added = Vec::new();
        for input in steps {
            let id = self.state.count("step");
            let entity = self.state.entity(task);
            let counter = match parent {
                None => &mut entity.next_root,
                Some(path) => &mut entity.steps.get_mut(path).unwrap().next_child,
            };
            let mut path = parent.cloned().unwrap_or_default();
            path.push(*counter);
            *counter += 1;
            let mut step = Step::fresh(id, input["title"].as_str().unwrap().trim());
            define(&mut step, input);
            entity.steps.insert(path.clone(), step);
            added.push(path);
        }
        if let Some(parent) = parent {
            self.reopen_upwards(task, parent);
        }
        self.unfinish(task);
        added
    }

    pub(super) fn decompose(&mut self) -> Result<(), No> {
        let task = self.one_task()?;
        let parent = match self.text("parent") {
            None => None,
            Some(word) => Some(self.step_word(&task, word)?),
        };
        if parent.as_ref().is_some_and(|path| path.len() >= 16) {
            return invalid("out_of_range");
        }
        let steps = self.get("steps").and_then(Value::as_array).unwrap();
        let place = Place { entity: task.clone(), path: None, node: None };
        self.undoable("decompose", place, |judge| {
            judge.added.steps = judge.add_steps(&task, parent.as_ref(), steps);
            judge.changed(&task, "steps_added");
            Ok(())
        })
    }

    fn step_word(&self, task: &str, word: &str) -> Result<Path, No> {
        let steps = &self.state.entities[task].steps;
        let named = |(path, step): &(&Path, &Step)| {
            step_id(step.id) == word || (word.starts_with("s:") && **path == read_path(word))
        };
        match steps.iter().find(named) {
            Some((path, _)) => Ok(path.clone()),
            None => refuse("UNKNOWN_ID"),
        }
    }

    pub(super) fn define(&mut self) -> Result<(), No> {
        self.needs_step()?;
        let fields = ["title", "success_criteria", "tests", "blockers", "proof_modes"];
        if fields.iter().all(|name| self.get(name).is_none()) {
            return malformed("missing");
        }
        let task = self.one_task()?;
        let path = self.step(&task)?;
        let input = Value::Object(self.args.clone());
        let place = Place { entity: task.clone(), path: Some(path.clone()), node: None };
        self.undoable("define", place, |judge| {
            judge.redefine(&task, &path, &input);
            judge.changed(&task, "step_defined");
            Ok(())
        })
    }

    /// TASKS-STATE-7.
    pub(super) fn redefine(&mut self, task: &str, path: &Path, input: &Value) {
        let step = self.state.step(task, path);
        let before = step.fields.clone();
        define(step, input);
        let mut takes_back = false;
        for (list, confirmed) in
            [("success_criteria", "criteria_confirmed"), ("tests", "tests_confirmed")]
        {
            if step.fields[list] != before[list] {
                step.set(confirmed, json!(false));
                takes_back = true;
            }
        }
        if takes_back && step.is_closed() {
            self.reopen_upwards(task, path);
        }
    }

    pub(super) fn note(&mut self) -> Result<(), No> {
        self.needs_step()?;
        let task = self.one_task()?;
        let path = self.step(&task)?;
        self.write_note(&task, &path);
        Ok(())
    }

    fn write_note(&mut self, task: &str, path: &Path) {
        self.state.step(task, path).notes += 1;
        self.state.entity(task).memory += 1;
        self.added.notes += 1;
        self.changed(task, "step_noted");
    }

    pub(super) fn verify(&mut self) -> Result<(), No> {
        self.needs_step()?;
        let task = self.one_task()?;
        let path = self.step(&task)?;
        self.confirm(&task, &path);
        Ok(())
    }

    fn confirm(&mut self, task: &str, path: &Path) {
        let confirmations = self.confirmations();
        let step = self.state.step(task, path);
        let mut withdraws = false;
        for (name, confirmed) in &confirmations {
            withdraws |= !confirmed && step.requires(name);
            step.set(&format!("{name}_confirmed"), json!(confirmed));
        }
        if withdraws && step.is_closed() {
            self.reopen_upwards(task, path);
        } else if confirmations.iter().any(|(_, confirmed)| *confirmed) {
            self.begin(task);
        }
        self.changed(task, "step_verified");
    }

    pub(super) fn done(&mut self) -> Result<(), No> {
        self.needs_step()?;
        let task = self.one_task()?;
        let path = self.step(&task)?;
        self.close(&task, &path, &[])
    }

    pub(super) fn close(&mut self, task: &str, path: &Path, named: &[String]) -> Result<(), No> {
        if self.state.step(task, path).is_closed() {
            return invalid("already_completed");
        }
        if let Some(code) = self.state.entities[task].gate(path, named) {
            return refuse(code);
        }
        let now = self.state.now;
        let step = self.state.step(task, path);
        step.set("completed", json!(true));
        step.set("completed_at_ms", json!(now));
        if step.is_weak() {
            self.warnings.insert("PROOF_WEAK");
        }
        self.begin(task);
        self.changed(task, "step_done");
        Ok(())
    }

    pub(super) fn close_step(&mut self) -> Result<(), No> {
        self.needs_step()?;
        self.names_the_gate()?;
        let task = self.one_task()?;
        let path = self.step(&task)?;
        self.confirm_and_close(&task, &path)
    }

    /// TASKS-CLOSE-2.
    pub(super) fn confirm_and_close(&mut self, task: &str, path: &Path) -> Result<(), No> {
        if self.state.step(task, path).is_closed() {
            return invalid("already_completed");
        }
        self.confirm(task, path);
        let named: Vec<String> = self.confirmations().into_iter().map(|(name, _)| name).collect();
        self.close(task, path, &named)
    }

    pub(super) fn progress(&mut self) -> Result<(), No> {
        self.needs_step()?;
        let completed = self.flag("completed").unwrap_or(true);
        let force = self.flag("force").unwrap_or(false);
        if (force && !completed) || (self.get("reason").is_some() && !force) {
            return malformed("conflict");
        }
        let task = self.one_task()?;
        let path = self.step(&task)?;
        let place = Place { entity: task.clone(), path: Some(path.clone()), node: None };
        self.undoable("step_progress", place, |judge| match (completed, force) {
            (true, true) => judge.force(&task, &path),
            (true, false) => judge.close(&task, &path, &[]),
            (false, _) => judge.reopen(&task, &path),
        })
    }

    fn reopen(&mut self, task: &str, path: &Path) -> Result<(), No> {
        if !self.state.step(task, path).is_closed() {
            return invalid("not_completed");
        }
        self.reopen_upwards(task, path);
        self.changed(task, "step_reopened");
        Ok(())
    }

    /// TASKS-GATE-4: what is skipped stays visible; open children are never skipped.
    fn force(&mut self, task: &str, path: &Path) -> Result<(), No> {
        let entity = &self.state.entities[task];
        let step = &entity.steps[path];
        if step.is_closed() || entity.gate(path, &[]).is_none() {
            return self.close(task, path, &[]);
        }
        if entity.has_open_children(path) {
            return refuse("CHILDREN_OPEN");
        }
        let mut skipped: Vec<String> =
            step.unconfirmed(&[]).into_iter().map(str::to_owned).collect();
        skipped.extend(step.unproven().into_iter().map(|name| format!("proof:{name}")));
        if step.fields["blocked"] == true {
            skipped.push("blocked".to_owned());
        }
        let now = self.state.now;
        let reason = self.prose("reason");
        let step = self.state.step(task, path);
        step.set("completed", json!(true));
        step.set("completed_at_ms", json!(now));
        step.set("waiver", json!({"reason": reason, "at_ms": now, "skipped": skipped}));
        if step.is_weak() {
            self.warnings.insert("PROOF_WEAK");
        }
        self.warnings.insert("FORCED_CLOSE");
        self.begin(task);
        self.changed(task, "step_done");
        Ok(())
    }

    pub(super) fn block(&mut self) -> Result<(), No> {
        self.needs_step()?;
        let blocked = self.flag("blocked").unwrap_or(true);
        let task = self.one_task()?;
        let path = self.step(&task)?;
        if blocked && self.state.step(&task, &path).is_closed() {
            return invalid("already_completed");
        }
        let reason = if blocked { self.prose("reason") } else { Value::Null };
        let place = Place { entity: task.clone(), path: Some(path.clone()), node: None };
        self.undoable("step_block_set", place, |judge| {
            let step = judge.state.step(&task, &path);
            step.set("blocked", json!(blocked));
            step.set("block_reason", reason);
            judge.changed(&task, if blocked { "step_blocked" } else { "step_unblocked" });
            Ok(())
        })
    }

    pub(super) fn task_add(&mut self) -> Result<(), No> {
        let Some(word) = self.text("parent_step") else { return malformed("missing") };
        let task = self.one_task()?;
        let path = self.step_word(&task, word)?;
        let mut node = Node::fresh(self.state.count("node"), self.title("title").unwrap());
        let input = Value::Object(self.args.clone());
        define_node(&mut node.fields, &input);
        let is_done = node.fields["status"] == "DONE";
        let step = self.state.step(&task, &path);
        step.nodes.insert(step.next_node, node);
        step.next_node += 1;
        if !is_done && step.is_closed() {
            self.reopen_upwards(&task, &path);
        }
        self.changed(&task, "task_node_added");
        Ok(())
    }

    fn needs_node(&self) -> Result<(), No> {
        if self.get("path").is_none() && self.get("task_node_id").is_none() {
            return malformed("missing");
        }
        Ok(())
    }

    pub(super) fn task_define(&mut self) -> Result<(), No> {
        self.needs_node()?;
        let task = self.one_task()?;
        let (path, at) = self.node(&task)?;
        let input = Value::Object(self.args.clone());
        let place = Place { entity: task.clone(), path: Some(path), node: Some(at) };
        self.undoable("task_node_patch", place.clone(), |judge| {
            judge.redefine_node(&place, &input);
            judge.changed(&task, "task_node_defined");
            Ok(())
        })
    }

    /// TASKS-STATE-3.
    pub(super) fn redefine_node(&mut self, place: &Place, input: &Value) {
        let mut fields = self.state.fields_at(place);
        define_node(&mut fields, input);
        let is_open = fields["status"] != "DONE";
        self.state.write(place, &fields);
        let path = place.path.as_ref().unwrap();
        if is_open && self.state.step(&place.entity, path).is_closed() {
            self.reopen_upwards(&place.entity, path);
        }
    }

    pub(super) fn task_delete(&mut self) -> Result<(), No> {
        self.needs_node()?;
        let task = self.one_task()?;
        let (path, at) = self.node(&task)?;
        self.state.step(&task, &path).nodes.remove(&at);
        let gone = |place: &Place| {
            place.entity == task && place.path.as_ref() == Some(&path) && place.node == Some(at)
        };
        self.leave_stacks(gone);
        self.changed(&task, "task_node_deleted");
        Ok(())
    }

    pub(super) fn evidence_capture(&mut self) -> Result<(), No> {
        let proof = Proof::of(&Value::Object(self.args.clone()));
        if !proof.is_substantive {
            return malformed("empty_evidence");
        }
        let target = self.task_or_plan();
        if self.get("path").is_none() && self.get("step_id").is_none() {
            let id = target?;
            self.capture(&id, None, &proof);
            return Ok(());
        }
        if let Err(no) = &target
            && no.early
        {
            return target.map(|_| ());
        }
        // Only a task has steps.
        let id = self.target(&["task", "plan", "target"], super::Takes::Task)?;
        let path = self.step(&id)?;
        self.capture(&id, Some(&path), &proof);
        Ok(())
    }

    pub(super) fn capture(&mut self, id: &str, path: Option<&Path>, proof: &Proof) {
        let number = self.state.count("evidence");
        self.state.entity(id).memory += 1;
        self.added.evidence.push(number);
        if let Some(path) = path {
            let step = self.state.step(id, path);
            step.evidence.insert(number, proof.linked.clone());
            step.proven.extend(proof.linked.iter().cloned());
        }
        let lacks = !proof.has_command || !proof.has_link;
        if proof.held_placeholder || (!proof.linked.is_empty() && lacks) {
            self.warnings.insert("PROOF_WEAK");
        }
        self.changed(id, "evidence_captured");
    }

    pub(super) fn macro_close_step(&mut self) -> Result<(), No> {
        let proof = self.get("proof").map(Proof::short);
        let task = self.one_task()?;
        let selected = self.get("path").is_some() || self.get("step_id").is_some();
        let path = match selected {
            true => Some(self.step(&task)?),
            false => self.state.entities[&task].first_open(),
        };
        let has_note = self.get("note").is_some();
        let Some(path) = path else { return self.finish_task(&task, has_note, proof.as_ref()) };
        if self.state.step(&task, &path).is_closed() {
            return invalid("already_completed");
        }
        let place = Place { entity: task.clone(), path: Some(path.clone()), node: None };
        self.undoable("macro_close_step", place, |judge| {
            if has_note {
                judge.write_note(&task, &path);
            }
            judge.prove(&task, Some(&path), proof.as_ref());
            judge.confirm_and_close(&task, &path)
        })
    }

    fn prove(&mut self, task: &str, path: Option<&Path>, proof: Option<&Proof>) {
        match proof {
            Some(proof) if proof.is_substantive => self.capture(task, path, proof),
            Some(_) => {
                self.warnings.insert("PROOF_WEAK");
            }
            None => {}
        }
    }

    /// TASKS-MC-2.
    fn finish_task(&mut self, task: &str, has_note: bool, proof: Option<&Proof>) -> Result<(), No> {
        if self.state.entities[task].is_done() {
            self.still_done(task)?;
            self.warnings.insert("ALREADY_DONE");
            if has_note || proof.is_some() {
                self.warnings.insert("NOTE_IGNORED");
            }
            return Ok(());
        }
        let place = Place { entity: task.to_owned(), path: None, node: None };
        self.undoable("macro_close_step", place, |judge| {
            if has_note {
                judge.state.entity(task).memory += 1;
                judge.added.notes += 1;
                judge.events.push("note_committed");
            }
            judge.prove(task, None, proof);
            judge.may_be_done(task)?;
            judge.set_status(task, "DONE");
            judge.changed(task, "task_completed");
            Ok(())
        })
    }
}

/// Sets the fields of a step that an input names.
fn define(step: &mut Step, input: &Value) {
    if let Some(title) = input.get("title").and_then(Value::as_str) {
        step.set("title", json!(title.trim()));
    }
    for list in ["success_criteria", "tests", "blockers"] {
        if let Some(given) = input.get(list) {
            step.set(list, json!(lines(given)));
        }
    }
    for (name, mode) in input.get("proof_modes").and_then(Value::as_object).into_iter().flatten() {
        step.set(&format!("proof_{name}_mode"), mode.clone());
    }
}

/// Sets the fields of a node that an input names.
fn define_node(fields: &mut Fields, input: &Value) {
    let mut set = |name: &str, change: &dyn Fn(&Value) -> Value| {
        if let Some(given) = input.get(name) {
            fields.insert(name.to_owned(), change(given));
        }
    };
    set("title", &|title| json!(title.as_str().unwrap().trim()));
    for name in ["status", "status_manual", "priority", "blocked"] {
        set(name, &Value::clone);
    }
    set("description", &prose);
    set("context", &prose);
    for list in NODE_LISTS {
        set(list, &|given| json!(lines(given)));
    }
}

/// Evidence as given, and what it is worth (TASKS-EVD).
pub(super) struct Proof {
    linked: BTreeSet<String>,
    is_substantive: bool,
    held_placeholder: bool,
    has_command: bool,
    has_link: bool,
}

impl Proof {
    fn of(input: &Value) -> Self {
        let texts = |name: &str| strings(&input[name]);
        let speaks = |line: &String| {
            let body = line.trim_start_matches("CMD:").trim_start_matches("LINK:");
            let fill = body.to_lowercase().find("<fill:").map(|at| body[at..].contains('>'));
            !body.trim().is_empty() && fill != Some(true)
        };
        let lines = [texts("checks"), texts("attachments")].concat();
        let kept: Vec<&String> = lines.iter().filter(|line| speaks(line)).collect();
        let given = input["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        // The placeholders of these tests are items with nothing but a line to fill in.
        let real = |item: &&Value| item.get("diff").is_none();
        let items: Vec<&Value> = given.iter().filter(real).collect();
        let linked = match input["checkpoint"].as_str() {
            Some(one) => BTreeSet::from([one.to_owned()]),
            None => strings(&input["checkpoint"]).into_iter().collect(),
        };
        let starts = |start: &str| kept.iter().any(|line| line.starts_with(start));
        let has_item = |key: &str| items.iter().any(|item| item.get(key).is_some());
        Self {
            linked,
            // Items of these tests say something whenever they have output.
            is_substantive: !kept.is_empty() || has_item("stdout") || has_item("command"),
            held_placeholder: kept.len() < lines.len() || items.len() < given.len(),
            has_command: starts("CMD:") || has_item("command"),
            has_link: starts("LINK:") || starts("https://") || has_item("url"),
        }
    }

    /// TASKS-EVD-4.
    fn short(input: &Value) -> Self {
        let lines = match input.as_str() {
            Some(text) => vec![text.to_owned()],
            None => strings(input),
        };
        if input.is_object() {
            let mut input = input.clone();
            if input.get("checkpoint").is_none() {
                input["checkpoint"] = json!("tests");
            }
            return Self::of(&input);
        }
        let lines = lines.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty());
        let receipt = |line: &str| {
            if line.starts_with("CMD:") || line.starts_with("LINK:") {
                line.to_owned()
            } else if line.starts_with("https://") {
                format!("LINK: {line}")
            } else {
                format!("CMD: {line}")
            }
        };
        let checks: Vec<String> = lines.map(receipt).collect();
        Self::of(&json!({"checks": checks, "checkpoint": "tests"}))
    }
}
