//! Where nodes with their own worktrees work, and that they work nowhere else.

use std::path::Path;

use muster_core::run::{
    Ask,
    command::{SettingsPatch, StatusWish},
    id::NodeId,
    node::NodeStatus,
    settings::Isolation,
    turn::TurnReason,
};

use super::{Stage, create_with, git, input, with_settings};

async fn isolated() -> Stage {
    let patch = SettingsPatch { isolation: Some(Isolation::Worktree), ..SettingsPatch::default() };
    Stage::set_with(|_| {}, with_settings(patch)).await
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_diff_6_nodes_that_came_together_have_a_worktree_each() {
    let mut stage = isolated().await;
    let labels = ["one", "two", "three"];
    let patch = SettingsPatch { isolation: Some(Isolation::Worktree), ..SettingsPatch::default() };
    let nodes = labels.iter().map(|label| input(label)).collect();
    stage.run = create_with(&stage.runs, &stage.work(), with_settings(patch), nodes);
    stage.until("the run works", super::running).await;
    let nodes: Vec<NodeId> = stage.nodes().iter().map(|node| node.id).collect();
    for node in &nodes {
        stage.say(*node, "run echo mine > own.txt; final done");
        assert_eq!(stage.ended(*node, 1).await[0].reason, Some(TurnReason::Done));
        assert!(Path::new(&stage.node(*node).workdir).join("own.txt").exists());
    }
    assert_eq!(entries(&stage.work()), [".git", "first.txt"]);
    let branches = git(&stage.work(), &["branch", "--list", "muster/*"]);
    assert_eq!(branches.lines().count(), nodes.len(), "{branches}");
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_diff_6_a_worktree_that_was_removed_is_made_again_for_the_next_turn() {
    let stage = isolated().await;
    let node = stage.add("worker", "implementer");
    stage.say(node, "final one");
    stage.ended(node, 1).await;
    let folder = stage.node(node).workdir;
    let made = |name: &str| Path::new(&folder).join(name).exists();
    let branch = git(Path::new(&folder), &["symbolic-ref", "--short", "HEAD"]);
    // As `worktrees remove` does it, while the program of the node lives on.
    git(&stage.work(), &["worktree", "remove", &folder]);
    git(&stage.work(), &["branch", "--delete", branch.trim()]);
    stage.say(node, "run echo mine > two.txt; final two");
    assert_eq!(stage.ended(node, 2).await[1].reason, Some(TurnReason::Done));
    assert!(made("first.txt") && made("two.txt"), "{:?}", entries(Path::new(&folder)));
    // By hand, without git, and with work on the branch.
    git(Path::new(&folder), &["add", "."]);
    git(Path::new(&folder), &["commit", "--quiet", "-m", "two"]);
    std::fs::remove_dir_all(&folder).unwrap();
    let stage = stage.restart().await;
    stage.wish(StatusWish::Running);
    stage.say(node, "run echo mine > three.txt; final three");
    assert_eq!(stage.ended(node, 3).await[2].reason, Some(TurnReason::Done));
    assert!(made("two.txt") && made("three.txt"), "{:?}", entries(Path::new(&folder)));
    // A node that needs none any more goes back to the run's directory.
    std::fs::remove_dir_all(&folder).unwrap();
    let patch = SettingsPatch { isolation: Some(Isolation::Shared), ..SettingsPatch::default() };
    stage.ask(Ask::EditRun(Box::new(with_settings(patch))));
    stage.say(node, "run echo mine > four.txt; final four");
    stage.ended(node, 4).await;
    assert_eq!(entries(&stage.work()), [".git", "first.txt", "four.txt"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_diff_6_no_turn_begins_before_its_worktree_can_be_made() {
    let stage = isolated().await;
    std::fs::rename(stage.work().join(".git"), stage.dir.path().join("kept")).unwrap();
    let node = stage.add("worker", "implementer");
    stage.say(node, "run echo mine > own.txt; final done");
    let turns = stage.ended(node, 1).await;
    assert_eq!((turns[0].reason, turns[0].sent), (Some(TurnReason::WorktreeFailed), false));
    let detail = turns[0].detail.clone().unwrap();
    assert!(detail.contains("no git repository") && detail.contains("isolation"), "{detail}");
    assert_eq!((stage.node(node).status, stage.node(node).inbox_count), (NodeStatus::Failed, 1));
    let waits = stage.runs.attention().unwrap();
    assert_eq!((waits.len(), waits[0].kind.name()), (1, "node_failed"));
    let title = &waits[0].title;
    assert!(
        title.starts_with("worker: its worktree could not be made: the run's directory"),
        "{title}"
    );
    assert_eq!(entries(&stage.work()), ["first.txt"]);
    // A repository without a commit is not enough.
    git(&stage.work(), &["init", "--quiet"]);
    stage.ask(Ask::StartNode { node });
    let detail = stage.ended(node, 2).await[1].detail.clone().unwrap();
    assert!(detail.contains("no commit yet"), "{detail}");
    git(&stage.work(), &["add", "."]);
    git(&stage.work(), &["commit", "--quiet", "-m", "first"]);
    stage.ask(Ask::StartNode { node });
    assert_eq!(stage.ended(node, 3).await[2].reason, Some(TurnReason::Done));
    assert!(Path::new(&stage.node(node).workdir).join("own.txt").exists());
    assert_eq!(entries(&stage.work()), [".git", "first.txt"]);
}
