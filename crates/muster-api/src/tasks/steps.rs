//! Step input and checkpoint arguments (TASKS-GATE-8).

use std::collections::{BTreeMap, BTreeSet};

use muster_core::{
    inline_schema,
    tasks::{
        TaskCommand,
        command::{NewStep, StepTarget},
        event::StepFields,
        id::CheckName,
        step::{Checkpoint, Checkpoints, ItemConfirmation, ProofMode, ProofModes},
        wording::{CleanLines, Title},
    },
};
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use crate::{
    arguments::{Reason, invalid},
    call::CallFailure,
};

/// A step to add.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct StepInput {
    /// What is to be done.
    pub(crate) title: Title,
    /// When it counts as done.
    pub(crate) success_criteria: CleanLines,
    /// How that is checked.
    pub(crate) tests: Option<CleanLines>,
    /// What stands in the way.
    pub(crate) blockers: Option<CleanLines>,
    /// Whether closing needs proof; default off.
    pub(crate) proof_modes: Option<ProofModeChanges>,
    /// Names of checks of the project that it has to pass.
    pub(crate) checks: Option<CheckNames>,
}

impl StepInput {
    /// The whole step in one event.
    pub(crate) fn whole(self) -> NewStep {
        let proof_modes = self.proof_modes.map(|changes| {
            let mut modes = ProofModes::default();
            for (checkpoint, mode) in changes.changes() {
                modes.set(checkpoint, mode);
            }
            modes
        });
        let fields = StepFields {
            success_criteria: Some(self.success_criteria.0),
            tests: self.tests.map(|lines| lines.0),
            blockers: self.blockers.map(|lines| lines.0),
            proof_modes,
            checks: self.checks.as_ref().map(CheckNames::names),
        };
        NewStep { title: self.title.0, fields }
    }

    /// Title and criteria only; the rest is defined afterwards.
    pub(crate) fn bare(&self) -> NewStep {
        let fields = StepFields {
            success_criteria: Some(self.success_criteria.0.clone()),
            ..StepFields::default()
        };
        NewStep { title: self.title.0.clone(), fields }
    }

    /// Whether a definition has to follow the bare step.
    pub(crate) fn has_more(&self) -> bool {
        let filled =
            |lines: &Option<CleanLines>| lines.as_ref().is_some_and(|lines| !lines.0.is_empty());
        filled(&self.tests)
            || filled(&self.blockers)
            || self.proof_modes.is_some()
            || self.checks.is_some()
    }
}

/// Names of checks, each once.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub(crate) struct CheckNames(#[schemars(length(max = 50))] Vec<CheckName>);

impl CheckNames {
    /// The names, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let names: BTreeSet<&str> = self.0.iter().map(|name| name.0.as_str()).collect();
        names.into_iter().map(str::to_owned).collect()
    }
}

/// What every new step has to say about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepsNeed {
    /// When it counts as done (EASE-TOOLS-4).
    Criteria,
    /// Also how that is checked (TASKS-BOOT-1).
    CriteriaAndTests,
}

/// Refuses steps that do not say what they have to.
pub(crate) fn gate_ready(steps: &[StepInput], need: StepsNeed) -> Result<(), CallFailure> {
    for (at, step) in steps.iter().enumerate() {
        let lists = [
            ("success_criteria", Some(&step.success_criteria), "at least one criterion"),
            ("tests", step.tests.as_ref(), "at least one test"),
        ];
        let needed = match need {
            StepsNeed::Criteria => 1,
            StepsNeed::CriteriaAndTests => lists.len(),
        };
        for (list, given, expected) in lists.into_iter().take(needed) {
            let reason = match given {
                None => Reason::Missing,
                Some(lines) if lines.0.is_empty() => Reason::OutOfRange,
                Some(_) => continue,
            };
            return Err(invalid(&format!("steps[{at}].{list}"), reason, expected));
        }
    }
    Ok(())
}

/// Proof modes to change; absent ones stay.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct ProofModeChanges {
    tests: Option<ProofMode>,
    security: Option<ProofMode>,
    perf: Option<ProofMode>,
    docs: Option<ProofMode>,
}

impl ProofModeChanges {
    /// A mode for `tests` only.
    pub(crate) fn tests(mode: ProofMode) -> Self {
        Self { tests: Some(mode), security: None, perf: None, docs: None }
    }

