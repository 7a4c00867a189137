//! The events of one decision, collected step by step; each step sees what the earlier ones
//! changed.
//!
//! Emitting a fact applies it immediately; changing the run or a node emits the patch for it.

use super::{
    RunAggregate, RunCommand, RunEvent, RunFact,
    edge::{Actor, ActorKind},
    event::{LogSource, NodeLogged, NodePatched, NodeProgressed, RunChange, RunPatched, TextDelta},
    id::{Mint, NodeId, TurnId},
    limits,
    lookup::{self, Found},
    moment::Moment,
    node::{Node, NodePatch},
    record::{Run, RunPatch},
};
use crate::{Documents, Draft, redact};

/// A decision in the making.
pub(crate) struct RunDraft<'a> {
    draft: Draft<'a, RunAggregate>,
    now: Moment,
    by: Option<Actor>,
    mint: Mint,
    turn: Option<TurnId>,
    /// Whether the log already notes that a secret was replaced.
    noted: bool,
}

impl<'a> RunDraft<'a> {
    pub(crate) fn begin(draft: Draft<'a, RunAggregate>, command: &RunCommand) -> Self {
        let now = draft.env().now;
        Self {
            draft,
            now: now.into(),
            by: (command.by.kind != ActorKind::Runtime).then_some(command.by),
            mint: command.seed.mint(now),
            turn: None,
            noted: false,
        }
    }

    /// The documents after the events so far.
    pub(crate) fn docs(&self) -> &Documents<RunAggregate> {
        self.draft.documents()
    }

    /// The moment of the command.
    pub(crate) fn now(&self) -> Moment {
        self.now
    }

    /// Who gave the command.
    pub(crate) fn actor(&self) -> ActorKind {
        self.by.map_or(ActorKind::Runtime, |by| by.kind)
    }

    pub(crate) fn run(&self) -> Found<&Run> {
        lookup::run(self.docs())
    }

    pub(crate) fn node(&self, id: NodeId) -> Found<&Node> {
        lookup::node(self.docs(), id)
    }

    /// The next fresh id.
    pub(crate) fn fresh(&mut self) -> u128 {
        self.mint.fresh()
    }

    /// Events from here on belong to this turn; returns the one before.
    pub(crate) fn in_turn(&mut self, turn: Option<TurnId>) -> Option<TurnId> {
        std::mem::replace(&mut self.turn, turn)
    }

    /// The turn that events belong to.
    pub(crate) fn turn(&self) -> Option<TurnId> {
        self.turn
    }

    /// Emits a fact about the run.
    pub(crate) fn emit(&mut self, fact: RunFact) -> Found<()> {
        self.record(RunEvent { node_id: None, turn_id: None, by: self.by, fact })
    }

    /// Emits a fact about a node, in the turn of the draft.
    pub(crate) fn emit_for(&mut self, node: NodeId, fact: RunFact) -> Found<()> {
        self.record(RunEvent { node_id: Some(node), turn_id: self.turn, by: self.by, fact })
    }

    fn record(&mut self, event: RunEvent) -> Found<()> {
        let node = event.node_id;
        let turn = event.turn_id;
        let (event, redacted) = without_secrets(event);
        self.append(event)?;
        if redacted { self.note_secret(node, turn) } else { Ok(()) }
    }

    /// Emits a long text of a node as facts of a bounded size. Secrets are replaced before it is
    /// split.
    pub(crate) fn emit_pieces(
        &mut self,
        node: NodeId,
        text: &str,
        fact: impl Fn(TextDelta) -> RunFact,
    ) -> Found<()> {
        let clean = redact::text(text);
        for piece in pieces(clean.as_deref().unwrap_or(text)) {
            self.emit_for(node, fact(TextDelta { delta: piece.to_owned() }))?;
        }
        if clean.is_some() { self.note_secret(Some(node), self.turn) } else { Ok(()) }
    }

