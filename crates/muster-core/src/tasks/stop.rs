//! An agent that wants to stop in the middle of a step: how often it was kept from that, and that
//! it was let go in the end (PROOF section 5).
//!
//! ```text
//!   wants to stop, checks do not hold ─► refused ─► refused ─► refused ─► allowed, for a person
//!                                           (the step closes: forgotten)      to look at
//! ```

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::check_gate::CheckState;
use crate::Timestamp;

/// How often an agent is kept from stopping because of one step.
pub const STOP_REFUSALS_MAX: u32 = 3;

/// What happened when agents wanted to stop although checks of the step did not hold.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct UnprovenStop {
    /// How often an agent was refused.
    pub refusals: u32,
    /// The checks that did not hold, with their states, at the last time.
    pub checks: BTreeMap<String, CheckState>,
    /// When an agent was allowed to stop all the same; a person should look at the step.
    #[serde(default, rename = "allowed_at_ms", skip_serializing_if = "Option::is_none")]
    pub allowed_at: Option<Timestamp>,
}

/// The reply to an agent that wants to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReply {
    Refused,
    /// It was refused often enough.
    Allowed,
}

impl UnprovenStop {
    /// The next reply; `None` if an agent was allowed to stop before, which is on record already.
    #[must_use]
    pub fn reply(before: Option<&Self>) -> Option<StopReply> {
        match before {
            Some(stop) if stop.allowed_at.is_some() => None,
            Some(stop) if stop.refusals >= STOP_REFUSALS_MAX => Some(StopReply::Allowed),
            Some(_) | None => Some(StopReply::Refused),
        }
    }

    /// Takes a reply into account.
    pub(super) fn add(
        &mut self,
        reply: StopReply,
        checks: &BTreeMap<String, CheckState>,
        at: Timestamp,
    ) {
        self.checks.clone_from(checks);
        match reply {
            StopReply::Refused => self.refusals += 1,
            StopReply::Allowed => self.allowed_at = Some(at),
        }
    }
}
