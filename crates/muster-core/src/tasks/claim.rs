//! Claims: who works on a task. A claim is a lease. It is compared with the moment of each call, so
//! that nothing has to end it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Author, CallFacts, ConnectionId, Env, Timestamp};

/// How long a claim lasts without a write of its holder, if the caller does not say.
pub const LEASE_SECONDS_DEFAULT: u32 = 30 * 60;
/// How long it may last.
pub const LEASE_SECONDS_MAX: u32 = 86_400;

const MS_PER_SECOND: i64 = 1_000;

/// The claim of an agent on a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TaskClaim {
    /// The holder, with the connection if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionId>,
    /// When the holder took the task.
    pub since: Timestamp,
    /// When the holder last wrote to the task.
    pub renewed_at: Timestamp,
    pub lease_seconds: u32,
    /// Where the holder works, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

impl TaskClaim {
    /// When it lapses unless its holder writes before.
    pub fn until(&self) -> Timestamp {
        Timestamp(self.renewed_at.0 + i64::from(self.lease_seconds) * MS_PER_SECOND)
    }

    /// Whether it has not lapsed.
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        now < self.until()
    }

    pub fn is_held_by(&self, call: &CallFacts) -> bool {
        call.comes_from(self.by.as_ref(), self.connection.as_ref())
    }

    /// Whether the task is another agent's now.
    pub fn is_of_another(&self, env: &Env) -> bool {
        self.is_in_force(env.now) && !self.is_held_by(&env.call)
    }

    /// The holder in messages.
    pub fn holder(&self) -> &str {
        holder(self.by.as_ref())
    }

    /// How long the holder has had the task, in seconds.
    pub fn age_seconds(&self, now: Timestamp) -> i64 {
        (now.0 - self.since.0).max(0) / MS_PER_SECOND
    }
}

fn holder(by: Option<&Author>) -> &str {
    by.map_or("an unnamed caller", |by| by.name.as_str())
}

/// A claim in views.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ClaimView {
    /// The holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Author>,
    /// The holder's connection: two processes of one program have different ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection: Option<ConnectionId>,
    /// When the holder took the task.
    pub claimed_at_ms: i64,
    /// When the claim lapses unless the holder writes before.
    pub lapses_at_ms: i64,
    /// How long the holder has had it, in seconds, where the view knows the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age_seconds: Option<i64>,
    /// Whether it has lapsed, where the view knows the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lapsed: Option<bool>,
    /// Where the holder works. Not shown: only whether work was left there matters to others.
    #[serde(skip)]
    pub directory: Option<String>,
}

impl ClaimView {
    /// The claim at any time.
    pub fn of(claim: &TaskClaim) -> Self {
        Self {
            by: claim.by.clone(),
            connection: claim.connection.clone(),
            claimed_at_ms: claim.since.0,
            lapses_at_ms: claim.until().0,
            age_seconds: None,
            lapsed: None,
            directory: claim.directory.clone(),
        }
    }

    /// The holder in messages.
    pub fn holder(&self) -> &str {
        holder(self.by.as_ref())
    }

    /// The claim at this moment.
    pub fn at(claim: &TaskClaim, now: Timestamp) -> Self {
        Self {
            age_seconds: Some(claim.age_seconds(now)),
            lapsed: Some(!claim.is_in_force(now)),
            ..Self::of(claim)
        }
    }
}
