//! Allow rules: what an approval could allow from now on, the list, and its changes.

use muster_core::{
    Documents, Draft, Json,
    run::{
        RunAggregate,
        allow::{
            AllowCommand, AllowPattern, AllowProposal, AllowRefusal, AllowRule, AllowRules,
            AllowScope, PlacedCall, RuleNote, STREAM,
        },
        approval::Approval,
        id::{AllowRuleId, ApprovalId, RunId},
        lookup,
        node::Node,
        record::Run,
    },
};
use muster_engine::{ExecuteError, MultiStreamTransaction};
use muster_store::StoreError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    RunDesk, RunTold,
    answers::{AllowProposalAnswer, AllowRuleGone, AllowRuleRow, AllowRulesAnswer},
    fault::{RunCode, RunFault},
    seed,
};
use crate::Caller;

/// A rule to make with an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleInput {
    /// Where it holds.
    pub scope: RuleScope,
    /// What it allows; the first choice of `GET /api/approvals/{approval}/rule` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allows: Option<AllowPattern>,
}

/// Where a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RuleScope {
    /// For the node that asks.
    Node,
    /// For all nodes of its run.
    Run,
    /// For all runs in its directory.
    Project,
}

/// A rule that is made with an answer.
pub(super) struct RuleToMake {
    /// What the answer says about it.
    pub(super) note: RuleNote,
    /// What makes it; none if the same rule exists already.
    pub(super) make: Option<AllowCommand>,
}

/// What an approval is about.
struct AskedApproval {
    run: Run,
    node: Node,
    approval: Approval,
}

impl RunDesk<'_> {
    /// The rules that an approval could become.
    pub fn allow_proposal(self, approval: ApprovalId) -> RunTold<Json> {
        let run = self.run_of(approval, None)?;
        let AskedApproval { run, node, approval } = self.asked(run, approval)?;
        let proposal = AllowProposal::of(&run, &node, &approval);
        Ok(Json::of(&AllowProposalAnswer { proposal }))
    }

    fn asked(self, run: RunId, approval: ApprovalId) -> RunTold<AskedApproval> {
        self.read(run, |docs: &Documents<RunAggregate>| {
            let approval = lookup::approval(docs, approval)?.clone();
            let node = lookup::node(docs, approval.node_id)?.clone();
            Ok(AskedApproval { run: lookup::run(docs)?.clone(), node, approval })
        })
    }

    /// All rules, oldest first, or those that concern a run.
    pub fn allow_rules(self, run: Option<RunId>) -> RunTold<Json> {
        let mut rules = muster_agents::allow_rules(self.engine())?;
        if let Some(run) = run {
            let cwd = self.read(run, |docs| Ok(lookup::run(docs)?.cwd.clone()))?;
            rules.retain(|rule| match &rule.scope {
                AllowScope::Project { directory } => *directory == cwd,
                AllowScope::Node { .. } | AllowScope::Run { .. } => rule.scope.run() == Some(run),
            });
        }
        let rules = rules.into_iter().map(|rule| self.row(rule)).collect::<RunTold<Vec<_>>>()?;
        Ok(Json::of(&AllowRulesAnswer { rules }))
    }

    fn row(self, rule: AllowRule) -> RunTold<AllowRuleRow> {
        let scope_text = match &rule.scope {
            AllowScope::Node { run_id, node_id } => {
                let node = self.read(*run_id, |docs| {
                    let label = lookup::find_node(docs, *node_id)?.map(|node| node.label.clone());
                    Ok(label)
                });
                let run = self.name_of(*run_id);
                format!("{} of {run}", node.ok().flatten().unwrap_or("a deleted node".to_owned()))
            }
            AllowScope::Run { run_id } => format!("all nodes of {}", self.name_of(*run_id)),
            AllowScope::Project { directory } => format!("all runs in {directory}"),
        };
        Ok(AllowRuleRow { text: rule.allows.words(), scope_text, rule })
    }

    fn name_of(self, run: RunId) -> String {
        let name = self.read(run, |docs| Ok(lookup::run(docs)?.name.clone()));
        name.unwrap_or_else(|_| "a deleted run".to_owned())
    }

    pub fn remove_allow_rule(self, id: AllowRuleId, caller: &Caller) -> RunTold<Json> {
        let remove = move |draft: &mut Draft<'_, AllowRules>| {
            draft.apply(&AllowCommand::Remove { id }).map(drop)
        };
        let stream = STREAM.to_owned();
        match self.engine().execute_for::<AllowRules, ()>(caller.facts(), stream, remove) {
            Ok(()) => Ok(Json::of(&AllowRuleGone { rule_id: id })),
            Err(ExecuteError::Rejected(refusal)) => Err(refused(&refusal)),
            Err(ExecuteError::Store(failure)) => Err(failure.0.into()),
        }
    }

    /// The rule that a person wants of an approval. It has to allow at least that.
    pub(super) fn rule_for(
        self,
        run: RunId,
        id: ApprovalId,
        input: RuleInput,
    ) -> RunTold<RuleToMake> {
        let AskedApproval { run, node, approval } = self.asked(run, id)?;
        let proposal = AllowProposal::of(&run, &node, &approval);
        let default = proposal.choices.into_iter().next().map(|choice| choice.allows);
        let Some(allows) = input.allows.or(default) else {
            let detail = proposal.note.unwrap_or_else(|| "no rule can allow this".to_owned());
            return Err(RunFault::bad_value("rule", detail));
        };
        allows.check().map_err(|bad| refused(&AllowRefusal::BadPattern(bad)))?;
        permitted(&allows, &approval, &node)?;
        let scope = match input.scope {
            RuleScope::Node => AllowScope::Node { run_id: run.id, node_id: node.id },
            RuleScope::Run => AllowScope::Run { run_id: run.id },
            RuleScope::Project => AllowScope::Project { directory: run.cwd },
        };
        let rules = muster_agents::allow_rules(self.engine())?;
        if let Some(same) = AllowRules::same(&rules, &scope, &allows) {
            return Ok(RuleToMake { note: same.note(), make: None });
        }
        let rule = AllowRuleId(seed()?.mint(self.now()).fresh());
        let note = RuleNote { id: rule, text: allows.words() };
        let make = AllowCommand::Make { id: rule, scope, allows, approval: id };
        Ok(RuleToMake { note, make: Some(make) })
    }
}

