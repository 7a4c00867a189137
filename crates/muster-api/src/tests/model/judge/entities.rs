//! Plans and tasks as wholes: creating, editing, patching, finishing, deleting, focus, memory.

use serde_json::{Map, Value, json};

use super::{
    super::reference::{
        Entity, Fields, NODE_LISTS, No, Path, Place, invalid, lines, malformed, points, prose,
        refuse, strings, unique,
    },
    Arguments, Judge, judge,
};

const STATUSES: [&str; 3] = ["TODO", "ACTIVE", "DONE"];
const PRIORITIES: [&str; 4] = ["LOW", "MEDIUM", "HIGH", "CRITICAL"];
const MODES: [&str; 3] = ["off", "warn", "require"];
/// Operations that an atomic batch takes.
const UNDOABLE: [&str; 4] = ["tasks_patch", "tasks_task_define", "tasks_progress", "tasks_block"];
/// Operations that a batch takes.
const TOGETHER: [&str; 20] = [
    "tasks_create",
    "tasks_edit",
    "tasks_decompose",
    "tasks_define",
    "tasks_note",
    "tasks_verify",
    "tasks_done",
    "tasks_close_step",
    "tasks_close_task",
    "tasks_complete",
    "tasks_patch",
    "tasks_progress",
    "tasks_block",
    "tasks_delete",
    "tasks_plan",
    "tasks_contract",
    "tasks_evidence_capture",
    "tasks_task_add",
    "tasks_task_define",
    "tasks_task_delete",
];

/// What a patch may do to a field.
enum Class {
    Title,
    Choice(&'static [&'static str]),
    Flag,
    Text,
    Object,
    Lines,
    Tags,
    Ids,
}

impl Class {
    fn is_list(&self) -> bool {
        matches!(self, Self::Lines | Self::Tags | Self::Ids)
    }

    /// The stored value, if it is one for this field.
    fn stored(&self, value: &Value) -> Option<Value> {
        let texts = value.as_array().is_some_and(|items| items.iter().all(Value::is_string));
        match self {
            Self::Title => {
                let title = value.as_str().map(str::trim);
                let title = title.filter(|title| !title.is_empty() && !title.contains('\n'));
                title.map(|title| json!(title))
            }
            Self::Choice(words) => words.iter().any(|word| value == word).then(|| value.clone()),
            Self::Flag => value.is_boolean().then(|| value.clone()),
            Self::Text => value.is_string().then(|| prose(value)),
            Self::Object => value.is_object().then(|| value.clone()),
            Self::Lines => texts.then(|| json!(lines(value))),
            Self::Tags => {
                let blank = strings(value).iter().any(|tag| tag.trim().is_empty());
                (texts && !blank).then(|| json!(unique(value)))
            }
            Self::Ids => {
                let is_id = |id: &String| id.starts_with("TASK-") || id.starts_with("PLAN-");
                (texts && strings(value).iter().all(is_id)).then(|| json!(unique(value)))
            }
        }
    }
}

/// TASKS-PATCH, the table of fields.
fn class(place: &Place, field: &str) -> Option<Class> {
    match (&place.path, place.node) {
        (None, _) => match field {
            "title" => Some(Class::Title),
            "priority" => Some(Class::Choice(&PRIORITIES)),
            "description" | "context" => Some(Class::Text),
            "tags" => Some(Class::Tags),
            "depends_on" => Some(Class::Ids),
            "contract" if place.entity.starts_with("PLAN") => Some(Class::Text),
            "contract_data" if place.entity.starts_with("PLAN") => Some(Class::Object),
            "domain" | "phase" | "component" | "assignee" if place.entity.starts_with("TASK") => {
                Some(Class::Text)
            }
            _ => None,
        },
        (Some(_), None) => match field {
            "title" => Some(Class::Title),
            "success_criteria" | "tests" | "blockers" => Some(Class::Lines),
            "proof_tests_mode" | "proof_security_mode" | "proof_perf_mode" | "proof_docs_mode" => {
                Some(Class::Choice(&MODES))
            }
            _ => None,
        },
        (Some(_), Some(_)) => match field {
            "title" => Some(Class::Title),
            "status" => Some(Class::Choice(&STATUSES)),
            "priority" => Some(Class::Choice(&PRIORITIES)),
            "status_manual" | "blocked" => Some(Class::Flag),
            "description" | "context" => Some(Class::Text),
            list if NODE_LISTS.contains(&list) => Some(Class::Lines),
            _ => None,
        },
    }
}

