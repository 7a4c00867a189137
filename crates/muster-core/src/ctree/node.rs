//! A node of the tree (CT-2) and its hash (CH-2).
//!
//! A node is one document. Its text is another one ([`NodeText`]): a change of status does not
//! rewrite a message of 100 kB.

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{canonical, chain::Chain, digest::Digest};
use crate::{Timestamp, text};

/// Longest label, in characters.
pub const LABEL_CHARS_MAX: usize = 120;

/// A node's id: `node-` and a suffix, unique in its session, never reused.
///
/// Trees of other producers may have any suffix; ours are numbered from 0, the root.
#[derive(
    Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct NodeId(Arc<str>);

impl NodeId {
    pub fn root() -> Self {
        Self::numbered(0)
    }

    /// The id of the node with this number.
    pub fn numbered(number: u64) -> Self {
        Self(format!("{PREFIX}{number}").into())
    }

    /// Any string as an id, unchanged.
    pub fn given(text: &str) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a reference has the form of a node id.
    pub(super) fn is_form_of(reference: &str) -> bool {
        reference.starts_with(PREFIX)
    }
}

const PREFIX: &str = "node-";

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Defines an enum whose variants have one word each, in JSON and in hashes.
macro_rules! words {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[derive(Serialize, Deserialize, JsonSchema)]
        #[schemars(inline)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// The word.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

words!(
    /// The kind of a node.
    Kind {
        /// The session.
        Root = "root",
        /// A round of work.
        Turn = "turn",
        Message = "message",
        /// A tool that was called.
        ToolCall = "tool_call",
        /// Its result.
        ToolResult = "tool_result",
        /// A todo list as it was after a change.
        Todo = "todo",
        /// A task or sub-agent.
        Task = "task",
        /// Work handed to another agent.
        Handoff = "handoff",
        /// Proof that was recorded.
        Evidence = "evidence",
    }
);

words!(
    /// The author of a message.
    Role {
        /// A person.
        User = "user",
        /// An agent.
        Assistant = "assistant",
        /// The program.
        System = "system",
    }
);

words!(
    /// The progress of what a node represents.
    Status {
        /// Not finished.
        Open = "open",
        /// Finished.
        Done = "done",
        /// Ended with an error.
        Failed = "failed",
        /// Abandoned.
        Canceled = "canceled",
        /// A newer node has taken its place.
        Superseded = "superseded",
    }
);

/// A node as it is stored. What the table of CT-2 leaves out is kept so that a change costs no
/// walk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TreeNode {
    pub id: NodeId,
    /// The parent; none only for the root.
    pub parent_id: Option<NodeId>,
    pub kind: Kind,
    /// The author, for messages.
    pub role: Option<Role>,
    /// One line of at most [`LABEL_CHARS_MAX`] characters.
    pub label: String,
    /// Digest of the body, also of the empty one.
    pub body_sha256: Digest,
    /// Characters of the body.
    pub body_chars: u64,
    /// How far it is, where that means something.
    pub status: Option<Status>,
    /// Number of its turn; none outside of turns.
    pub turn: Option<u64>,
    /// Number of the event that created it.
    pub seq: u64,
    /// When it was created.
    pub created_at_ms: Timestamp,
    /// When one of its own fields last changed.
    pub updated_at_ms: Timestamp,
    /// Whether a person wants it kept.
    #[serde(default, skip_serializing_if = "is_false")]
    pub pinned: bool,
    /// Nodes, tasks and artifacts that it points to; each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<String>,
    /// Hash of the node with everything below it.
    pub hash: Digest,
    /// How many nodes point to it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cited: u64,
    /// Its place among its siblings, counted from 0.
    pub place: u64,
    /// Nodes of its subtree, itself included.
    pub size: u64,
    /// The node made last below it; none if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<NodeId>,
    /// The chain over its children.
    #[serde(default, skip_serializing_if = "Chain::is_empty")]
    pub children: Chain,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TreeNode {
    /// Computes the hash again from the node's own fields and the chain over its children.
    pub fn rehash(&mut self) {
        self.hash = self.hash_over(self.children.value());
    }

    /// The hash that the node has over a chain of children.
    pub fn hash_over(&self, children: Digest) -> Digest {
        let mut json = String::with_capacity(320);
        json.push_str("{\"body_sha256\":\"");
        self.body_sha256.push_hex(&mut json);
        json.push_str("\",\"children\":\"");
        children.push_hex(&mut json);
        json.push_str("\",\"kind\":\"");
        json.push_str(self.kind.word());
        json.push_str("\",\"label\":");
        canonical::push_string(&mut json, &self.label);
        push_word(&mut json, ",\"role\":", self.role.map(Role::word));
        push_word(&mut json, ",\"status\":", self.status.map(Status::word));
        match self.turn {
            Some(turn) => json.push_str(&format!(",\"turn\":{turn},\"v\":1}}")),
            None => json.push_str(",\"turn\":null,\"v\":1}"),
        }
        Digest::of(&json)
    }

    /// The node made last in its subtree, which may be itself.
    pub fn newest(&self) -> &NodeId {
        self.newest.as_ref().unwrap_or(&self.id)
    }

    /// Takes over the description in a body.
    pub fn describe(&mut self, body: &str) {
        self.body_sha256 = Digest::of(body);
        self.body_chars = text::chars(body) as u64;
    }
}

fn push_word(json: &mut String, key: &str, word: Option<&str>) {
    json.push_str(key);
    match word {
        Some(word) => {
            json.push('"');
            json.push_str(word);
            json.push('"');
        }
        None => json.push_str("null"),
    }
}

/// The full text of a node. A node whose text is empty has no such document.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeText {
    pub text: String,
}

impl NodeText {
    /// The document for a node's text, unless it is empty.
    pub fn of(text: String) -> Option<Self> {
        (!text.is_empty()).then_some(Self { text })
    }
}

/// The start of a node's text as a label (CT-5): on one line, at most
/// [`LABEL_CHARS_MAX`] characters.
pub fn start(text: &str) -> String {
    text::one_line(text).take(LABEL_CHARS_MAX).collect()
}