/// Refuses a pattern that does not allow the very request it is made from.
fn permitted(allows: &AllowPattern, approval: &Approval, node: &Node) -> RunTold<()> {
    let clear = muster_agents::clear_places(approval, &node.workdir);
    let Some(call) = PlacedCall::of(approval, &node.workdir) else {
        let detail = "no rule can allow this: it leads out of the directory of the node";
        return Err(RunFault::bad_value("rule", detail));
    };
    if !call.is_clear(&clear) {
        let detail = "no rule can allow this: its path leads through a link";
        return Err(RunFault::bad_value("rule", detail));
    }
    if allows.permits(&call) {
        return Ok(());
    }
    let detail = "the rule must allow the request that it is made from";
    Err(RunFault::bad_value("rule.allows", detail))
}

/// Makes a rule in a transaction.
pub(super) fn make(
    streams: &mut MultiStreamTransaction<'_>,
    command: &AllowCommand,
) -> Result<RunTold<()>, StoreError> {
    let stream = STREAM.to_owned();
    let made = streams.on::<AllowRules, ()>(stream, |draft| draft.apply(command).map(drop))?;
    Ok(made.map_err(|refusal| refused(&refusal)))
}

fn refused(refusal: &AllowRefusal) -> RunFault {
    match refusal {
        AllowRefusal::UnknownRule { id } => {
            RunFault::new(RunCode::UnknownRule, format!("there is no allow rule {id}"))
        }
        AllowRefusal::TooMany { max } => RunFault::new(
            RunCode::LimitReached,
            format!("there are already {max} allow rules, which is the limit: remove some"),
        ),
        AllowRefusal::BadPattern(bad) => {
            let path = format!("rule.allows.{}", bad.field);
            RunFault::bad_value(path, format!("{} must be {}", bad.field, bad.expected))
        }
    }
}
