//! Random histories: what a server sends, delivered with every failure of a connection.

use std::collections::BTreeMap;

use proptest::{prelude::*, sample::Index};
use serde_json::{Value, json};

use super::{Published, ScopeKey, Stamp, TodoReader, TodoScope, update};
use crate::{
    Timestamp,
    todo::{ConnectionStart, Fallback, Incoming, ListChange, ScopeState, WrittenList},
};

/// A change that is requested from the server.
#[derive(Clone, Debug)]
enum Ask {
    /// With the tool.
    Write(&'static str, Vec<String>),
    /// As an event from outside.
    Report(&'static str, Value),
}

fn scope() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["main", "lane", "Lane_2"])
}

fn title() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["Ship", " ship ", "Test", "Fix\tit", "fix it", "買い物"])
        .prop_map(str::to_owned)
}

/// An item, often without an id, with few names so that items collide.
fn item() -> impl Strategy<Value = Value> {
    let id = prop::option::of(prop::sample::select(vec!["a", "b", "c", "7"]));
    let status = prop::option::of(prop::sample::select(vec!["done", "DOING", "odd", "blocked"]));
    let extra = prop::option::of(0..3_u8);
    (id, title(), status, extra).prop_map(|(id, title, status, extra)| {
        let metadata = extra.map(|extra| json!({"n": extra}));
        json!({"id": id, "title": title, "status": status, "priority": extra, "metadata": metadata})
    })
}

fn whole() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => prop::collection::vec(item(), 0..5)
            .prop_map(|items| json!({"op": "replace", "items": items})),
        1 => Just(json!({"op": "clear"})),
    ]
}

fn partial() -> impl Strategy<Value = Value> {
    let ids = prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "7", "?"]), 1..3);
    prop_oneof![
        3 => prop::collection::vec(item(), 1..4).prop_map(|items| {
            json!({"op": "patch", "id": "a", "patches": items})
        }),
        3 => (item(), prop::option::of(-2..9_i64))
            .prop_map(|(item, at)| json!({"op": "upsert", "item": item, "position": at})),
        2 => ids.prop_map(|ids| json!({"op": "delete", "ids": ids})),
    ]
}

/// A report, sometimes with a label, sometimes with a revision that leaves a gap.
fn report(todo: impl Strategy<Value = Value>) -> impl Strategy<Value = Ask> {
    let label = prop::option::of(prop::sample::select(vec!["L", "Another"]));
    (scope(), todo, label).prop_map(|(scope, mut todo, label)| {
        todo["scopeKey"] = json!(scope);
        todo["scopeLabel"] = json!(label);
        Ask::Report(scope, todo)
    })
}

fn write() -> impl Strategy<Value = Ask> {
    (scope(), prop::collection::vec(title(), 0..5))
        .prop_map(|(scope, titles)| Ask::Write(scope, titles))
}

fn any_ask() -> impl Strategy<Value = Ask> {
    prop_oneof![1 => write(), 2 => report(whole()), 4 => report(partial())]
}

fn whole_ask() -> impl Strategy<Value = Ask> {
    prop_oneof![1 => write(), 2 => report(whole())]
}

/// The server: its scopes, and every event it sent, as text.
#[derive(Default)]
struct Server {
    scopes: BTreeMap<ScopeKey, TodoScope>,
    log: Vec<String>,
}

impl Server {
    fn run(asks: &[Ask]) -> Self {
        let mut server = Self::default();
        for ask in asks {
            server.ask(ask);
        }
        server
    }

    fn ask(&mut self, ask: &Ask) -> Published {
        let (Ask::Write(scope, _) | Ask::Report(scope, _)) = ask;
        let key = ScopeKey::of(scope).unwrap();
        // `main` has place 0 whenever it comes.
        let others = self.scopes.keys().filter(|key| !key.is_main()).count() as u64;
        let order = if key.is_main() { 0 } else { others + 1 };
        let entry = self.scopes.entry(key.clone());
        let scope = entry.or_insert_with(|| TodoScope::unwritten(key, order));
        let sent = match ask {
            Ask::Write(_, titles) => scope.write(&WrittenList::of_titles(titles).unwrap()),
            Ask::Report(_, todo) => scope.accept(&update(todo)),
        };
        let sent = sent.unwrap();
        let seq = self.log.len() as u64 + 1;
        scope.follow(&sent, Stamp { seq, at: Timestamp(0) });
        let body = json!({"todo": sent});
        let event = json!({"seq": seq, "type": "task_event", "data": body, "payload": body});
        self.log.push(event.to_string());
        sent
    }

    fn in_order(&self) -> Vec<&TodoScope> {
        let mut scopes: Vec<&TodoScope> = self.scopes.values().collect();
        scopes.sort_by_key(|scope| scope.order);
        scopes
    }

    /// What a reader is sent on connect.
    fn snapshots(&self) -> Vec<String> {
        let event = |scope: &&TodoScope| {
            let body = scope.snapshot_result(self.log.len() as u64);
            json!({"type": "tool_result", "id": "stream-1", "data": body}).to_string()
        };
        self.in_order().iter().map(event).collect()
    }
}

/// Delivers events to a reader as from a wire; revisions never go back.
fn deliver<'a>(reader: &mut TodoReader, events: impl IntoIterator<Item = &'a String>) {
    for text in events {
        let before: Vec<(ScopeKey, Option<i64>)> =
            reader.scopes().iter().map(|scope| (scope.key.clone(), scope.revision)).collect();
        let envelope: Value = serde_json::from_str(text).unwrap();
        reader.handle(&Incoming::of(&envelope).unwrap());
        for (key, revision) in before {
            assert!(reader.scope(&key).unwrap().revision >= revision, "{key}: {text}");
        }
    }
}

