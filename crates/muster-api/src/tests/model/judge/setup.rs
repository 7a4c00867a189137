//! Setting up tasks from templates and steps, and their reasoning.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    super::reference::{Added, No, Place, invalid, lines, malformed, refuse},
    Judge,
};

const STAGES: [&str; 5] = ["frame", "hypothesis", "test", "evidence", "decision"];

/// Points of a plan template (TASKS section 5).
fn points(template: &str) -> Option<Vec<&'static str>> {
    match template {
        "basic-plan" => Some(vec![
            "Agree on the goal and its limits",
            "Make the change",
            "Check it and write it down",
        ]),
        "principal-plan" => Some(vec![
            "State the goal, the scope and what is out of scope",
            "Record constraints, people involved and risks",
            "Set measurable outcomes",
            "Compare options and choose the architecture",
            "Order the milestones, smallest useful one first",
            "Build in small slices, each one checked",
            "Check behaviour, safety, documentation and speed",
            "Plan release, monitoring and rollback",
            "Look back: follow-ups and debts",
        ]),
        _ => None,
    }
}

/// Steps of a task template (TASKS section 5).
fn template_steps(template: &str) -> Option<Vec<Value>> {
    match template {
        "basic-task" => Some(vec![
            step(
                "Pin down the goal and its limits",
                ["The goal fits in one sentence", "Limits and exclusions are listed"],
                "Read the notes back and find no open question",
            ),
            step(
                "Build the change",
                ["The change does what the goal says", "Someone else could follow the diff"],
                "New behaviour has a test that failed before",
            ),
            step(
                "Check and document",
                ["All affected checks pass", "Docs match the new behaviour"],
                "Run every check that the change touches",
            ),
        ]),
        "principal-task" => {
            let mut steps = principal_steps();
            steps[3]["proof_modes"] = json!({"tests": "require"});
            Some(steps)
        }
        _ => None,
    }
}

fn step(title: &str, success_criteria: [&str; 2], test: &str) -> Value {
    json!({"title": title, "success_criteria": success_criteria, "tests": [test]})
}

fn principal_steps() -> Vec<Value> {
    vec![
        step(
            "Frame the problem",
            [
                "Goal, constraints and exclusions are written down",
                "Success can be measured and the main risks are named",
            ],
            "A frame card exists for this task",
        ),
        step(
            "Design the approach",
            ["At least two options were compared", "Interfaces and invariants are stated"],
            "The riskiest assumption has a cheap probe",
        ),
        step(
            "Build in small slices",
            ["Each slice leaves the system working", "No behaviour changed by accident"],
            "Each slice adds or updates a targeted test",
        ),
        step(
            "Verify with proofs",
            [
                "Every relevant check ran on the final state",
                "Safety, speed and docs were looked at",
            ],
            "The full relevant suite passes, with its output kept",
        ),
        step(
            "Release and hand over",
            ["Release and rollback are described", "Open points are listed for the next person"],
            "A snapshot of the task reads well on its own",
        ),
    ]
}

/// Where a new task goes.
enum Parent {
    Plan(Option<String>),
    New(String, Option<String>),
}

/// The lists of a step that its gate is about.
const GATE: [&str; 2] = ["success_criteria", "tests"];

