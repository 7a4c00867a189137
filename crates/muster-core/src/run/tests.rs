//! Rules of the run room, one test each, and a model of the whole room.

mod agents;
mod approvals;
mod consumer;
mod laws;
mod life;
mod model;
mod nodes;
mod prompts;
mod safety;
mod search;
mod turns;
mod views;

use super::{
    Ask, RunAggregate, RunCommand, RunDocument, RunEvent, RunFact, RunKey, RunRejection,
    artifact::{ArtifactKind, DiffMetadata, DiffMethod, WrittenFile},
    command::{
        BeginTurn, BootReport, CheckInput, CloseTurn, CreateRun, EditNode, GraphNodeInput,
        PlannedPrompt, PutEdge, RetryHint, RunFields, SetStatus, StatusWish, VerifyReport,
    },
    edge::Actor,
    id::{ArtifactId, EdgeId, IdSeed, NodeId, RunId, TurnId},
    lookup,
    moment::Moment,
    node::{Node, PermissionsMode, Provider},
    provider::{ProviderEvent, ProviderOutcome, ProviderTool},
    record::{Phase, Run, RunStatus},
    schedule::{self, Agenda},
    turn::{NodeTurn, PromptKind, PromptParts, TurnReason},
    view::history::{LoggedEvent, served},
};
use crate::{
    Aggregate, Documents, Draft, Env, LogPosition, Recorded, Replay, Timestamp, WorkRefusal,
};

/// 2026-01-01T00:00:00Z.
const START_MS: i64 = 1_767_225_600_000;
/// The run of every test.
const RUN: RunId = RunId(0x0197_a3f0_6a1c_7cc3_98c8_1f2b_6c0d_4e5f);

/// A run in memory that keeps its log. Its clock only moves when it is set.
struct Room {
    docs: Documents<RunAggregate>,
    log: Vec<Recorded<RunEvent>>,
    now: i64,
    seeds: u128,
}

impl Room {
    fn empty() -> Self {
        Self { docs: Documents::complete(), log: Vec::new(), now: START_MS, seeds: 0 }
    }

    /// A run that was only created.
    fn queued(fields: RunFields) -> Self {
        let mut room = Self::empty();
        room.user(create(fields));
        room
    }

    /// A run in EXECUTE.
    fn running() -> Self {
        Self::running_with(RunFields::default())
    }

    fn running_with(fields: RunFields) -> Self {
        let mut room = Self::queued(fields);
        room.boot(true);
        room
    }

    fn fresh(&mut self) -> u128 {
        self.seeds += 1;
        (0x0197 << 112) | (0x7 << 76) | (0b10 << 62) | (self.seeds << 8)
    }

    /// Runs one command as one call.
    fn call(&mut self, by: Actor, ask: Ask) -> Result<Vec<RunEvent>, Box<RunRejection>> {
        let count = self.log.len() as u64;
        let env = Env::at(Timestamp(self.now));
        let head = LogPosition { global: count, seq: count };
        let command = RunCommand { by, seed: IdSeed(self.fresh()), ask };
        let mut draft = Draft::new(&mut self.docs, head, env);
        match draft.apply(&command) {
            Ok(_) => {}
            Err(WorkRefusal::Rejected(rejection)) => {
                self.docs.reset();
                return Err(rejection);
            }
            Err(WorkRefusal::Unloaded(need)) => panic!("complete documents lack {need:?}"),
        }
        let recorded = draft.into_events();
        self.docs.settle();
        let events = recorded.iter().map(|recorded| recorded.event.clone()).collect();
        self.log.extend(recorded);
        Ok(events)
    }

    fn accept(&mut self, by: Actor, ask: Ask) -> Vec<RunEvent> {
        let asked = format!("{ask:?}");
        self.call(by, ask).unwrap_or_else(|rejection| panic!("{asked} was refused: {rejection:?}"))
    }

    fn user(&mut self, ask: Ask) -> Vec<RunEvent> {
        self.accept(Actor::USER, ask)
    }

    fn runtime(&mut self, ask: Ask) -> Vec<RunEvent> {
        self.accept(Actor::RUNTIME, ask)
    }

    fn refuse(&mut self, ask: Ask) -> RunRejection {
        let asked = format!("{ask:?}");
        match self.call(Actor::USER, ask) {
            Err(rejection) => *rejection,
            Ok(events) => panic!("{asked} was accepted: {events:?}"),
        }
    }

    fn boot(&mut self, ok: bool) -> Vec<RunEvent> {
        let report = self.file(ArtifactKind::Report, "boot.report.json");
        self.runtime(Ask::ReportBoot(Box::new(BootReport { ok, report })))
    }

