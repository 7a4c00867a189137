//! Recording files that were written.

use crate::run::{
    RunFact,
    artifact::{Artifact, ArtifactMetadata, WrittenFile},
    draft::RunDraft,
    event::ArtifactCreated,
    id::{NodeId, TurnId},
    lookup::{self, Found},
};

/// Records a file of a node that belongs to this turn, or to none.
pub(crate) fn record_in_turn(
    draft: &mut RunDraft<'_>,
    node: NodeId,
    turn: Option<TurnId>,
    file: &WrittenFile,
) -> Found<()> {
    draft.in_turn(turn);
    record(draft, node, file)
}

/// Records a file of a node, in the turn of the draft; files of the runtime belong to the run.
pub(crate) fn record(draft: &mut RunDraft<'_>, node: NodeId, file: &WrittenFile) -> Found<()> {
    let artifact = Artifact {
        id: file.id,
        run_id: draft.run()?.id,
        node_id: node,
        turn_id: draft.turn(),
        kind: file.kind,
        name: file.name.clone(),
        path: file.path.clone(),
        created_at: draft.now(),
        size: file.size,
        sha256: file.sha256.clone(),
        content_type: file.content_type.clone(),
        truncated: file.truncated,
        metadata: ArtifactMetadata { diff: file.diff.clone() },
        number: lookup::pulse(draft.docs())?.artifacts + 1,
    };
    let fact = RunFact::ArtifactCreated(ArtifactCreated { artifact });
    if node.is_runtime() { draft.emit(fact) } else { draft.emit_for(node, fact) }
}
