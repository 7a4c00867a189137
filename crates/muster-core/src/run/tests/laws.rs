//! Invariants of any run after any sequence of commands.
#![expect(clippy::wildcard_enum_match_arm, reason = "each law is about a few facts")]

use std::collections::{BTreeMap, BTreeSet};

use super::{
    NodeId, NodeTurn, Phase, Recorded, Room, RunEvent, RunFact, RunStatus, TurnId, lookup,
};
use crate::run::{
    RunDocument, RunKey,
    event::TurnStep,
    id::{ApprovalId, ItemId, ToolId},
    inbox::ItemState,
    node::{Node, NodeStatus},
    turn::{TurnReason, TurnStatus},
};

impl Room {
    /// Invariants of the state.
    pub(super) fn check_state(&self) {
        let Some(run) = lookup::find_run(&self.docs).unwrap() else { return };
        let legal = match run.status {
            RunStatus::Queued => run.phase == Phase::Boot,
            RunStatus::Running | RunStatus::Paused => {
                matches!(run.phase, Phase::Execute | Phase::Verify | Phase::DocsSync)
            }
            RunStatus::Completed => run.phase == Phase::Done,
            RunStatus::Failed => run.phase != Phase::Done,
        };
        assert!(legal, "{} {}", run.status, run.phase);
        assert_eq!(
            run.stall.is_some(),
            run.status_reason
                .as_ref()
                .is_some_and(|reason| { reason.code == crate::run::record::StatusCode::Stalled })
        );
        let nodes = lookup::nodes(&self.docs).unwrap();
        let pulse = lookup::pulse(&self.docs).unwrap();
        let busy = nodes.iter().filter(|node| node.turn.is_some()).count();
        let live = lookup::live_turns(&self.docs).unwrap();
        assert_eq!((busy, live.len()), (pulse.active_turns as usize, pulse.active_turns as usize));
        assert_eq!(pulse.pending_approvals as usize, self.pending().len());
        assert_eq!(pulse.living_nodes as usize, nodes.len());
        let root = nodes.iter().find(|node| node.orchestrator).map(|node| node.id);
        assert_eq!(run.root_node_id, root);
        nodes.iter().for_each(|node| self.check_node(node));
        self.check_replay();
        self.check_consumer();
    }

    fn check_node(&self, node: &Node) {
        assert_eq!(node.status == NodeStatus::Blocked, node.blocked_reason.is_some());
        match node.status {
            NodeStatus::Running => assert!(node.turn.is_some() && node.awaiting.is_empty()),
            NodeStatus::Idle | NodeStatus::Failed => assert!(node.turn.is_none()),
            NodeStatus::Blocked => {}
        }
        let queued = lookup::queued(&self.docs, node.id, None).unwrap();
        let users = queued.iter().filter(|item| item.kind.name() == "message").count();
        assert_eq!(node.inbox_count as usize, queued.len());
        assert_eq!(node.queue.user as usize, users);
        for id in &node.awaiting {
            assert!(lookup::approval(&self.docs, *id).unwrap().is_pending());
        }
    }

    /// Invariants of the log.
    pub(super) fn check_log(&self) {
        let mut turns: BTreeMap<TurnId, TurnLaw> = BTreeMap::new();
        let mut tools = ToolLaws::default();
        let mut answers: BTreeMap<ApprovalId, u32> = BTreeMap::new();
        for recorded in &self.log {
            check_turn(&mut turns, recorded);
            tools.check(&recorded.event);
            match &recorded.event.fact {
                RunFact::ApprovalRequested(asked) => {
                    assert_eq!(answers.insert(asked.approval_id, 0), None);
                }
                RunFact::ApprovalResolved(answered) => {
                    let count = answers.get_mut(&answered.approval_id).unwrap();
                    *count += 1;
                    assert_eq!(*count, 1, "one winner per approval");
                }
                _ => {}
            }
        }
        let pending = answers.values().filter(|count| **count == 0).count();
        assert_eq!(pending, self.pending().len(), "no question is lost");
        for (id, law) in &turns {
            let turn = lookup::turn(&self.docs, *id).unwrap();
            assert_eq!(law.ended, !turn.is_live());
            assert_eq!(law.finals, u32::from(law.ended && turn.sent), "one final per turn");
        }
        let asked = self.pending().iter().map(|approval| approval.tool.id).collect();
        let live = lookup::live_turns(&self.docs).unwrap();
        let open = live.iter().flat_map(|turn| turn.tools.iter().map(|open| open.tool.id));
        let nodes = lookup::nodes(&self.docs).unwrap();
        let late = nodes.iter().flat_map(|node| node.late_tools.iter().copied());
        tools.check_end(&asked, &open.chain(late).collect());
        self.check_inputs();
    }

    /// Every input is delivered at most once and none is lost (RUNS-REC-5).
    fn check_inputs(&self) {
        let mut first: BTreeSet<ItemId> = BTreeSet::new();
        let mut answered: BTreeSet<ItemId> = BTreeSet::new();
        for turn in self.turns() {
            for taken in &turn.consumed {
                if !taken.redelivered {
                    assert!(first.insert(taken.id), "delivered twice without saying so");
                }
                if turn.status == Some(TurnStatus::Completed) {
                    assert!(answered.insert(taken.id), "answered twice");
                }
            }
        }
        let living: BTreeSet<NodeId> =
            lookup::nodes(&self.docs).unwrap().iter().map(|node| node.id).collect();
        for recorded in &self.log {
            let (id, node) = match &recorded.event.fact {
                RunFact::MessageQueued(queued) => {
                    (queued.message.id, queued.message.node_id.unwrap())
                }
                RunFact::HandoffSent(sent) => (sent.envelope.id, sent.envelope.to_node_id),
                _ => continue,
            };
            if living.contains(&node) {
                self.check_input(id, node);
            }
        }
    }

