//! Context packs that are sent with work (RUNS-PACK).

use std::{io::Read as _, path::PathBuf, sync::Arc};

use muster_core::{
    Documents,
    run::{
        RunAggregate as Room,
        artifact::{ArtifactKind, WrittenFile},
        id::{ArtifactId, NodeId, RunId},
        lookup,
        moment::Moment,
        pack::{self, DocRef, PackSource, PackTask, PackTree, RepoFacts},
        record::Run,
    },
    session::{SessionAggregate, SessionId, view::compiled},
};

use super::{
    artifacts::ArtifactDraft,
    bound,
    finish::redacted,
    repository,
    shared::RunsContext,
    tools::{PathPurpose, Workdir},
};

/// Share of the remaining room for the text of the tree: quotes and line ends take two characters
/// in JSON.
const TREE_PERCENT: usize = 80;
/// Characters of everything but the text: names, hashes and the rule.
const TREE_KEYS_CHARS: usize = 350;

/// Characters of a document's excerpt.
const EXCERPT_CHARS_MAX: usize = 1_200;
/// Upper limit of the bytes of an excerpt, and a few more to detect that it was cut.
const EXCERPT_BYTES_MAX: u64 = 4 * EXCERPT_CHARS_MAX as u64 + 16;
/// Documents of which excerpts are taken.
const DOCS_MAX: usize = 3;

/// Builds and writes the pack of what a node knows; `None` when it cannot be written.
pub(crate) async fn build(
    shared: &Arc<RunsContext>,
    run: RunId,
    node: NodeId,
) -> Option<WrittenFile> {
    let known = move |docs: &Documents<Room>| {
        Ok((lookup::find_run(docs)?.cloned(), lookup::find_node(docs, node)?.cloned()))
    };
    let Ok((Some(record), Some(sender))) = shared.view(run, known).await else { return None };
    let task = bound::task(shared, &record, &sender).await;
    let id = ArtifactId(shared.fresh());
    let source = PackSource {
        id,
        now: Moment(shared.engine.now()),
        task: task.map(|task| PackTask {
            workspace: task.workspace,
            id: task.id,
            capsule: task.capsule,
        }),
        repo_facts: facts(&record.cwd, &sender.workdir).await,
        docs: excerpts(shared, &record).await,
    };
    let begin = move |docs: &Documents<Room>| {
        let Some(sender) = lookup::find_node(docs, node)? else { return Ok(None) };
        Ok(pack::begin(docs, sender, source.clone())?)
    };
    let builder = shared.view(run, begin).await.ok().flatten()?;
    let tree = tree(shared, &sender.muster_session_id.to_string(), builder.left()).await;
    let pack = builder.finish(tree);
    let text = redacted(serde_json::to_string(&pack).ok()?);
    let kind = ArtifactKind::Contextpack;
    let content = text.as_bytes();
    let draft = ArtifactDraft { kind, name: "contextpack.json", content, diff: None };
    shared.files.write(run, id, draft).ok()
}

/// Facts about the repository; few without one.
async fn facts(cwd: &str, workdir: &str) -> RepoFacts {
    let known = repository::facts(std::path::Path::new(workdir)).await.ok();
    RepoFacts {
        cwd: cwd.to_owned(),
        workdir: workdir.to_owned(),
        branch: known.as_ref().and_then(|facts| facts.branch.clone()),
        head: known.as_ref().and_then(|facts| facts.head.clone()),
        changed_files: known.map(|facts| facts.changed_files),
    }
}

/// The context tree of the sender as text, with room for what JSON adds to it (RUNS-TIE-5).
async fn tree(shared: &Arc<RunsContext>, session: &str, left: usize) -> Option<PackTree> {
    let stream = SessionId::of(session)?.stream();
    let left = left.saturating_sub(TREE_KEYS_CHARS);
    let max_chars = u64::try_from(left * TREE_PERCENT / 100).ok().filter(|max| *max > 0)?;
    let shared = Arc::clone(shared);
    let read = move || {
        let view = |docs: &Documents<SessionAggregate>| compiled(docs, Some(max_chars));
        shared.engine.read::<SessionAggregate, _>(&stream, view).ok()
    };
    crate::background::blocking(read).await.ok().flatten().map(PackTree::from)
}

/// Excerpts of the documents that a reader would open first. Agents may have created them: only
/// regular files are read.
async fn excerpts(shared: &Arc<RunsContext>, run: &Run) -> Vec<DocRef> {
    let mut names = vec!["README.md".to_owned()];
    for path in &run.docs_paths {
        names.extend(["README.md", "ARCHITECTURE.md"].map(|name| format!("{path}/{name}")));
    }
    let cwd = PathBuf::from(&run.cwd);
    let home = shared.settings.home.clone();
    let read = move || {
        let workdir = Workdir::open(&cwd, &home)?;
        let read = |path: String| {
            let excerpt = excerpt(&workdir, &path)?;
            Some(DocRef { path, excerpt })
        };
        Ok(names.into_iter().filter_map(read).take(DOCS_MAX).collect())
    };
    shared.file_calls.perform(run.id, read).await.unwrap_or_default()
}

fn excerpt(workdir: &Workdir, path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let file = workdir.file(path, PathPurpose::Look).ok()?;
    file.take(EXCERPT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(muster_core::text::cut(&String::from_utf8_lossy(&bytes), EXCERPT_CHARS_MAX))
}
