//! Random sequences of actions of people, agents, providers and restarts. After each step the state
//! is legal and a client that replays the log has what is served; in the end the log obeys its
//! laws.
#![expect(clippy::wildcard_enum_match_arm, reason = "moves are made in several functions")]

use proptest::prelude::*;
use serde_json::json;

use super::{approvals::call, *};
use crate::run::{
    approval::Verdict,
    command::{CallFiles, Recover, Resolve},
    event::{ResetMethod, ToolResult},
    record::{GlobalMode, Mode},
    turn::TurnState,
};

/// Possible actions, with small numbers so that sequences collide.
#[derive(Clone, Debug)]
enum Move {
    AddNode(usize),
    DeleteNode(usize),
    Connect(usize, usize),
    Chat(usize, bool),
    CancelFirst(usize),
    Begin(usize),
    Sent(usize),
    Delta(usize),
    Tool(usize, u8),
    Question(usize, u8),
    ToolDone(usize, u8),
    Resolve(usize, Verdict),
    Hold(usize),
    Agent(usize, usize, u8),
    Ended(usize, u8),
    Close(usize, u8, u8),
    Late(usize),
    Steer(usize, u8),
    Wish(StatusWish, bool),
    Verify(bool),
    Modes(u8),
    Restart,
    Wait(u32),
}

fn moves() -> impl Strategy<Value = Move> {
    let node = 0..4_usize;
    let verdicts = prop::sample::select(Verdict::ALL.to_vec());
    let wishes = prop::sample::select(StatusWish::ALL.to_vec());
    prop_oneof![
        3 => (0..4_usize).prop_map(Move::AddNode),
        1 => node.clone().prop_map(Move::DeleteNode),
        3 => (node.clone(), node.clone()).prop_map(|(a, b)| Move::Connect(a, b)),
        8 => (node.clone(), prop::bool::weighted(0.2)).prop_map(|(n, i)| Move::Chat(n, i)),
        1 => node.clone().prop_map(Move::CancelFirst),
        14 => node.clone().prop_map(Move::Begin),
        14 => node.clone().prop_map(Move::Sent),
        4 => node.clone().prop_map(Move::Delta),
        4 => (node.clone(), 0..3_u8).prop_map(|(n, t)| Move::Tool(n, t)),
        6 => (node.clone(), 0..3_u8).prop_map(|(n, t)| Move::Question(n, t)),
        4 => (node.clone(), 0..3_u8).prop_map(|(n, t)| Move::ToolDone(n, t)),
        6 => (0..3_usize, verdicts).prop_map(|(a, v)| Move::Resolve(a, v)),
        2 => (0..3_usize).prop_map(Move::Hold),
        8 => (node.clone(), node.clone(), 0..9_u8).prop_map(|(n, o, k)| Move::Agent(n, o, k)),
        14 => (node.clone(), 0..6_u8).prop_map(|(n, r)| Move::Ended(n, r)),
        16 => (node.clone(), 0..3_u8, 0..3_u8).prop_map(|(n, t, f)| Move::Close(n, t, f)),
        2 => node.clone().prop_map(Move::Late),
        4 => (node, 0..7_u8).prop_map(|(n, s)| Move::Steer(n, s)),
        4 => (wishes, any::<bool>()).prop_map(|(w, i)| Move::Wish(w, i)),
        3 => any::<bool>().prop_map(Move::Verify),
        1 => (0..4_u8).prop_map(Move::Modes),
        1 => Just(Move::Restart),
        4 => (0..600_000_u32).prop_map(Move::Wait),
    ]
}

const ROLES: [&str; 4] = ["orchestrator", "implementer", "reviewer", "planner"];
const REASONS: [TurnReason; 4] = [
    TurnReason::Exited,
    TurnReason::AuthRequired,
    TurnReason::ContextOverflow,
    TurnReason::RateLimited,
];
const TEXTS: [&str; 3] = ["same", "other", ""];
const FILES: [&[&str]; 3] = [&[], &["src/a.rs"], &["docs/a.md"]];

impl Room {
    fn at(&self, at: usize) -> Option<NodeId> {
        let nodes = lookup::nodes(&self.docs).unwrap();
        nodes.get(at).map(|node| node.id)
    }

    fn turn_at(&self, at: usize) -> Option<TurnId> {
        self.at(at).and_then(|node| self.node(node).live_turn())
    }

    /// Tries a command; a rejected one changes nothing.
    fn attempt(&mut self, by: Actor, ask: Ask) {
        let before = self.log.len();
        if self.call(by, ask).is_err() {
            assert_eq!(self.log.len(), before);
        }
    }

