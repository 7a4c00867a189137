//! The room of rules: one small stream for all of them, because a project's rules outlive its runs.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::{AllowPattern, AllowRule, AllowScope};
use crate::{
    Address, Aggregate, Documents, Draft, Index, ListQuery, Mark, Recorded, Subject, Unloaded,
    WorkRefusal,
    run::id::{AllowRuleId, ApprovalId, RunId},
};

pub const STREAM: &str = "allow/rules";
/// Rules of a store.
pub const RULES_MAX: usize = 500;

/// What can be asked for.
#[derive(Clone, PartialEq, Debug)]
pub enum AllowCommand {
    /// A person makes a rule.
    Make { id: AllowRuleId, scope: AllowScope, allows: AllowPattern, approval: ApprovalId },
    /// A rule has approved a request.
    Use { id: AllowRuleId, run: RunId, approval: ApprovalId },
    /// A person removes a rule.
    Remove { id: AllowRuleId },
    /// The rules of a deleted run are of no use.
    ForgetRun { run: RunId },
}

/// What happened to a rule.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AllowEvent {
    Made {
        id: AllowRuleId,
        scope: AllowScope,
        allows: AllowPattern,
        approval_id: ApprovalId,
        number: u64,
    },
    Used {
        id: AllowRuleId,
        run_id: RunId,
        approval_id: ApprovalId,
    },
    Removed {
        id: AllowRuleId,
    },
}

/// Why a command was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AllowRefusal {
    UnknownRule {
        id: AllowRuleId,
    },
    /// There are too many.
    TooMany {
        max: usize,
    },
    /// The pattern cannot be used.
    BadPattern(super::BadPattern),
}

/// The room itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AllowRules {}

impl AllowRules {
    /// Every rule, oldest first.
    pub fn all(docs: &Documents<Self>) -> Result<Vec<AllowRule>, Unloaded<Self>> {
        Ok(docs.list(&ListQuery::of("rule"))?.into_iter().cloned().collect())
    }

    /// The same rule again is the one that exists.
    pub fn same<'a>(
        rules: &'a [AllowRule],
        scope: &AllowScope,
        allows: &AllowPattern,
    ) -> Option<&'a AllowRule> {
        rules.iter().find(|rule| (&rule.scope, &rule.allows) == (scope, allows))
    }
}

impl Aggregate for AllowRules {
    const STREAM: &'static str = "allow";
    type Key = AllowRuleId;
    type Document = AllowRule;
    type Event = AllowEvent;
    type Applied = ();
    type Command = AllowCommand;
    type Rejection = AllowRefusal;
    type Brief = ();
    type Filter = Infallible;

    fn address(key: &AllowRuleId) -> Address {
        Address { kind: "rule".into(), name: key.to_string() }
    }

    fn key(address: &Address) -> Option<AllowRuleId> {
        address.name.parse().ok().filter(|_| address.kind == "rule")
    }

    fn encode(document: &AllowRule) -> serde_json::Result<String> {
        serde_json::to_string(document)
    }

    fn decode(_key: &AllowRuleId, body: &str) -> serde_json::Result<AllowRule> {
        serde_json::from_str(body)
    }

    fn index(document: &AllowRule) -> Index {
        Index { ord: document.number, marks: Mark::Listed as u8, ..Index::default() }
    }

    fn admits(filter: &Infallible, _document: &AllowRule) -> bool {
        match *filter {}
    }

    fn event_type(event: &AllowEvent) -> &'static str {
        match event {
            AllowEvent::Made { .. } => "rule.made",
            AllowEvent::Used { .. } => "rule.used",
            AllowEvent::Removed { .. } => "rule.removed",
        }
    }

    fn subject(_event: &AllowEvent) -> Option<Subject> {
        None
    }

    fn relocate(_event: &mut AllowEvent, _place: &mut dyn FnMut(u64) -> u64) {}

    fn decide(
        draft: &mut Draft<'_, Self>,
        command: &AllowCommand,
    ) -> Result<(), WorkRefusal<Self>> {
        match command {
            AllowCommand::Make { id, scope, allows, approval } => {
                allows.check().map_err(|bad| refused(AllowRefusal::BadPattern(bad)))?;
                let rules = Self::all(draft.documents())?;
                if Self::same(&rules, scope, allows).is_some() {
                    return Ok(());
                }
                if rules.len() >= RULES_MAX {
                    return Err(refused(AllowRefusal::TooMany { max: RULES_MAX }));
                }
                let made = AllowEvent::Made {
                    id: *id,
                    scope: scope.clone(),
                    allows: allows.clone(),
                    approval_id: *approval,
                    number: rules.last().map_or(1, |last| last.number + 1),
                };
                Ok(draft.emit(made)?)
            }
            AllowCommand::Use { id, run, approval } => {
                known(draft, *id)?;
                let used = AllowEvent::Used { id: *id, run_id: *run, approval_id: *approval };
                Ok(draft.emit(used)?)
            }
            AllowCommand::Remove { id } => {
                known(draft, *id)?;
                Ok(draft.emit(AllowEvent::Removed { id: *id })?)
            }
            AllowCommand::ForgetRun { run } => {
                for rule in Self::all(draft.documents())? {
                    if rule.scope.run() == Some(*run) {
                        draft.emit(AllowEvent::Removed { id: rule.id })?;
                    }
                }
                Ok(())
            }
        }
    }

    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<AllowEvent>,
    ) -> Result<(), Unloaded<Self>> {
        match &event.event {
            AllowEvent::Made { id, scope, allows, approval_id, number } => {
                let rule = AllowRule {
                    id: *id,
                    scope: scope.clone(),
                    allows: allows.clone(),
                    approval_id: *approval_id,
                    created_at: event.at.into(),
                    by: event.by.as_deref().cloned(),
                    uses: 0,
                    last_used_at: None,
                    number: *number,
                };
                documents.create(*id, rule);
            }
            AllowEvent::Used { id, .. } => {
                if let Some(rule) = documents.edit(id)? {
                    rule.uses += 1;
                    rule.last_used_at = Some(event.at.into());
                }
            }
            AllowEvent::Removed { id } => documents.remove(*id),
        }
        Ok(())
    }
}

fn refused(refusal: AllowRefusal) -> WorkRefusal<AllowRules> {
    WorkRefusal::rejected(refusal)
}

fn known(draft: &Draft<'_, AllowRules>, id: AllowRuleId) -> Result<(), WorkRefusal<AllowRules>> {
    match draft.documents().get(&id)? {
        Some(_) => Ok(()),
        None => Err(refused(AllowRefusal::UnknownRule { id })),
    }
}
