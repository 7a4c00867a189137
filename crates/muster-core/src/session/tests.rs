//! Rules of the session room, one test each, and random histories against invariants.

mod controls;
mod hosts;
mod model;
mod records;
mod text;
mod todos;
mod turns;
mod watched;

use serde_json::{Map, Value};

use super::{
    SessionAggregate, SessionCommand, SessionCommandResult, SessionDocument, SessionEvent,
    SessionId, SessionKey, SessionRejection,
    command::{
        Create, Record, RecordOrigin, SessionControl, SessionInput, SessionOrder, WriteTodos,
    },
    encode,
    entity::{Session, SessionDriver},
    lookup, perform,
};
use crate::{
    Aggregate as _, Documents, Draft, Env, LogPosition, Recorded, Replay, Timestamp, WorkRefusal,
    answers::CallKey, todo::WrittenList,
};

/// A session in memory that keeps its log.
struct Room {
    docs: Documents<SessionAggregate>,
    log: Vec<Recorded<SessionEvent>>,
    /// Elapsed milliseconds besides one for each event.
    waited_ms: i64,
}

impl Room {
    /// Nothing yet.
    fn empty() -> Self {
        Self { docs: Documents::complete(), log: Vec::new(), waited_ms: 0 }
    }

    /// A session that waits for input.
    fn open() -> Self {
        let mut room = Self::empty();
        room.accept(SessionCommand::Create(Box::default()));
        room
    }

    fn call(
        &mut self,
        command: &SessionCommand,
    ) -> Result<SessionCommandResult, Box<SessionRejection>> {
        let count = self.log.len() as u64;
        let now = 1_000 + self.waited_ms + i64::try_from(count).unwrap();
        let env = Env::at(Timestamp(now));
        let mut draft = Draft::new(&mut self.docs, LogPosition { global: count, seq: count }, env);
        let done = match perform(&mut draft, command) {
            Ok(done) => done,
            Err(WorkRefusal::Rejected(rejection)) => {
                self.docs.reset();
                return Err(rejection);
            }
            Err(WorkRefusal::Unloaded(need)) => panic!("complete documents lack {need:?}"),
        };
        let recorded = draft.into_events();
        self.docs.settle();
        self.log.extend(recorded);
        Ok(done)
    }

    fn accept(&mut self, command: SessionCommand) -> SessionCommandResult {
        let commands = [command];
        let done = self.call(&commands[0]);
        done.unwrap_or_else(|error| panic!("{commands:?} was refused: {error:?}"))
    }

    fn refuse(&mut self, command: SessionCommand) -> SessionRejection {
        let before = self.log.len();
        let commands = [command];
        let refused = match self.call(&commands[0]) {
            Err(rejection) => *rejection,
            Ok(done) => panic!("{commands:?} was accepted: {done:?}"),
        };
        assert_eq!(self.log.len(), before);
        refused
    }

    fn session(&self) -> &Session {
        lookup::session(&self.docs).unwrap()
    }

    /// Types of the events after a number, C-Tree events abbreviated.
    fn types(&self, after: u64) -> Vec<&str> {
        let newer = self.log.iter().filter(|recorded| recorded.seq > after);
        newer.map(|recorded| recorded.event.kind.as_str()).collect()
    }

    /// Events of a type, oldest first.
    fn of_type(&self, kind: &str) -> Vec<&SessionEvent> {
        let events = self.log.iter().map(|recorded| &recorded.event);
        events.filter(|event| event.kind == kind).collect()
    }

    fn last_seq(&self) -> u64 {
        self.log.last().unwrap().seq
    }

    /// The documents that a replay of the log leaves, as text.
    fn replayed(&self) -> Vec<(SessionKey, String)> {
        let mut replay = Replay::<SessionAggregate>::default();
        for recorded in &self.log {
            let text = serde_json::to_string(&recorded.event).unwrap();
            let event = serde_json::from_str(&text).unwrap();
            replay.apply(&Recorded { event, ..recorded.clone() });
        }
        let text = |document: &SessionDocument| SessionAggregate::encode(document).unwrap();
        replay.documents().map(|(key, document)| (key.clone(), text(document))).collect()
    }

