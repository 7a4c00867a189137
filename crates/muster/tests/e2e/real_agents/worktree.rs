//! An agent that works in a worktree of its own.

use std::{fs, process::Output};

use muster_testkit::model::Step;
use serde_json::json;

use super::{cli::Cli, stage::Stage};
use crate::program::{muster, stderr};

/// What the agent writes is nowhere else until it is merged; a merge is refused while the user has
/// changed the same file, and touches nothing of theirs otherwise.
pub(super) fn work_in_a_worktree_is_merged_and_the_user_s_edits_stay(cli: Cli) {
    let isolated = json!({"settings": {"isolation": "worktree"}});
    let mut stage = Stage::open_with(cli, "skip", (isolated, json!({})));
    let command = "echo more >> README.md && echo made > made.txt";
    stage.say("work", vec![Step::shell(command), Step::say("Done.")]);
    stage.completed();
    let worked = stage.shown()["workdir"].as_str().unwrap().to_owned();
    assert_ne!(worked, stage.file("").display().to_string().trim_end_matches('/'));
    assert!(!stage.file("made.txt").exists(), "{}", stage.story());
    let merge = |stage: &Stage, words: &[&str]| -> Output {
        let mut command = muster(&["worktrees", "merge", cli.name()]);
        let command = command.args(words).arg("--storage-dir").arg(stage.server.storage_dir());
        command.output().unwrap()
    };
    fs::write(stage.file("README.md"), "# My project\n").unwrap();
    let refused = merge(&stage, &[]);
    assert!(!refused.status.success(), "the user has changed the same file");
    assert!(stderr(&refused).contains("README.md"), "{}", stderr(&refused));
    assert!(!stage.file("made.txt").exists());
    fs::write(stage.file("README.md"), "# Project\n").unwrap();
    fs::write(stage.file("own.txt"), "mine\n").unwrap();
    let checked = merge(&stage, &["--check"]);
    assert!(checked.status.success(), "{}", stderr(&checked));
    assert!(!stage.file("made.txt").exists());
    let merged = merge(&stage, &[]);
    assert!(merged.status.success(), "{}", stderr(&merged));
    let text = |name| fs::read_to_string(stage.file(name)).unwrap_or_default();
    assert_eq!((text("made.txt").as_str(), text("own.txt").as_str()), ("made\n", "mine\n"));
    assert_eq!(text("README.md"), "# Project\nmore\n");
    stage.close();
}
