//! A node's line in the text (CC-2).

use crate::{
    ctree::node::{Kind, Role, Status, TreeNode},
    text,
};

/// Whether the line shows the node's text; otherwise it shows the label.
pub(super) fn shows_body(node: &TreeNode) -> bool {
    !matches!(node.kind, Kind::Root | Kind::Turn) && node.body_chars > 0
}

/// Writes what precedes the text or the label.
pub(super) fn push_lead(line: &mut String, node: &TreeNode) {
    match node.kind {
        Kind::Root => line.push_str("# "),
        Kind::Turn => line.push_str("## "),
        Kind::Message
        | Kind::ToolCall
        | Kind::ToolResult
        | Kind::Todo
        | Kind::Task
        | Kind::Handoff
        | Kind::Evidence => {
            line.push_str(tag(node));
            if let Some(status) = node.status {
                line.push_str(" (");
                line.push_str(status.word());
                line.push(')');
            }
            line.push_str(": ");
        }
    }
}

/// Characters of the whole line, without loading its text.
pub(super) fn chars(node: &TreeNode) -> u64 {
    let lead = match node.kind {
        Kind::Root => 2,
        Kind::Turn => 3,
        Kind::Message
        | Kind::ToolCall
        | Kind::ToolResult
        | Kind::Todo
        | Kind::Task
        | Kind::Handoff
        | Kind::Evidence => {
            let status = node.status.map_or(0, |status| Status::word(status).len() + 3);
            tag(node).len() + status + 2
        }
    };
    let rest = if shows_body(node) { node.body_chars } else { text::chars(&node.label) as u64 };
    lead as u64 + rest
}

impl TreeNode {
    /// Characters of the node's line in the text, without the line feed before it.
    pub fn line_chars(&self) -> u64 {
        chars(self)
    }

    /// Writes the node's line, given its text.
    pub fn push_line(&self, line: &mut String, body: &str) {
        push_lead(line, self);
        line.push_str(if shows_body(self) { body } else { &self.label });
    }
}

fn tag(node: &TreeNode) -> &'static str {
    match (node.kind, node.role) {
        (Kind::Message, Some(role)) => Role::word(role),
        (kind, _) => kind.word(),
    }
}
