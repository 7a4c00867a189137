//! The whole tree in memory against a slow model of the rules.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
};

use proptest::prelude::*;

use super::{Wood, id, moment, plain_hash};
use crate::ctree::{
    ContextTree, Digest, Kind, NodeId, Restatement, Role, Sprout, Status, TreeLookup as _,
    TreeNode,
    growth::{grow, pin, restate},
    tree::{Compiled, Misshapen, preview},
};

const STATUSES: [Option<Status>; 4] =
    [None, Some(Status::Open), Some(Status::Done), Some(Status::Superseded)];

/// How a random node is made: parent, kind, status, body, references, pinned.
type Draw = (usize, usize, usize, String, Vec<usize>, bool);

fn draws(count: usize) -> impl Strategy<Value = Vec<Draw>> {
    let refs = || prop::collection::vec(0..60_usize, 0..3);
    let body = "[a-zé\\n]{0,12}";
    let draw = (0..60_usize, 0..4_usize, 0..4_usize, body, refs(), prop::bool::weighted(0.1));
    prop::collection::vec(draw, 0..count)
}

fn grown(draws: Vec<Draw>) -> Wood {
    let mut wood = Wood::planted();
    for (number, (parent, kind, status, body, refs, pinned)) in (1_u64..).zip(draws) {
        let kind = [Kind::Turn, Kind::Message, Kind::ToolCall, Kind::Task][kind];
        let sprout = Sprout {
            role: (kind == Kind::Message).then_some(Role::Assistant),
            status: STATUSES[status],
            refs: refs.into_iter().map(|at| NodeId::numbered(at as u64).to_string()).collect(),
            body: if kind == Kind::Turn { String::new() } else { body },
            ..Sprout::labelled(kind, format!("Label {number}"))
        };
        let now = moment(number + 1, Some(number / 5));
        let parent = id(parent as u64 % number);
        grow(&mut wood, &parent, sprout, &now).unwrap();
        pin(&mut wood, &id(number), pinned, &now).unwrap();
    }
    wood
}

impl Wood {
    fn tree(&self) -> ContextTree {
        ContextTree::of(self.nodes.values().cloned()).unwrap()
    }

    fn compile(&self, max_chars: u64) -> Compiled {
        let body = |node: &TreeNode| Ok::<_, Infallible>(self.body(&node.id).to_owned());
        let Ok(compiled) = self.tree().collapse(max_chars).compile(body);
        compiled
    }

    /// The text of the kept nodes, exactly as CC-2 defines it.
    fn plain_text(&self, kept: &BTreeSet<NodeId>) -> String {
        fn write(wood: &Wood, kept: &BTreeSet<NodeId>, id: &NodeId, lines: &mut Vec<String>) {
            let node = wood.get(id);
            let status =
                node.status.map_or(String::new(), |status| format!(" ({})", status.word()));
            let tag = node.role.map_or(node.kind.word(), Role::word);
            let body = wood.body(id);
            let shown = if body.is_empty() { &node.label } else { body };
            lines.push(if node.kind == Kind::Root {
                format!("# {}", node.label)
            } else if node.kind == Kind::Turn {
                format!("## {}", node.label)
            } else {
                format!("{tag}{status}: {shown}")
            });
            for child in wood.children(id).unwrap() {
                if kept.contains(&child.id) {
                    write(wood, kept, &child.id, lines);
                }
            }
        }
        let mut lines = Vec::new();
        write(self, kept, &NodeId::root(), &mut lines);
        lines.join("\n")
    }

    /// The score in hundredths, exactly as CS-1 defines it.
    fn plain_score(&self, node: &TreeNode) -> u64 {
        if node.kind == Kind::Root || node.pinned {
            return 100;
        }
        let turns = self.nodes.values().filter(|node| node.kind == Kind::Turn);
        let newest = turns.filter_map(|node| node.turn).max().unwrap_or(0);
        let age = newest.saturating_sub(node.turn.unwrap_or(0));
        let name = node.id.to_string();
        let cited = self.nodes.values().filter(|other| other.refs.contains(&name)).count() as u64;
        let open = if node.status == Some(Status::Open) { 25 } else { 0 };
        50 - 2 * age.min(25) + open + 5 * cited.min(5)
    }