    fn file(&mut self, kind: ArtifactKind, name: &str) -> WrittenFile {
        WrittenFile {
            id: ArtifactId(self.fresh()),
            kind,
            name: name.to_owned(),
            path: format!("/files/{name}"),
            size: 10,
            sha256: "00".to_owned(),
            content_type: "text/plain".to_owned(),
            truncated: false,
            diff: None,
        }
    }

    fn add_node(&mut self, role: &str) -> NodeId {
        self.user(Ask::CreateNode(Box::new(input(role))));
        lookup::nodes(&self.docs).unwrap().last().unwrap().id
    }

    fn wish(&mut self, to: StatusWish) -> Vec<RunEvent> {
        self.user(Ask::SetStatus(SetStatus::to(to)))
    }

    fn say(&mut self, node: NodeId, content: &str) -> Vec<RunEvent> {
        self.user(message(Some(node), content, false))
    }

    fn verify(&mut self, ok: bool) -> Vec<RunEvent> {
        let report = self.file(ArtifactKind::Report, "verify.report.json");
        let failed = if ok { Vec::new() } else { vec!["tests".to_owned()] };
        let failure_hash = (!ok).then(|| "same".to_owned());
        let report = VerifyReport { ok, failed, failure_hash, report, logs: Vec::new() };
        self.runtime(Ask::ReportVerification(Box::new(report)))
    }

    fn agenda(&self) -> Agenda {
        schedule::agenda(&self.docs, Moment(Timestamp(self.now))).unwrap()
    }

    /// Nodes that may start, in order.
    fn ready(&self) -> Vec<NodeId> {
        self.agenda().starts.iter().map(|start| start.node).collect()
    }

    /// The next turn of a node.
    fn planned(&mut self, node: NodeId) -> BeginTurn {
        let agenda = self.agenda();
        let start = agenda.starts.iter().find(|start| start.node == node);
        let start = *start.unwrap_or_else(|| panic!("not ready: {:#?}", self.node(node)));
        let inputs = schedule::inputs(&self.docs, self.node(node)).unwrap();
        let inputs = inputs.iter().filter(|input| !input.redelivered).map(|input| input.id);
        BeginTurn {
            node,
            trigger: start.trigger,
            inputs: inputs.collect(),
            turn: TurnId(self.fresh()),
            prompt: PlannedPrompt {
                kind: PromptKind::Full,
                hash: "hash".to_owned(),
                sent_hash: "hash".to_owned(),
                parts: PromptParts::default(),
                full: self.file(ArtifactKind::Prompt, "prompt.full.txt"),
                blocks: self.file(ArtifactKind::Prompt, "prompt.blocks.json"),
            },
            tree: Some("before".to_owned()),
        }
    }

    fn begin(&mut self, node: NodeId) -> TurnId {
        let begin = self.planned(node);
        let turn = begin.turn;
        self.runtime(Ask::BeginTurn(Box::new(begin)));
        turn
    }

    /// A turn whose prompt was sent.
    fn prompt(&mut self, node: NodeId) -> TurnId {
        let turn = self.begin(node);
        self.runtime(Ask::ReportSent { turn });
        turn
    }

    fn report(&mut self, turn: TurnId, event: ProviderEvent) -> Vec<RunEvent> {
        self.runtime(Ask::Report { turn, event })
    }

    fn stream(&mut self, turn: TurnId, text: &str) -> Vec<RunEvent> {
        self.report(turn, ProviderEvent::Delta { text: text.to_owned() })
    }

    /// The result of a turn, with the files that it changed.
    fn closing(&mut self, turn: TurnId, text: &str, changed: &[&str]) -> CloseTurn {
        let mut diff = self.file(ArtifactKind::Diff, "diff.patch");
        diff.diff = Some(difference(changed));
        CloseTurn {
            turn,
            text: text.to_owned(),
            diff: Some(diff),
            transcript: Some(self.file(ArtifactKind::Transcript, "transcript.md")),
            log: None,
            reports: Vec::new(),
            pack: None,
            retry: RetryHint::default(),
            process_gone: false,
        }
    }

    fn close(&mut self, turn: TurnId, text: &str, changed: &[&str]) -> Vec<RunEvent> {
        let close = self.closing(turn, text, changed);
        self.runtime(Ask::CloseTurn(Box::new(close)))
    }

    /// The provider reports success.
    fn complete(&mut self, turn: TurnId, text: &str, changed: &[&str]) -> Vec<RunEvent> {
        let mut events = self.report(turn, ProviderEvent::TurnEnded(ProviderOutcome::Completed));
        events.extend(self.close(turn, text, changed));
        events
    }

