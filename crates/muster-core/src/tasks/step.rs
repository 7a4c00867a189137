//! A step and its gate: checkpoints, proof modes, blocking, waivers, sub-plan nodes.

mod confirmation;
mod look;
mod node;
mod proof_mode;

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    check_gate::CheckWaiver,
    entity::TaskStatus,
    id::{CheckRunId, StepId},
    origin::{FreeMeta, ItemOrigin},
    path::StepPath,
    stop::UnprovenStop,
};
use crate::{Author, Timestamp};

pub use confirmation::{ConfirmationSource, HowConfirmed, ItemConfirmation, ShownConfirmation};
pub use look::{StepLook, StepLookCounts};
pub use node::{NodeFields, NodeLists, StepNode};
pub use proof_mode::{ProofMode, ProofModes};

/// A confirmation that a step can need before it closes. The order is the order of every listing.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Checkpoint {
    /// The success criteria hold.
    Criteria,
    /// The tests pass.
    Tests,
    /// Security was looked at.
    Security,
    /// Speed was looked at.
    Perf,
    /// Documentation matches.
    Docs,
}

impl Checkpoint {
    /// All of them, in order.
    pub const ALL: [Self; 5] =
        [Self::Criteria, Self::Tests, Self::Security, Self::Perf, Self::Docs];
    /// The two that are always required.
    pub const GATE: [Self; 2] = [Self::Criteria, Self::Tests];
    /// Those that can have a proof mode.
    pub const PROVABLE: [Self; 4] = [Self::Tests, Self::Security, Self::Perf, Self::Docs];

    /// The word in arguments and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Criteria => "criteria",
            Self::Tests => "tests",
            Self::Security => "security",
            Self::Perf => "perf",
            Self::Docs => "docs",
        }
    }

    /// Their names in a row.
    pub fn names(all: &[Self]) -> String {
        all.iter().map(|checkpoint| checkpoint.name()).collect::<Vec<_>>().join(", ")
    }
}

/// A set of checkpoints, in listing order.
pub type Checkpoints = BTreeSet<Checkpoint>;

/// The checkpoints that evidence is linked to, sorted by name (TASKS-CAP-2).
pub fn links(checkpoints: &Checkpoints) -> Vec<Checkpoint> {
    let mut links: Vec<Checkpoint> = checkpoints.iter().copied().collect();
    links.sort_by_key(|checkpoint| checkpoint.name());
    links
}

/// A node of a task's tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// Stable id.
    pub id: StepId,
    /// Place in the tree.
    pub path: StepPath,
    /// What is to be done.
    pub title: String,
    /// When it counts as done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub success_criteria: Vec<String>,
    /// How that is checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<String>,
    /// Its blockers, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
    /// Checkpoints confirmed so far.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub confirmed: Checkpoints,
    /// Who or what confirmed whole checkpoints; not for those of earlier versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub confirmed_by: BTreeMap<Checkpoint, ConfirmationSource>,
    #[serde(default, skip_serializing_if = "ProofModes::is_off")]
    pub proof_modes: ProofModes,
    /// Single criteria and tests that were confirmed, by place in their list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<ItemConfirmation>,
    /// Names of the checks that it has to pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Checks that had passed when it was closed last, with the run that shows it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub proofs: BTreeMap<String, CheckRunId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check_waivers: Vec<CheckWaiver>,
    /// Checks that a person had set aside when it was closed last, unless that was taken back.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub set_aside: BTreeSet<String>,
    /// Checkpoints that evidence on this very step is linked to.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub proven: Checkpoints,
    /// When it was closed; `None` while open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// Who closed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<Author>,
    /// Present when it was closed by force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiver: Option<Waiver>,
    /// Present while it is blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<StepBlock>,
    /// Present when an agent wanted to stop although its checks did not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unproven_stop: Option<UnprovenStop>,
    /// Sub-plan, by ordinal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<StepNode>,
    /// How many notes it has.
    #[serde(default)]
    pub notes: u32,
    /// How many records of evidence it has.
    #[serde(default)]
    pub evidence: u32,
    /// Ordinal of the next node; never goes back.
    #[serde(default)]
    pub next_node: u32,
    /// Position of the event that added it.
    #[serde(default)]
    pub added_seq: u64,
    /// Position of the event that changed its title or closing last.
    #[serde(default)]
    pub graph_seq: u64,
    /// Ordinal of the next child step; never goes back.
    #[serde(default)]
    pub next_child: u32,
    /// What the source of an imported step said of it and no other field holds.
    #[serde(default, rename = "meta", skip_serializing_if = "FreeMeta::is_empty")]
    pub free: FreeMeta,
    /// Where it was imported from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<ItemOrigin>>,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it was changed last.
    pub updated_at: Timestamp,
}

/// How a waiver names a skipped block.
pub const SKIPPED_BLOCK: &str = "blocked";

/// Why a step was closed despite an open gate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Waiver {
    /// Reason as given.
    pub reason: Option<String>,
    /// When. The history of operations uses the name that views show.
    #[serde(alias = "at_ms")]
    pub at: Timestamp,
    /// What was skipped: `tests`, `proof:tests`, `blocked`.
    pub skipped: Vec<String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepBlock {
    /// Reason as given.
    pub reason: Option<String>,
    /// Whether a person set it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_person: bool,
}

