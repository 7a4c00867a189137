//! Reports that Muster writes in its own name.

use std::sync::Arc;

use muster_core::run::{
    Ask,
    artifact::{ArtifactKind, WrittenFile},
    command::CloseTurn,
    id::{NodeId, RunId},
    record::{LoopEvidence, Run},
    rights,
};
use serde::Serialize;

use super::{finish::write, shared::RunsContext};

/// `stall.report.json`.
pub(crate) async fn stall(shared: &Arc<RunsContext>, run: RunId, evidence: &LoopEvidence) {
    let Some(file) = report(shared, run, "stall.report.json", evidence) else { return };
    let node = NodeId::RUNTIME;
    let file = Box::new(file);
    shared.report(run, Ask::RecordArtifact { node, turn: None, file }).await;
}

/// Writes a report as JSON.
pub(crate) fn report(
    shared: &RunsContext,
    run: RunId,
    name: &str,
    content: &impl Serialize,
) -> Option<WrittenFile> {
    let text = serde_json::to_string_pretty(content).ok()?;
    write(shared, run, ArtifactKind::Report, (name, &super::finish::redacted(text)))
}

/// The result of a documentation turn.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DocsSync<'a> {
    has_changes: bool,
    files_changed: &'a [String],
    docs_changed: Vec<&'a String>,
    summary: &'a str,
}

/// `docs.sync.json` (RUNS-PH-4).
pub(crate) fn docs_sync(shared: &RunsContext, run: &Run, close: &CloseTurn) -> Option<WrittenFile> {
    let metadata = close.diff.as_ref().and_then(|diff| diff.diff.as_ref())?;
    let files = &metadata.files_changed;
    let content = DocsSync {
        has_changes: !files.is_empty(),
        files_changed: files,
        docs_changed: files.iter().filter(|path| rights::is_docs(run, path)).collect(),
        summary: &metadata.summary,
    };
    report(shared, run.id, "docs.sync.json", &content)
}
