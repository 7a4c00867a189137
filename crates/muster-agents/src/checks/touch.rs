//! Who changed a project file last, as far as git knows.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    time::{Duration, UNIX_EPOCH},
};

use muster_core::{Timestamp, text};

use super::head::GitReader;
use crate::checkout;

/// Characters of a name.
const NAME_CHARS_MAX: usize = 200;

/// The last change of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileTouch {
    pub at: Timestamp,
    /// Who committed it with which commit; `None` if the file differs from the last commit.
    pub commit: Option<TouchCommit>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TouchCommit {
    pub id: String,
    /// The author's name.
    pub author: String,
}

/// The last change of a file; `None` without a repository, or if git cannot read it.
#[must_use]
pub fn last_touch(file: &Path) -> Option<FileTouch> {
    let folder = file.parent()?;
    let name = file.file_name()?.to_str()?;
    checkout::root(folder)?;
    let git = GitReader::new(folder).ok()?;
    let head = git.commit().ok()?;
    let commit = match head {
        Some(head) if is_committed(&git, &head, file) => git.last_commit_of(&head, name).ok()?,
        Some(_) | None => None,
    };
    match commit {
        Some(commit) => {
            let (author, at) = author(&git.commit_text(&commit).ok()?)?;
            Some(FileTouch { at, commit: Some(TouchCommit { id: commit, author }) })
        }
        None => {
            let changed = file.metadata().ok()?.modified().ok()?;
            let since = changed.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
            let at = Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
            Some(FileTouch { at, commit: None })
        }
    }
}

/// Whether the file on the disk is the one of the commit.
fn is_committed(git: &GitReader, head: &str, file: &Path) -> bool {
    let name = file.file_name().and_then(OsStr::to_str);
    let committed = name.and_then(|name| git.object_of(head, name).ok().flatten());
    // Git takes relative paths from the root of the checkout here, and one path per line.
    let path = file.as_os_str().as_bytes();
    if path.contains(&b'\n') {
        return false;
    }
    let present = git.objects(&[path]).ok().and_then(|objects| objects.into_iter().next());
    committed.is_some() && committed == present
}

/// Name and time of the author, from the text of a commit.
fn author(commit: &str) -> Option<(String, Timestamp)> {
    let line = commit.lines().take_while(|line| !line.is_empty());
    let line = line.filter_map(|line| line.strip_prefix("author ")).next()?;
    let (name, rest) = line.rsplit_once(" <")?;
    let (_, time) = rest.rsplit_once("> ")?;
    let seconds: i64 = time.split(' ').next()?.parse().ok()?;
    Some((text::cut(name, NAME_CHARS_MAX), Timestamp(seconds.checked_mul(1_000)?)))
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, process::Command};

    use muster_core::Timestamp;

    use super::{FileTouch, TouchCommit, author, last_touch};

    fn git(folder: &Path, words: &[&str]) -> String {
        let who = ["-c", "user.name=Ada L.", "-c", "user.email=ada@example.com"];
        let mut command = Command::new("git");
        command.args(who).args(words).current_dir(folder);
        command.env("GIT_AUTHOR_DATE", "1700000000 +0100");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    fn the_author_of_the_last_change_is_named_until_the_file_differs() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let sub = root.join("sub");
        fs::create_dir(&sub).unwrap();
        let file = sub.join("muster.toml");
        fs::write(&file, "").unwrap();
        assert_eq!(last_touch(&file), None, "there is no repository");
        git(&root, &["init", "--quiet"]);
        assert_eq!(last_touch(&file).unwrap().commit, None, "nothing is committed");
        git(&root, &["add", "--all"]);
        git(&root, &["commit", "--quiet", "--message", "one"]);
        let id = git(&root, &["rev-parse", "HEAD"]);
        fs::write(root.join("other"), "").unwrap();
        git(&root, &["add", "--all"]);
        git(&root, &["commit", "--quiet", "--message", "two"]);
        let commit = Some(TouchCommit { id, author: "Ada L.".to_owned() });
        let committed = FileTouch { at: Timestamp(1_700_000_000_000), commit };
        assert_eq!(last_touch(&file), Some(committed));
        fs::write(&file, "gates = \"plain\"\n").unwrap();
        assert_eq!(last_touch(&file).unwrap().commit, None);
    }

    #[test]
    fn configuration_of_the_repository_starts_no_program() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let file = root.join("muster.toml");
        fs::write(&file, "").unwrap();
        git(&root, &["init", "--quiet"]);
        git(&root, &["add", "--all"]);
        git(&root, &["commit", "--quiet", "--message", "one"]);
        let trap = root.join("trap");
        let evil = format!("touch {}", trap.display());
        for name in
            ["gpg.program", "core.fsmonitor", "core.pager", "filter.x.clean", "diff.external"]
        {
            git(&root, &["config", name, &evil]);
        }
        git(&root, &["config", "log.showSignature", "true"]);
        fs::write(root.join(".gitattributes"), "muster.toml filter=x\n").unwrap();
        assert!(last_touch(&file).unwrap().commit.is_some());
        assert!(!trap.exists());
    }

    #[test]
    fn only_the_header_of_a_commit_names_its_author() {
        let text =
            "tree 1\nauthor A <B> C <d@e> 12 +0000\ncommitter X <y> 1 +0000\n\nauthor Z <z> 3 +0";
        assert_eq!(author(text), Some(("A <B> C".to_owned(), Timestamp(12_000))));
        assert_eq!(author("tree 1\n\nauthor Z <z> 3 +0"), None);
    }
}
