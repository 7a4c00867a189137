//! What a person does with the changes of a run: takes them back, or makes a branch of them.

use std::sync::Arc;

use muster_core::run::{
    Ask,
    artifact::ArtifactKind,
    id::{ArtifactId, NodeId, RunId},
    lookup,
};

use super::{
    diff::net::{self, NotReverted},
    finish::write,
    shared::{AskError, RunsContext},
    worktree::{self, MadeBranch},
};

/// Characters of the subject of a commit.
const SUBJECT_CHARS_MAX: usize = 72;

/// Files that were put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertedFiles {
    pub files: Vec<String>,
    /// The patch that makes the changes again; absent if it could not be kept.
    pub patch: Option<ArtifactId>,
}

pub(crate) async fn revert(
    shared: &Arc<RunsContext>,
    run: RunId,
    node: Option<NodeId>,
    paths: &[String],
) -> Result<Result<RevertedFiles, NotReverted>, AskError> {
    let Reverted { files, patch } = match reverted(shared, run, node, paths).await? {
        Ok(reverted) => reverted,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let kept = write(shared, run, ArtifactKind::Log, ("reverted.patch", &patch));
    let id = kept.as_ref().map(|file| file.id);
    if let Some(file) = kept {
        let node = node.unwrap_or(NodeId::RUNTIME);
        let ask = Ask::RecordArtifact { node, turn: None, file: Box::new(file) };
        shared.submit(run, ask).await?;
    }
    Ok(Ok(RevertedFiles { files, patch: id }))
}

/// What was reverted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reverted {
    files: Vec<String>,
    /// The patch that makes the changes again.
    patch: String,
}

/// Puts files back to what they were before the run, if nothing but the run has changed them.
async fn reverted(
    shared: &Arc<RunsContext>,
    run: RunId,
    node: Option<NodeId>,
    paths: &[String],
) -> Result<Result<Reverted, NotReverted>, AskError> {
    let changes = net::changes(shared, run).await?;
    let made = async {
        let changed = changes.of(node)?;
        let chosen = changed.chosen(paths)?;
        if changed.running {
            return Err(NotReverted::Running);
        }
        let outside = chosen.iter().filter(|file| file.changed_outside);
        let outside: Vec<String> = outside.map(|file| file.path.clone()).collect();
        if !outside.is_empty() {
            return Err(NotReverted::Outside(outside));
        }
        let names: Vec<&str> = chosen.iter().map(|file| file.path.as_str()).collect();
        let patch = net::patch_of(shared, run, changed, &names).await?;
        net::restore(shared, run, changed, &names).await?;
        let files = names.into_iter().map(str::to_owned).collect();
        Ok(Reverted { files, patch })
    };
    Ok(made.await)
}

pub(crate) async fn make_branch(
    shared: &Arc<RunsContext>,
    run: RunId,
    node: Option<NodeId>,
    name: &str,
) -> Result<Result<MadeBranch, NotReverted>, AskError> {
    let changes = net::changes(shared, run).await?;
    let changed = match changes.of(node) {
        Ok(changed) => changed.clone(),
        Err(refusal) => return Ok(Err(refusal)),
    };
    let record = shared.view(run, |docs| Ok(lookup::run(docs)?.clone())).await?;
    let subject: String = muster_core::text::one_line(&record.name).collect();
    let subject = muster_core::text::cut(&subject, SUBJECT_CHARS_MAX);
    let message = match &record.goal {
        Some(goal) => format!("{subject}\n\n{goal}"),
        None => subject,
    };
    let files: Vec<String> = changed.files.into_iter().map(|file| file.path).collect();
    let name = name.to_owned();
    let made = crate::background::blocking(move || {
        worktree::make_branch(&changed.directory, &files, (&name, &message))
    });
    Ok(match made.await {
        Ok(made) => made.map_err(NotReverted::Impossible),
        Err(error) => Err(NotReverted::Impossible(error.to_string())),
    })
}