    fn check_input(&self, id: ItemId, node: NodeId) {
        let item = lookup::item(&self.docs, id).unwrap();
        let turn = item.consumed_turn_id.map(|id| lookup::turn(&self.docs, id).unwrap());
        match (item.state, turn) {
            (ItemState::Queued | ItemState::Cancelled | ItemState::Dropped, None) => {}
            (ItemState::Consumed, Some(turn)) => {
                assert!(turn.consumed.iter().any(|taken| taken.id == id));
                let owed = turn.status == Some(TurnStatus::Failed)
                    || turn.reason.is_some_and(TurnReason::resumes);
                if !turn.is_live() && owed {
                    let again = lookup::node(&self.docs, node).unwrap().redeliver_turn_id;
                    assert_eq!(again, Some(turn.id), "what was not answered comes again");
                }
            }
            (ItemState::Failed, Some(turn)) => {
                assert_eq!(turn.status, Some(TurnStatus::Failed), "what failed is set aside");
            }
            (state, turn) => panic!("{state} with {turn:?}"),
        }
    }

    fn turns(&self) -> Vec<&NodeTurn> {
        let started = self.log.iter().filter_map(|recorded| match &recorded.event.fact {
            RunFact::TurnMoved(moved) if matches!(moved.step, TurnStep::Started(_)) => {
                recorded.event.turn_id
            }
            _ => None,
        });
        let turn = |id| match self.docs.get(&RunKey::Turn(id)).unwrap() {
            Some(RunDocument::Turn(turn)) => Some(&**turn),
            _ => None,
        };
        started.filter_map(turn).collect()
    }
}

#[derive(Default)]
struct TurnLaw {
    ended: bool,
    finals: u32,
}

/// No output of a turn before it began or after it ended (RUNS-ORD-5, RUNS-TURN-2).
fn check_turn(turns: &mut BTreeMap<TurnId, TurnLaw>, recorded: &Recorded<RunEvent>) {
    let Some(id) = recorded.event.turn_id else { return };
    let law = match &recorded.event.fact {
        RunFact::TurnMoved(moved) if matches!(moved.step, TurnStep::Started(_)) => {
            assert!(turns.insert(id, TurnLaw::default()).is_none());
            return;
        }
        _ => turns.get_mut(&id).unwrap(),
    };
    match &recorded.event.fact {
        RunFact::TurnMoved(moved) => {
            assert!(!law.ended, "{recorded:?}");
            law.ended = matches!(
                moved.step,
                TurnStep::Completed(_) | TurnStep::Interrupted(_) | TurnStep::Failed(_)
            );
        }
        RunFact::TextFinished(_) => {
            assert!(!law.ended);
            law.finals += 1;
        }
        RunFact::TextStreamed(_)
        | RunFact::ThoughtStreamed(_)
        | RunFact::ToolProposed(_)
        | RunFact::ApprovalRequested(_)
        | RunFact::HandoffSent(_)
        | RunFact::UsageReported(_) => assert!(!law.ended, "{recorded:?}"),
        _ => {}
    }
}

#[derive(Default)]
struct ToolLaw {
    started: u32,
    completed: u32,
    asked: u32,
    answered: u32,
}

#[derive(Default)]
struct ToolLaws {
    tools: BTreeMap<ToolId, ToolLaw>,
    questions: BTreeMap<ApprovalId, ToolId>,
}

impl ToolLaws {
    /// proposed, then asked and resolved, then started, then completed; each once (RUNS-ORD-2).
    fn check(&mut self, event: &RunEvent) {
        match &event.fact {
            RunFact::ToolProposed(call) => {
                assert!(self.tools.insert(call.tool.id, ToolLaw::default()).is_none());
            }
            RunFact::ApprovalRequested(asked) => {
                self.questions.insert(asked.approval_id, asked.tool.id);
                let law = self.tools.get_mut(&asked.tool.id).unwrap();
                law.asked += 1;
                assert_eq!((law.asked, law.started, law.completed), (1, 0, 0));
            }
            RunFact::ApprovalResolved(answered) => {
                let tool = self.questions[&answered.approval_id];
                self.tools.get_mut(&tool).unwrap().answered += 1;
            }
            RunFact::ToolStarted(call) => {
                let law = self.tools.get_mut(&call.tool.id).unwrap();
                law.started += 1;
                assert_eq!((law.started, law.completed), (1, 0));
                assert_eq!(law.asked, law.answered, "nothing runs before its answer");
            }
            RunFact::ToolCompleted(completed) => {
                let law = self.tools.get_mut(&completed.tool_id).unwrap();
                law.completed += 1;
                assert_eq!(law.completed, 1);
            }
            _ => {}
        }
    }

    /// Every call has its outcome, unless a person may still approve it.
    fn check_end(&self, pending: &BTreeSet<ToolId>, busy: &BTreeSet<ToolId>) {
        for (id, law) in &self.tools {
            let open = pending.contains(id) || busy.contains(id);
            assert!(law.completed == 1 || open, "a call without outcome");
        }
    }
}
