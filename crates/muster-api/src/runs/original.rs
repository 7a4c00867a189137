//! What a person typed, if it has a secret that the log must not have (RUNS-SEC-6).

use muster_agents::{OriginalOf, Runs};
use muster_core::{
    Timestamp, redact,
    run::{
        command::RunFields,
        id::{ItemId, RunId},
    },
};
use muster_store::StoreError;

use super::{RunTold, seed};

/// A text that is kept beside the log until its turn has ended.
pub(super) struct Original {
    pub(super) of: OriginalOf,
    pub(super) text: String,
}

impl Original {
    /// A message with a secret. It gets its id before it is sent, because the original is
    /// stored under it.
    pub(super) fn of_message(
        content: &str,
        id: &mut Option<ItemId>,
        now: Timestamp,
    ) -> Result<Option<Self>, StoreError> {
        if redact::text(content).is_none() {
            return Ok(None);
        }
        let item = ItemId(seed()?.mint(now).fresh());
        *id = Some(item);
        Ok(Some(Self { of: OriginalOf::Input(item), text: content.to_owned() }))
    }

    /// The new goal, if it has a secret.
    pub(super) fn of_goal(fields: &RunFields) -> Option<Self> {
        let goal = fields.goal.as_ref()?.as_ref()?;
        redact::text(goal).map(|_| Self { of: OriginalOf::Goal, text: goal.clone() })
    }

    /// Stores it; an input whose original cannot be stored is refused.
    pub(super) fn keep(&self, driver: &Runs, run: RunId) -> RunTold<()> {
        driver.keep_original(run, self.of, &self.text).map_err(|error| {
            let action = "stored what was typed";
            StoreError::Engine { action, cause: error.to_string() }.into()
        })
    }

    /// Deletes it, because the change failed.
    pub(super) fn forget(&self, driver: &Runs, run: RunId) {
        driver.forget_original(run, self.of);
    }
}
