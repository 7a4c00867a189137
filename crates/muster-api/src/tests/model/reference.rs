//! The state of the reference and the rules that hold between its parts.
//!
//! Plans, tasks, steps and nodes are plain maps of JSON under the names that callers read. It is
//! written from the contract alone: nothing of the product is used here, and nothing is fast.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

/// Values of fields by name.
pub(super) type Fields = BTreeMap<String, Value>;
/// A step's place: one ordinal per level.
pub(super) type Path = Vec<u32>;

/// Checkpoints in the order of every listing.
pub(super) const CHECKPOINTS: [&str; 5] = ["criteria", "tests", "security", "perf", "docs"];
/// Those that are always required.
pub(super) const GATE: [&str; 2] = ["criteria", "tests"];
pub(super) const NODE_LISTS: [&str; 6] =
    ["blockers", "dependencies", "next_steps", "problems", "risks", "success_criteria"];

/// A refusal: its code and, of `INVALID_INPUT`, the reason; an empty reason is not compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct No {
    pub(super) code: &'static str,
    pub(super) reason: &'static str,
    /// Whether the arguments alone are at fault, whatever the state.
    pub(super) early: bool,
}

pub(super) fn refuse<T>(code: &'static str) -> Result<T, No> {
    Err(No { code, reason: "", early: false })
}

pub(super) fn invalid<T>(reason: &'static str) -> Result<T, No> {
    Err(No { code: "INVALID_INPUT", reason, early: false })
}

pub(super) fn malformed<T>(reason: &'static str) -> Result<T, No> {
    Err(No { code: "INVALID_INPUT", reason, early: true })
}

/// Everything in a workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reference {
    pub(super) entities: BTreeMap<String, Entity>,
    pub(super) last: BTreeMap<&'static str, u64>,
    pub(super) focus: Option<String>,
    pub(super) history: Vec<Operation>,
    pub(super) keys: BTreeMap<String, (String, Value)>,
    /// Cards and whose memory they are in.
    pub(super) cards: BTreeMap<String, String>,
    pub(super) undos: u64,
    pub(super) now: i64,
}

/// A plan or a task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entity {
    pub(super) parent: Option<String>,
    pub(super) revision: u64,
    pub(super) status: &'static str,
    pub(super) fields: Fields,
    pub(super) doc: Value,
    pub(super) current: u64,
    pub(super) points: Vec<String>,
    pub(super) steps: BTreeMap<Path, Step>,
    pub(super) next_root: u32,
    /// How often something was added to its memory.
    pub(super) memory: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) id: u64,
    pub(super) fields: Fields,
    pub(super) proven: BTreeSet<String>,
    pub(super) notes: u64,
    /// What each record of evidence is linked to, by its number.
    pub(super) evidence: BTreeMap<u64, BTreeSet<String>>,
    pub(super) nodes: BTreeMap<u32, Node>,
    pub(super) next_child: u32,
    pub(super) next_node: u32,
}

/// A node of a step's sub-plan.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) id: u64,
    pub(super) fields: Fields,
}

/// An entry of the history.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Operation {
    pub(super) place: Place,
    pub(super) intent: String,
    pub(super) change: Option<Change>,
    pub(super) state: State,
    pub(super) undone_at: u64,
    /// What its last undo took away.
    pub(super) withdrawn: Option<Withdrawn>,
}

/// What an undo took away.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Withdrawn {
    pub(super) entities: BTreeMap<String, Entity>,
    pub(super) cards: BTreeMap<String, String>,
    pub(super) steps: BTreeMap<Path, Step>,
    pub(super) evidence: BTreeMap<u64, BTreeSet<String>>,
    pub(super) notes: u64,
}

/// What an operation addressed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) entity: String,
    pub(super) path: Option<Path>,
    pub(super) node: Option<u32>,
}

/// What an undoable operation changed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) before: Fields,
    pub(super) after: Fields,
    pub(super) derived: Vec<Value>,
    pub(super) forced: bool,
    pub(super) added: Added,
}

/// What an operation added besides fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Added {
    pub(super) plan: Option<String>,
    pub(super) task: Option<String>,
    pub(super) steps: Vec<Path>,
    pub(super) evidence: Vec<u64>,
    pub(super) notes: u64,
    /// The plan, task or steps as they were then.
    pub(super) content: Value,
    pub(super) focus_before: Option<String>,
}

impl Added {
    pub(super) fn has_places(&self) -> bool {
        self.task.is_some() || !self.steps.is_empty()
    }

    pub(super) fn entities(&self) -> impl Iterator<Item = &String> {
        self.plan.iter().chain(&self.task)
    }