/// The values that the operations of a patch leave (TASKS-PATCH-1, -2).
fn patched(place: &Place, mut fields: Fields, ops: &[Value]) -> Result<Fields, No> {
    let mut given = Fields::new();
    for op in ops {
        let field = op["field"].as_str().unwrap();
        let Some(class) = class(place, field) else { return invalid("") };
        let value = op.get("value").filter(|value| !value.is_null());
        let stored = match (op["op"].as_str().unwrap(), value) {
            ("unset", Some(_)) | (_, None) if op["op"] != "unset" || value.is_some() => None,
            ("unset", _) if class.is_list() => Some(json!([])),
            ("unset", _) => matches!(class, Class::Text | Class::Object).then_some(Value::Null),
            ("set", Some(value)) => class.stored(value),
            (verb, Some(value)) if class.is_list() => {
                let items = if value.is_array() { value.clone() } else { json!([value]) };
                class.stored(&items).map(|items| {
                    let mut now = strings(&fields[field]);
                    let items = strings(&items);
                    if verb == "remove" {
                        now.retain(|item| !items.contains(item));
                    } else {
                        now.extend(items);
                    }
                    json!(unique(&json!(now)))
                })
            }
            _ => None,
        };
        let Some(stored) = stored else { return invalid("") };
        fields.insert(field.to_owned(), stored.clone());
        given.insert(field.to_owned(), stored);
    }
    Ok(given)
}

