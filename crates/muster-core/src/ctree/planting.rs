//! Applies events of a session to its tree (CT-3, CT-5).

use super::{
    growth::{EventMoment, GrowthEffect, Restatement, Sprout, grow, restate},
    node::{Kind, NodeId, Role, Status, start},
    node_storage::{Anchor, TreeLookup, TreeStorage},
    notice::NodeNotice,
    occurrence::{CallOccurrence, Occurrence, Proof, ResultOccurrence, TakenInput, TaskChange},
};
use crate::todo::{
    ScopeKey, TodoCounts, TodoItem, TodoScope,
    view::{Glyphs, glyph},
};

/// Label of a session without a title.
const UNTITLED: &str = "Session";

/// The root's label for a session's title.
pub fn root_label(title: &str) -> String {
    let label = start(title);
    if label.is_empty() { UNTITLED.to_owned() } else { label }
}

/// A todo list after an accepted change, as its node shows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TodoChange {
    scope: ScopeKey,
    /// `<scope> r<revision>: <done>/<total> done`
    label: String,
    /// A line per item: its ASCII glyph, a space, its title.
    body: String,
    /// Open while an item is neither done nor canceled.
    status: Status,
}

impl TodoChange {
    /// The current state of the list.
    pub fn of(scope: &TodoScope) -> Self {
        let TodoCounts { done, canceled, total, .. } = TodoCounts::of(&scope.items);
        let lines: Vec<String> = scope.items.iter().map(line).collect();
        Self {
            scope: scope.key.clone(),
            label: format!("{} r{}: {done}/{total} done", scope.key, scope.revision),
            body: lines.join("\n"),
            status: if done + canceled < total { Status::Open } else { Status::Done },
        }
    }
}

fn line(item: &TodoItem) -> String {
    format!("{} {}", glyph(item.status, Glyphs::Ascii), item.title)
}

/// The effect of an event on the tree.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Planted {
    /// A notice for each new node, in order; the last one has the tree's hash after the event.
    pub made: Vec<NodeNotice>,
    /// Existing nodes that have changed.
    pub changed: Vec<NodeId>,
    /// The node of the event, new or existing.
    pub node: Option<NodeId>,
}

/// Applies an event to the tree. Existing nodes change before new ones are added, so the hash in
/// the last notice is the tree's hash. Without a root nothing happens.
pub fn plant<G: TreeStorage>(
    nodes: &mut G,
    occurrence: Option<Occurrence>,
    todo: Option<TodoChange>,
    moment: &EventMoment,
) -> Result<Planted, G::Error> {
    let turn = match moment.turn {
        Some(turn) => nodes.anchored(&Anchor::Turn(turn))?,
        None => None,
    };
    // A turn that was never started does not count.
    let moment = EventMoment { turn: moment.turn.filter(|_| turn.is_some()), ..*moment };
    let home = turn.unwrap_or_else(NodeId::root);
    let mut planting = Planting { nodes, moment, home, planted: Planted::default() };
    if let Some(occurrence) = occurrence {
        planting.planted.node = planting.occurrence(occurrence)?;
    }
    if let Some(todo) = todo {
        planting.todo(todo)?;
    }
    Ok(planting.planted)
}

struct Planting<'a, G> {
    nodes: &'a mut G,
    moment: EventMoment,
    /// The node of the event's turn, or the root.
    home: NodeId,
    planted: Planted,
}

type Found<G> = Result<Option<NodeId>, <G as TreeLookup>::Error>;

