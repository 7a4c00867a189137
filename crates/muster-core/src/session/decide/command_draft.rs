//! The events of one command, each with the C-Tree events that follow from it.

use super::{Decided, Docs, SessionEvent};
use crate::{
    Draft, Recorded, Timestamp,
    ctree::{self, Planted, Sections, TaskSnapshot},
    session::{
        SessionAggregate,
        body::{self, TreeSnapshotBody, TurnCompletion},
        compile,
        entity::{InputTaker, Session},
        event::{Aside, EventPlace},
        evolve, lookup,
    },
};

pub(super) struct CommandDraft<'a>(Draft<'a, SessionAggregate>);

impl<'a> CommandDraft<'a> {
    pub(super) fn over(draft: Draft<'a, SessionAggregate>) -> Self {
        Self(draft)
    }

    /// The documents after the events so far.
    pub(super) fn docs(&self) -> &Docs {
        self.0.documents()
    }

    /// The session after the events so far.
    pub(super) fn session(&self) -> Decided<&Session> {
        lookup::session(self.docs())
    }

    /// The time of the command.
    pub(super) fn now(&self) -> Timestamp {
        self.0.env().now
    }

    pub(super) fn input_taker(&self) -> Decided<InputTaker> {
        Ok(self.session()?.input_taker(self.now()))
    }

    /// The running turn and the session's run, if there are any.
    pub(super) fn here(&self) -> Decided<EventPlace> {
        let session = self.session()?;
        let running = session.turns.running.as_ref();
        Ok(EventPlace {
            run_id: session.owner().map(|owner| owner.run_id),
            turn_id: running.map(|turn| turn.id.clone()),
            turn: running.map(|turn| turn.number),
            ..EventPlace::default()
        })
    }

    /// Writes an event, and the C-Tree events that follow from it (CE-1, CE-2).
    pub(super) fn record(&mut self, event: SessionEvent) -> Decided<()> {
        let place = event.place.clone();
        let before = self.runner()?;
        let planted = self.record_plain(event)?;
        self.announce_nodes(&planted, &place)?;
        let runner = self.runner()?.filter(|runner| Some(runner) != before.as_ref());
        // Between turns the whole summary follows at the end of the command.
        let hash_changed = planted.made.is_empty()
            && !planted.changed.is_empty()
            && self.session()?.turns.running.is_some();
        let snapshot = if hash_changed { ctree::snapshot(self.docs())? } else { None };
        // A new session has not reported what drives it yet, and readers take that as idle.
        let runner = runner.filter(|_| before.is_some());
        if snapshot.is_none() && runner.is_none() {
            return Ok(());
        }
        self.publish(Sections { snapshot, runner, ..Sections::default() }, place)
    }

    /// Writes only the event; the caller publishes its effect on the tree.
    pub(super) fn record_plain(&mut self, event: SessionEvent) -> Decided<Planted> {
        Ok(self.0.emit(event)?)
    }

    /// Writes an event that ends a turn, its `completion` unless the agent has reported one in
    /// this turn, and all five sections of the summary (CE-2).
    pub(super) fn record_end(&mut self, event: SessionEvent) -> Decided<()> {
        let place = event.place.clone();
        let is_reported = self.session()?.turns.outcome.is_some();
        let turn = place.turn.filter(|_| !is_reported);
        let completion = turn.map(|turn| TurnCompletion::of(turn, &event.data));
        let planted = self.record_plain(event)?;
        self.announce_nodes(&planted, &place)?;
        if let Some(completion) = completion {
            let aside = Aside { sums_up_turn: true, ..Aside::default() };
            let event = SessionEvent::of(body::COMPLETION, place.clone(), &completion);
            self.record_plain(SessionEvent { aside, ..event })?;
        }
        let sections = compile::sections(self.docs(), self.session()?)?;
        self.publish(sections, place)
    }

    /// Writes all five sections of the summary if the tree has changed and no turn is running, so
    /// that the stream and a requested summary agree whenever nothing is under way. A turn does
    /// this once at its end.
    ///
    /// What it costs is bounded by the budget of the session's text, not by the size of its tree
    /// (see [`compile`]), and a command pays for it once however many events it writes.
    pub(super) fn publish_summary_between_turns(&mut self) -> Decided<()> {
        let session = self.session()?;
        if session.turns.running.is_some() || session.tree.text.is_some() {
            return Ok(());
        }
        let sections = compile::sections(self.docs(), session)?;
        let place = self.here()?;
        self.publish(sections, place)
    }

    /// What a task's part of the tree would be after an event.
    pub(super) fn foresee(
        &self,
        event: &SessionEvent,
        task_id: &str,
    ) -> Decided<Option<(ctree::NodeId, TaskSnapshot)>> {
        let mut docs = self.docs().clone();
        evolve::apply(&mut docs, &self.numbered(event.clone())?)?;
        Ok(ctree::task_snapshot(&docs, task_id)?)
    }

    fn announce_nodes(&mut self, planted: &Planted, place: &EventPlace) -> Decided<()> {
        for notice in &planted.made {
            let place = EventPlace { turn: notice.node.turn.or(place.turn), ..place.clone() };
            self.record_plain(SessionEvent::of(body::CTREE_NODE, place, notice))?;
        }
        Ok(())
    }

    fn publish(&mut self, sections: Sections, place: EventPlace) -> Decided<()> {
        let snapshot = TreeSnapshotBody { sections, ..TreeSnapshotBody::default() };
        self.record_plain(SessionEvent::of(body::CTREE_SNAPSHOT, place, &snapshot)).map(drop)
    }

    fn runner(&self) -> Decided<Option<ctree::Runner>> {
        let standing = lookup::standing(self.docs())?;
        if standing.is_none() { Ok(None) } else { self.session().map(|s| Some(s.runner())) }
    }

    /// The event with the number that it will get.
    fn numbered(&self, event: SessionEvent) -> Decided<Recorded<SessionEvent>> {
        let last = match lookup::standing(self.docs())? {
            Some(_) => self.session()?.last_seq,
            None => 0,
        };
        Ok(Recorded { global: 0, seq: last + 1, at: self.now(), by: None, intent: None, event })
    }
}
