//! What backs a closed step: nothing but a word, something attached, or checks that Muster ran
//! (PEOPLE-WORK-3). Every surface shows the same words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Step;

/// What backs a closed step.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum StepLook {
    /// Only the claim of the agent or person that closed it.
    Claimed,
    /// Something is attached to it.
    Evidence,
    /// Muster ran all of its checks, and they passed.
    Proven,
    /// A person has set a check of it aside; Muster ran the others.
    Waived,
}

impl StepLook {
    /// All of them, the weakest first.
    pub const ALL: [Self; 4] = [Self::Claimed, Self::Evidence, Self::Waived, Self::Proven];

    /// The look of a step; `None` while it is open.
    #[must_use]
    pub fn of(step: &Step) -> Option<Self> {
        if !step.is_closed() {
            return None;
        }
        let is_waived = |name: &String| step.set_aside.contains(name);
        let is_backed = |name: &String| is_waived(name) || step.proofs.contains_key(name);
        let checks = &step.checks;
        if !checks.is_empty() && checks.iter().all(is_backed) {
            return Some(if checks.iter().any(is_waived) { Self::Waived } else { Self::Proven });
        }
        Some(if step.evidence > 0 { Self::Evidence } else { Self::Claimed })
    }

    /// The word in arguments, results and output for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Evidence => "evidence",
            Self::Proven => "proven",
            Self::Waived => "waived",
        }
    }
}

/// Closed steps by look; looks without a step are left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StepLookCounts {
    #[serde(default, skip_serializing_if = "is_zero")]
    pub claimed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub evidence: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub proven: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waived: u64,
}

impl StepLookCounts {
    /// Counts the closed ones among these steps.
    pub fn of<'a>(steps: impl Iterator<Item = &'a Step>) -> Self {
        let mut counts = Self::default();
        for look in steps.filter_map(StepLook::of) {
            *counts.slot(look) += 1;
        }
        counts
    }

    /// Whether no step is closed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    #[must_use]
    pub fn get(&self, look: StepLook) -> u64 {
        match look {
            StepLook::Claimed => self.claimed,
            StepLook::Evidence => self.evidence,
            StepLook::Proven => self.proven,
            StepLook::Waived => self.waived,
        }
    }

    fn slot(&mut self, look: StepLook) -> &mut u64 {
        match look {
            StepLook::Claimed => &mut self.claimed,
            StepLook::Evidence => &mut self.evidence,
            StepLook::Proven => &mut self.proven,
            StepLook::Waived => &mut self.waived,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
