//! The list of runs: newest change first, page by page.

use muster_core::{
    Json,
    access::WorkspaceGlob,
    run::{
        RunAggregate, RunDocument, RunRejection,
        id::RunId,
        lookup,
        record::RunStatus,
        view::snapshot::{self, ArtifactExtent, Extent, SnapshotRequest},
    },
};
use muster_engine::ExecuteError;
use muster_store::{CatalogueQuery, StoreError};

use super::{RunDesk, RunTold, answers::RunsAnswer, history::ListEnd, scope::is_bound_within};
use crate::catalogue::{self, StreamCursor};

/// The filter of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsRequest {
    pub status: Option<RunStatus>,
    /// At most this many.
    pub limit: u32,
    pub after: Option<RunCursor>,
    /// How much of each run.
    pub extent: Extent,
    /// Only runs that are bound to one of these.
    pub workspaces: WorkspaceGlob,
}

/// A position among runs: a number, by which they are listed or which counts inside of one, and the
/// run. In this list it is the time of the run's last change.
pub type RunCursor = StreamCursor<RunId>;

impl RunDesk<'_> {
    /// A page of the list.
    pub fn list(self, request: &RunsRequest) -> RunTold<Json> {
        let mut after = request.after;
        let mut found: Vec<(RunCursor, Json)> = Vec::new();
        let wanted = request.limit as usize;
        while found.len() <= wanted {
            let places = self.places(after, request.limit.saturating_add(1))?;
            let Some(last) = places.last() else { break };
            after = Some(*last);
            for place in places {
                if let Some(run) = self.shown(place.of, request)? {
                    found.push((place, run));
                }
            }
        }
        let more = found.len() > wanted;
        found.truncate(wanted);
        let page = ListEnd::at(found.last().filter(|_| more).map(|(place, _)| place));
        let runs: Vec<Json> = found.into_iter().map(|(_, run)| run).collect();
        Ok(Json::of(&RunsAnswer { runs, page }))
    }

    /// The ids of all runs, newest change first.
    pub(super) fn all(self) -> RunTold<Vec<RunId>> {
        let query = CatalogueQuery { kind: "pulse", below: None, limit: None };
        let found = self.engine().catalogue::<RunAggregate>(&query)?;
        Ok(found.iter().filter_map(|(stream, _)| RunId::of_stream(stream)).collect())
    }

    /// The next runs after a position. Runs that changed in the same millisecond are ordered by
    /// their id.
    fn places(self, after: Option<RunCursor>, about: u32) -> Result<Vec<RunCursor>, StoreError> {
        let page = (after.as_ref(), about);
        let found = catalogue::next::<RunAggregate, RunId>(self.engine(), "pulse", page, place)?;
        Ok(found.into_iter().map(|(place, _)| place).collect())
    }

    /// A run as the list shows it; `None` if it is filtered out, or was just deleted.
    fn shown(self, run: RunId, request: &RunsRequest) -> RunTold<Option<Json>> {
        let artifacts = match request.extent {
            Extent::Full => ArtifactExtent::All,
            Extent::Summary | Extent::List => ArtifactExtent::None,
        };
        let wanted = SnapshotRequest { extent: request.extent, artifacts };
        let layout = self.layout(run)?;
        let read = self.engine().read::<RunAggregate, Option<Json>>(&run.stream(), |docs| {
            let run = lookup::run(docs)?;
            let status = run.status;
            if !is_bound_within(&request.workspaces, run.workspace.as_deref()) {
                return Ok(None);
            }
            if request.status.is_some_and(|wanted| wanted != status) {
                return Ok(None);
            }
            snapshot::snapshot(docs, wanted, &layout).map(Some)
        });
        match read {
            Err(ExecuteError::Rejected(rejection)) if *rejection == RunRejection::UnknownRun => {
                Ok(None)
            }
            other => Ok(other?),
        }
    }
}

fn place(stream: &str, document: &RunDocument) -> Option<RunCursor> {
    let of = RunId::of_stream(stream)?;
    let RunDocument::Pulse(pulse) = document else { return None };
    let at = u64::try_from(pulse.updated_at.ms()).unwrap_or(0);
    Some(RunCursor { at, of })
}
