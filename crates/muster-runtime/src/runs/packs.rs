//! Context packs that go with work (RUNS-PACK).

use std::sync::Arc;

use muster_core::{
    Documents,
    run::{
        Runs as Room,
        artifact::{ArtifactKind, WrittenFile},
        id::{ArtifactId, NodeId, RunId},
        lookup,
        moment::Moment,
        pack::{self, DocRef, PackTask, Source},
    },
};
use serde_json::json;

use super::{artifacts::Draft, bound, finish::redacted, shared::Shared};

/// Characters of a document's excerpt.
const EXCERPT_CHARS_MAX: usize = 1_200;
/// Documents of which excerpts are taken.
const DOCS_MAX: usize = 3;

/// Builds and writes the pack of what a node knows; `None` when it cannot be written.
pub(crate) async fn build(shared: &Arc<Shared>, run: RunId, node: NodeId) -> Option<WrittenFile> {
    let known = move |docs: &Documents<Room>| {
        Ok((lookup::find_run(docs)?.cloned(), lookup::find_node(docs, node)?.cloned()))
    };
    let Ok((Some(record), Some(sender))) = shared.view(run, known).await else { return None };
    let task = bound::task(shared, &record, &sender).await;
    let id = ArtifactId(shared.fresh());
    let source = Source {
        id,
        now: Moment(shared.engine.now()),
        task: task.map(|task| PackTask {
            workspace: task.workspace,
            id: task.id,
            capsule: task.capsule,
        }),
        repo_facts: json!({"cwd": record.cwd, "workdir": sender.workdir}),
        docs: excerpts(std::path::Path::new(&record.cwd), &record.docs_paths),
    };
    let fill = move |docs: &Documents<Room>| {
        let Some(sender) = lookup::find_node(docs, node)? else { return Ok(None) };
        let builder = pack::begin(docs, sender, source.clone())?;
        Ok(builder.map(|builder| builder.finish(None)))
    };
    let pack = shared.view(run, fill).await.ok().flatten()?;
    let text = redacted(serde_json::to_string(&pack).ok()?);
    let (kind, content) = (ArtifactKind::Contextpack, text.as_bytes());
    let draft = Draft { kind, name: "contextpack.json", content, diff: None };
    shared.files.write(run, id, draft).ok()
}

/// Beginnings of the documents that a reader would open first.
fn excerpts(cwd: &std::path::Path, docs_paths: &[String]) -> Vec<DocRef> {
    let mut names = vec!["README.md".to_owned()];
    for path in docs_paths {
        names.extend(["README.md", "ARCHITECTURE.md"].map(|name| format!("{path}/{name}")));
    }
    let read = |name: String| {
        let text = std::fs::read_to_string(cwd.join(&name)).ok()?;
        let excerpt = muster_core::text::cut(&text, EXCERPT_CHARS_MAX);
        Some(DocRef { path: name, excerpt })
    };
    names.into_iter().filter_map(read).take(DOCS_MAX).collect()
}
