//! Incremental growth equals a full computation and touches few documents.

use proptest::prelude::*;

use super::{Wood, id, moment, plain_hash};
use crate::ctree::{
    GrowthEffect, Kind, NodeId, Occurrence, Restatement, Role, Sprout, Status, TreeLookup as _,
    TreeNode,
    chain::RECENT_CHILDREN_MAX,
    growth::{cite, grow, pin, restate},
};

fn message(text: &str) -> Sprout {
    let sprout = Sprout::labelled(Kind::Message, text.to_owned());
    Sprout { role: Some(Role::User), body: text.to_owned(), ..sprout }
}

#[derive(Clone, Debug)]
enum Move {
    Grow { under: usize, text: String, cites: Vec<usize> },
    Status(usize, Option<Status>),
    Text(usize, String),
    Label(usize, String),
    Cite(usize, Vec<usize>),
    Pin(usize, bool),
}

fn moves() -> impl Strategy<Value = Move> {
    let node = 0..200_usize;
    let nodes = || prop::collection::vec(0..200_usize, 0..3);
    let status = prop::option::of(prop::sample::select(vec![
        Status::Open,
        Status::Done,
        Status::Failed,
        Status::Canceled,
        Status::Superseded,
    ]));
    prop_oneof![
        6 => (prop_oneof![node.clone(), 0..3_usize], "[a-z\"\\n\u{1}é]{0,6}", nodes())
            .prop_map(|(under, text, cites)| Move::Grow { under, text, cites }),
        3 => (node.clone(), status).prop_map(|(at, status)| Move::Status(at, status)),
        1 => (node.clone(), "[a-z]{0,4}").prop_map(|(at, text)| Move::Text(at, text)),
        1 => (node.clone(), "[a-z]{0,4}").prop_map(|(at, text)| Move::Label(at, text)),
        1 => (node.clone(), nodes()).prop_map(|(at, cites)| Move::Cite(at, cites)),
        1 => (node, any::<bool>()).prop_map(|(at, pinned)| Move::Pin(at, pinned)),
    ]
}

fn make_move(wood: &mut Wood, seq: u64, step: Move) {
    let count = wood.nodes.len();
    let at = |place: usize| id((place % count) as u64);
    let refs = |cites: Vec<usize>| cites.into_iter().map(|cited| at(cited).to_string()).collect();
    let now = moment(seq, Some(seq / 7));
    let change = |change: Restatement| (change, now);
    let done = match step {
        Move::Grow { under, text, cites } => {
            let sprout = Sprout { refs: refs(cites), ..message(&text) };
            assert_eq!(grow(wood, &at(under), sprout, &now).unwrap(), Some(id(count as u64)));
            return;
        }
        Move::Status(node, status) => {
            let (change, now) = change(Restatement { status: Some(status), ..Default::default() });
            restate(wood, &at(node), change, &now)
        }
        Move::Text(node, text) => {
            let (change, now) = change(Restatement { body: Some(text), ..Default::default() });
            restate(wood, &at(node), change, &now)
        }
        Move::Label(node, text) => {
            let (change, now) = change(Restatement { label: Some(text), ..Default::default() });
            restate(wood, &at(node), change, &now)
        }
        Move::Cite(node, cites) => cite(wood, &at(node), refs(cites), &now),
        Move::Pin(node, pinned) => pin(wood, &at(node), pinned, &now),
    };
    assert!(done.unwrap().is_some());
}