    fn make(&mut self, what: &Move) -> Option<()> {
        match what {
            Move::AddNode(role) if self.at(3).is_none() => {
                let permissions = crate::run::command::PermissionPatch {
                    cli_permissions_mode: Some(PermissionsMode::Gated),
                    ..Default::default()
                };
                let node = GraphNodeInput { permissions, ..input(ROLES[*role]) };
                self.attempt(Actor::USER, Ask::CreateNode(Box::new(node)));
            }
            Move::AddNode(_) => {}
            Move::DeleteNode(at) => {
                let node = self.at(*at)?;
                self.attempt(Actor::USER, Ask::DeleteNode { node });
            }
            Move::Connect(from, to) => {
                let edge = PutEdge::between(self.at(*from)?, self.at(*to)?);
                self.attempt(Actor::USER, Ask::PutEdge(edge));
            }
            Move::Chat(at, interrupt) => {
                let node = self.at(*at)?;
                self.attempt(Actor::USER, message(Some(node), "do something", *interrupt));
            }
            Move::CancelFirst(at) => {
                let node = self.at(*at)?;
                let item = lookup::queued(&self.docs, node, Some(1)).unwrap().first()?.id;
                self.attempt(Actor::USER, Ask::CancelItem { node, item });
            }
            Move::Begin(at) => {
                let node = self.at(*at)?;
                self.ready().contains(&node).then(|| self.begin(node))?;
            }
            Move::Sent(at) => {
                let turn = self.turn_at(*at)?;
                self.attempt(Actor::RUNTIME, Ask::ReportSent { turn });
            }
            Move::Wish(to, interrupt) => {
                let wish = SetStatus { interrupt: *interrupt, ..SetStatus::to(*to) };
                self.attempt(Actor::USER, Ask::SetStatus(wish));
            }
            Move::Verify(ok) => {
                if self.run().verifying {
                    self.verify(*ok);
                } else if self.state() == (RunStatus::Queued, Phase::Boot) {
                    self.boot(*ok);
                }
            }
            Move::Modes(modes) => {
                let mode = if modes & 1 == 0 { Mode::Auto } else { Mode::Interactive };
                let writes = modes & 2 == 0;
                let global = if writes { GlobalMode::Implementation } else { GlobalMode::Planning };
                let ask = Ask::SetModes { mode: Some(mode), global_mode: Some(global) };
                self.attempt(Actor::USER, ask);
            }
            Move::Restart => self.restart(),
            Move::Wait(ms) => self.now += i64::from(*ms),
            Move::Delta(_)
            | Move::Tool(..)
            | Move::Question(..)
            | Move::ToolDone(..)
            | Move::Resolve(..)
            | Move::Hold(_)
            | Move::Agent(..)
            | Move::Ended(..)
            | Move::Close(..)
            | Move::Late(_)
            | Move::Steer(..) => return self.make_in_turn(what),
        }
        Some(())
    }