    /// Logs that a secret was replaced, once for each command, however many of its strings held
    /// one.
    fn note_secret(&mut self, node_id: Option<NodeId>, turn_id: Option<TurnId>) -> Found<()> {
        if node_id.is_none() || std::mem::replace(&mut self.noted, true) {
            return Ok(());
        }
        let line = "SECRET_REDACTED: what looks like a secret was replaced".to_owned();
        let fact =
            RunFact::NodeLogged(NodeLogged { source: LogSource::Runtime, line, suppressed: None });
        self.append(RunEvent { node_id, turn_id, by: None, fact })
    }

    fn append(&mut self, event: RunEvent) -> Found<()> {
        Ok(self.draft.emit(event)?)
    }

    /// Changes the run; emits nothing when nothing differs.
    pub(crate) fn change_run(&mut self, change: impl FnOnce(&mut Run)) -> Found<()> {
        let before = self.run()?.clone();
        let mut after = before.clone();
        change(&mut after);
        let run = RunPatch::between(&before, &after);
        if run.is_empty() {
            return Ok(());
        }
        self.patch_run(RunChange { run, ..RunChange::default() })
    }

    /// Emits a patch of the run, with the time of the change.
    pub(crate) fn patch_run(&mut self, mut change: RunChange) -> Found<()> {
        change.run.updated_at = Some(self.now);
        self.emit(RunFact::RunPatched(RunPatched { patch: Box::new(change) }))
    }

    /// Changes a node and its derived fields; emits nothing when nothing differs.
    ///
    /// A changed status or summary is also emitted as progress, a changed setting in the run's map.
    pub(crate) fn change_node(&mut self, id: NodeId, change: impl FnOnce(&mut Node)) -> Found<()> {
        let before = self.node(id)?.clone();
        let mut after = before.clone();
        change(&mut after);
        after.settle(self.run()?, self.now);
        let patch = NodePatch::between(&before, &after);
        if patch.is_empty() {
            return Ok(());
        }
        let progressed = patch.status.is_some() || patch.summary.is_some();
        self.patch_node(id, patch)?;
        if progressed {
            self.progress(id)?;
        }
        let config = after.config();
        if before.config() == config {
            return Ok(());
        }
        let node_configs = Some([(id, config)].into());
        self.patch_run(RunChange { node_configs, ..RunChange::default() })
    }

    /// Emits a patch of a node. Patches are not part of turns.
    pub(crate) fn patch_node(&mut self, id: NodeId, patch: NodePatch) -> Found<()> {
        let fact = RunFact::NodePatched(NodePatched { patch: Box::new(patch) });
        self.record(RunEvent { node_id: Some(id), turn_id: None, by: self.by, fact })
    }

    fn progress(&mut self, id: NodeId) -> Found<()> {
        let node = self.node(id)?;
        let progress = NodeProgressed { status: node.status, summary: node.summary.clone() };
        let fact = RunFact::NodeProgressed(progress);
        self.record(RunEvent { node_id: Some(id), turn_id: None, by: self.by, fact })
    }

    /// Updates every node after a change of the run.
    pub(crate) fn settle_nodes(&mut self) -> Found<()> {
        let ids: Vec<NodeId> = lookup::nodes(self.docs())?.iter().map(|node| node.id).collect();
        ids.into_iter().try_for_each(|id| self.change_node(id, |_| {}))
    }
}

/// Cuts a string into pieces of at most [`DELTA_BYTES_MAX`] bytes, at characters.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, remainder) = rest.split_at(redact::seam(rest, limits::DELTA_BYTES_MAX));
        rest = remainder;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The event with every secret replaced, and whether there was one (RUNS-SEC-6): a log cannot
/// forget.
fn without_secrets(event: RunEvent) -> (RunEvent, bool) {
    let Ok(text) = serde_json::to_string(&event) else { return (event, false) };
    if !redact::may_be_in(&text) {
        return (event, false);
    }
    let Ok(mut value) = serde_json::from_str(&text) else { return (event, false) };
    if !redact::value(&mut value) {
        return (event, false);
    }
    let event = serde_json::from_value(value)
        .unwrap_or_else(|error| unreachable!("texts stay texts when they are redacted: {error}"));
    (event, true)
}