fn picked<'a>(log: &'a [String], picks: &[Index]) -> Vec<&'a String> {
    let picks = picks.iter().filter(|_| !log.is_empty());
    picks.map(|pick| pick.get(log)).collect()
}

/// Everything that both sides know of a list.
type Known<'a> = (&'a str, &'a str, Option<i64>, bool, String);

fn seen(scope: &ScopeState) -> Known<'_> {
    let items = serde_json::to_string(&scope.items).unwrap();
    (scope.key.as_str(), &scope.label, scope.revision, scope.stale, items)
}

fn kept(scope: &TodoScope) -> Known<'_> {
    let items = serde_json::to_string(&scope.items).unwrap();
    (scope.key.as_str(), &scope.label, Some(scope.revision), false, items)
}

fn assert_converged(reader: &TodoReader, server: &Server) {
    let seen: Vec<_> = reader.scopes().iter().filter(|scope| scope.known).map(seen).collect();
    let kept: Vec<_> = server.in_order().into_iter().map(kept).collect();
    assert_eq!(seen, kept);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Lost events, snapshots on reconnect, replays and repeats in any order: the same lists.
    #[test]
    fn a_reader_converges_over_gaps_repeats_and_replays(
        asks in prop::collection::vec(any_ask(), 1..30),
        lost_at in any::<Index>(),
        back_at in any::<Index>(),
        repeats in prop::collection::vec(any::<Index>(), 0..12),
        replays in prop::collection::vec(any::<Index>(), 0..30),
    ) {
        let lost_at = lost_at.index(asks.len() + 1);
        let back_at = lost_at + back_at.index(asks.len() + 1 - lost_at);
        let mut server = Server::run(&asks[..back_at]);
        let mut reader = TodoReader::new(Fallback::ToolPayload);
        deliver(&mut reader, &server.log[..lost_at]);
        deliver(&mut reader, picked(&server.log[..lost_at], &repeats));
        reader.reconnected(ConnectionStart::WithGap);
        deliver(&mut reader, &server.snapshots());
        deliver(&mut reader, picked(&server.log, &replays));
        assert_converged(&reader, &server);
        for ask in &asks[back_at..] {
            server.ask(ask);
            deliver(&mut reader, server.log.last());
            deliver(&mut reader, picked(&server.log, &repeats));
        }
        assert_converged(&reader, &server);
    }

    /// Whole lists need no order at all.
    #[test]
    fn whole_lists_converge_in_any_order(
        asks in prop::collection::vec(whole_ask(), 1..20),
        keys in prop::collection::vec(any::<u32>(), 20),
        repeats in prop::collection::vec(any::<Index>(), 0..20),
    ) {
        let server = Server::run(&asks);
        let mut order: Vec<usize> = (0..server.log.len()).collect();
        order.sort_by_key(|at| keys[*at]);
        let mut reader = TodoReader::new(Fallback::ToolPayload);
        deliver(&mut reader, order.iter().map(|at| &server.log[*at]));
        deliver(&mut reader, picked(&server.log, &repeats));
        for scope in server.in_order() {
            prop_assert_eq!(seen(reader.scope(&scope.key).unwrap()), kept(scope));
        }
    }

    /// Whatever arrived in whatever order, the next whole list corrects a scope.
    #[test]
    fn the_next_whole_list_puts_a_scope_right(
        asks in prop::collection::vec(any_ask(), 1..20),
        picks in prop::collection::vec(any::<Index>(), 0..30),
    ) {
        let mut server = Server::run(&asks);
        let mut reader = TodoReader::new(Fallback::ToolPayload);
        deliver(&mut reader, picked(&server.log, &picks));
        reader.reconnected(ConnectionStart::WithGap);
        let names: Vec<ScopeKey> = server.scopes.keys().cloned().collect();
        for key in names {
            let todo = json!({"op": "replace", "scopeKey": key, "items": [{"title": "Next"}]});
            let name = ["main", "lane", "Lane_2"].into_iter().find(|name| *name == key.as_str());
            server.ask(&Ask::Report(name.unwrap(), todo));
            deliver(&mut reader, server.log.last());
            prop_assert_eq!(seen(reader.scope(&key).unwrap()), kept(&server.scopes[&key]));
        }
    }

    /// A published update means the same to every reader, and a snapshot is the list.
    #[test]
    fn replace_then_snapshot_is_identity(asks in prop::collection::vec(any_ask(), 1..20)) {
        let mut server = Server::default();
        for ask in &asks {
            let sent = server.ask(ask);
            let text = serde_json::to_string(&sent).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Published>(&text).unwrap(), &sent);
            let scope = &server.scopes[&sent.scope_key];
            let snapshot = scope.snapshot();
            let read = update(&serde_json::to_value(&snapshot).unwrap());
            let copy = TodoScope::unwritten(scope.key.clone(), 0).accept(&read).unwrap();
            prop_assert_eq!(&copy, &snapshot);
            match &copy.change {
                ListChange::Replace { items } => prop_assert_eq!(items, &scope.items),
                ListChange::Clear => prop_assert!(scope.items.is_empty()),
                ListChange::Patch { .. }
                | ListChange::Upsert { .. }
                | ListChange::Delete { .. } => {
                    prop_assert!(false, "{:?} is not a snapshot", copy);
                }
            }
        }
    }
}