    fn make_in_turn(&mut self, what: &Move) -> Option<()> {
        let report = |turn, event| Ask::Report { turn, event };
        let named = |id: &u8| tool(&format!("tool-{id}"));
        let (by, ask) = match what {
            Move::Delta(at) => {
                let event = ProviderEvent::Delta { text: "text ".to_owned() };
                (Actor::RUNTIME, report(self.turn_at(*at)?, event))
            }
            Move::Tool(at, id) => {
                let event = ProviderEvent::ToolProposed(named(id));
                (Actor::RUNTIME, report(self.turn_at(*at)?, event))
            }
            Move::Question(at, id) => {
                let event = ProviderEvent::ApprovalRequested {
                    id: format!("question-{id}"),
                    tool: named(id),
                    context: None,
                    can_modify: *id > 0,
                };
                (Actor::RUNTIME, report(self.turn_at(*at)?, event))
            }
            Move::ToolDone(at, id) => {
                let result = ToolResult { ok: *id != 1, ..ToolResult::default() };
                let id = format!("tool-{id}");
                let event = ProviderEvent::ToolCompleted { id, result, error: None };
                (Actor::RUNTIME, report(self.turn_at(*at)?, event))
            }
            Move::Resolve(at, verdict) => {
                let approval = self.pending().get(*at)?.clone();
                let modified = *verdict == Verdict::Modified;
                let resolve = Resolve {
                    approval: approval.approval_id,
                    verdict: *verdict,
                    modified_args: modified.then(|| approval.tool.args.clone()),
                    reason: None,
                    rule: None,
                    files: CallFiles::default(),
                };
                (Actor::USER, Ask::Resolve(Box::new(resolve)))
            }
            Move::Hold(at) => {
                let approval = self.pending().get(*at)?.approval_id;
                (Actor::RUNTIME, Ask::HoldExpired { approval })
            }
            Move::Agent(at, other, kind) => self.agent_call(*at, *other, *kind)?,
            Move::Ended(at, kind) => {
                let turn = self.turn_at(*at)?;
                let outcome = match REASONS.get(usize::from(*kind)) {
                    Some(reason) => ProviderOutcome::Failed { reason: *reason, detail: None },
                    None => ProviderOutcome::Completed,
                };
                (Actor::RUNTIME, report(turn, ProviderEvent::TurnEnded(outcome)))
            }
            Move::Close(at, text, files) => {
                let turn = self.turn_at(*at)?;
                let text = TEXTS[usize::from(*text)];
                let files = FILES[usize::from(*files)];
                (Actor::RUNTIME, Ask::CloseTurn(Box::new(self.closing(turn, text, files))))
            }
            Move::Late(at) => {
                let turn = self.node(self.at(*at)?).last_turn.as_ref()?.turn_id;
                let event = ProviderEvent::Delta { text: "late".to_owned() };
                (Actor::RUNTIME, report(turn, event))
            }
            Move::Steer(at, kind) => (Actor::USER, self.steering(*at, *kind)?),
            _ => unreachable!("the others are made elsewhere"),
        };
        self.attempt(by, ask);
        Some(())
    }

    fn steering(&self, at: usize, kind: u8) -> Option<Ask> {
        let node = self.at(at)?;
        Some(match kind {
            0 => Ask::InterruptNode { node },
            1 => Ask::StopNode { node },
            2 | 3 => Ask::StartNode { node },
            4 => Ask::ResetNode { node, reason: None },
            _ => Ask::ReportReset { node, method: ResetMethod::NewSession },
        })
    }

    fn agent_call(&self, at: usize, other: usize, kind: u8) -> Option<(Actor, Ask)> {
        let node = self.at(at)?;
        let other = self.at(other)?;
        let turn = self.turn_at(at)?;
        let (name, args) = match kind {
            0..=2 => ("send_handoff", json!({"to": other.to_string(), "message": "please"})),
            3 => ("spawn_node", json!({"label": "x", "role": "reviewer", "instructions": "y"})),
            4 => ("wait_for", json!({"nodes": [other.to_string()]})),
            5 => ("ask_user", json!({"question": "which?"})),
            6 => ("complete_run", json!({"summary": "done"})),
            7 => ("command", json!({"cmd": "ls"})),
            _ => ("request_reset", json!({"reason": "full"})),
        };
        Some((Actor::agent(node), call(turn, name, args)))
    }

    /// The server is killed and started again.
    fn restart(&mut self) {
        let live: Vec<TurnId> =
            lookup::live_turns(&self.docs).unwrap().iter().map(|turn| turn.id).collect();
        let turns = live
            .into_iter()
            .map(|turn| CloseTurn { process_gone: true, ..self.closing(turn, "half", &[]) })
            .collect();
        let recover = Recover { shutdown: false, turns };
        self.runtime(Ask::Recover(Box::new(recover)));
        assert_eq!(lookup::live_turns(&self.docs).unwrap(), Vec::<&NodeTurn>::new());
    }

    /// Ends what is in flight, so that every law about ends can be checked.
    fn finish_all(&mut self) {
        let live: Vec<(TurnId, TurnState)> = lookup::live_turns(&self.docs)
            .unwrap()
            .iter()
            .map(|turn| (turn.id, turn.state))
            .collect();
        for (turn, state) in live {
            if state != TurnState::Finishing {
                let reason = TurnReason::RunPaused;
                self.runtime(Ask::EndTurn { turn, reason, detail: None });
            }
            self.close(turn, "half", &[]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_keeps_every_law(sequence in prop::collection::vec(moves(), 1..120)) {
        let mut room = Room::running_with(with_checks());
        room.make(&Move::AddNode(0));
        room.make(&Move::AddNode(1));
        for what in &sequence {
            room.make(what);
        }
        room.check_state();
        room.check_log();
        room.finish_all();
        room.check_state();
        room.check_log();
    }
}

/// Cases per run: enough to reach every rule; `PROPTEST_CASES` raises it.
fn cases() -> u32 {
    ProptestConfig::default().cases.max(400)
}
