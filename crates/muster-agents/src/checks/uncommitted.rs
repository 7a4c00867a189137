//! Whether a checkout has changes that no commit has, for an agent that takes over work there.
//!
//! Git itself answers, because only it knows which files differ by more than their times. Filters
//! are commands in the configuration of the checkout, which belongs to the one who left it: none of
//! them may run here.

use std::{
    io::Read as _,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::head::GitReader;
use crate::checkout;

/// Bytes of the names of all filters; with more nothing is said.
const FILTER_BYTES_MAX: u64 = 64 * 1024;
/// What disables a filter, whatever is configured.
const FILTER_OFF: [(&str, &str); 3] = [("clean", ""), ("process", ""), ("required", "false")];

/// Whether the checkout that a directory is in has changed or new files; `None` if it is not a
/// checkout or if git does not tell within this time.
#[must_use]
pub fn uncommitted_changes(directory: &Path, limit: Duration) -> Option<bool> {
    let deadline = Instant::now() + limit;
    let root = checkout::root(&directory.canonicalize().ok()?)?;
    let git = GitReader::new(&root).ok()?;
    let configured =
        git.command(&["config", "--null", "--name-only", "--get-regexp", r"^filter\."]);
    let configured = output_of(configured, FILTER_BYTES_MAX, deadline)?;
    if !matches!(configured.code, Some(0 | 1)) {
        return None;
    }
    let mut status = git.command(&[
        "status",
        "--porcelain",
        "--untracked-files=normal",
        // Git would read a submodule with the configuration of that.
        "--ignore-submodules=dirty",
    ]);
    switch_off(&mut status, &filters(&configured.bytes));
    let status = output_of(status, 1, deadline)?;
    match status.bytes.is_empty() {
        true => (status.code == Some(0)).then_some(false),
        false => Some(true),
    }
}

/// The names of filters in a list of settings such as `filter.lfs.clean`.
fn filters(settings: &[u8]) -> Vec<String> {
    let mut names: Vec<String> = settings
        .split(|byte| *byte == 0)
        .filter_map(|setting| {
            let setting = std::str::from_utf8(setting).ok()?;
            let (name, _) = setting.strip_prefix("filter.")?.rsplit_once('.')?;
            Some(name.to_owned())
        })
        .collect();
    names.dedup();
    names
}

/// Passed as variables: a name may contain what separates a name from its value in an argument.
fn switch_off(command: &mut Command, filters: &[String]) {
    let mut count = 0_usize;
    for filter in filters {
        for (setting, value) in FILTER_OFF {
            command.env(format!("GIT_CONFIG_KEY_{count}"), format!("filter.{filter}.{setting}"));
            command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
    }
    command.env("GIT_CONFIG_COUNT", count.to_string());
}

/// The beginning of an output.
struct BoundedOutput {
    bytes: Vec<u8>,
    /// `None` if there was more to read, and the program was ended.
    code: Option<i32>,
}

/// Runs a command until it ends, or has printed this much, or the time is over.
fn output_of(mut command: Command, bytes_max: u64, deadline: Instant) -> Option<BoundedOutput> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let stdout = child.stdout.take()?;
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.take(bytes_max).read_to_end(&mut bytes);
        // The receiver is gone once the time is over.
        send.send(read.map(|_| bytes)).unwrap_or_default();
    });
    let read = receive.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    let bytes = read.ok().and_then(Result::ok);
    let is_whole = bytes.as_ref().is_some_and(|bytes| (bytes.len() as u64) < bytes_max);
    if !is_whole && let Err(error) = child.kill() {
        tracing::debug!(%error, "could not end git");
    }
    let status = child.wait().ok()?;
    Some(BoundedOutput { bytes: bytes?, code: status.code().filter(|_| is_whole) })
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        path::Path,
        process::Command,
        time::{Duration, Instant},
    };

    use super::{output_of, uncommitted_changes};

    const PATIENCE: Duration = Duration::from_secs(30);

    fn shell(folder: &Path, script: &str) {
        let mut command = Command::new("sh");
        command.args(["-ec", script]).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(command.status().unwrap().success(), "{script}");
    }

    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let script = "git init -q .; git config user.name a; git config user.email a@localhost
            mkdir src; echo one > src/a; echo '*.log' > .gitignore; git add .; git commit -qm one";
        shell(folder.path(), script);
        folder
    }

    #[test]
    fn changed_new_and_staged_files_are_uncommitted_and_ignored_ones_are_not() {
        let folder = repository();
        let look = |within: &str| uncommitted_changes(&folder.path().join(within), PATIENCE);
        assert_eq!(look(""), Some(false));
        shell(folder.path(), "echo x > a.log; touch src/a");
        assert_eq!(look(""), Some(false));
        for (make, undo) in [
            ("echo two > src/a", "git checkout -q src/a"),
            ("echo new > b", "rm b"),
            ("echo new > b; git add b", "git rm -qf b"),
            ("rm src/a", "git checkout -q src/a"),
        ] {
            shell(folder.path(), make);
            assert_eq!(look("src"), Some(true), "{make}");
            shell(folder.path(), undo);
            assert_eq!(look("src"), Some(false), "{undo}");
        }
        let other = tempfile::tempdir().unwrap();
        let other = other.path().join("other");
        let script = format!("git worktree add -q '{0}'; echo > '{0}/new'", other.display());
        shell(folder.path(), &script);
        assert_eq!(look(""), Some(false), "each worktree has changes of its own");
        assert_eq!(uncommitted_changes(&other, PATIENCE), Some(true));
    }

    #[test]
    fn a_directory_that_is_gone_or_in_no_repository_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(uncommitted_changes(folder.path(), PATIENCE), None);
        assert_eq!(uncommitted_changes(&folder.path().join("gone"), PATIENCE), None);
        let broken = repository();
        fs::write(broken.path().join(".git/HEAD"), "nonsense").unwrap();
        assert_eq!(uncommitted_changes(broken.path(), PATIENCE), None);
    }

    /// The checkout may belong to an agent that is kept from running anything outside of it.
    #[test]
    fn no_command_of_the_checkout_runs() {
        let folder = repository();
        let script = r#"
            for name in plain 'a=b' 'a.b'; do
                git config "filter.$name.clean" "touch '$PWD/.git/ran'; cat"
                git config "filter.$name.process" "touch '$PWD/.git/ran'"
                git config "filter.$name.required" true
            done
            git config core.fsmonitor "touch '$PWD/.git/ran'"
            echo 'src/* filter=plain' > .git/info/attributes
            echo '*.b filter=a=b' >> .git/info/attributes
            echo '*.c filter=a.b' >> .git/info/attributes
            mkdir .git/hooks -p; echo "touch '$PWD/.git/ran'" > .git/hooks/post-index-change
            chmod +x .git/hooks/post-index-change
            for file in src/a src/z.b src/z.c; do echo two > $file; done"#;
        shell(folder.path(), script);
        assert_eq!(uncommitted_changes(folder.path(), PATIENCE), Some(true));
        shell(folder.path(), "rm src/z.*; echo one > src/a");
        assert_eq!(uncommitted_changes(folder.path(), PATIENCE), Some(false));
        assert!(!folder.path().join(".git/ran").exists());
        shell(folder.path(), "git status > /dev/null || true; test -e .git/ran");
    }

    #[test]
    fn a_look_takes_no_longer_than_it_may() {
        let began = Instant::now();
        let mut slow = Command::new("sleep");
        slow.arg("60");
        assert!(output_of(slow, 1, began + Duration::from_millis(50)).is_none());
        let output = output_of(Command::new("yes"), 1, began + PATIENCE);
        assert_eq!(output.map(|output| output.bytes), Some(b"y".to_vec()));
        assert!(began.elapsed() < PATIENCE);
    }
}