    /// As the history shows it: not there before, there afterwards.
    pub(super) fn fields(&self) -> Fields {
        let mut shown = Fields::new();
        shown.extend(self.plan.iter().map(|id| ("plan".to_owned(), json!(id))));
        shown.extend(self.task.iter().map(|id| ("task".to_owned(), json!(id))));
        if !self.steps.is_empty() {
            let paths: Vec<String> = self.steps.iter().map(path_text).collect();
            shown.insert("steps".to_owned(), json!(paths));
        }
        if !self.evidence.is_empty() {
            let ids = self.evidence.iter().map(|number| format!("EVID-{number:08X}"));
            shown.insert("evidence".to_owned(), ids.collect());
        }
        shown
    }
}

/// The state of an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum State {
    Final,
    Undoable,
    Redoable,
    Undone,
}

fn fields<const N: usize>(entries: [(&str, Value); N]) -> Fields {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Entity {
    /// A plan without a parent, or a task with one.
    pub(super) fn fresh(parent: Option<String>, title: &str, description: Value) -> Self {
        let mut own = fields([
            ("title", json!(title)),
            ("description", description),
            ("context", Value::Null),
            ("priority", json!("MEDIUM")),
            ("tags", json!([])),
            ("depends_on", json!([])),
        ]);
        let more: &[&str] = match parent {
            None => &["contract", "contract_data"],
            Some(_) => &["domain", "phase", "component", "assignee"],
        };
        own.extend(more.iter().map(|name| ((*name).to_owned(), Value::Null)));
        Self {
            parent,
            revision: 0,
            status: "TODO",
            fields: own,
            doc: Value::Null,
            current: 0,
            points: Vec::new(),
            steps: BTreeMap::new(),
            next_root: 0,
            memory: 0,
        }
    }

    pub(super) fn dependencies(&self) -> Vec<String> {
        strings(&self.fields["depends_on"])
    }

    pub(super) fn is_done(&self) -> bool {
        self.status == "DONE"
    }

    pub(super) fn children<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Step> {
        let below =
            move |other: &Path| other.len() == path.len() + 1 && other.starts_with(path.as_slice());
        self.steps.iter().filter(move |(other, _)| below(other)).map(|(_, step)| step)
    }

    /// The first open step, children before their parent (TASKS-ORD-2).
    pub(super) fn first_open(&self) -> Option<Path> {
        fn visit(entity: &Entity, at: &Path) -> Option<Path> {
            let level =
                entity.steps.keys().filter(|p| p.len() == at.len() + 1 && p.starts_with(at));
            for path in level {
                if let Some(found) = visit(entity, path) {
                    return Some(found);
                }
                if !entity.steps[path].is_closed() {
                    return Some(path.clone());
                }
            }
            None
        }
        visit(self, &Vec::new())
    }

    /// The code of the first gate that keeps a step from closing (TASKS-GATE-1).
    pub(super) fn gate(&self, path: &Path, named: &[String]) -> Option<&'static str> {
        let step = &self.steps[path];
        let open_child = self.children(path).any(|child| !child.is_closed());
        let gates = [
            ("CHECKPOINTS_NOT_CONFIRMED", !step.unconfirmed(named).is_empty()),
            ("PROOF_REQUIRED", !step.unproven().is_empty()),
            ("CHILDREN_OPEN", open_child || step.has_open_node()),
            ("STEP_BLOCKED", step.fields["blocked"] == true),
        ];
        gates.into_iter().find(|(_, open)| *open).map(|(code, _)| code)
    }

    pub(super) fn has_open_children(&self, path: &Path) -> bool {
        self.children(path).any(|child| !child.is_closed()) || self.steps[path].has_open_node()
    }
}

