//! The other nodes: never more than a page, however large the graph is (RUNS-PROMPT-1).

use std::collections::BTreeMap;

use super::View;
use crate::{
    run::{
        edge::Edge,
        id::NodeId,
        lookup::{self, Lookup},
        node::Node,
        pulse::GraphChange,
    },
    text::cut,
};

const LINES_MAX: usize = 20;
const LINE_CHARS_MAX: usize = 160;
const CHANGES_MAX: usize = 10;
const ROSTER_CHARS_MAX: usize = 4_000;

/// All nodes, neighbours first; without detail only numbers.
pub(super) fn full(view: &View<'_>, detail: bool) -> Lookup<String> {
    let nodes = lookup::nodes(view.docs)?;
    let edges = lookup::edges(view.docs)?;
    let mut others: Vec<&Node> = nodes.into_iter().filter(|node| node.id != view.node.id).collect();
    if others.is_empty() {
        return Ok("You are the only node of this run.".to_owned());
    }
    others.sort_by_key(|node| {
        let near = edges.iter().any(|edge| edge.touches(view.node.id) && edge.touches(node.id));
        (!near, !node.orchestrator, node.label.clone(), node.number)
    });
    let shown = if detail { LINES_MAX.min(others.len()) } else { 0 };
    let mut lines = vec!["Other nodes:".to_owned()];
    lines.extend(others[..shown].iter().map(|node| line(view, node, &edges)));
    let rest = &others[shown..];
    if !rest.is_empty() {
        lines.push(counts(rest));
    }
    Ok(cut(&lines.join("\n"), ROSTER_CHARS_MAX))
}

fn line(view: &View<'_>, node: &Node, edges: &[&Edge]) -> String {
    let name = node.alias.clone().unwrap_or_else(|| node.id.to_string());
    let way = direction(view.node.id, node.id, edges);
    let line = format!(
        "- {} ({name}), {}, {}, {}{way}: {}",
        node.label, node.role_template, node.provider, node.status, node.summary
    );
    cut(&line, LINE_CHARS_MAX)
}

/// Who may send to whom.
fn direction(own: NodeId, other: NodeId, edges: &[&Edge]) -> &'static str {
    let to = edges.iter().any(|edge| edge.permits(own, other));
    let from = edges.iter().any(|edge| edge.permits(other, own));
    match (to, from) {
        (true, true) => ", you send to each other",
        (true, false) => ", you send to it",
        (false, true) => ", it sends to you",
        (false, false) => "",
    }
}

/// How many there are, by role and status.
fn counts(nodes: &[&Node]) -> String {
    let mut groups: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for node in nodes {
        *groups.entry((&node.role_template, node.status.name())).or_default() += 1;
    }
    let groups: Vec<String> =
        groups.iter().map(|((role, status), count)| format!("{count} {role} {status}")).collect();
    let groups = cut(&groups.join(", "), ROSTER_CHARS_MAX / 4);
    format!("and {} more: {groups}. Call list_nodes for them.", nodes.len())
}

/// What has changed after an event, as far as it matters to this node.
pub(super) fn changes(view: &View<'_>, seq: u64) -> Lookup<String> {
    let journal = lookup::journal(view.docs)?;
    let Some(changes) = journal.since(seq) else {
        return Ok("Much has changed in the graph. Call list_nodes.".to_owned());
    };
    let edges = lookup::edges(view.docs)?;
    let mut lines: Vec<String> = Vec::new();
    for change in changes {
        if let Some(text) = describe(view, change, &edges)?
            && !lines.contains(&text)
        {
            lines.push(text);
        }
    }
    if lines.is_empty() {
        return Ok(String::new());
    }
    let more = lines.len().saturating_sub(CHANGES_MAX);
    lines.truncate(CHANGES_MAX);
    if more > 0 {
        lines.push(format!("- and {more} more changes. Call list_nodes for them."));
    }
    Ok(format!("Changes in the graph:\n{}", lines.join("\n")))
}

fn describe(view: &View<'_>, change: &GraphChange, edges: &[&Edge]) -> Lookup<Option<String>> {
    let own = view.node.id;
    let (word, id) = match change {
        GraphChange::Added { node } => ("new", *node),
        GraphChange::Changed { node } => ("changed", *node),
        GraphChange::Failed { node } => ("failed", *node),
        GraphChange::Removed { label, .. } => {
            return Ok(Some(cut(&format!("- deleted: {label}"), LINE_CHARS_MAX)));
        }
        GraphChange::Edge { from, to, .. } if *from == own => ("edge", *to),
        GraphChange::Edge { from, to, .. } if *to == own => ("edge", *from),
        GraphChange::Edge { .. } => return Ok(None),
    };
    let node = lookup::find_node(view.docs, id)?.filter(|node| node.id != own);
    Ok(node.map(|node| {
        let line = line(view, node, edges);
        cut(&format!("- {word}: {}", line.trim_start_matches("- ")), LINE_CHARS_MAX)
    }))
}