    /// The changes given.
    pub(crate) fn changes(self) -> Vec<(Checkpoint, ProofMode)> {
        let all = [
            (Checkpoint::Tests, self.tests),
            (Checkpoint::Security, self.security),
            (Checkpoint::Perf, self.perf),
            (Checkpoint::Docs, self.docs),
        ];
        all.into_iter().filter_map(|(checkpoint, mode)| Some((checkpoint, mode?))).collect()
    }
}

/// Which checkpoints to confirm: `gate`, `all`, or each by name, as a whole or entry by entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Confirmations {
    /// Checkpoints and their new value.
    pub(crate) whole: Vec<(Checkpoint, bool)>,
    /// Single criteria and tests.
    pub(crate) items: Vec<ItemConfirmation>,
}

/// One criterion or test by its place in the list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfirmedItem {
    index: u32,
    evidence: Option<String>,
}

impl Confirmations {
    /// Criteria and tests as a whole.
    pub(crate) fn gate() -> Self {
        let whole = Checkpoint::GATE.map(|checkpoint| (checkpoint, true)).into();
        Self { whole, items: Vec::new() }
    }

    /// The checkpoints mentioned, with either value.
    pub(crate) fn named(&self) -> Checkpoints {
        let whole = self.whole.iter().map(|(checkpoint, _)| *checkpoint);
        whole.chain(self.items.iter().map(|item| item.checkpoint)).collect()
    }

    /// Whether criteria or tests are among them.
    pub(crate) fn names_the_gate(&self) -> bool {
        self.named().iter().any(|checkpoint| Checkpoint::GATE.contains(checkpoint))
    }

    /// The commands that confirm them on a step.
    pub(crate) fn commands(&self, step: &StepTarget) -> Vec<TaskCommand> {
        let step = || step.clone();
        let whole = (!self.whole.is_empty())
            .then(|| TaskCommand::VerifyStep { step: step(), confirmations: self.whole.clone() });
        let items = (!self.items.is_empty())
            .then(|| TaskCommand::ConfirmItems { step: step(), items: self.items.clone() });
        whole.into_iter().chain(items).collect()
    }
}

impl<'de> Deserialize<'de> for Confirmations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Confirmed {
            Plain(bool),
            Wrapped { confirmed: bool },
            Items(Vec<ConfirmedItem>),
        }
        let all = |checkpoints: &[Checkpoint]| Self {
            whole: checkpoints.iter().map(|checkpoint| (*checkpoint, true)).collect(),
            items: Vec::new(),
        };
        let value = Value::deserialize(deserializer)?;
        match value.as_str() {
            Some("gate") => return Ok(all(&Checkpoint::GATE)),
            Some("all") => return Ok(all(&Checkpoint::ALL)),
            Some(_) | None => {}
        }
        let named: BTreeMap<Checkpoint, Confirmed> =
            BTreeMap::deserialize(value).map_err(D::Error::custom)?;
        let mut confirmations = Self::default();
        for (checkpoint, confirmed) in named {
            match confirmed {
                Confirmed::Plain(value) | Confirmed::Wrapped { confirmed: value } => {
                    confirmations.whole.push((checkpoint, value));
                }
                Confirmed::Items(items) => {
                    let item = |item: ConfirmedItem| ItemConfirmation {
                        checkpoint,
                        index: item.index,
                        evidence: item.evidence,
                        by: None,
                    };
                    confirmations.items.extend(items.into_iter().map(item));
                }
            }
        }
        Ok(confirmations)
    }
}

inline_schema!(Confirmations => {
    let one = json_schema!({"anyOf": [
        {"type": "boolean"},
        {
            "type": "object",
            "properties": {"confirmed": {"type": "boolean"}},
            "required": ["confirmed"],
            "additionalProperties": false,
        },
    ]});
    let list = json_schema!({"anyOf": [
        {"type": "boolean"},
        {
            "type": "object",
            "properties": {"confirmed": {"type": "boolean"}},
            "required": ["confirmed"],
            "additionalProperties": false,
        },
        {
            "type": "array",
            "minItems": 1,
            "maxItems": 100,
            "items": {
                "type": "object",
                "properties": {
                    "index": {"type": "integer", "minimum": 0, "maximum": 999},
                    "evidence": {"type": "string", "maxLength": 2000},
                },
                "required": ["index"],
                "additionalProperties": false,
            },
        },
    ]});
    json_schema!({"anyOf": [
        {"type": "string", "enum": ["gate", "all"]},
        {
            "type": "object",
            "properties": {
                "criteria": list, "tests": list, "security": one, "perf": one, "docs": one,
            },
            "additionalProperties": false,
            "minProperties": 1,
        },
    ]})
});
