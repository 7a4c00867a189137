//! The digest of a tree: what changes it, and that nothing can hide a change from it.

use std::{path::Path, process::Command};

use super::{Tree, TreeCache, TreeError};
use crate::checks::{globs::Globs, trees::ProjectTrees};

/// Runs a script in a folder.
fn shell(folder: &Path, script: &str) {
    let output = Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "a")
        .env("GIT_AUTHOR_EMAIL", "a@localhost")
        .env("GIT_COMMITTER_NAME", "a")
        .env("GIT_COMMITTER_EMAIL", "a@localhost")
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {complaint}");
}

/// A repository with a commit, tracked files and ignored ones.
fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let script = "git init -q .; mkdir -p src target/kept docs; echo one > src/a; echo two > src/b
        echo page > docs/page; echo '/target/' > .gitignore; echo '*.log' >> .gitignore
        echo kept > target/kept/file; git add -f .; git commit -qm first; echo out > target/out";
    shell(folder.path(), script);
    folder
}

fn digest(folder: &Path) -> String {
    Tree::read(folder, &mut TreeCache::default()).unwrap().whole().digest.clone()
}

#[test]
fn every_change_of_a_file_that_counts_changes_the_digest() {
    let changes = [
        "echo more >> src/a",
        "chmod +x src/a",
        "rm src/a",
        "mv src/a src/c",
        "echo new > src/new",
        "echo changed > target/kept/file",
        "rm src/a; ln -s b src/a",
        "rm src/a; mkfifo src/a",
        "git rm -q --cached src/a; echo more >> src/a",
    ];
    for change in changes {
        let folder = repository();
        let before = digest(folder.path());
        shell(folder.path(), change);
        assert_ne!(digest(folder.path()), before, "{change}");
    }
}

#[test]
fn what_does_not_count_leaves_the_digest_as_it_is() {
    let changes = [
        "echo more >> target/out",
        "echo x > a.log",
        "git commit -q --allow-empty -m second",
        "touch src/a",
        "git tag here; git branch other; git checkout -q other",
    ];
    for change in changes {
        let folder = repository();
        let before = digest(folder.path());
        shell(folder.path(), change);
        assert_eq!(digest(folder.path()), before, "{change}");
    }
}

/// Each hides the changed file `src/a` or the new file `src/new` from git.
#[test]
fn a_change_cannot_be_hidden_from_the_digest() {
    let tricks = [
        "git update-index --assume-unchanged src/a; echo more >> src/a",
        "git update-index --skip-worktree src/a; echo more >> src/a",
        "echo src/new >> .git/info/exclude; echo new > src/new",
        "echo src/new > /tmp/$$; git config core.excludesFile /tmp/$$; echo new > src/new",
        "git config filter.hide.clean 'echo one'; echo 'src/a filter=hide' > .git/info/attributes
            echo more >> src/a",
        "git config core.autocrlf input; printf 'one\\r\\n' > src/a",
        "git config core.fileMode false; chmod +x src/a",
        "git config core.fsmonitor true; echo more >> src/a",
        "git config core.worktree /tmp; echo more >> src/a",
        "git config core.trustctime false; git config core.checkStat minimal; echo ONE > src/a",
        "git config core.sparseCheckout true; echo docs > .git/info/sparse-checkout
            git read-tree -mu HEAD; mkdir -p src; echo more > src/a; echo two > src/b",
        "git config status.showUntrackedFiles no; echo new > src/new",
        "mkdir src/nested; cd src/nested; git init -q .; echo '*' > .gitignore; echo new > new",
        "mkdir src/.git; echo new > src/.git/new",
    ];
    for trick in tricks {
        let folder = repository();
        let before = digest(folder.path());
        shell(folder.path(), trick);
        assert_ne!(digest(folder.path()), before, "{trick}");
    }
}

/// Edited rules of what is ignored count only once they are committed; the edit itself counts.
#[test]
fn only_the_commit_says_what_is_ignored() {
    let folder = repository();
    shell(folder.path(), "echo 'src/' >> .gitignore");
    let before = digest(folder.path());
    shell(folder.path(), "echo new > src/new");
    assert_ne!(digest(folder.path()), before);
}

#[test]
fn another_object_in_the_place_of_the_commit_is_not_read() {
    let folder = repository();
    let before = digest(folder.path());
    let script = "first=$(git rev-parse HEAD); echo '*' > .gitignore; git add -f .gitignore
        git commit -qm hides; second=$(git rev-parse HEAD); git reset -q --hard $first
        git replace $first $second; echo new > src/new";
    shell(folder.path(), script);
    assert_ne!(digest(folder.path()), before);
}

#[test]
fn a_link_that_leaves_what_is_read_makes_the_digest_unbound() {
    let read = |folder: &Path| Tree::read(folder, &mut TreeCache::default()).unwrap();
    for (script, is_bound) in [
        ("ln -s src/a link", true),
        ("ln -s ../src/a docs/link", true),
        ("ln -s src link", true),
        ("ln -s src/nothing link", true),
        ("ln -s /etc/hostname link", false),
        ("ln -s ../../elsewhere link", false),
        ("ln -s target/out link", false),
        ("ln -s target link", false),
        ("mkdir out.log; echo x > out.log/x; ln -s out.log link", false),
    ] {
        let folder = repository();
        shell(folder.path(), script);
        let tree = read(folder.path());
        assert_eq!(tree.unbound.is_none(), is_bound, "{script}: {:?}", tree.unbound);
    }
}

