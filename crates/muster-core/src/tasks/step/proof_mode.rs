//! Whether a step needs proof of what is confirmed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Checkpoint;

/// Whether closing a step needs proof of a checkpoint.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ProofMode {
    /// No proof needed.
    #[default]
    Off,
    /// Closing without proof warns.
    Warn,
    /// Closing without proof is refused.
    Require,
}

/// Proof mode of each provable checkpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ProofModes {
    /// Mode of `tests`.
    pub tests: ProofMode,
    /// Mode of `security`.
    pub security: ProofMode,
    /// Mode of `perf`.
    pub perf: ProofMode,
    /// Mode of `docs`.
    pub docs: ProofMode,
}

impl ProofModes {
    /// The mode of a checkpoint; `criteria` has none and is always off.
    pub fn get(&self, checkpoint: Checkpoint) -> ProofMode {
        match checkpoint {
            Checkpoint::Criteria => ProofMode::Off,
            Checkpoint::Tests => self.tests,
            Checkpoint::Security => self.security,
            Checkpoint::Perf => self.perf,
            Checkpoint::Docs => self.docs,
        }
    }

    /// Sets the mode of a checkpoint; `criteria` has none.
    pub fn set(&mut self, checkpoint: Checkpoint, mode: ProofMode) {
        match checkpoint {
            Checkpoint::Criteria => {}
            Checkpoint::Tests => self.tests = mode,
            Checkpoint::Security => self.security = mode,
            Checkpoint::Perf => self.perf = mode,
            Checkpoint::Docs => self.docs = mode,
        }
    }

    /// Whether every mode is off.
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }
}
