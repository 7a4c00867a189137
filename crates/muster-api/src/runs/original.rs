//! What a person typed, where it holds a secret that the log must not have (RUNS-SEC-6).

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

/// A text to keep beside the log until its turn has answered.
pub(super) struct Original {
    pub(super) of: OriginalOf,
    pub(super) text: String,
}

impl Original {
    /// A message that holds a secret. It has its id before it is sent, because what was typed is
    /// kept under it.
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

    /// The goal that is set, if it holds a secret.
    pub(super) fn of_goal(fields: &RunFields) -> Option<Self> {
        let goal = fields.goal.as_ref()?.as_ref()?;
        redact::text(goal).map(|_| Self { of: OriginalOf::Goal, text: goal.clone() })
    }

    /// Keeps it; an input whose original cannot be kept is refused.
    pub(super) fn keep(&self, driver: &Runs, run: RunId) -> RunTold<()> {
        driver.keep_original(run, self.of, &self.text).map_err(|error| {
            let action = "kept what was typed";
            StoreError::Engine { action, cause: error.to_string() }.into()
        })
    }

    /// Forgets it, because nothing came of it.
    pub(super) fn forget(&self, driver: &Runs, run: RunId) {
        driver.forget_original(run, self.of);
    }
}
