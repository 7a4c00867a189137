//! Worktrees of real repositories: what is listed, what may be merged and what is never lost.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    IgnoredFiles, Merged, NodeId, NotMerged, RunId, Worktree, WorktreeState, branch,
    git::Git,
    list::{Owner, of_owner},
    of_run,
    trial::{JudgedFiles, JudgedSource, NotJudged},
};

/// A project with a commit, a storage folder, and the worktree of one node.
struct Place {
    folder: tempfile::TempDir,
}

const RUN: RunId = RunId(1);
const NODE: NodeId = NodeId(2);

impl Place {
    fn make() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(place.project()).unwrap();
        place.git(&["init", "--quiet", "--initial-branch=trunk"]);
        place.git(&["config", "user.name", "Somebody"]);
        place.git(&["config", "user.email", "somebody@example.com"]);
        fs::write(place.project().join("a.txt"), "one\n").unwrap();
        fs::write(place.project().join("b.txt"), "one\n").unwrap();
        place.git(&["add", "."]);
        place.git(&["commit", "--quiet", "-m", "begin"]);
        let worktree = place.worktree();
        let name = branch(RUN, NODE);
        place.git(&["worktree", "add", "--quiet", "-b", &name, worktree.to_str().unwrap()]);
        place
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    fn worktree(&self) -> PathBuf {
        of_run(&self.home(), RUN).join(NODE.to_string())
    }

    fn git(&self, words: &[&str]) -> String {
        Git::at(&self.project()).ask(words).unwrap()
    }

    fn only(&self) -> Worktree {
        self.all().remove(0)
    }

