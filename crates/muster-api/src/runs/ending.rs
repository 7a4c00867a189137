//! The outcome of a run, with the checks of its last verification.

use muster_core::{
    Json,
    run::{
        id::{ArtifactId, RunId},
        lookup,
        view::ending::{self, JudgedCheck, RunEnding},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RunDesk, RunTold, files::PIECE_BYTES_MAX};

/// The outcome of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct EndingAnswer {
    pub ending: RunEnding,
}

/// The part of a verification report that is shown.
#[derive(Deserialize)]
struct VerificationFile {
    #[serde(default)]
    checks: Vec<JudgedCheck>,
}

impl RunDesk<'_> {
    /// The outcome of a run, as if it ended now if it is still going on.
    pub fn ending(self, run: RunId) -> RunTold<Json> {
        let report = self.read(run, |docs| {
            Ok(lookup::run(docs)?.verification.as_ref().map(|last| last.artifact_id))
        })?;
        let checks = report.map_or_else(Vec::new, |report| self.checks_of(run, report));
        let ending = self.read(run, |docs| ending::ending(docs, checks.clone()))?;
        Ok(Json::of(&EndingAnswer { ending }))
    }

    /// The checks of a report; none if its file is gone, which the page says elsewhere.
    fn checks_of(self, run: RunId, report: ArtifactId) -> Vec<JudgedCheck> {
        let read = self
            .artifact(run, report)
            .and_then(|artifact| self.chunk(&artifact, 0, PIECE_BYTES_MAX));
        let file = match read {
            Ok(piece) => serde_json::from_slice::<VerificationFile>(&piece.bytes),
            Err(fault) => {
                tracing::debug!(%run, detail = fault.detail, "no verification report can be read");
                return Vec::new();
            }
        };
        match file {
            Ok(file) => file.checks,
            Err(error) => {
                tracing::warn!(%run, %error, "a verification report cannot be read");
                Vec::new()
            }
        }
    }
}
