//! Events that a program posts to a session, over HTTP.

use muster_core::session::{SessionId, encode_row};
use muster_testkit::{
    fuzz::{Input, Mutator, Target, fuzz, repeats_little, session_events, text},
    server::{Reply, Request},
};
use serde_json::{Value, json};

use super::server::LocalServer;

const EVENTS_MAX: u64 = 16;
/// Members that the server writes itself or in its own form: numbers and ids of lists, numbers of
/// turns, how a call ended, ids of tasks, the place in the tree.
const SERVER_MEMBERS: [&str; 9] = [
    "todo",
    "turn",
    "status",
    "error",
    "success",
    "queued",
    "task_id",
    "ctree_node_id",
    "ctree_snapshot",
];

/// A server, and a session for each case.
struct SessionEvents {
    server: LocalServer,
}

impl Target for SessionEvents {
    fn open() -> Self {
        Self { server: LocalServer::start() }
    }

    fn play(&mut self, inputs: &[Input]) -> Result<(), String> {
        let made = self.server.post("/sessions", &json!({}))?;
        let id = made["session_id"].as_str().ok_or("a session has an id")?.to_owned();
        let id = SessionId::of(&id).ok_or("a session's id is one")?;
        for input in inputs {
            self.record(&id, &input.bytes)?;
        }
        self.server.get(&format!("/sessions/{id}"))?;
        self.server.get(&format!("/sessions/{id}/todos"))?;
        self.server.get(&format!("/sessions/{id}/ctrees"))?;
        self.server.get("/health").map(|_| ())
    }

    fn close(self) -> Result<(), String> {
        self.server.stop()
    }
}

impl SessionEvents {
    fn record(&mut self, id: &SessionId, body: &[u8]) -> Result<(), String> {
        let request = Request::new("POST", &format!("/sessions/{id}/events"));
        let request = request.header("Content-Type", "application/json").body(body);
        let reply = self.server.send(&request)?;
        let answer = reply.json().map_err(|error| error.to_string())?;
        let sent = serde_json::from_slice(body).unwrap_or(Value::Null);
        if reply.status == 202 {
            return self.read_back(id, &sent, &answer);
        }
        refused(&reply, &answer)?;
        repeats_little(&sent, &answer)
    }

    /// An accepted event is stored as it was sent, unless a secret was in it.
    fn read_back(&self, id: &SessionId, sent: &Value, answer: &Value) -> Result<(), String> {
        let seq = answer["seq"].as_u64().ok_or_else(|| format!("no number: {answer}"))?;
        let store = self.server.app.engine().store();
        let read = || store.snapshot()?.tail(&id.stream(), seq - 1, 1);
        let rows = read().map_err(|error| error.to_string())?;
        let row = rows.first().ok_or_else(|| format!("no event {seq}"))?;
        let event = encode_row(id, seq, row.at, &row.body).map_err(|error| error.to_string())?;
        let event: Value = serde_json::from_str(&event).map_err(|error| error.to_string())?;
        let kind = sent["type"].as_str().unwrap_or_default().trim();
        if event["type"] != kind {
            return Err(format!("sent was {sent}, stored is {event}"));
        }
        let mut data = ["data", "payload"].map(|name| &sent[name]).into_iter();
        let Some(Value::Object(mut data)) = data.find(|it| it.is_object()).cloned() else {
            return Ok(());
        };
        // Events may get more members when they are stored, but lose none.
        data.retain(|name, _| !SERVER_MEMBERS.contains(&name.as_str()));
        let kept = data.iter().all(|(name, value)| event["data"].get(name) == Some(value));
        if kept || event.to_string().contains("<redacted>") {
            Ok(())
        } else {
            Err(format!("sent was {sent}, stored is {event}"))
        }
    }
}

fn refused(reply: &Reply, answer: &Value) -> Result<(), String> {
    let named = answer["error"].as_str().is_some_and(|code| !code.is_empty());
    if named && !answer["detail"].is_null() {
        Ok(())
    } else {
        Err(format!("status {} without a reason: {answer}", reply.status))
    }
}

#[test]
fn any_event_is_stored_as_it_was_sent_or_refused() {
    let events = session_events().unwrap();
    fuzz::<SessionEvents>("session_events", |chance| {
        let count = 1 + chance.below(EVENTS_MAX);
        let inputs = (0..count).map(|_| {
            let mut event = events[chance.below(events.len() as u64) as usize].clone();
            Mutator::new(chance, &events).vary(&mut event);
            Input::new("event", text(chance, &event))
        });
        inputs.collect()
    });
}