impl Step {
    /// A new step.
    pub fn new(id: StepId, path: StepPath, title: String, at: Timestamp) -> Self {
        Self {
            id,
            path,
            title,
            success_criteria: Vec::new(),
            tests: Vec::new(),
            blockers: Vec::new(),
            confirmed: Checkpoints::new(),
            confirmed_by: BTreeMap::new(),
            proof_modes: ProofModes::default(),
            items: Vec::new(),
            checks: Vec::new(),
            proofs: BTreeMap::new(),
            check_waivers: Vec::new(),
            set_aside: BTreeSet::new(),
            proven: Checkpoints::new(),
            completed_at: None,
            closed_by: None,
            waiver: None,
            block: None,
            unproven_stop: None,
            nodes: Vec::new(),
            notes: 0,
            evidence: 0,
            next_node: 0,
            added_seq: 0,
            graph_seq: 0,
            next_child: 0,
            free: FreeMeta::new(),
            origin: None,
            created_at: at,
            updated_at: at,
        }
    }

    pub fn is_closed(&self) -> bool {
        self.completed_at.is_some()
    }

    /// Checkpoints that must be confirmed before it closes (TASKS-GATE-2).
    pub fn required(&self) -> Checkpoints {
        Checkpoint::ALL.into_iter().filter(|checkpoint| self.requires(*checkpoint)).collect()
    }

    /// Whether one checkpoint must be confirmed.
    pub fn requires(&self, checkpoint: Checkpoint) -> bool {
        Checkpoint::GATE.contains(&checkpoint)
            || self.proven.contains(&checkpoint)
            || self.proof_modes.get(checkpoint) == ProofMode::Require
    }

    /// Whether a required checkpoint is still unconfirmed.
    pub fn misses(&self, checkpoint: Checkpoint) -> bool {
        self.requires(checkpoint) && !self.confirmed.contains(&checkpoint)
    }

    /// Whether more than criteria and tests may be required. Most steps require only those.
    pub fn asks_for_more(&self) -> bool {
        !self.proof_modes.is_off() || !self.proven.is_empty()
    }

    /// Whether a required confirmation or proof is missing.
    pub fn is_unconfirmed(&self) -> bool {
        if Checkpoint::GATE.into_iter().any(|checkpoint| self.misses(checkpoint)) {
            return true;
        }
        self.asks_for_more()
            && Checkpoint::ALL.into_iter().any(|cp| self.misses(cp) || self.misses_proof(cp))
    }

    /// Required checkpoints without a confirmation.
    pub fn unconfirmed(&self) -> Vec<Checkpoint> {
        Checkpoint::ALL.into_iter().filter(|checkpoint| self.misses(*checkpoint)).collect()
    }

    /// Checkpoints without the proof that they require.
    pub fn unproven(&self) -> Vec<Checkpoint> {
        Checkpoint::PROVABLE.into_iter().filter(|cp| self.misses_proof(*cp)).collect()
    }

    /// Whether proof is required and absent.
    pub fn misses_proof(&self, checkpoint: Checkpoint) -> bool {
        self.proof_modes.get(checkpoint) == ProofMode::Require && !self.proven.contains(&checkpoint)
    }

    /// Checkpoints whose mode is `warn` and that have no proof (TASKS-GATE-3).
    pub fn weakly_proven(&self) -> Checkpoints {
        let weak = |checkpoint: &Checkpoint| {
            self.proof_modes.get(*checkpoint) == ProofMode::Warn
                && !self.proven.contains(checkpoint)
        };
        Checkpoint::PROVABLE.into_iter().filter(weak).collect()
    }

    /// The list that a checkpoint is about; empty for the others.
    pub fn list_of(&self, checkpoint: Checkpoint) -> &[String] {
        match checkpoint {
            Checkpoint::Criteria => &self.success_criteria,
            Checkpoint::Tests => &self.tests,
            Checkpoint::Security | Checkpoint::Perf | Checkpoint::Docs => &[],
        }
    }

    /// The entries of a list that were not confirmed one by one, with their places.
    pub fn unconfirmed_items(&self, checkpoint: Checkpoint) -> Vec<(u32, &str)> {
        let confirmed = |index: u32| {
            self.items.iter().any(|item| item.checkpoint == checkpoint && item.index == index)
        };
        let items = (0..).zip(self.list_of(checkpoint));
        items
            .filter(|(index, _)| !confirmed(*index))
            .map(|(at, text)| (at, text.as_str()))
            .collect()
    }

    /// Adds confirmations of single entries; a newer one replaces an older one.
    pub fn add_items(&mut self, items: &[ItemConfirmation]) {
        for item in items {
            let same = |known: &ItemConfirmation| {
                known.checkpoint == item.checkpoint && known.index == item.index
            };
            self.items.retain(|known| !same(known));
            self.items.push(item.clone());
        }
    }

    /// Whether a confirmed list was confirmed as a whole, without naming its entries.
    pub fn is_bulk(&self, checkpoint: Checkpoint) -> bool {
        self.confirmed.contains(&checkpoint) && !self.unconfirmed_items(checkpoint).is_empty()
    }

    /// Whether work on it has left a trace.
    pub fn is_started(&self) -> bool {
        self.is_closed()
            || self.notes > 0
            || self.evidence > 0
            || !self.confirmed.is_empty()
            || !self.items.is_empty()
    }

    /// Nodes of the sub-plan that are not done.
    pub fn open_nodes(&self) -> impl Iterator<Item = &StepNode> {
        self.nodes.iter().filter(|node| node.status != TaskStatus::Done)
    }

    pub fn node_path(&self, node: &StepNode) -> String {
        format!("{}.t:{}", self.path, node.ordinal)
    }

    /// Whether it was closed by force while it was blocked.
    pub fn was_closed_blocked(&self) -> bool {
        let skipped = self.waiver.iter().flat_map(|waiver| &waiver.skipped);
        skipped.into_iter().any(|skipped| skipped == SKIPPED_BLOCK)
    }

    /// Reopens it; confirmations stay (TASKS-STATE-8).
    pub fn reopen(&mut self) {
        self.completed_at = None;
        self.closed_by = None;
        self.waiver = None;
    }
}
