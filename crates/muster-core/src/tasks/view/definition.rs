//! What makes a step done, as every view of the step to work on shows it (EASE-DONE-1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    tasks::step::{Checkpoint, ShownConfirmation, Step},
    text,
};

/// Characters of the evidence of a criterion or a test.
const EVIDENCE_CHARS_MAX: usize = 160;

/// When a step counts as done, and what of it is not confirmed yet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionOfDone {
    /// When it counts as done.
    pub success_criteria: Vec<String>,
    /// How that is checked.
    pub tests: Vec<String>,
    /// Checks that it has to pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Required checkpoints without a confirmation.
    pub unconfirmed: Vec<Checkpoint>,
    /// By what its criteria and tests were confirmed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmations: Vec<ShownConfirmation>,
}

impl DefinitionOfDone {
    pub(super) fn of(step: &Step) -> Self {
        Self {
            success_criteria: step.success_criteria.clone(),
            tests: step.tests.clone(),
            checks: step.checks.clone(),
            unconfirmed: step.unconfirmed(),
            confirmations: step.confirmations().into_iter().map(short).collect(),
        }
    }
}

fn short(shown: ShownConfirmation) -> ShownConfirmation {
    let evidence = shown.evidence.map(|evidence| text::cut(&evidence, EVIDENCE_CHARS_MAX));
    ShownConfirmation { evidence, ..shown }
}