    /// The session's events as readers get them.
    fn envelopes(&self) -> Vec<Value> {
        let id = SessionId::from_bits(1);
        let parse = |text: String| serde_json::from_str(&text).unwrap();
        self.log.iter().map(|recorded| parse(encode(&id, recorded))).collect()
    }
}

fn input(text: &str) -> SessionCommand {
    SessionCommand::Input(SessionInput { text: text.to_owned(), source: None, key: None })
}

fn outside(kind: &str, data: Value) -> SessionCommand {
    SessionCommand::Record(Box::new(Record::of(RecordOrigin::Outside, kind, object(data))))
}

fn object(data: Value) -> Map<String, Value> {
    let Value::Object(data) = data else { panic!("{data} is not an object") };
    data
}

fn order(order: SessionOrder) -> SessionCommand {
    SessionCommand::Control(SessionControl { order, by: None, key: None })
}

fn titles(entries: &[&str]) -> WrittenList {
    let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
    WrittenList::of_titles(&entries).unwrap()
}

fn write(entries: &[&str]) -> SessionCommand {
    write_expecting(entries, None)
}

fn write_expecting(entries: &[&str], expected_revision: Option<u64>) -> SessionCommand {
    SessionCommand::WriteTodos(WriteTodos { list: titles(entries), expected_revision, key: None })
}

fn key(key: &str, digest: &str) -> Option<CallKey> {
    Some(CallKey { key: key.to_owned(), digest: digest.to_owned() })
}

#[test]
fn a_session_begins_with_its_root() {
    let mut room = Room::empty();
    let create = Create { title: Some("Ship it".to_owned()), ..Create::default() };
    let done = room.accept(SessionCommand::Create(Box::new(create)));
    assert_eq!(done.receipt.seq, 1);
    assert_eq!(room.types(0), ["session.meta", "ctree_node", "ctree_snapshot"]);
    let node = &room.log[1].event.data;
    assert_eq!(node["snapshot"]["node_count"], 1);
    assert_eq!(node["node"]["label"], "Ship it");
    assert_eq!(
        room.refuse(SessionCommand::Create(Box::default())),
        SessionRejection::SessionExists
    );
}

#[test]
fn a_task_is_the_first_input() {
    let mut room = Room::empty();
    let create = Create { task: Some("begin".to_owned()), ..Create::default() };
    room.accept(SessionCommand::Create(Box::new(create)));
    assert_eq!(room.of_type("user_message").len(), 1);
    let mut room = Room::empty();
    let create = Create { task: Some(" \u{1c}".to_owned()), ..Create::default() };
    room.accept(SessionCommand::Create(Box::new(create)));
    assert_eq!(room.types(0), ["session.meta", "ctree_node", "ctree_snapshot"]);
}

#[test]
fn nothing_can_be_asked_of_a_session_that_is_not_there() {
    let mut room = Room::empty();
    assert_eq!(room.refuse(input("hello")), SessionRejection::UnknownSession);
    room.accept(SessionCommand::Create(Box::default()));
    room.accept(write(&["one"]));
    room.accept(SessionCommand::End);
    for command in [input("hello"), write(&["two"]), order(SessionOrder::Stop), SessionCommand::End]
    {
        assert_eq!(room.refuse(command), SessionRejection::SessionEnded);
    }
    assert_eq!(room.refuse(SessionCommand::Create(Box::default())), SessionRejection::SessionEnded);
}