    /// Drops as CC-3 describes: returns what was dropped, in order, and what is left.
    fn plain_collapse(&self, max_chars: usize) -> (Vec<NodeId>, BTreeSet<NodeId>) {
        let mut kept: BTreeSet<NodeId> = self.nodes.keys().cloned().collect();
        let mut dropped = Vec::new();
        while self.plain_text(&kept).chars().count() > max_chars {
            let parents: BTreeSet<&NodeId> =
                kept.iter().filter_map(|id| self.get(id).parent_id.as_ref()).collect();
            let droppable = kept.iter().map(|id| self.get(id)).filter(|node| {
                node.kind != Kind::Root && !node.pinned && !parents.contains(&node.id)
            });
            let least = droppable.min_by_key(|node| (self.plain_score(node), node.seq, &node.id));
            let Some(least) = least.map(|node| node.id.clone()) else { break };
            kept.remove(&least);
            dropped.push(least);
        }
        (dropped, kept)
    }

    /// The wood with only these nodes, so that CH-2 can be applied to it.
    fn only(&self, kept: &BTreeSet<NodeId>) -> Self {
        let nodes = self.nodes.clone().into_iter().filter(|(id, _)| kept.contains(id));
        Self { nodes: nodes.collect(), ..self.clone() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]

    #[test]
    fn compiling_follows_the_rules(draws in draws(40), max_chars in 1..500_usize) {
        let wood = grown(draws);
        let tree = wood.tree();
        for node in wood.nodes.values() {
            let score = tree.score(&node.id).unwrap();
            prop_assert_eq!(u64::from(score.hundredths()), wood.plain_score(node));
        }
        let (dropped, kept) = wood.plain_collapse(max_chars);
        let text = wood.plain_text(&kept);
        let cut: String = text.chars().take(max_chars).collect();
        let compiled = wood.compile(max_chars as u64);
        prop_assert_eq!(&compiled.dropped, &dropped);
        prop_assert_eq!(&compiled.text, &cut);
        prop_assert_eq!(compiled.truncated, text != cut);
        prop_assert_eq!(compiled.used_chars, cut.chars().count() as u64);
        prop_assert_eq!(compiled.collapse.dropped, dropped.len() as u64);
        let root = NodeId::root();
        prop_assert_eq!(compiled.compiler.z1.to_string(), plain_hash(&wood, &root));
        prop_assert_eq!(compiled.compiler.z2.to_string(), plain_hash(&wood.only(&kept), &root));
        prop_assert_eq!(compiled.compiler.z3, Digest::of(&cut));
    }

    #[test]
    fn a_larger_budget_never_shows_less(draws in draws(60), budgets in [1..600_u64, 1..600_u64]) {
        let wood = grown(draws);
        let [less, more] = [budgets[0].min(budgets[1]), budgets[0].max(budgets[1])];
        let small = wood.compile(less);
        let large = wood.compile(more);
        prop_assert!(small.dropped.starts_with(&large.dropped));
        prop_assert!(small.used_chars <= less && large.used_chars <= more);
    }

    #[test]
    fn a_tree_advanced_node_by_node_equals_one_made_anew(
        draws in draws(40), changes in prop::collection::vec((0..60_usize, 0..4_usize), 0..10),
    ) {
        let mut wood = Wood::planted();
        let mut tree = wood.tree();
        let complete = grown(draws);
        for node in complete.nodes.values().filter(|node| node.kind != Kind::Root) {
            wood.nodes.insert(node.id.clone(), node.clone());
        }
        let mut by_seq: Vec<&TreeNode> = wood.nodes.values().collect();
        by_seq.sort_by_key(|node| node.seq);
        for node in by_seq {
            tree.advance(node.clone()).unwrap();
        }
        let mut changed = complete;
        for (at, status) in changes {
            let at = id((at % changed.nodes.len()) as u64);
            let status = Some(STATUSES[status]);
            let change = Restatement { status, ..Restatement::default() };
            restate(&mut changed, &at, change, &moment(1_000, None)).unwrap();
        }
        for node in changed.nodes.values() {
            tree.advance(node.clone()).unwrap();
        }
        let whole = changed.tree();
        prop_assert_eq!(tree.snapshot(), whole.snapshot());
        prop_assert_eq!(tree.last_node(), whole.last_node());
        prop_assert_eq!(tree.page(None, usize::MAX), whole.page(None, usize::MAX));
        prop_assert_eq!(tree.collapse(100).z2(), whole.collapse(100).z2());
        let computed = ContextTree::computed(changed.nodes.values().cloned()).unwrap();
        prop_assert_eq!(computed.snapshot(), whole.snapshot());
    }

    #[test]
    fn pages_hold_every_node_once_parents_first_and_siblings_by_seq(
        draws in draws(40), limit in 1..9_usize, max_chars in 1..400_u64,
    ) {
        let wood = grown(draws);
        let tree = wood.tree();
        let collapsed = tree.collapse(max_chars);
        for is_raw in [true, false] {
            let mut nodes = Vec::new();
            let mut after = None;
            loop {
                let page = match is_raw {
                    true => tree.page(after.as_ref(), limit),
                    false => collapsed.page(after.as_ref(), limit),
                };
                let page = page.unwrap();
                nodes.extend(page.nodes);
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            let dropped = if is_raw { 0 } else { collapsed.dropped().len() };
            prop_assert_eq!(nodes.len(), tree.len() - dropped);
            let mut last_seq: BTreeMap<NodeId, u64> = BTreeMap::new();
            for node in &nodes {
                if let Some(parent) = &node.parent_id {
                    let before = last_seq.insert(parent.clone(), node.seq);
                    prop_assert!(before.is_some_and(|before| before < node.seq));
                }
                last_seq.insert(node.id.clone(), 0);
            }
            let root_hash = if is_raw { collapsed.z1() } else { collapsed.z2() };
            prop_assert_eq!(nodes[0].hash, root_hash);
        }
    }
}

#[test]
fn only_bodies_that_are_shown_are_asked_for() {
    let draw = |number: usize| (0, 1, 0, "x".repeat(number), Vec::new(), number == 3);
    let wood = grown((1..=6).map(draw).collect());
    let asked = |max_chars: u64| {
        let mut asked = Vec::new();
        let body = |node: &TreeNode| {
            asked.push(node.id.to_string());
            Ok::<_, Infallible>(wood.body(&node.id))
        };
        let Ok(compiled) = wood.tree().collapse(max_chars).compile(body);
        (asked, compiled.truncated)
    };
    let text = |ids: &[&str]| ids.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(asked(40), (text(&["node-3", "node-6"]), false));
    assert_eq!(asked(5), (text(&[]), true), "the cut is in the first line");
    assert_eq!(asked(19), (text(&["node-3"]), true));
}

#[test]
fn nodes_that_are_no_tree_are_refused() {
    let wood = grown(vec![(0, 0, 0, String::new(), Vec::new(), false); 3]);
    let nodes: Vec<TreeNode> = wood.nodes.values().cloned().collect();
    let fault = |nodes: Vec<TreeNode>| ContextTree::of(nodes).map(|tree| tree.len());
    assert_eq!(fault(Vec::new()), Err(Misshapen::NoRoot));
    assert_eq!(fault(nodes[1..].to_vec()), Err(Misshapen::NoRoot));
    assert_eq!(fault([&nodes[..], &nodes[2..3]].concat()), Err(Misshapen::Twice(id(2))));
    let with_parent = |at: usize, parent: Option<NodeId>| {
        let mut nodes = nodes.clone();
        nodes[at].parent_id = parent;
        nodes
    };
    assert_eq!(fault(with_parent(2, None)), Err(Misshapen::SecondRoot(id(2))));
    assert_eq!(fault(with_parent(2, Some(id(9)))), Err(Misshapen::Orphan(id(2))));
    let mut circle = with_parent(2, Some(id(3)));
    circle[3].parent_id = Some(id(2));
    assert_eq!(fault(circle), Err(Misshapen::Circle));
    let mut tree = wood.tree();
    let moved = TreeNode { parent_id: Some(id(1)), ..nodes[2].clone() };
    assert_eq!(tree.advance(moved), Err(Misshapen::Moved(id(2))));
    let orphan = TreeNode { id: id(8), parent_id: Some(id(7)), ..nodes[2].clone() };
    assert_eq!(tree.advance(orphan), Err(Misshapen::Orphan(id(8))));
    assert_eq!(tree.len(), 4);
    assert_eq!(tree.page(Some(&id(8)), 1), None);
}

#[test]
fn a_preview_is_the_first_200_characters() {
    assert_eq!(preview(&"é".repeat(300)), "é".repeat(200));
    assert_eq!(preview("short"), "short");
}

#[test]
fn a_deep_tree_needs_no_deep_stack() {
    let mut wood = Wood::planted();
    for number in 1..3_000 {
        let sprout = Sprout::labelled(Kind::Task, number.to_string());
        let node = sprout.into_node(id(number), Some(id(number - 1)), &moment(number + 1, None)).0;
        wood.nodes.insert(node.id.clone(), node);
    }
    let tree = ContextTree::computed(wood.nodes.values().cloned()).unwrap();
    let collapsed = tree.collapse(1_000);
    assert_eq!(tree.page(None, usize::MAX).unwrap().nodes.len(), 3_000);
    assert_eq!(collapsed.dropped().next(), Some(&id(2_999)));
}
