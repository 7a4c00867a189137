//! Changes of a run that a caller makes in a transaction of its own, such as one over several
//! streams: the lane of the run is there before, and looks when they are durable.

use muster_core::run::id::RunId;
use tokio::sync::mpsc::UnboundedSender;

use super::{AskError, Runs, lane::LaneOrder};

/// A run that is looked after while it is changed.
pub struct Attended {
    runs: Runs,
    run: RunId,
    lane: UnboundedSender<LaneOrder>,
}

impl Runs {
    /// Looks after a run from now on. Whatever is written behind this is performed, once
    /// [`Attended::changed`] says that it is there.
    pub fn attend(&self, run: RunId) -> Result<Attended, AskError> {
        Ok(Attended { runs: self.clone(), run, lane: self.shared.lane(run)? })
    }
}

impl Attended {
    /// The change is durable.
    pub fn changed(self) {
        if self.lane.send(LaneOrder::Look).is_err() {
            tracing::debug!(run = %self.run, "nobody follows the run any more");
        }
    }

    /// The run did not come to be: nothing has to be looked after.
    pub fn abandoned(self) {
        self.runs.shared.forget_lane(self.run);
    }
}
