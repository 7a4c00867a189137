//! Rules of the run room, one test each, and a model of the whole room.

mod life;

use super::{
    Ask, Command, Document, Event, Fact, Key, Rejection, Runs,
    artifact::{ArtifactKind, WrittenFile},
    command::{
        BootReport, CheckInput, CreateRun, NodeInput, RunFields, SetStatus, StatusWish,
        VerifyReport,
    },
    edge::Actor,
    id::{ArtifactId, NodeId, RunId, Seed},
    lookup,
    node::{Node, PermissionsMode, Provider},
    record::{Phase, Run, RunStatus},
};
use crate::{Aggregate, Documents, Draft, Env, Head, Recorded, Refusal, Replay, Timestamp};

/// 2026-01-01T00:00:00Z.
const START_MS: i64 = 1_767_225_600_000;
/// The run of every test.
const RUN: RunId = RunId(0x0197_a3f0_6a1c_7cc3_98c8_1f2b_6c0d_4e5f);

/// A run in memory that keeps its log. Its clock moves only when told to.
struct Room {
    docs: Documents<Runs>,
    log: Vec<Recorded<Event>>,
    now: i64,
    seeds: u128,
}

impl Room {
    fn empty() -> Self {
        Self { docs: Documents::complete(), log: Vec::new(), now: START_MS, seeds: 0 }
    }

    /// A run that was created and nothing else.
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
    fn call(&mut self, by: Actor, ask: Ask) -> Result<Vec<Event>, Box<Rejection>> {
        let count = self.log.len() as u64;
        let env = Env { now: Timestamp(self.now) };
        let head = Head { global: count, seq: count };
        let command = Command { by, seed: Seed(self.fresh()), ask };
        let mut draft = Draft::new(&mut self.docs, head, env);
        match draft.apply(&command) {
            Ok(_) => {}
            Err(Refusal::Rejected(rejection)) => {
                self.docs.reset();
                return Err(rejection);
            }
            Err(Refusal::Unloaded(need)) => panic!("complete documents lack {need:?}"),
        }
        let recorded = draft.into_events();
        self.docs.settle();
        let events = recorded.iter().map(|recorded| recorded.event.clone()).collect();
        self.log.extend(recorded);
        Ok(events)
    }

    fn accept(&mut self, by: Actor, ask: Ask) -> Vec<Event> {
        let asked = format!("{ask:?}");
        self.call(by, ask).unwrap_or_else(|rejection| panic!("{asked} was refused: {rejection:?}"))
    }

    fn user(&mut self, ask: Ask) -> Vec<Event> {
        self.accept(Actor::USER, ask)
    }

    fn runtime(&mut self, ask: Ask) -> Vec<Event> {
        self.accept(Actor::RUNTIME, ask)
    }

    fn refuse(&mut self, ask: Ask) -> Rejection {
        let asked = format!("{ask:?}");
        match self.call(Actor::USER, ask) {
            Err(rejection) => *rejection,
            Ok(events) => panic!("{asked} was accepted: {events:?}"),
        }
    }

    fn boot(&mut self, ok: bool) -> Vec<Event> {
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

    fn wish(&mut self, to: StatusWish) -> Vec<Event> {
        self.user(Ask::SetStatus(SetStatus::to(to)))
    }

    fn say(&mut self, node: NodeId, content: &str) -> Vec<Event> {
        self.user(message(Some(node), content, false))
    }

    fn verify(&mut self, ok: bool) -> Vec<Event> {
        let report = self.file(ArtifactKind::Report, "verify.report.json");
        let failed = if ok { Vec::new() } else { vec!["tests".to_owned()] };
        let failure_hash = (!ok).then(|| "same".to_owned());
        let report = VerifyReport { ok, failed, failure_hash, report, logs: Vec::new() };
        self.runtime(Ask::ReportVerification(Box::new(report)))
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

    /// Reading the log back gives the same events and the same documents, texts included.
    fn check_replay(&self) {
        let mut replay = Replay::<Runs>::default();
        for (at, recorded) in self.log.iter().enumerate() {
            assert_eq!(recorded.seq, at as u64 + 1, "seq has no gaps");
            let written = serde_json::to_string(&recorded.event).unwrap();
            let event: Event = serde_json::from_str(&written).unwrap();
            assert_eq!(recorded.event, event, "{written}");
            replay.apply(&Recorded { event, ..recorded.clone() });
        }
        for (key, document) in replay.documents() {
            assert_eq!(self.docs.get(key).unwrap(), Some(document));
            let written = Runs::encode(document).unwrap();
            assert_eq!(&Runs::decode(key, &written).unwrap(), document, "{written}");
            assert_eq!(Runs::key(&Runs::address(key)).as_ref(), Some(key));
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

fn input(role: &str) -> NodeInput {
    NodeInput {
        label: Some(role.to_owned()),
        role_template: Some(role.to_owned()),
        provider: Some(Provider::Custom),
        ..NodeInput::default()
    }
}

fn message(node: Option<NodeId>, content: &str, interrupt: bool) -> Ask {
    Ask::SendMessage { node, content: content.to_owned(), interrupt }
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

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.fact.name()).collect()
}