#[test]
fn a_submodule_is_read_by_its_own_rules() {
    let folder = repository();
    let script = "git init -q inner; cd inner; echo '*.tmp' > .gitignore; echo x > file; git add .
        git commit -qm inner; cd ..; git add inner; git commit -qm outer";
    shell(folder.path(), script);
    let before = digest(folder.path());
    shell(folder.path(), "echo y > inner/a.tmp");
    assert_eq!(digest(folder.path()), before);
    shell(folder.path(), "echo y > inner/file");
    assert_ne!(digest(folder.path()), before);
}

#[test]
fn without_a_commit_or_a_repository_all_files_count() {
    for script in ["git init -q .; echo a > a", "echo a > a"] {
        let folder = tempfile::tempdir().unwrap();
        shell(folder.path(), script);
        let before = digest(folder.path());
        shell(folder.path(), "echo 'b' > .gitignore; echo b > b");
        assert_ne!(digest(folder.path()), before, "{script}");
    }
    let bare = tempfile::tempdir().unwrap();
    shell(bare.path(), "git init -q --bare .");
    let error = Tree::read(bare.path(), &mut TreeCache::default()).unwrap_err();
    assert!(matches!(error, TreeError::Bare(_)), "{error}");
}

#[test]
fn the_cache_is_used_and_never_believed_when_a_file_changed() {
    let folder = repository();
    shell(folder.path(), "touch -d '1 hour ago' src/a src/b");
    let mut cache = TreeCache::default();
    let first = Tree::read(folder.path(), &mut cache).unwrap().whole().digest.clone();
    assert_eq!(Tree::read(folder.path(), &mut cache).unwrap().whole().digest.clone(), first);
    // The same size and the same time of the last change; only the system's own stamp differs.
    shell(folder.path(), "echo ONE > src/a; touch -d '1 hour ago' src/a");
    assert_ne!(Tree::read(folder.path(), &mut cache).unwrap().whole().digest.clone(), first);
}

#[test]
fn a_scope_is_the_part_its_globs_cover() {
    let folder = repository();
    let scope = |globs: &[&str]| {
        let globs: Vec<String> = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let tree = Tree::read(folder.path(), &mut TreeCache::default()).unwrap();
        tree.scope(Some(&Globs::new(&globs)))
    };
    let source = scope(&["src/**"]);
    let docs = scope(&["docs/*"]);
    shell(folder.path(), "echo more >> docs/page");
    assert_eq!(scope(&["src/**"]), source);
    assert_ne!(scope(&["docs/*"]), docs);
    // Changed and changed back: the bytes are the same, and it shows that the file was written.
    shell(folder.path(), "cp src/a keep; echo x > src/a; cp keep src/a; rm keep");
    let again = scope(&["src/**"]);
    assert_eq!(again.digest, source.digest);
    assert_ne!(again, source);
}

/// Names that sort differently as paths than as names, and at several depths.
#[test]
fn entries_are_in_the_order_of_their_paths() {
    let folder = repository();
    let script = "mkdir -p a a-b a.b/c a0; for d in a a-b a.b a.b/c a0; do echo x > $d/x; done
        echo x > a-; echo x > a.; echo x > a1; echo x > A; echo x > 'é'";
    shell(folder.path(), script);
    let tree = Tree::read(folder.path(), &mut TreeCache::default()).unwrap();
    let paths: Vec<_> = tree.files().map(|(path, _)| path.as_os_str().to_owned()).collect();
    let mut sorted = paths.clone();
    sorted.sort();
    assert_eq!(paths, sorted);
    assert_eq!(paths.len(), 15);
}

#[test]
fn too_many_files_without_a_repository_are_unbound_and_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let script = "mkdir $(seq 26); for d in *; do (cd $d; seq 2000 | xargs touch); done";
    shell(folder.path(), script);
    let read = || Tree::read(folder.path(), &mut TreeCache::default()).unwrap();
    let tree = read();
    assert!(tree.unbound.as_ref().unwrap().contains("50000 files"), "{:?}", tree.unbound);
    assert_eq!(tree.whole(), read().whole());
    shell(folder.path(), "rm -r 25 26");
    assert_eq!(read().unbound, None);
}

/// PROOF: 50,000 files, nothing changed since. A measurement to run on an optimized build with
/// `--run-ignored only --no-capture`.
#[test]
#[ignore = "prints figures"]
fn speed_of_50_000_files() {
    let folder = tempfile::tempdir().unwrap();
    let root = &folder.path().canonicalize().unwrap().join("work");
    std::fs::create_dir(root).unwrap();
    let script = "git init -q .; for a in $(seq 2000); do mkdir -p d$((a % 40))/e$a
        (cd d$((a % 40))/e$a; for b in $(seq 25); do echo $a $b > file-$b.txt; done); done
        echo '*.log' > .gitignore; git add .; git commit -qm first; sleep 3";
    shell(root, script);
    let globs = Globs::new(&["d1/**".to_owned()]);
    for process in 0..2 {
        let trees = ProjectTrees::new(&folder.path().join("checks"));
        for round in 0..8 {
            let began = std::time::Instant::now();
            let tree = trees.tree(root).unwrap();
            let read = began.elapsed();
            assert!(!tree.whole().digest.is_empty());
            let whole = began.elapsed();
            assert!(tree.scope(Some(&globs)) != *tree.whole());
            let all = began.elapsed();
            println!(
                "process {process} round {round}: {read:?} read, {whole:?} all, {all:?} scope"
            );
        }
    }
}