impl Judge<'_> {
    /// TASKS-PAR-1, -2, as far as the arguments tell.
    fn parent_choice(&self) -> Result<Parent, No> {
        let named = self.named(&["plan", "parent", "target"])?;
        if named.as_ref().is_some_and(|id| id.starts_with("TASK")) {
            return malformed("wrong_kind");
        }
        let template = self.text("plan_template");
        match self.title("plan_title") {
            Some(_) if named.is_some() => malformed("conflict"),
            None if template.is_some() => malformed("conflict"),
            None => Ok(Parent::Plan(named)),
            Some(title) => {
                if let Some(name) = template
                    && points(name).is_none()
                {
                    return unknown_template(name);
                }
                Ok(Parent::New(title.to_owned(), template.map(str::to_owned)))
            }
        }
    }

    fn make_plan(&mut self, parent: Parent, inbox: bool) -> Result<String, No> {
        match parent {
            Parent::New(title, template) => {
                let id = self.create_plan(&title, Value::Null);
                if let Some(points) = template.as_deref().and_then(points) {
                    self.fill_checklist(&id, points);
                }
                Ok(id)
            }
            Parent::Plan(None) if inbox && self.state.focus.is_none() => {
                let is_inbox =
                    |id: &String| self.state.entities[id].fields["title"] == json!("Inbox");
                match self.state.ids("PLAN").into_iter().find(is_inbox) {
                    Some(id) => Ok(id),
                    None => Ok(self.create_plan("Inbox", Value::Null)),
                }
            }
            Parent::Plan(named) => self.parent_plan(named),
        }
    }

    fn fill_checklist(&mut self, id: &str, points: Vec<&str>) {
        self.state.entity(id).points = points.into_iter().map(str::to_owned).collect();
        self.changed(id, "plan_updated");
    }

    /// TASKS-BOOT-1, EASE-TOOLS-4: the macro takes steps without tests.
    fn gate_ready(steps: &[Value], needed: &[&str]) -> Result<(), No> {
        let lists = |step| needed.iter().map(move |list| Value::get(step, list));
        for given in steps.iter().flat_map(lists) {
            match given {
                None => return malformed("missing"),
                Some(given) if lines(given).is_empty() => return malformed("out_of_range"),
                Some(_) => {}
            }
        }
        Ok(())
    }

    pub(super) fn scaffold(&mut self) -> Result<(), No> {
        let parent = self.parent_choice()?;
        let template = self.text("template").unwrap();
        let is_plan = points(template).is_some();
        if !is_plan && template_steps(template).is_none() {
            return unknown_template(template);
        }
        let kind = if is_plan { "plan" } else { "task" };
        if self.text("kind").is_some_and(|given| given != kind) {
            return malformed("conflict");
        }
        let title = self.title("title").unwrap();
        if let Some(points) = points(template) {
            if ["parent", "target", "plan_title"].iter().any(|name| self.get(name).is_some()) {
                return malformed("conflict");
            }
            let id = self.create_plan(title, self.prose("description"));
            self.fill_checklist(&id, points);
            return Ok(());
        }
        let plan = self.make_plan(parent, false)?;
        let task = self.create_task(&plan, title, self.prose("description"));
        self.create_steps(&task, &template_steps(template).unwrap_or_default());
        Ok(())
    }

    pub(super) fn bootstrap(&mut self, otherwise: Option<&str>) -> Result<(), No> {
        if self.get("template").is_some() && self.get("steps").is_some() {
            return malformed("conflict");
        }
        let template = self.text("template").or(otherwise);
        if self.get("steps").is_none() && template.is_none() {
            return malformed("missing");
        }
        let needed = if otherwise.is_some() { &GATE[..1] } else { &GATE };
        let steps = self.get("steps").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Self::gate_ready(steps, needed)?;
        let parent = self.parent_choice()?;
        let steps = match (self.get("steps").and_then(Value::as_array), template) {
            (Some(steps), _) => steps.clone(),
            (None, name) => match name.and_then(template_steps) {
                Some(steps) => steps,
                None => return unknown_template(name.unwrap_or_default()),
            },
        };
        let plan = self.make_plan(parent, otherwise.is_some())?;
        let title = self.title("task_title").unwrap();
        let task = self.create_task(&plan, title, self.prose("description"));
        self.create_steps(&task, &steps);
        if let Some(think) = self.get("think") {
            match usable(think) {
                Some(stages) => self.commit_cards(&task, &stages),
                None => {
                    self.warnings.insert("THINK_PIPELINE_FAILED");
                }
            }
        } else if otherwise.is_some() && self.text("template") == Some("principal-task") {
            // TASKS-MS-1.
            self.commit_cards(&task, &[json!("frame")]);
        }
        if otherwise.is_some() {
            self.state.focus = Some(task);
        }
        Ok(())
    }

    pub(super) fn macro_start(&mut self) -> Result<(), No> {
        let focus_before = self.state.focus.clone();
        let first = self.created.clone();
        // The task that is going to be created.
        let number = self.state.last.get("task").copied().unwrap_or_default() + 1;
        let entity = format!("TASK-{number:03}");
        let place = Place { entity: entity.clone(), path: None, node: None };
        self.undoable("macro_start", place, |judge| {
            judge.bootstrap(Some("basic-task"))?;
            let plan = judge.created.iter().find(|id| id.starts_with("PLAN")).cloned();
            let plan = plan.filter(|id| !first.contains(id));
            judge.added = Added { plan, task: Some(entity), focus_before, ..Added::default() };
            Ok(())
        })
    }

    /// TASKS-MCD-1: the closing part counts as a call of its own.
    pub(super) fn macro_create_done(&mut self) -> Result<(), No> {
        let steps = self.get("steps").and_then(Value::as_array).unwrap();
        Self::gate_ready(steps, &GATE)?;
        let parent = self.parent_choice()?;
        let plan = self.make_plan(parent, false)?;
        let title = self.title("task_title").unwrap();
        let task = self.create_task(&plan, title, self.prose("description"));
        self.create_steps(&task, steps);
        self.finish();
        self.confirm_and_close(&task, &vec![0])?;
        self.may_be_done(&task)?;
        self.set_status(&task, "DONE");
        self.changed(&task, "task_completed");
        Ok(())
    }

    fn commit_cards(&mut self, id: &str, cards: &[Value]) {
        for card in cards {
            if card.get("id").is_none() {
                let name = format!("CARD-{}", self.state.count("card"));
                self.state.cards.insert(name, id.to_owned());
            }
        }
        self.state.entity(id).memory += 1;
        self.events.push("cards_committed");
    }

    fn own_card(&self, id: &str, card: &Value) -> Result<(), No> {
        match card.as_str() {
            Some(card) if self.state.cards.get(card).is_none_or(|owner| owner != id) => {
                refuse("UNKNOWN_ID")
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn think_pipeline(&mut self) -> Result<(), No> {
        let think = Value::Object(self.args.clone());
        let given: Vec<&Value> = STAGES.iter().filter_map(|stage| think.get(*stage)).collect();
        let says = |card: &&&Value| speaks(card) || card.get("id").is_some();
        if given.is_empty() || !given.iter().all(|card| says(&card)) || stray_status(&think) {
            return malformed("");
        }
        let given: Vec<Value> = given.into_iter().cloned().collect();
        let ids: Vec<&str> = given.iter().filter_map(|card| card["id"].as_str()).collect();
        if ids.iter().collect::<BTreeSet<_>>().len() < ids.len() {
            return malformed("");
        }
        let id = self.task_or_plan()?;
        for card in &given {
            self.own_card(&id, &card["id"])?;
        }
        self.commit_cards(&id, &given);
        Ok(())
    }

    pub(super) fn think_card(&mut self) -> Result<(), No> {
        let card = self.get("card").cloned().unwrap_or_default();
        if !speaks(&card) && card.get("id").is_none() {
            return malformed("bad_format");
        }
        let id = self.task_or_plan()?;
        for supported in self.get("supports").and_then(Value::as_array).into_iter().flatten() {
            self.own_card(&id, supported)?;
        }
        self.own_card(&id, &card["id"])?;
        let supported = self.get("supports").and_then(Value::as_array);
        if supported.is_some_and(|supported| supported.contains(&card["id"])) {
            return invalid("conflict");
        }
        self.commit_cards(&id, &[card]);
        Ok(())
    }
}

fn unknown_template<T>(name: &str) -> Result<T, No> {
    if points(name).is_some() || template_steps(name).is_some() {
        return malformed("wrong_kind");
    }
    Err(No { early: true, ..invalid_id() })
}

fn invalid_id() -> No {
    let refused: Result<(), No> = refuse("UNKNOWN_ID");
    refused.unwrap_err()
}

/// Whether a card has a title or text.
fn speaks(card: &Value) -> bool {
    let says = |value: &Value| value.as_str().is_some_and(|text| !text.trim().is_empty());
    says(card) || says(&card["title"]) || says(&card["text"])
}

fn stray_status(think: &Value) -> bool {
    let stages = think["status"].as_object().into_iter().flatten();
    stages.map(|(stage, _)| stage).any(|stage| think.get(stage).is_none())
}

/// The stages of a seed, if all of it can be used (TASKS-BOOT-2); a new task has no cards to
/// update.
fn usable(think: &Value) -> Option<Vec<Value>> {
    let given: Vec<&Value> = STAGES.iter().filter_map(|stage| think.get(*stage)).collect();
    let says = |card: &&Value| speaks(card) && card.get("id").is_none();
    if given.is_empty() || !given.iter().all(says) || stray_status(think) {
        return None;
    }
    Some(given.into_iter().cloned().collect())
}
