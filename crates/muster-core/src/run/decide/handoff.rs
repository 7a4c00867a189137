//! Handoffs: those that Muster sends in its own name.

use super::inbox;
use crate::{
    ListOrder, ListQuery,
    run::{
        Document,
        artifact::{Artifact, ArtifactLink, artifact_reference},
        command::VerifyReport,
        edge::Direction,
        id::{ArtifactId, ItemId, NodeId},
        inbox::{Envelope, EnvelopeKind, EnvelopeMeta, HandoffStatus, Payload},
        limits,
        lookup::Found,
        story::Story,
    },
};

/// Artifacts that a documentation handoff names, and paths that it lists.
const CHANGES_SHOWN_MAX: u32 = 50;

/// What Muster tells a node in its own name.
struct Notice {
    message: String,
    artifacts: Vec<ArtifactLink>,
    status: Option<HandoffStatus>,
    direction: Direction,
    verify: bool,
}

/// The report of failed checks.
pub(super) fn verification(story: &mut Story, to: NodeId, report: &VerifyReport) -> Found<()> {
    let names = report.failed.join(", ");
    let notice = Notice {
        message: format!("Verification failed: {names}. The report has the output of each check."),
        artifacts: vec![link("report", report.report.id)],
        status: Some(HandoffStatus { ok: false, reason: Some("verify_failed".to_owned()) }),
        direction: Direction::Report,
        verify: true,
    };
    send(story, to, notice)
}

/// What the documentation has to catch up with (RUNS-PH-4).
pub(super) fn docs_sync(story: &mut Story, to: NodeId) -> Found<()> {
    let query = ListQuery {
        statuses: vec!["diff"],
        order: ListOrder::Descending,
        limit: Some(CHANGES_SHOWN_MAX),
        ..ListQuery::of("artifact")
    };
    let diffs: Vec<Artifact> = story
        .docs()
        .list(&query)?
        .into_iter()
        .filter_map(Document::as_artifact)
        .filter(|artifact| !changed_files(artifact).is_empty())
        .cloned()
        .collect();
    let mut files: Vec<&str> = diffs.iter().flat_map(changed_files).map(String::as_str).collect();
    files.sort_unstable();
    files.dedup();
    let docs = story.run()?.docs_paths.join(", ");
    let message = format!(
        "The work is verified. Bring the documentation in {docs} in line with it; change nothing \
         else. Changed files:\n{}",
        files.join("\n")
    );
    let notice = Notice {
        message: crate::text::cut(&message, limits::HANDOFF_CHARS_MAX),
        artifacts: diffs.iter().map(|artifact| link("diff", artifact.id)).collect(),
        status: None,
        direction: Direction::Task,
        verify: false,
    };
    send(story, to, notice)
}

fn changed_files(artifact: &Artifact) -> &[String] {
    artifact.metadata.diff.as_ref().map_or(&[], |diff| &diff.files_changed)
}

/// A link to an artifact of the run.
pub(super) fn link(kind: &str, id: ArtifactId) -> ArtifactLink {
    ArtifactLink { kind: kind.to_owned(), reference: artifact_reference(id) }
}

fn send(story: &mut Story, to: NodeId, notice: Notice) -> Found<()> {
    let envelope = Envelope {
        kind: EnvelopeKind::Handoff,
        id: ItemId(story.fresh()),
        from_node_id: NodeId::RUNTIME,
        to_node_id: to,
        created_at: story.now(),
        payload: Payload {
            message: notice.message,
            structured: None,
            artifacts: (!notice.artifacts.is_empty()).then_some(notice.artifacts),
            status: notice.status,
        },
        context_ref: None,
        meta: EnvelopeMeta {
            direction: notice.direction,
            auto: true,
            edge_id: None,
            turn_id: None,
            reply_to: None,
            verify: notice.verify,
        },
    };
    inbox::deliver(story, envelope)
}