impl Step {
    pub(super) fn fresh(id: u64, title: &str) -> Self {
        let mut own = fields([
            ("title", json!(title)),
            ("success_criteria", json!([])),
            ("tests", json!([])),
            ("blockers", json!([])),
            ("completed", json!(false)),
            ("completed_at_ms", Value::Null),
            ("waiver", Value::Null),
            ("blocked", json!(false)),
            ("block_reason", Value::Null),
        ]);
        for checkpoint in CHECKPOINTS {
            own.insert(format!("{checkpoint}_confirmed"), json!(false));
        }
        for checkpoint in &CHECKPOINTS[1..] {
            own.insert(format!("proof_{checkpoint}_mode"), json!("off"));
        }
        Self {
            id,
            fields: own,
            proven: BTreeSet::new(),
            notes: 0,
            evidence: BTreeMap::new(),
            nodes: BTreeMap::new(),
            next_child: 0,
            next_node: 0,
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.fields["completed"] == true
    }

    pub(super) fn mode(&self, checkpoint: &str) -> &str {
        let mode = self.fields.get(&format!("proof_{checkpoint}_mode"));
        mode.and_then(Value::as_str).unwrap_or("off")
    }

    pub(super) fn is_confirmed(&self, checkpoint: &str) -> bool {
        self.fields[&format!("{checkpoint}_confirmed")] == true
    }

    /// TASKS-GATE-2.
    pub(super) fn requires(&self, checkpoint: &str) -> bool {
        GATE.contains(&checkpoint)
            || self.proven.contains(checkpoint)
            || self.mode(checkpoint) == "require"
    }

    pub(super) fn unconfirmed(&self, named: &[String]) -> Vec<&'static str> {
        let wanted = |cp: &&&str| self.requires(cp) || named.iter().any(|name| name == **cp);
        let missing = CHECKPOINTS.iter().filter(wanted).filter(|cp| !self.is_confirmed(cp));
        missing.copied().collect()
    }

    pub(super) fn unproven(&self) -> Vec<&'static str> {
        let missing = |cp: &&&str| self.mode(cp) == "require" && !self.proven.contains(**cp);
        CHECKPOINTS.iter().filter(missing).copied().collect()
    }

    pub(super) fn is_weak(&self) -> bool {
        CHECKPOINTS.iter().any(|cp| self.mode(cp) == "warn" && !self.proven.contains(*cp))
    }

    pub(super) fn has_open_node(&self) -> bool {
        self.nodes.values().any(|node| node.fields["status"] != "DONE")
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.fields.insert(name.to_owned(), value);
    }

    /// TASKS-STATE-8.
    pub(super) fn reopen(&mut self) {
        self.set("completed", json!(false));
        self.set("completed_at_ms", Value::Null);
        self.set("waiver", Value::Null);
    }
}

impl Node {
    pub(super) fn fresh(id: u64, title: &str) -> Self {
        let mut own = fields([
            ("title", json!(title)),
            ("status", json!("TODO")),
            ("status_manual", json!(false)),
            ("priority", json!("MEDIUM")),
            ("blocked", json!(false)),
            ("description", Value::Null),
            ("context", Value::Null),
        ]);
        own.extend(NODE_LISTS.map(|name| (name.to_owned(), json!([]))));
        Self { id, fields: own }
    }
}

impl Reference {
    /// The next number of a counter.
    pub(super) fn count(&mut self, what: &'static str) -> u64 {
        let last = self.last.entry(what).or_default();
        *last += 1;
        *last
    }

    pub(super) fn entity(&mut self, id: &str) -> &mut Entity {
        self.entities.get_mut(id).unwrap()
    }

    pub(super) fn step(&mut self, id: &str, path: &Path) -> &mut Step {
        self.entity(id).steps.get_mut(path).unwrap()
    }

    pub(super) fn ids(&self, prefix: &str) -> Vec<String> {
        self.entities.keys().filter(|id| id.starts_with(prefix)).cloned().collect()
    }

    pub(super) fn tasks_of(&self, plan: &str) -> Vec<String> {
        let below = |entity: &Entity| entity.parent.as_deref() == Some(plan);
        let tasks = self.entities.iter().filter(|(_, entity)| below(entity));
        tasks.map(|(id, _)| id.clone()).collect()
    }

    /// Dependencies that exist and are not done.
    pub(super) fn waiting_on(&self, id: &str) -> Vec<String> {
        let open = |id: &String| self.entities.get(id).is_some_and(|entity| !entity.is_done());
        self.entities[id].dependencies().into_iter().filter(open).collect()
    }

    /// Those that a plan or task does not depend on yet.
    pub(super) fn added(&self, id: &str, dependencies: &[String]) -> Vec<String> {
        let before = self.entities[id].dependencies();
        dependencies.iter().filter(|id| !before.contains(id)).cloned().collect()
    }

    /// Whether `start` can not be done before `goal`: it depends on it, or one of its tasks does.
    pub(super) fn leads_to(&self, start: &str, goal: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut pending = vec![start.to_owned()];
        while let Some(id) = pending.pop() {
            if id == goal {
                return true;
            }
            if let Some(entity) = self.entities.get(&id)
                && !seen.contains(&id)
            {
                pending.extend(entity.dependencies());
                let is_inside =
                    |(_, other): &(&String, &Entity)| other.parent.as_ref() == Some(&id);
                pending.extend(self.entities.iter().filter(is_inside).map(|(id, _)| id.clone()));
                seen.insert(id);
            }
        }
        false
    }