impl Judge<'_> {
    pub(super) fn create(&mut self) -> Result<(), No> {
        let parent = self.named(&["parent", "target"])?;
        if parent.as_ref().is_some_and(|id| id.starts_with("TASK")) {
            return malformed("wrong_kind");
        }
        let otherwise = if parent.is_some() { "task" } else { "plan" };
        let given = |name: &str| self.get(name).is_some();
        if self.text("kind").unwrap_or(otherwise) == "plan" {
            if given("steps") || parent.is_some() {
                return malformed("conflict");
            }
            let title = self.title("title").unwrap();
            let id = self.create_plan(title, self.prose("description"));
            let contract = self.prose("contract");
            let facts = self.get("contract_data").cloned();
            let fields = &mut self.state.entity(&id).fields;
            fields.insert("contract".to_owned(), contract);
            fields.insert("contract_data".to_owned(), facts.unwrap_or_default());
            return Ok(());
        }
        if given("contract") || given("contract_data") {
            return malformed("conflict");
        }
        let plan = self.parent_plan(parent)?;
        let title = self.title("title").unwrap();
        let id = self.create_task(&plan, title, self.prose("description"));
        if let Some(steps) = self.get("steps").and_then(Value::as_array)
            && !steps.is_empty()
        {
            self.create_steps(&id, steps);
        }
        Ok(())
    }

    pub(super) fn create_plan(&mut self, title: &str, description: Value) -> String {
        let id = format!("PLAN-{:03}", self.state.count("plan"));
        self.state.entities.insert(id.clone(), Entity::fresh(None, title, description));
        self.created.insert(id.clone());
        self.changed(&id, "plan_created");
        id
    }

    pub(super) fn create_task(&mut self, plan: &str, title: &str, description: Value) -> String {
        let id = format!("TASK-{:03}", self.state.count("task"));
        let task = Entity::fresh(Some(plan.to_owned()), title, description);
        self.state.entities.insert(id.clone(), task);
        if self.state.entities[plan].is_done() {
            self.wake(plan);
        }
        self.created.insert(id.clone());
        self.changed(&id, "task_created");
        id
    }

    /// The steps of a new task: each with more than criteria is defined afterwards.
    pub(super) fn create_steps(&mut self, task: &str, steps: &[Value]) {
        self.changed(task, "steps_added");
        self.add_steps(task, None, steps);
        for step in steps {
            let filled = |list: &str| step.get(list).is_some_and(|list| !lines(list).is_empty());
            if filled("tests") || filled("blockers") || step.get("proof_modes").is_some() {
                self.changed(task, "step_defined");
            }
        }
    }

    /// TASKS-PAR-1.
    pub(super) fn parent_plan(&self, named: Option<String>) -> Result<String, No> {
        if let Some(id) = named {
            self.existing(&id)?;
            return Ok(id);
        }
        match &self.state.focus {
            Some(id) => Ok(self.state.entities[id].parent.clone().unwrap_or_else(|| id.clone())),
            None => invalid("missing"),
        }
    }

    pub(super) fn move_task(&mut self) -> Result<(), No> {
        let to = self.text("plan").unwrap().to_owned();
        if to.starts_with("TASK") {
            return malformed("wrong_kind");
        }
        let id = self.one_task()?;
        if self.state.entities[&id].parent.as_ref() == Some(&to) {
            return Ok(());
        }
        self.existing(&to)?;
        if self.state.leads_to(&id, &to) {
            return invalid("conflict");
        }
        let place = Place { entity: id.clone(), path: None, node: None };
        self.undoable("move", place, |judge| {
            judge.come_under(&id, &to);
            judge.changed(&id, "task_moved");
            Ok(())
        })
    }

    /// A task that was begun activates a TODO plan, an open one a DONE plan.
    pub(super) fn come_under(&mut self, task: &str, plan: &str) {
        let status = self.state.entities[task].status;
        let wakes = match self.state.entities[plan].status {
            "TODO" => status != "TODO",
            "DONE" => status != "DONE",
            _ => false,
        };
        self.state.entity(task).parent = Some(plan.to_owned());
        if wakes {
            self.wake(plan);
        }
    }

    pub(super) fn edit(&mut self) -> Result<(), No> {
        let mut given = Fields::new();
        for (name, value) in self.args {
            let stored = match name.as_str() {
                "title" => json!(value.as_str().unwrap().trim()),
                "description" | "context" | "contract" | "new_domain" => prose(value),
                "priority" | "contract_data" => value.clone(),
                "tags" | "depends_on" => json!(unique(value)),
                _ => continue,
            };
            given.insert(name.replace("new_", ""), stored);
        }
        if given.is_empty() {
            return malformed("missing");
        }
        let id = self.task_or_plan()?;
        let place = Place { entity: id.clone(), path: None, node: None };
        self.undoable("edit", place, |judge| {
            judge.apply_edit(&id, &given)?;
            judge.changed(&id, if id.starts_with("PLAN") { "plan_edited" } else { "task_edited" });
            Ok(())
        })
    }

    /// TASKS-EDIT-2, -3.
    fn apply_edit(&mut self, id: &str, given: &Fields) -> Result<(), No> {
        if given.keys().any(|name| !self.state.entities[id].fields.contains_key(name)) {
            return invalid("conflict");
        }
        let dependencies = given.get("depends_on").map(strings).unwrap_or_default();
        let dependencies = self.state.added(id, &dependencies);
        for dependency in &dependencies {
            self.existing(dependency)?;
            if dependency == id {
                return invalid("conflict");
            }
        }
        if dependencies.iter().any(|dependency| self.state.leads_to(dependency, id)) {
            return invalid("conflict");
        }
        self.state.entity(id).fields.extend(given.clone());
        Ok(())
    }

    /// TASKS-PATCH-3: a selector that the kind does not use is refused.
    fn check_selectors(args: &Arguments) -> Result<(), No> {
        let given = |name: &str| args.contains_key(name);
        match args.get("kind").and_then(Value::as_str).unwrap_or("task_detail") {
            "task_detail" if given("path") || given("step_id") || given("task_node_id") => {
                malformed("conflict")
            }
            "step" if given("task_node_id") => malformed("conflict"),
            "step" if !given("path") && !given("step_id") => malformed("missing"),
            "task" if given("step_id") => malformed("conflict"),
            "task" if !given("path") && !given("task_node_id") => malformed("missing"),
            _ => Ok(()),
        }
    }

    fn patch_place(&self, id: &str, args: &Arguments) -> Result<Place, No> {
        let entity = id.to_owned();
        match args.get("kind").and_then(Value::as_str).unwrap_or("task_detail") {
            "step" => {
                let path = Some(self.step_of(id, args)?);
                Ok(Place { entity, path, node: None })
            }
            "task" => {
                let (path, at) = self.node_of(id, args)?;
                Ok(Place { entity, path: Some(path), node: Some(at) })
            }
            _ => Ok(Place { entity, path: None, node: None }),
        }
    }

    fn apply_patch(&mut self, place: &Place, ops: &[Value]) -> Result<(), No> {
        let given = patched(place, self.state.fields_at(place), ops)?;
        match (&place.path, place.node) {
            (None, _) => {
                self.apply_edit(&place.entity, &given)?;
                self.changed(&place.entity, "task_patched");
            }
            (Some(path), None) => {
                self.redefine(&place.entity, path, &as_input(&given));
                self.changed(&place.entity, "step_defined");
            }
            (Some(_), Some(_)) => {
                self.redefine_node(place, &json!(given));
                self.changed(&place.entity, "task_node_defined");
            }
        }
        Ok(())
    }

    pub(super) fn patch(&mut self) -> Result<(), No> {
        Self::check_selectors(self.args)?;
        let kind = self.text("kind").unwrap_or("task_detail");
        let id = match (self.task_or_plan(), kind) {
            (Err(no), _) if no.early => return Err(no),
            (outcome, "task_detail") => outcome?,
            (_, _) => self.target(&["task", "plan", "target"], super::Takes::Task)?,
        };
        let place = self.patch_place(&id, self.args)?;
        let ops = self.get("ops").and_then(Value::as_array).unwrap();
        let intent = match kind {
            "step" => "step_patch",
            "task" => "task_node_patch",
            _ => "task_detail_patch",
        };
        self.undoable(intent, place.clone(), |judge| judge.apply_patch(&place, ops))
    }

    /// TASKS-GATE-5.
    pub(super) fn may_be_done(&self, id: &str) -> Result<(), No> {
        let entity = &self.state.entities[id];
        if id.starts_with("PLAN") {
            if self.state.tasks_of(id).iter().any(|task| !self.state.entities[task].is_done()) {
                return refuse("TASKS_OPEN");
            }
        } else {
            if entity.steps.is_empty() {
                return refuse("STEPS_OPEN");
            }
            if entity.steps.values().any(|step| !step.unconfirmed(&[]).is_empty()) {
                return refuse("CHECKPOINTS_NOT_CONFIRMED");
            }
            if entity.steps.values().any(|step| !step.unproven().is_empty()) {
                return refuse("PROOF_REQUIRED");
            }
            if entity.steps.values().any(|step| !step.is_closed()) {
                return refuse("STEPS_OPEN");
            }
        }
        if !self.state.waiting_on(id).is_empty() {
            return refuse("DEPENDENCIES_OPEN");
        }
        Ok(())
    }

    /// TASKS-EVD-2: what became required of a DONE task.
    pub(super) fn still_done(&self, id: &str) -> Result<(), No> {
        let entity = &self.state.entities[id];
        if !entity.is_done() {
            return Ok(());
        }
        if entity.steps.values().any(|step| !step.unconfirmed(&[]).is_empty()) {
            return refuse("CHECKPOINTS_NOT_CONFIRMED");
        }
        if entity.steps.values().any(|step| !step.unproven().is_empty()) {
            return refuse("PROOF_REQUIRED");
        }
        Ok(())
    }

    pub(super) fn complete(&mut self) -> Result<(), No> {
        let to = self.text("status").unwrap_or("DONE");
        let to = STATUSES.into_iter().find(|status| *status == to).unwrap();
        let id = self.task_or_plan()?;
        if self.state.entities[&id].status == to {
            self.still_done(&id)?;
            self.warnings.insert(if to == "DONE" { "ALREADY_DONE" } else { "STATUS_UNCHANGED" });
            return Ok(());
        }
        if to == "DONE" {
            self.may_be_done(&id)?;
        }
        let is_plan = id.starts_with("PLAN");
        if is_plan {
            self.state.entity(&id).status = to;
        } else {
            self.set_status(&id, to);
        }
        let event = match (is_plan, to) {
            (true, "DONE") => "plan_completed",
            (true, _) => "plan_status_set",
            (false, "DONE") => "task_completed",
            (false, _) => "task_status_set",
        };
        self.changed(&id, event);
        Ok(())
    }

    pub(super) fn close_task(&mut self) -> Result<(), No> {
        let patches = self.get("patches").and_then(Value::as_array).cloned().unwrap_or_default();
        for patch in &patches {
            Self::check_selectors(patch.as_object().unwrap())?;
        }
        let apply = self.flag("apply").unwrap_or(false);
        let id = self.one_task()?;
        let untouched = self.state.clone();
        for patch in &patches {
            let patch = patch.as_object().unwrap();
            let place = self.patch_place(&id, patch)?;
            self.apply_patch(&place, patch["ops"].as_array().unwrap())?;
        }
        let is_idle = self.state.entities[&id].is_done() && patches.is_empty();
        let gates = if is_idle { self.still_done(&id) } else { self.may_be_done(&id) };
        if is_idle && gates.is_ok() {
            self.warnings.insert("ALREADY_DONE");
        }
        if !apply {
            (self.state, self.events) = (untouched, Vec::new());
            self.touched.clear();
            self.mutated.clear();
            return Ok(());
        }
        gates?;
        if !self.state.entities[&id].is_done() {
            self.set_status(&id, "DONE");
            self.changed(&id, "task_completed");
        }
        Ok(())
    }

    pub(super) fn delete(&mut self) -> Result<(), No> {
        let target = self.task_or_plan();
        if self.get("path").is_none() && self.get("step_id").is_none() {
            let id = target?;
            self.delete_entity(&id);
            return Ok(());
        }
        if let Err(no) = &target
            && no.early
        {
            return target.map(|_| ());
        }
        let id = self.target(&["task", "plan", "target"], super::Takes::Task)?;
        let path = self.step(&id)?;
        let below = |other: &Path| other.starts_with(&path);
        self.state.entity(&id).steps.retain(|other, _| !below(other));
        self.leave_stacks(|place| place.entity == id && place.path.as_ref().is_some_and(below));
        if self.state.entities[&id].steps.is_empty() {
            self.unfinish(&id);
        }
        self.changed(&id, "step_deleted");
        Ok(())
    }

    fn delete_entity(&mut self, id: &str) {
        let gone = [self.state.tasks_of(id), vec![id.to_owned()]].concat();
        for id in gone {
            let event = if id.starts_with("PLAN") { "plan_deleted" } else { "task_deleted" };
            self.changed(&id, event);
            self.state.entities.remove(&id);
            self.state.cards.retain(|_, entity| *entity != id);
            self.leave_stacks(|place| place.entity == id);
            if self.state.focus.as_ref() == Some(&id) {
                self.state.focus = None;
            }
        }
    }

    pub(super) fn plan(&mut self) -> Result<(), No> {
        let steps = self.get("steps").map(points);
        if steps.iter().flatten().any(String::is_empty) {
            return malformed("bad_format");
        }
        let advance = self.flag("advance").unwrap_or(false);
        let current = self.get("current").and_then(Value::as_u64);
        if advance && current.is_some() {
            return malformed("conflict");
        }
        if steps.is_none() && current.is_none() && self.get("doc").is_none() && !advance {
            return malformed("no_change");
        }
        let id = self.one_plan()?;
        let plan = self.state.entity(&id);
        let points = steps.unwrap_or_else(|| plan.points.clone());
        let kept = plan.current.min(points.len() as u64);
        let current = current.unwrap_or(kept + u64::from(advance));
        if current > points.len() as u64 {
            return invalid("out_of_range");
        }
        (plan.points, plan.current) = (points, current);
        if self.get("doc").is_some() {
            let doc = self.prose("doc");
            self.state.entity(&id).doc = doc;
        }
        self.changed(&id, "plan_updated");
        Ok(())
    }

    pub(super) fn contract(&mut self) -> Result<(), No> {
        let clear = self.flag("clear").unwrap_or(false);
        let given = self.get("current").is_some() || self.get("contract_data").is_some();
        if clear && given {
            return malformed("conflict");
        }
        if !clear && !given {
            return malformed("no_change");
        }
        let id = self.one_plan()?;
        let text = self.get("current").map(prose);
        let facts = self.get("contract_data").cloned();
        let fields = &mut self.state.entity(&id).fields;
        if let Some(text) = text.or_else(|| clear.then_some(Value::Null)) {
            fields.insert("contract".to_owned(), text);
        }
        if let Some(facts) = facts.or_else(|| clear.then_some(Value::Null)) {
            fields.insert("contract_data".to_owned(), facts);
        }
        self.changed(&id, "contract_updated");
        Ok(())
    }

    /// TASKS-BATCH.
    pub(super) fn batch(&mut self) -> Result<(), No> {
        let atomic = self.flag("atomic").unwrap_or(false);
        let operations = self.get("operations").and_then(Value::as_array).unwrap();
        let tool = |operation: &Value| {
            let tool = operation.get("tool").or_else(|| operation.get("name")).unwrap();
            tool.as_str().unwrap().to_owned()
        };
        let arguments = |operation: &Value| {
            let args = operation.get("args").or_else(|| operation.get("arguments"));
            let mut args = args.and_then(Value::as_object).cloned().unwrap_or_default();
            args.insert("workspace".to_owned(), json!("acme"));
            args
        };
        // TASKS-BATCH-2: every operation is first checked for its shape.
        for operation in operations.iter().filter(|_| atomic) {
            if !UNDOABLE.contains(&&*tool(operation)) {
                return malformed("not_allowed");
            }
            match judge(&self.state, &tool(operation), &arguments(operation)) {
                Err(no) if no.early => return Err(no),
                Ok(_) | Err(_) => {}
            }
        }
        let mut failed = false;
        for operation in operations {
            let name = tool(operation);
            let args = arguments(operation);
            let outcome = if TOGETHER.contains(&name.as_str()) {
                judge(&self.state, &name, &args)
            } else {
                malformed("not_allowed")
            };
            match outcome {
                Ok(verdict) => {
                    self.state = verdict.state;
                    self.events.extend(verdict.events);
                    self.parts.push(None);
                }
                Err(_) if atomic => return refuse("BATCH_FAILED"),
                Err(no) => {
                    failed = true;
                    self.parts.push(Some(no));
                }
            }
        }
        if failed {
            self.warnings.insert("BATCH_PARTIAL");
        }
        Ok(())
    }

    pub(super) fn focus_set(&mut self) -> Result<(), No> {
        if self.named(&["task", "plan", "target"])?.is_none() {
            return malformed("missing");
        }
        let id = self.task_or_plan()?;
        self.state.focus = Some(id);
        Ok(())
    }

    pub(super) fn focus_clear(&mut self) -> Result<(), No> {
        self.state.focus = None;
        Ok(())
    }

    /// TASKS-FOC-1: a view with an explicit target moves the focus unless it is read-only.
    pub(super) fn show(&mut self) -> Result<(), No> {
        let named = self.named(&["task", "plan", "target"])?;
        // EASE-TOOLS-4: a snapshot of nothing says how to begin.
        let begins = named.is_none() && self.state.entities.is_empty();
        if begins && self.tool == "tasks_snapshot" {
            return Ok(());
        }
        let id = self.task_or_plan()?;
        if named.is_some() && self.flag("read_only") != Some(true) {
            self.state.focus = Some(id);
        }
        Ok(())
    }

    pub(super) fn notes_commit(&mut self) -> Result<(), No> {
        let id = self.task_or_plan()?;
        self.state.entity(&id).memory += 1;
        self.events.push("note_committed");
        Ok(())
    }
}

/// Final values of a step's fields as the input that defines them.
fn as_input(given: &Fields) -> Value {
    let mut input = Map::new();
    for (name, value) in given {
        match name.strip_prefix("proof_").and_then(|name| name.strip_suffix("_mode")) {
            Some(checkpoint) => {
                let modes = input.entry("proof_modes").or_insert_with(|| json!({}));
                modes[checkpoint] = value.clone();
            }
            None => {
                input.insert(name.clone(), value.clone());
            }
        }
    }
    Value::Object(input)
}
