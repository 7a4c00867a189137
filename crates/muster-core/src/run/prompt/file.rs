//! What is kept of a prompt: its hashes, and the file with its blocks.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Blocks, Prompt, PromptSource, RoleText, names};
use crate::run::{
    hash::sha256_hex,
    id::{ItemId, TurnId},
    turn::{Consumed, PromptKind},
};

/// `prompt.blocks.json` (RUNS-PROMPT-6).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlocksFile {
    /// The five blocks.
    #[serde(flatten)]
    pub blocks: Blocks,
    /// Whether everything was sent.
    pub kind: PromptKind,
    /// What was sent.
    pub sent: SentText,
    /// Hash of the effective prompt.
    pub hash: String,
    /// Hashes of the blocks.
    pub block_hashes: BTreeMap<&'static str, String>,
    /// The turn.
    pub turn_id: TurnId,
    /// Inputs.
    pub consumed: Vec<Consumed>,
    /// The role's template.
    pub template: RoleText,
    /// What was left out to make it fit.
    pub shed: Vec<&'static str>,
}

/// What was sent.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct SentText {
    /// Its hash.
    pub hash: String,
    /// The text, unless it was the effective prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Names of the blocks in it.
    pub blocks: Vec<&'static str>,
}

impl Prompt {
    /// Hash of the effective prompt.
    pub fn hash(&self) -> String {
        sha256_hex(self.blocks.full().as_bytes())
    }

    pub fn sent_hash(&self) -> String {
        sha256_hex(self.sent.as_bytes())
    }

    /// Queued inputs in it, without redelivered ones.
    pub fn inputs(&self) -> Vec<ItemId> {
        let fresh = self.consumed.iter().filter(|taken| !taken.redelivered);
        fresh.map(|taken| taken.id).collect()
    }

    /// `prompt.blocks.json`.
    pub fn blocks_file(&self, source: &PromptSource) -> BlocksFile {
        let hash = |text: &str| sha256_hex(text.as_bytes());
        let block_hashes = names(&self.blocks)
            .into_iter()
            .zip(self.blocks.parts())
            .map(|(name, text)| (name, hash(text)))
            .collect();
        BlocksFile {
            blocks: self.blocks.clone(),
            kind: self.kind,
            sent: SentText {
                hash: self.sent_hash(),
                text: (self.kind == PromptKind::Delta).then(|| self.sent.clone()),
                blocks: self.sent_blocks.clone(),
            },
            hash: self.hash(),
            block_hashes,
            turn_id: source.turn,
            consumed: self.consumed.clone(),
            template: source.template.clone(),
            shed: self.shed.clone(),
        }
    }
}
