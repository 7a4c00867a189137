//! Trees kept in memory always match the documents, no matter which process wrote.

use std::sync::atomic::{AtomicBool, Ordering};

use muster_core::{
    Documents, WorkRefusal,
    ctree::{ContextTree, Digest, tree::Compiled},
    session::{
        SessionAggregate, SessionCommand, SessionId, SessionRejection, lookup,
        view::{self, NodesPage, TreeRequest, TreeStage},
    },
};
use muster_store::MemoryStore;
use serde_json::json;

use super::{
    over,
    sessions::{act, id, live, record, say},
    sqlite,
};
use crate::{Engine, ExecuteError};

type Docs = Documents<SessionAggregate>;

fn page(engine: &Engine, session: &SessionId, request: &TreeRequest) -> Option<NodesPage> {
    let read = |docs: &Docs, tree: &ContextTree| view::tree_page(docs, tree, request);
    engine.read_tree(session, read).unwrap()
}

fn request(stage: TreeStage, limit: usize) -> TreeRequest {
    TreeRequest { stage, previews: false, bodies: true, limit, after: None }
}

fn compiled(engine: &Engine, session: &SessionId, max_chars: u64) -> Compiled {
    let read = |docs: &Docs, tree: &ContextTree| view::tree_text(docs, tree, Some(max_chars));
    engine.read_tree(session, read).unwrap().0
}

/// Number and hash of the tree in memory and according to the documents.
fn moments(engine: &Engine, session: &SessionId) -> [(u64, Digest); 2] {
    let read = |docs: &Docs,
                tree: &ContextTree|
     -> Result<[(u64, Digest); 2], WorkRefusal<SessionAggregate>> {
        let root = lookup::node(docs, &tree.root().id)?.unwrap();
        Ok([(tree.len() as u64, tree.root().hash), (root.size, root.hash)])
    };
    engine.read_tree(session, read).unwrap()
}

#[test]
fn a_kept_tree_follows_every_writer() {
    let dir = tempfile::tempdir().unwrap();
    let here = sqlite(dir.path());
    let there = sqlite(dir.path());
    let session = id(1);
    act(&here, &session, SessionCommand::Create(Box::default())).unwrap();
    for round in 0..12 {
        let writer = if round % 3 == 2 { &there } else { &here };
        act(writer, &session, say("question")).unwrap();
        act(writer, &session, record("turn_start", json!({}))).unwrap();
        act(writer, &session, record("tool_call", json!({"call_id": round}))).unwrap();
        act(writer, &session, record("tool_result", json!({"call_id": round}))).unwrap();
        for engine in [&here, &there] {
            let [kept, stored] = moments(engine, &session);
            assert_eq!(kept, stored, "round {round}");
        }
    }
}

#[test]
fn readers_and_writers_at_once_never_see_two_moments() {
    let engine = over(MemoryStore::new());
    let session = id(1);
    act(&engine, &session, SessionCommand::Create(Box::default())).unwrap();
    let written = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..150 {
                act(&engine, &session, say("and on")).unwrap();
            }
            written.store(true, Ordering::Relaxed);
        });
        for _ in 0..2 {
            scope.spawn(|| {
                while !written.load(Ordering::Relaxed) {
                    let [kept, stored] = moments(&engine, &session);
                    assert_eq!(kept, stored);
                }
            });
        }
    });
    assert_eq!(moments(&engine, &session)[0].0, 301);
}

#[test]
fn a_small_tree_that_nobody_reads_again_is_dropped_before_much_waits_for_it() {
    let engine = over(MemoryStore::new());
    let session = id(1);
    act(&engine, &session, SessionCommand::Create(Box::default())).unwrap();
    moments(&engine, &session);
    assert_eq!(engine.nodes_waiting(&session), Some(0));
    let mut most = 0;
    for _ in 0..200 {
        act(&engine, &session, say("and on")).unwrap();
        most = most.max(engine.nodes_waiting(&session).unwrap_or(0));
    }
    assert!((1..=100).contains(&most), "{most} nodes waited");
    assert_eq!(engine.nodes_waiting(&session), None, "it is not kept any more");
    let [built, stored] = moments(&engine, &session);
    assert_eq!(built, stored);
}

#[test]
fn pages_meet_and_give_the_hash_again() {
    let engine = over(MemoryStore::new());
    let session = id(1);
    live(&engine, &session);
    for stage in [TreeStage::Raw, TreeStage::Collapsed] {
        let whole = page(&engine, &session, &request(stage, usize::MAX)).unwrap();
        assert_eq!(whole.next, None);
        let mut asked = request(stage, 7);
        let mut nodes = Vec::new();
        loop {
            let part = page(&engine, &session, &asked).unwrap();
            nodes.extend(part.nodes);
            match part.next {
                Some(next) => asked.after = Some(next),
                None => break,
            }
        }
        assert_eq!(nodes, whole.nodes);
        let expected = match stage {
            TreeStage::Raw => whole.compiled.compiler.z1,
            TreeStage::Collapsed => whole.compiled.compiler.z2,
        };
        assert_eq!(nodes[0].hash, expected);
        let long = nodes.iter().filter_map(|node| node.body.as_deref());
        assert!(long.map(str::len).max().unwrap() >= 3_900, "long texts are found too");
    }
    let mut lost = request(TreeStage::Raw, 7);
    lost.after = Some(muster_core::ctree::NodeId::given("node-x"));
    assert_eq!(page(&engine, &session, &lost), None);
}

#[test]
fn the_text_of_the_whole_tree_is_that_of_the_documents() {
    let engine = over(MemoryStore::new());
    let session = id(1);
    live(&engine, &session);
    for max_chars in [1, 500, 8_000, 32_000, 1_000_000] {
        let whole = compiled(&engine, &session, max_chars);
        let read = |docs: &Docs| view::compiled(docs, Some(max_chars));
        let part = engine.read::<SessionAggregate, _>(&session.stream(), read).unwrap();
        assert_eq!((&whole.text, whole.compiler), (&part.text, part.compiler));
        assert_eq!(whole.dropped.len() as u64, part.collapse.dropped);
        assert!(whole.used_chars <= max_chars);
        assert_eq!(whole.used_chars, whole.text.chars().count() as u64);
    }
}

#[test]
fn a_session_that_is_not_there_has_no_tree() {
    let engine = over(MemoryStore::new());
    let read = |session: &SessionId| engine.read_tree(session, |_, tree| Ok(tree.len()));
    let unknown = ExecuteError::Rejected(Box::new(SessionRejection::UnknownSession));
    assert_eq!(read(&id(1)), Err(unknown));
    act(&engine, &id(1), SessionCommand::Create(Box::default())).unwrap();
    assert_eq!(read(&id(1)), Ok(1));
    act(&engine, &id(1), SessionCommand::End).unwrap();
    let ended = ExecuteError::Rejected(Box::new(SessionRejection::SessionEnded));
    assert_eq!(read(&id(1)), Err(ended));
}