impl<G: TreeStorage> Planting<'_, G> {
    /// Returns the node of the occurrence.
    fn occurrence(&mut self, occurrence: Occurrence) -> Found<G> {
        match occurrence {
            Occurrence::Titled { title } => {
                let label = Some(root_label(&title));
                self.change(&NodeId::root(), Restatement { label, ..Restatement::default() })?;
                Ok(None)
            }
            Occurrence::TurnStarted { turn, taken } => self.turn_started(turn, taken),
            Occurrence::TurnEnded { turn, status } => {
                if let Some(id) = self.nodes.anchored(&Anchor::Turn(turn))? {
                    self.change(&id, Restatement::status(status))?;
                }
                Ok(None)
            }
            Occurrence::Said { role, text } => self.make_at_home(message(role, text), Vec::new()),
            Occurrence::Called(call) => self.called(call),
            Occurrence::Answered(answer) => self.answered(answer),
            Occurrence::TaskChanged(change) => self.task_changed(change),
            Occurrence::HandedOff { message, artifacts } => {
                let sprout = Sprout::labelled(Kind::Handoff, start(&message));
                let sprout = Sprout { body: message, refs: artifacts, ..sprout };
                self.make_at_home(sprout, Vec::new())
            }
            Occurrence::Proven(proof) => self.proven(proof),
        }
    }

    fn turn_started(&mut self, turn: u64, taken: Vec<TakenInput>) -> Found<G> {
        self.moment.turn = Some(turn);
        let id = match self.nodes.anchored(&Anchor::Turn(turn))? {
            Some(id) => {
                self.change(&id, Restatement::status(Status::Open))?;
                Some(id)
            }
            None => {
                let newest = newest_turn(self.nodes)?.is_none_or(|newest| newest < turn);
                let newest = newest.then_some(Anchor::NewestTurn);
                let anchors = newest.into_iter().chain([Anchor::Turn(turn)]).collect();
                let sprout = Sprout::labelled(Kind::Turn, format!("Turn {turn}"));
                let sprout = Sprout { status: Some(Status::Open), ..sprout };
                self.make(&NodeId::root(), sprout, anchors)?
            }
        };
        let Some(id) = id else { return Ok(None) };
        let now = self.moment.seq;
        for input in taken {
            self.moment.seq = input.seq;
            self.make(&id, message(Role::User, input.text), Vec::new())?;
        }
        self.moment.seq = now;
        Ok(Some(id))
    }

    /// A call that is announced again while it runs keeps its node.
    fn called(&mut self, call: CallOccurrence) -> Found<G> {
        let label = start(&call.label);
        let Some(call_id) = call.call_id else {
            return self.make_at_home(called(label, call.arguments), Vec::new());
        };
        let anchor = Anchor::Call(call_id);
        if let Some(id) = self.running_call(&anchor)? {
            let body = (!call.arguments.is_empty()).then_some(call.arguments);
            let label = (!label.is_empty()).then_some(label);
            self.change(&id, Restatement { label, body, status: None })?;
            return Ok(Some(id));
        }
        self.make_at_home(called(label, call.arguments), vec![anchor])
    }

    fn running_call(&self, anchor: &Anchor) -> Found<G> {
        let Some(id) = self.nodes.anchored(anchor)? else { return Ok(None) };
        let node = self.nodes.node(&id)?;
        let running = node
            .is_some_and(|node| node.status == Some(Status::Open) && node.turn == self.moment.turn);
        Ok(running.then_some(id))
    }

    fn answered(&mut self, answer: ResultOccurrence) -> Found<G> {
        let status = if answer.success { Status::Done } else { Status::Failed };
        let call = match answer.call_id {
            Some(call_id) => self.nodes.anchored(&Anchor::Call(call_id))?,
            None => None,
        };
        if let Some(call) = &call {
            self.change(call, Restatement::status(status))?;
        }
        let parent = call.unwrap_or_else(|| self.home.clone());
        let sprout = Sprout::labelled(Kind::ToolResult, start(&answer.body));
        let body = answer.body;
        let refs = answer.artifacts;
        self.make(&parent, Sprout { body, refs, status: Some(status), ..sprout }, Vec::new())
    }

    fn task_changed(&mut self, change: TaskChange) -> Found<G> {
        let anchor = Anchor::Task(change.task_id.clone());
        let label = change.description.as_deref().map(start);
        if let Some(id) = self.nodes.anchored(&anchor)? {
            let status = change.status.map(Some);
            self.change(&id, Restatement { status, label, body: change.error })?;
            return Ok(Some(id));
        }
        let parent = match change.parent_task_id {
            Some(parent) => self.nodes.anchored(&Anchor::Task(parent))?,
            None => None,
        };
        let parent = parent.unwrap_or_else(|| self.home.clone());
        let label = label.unwrap_or_else(|| start(&change.task_id));
        let sprout = Sprout {
            body: change.error.unwrap_or_default(),
            status: Some(change.status.unwrap_or(Status::Open)),
            ..Sprout::labelled(Kind::Task, label)
        };
        self.make(&parent, sprout, vec![anchor])
    }

    fn proven(&mut self, proof: Proof) -> Found<G> {
        let supported = match proof.supports {
            Some(supports) => self.supported(supports)?,
            None => None,
        };
        let cited = supported.iter().map(NodeId::to_string);
        let refs = cited.chain(proof.artifacts).collect();
        let parent = supported.unwrap_or_else(|| self.home.clone());
        let label = start(&proof.summary);
        let lines: Vec<String> = std::iter::once(proof.summary).chain(proof.checks).collect();
        let sprout = Sprout::labelled(Kind::Evidence, label);
        self.make(&parent, Sprout { body: lines.join("\n"), refs, ..sprout }, Vec::new())
    }

    /// The node of a node id or a task id.
    fn supported(&self, supports: String) -> Found<G> {
        let id = NodeId::given(&supports);
        if self.nodes.node(&id)?.is_some() {
            return Ok(Some(id));
        }
        self.nodes.anchored(&Anchor::Task(supports))
    }

    fn todo(&mut self, todo: TodoChange) -> Result<(), G::Error> {
        let anchor = Anchor::Scope(todo.scope);
        if let Some(previous) = self.nodes.anchored(&anchor)? {
            self.change(&previous, Restatement::status(Status::Superseded))?;
        }
        let parent = self.planted.node.clone().unwrap_or_else(|| self.home.clone());
        let sprout = Sprout {
            body: todo.body,
            status: Some(todo.status),
            ..Sprout::labelled(Kind::Todo, start(&todo.label))
        };
        self.make(&parent, sprout, vec![anchor])?;
        Ok(())
    }

    /// Creates a node, anchors it, and only then records the state of the tree.
    fn make(&mut self, parent: &NodeId, sprout: Sprout, anchors: Vec<Anchor>) -> Found<G> {
        let made = grow(self.nodes, parent, sprout, &self.moment)?;
        if let Some(id) = &made {
            for anchor in anchors {
                self.nodes.anchor(anchor, id.clone())?;
            }
            self.planted.made.extend(NodeNotice::of(self.nodes, id)?);
        }
        Ok(made)
    }

    /// Creates a node in the event's turn.
    fn make_at_home(&mut self, sprout: Sprout, anchors: Vec<Anchor>) -> Found<G> {
        let home = self.home.clone();
        self.make(&home, sprout, anchors)
    }

    fn change(&mut self, id: &NodeId, change: Restatement) -> Result<(), G::Error> {
        if restate(self.nodes, id, change, &self.moment)? == Some(GrowthEffect::Changed) {
            self.planted.changed.push(id.clone());
        }
        Ok(())
    }
}

fn message(role: Role, text: String) -> Sprout {
    let sprout = Sprout::labelled(Kind::Message, start(&text));
    Sprout { role: Some(role), body: text, ..sprout }
}

fn called(label: String, arguments: String) -> Sprout {
    let sprout = Sprout::labelled(Kind::ToolCall, label);
    Sprout { body: arguments, status: Some(Status::Open), ..sprout }
}

/// Number of the newest turn, if there is one.
pub(super) fn newest_turn<G: TreeLookup>(nodes: &G) -> Result<Option<u64>, G::Error> {
    let Some(id) = nodes.anchored(&Anchor::NewestTurn)? else { return Ok(None) };
    Ok(nodes.node(&id)?.and_then(|node| node.turn))
}
