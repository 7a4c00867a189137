//! What a node may write, compared with what it wrote (RUNS-MODE-5).

use super::{
    artifact::WrittenFile,
    event::{ViolationFound, ViolationRule},
    node::Node,
    record::{GlobalMode, Phase, Run},
    turn::NodeTurn,
};

/// Whether a path counts as documentation.
pub fn is_docs(run: &Run, path: &str) -> bool {
    run.docs_paths.iter().any(|docs| {
        let docs = docs.trim_end_matches('/');
        path == docs
            || docs == "."
            || path.strip_prefix(docs).is_some_and(|rest| rest.starts_with('/'))
    })
}

fn changed(diff: Option<&WrittenFile>) -> &[String] {
    diff.and_then(|file| file.diff.as_ref()).map_or(&[], |diff| &diff.files_changed)
}

/// Whether a diff changes anything besides documentation.
pub(super) fn touches_code(run: &Run, diff: Option<&WrittenFile>) -> bool {
    changed(diff).iter().any(|path| !is_docs(run, path))
}

/// What a turn changed without the right to. If others worked in the same directory at the same
/// time, the author of a change is unknown, and no node is blamed.
pub(super) fn violation(
    run: &Run,
    node: &Node,
    turn: &NodeTurn,
    diff: Option<&WrittenFile>,
) -> Option<ViolationFound> {
    let overlaps =
        diff.and_then(|file| file.diff.as_ref()).is_some_and(|diff| !diff.overlap_turns.is_empty());
    if overlaps {
        return None;
    }
    let rights = turn.effective;
    let forbidden = |path: &&String| match is_docs(run, path) {
        true => !rights.write_docs && !rights.write_code,
        false => !rights.write_code,
    };
    let paths: Vec<String> = changed(diff).iter().filter(forbidden).cloned().collect();
    let rule = if run.phase == Phase::DocsSync {
        ViolationRule::DocsSyncWrite
    } else if node.capabilities.delegate_only {
        ViolationRule::DelegateOnly
    } else if run.global_mode == GlobalMode::Planning && node.capabilities.write_code {
        ViolationRule::PlanningWrite
    } else {
        ViolationRule::CapabilityWrite
    };
    (!paths.is_empty()).then_some(ViolationFound { rule, paths })
}
