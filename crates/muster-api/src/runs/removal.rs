//! Deletes a run: turns in flight end first, then the run is forgotten.

use std::{
    thread::sleep,
    time::{Duration, Instant},
};

use muster_core::{
    Draft, Json,
    run::{Ask, RunAggregate, RunCommand, edge::Actor, id::RunId, lookup},
};

use super::{RunDesk, RunTold, answers::RunGone, seed};

/// How long turns may take to end; after that the run is not deleted.
const TURNS_END_WITHIN: Duration = Duration::from_secs(15);
/// Interval of the checks whether they have ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl RunDesk<'_> {
    /// Deletes a run; its id is never used again.
    pub fn delete(self, run: RunId) -> RunTold<Json> {
        let deadline = Instant::now() + TURNS_END_WITHIN;
        let ended = Ask::DeleteRun;
        while !self.forget(run, ended.clone(), Instant::now() > deadline)? {
            sleep(LOOK_EVERY);
        }
        Ok(Json::of(&RunGone { run_id: run }))
    }

    /// Ends turns in flight and forgets the run if none is left; uses force at last.
    fn forget(self, run: RunId, first: Ask, insist: bool) -> RunTold<bool> {
        let command =
            |ask| Ok::<_, super::RunFault>(RunCommand { by: Actor::USER, seed: seed()?, ask });
        let end = command(first)?;
        let forget = command(Ask::RemoveRun)?;
        let work = move |draft: &mut Draft<'_, RunAggregate>| {
            draft.apply(&end)?;
            let rests = lookup::pulse(draft.documents())?.active_turns == 0;
            if rests || insist {
                draft.apply(&forget)?;
            }
            Ok(rests || insist)
        };
        Ok(self.engine().execute::<RunAggregate, bool>(run.stream(), work)?)
    }
}