    /// The provider reports a failure.
    fn fail(&mut self, turn: TurnId, reason: TurnReason) -> Vec<RunEvent> {
        let outcome = ProviderOutcome::Failed { reason, detail: Some("why".to_owned()) };
        let mut events = self.report(turn, ProviderEvent::TurnEnded(outcome));
        events.extend(self.close(turn, "", &[]));
        events
    }

    /// A whole turn.
    fn answer(&mut self, node: NodeId, text: &str, changed: &[&str]) -> Vec<RunEvent> {
        let turn = self.prompt(node);
        self.complete(turn, text, changed)
    }

    fn connect(&mut self, from: NodeId, to: NodeId) -> EdgeId {
        self.user(Ask::PutEdge(PutEdge::between(from, to)));
        lookup::edges(&self.docs).unwrap().last().unwrap().id
    }

    fn edit(&mut self, node: NodeId, input: GraphNodeInput) -> Vec<RunEvent> {
        let edit = EditNode { node, input, status: None, summary: None };
        self.user(Ask::EditNode(Box::new(edit)))
    }

    fn turn(&self, id: TurnId) -> &NodeTurn {
        lookup::turn(&self.docs, id).unwrap()
    }

    fn run(&self) -> &Run {
        lookup::run(&self.docs).unwrap()
    }

    fn node(&self, id: NodeId) -> &Node {
        lookup::node(&self.docs, id).unwrap()
    }

    fn state(&self) -> (RunStatus, Phase) {
        (self.run().status, self.run().phase)
    }

    /// Reading the log back gives the same events and the same documents, byte for byte.
    fn check_replay(&self) {
        let mut replay = Replay::<RunAggregate>::default();
        for (at, recorded) in self.log.iter().enumerate() {
            assert_eq!(recorded.seq, at as u64 + 1, "seq has no gaps");
            let written = serde_json::to_string(&recorded.event).unwrap();
            let event: RunEvent = serde_json::from_str(&written).unwrap();
            assert_eq!(recorded.event, event, "{written}");
            replay.apply(&Recorded { event, ..recorded.clone() });
        }
        for (key, document) in replay.documents() {
            assert_eq!(self.docs.get(key).unwrap(), Some(document));
            let written = RunAggregate::encode(document).unwrap();
            assert_eq!(&RunAggregate::decode(key, &written).unwrap(), document, "{written}");
            assert_eq!(RunAggregate::key(&RunAggregate::address(key)).as_ref(), Some(key));
        }
    }
}

fn create(fields: RunFields) -> Ask {
    Ask::CreateRun(Box::new(CreateRun {
        id: RUN,
        cwd: "/project".to_owned(),
        fields,
        mode: None,
        global_mode: None,
        auto_start: true,
        nodes: Vec::new(),
        permissions_mode: PermissionsMode::Skip,
    }))
}

fn input(role: &str) -> GraphNodeInput {
    GraphNodeInput {
        label: Some(role.to_owned()),
        role_template: Some(role.to_owned()),
        provider: Some(Provider::Custom),
        ..GraphNodeInput::default()
    }
}

fn message(node: Option<NodeId>, content: &str, interrupt: bool) -> Ask {
    Ask::SendMessage { node, content: content.to_owned(), interrupt, id: None }
}

fn with_checks() -> RunFields {
    let check = CheckInput {
        id: None,
        name: "tests".to_owned(),
        command: "true".to_owned(),
        cwd: None,
        timeout_seconds: None,
        required: None,
    };
    RunFields { checks: Some(vec![check]), ..RunFields::default() }
}

/// Metadata of a diff that changes these files; each list of files has its own hash.
fn difference(changed: &[&str]) -> DiffMetadata {
    DiffMetadata {
        files_changed: changed.iter().map(|path| (*path).to_owned()).collect(),
        summary: format!("{} files", changed.len()),
        insertions: 0,
        deletions: 0,
        method: DiffMethod::GitShadow,
        base: Some("before".to_owned()),
        tree: Some("after".to_owned()),
        diff_hash: (!changed.is_empty()).then(|| changed.join(",")),
        shared: false,
        overlap_turns: Vec::new(),
        skipped: Vec::new(),
        violations: Vec::new(),
    }
}

fn tool(id: &str) -> ProviderTool {
    let args = [("cmd".to_owned(), "make".into())].into_iter().collect();
    ProviderTool { id: id.to_owned(), name: "command".to_owned(), args }
}

/// The event as it is sent.
fn wire(recorded: &Recorded<RunEvent>) -> serde_json::Value {
    let kind = recorded.event.fact.name();
    let body = serde_json::to_string(&recorded.event).unwrap();
    let line = LoggedEvent { seq: recorded.seq, at: recorded.at, kind, body: &body };
    serde_json::from_str(&served(RUN, line)).unwrap()
}

fn kinds(events: &[RunEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.fact.name()).collect()
}
