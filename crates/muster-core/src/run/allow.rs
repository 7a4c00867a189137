//! Allow rules: what a person always allows, so that they are not asked about it again
//! ([0035](../../../../docs/adr/0035-allow-rules.md)).
//!
//! A rule covers a node, a run or all runs of a directory. It answers only questions about calls of
//! tools, and only calls that it understands completely: everything unclear goes to the person.
//!
//! ```text
//!   call ─► AskedCall: command, files, tool, or unclear ─► AllowPattern::permits ─► approved
//!                                                                    no rule ─► a person decides
//! ```
//!
//! Not here: whether a path leads through a link. The runtime looks, and passes the paths that do
//! not ([`Allowing`]).

mod asked;
mod glob;
mod pattern;
mod programs;
mod proposal;
mod room;
mod shell;
#[cfg(test)]
mod tests;

pub use self::{
    asked::{AskedCall, PlacedCall},
    pattern::{AllowPattern, BadPattern},
    proposal::{AllowChoice, AllowProposal, ScopeChoice},
    room::{AllowCommand, AllowEvent, AllowRefusal, AllowRules, RULES_MAX, STREAM},
};

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    RunAggregate, RunCommand, RunEvent, RunFact,
    approval::{Approval, Verdict},
    command::{Ask, CallFiles, Resolve},
    edge::Actor,
    id::{AllowRuleId, ApprovalId, IdSeed, NodeId, RunId},
    lookup::{self, Found},
    moment::Moment,
    node::Node,
    record::Run,
};
use crate::{Author, Draft, Recorded};

/// Where a rule holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AllowScope {
    /// For one node.
    Node { run_id: RunId, node_id: NodeId },
    /// For all nodes of one run.
    Run { run_id: RunId },
    /// For all runs that work in one directory.
    Project { directory: String },
}

impl AllowScope {
    /// Whether it covers a node of a run.
    pub fn covers(&self, run: &Run, node: &Node) -> bool {
        match self {
            Self::Node { run_id, node_id } => (*run_id, *node_id) == (run.id, node.id),
            Self::Run { run_id } => *run_id == run.id,
            Self::Project { directory } => *directory == run.cwd,
        }
    }

    /// The run that it belongs to.
    pub fn run(&self) -> Option<RunId> {
        match self {
            Self::Node { run_id, .. } | Self::Run { run_id } => Some(*run_id),
            Self::Project { .. } => None,
        }
    }
}

/// A rule that a person made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllowRule {
    pub id: AllowRuleId,
    /// Where it holds.
    pub scope: AllowScope,
    /// What it allows.
    pub allows: AllowPattern,
    /// The approval that it was made from.
    pub approval_id: ApprovalId,
    pub created_at: Moment,
    /// Who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
    /// How many requests it has approved.
    pub uses: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Moment>,
    /// Which rule of the store it is, counted from one.
    pub number: u64,
}

/// The rule of an answer to an approval: the one that answered it or was made with it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RuleNote {
    pub id: AllowRuleId,
    /// What it allows, in words.
    pub text: String,
}

impl AllowRule {
    /// What a resolution says about it.
    pub fn note(&self) -> RuleNote {
        RuleNote { id: self.id, text: self.allows.words() }
    }

    /// Whether it answers an approval, given the paths that do not lead through a link.
    pub fn answers(
        &self,
        (run, node, approval): (&Run, &Node, &Approval),
        clear: &BTreeSet<String>,
    ) -> bool {
        let call = || PlacedCall::of(approval, &node.workdir);
        self.scope.covers(run, node)
            && approval.is_pending()
            && call().is_some_and(|call| call.is_clear(clear) && self.allows.permits(&call))
    }
}

/// The rules of the store, and the paths of a call that lead through no link.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Allowing {
    pub rules: Vec<AllowRule>,
    pub clear: BTreeSet<String>,
}

/// The rule that approved a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UsedRule {
    pub rule: AllowRuleId,
    pub approval: ApprovalId,
}

impl Allowing {
    /// Carries out a command of the runtime, and approves what it asks for if a rule allows that:
    /// no client ever sees such an approval pending.
    pub fn apply(
        &self,
        draft: &mut Draft<'_, RunAggregate>,
        command: &RunCommand,
    ) -> Found<(Vec<Recorded<RunEvent>>, Option<UsedRule>)> {
        let first = draft.events().len();
        let requested = draft.apply(command)?.iter().find_map(|recorded| {
            let RunFact::ApprovalRequested(requested) = &recorded.event.fact else { return None };
            Some(requested.approval_id)
        });
        let used = match requested {
            Some(approval) => self.settle(draft, command.seed.next(), approval)?,
            None => None,
        };
        Ok((draft.events()[first..].to_vec(), used))
    }

    /// Approves a pending request if a rule allows it.
    pub fn settle(
        &self,
        draft: &mut Draft<'_, RunAggregate>,
        seed: IdSeed,
        id: ApprovalId,
    ) -> Found<Option<UsedRule>> {
        let docs = draft.documents();
        let approval = lookup::approval(docs, id)?;
        let asked = (lookup::run(docs)?, lookup::node(docs, approval.node_id)?, approval);
        let Some(rule) = self.rules.iter().find(|rule| rule.answers(asked, &self.clear)) else {
            return Ok(None);
        };
        let resolve = Resolve {
            approval: id,
            verdict: Verdict::Approved,
            modified_args: None,
            reason: Some(format!("allowed by a rule: {}", rule.allows.words())),
            rule: Some(rule.note()),
            files: CallFiles::default(),
        };
        let ask = Ask::Resolve(Box::new(resolve));
        draft.apply(&RunCommand { by: Actor::RUNTIME, seed, ask })?;
        Ok(Some(UsedRule { rule: rule.id, approval: id }))
    }
}