    fn all(&self) -> Vec<Worktree> {
        of_owner(&of_run(&self.home(), RUN), &Owner::default())
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project().join(name)).unwrap()
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

#[test]
fn the_state_says_what_would_be_lost() {
    let place = Place::make();
    assert_eq!(place.only().state, WorktreeState::Merged);
    write(&place.worktree(), "new.txt", "x");
    let dirty = WorktreeState::Dirty { changed_files: 1, commits: 0 };
    assert_eq!(place.only().state, dirty);
    assert!(place.only().remove(IgnoredFiles::Kept).unwrap_err().contains("nowhere else"));
    let git = Git::at(&place.worktree());
    git.ask(&["add", "."]).unwrap();
    git.ask(&["commit", "--quiet", "-m", "work"]).unwrap();
    let unmerged = place.only();
    assert_eq!(unmerged.state, WorktreeState::Unmerged { commits: 1 });
    assert!(unmerged.bytes > 0 && unmerged.branch.as_deref() == Some(&*branch(RUN, NODE)));
    assert!(unmerged.remove(IgnoredFiles::Kept).is_err() && place.worktree().exists());
}

#[test]
fn work_is_merged_with_what_was_not_committed_and_then_may_go() {
    let place = Place::make();
    write(&place.worktree(), "a.txt", "two\n");
    write(&place.worktree(), "new.txt", "new\n");
    // The user's changes elsewhere are theirs, and stay uncommitted.
    write(&place.project(), "b.txt", "mine\n");
    write(&place.project(), "own.txt", "mine\n");
    let Merged { files, into, .. } = place.only().preflight().unwrap();
    assert_eq!((files, into.as_str()), (vec!["a.txt".to_owned(), "new.txt".to_owned()], "trunk"));
    assert_eq!(place.read("a.txt"), "one\n", "looking touches nothing");
    assert!(place.git(&["for-each-ref", "refs/muster"]).is_empty());
    let merged = place.only().merge().unwrap();
    assert_eq!((place.read("a.txt").as_str(), place.read("new.txt").as_str()), ("two\n", "new\n"));
    assert_eq!(
        (place.read("b.txt").as_str(), place.read("own.txt").as_str()),
        ("mine\n", "mine\n")
    );
    assert_eq!(merged.commit, Some(place.git(&["rev-parse", "HEAD"])));
    let kept = place.git(&["show", &format!("{}:b.txt", merged.snapshots[1])]);
    assert_eq!(kept, "mine", "the user's side is kept as it was");
    assert_eq!(place.only().state, WorktreeState::Merged);
    assert_eq!(place.only().merge(), Err(NotMerged::Nothing));
    place.only().remove(IgnoredFiles::Kept).unwrap();
    assert!(!place.worktree().exists() && place.all().is_empty());
    assert!(place.git(&["branch", "--list", "muster/*"]).is_empty());
}

#[test]
fn a_run_in_a_part_of_a_repository_protects_all_of_it() {
    let place = Place::make();
    fs::create_dir(place.project().join("part")).unwrap();
    write(&place.worktree(), "new.txt", "theirs\n");
    write(&place.project(), "new.txt", "mine\n");
    let target = Some(place.project().join("part"));
    let worktree = Worktree { target, ..place.only() };
    assert_eq!(worktree.merge(), Err(NotMerged::Yours(vec!["new.txt".to_owned()])));
    assert_eq!(place.read("new.txt"), "mine\n");
}

#[test]
fn whatever_could_harm_the_user_is_refused_and_nothing_is_touched() {
    let place = Place::make();
    assert_eq!(place.only().merge(), Err(NotMerged::Nothing));
    write(&place.worktree(), "a.txt", "two\n");
    write(&place.project(), "a.txt", "mine\n");
    assert_eq!(place.only().merge(), Err(NotMerged::Yours(vec!["a.txt".to_owned()])));
    place.git(&["add", "a.txt"]);
    assert!(matches!(place.only().merge(), Err(NotMerged::Staged(_))));
    place.git(&["commit", "--quiet", "-m", "mine"]);
    assert_eq!(place.only().merge(), Err(NotMerged::Conflict(vec!["a.txt".to_owned()])));
    let running = Worktree { running: true, ..place.only() };
    assert_eq!(running.merge(), Err(NotMerged::Running));
    let unfinished = place.project().join(".git/MERGE_HEAD");
    fs::write(&unfinished, place.git(&["rev-parse", "HEAD"])).unwrap();
    assert!(matches!(place.only().merge(), Err(NotMerged::Unfinished(_))));
    fs::remove_file(unfinished).unwrap();
    assert_eq!(place.read("a.txt"), "mine\n");
    assert!(place.git(&["status", "--porcelain"]).is_empty());
    assert_eq!(place.only().state, WorktreeState::Dirty { changed_files: 1, commits: 0 });
}

#[test]
fn a_merge_overwrites_no_file_of_the_user_that_no_commit_knows() {
    let place = Place::make();
    let git = Git::at(&place.worktree());
    write(&place.project(), ".git/info/exclude", ".env\nown/\n");
    let work = |name: &str| {
        let file = place.worktree().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        write(&place.worktree(), name, "theirs\n");
        git.ask(&["add", "--force", "."]).unwrap();
        git.ask(&["commit", "--quiet", "-m", "work"]).unwrap();
    };
    let refused = |file: &str| {
        let refusal = Err(NotMerged::Yours(vec![file.to_owned()]));
        assert_eq!((place.only().preflight(), place.only().merge()), (refusal.clone(), refusal));
        assert!(place.git(&["for-each-ref", "refs/muster"]).is_empty(), "nothing was begun");
    };
    // An ignored file, one in a folder where a file has to go, one where a folder has to go.
    work(".env");
    write(&place.project(), ".env", "mine\n");
    refused(".env");
    fs::remove_file(place.project().join(".env")).unwrap();
    work("own");
    fs::create_dir_all(place.project().join("own/deep")).unwrap();
    write(&place.project(), "own/deep/file", "mine\n");
    refused("own/deep/file");
    fs::remove_file(place.project().join("own/deep/file")).unwrap();
    work("folder/new.txt");
    write(&place.project(), "folder", "mine\n");
    refused("folder");
    fs::remove_file(place.project().join("folder")).unwrap();
    place.only().merge().unwrap();
    assert_eq!(place.read(".env") + &place.read("own"), "theirs\ntheirs\n");
}

#[test]
fn a_file_that_the_work_renames_is_not_merged_over_an_edit_under_its_old_name() {
    let place = Place::make();
    Git::at(&place.worktree()).ask(&["mv", "a.txt", "c.txt"]).unwrap();
    write(&place.project(), "a.txt", "one\nmine\n");
    assert_eq!(place.only().preflight(), Err(NotMerged::Yours(vec!["a.txt".to_owned()])));
    place.git(&["checkout", "--quiet", "a.txt"]);
    assert_eq!(place.only().merge().unwrap().files, ["a.txt", "c.txt"]);
    assert!(!place.project().join("a.txt").exists());
}

#[test]
fn a_repository_inside_of_the_work_is_not_merged_as_a_mere_name() {
    let place = Place::make();
    let inner = place.worktree().join("inner");
    fs::create_dir(&inner).unwrap();
    Git::at(&inner).ask(&["init", "--quiet"]).unwrap();
    write(&inner, "file.txt", "x");
    let refused = |name: &str| {
        let refusal = Err(NotMerged::Repositories(vec![name.to_owned()]));
        assert_eq!((place.only().preflight(), place.only().merge()), (refusal.clone(), refusal));
        assert!(place.only().remove(IgnoredFiles::Kept).is_err(), "what is in it is nowhere else");
    };
    refused("inner/");
    let inner = Git::at(&inner);
    inner.ask(&["add", "."]).unwrap();
    inner.ask(&inner.signed(&["commit", "--quiet", "-m", "inside"])).unwrap();
    refused("inner/");
    let git = Git::at(&place.worktree());
    git.ask(&["add", "."]).unwrap();
    git.ask(&["commit", "--quiet", "-m", "outside"]).unwrap();
    refused("inner");
    // A user's own repository does no harm.
    git.ask(&["rm", "--quiet", "--cached", "inner"]).unwrap();
    fs::remove_dir_all(place.worktree().join("inner")).unwrap();
    write(&place.worktree(), "new.txt", "x");
    fs::create_dir(place.project().join("mine")).unwrap();
    Git::at(&place.project().join("mine")).ask(&["init", "--quiet"]).unwrap();
    place.only().merge().unwrap();
    assert_eq!(place.read("new.txt"), "x");
}

#[test]
fn a_submodule_is_merged() {
    let place = Place::make();
    let git = Git::at(&place.worktree());
    let allow = "protocol.file.allow=always";
    let from = place.project();
    let words = ["-c", allow, "submodule", "--quiet", "add", from.to_str().unwrap(), "module"];
    git.ask(&words).unwrap();
    assert_eq!(place.only().merge().unwrap().files, [".gitmodules", "module"]);
}

#[test]
fn commits_need_no_key_of_the_user() {
    let place = Place::make();
    place.git(&["config", "commit.gpgsign", "true"]);
    place.git(&["config", "gpg.program", "false"]);
    write(&place.worktree(), "new.txt", "x");
    place.only().merge().unwrap();
    assert_eq!(place.read("new.txt"), "x");
}

#[test]
fn work_on_another_branch_is_not_merged_and_no_branch_of_the_user_goes() {
    let place = Place::make();
    let git = Git::at(&place.worktree());
    place.git(&["branch", "theirs"]);
    git.ask(&["switch", "--quiet", "theirs"]).unwrap();
    assert_eq!(place.only().state, WorktreeState::Merged);
    git.ask(&["switch", "--quiet", "--create", "feature"]).unwrap();
    write(&place.worktree(), "new.txt", "x");
    git.ask(&["add", "."]).unwrap();
    git.ask(&["commit", "--quiet", "-m", "work"]).unwrap();
    assert_eq!(place.only().state, WorktreeState::Unmerged { commits: 1 });
    assert!(place.only().remove(IgnoredFiles::Kept).is_err() && place.worktree().exists());
    place.only().merge().unwrap();
    assert_eq!((place.read("new.txt").as_str(), place.only().state), ("x", WorktreeState::Merged));
    place.only().remove(IgnoredFiles::Kept).unwrap();
    let left = place.git(&["branch", "--format=%(refname:short)"]);
    assert_eq!(left, "feature\ntheirs\ntrunk", "only the node's own branch goes");
}

#[test]
fn work_is_found_where_no_branch_is_checked_out_and_on_the_branch_that_was_left() {
    let place = Place::make();
    let git = Git::at(&place.worktree());
    let work = |name: &str| {
        write(&place.worktree(), name, "x");
        git.ask(&["add", "."]).unwrap();
        git.ask(&["commit", "--quiet", "-m", "work"]).unwrap();
    };
    work("left.txt");
    git.ask(&["switch", "--quiet", "--detach", "trunk"]).unwrap();
    assert_eq!(place.only().state, WorktreeState::Unmerged { commits: 1 });
    work("new.txt");
    assert_eq!(place.only().state, WorktreeState::Unmerged { commits: 2 });
    assert_eq!(place.only().merge().unwrap().files, ["new.txt"]);
    assert_eq!(place.only().state, WorktreeState::Unmerged { commits: 1 });
    assert_eq!(place.only().merge(), Err(NotMerged::Aside(branch(RUN, NODE))));
    place.git(&["merge", "--quiet", "-m", "by hand", &branch(RUN, NODE)]);
    place.only().remove(IgnoredFiles::Kept).unwrap();
}

#[test]
fn files_that_git_ignores_go_only_when_they_are_named() {
    let place = Place::make();
    write(&place.project(), ".git/info/exclude", ".env\nbuilt/\n");
    write(&place.worktree(), ".env", "secret");
    fs::create_dir(place.worktree().join("built")).unwrap();
    write(&place.worktree().join("built"), "a", "x");
    let worktree = place.only();
    assert_eq!((worktree.state.clone(), worktree.ignored), (WorktreeState::Merged, 2));
    let reason = worktree.remove(IgnoredFiles::Kept).unwrap_err();
    assert!(reason.contains(".env") && reason.contains("built/"), "{reason}");
    assert!(place.worktree().join(".env").exists());
    worktree.remove(IgnoredFiles::Removed).unwrap();
    assert!(!place.worktree().exists());
}

impl Place {
    /// Adds the worktree of another node.
    fn another(&self, node: NodeId) -> PathBuf {
        let folder = of_run(&self.home(), RUN).join(node.to_string());
        let name = branch(RUN, node);
        self.git(&["worktree", "add", "--quiet", "-b", &name, folder.to_str().unwrap()]);
        folder
    }

