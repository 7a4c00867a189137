//! Recording files that were written.

use crate::run::{
    RunFact,
    artifact::{Artifact, ArtifactMetadata, WrittenFile},
    draft::RunDraft,
    event::ArtifactCreated,
    id::NodeId,
    lookup::{self, Found},
};

/// Records a file of a node, in the turn of the story; the runtime's belong to the run.
pub(super) fn record(story: &mut RunDraft, node: NodeId, file: &WrittenFile) -> Found<()> {
    let artifact = Artifact {
        id: file.id,
        run_id: story.run()?.id,
        node_id: node,
        turn_id: story.turn(),
        kind: file.kind,
        name: file.name.clone(),
        path: file.path.clone(),
        created_at: story.now(),
        size: file.size,
        sha256: file.sha256.clone(),
        content_type: file.content_type.clone(),
        truncated: file.truncated,
        metadata: ArtifactMetadata { diff: file.diff.clone() },
        number: lookup::pulse(story.docs())?.artifacts + 1,
    };
    let fact = RunFact::ArtifactCreated(ArtifactCreated { artifact });
    if node.is_runtime() { story.tell(fact) } else { story.tell_of(node, fact) }
}
