//! `GET /api/find`: finds anything in the store by words.

use std::sync::Arc;

use axum::extract::State;
use muster_api::{
    Json, WorkspaceId,
    find::{FindAnswer, FindRequest, FoundKind},
};
use muster_core::{SearchWords, run::id::RunId};

use super::request::{RunsReply, tell};
use crate::{
    fault::Fault,
    request::{GivenParameter, ParameterValue, Params, RowLimit, parameters},
    server_state::ServerState,
};

/// Default and maximum number of results of each kind.
const RESULTS_DEFAULT: u64 = 6;
const RESULTS_MAX: u64 = 50;

parameters! {
    pub(super) struct FindQuery {
        /// Words that must all occur, or an id.
        "q" words: SearchWords,
        /// Only work of this workspace.
        "workspace" workspace: Option<WorkspaceId>,
        /// Only what is in this run.
        "runId" run: Option<RunId>,
        /// Only these kinds, separated by commas.
        "kinds" kinds: Option<FoundKinds>,
        /// Results of each kind, at most.
        "limit" limit: RowLimit<RESULTS_DEFAULT, RESULTS_MAX>,
    }
}

impl ParameterValue for WorkspaceId {
    fn read(given: &GivenParameter<'_>, text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|_| given.must_be("the id of a workspace"))
    }
}

/// Several kinds.
pub(super) struct FoundKinds(Vec<FoundKind>);

impl ParameterValue for FoundKinds {
    fn read(given: &GivenParameter<'_>, text: &str) -> Result<Self, Fault> {
        let kind = |word: &str| {
            let found = FoundKind::ALL.iter().copied().find(|kind| kind.name() == word);
            found.ok_or_else(|| {
                let known: Vec<&str> = FoundKind::ALL.iter().map(|kind| kind.name()).collect();
                given.must_be(&format!("some of {}, separated by commas", known.join(", ")))
            })
        };
        text.split(',').map(kind).collect::<Result<_, _>>().map(Self)
    }
}

/// Finds what contains all words.
pub(super) async fn find(
    State(site): State<Arc<ServerState>>,
    Params(query): Params<FindQuery>,
) -> RunsReply<FindAnswer> {
    let FindQuery { words, workspace, run, kinds, limit } = query;
    let kinds = kinds.map_or_else(Vec::new, |kinds| kinds.0);
    let request = FindRequest { words, workspace, run, kinds, limit: limit.rows() };
    tell(&site, move |app| Ok(Json::of(&app.find(&request)?))).await
}
