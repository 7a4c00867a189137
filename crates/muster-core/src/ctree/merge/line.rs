//! The compact summary: one line of the available parts (UI-12).

use std::fmt;

use serde_json::Value;

use super::Summary;
use crate::todo::{
    read::fields::{whole, words},
    view::shown,
};

const LEAD: &str = "C-Tree: ";
const BETWEEN: &str = " · ";
const HASH_CHARS: usize = 8;

/// The parts of a line; there is at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MergedLine {
    parts: Vec<String>,
}

impl MergedLine {
    pub(super) fn of(summary: &Summary) -> Option<Self> {
        let hash = summary.snapshot.get("node_hash").and_then(words);
        let parts = [
            summary.snapshot.get("node_count").and_then(whole).map(nodes),
            hash.map(|hash| format!("hash {}", first(hash))),
            stage(summary),
            collapse(summary),
            runner(summary),
            last_node(summary),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().map(|part| shown(&part)).collect();
        (!parts.is_empty()).then_some(Self { parts })
    }

    /// As much of the line as fits into `columns`, cut from the right part by part (UI-13); `None`
    /// if not even the first part does. The caller measures the width of a string.
    pub fn within(&self, columns: usize, width: impl Fn(&str) -> usize) -> Option<String> {
        let longest_first = (1..=self.parts.len()).rev();
        let lines = longest_first.map(|count| self.joined(count));
        lines.into_iter().find(|line| width(line) <= columns)
    }

    fn joined(&self, count: usize) -> String {
        format!("{LEAD}{}", self.parts[..count].join(BETWEEN))
    }
}

impl fmt::Display for MergedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.joined(self.parts.len()))
    }
}

fn first(hash: &str) -> String {
    hash.chars().take(HASH_CHARS).collect()
}

fn nodes(count: i64) -> String {
    if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") }
}

/// The highest available stage.
fn stage(summary: &Summary) -> Option<String> {
    let stage = |name: &str| {
        let hash = summary.compiler.get(name).and_then(words)?;
        Some(format!("{name} {}", first(hash)))
    };
    ["z3", "z2", "z1"].into_iter().find_map(stage)
}

fn collapse(summary: &Summary) -> Option<String> {
    let policy = summary.collapse.get("policy").and_then(words);
    let dropped = summary.collapse.get("dropped").and_then(whole).filter(|dropped| *dropped > 0);
    match (dropped, policy) {
        (Some(dropped), Some(policy)) => Some(format!("dropped {dropped} ({policy})")),
        (Some(dropped), None) => Some(format!("dropped {dropped}")),
        (None, Some(policy)) => Some(format!("policy {policy}")),
        (None, None) => None,
    }
}

fn runner(summary: &Summary) -> Option<String> {
    let words = |key: &str| summary.runner.get(key).and_then(words);
    let there: Vec<&str> = ["phase", "status"].into_iter().filter_map(words).collect();
    (!there.is_empty()).then(|| format!("run {}", there.join("/")))
}

fn last_node(summary: &Summary) -> Option<String> {
    let id = summary.last_node.get("id").and_then(words)?;
    let score = summary.last_node.get("score").and_then(Value::as_f64);
    Some(score.map_or_else(|| format!("last {id}"), |score| format!("last {id} {score:.2}")))
}