    fn judged(&self) -> Result<JudgedFiles, NotJudged> {
        let nodes = [(NODE, "Coder"), (NodeId(3), "Tester")];
        let nodes = nodes.map(|(id, label)| (id.to_string(), (id.0 as u64, label.to_owned())));
        JudgedFiles::in_worktrees(&self.home(), RUN, self.project(), &nodes.into())
    }

    /// What trial merges leave: worktrees, and refs of snapshots.
    fn left(&self) -> (usize, String) {
        let worktrees = self.git(&["worktree", "list", "--porcelain"]);
        let count = worktrees.lines().filter(|line| line.starts_with("worktree ")).count();
        (count, self.git(&["for-each-ref", "refs/muster"]))
    }
}

#[test]
fn people_run_3_checks_judge_what_was_written_and_not_the_checkout() {
    let place = Place::make();
    let second = place.another(NodeId(3));
    let files = place.judged().unwrap();
    assert_eq!((&files.directory, &files.source), (&place.project(), &JudgedSource::Checkout));
    write(&place.worktree(), "a.txt", "two\n");
    let files = place.judged().unwrap();
    assert_eq!(files.source, JudgedSource::Worktree { node: "Coder".to_owned() });
    assert_eq!(files.directory.canonicalize().unwrap(), place.worktree().canonicalize().unwrap());
    write(&second, "new.txt", "new\n");
    let files = place.judged().unwrap();
    let nodes = vec!["Coder".to_owned(), "Tester".to_owned()];
    assert_eq!(files.source, JudgedSource::Merge { nodes });
    let read = |name: &str| fs::read_to_string(files.directory.join(name)).unwrap();
    assert_eq!(
        (read("a.txt"), read("new.txt"), read("b.txt")),
        ("two\n".to_owned(), "new\n".to_owned(), "one\n".to_owned())
    );
    assert_eq!(place.read("a.txt"), "one\n", "the checkout is not touched");
    assert_eq!(place.left().0, 4);
    files.clear();
    assert_eq!(place.left(), (3, String::new()), "nothing is left of a trial");
}

#[test]
fn a_conflict_between_worktrees_names_nodes_and_files() {
    let place = Place::make();
    let second = place.another(NodeId(3));
    write(&place.worktree(), "a.txt", "two\n");
    write(&second, "a.txt", "three\n");
    let conflict = place.judged().map(|_| ()).unwrap_err();
    let expected = NotJudged::Conflict {
        node: "Tester".to_owned(),
        with: "the checkout, Coder".to_owned(),
        files: vec!["a.txt".to_owned()],
    };
    assert_eq!(conflict, expected);
    assert_eq!(place.left(), (3, String::new()));
}