#[test]
fn an_envelope_has_what_every_reader_wants() {
    let mut room = Room::open();
    room.accept(input("hello"));
    for (number, envelope) in (1_u64..).zip(room.envelopes()) {
        assert_eq!(envelope["seq"], number);
        assert_eq!(envelope["id"], format!("ev-000001-{number}"));
        assert_eq!(envelope["timestamp"], envelope["timestamp_ms"]);
        assert_eq!(envelope["protocol_version"], "1.0");
        assert_eq!(envelope["session_id"], SessionId::from_bits(1).as_str());
        assert!(envelope["data"].is_object());
        assert_eq!(envelope["data"], envelope["payload"]);
        assert_eq!(envelope.get("run_id"), None, "left out, not null");
        if envelope["type"] == "ctree_node" {
            assert!(envelope.to_string().len() < 1_024, "{envelope}");
        }
    }
    let body = serde_json::to_string(&room.log[3].event).unwrap();
    let recorded = &room.log[3];
    let id = SessionId::from_bits(1);
    let from_row = super::encode_row(&id, recorded.seq, recorded.at, &body).unwrap();
    assert_eq!(from_row, encode(&id, recorded));
    assert_eq!(room.envelopes()[3]["turn_id"], "t-1");
    assert_eq!(room.envelopes()[3]["turn"], 1);
}

#[test]
fn a_key_makes_a_call_happen_once() {
    let mut room = Room::open();
    let keyed = |text: &str, digest: &str| {
        let key = key("k", digest);
        SessionCommand::Input(SessionInput { text: text.to_owned(), source: None, key })
    };
    let first = room.accept(keyed("hello", "d1"));
    let seq = room.last_seq();
    room.accept(input("in between"));
    let again = room.accept(keyed("hello", "d1"));
    assert_eq!((again.receipt, again.replayed), (first.receipt, true));
    assert_eq!(room.of_type("user_message").len(), 2);
    assert!(room.last_seq() > seq);
    let taken = SessionRejection::KeyTaken { key: "k".to_owned() };
    assert_eq!(room.refuse(keyed("other", "d2")), taken);
    // A rejected call leaves its key unused.
    let blank = |text: &str| {
        let key = key("free", text);
        SessionCommand::Input(SessionInput { text: text.to_owned(), source: None, key })
    };
    room.refuse(blank(" "));
    assert!(!room.accept(blank("said")).replayed);
}

#[test]
fn a_creation_is_answered_again_after_the_end_of_its_session() {
    let mut room = Room::empty();
    let create = |digest: &str| {
        SessionCommand::Create(Box::new(Create { key: key("k", digest), ..Create::default() }))
    };
    let first = room.accept(create("d1"));
    room.accept(SessionCommand::End);
    let log = room.log.len();
    let again = room.accept(create("d1"));
    assert_eq!((again.receipt, again.replayed), (first.receipt, true));
    assert_eq!(room.log.len(), log, "nothing happens");
    assert_eq!(room.refuse(create("d2")), SessionRejection::KeyTaken { key: "k".to_owned() });
    assert_eq!(room.refuse(SessionCommand::Create(Box::default())), SessionRejection::SessionEnded);
}

#[test]
fn secrets_never_reach_the_log() {
    let secret = format!("ghp_{}", "a1B2".repeat(9));
    let mut room = Room::empty();
    let metadata = object(serde_json::json!({"token": secret, "deep": [{"x": secret}]}));
    let create = Create {
        title: Some(secret.clone()),
        metadata: Some(metadata),
        overrides: Some(serde_json::json!([secret])),
        ..Create::default()
    };
    room.accept(SessionCommand::Create(Box::new(create)));
    assert!(room.accept(input(&secret)).receipt.redacted);
    let written = room.accept(write(&[&secret, "plain"]));
    assert_eq!(written.receipt.todo.unwrap().titles.unwrap(), ["<redacted>", "plain"]);
    let todo = serde_json::json!({"op": "upsert", "item": {"id": secret, "title": secret}});
    let data = serde_json::json!({"text": secret, "todo": todo, secret.as_str(): 1});
    assert!(room.accept(outside("assistant_message", data)).receipt.redacted);
    room.accept(order(SessionOrder::SetModel(secret.clone())));
    for (at, recorded) in room.log.iter().enumerate() {
        let text = serde_json::to_string(&recorded.event).unwrap();
        assert!(!text.contains(&secret), "event {at}: {text}");
    }
    for (key, text) in room.replayed() {
        assert!(!text.contains(&secret), "{key:?}: {text}");
    }
}
