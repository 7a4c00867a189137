//! What a step's gate asks for and what of it there is, as every view of a step shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tasks::step::{Checkpoint, ProofMode, Step};

/// Which checkpoints are confirmed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Confirmed {
    pub criteria_confirmed: bool,
    pub tests_confirmed: bool,
    pub security_confirmed: bool,
    pub perf_confirmed: bool,
    pub docs_confirmed: bool,
}

impl Confirmed {
    pub(super) fn of(step: &Step) -> Self {
        let confirmed = |checkpoint| step.confirmed.contains(&checkpoint);
        Self {
            criteria_confirmed: confirmed(Checkpoint::Criteria),
            tests_confirmed: confirmed(Checkpoint::Tests),
            security_confirmed: confirmed(Checkpoint::Security),
            perf_confirmed: confirmed(Checkpoint::Perf),
            docs_confirmed: confirmed(Checkpoint::Docs),
        }
    }
}

/// Confirmations, requirements and proofs.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GateState {
    #[serde(flatten)]
    pub confirmed: Confirmed,
    pub require_security: bool,
    pub require_perf: bool,
    pub require_docs: bool,
    pub proof_tests_mode: ProofMode,
    pub proof_security_mode: ProofMode,
    pub proof_perf_mode: ProofMode,
    pub proof_docs_mode: ProofMode,
    pub proof_tests_present: bool,
    pub proof_security_present: bool,
    pub proof_perf_present: bool,
    pub proof_docs_present: bool,
}

impl GateState {
    pub(super) fn of(step: &Step) -> Self {
        let present = |checkpoint| step.proven.contains(&checkpoint);
        Self {
            confirmed: Confirmed::of(step),
            require_security: step.requires(Checkpoint::Security),
            require_perf: step.requires(Checkpoint::Perf),
            require_docs: step.requires(Checkpoint::Docs),
            proof_tests_mode: step.proof_modes.tests,
            proof_security_mode: step.proof_modes.security,
            proof_perf_mode: step.proof_modes.perf,
            proof_docs_mode: step.proof_modes.docs,
            proof_tests_present: present(Checkpoint::Tests),
            proof_security_present: present(Checkpoint::Security),
            proof_perf_present: present(Checkpoint::Perf),
            proof_docs_present: present(Checkpoint::Docs),
        }
    }
}
