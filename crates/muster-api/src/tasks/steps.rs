//! Step input and checkpoint arguments (TASKS-GATE-8).

use std::collections::BTreeMap;

use muster_core::{
    inline_schema,
    tasks::{
        command::NewStep,
        event::StepFields,
        step::{Checkpoint, Checkpoints, ProofMode, ProofModes},
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
        filled(&self.tests) || filled(&self.blockers) || self.proof_modes.is_some()
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

/// Which checkpoints to confirm: `gate`, `all`, or each by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Confirmations(pub Vec<(Checkpoint, bool)>);

impl Confirmations {
    /// The checkpoints mentioned, with either value.
    pub(crate) fn named(&self) -> Checkpoints {
        self.0.iter().map(|(checkpoint, _)| *checkpoint).collect()
    }

    /// Whether criteria or tests are among them.
    pub(crate) fn names_the_gate(&self) -> bool {
        self.0.iter().any(|(checkpoint, _)| Checkpoint::GATE.contains(checkpoint))
    }
}

impl<'de> Deserialize<'de> for Confirmations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Confirmed {
            Plain(bool),
            Wrapped { confirmed: bool },
        }
        let all = |checkpoints: &[Checkpoint]| checkpoints.iter().map(|cp| (*cp, true)).collect();
        let value = Value::deserialize(deserializer)?;
        match value.as_str() {
            Some("gate") => return Ok(Self(all(&Checkpoint::GATE))),
            Some("all") => return Ok(Self(all(&Checkpoint::ALL))),
            Some(_) | None => {}
        }
        let named: BTreeMap<Checkpoint, Confirmed> =
            BTreeMap::deserialize(value).map_err(D::Error::custom)?;
        let confirmed = |confirmed| match confirmed {
            Confirmed::Plain(value) => value,
            Confirmed::Wrapped { confirmed } => confirmed,
        };
        Ok(Self(named.into_iter().map(|(cp, value)| (cp, confirmed(value))).collect()))
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
    json_schema!({"anyOf": [
        {"type": "string", "enum": ["gate", "all"]},
        {
            "type": "object",
            "properties": {
                "criteria": one, "tests": one, "security": one, "perf": one, "docs": one,
            },
            "additionalProperties": false,
            "minProperties": 1,
        },
    ]})
});