    /// Fields of what a place names; none when it is gone.
    pub(super) fn fields_at(&self, place: &Place) -> Fields {
        let Some(entity) = self.entities.get(&place.entity) else { return Fields::new() };
        let Some(path) = &place.path else {
            let mut own = entity.fields.clone();
            if let Some(plan) = &entity.parent {
                own.insert("status".to_owned(), json!(entity.status));
                own.insert("plan".to_owned(), json!(plan));
            }
            return own;
        };
        let Some(step) = entity.steps.get(path) else { return Fields::new() };
        match place.node {
            Some(at) => step.nodes.get(&at).map(|node| node.fields.clone()).unwrap_or_default(),
            None => step.fields.clone(),
        }
    }

    /// What the steps at and below these paths hold; nothing if one of them is gone.
    pub(super) fn content_of_steps(&self, id: &str, paths: &[Path]) -> Value {
        let Some(entity) = self.entities.get(id) else { return Value::Null };
        if paths.iter().any(|path| !entity.steps.contains_key(path)) {
            return Value::Null;
        }
        let below = |path: &&Path| paths.iter().any(|root| path.starts_with(root));
        let content = |step: &Step| {
            let nodes = step.nodes.iter().map(|(at, node)| json!([at, node.fields]));
            json!([
                step.id,
                step.fields,
                step.evidence.values().collect::<Vec<_>>(),
                step.notes,
                nodes.collect::<Vec<_>>()
            ])
        };
        entity.steps.keys().filter(below).map(|path| content(&entity.steps[path])).collect()
    }

    /// What a task and its plan hold, and who waits for them.
    pub(super) fn content_of_entities(&self, added: &Added) -> Value {
        let mut content = Vec::new();
        for id in added.entities() {
            let Some(entity) = self.entities.get(id) else { return Value::Null };
            let roots: Vec<Path> = entity.steps.keys().filter(|p| p.len() == 1).cloned().collect();
            let waits = |other: &&Entity| other.dependencies().contains(id);
            content.push(json!([
                entity.fields,
                entity.doc,
                entity.current,
                entity.points,
                entity.memory,
                self.content_of_steps(id, &roots),
                self.tasks_of(id).len(),
                self.entities.values().filter(waits).count(),
            ]));
        }
        json!(content)
    }

    pub(super) fn write(&mut self, place: &Place, values: &Fields) {
        let entity = self.entity(&place.entity);
        let mut values = values.clone();
        if place.path.is_none()
            && let Some(status) = values.remove("status")
        {
            let known = ["TODO", "ACTIVE", "DONE"].into_iter().find(|known| status == *known);
            entity.status = known.unwrap();
        }
        if place.path.is_none()
            && let Some(plan) = values.remove("plan")
        {
            entity.parent = plan.as_str().map(str::to_owned);
        }
        let slot = match (&place.path, place.node) {
            (None, _) => &mut entity.fields,
            (Some(path), None) => &mut entity.steps.get_mut(path).unwrap().fields,
            (Some(path), Some(at)) => {
                &mut entity.steps.get_mut(path).unwrap().nodes.get_mut(&at).unwrap().fields
            }
        };
        slot.extend(values);
    }
}

pub(super) fn strings(value: &Value) -> Vec<String> {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// TASKS-ARG-5.
pub(super) fn lines(value: &Value) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for item in strings(value) {
        let item = item.trim().to_owned();
        let nothing = ["", "none", "null", "n/a", "na"].contains(&item.to_lowercase().as_str());
        if !nothing && !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}

/// Trimmed, every one.
pub(super) fn points(value: &Value) -> Vec<String> {
    strings(value).iter().map(|item| item.trim().to_owned()).collect()
}

/// Trimmed and without later duplicates.
pub(super) fn unique(value: &Value) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for item in strings(value) {
        let item = item.trim().to_owned();
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}

/// TASKS-ARG-6: an empty text clears.
pub(super) fn prose(value: &Value) -> Value {
    if value == "" { Value::Null } else { value.clone() }
}

pub(super) fn path_text(path: &Path) -> String {
    path.iter().map(|ordinal| format!("s:{ordinal}")).collect::<Vec<_>>().join(".")
}

pub(super) fn read_path(text: &str) -> Path {
    text.split('.').filter_map(|part| part.strip_prefix("s:")?.parse().ok()).collect()
}

pub(super) fn step_id(number: u64) -> String {
    format!("STEP-{number:08X}")
}

pub(super) fn node_id(number: u64) -> String {
    format!("NODE-{number:08X}")
}
