//! Changes to a run that a caller makes in its own transaction, for example over several streams:
//! the lane of the run exists before, and reads the log once they are durable.

use muster_core::run::id::RunId;
use tokio::sync::mpsc::UnboundedSender;

use super::{AskError, Runs, lane::LaneOrder};

/// A run that is followed while it is changed.
pub struct Attended {
    runs: Runs,
    run: RunId,
    lane: UnboundedSender<LaneOrder>,
}

impl Runs {
    /// Follows a run from now on. Whatever is written after this is performed, once
    /// [`Attended::changed`] reports it.
    pub fn attend(&self, run: RunId) -> Result<Attended, AskError> {
        Ok(Attended { runs: self.clone(), run, lane: self.shared.lane(run)? })
    }
}

impl Attended {
    /// The change is durable.
    pub fn changed(self) {
        if self.lane.send(LaneOrder::Look).is_err() {
            tracing::debug!(run = %self.run, "the lane of the run is closed");
        }
    }

    /// The run was not created: there is nothing to follow.
    pub fn abandoned(self) {
        self.runs.shared.forget_lane(self.run);
    }
}