/// The cached values of a node, computed the slow way.
fn check_books(wood: &Wood) {
    for node in wood.nodes.values() {
        let below = |other: &&TreeNode| {
            let mut at = Some(&other.id);
            while let Some(id) = at {
                if *id == node.id {
                    return true;
                }
                at = wood.get(id).parent_id.as_ref();
            }
            false
        };
        let subtree: Vec<&TreeNode> = wood.nodes.values().filter(below).collect();
        assert_eq!(node.size, subtree.len() as u64);
        let newest = subtree.iter().max_by_key(|other| other.seq).unwrap();
        assert_eq!(*node.newest(), newest.id);
        let name = node.id.to_string();
        let cited = wood.nodes.values().filter(|other| other.refs.contains(&name)).count();
        assert_eq!(node.cited, cited as u64, "{name}");
        assert_eq!(node.children.count(), wood.children(&node.id).unwrap().len() as u64);
        assert_eq!(node.body_chars, wood.body(&node.id).chars().count() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_hash_equals_the_whole_computation(
        steps in prop::collection::vec(moves(), 1..120),
    ) {
        let mut wood = Wood::planted();
        for (seq, step) in (2..).zip(steps) {
            make_move(&mut wood, seq, step);
        }
        for id in wood.nodes.keys() {
            prop_assert_eq!(wood.get(id).hash.to_string(), plain_hash(&wood, id));
        }
        check_books(&wood);
    }
}

/// A tree of turns with 100 messages each.
fn grown(nodes: u64) -> Wood {
    let mut wood = Wood::planted();
    for seq in 2..=nodes {
        let turn = (seq - 2) / 100;
        let said = Occurrence::Said { role: Role::User, text: "x".to_owned() };
        let begun = Occurrence::TurnStarted { turn, taken: Vec::new() };
        let occurrence = if (seq - 2) % 100 == 0 { begun } else { said };
        wood.plant(occurrence, seq, Some(turn));
    }
    wood
}

#[test]
fn a_new_node_touches_as_little_in_100_000_nodes_as_in_1_000() {
    let counts = [1_000, 100_000].map(|size| {
        let mut wood = grown(size);
        assert_eq!(wood.root().size, size);
        wood.forget_counts();
        let said = Occurrence::Said { role: Role::User, text: "new".to_owned() };
        wood.plant(said, size + 1, Some((size - 2) / 100));
        wood.touched()
    });
    assert_eq!(counts[0], counts[1]);
    let (reads, lists, writes) = counts[0];
    assert!(reads <= 10, "{reads} reads");
    assert_eq!((lists, writes), (0, 3), "the node, its turn and the root");
}

#[test]
fn a_recent_child_changes_without_a_list_and_an_old_one_with_one() {
    let mut wood = Wood::planted();
    let last = RECENT_CHILDREN_MAX as u64 + 1;
    for number in 1..=last {
        grow(&mut wood, &NodeId::root(), message("x"), &moment(number + 1, None)).unwrap();
    }
    for (number, lists) in [(2, 0), (last, 0), (1, 1)] {
        wood.forget_counts();
        let done = Restatement::status(Status::Done);
        restate(&mut wood, &id(number), done, &moment(100 + number, None)).unwrap();
        assert_eq!(wood.touched().1, lists, "child {number}");
        assert_eq!(wood.root().hash.to_string(), plain_hash(&wood, &NodeId::root()));
    }
}

#[test]
fn a_change_that_changes_nothing_writes_nothing() {
    let mut wood = Wood::planted();
    let sprout = Sprout { refs: vec!["node-0".to_owned(), "node-77".to_owned()], ..message("x") };
    grow(&mut wood, &NodeId::root(), sprout, &moment(2, None)).unwrap();
    assert_eq!(wood.get(&id(1)).refs, ["node-0"], "a node that is not there cannot be meant");
    wood.forget_counts();
    let now = moment(3, None);
    let same = Restatement { label: Some("x".to_owned()), ..Restatement::default() };
    assert_eq!(restate(&mut wood, &id(1), same, &now).unwrap(), Some(GrowthEffect::Nothing));
    let again = vec!["node-0".to_owned()];
    assert_eq!(cite(&mut wood, &id(1), again, &now).unwrap(), Some(GrowthEffect::Nothing));
    assert_eq!(pin(&mut wood, &id(1), false, &now).unwrap(), Some(GrowthEffect::Nothing));
    assert_eq!(wood.touched().2, 0);
    assert_eq!(pin(&mut wood, &id(9), true, &now).unwrap(), None);
    assert_eq!(grow(&mut wood, &id(9), message("y"), &now).unwrap(), None);
}

#[test]
fn volatile_fields_are_not_in_the_hash() {
    let mut wood = Wood::planted();
    grow(&mut wood, &NodeId::root(), message("x"), &moment(2, None)).unwrap();
    let before = wood.root().hash;
    pin(&mut wood, &id(1), true, &moment(3, None)).unwrap();
    cite(&mut wood, &id(1), vec!["artifact://a".to_owned()], &moment(4, None)).unwrap();
    assert_eq!(wood.root().hash, before);
    let mut later = Wood::default();
    let label = super::root_label("Demo");
    super::plant_root(&mut later, label, &moment(50, None)).unwrap();
    grow(&mut later, &NodeId::root(), message("x"), &moment(70, None)).unwrap();
    assert_eq!(later.root().hash, before, "another time, other numbers, the same conversation");
}

#[test]
fn a_node_survives_its_document() {
    let mut wood = grown(40);
    cite(&mut wood, &id(3), vec!["node-2".to_owned()], &moment(41, None)).unwrap();
    pin(&mut wood, &id(3), true, &moment(42, None)).unwrap();
    for node in wood.nodes.values() {
        let json = serde_json::to_string(node).unwrap();
        assert_eq!(serde_json::from_str::<TreeNode>(&json).unwrap(), *node, "{json}");
    }
}
