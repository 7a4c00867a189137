//! What changed in the files of a project since a commit, as far as findings need it
//! (PROOF-GUARD-3). Pure: the code that reads the files builds it.

use std::collections::BTreeMap;

/// Changes since a commit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChangesSince {
    /// Test files that only lost lines, by path.
    pub thinned: Vec<ThinnedFile>,
    /// Changed files that no check depends on.
    pub uncovered: Vec<String>,
}

/// A test file that only lost lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThinnedFile {
    pub path: String,
    /// Lines that it lost, without blank ones.
    pub lines: u64,
    /// The file itself is gone.
    pub is_gone: bool,
}

/// A test file that is not what it was: without text it is gone or new.
#[derive(Clone, Copy, Debug)]
pub struct ChangedText<'a> {
    pub path: &'a str,
    pub then: Option<&'a str>,
    pub now: Option<&'a str>,
}

/// Folders that hold tests.
const TEST_FOLDERS: [&str; 6] = ["test", "tests", "__tests__", "spec", "specs", "testing"];
/// Words in the name of a file with tests.
const TEST_WORDS: [&str; 4] = ["test", "tests", "spec", "specs"];

/// Whether a path is that of a file with tests, as projects usually name them.
#[must_use]
pub fn is_test_file(path: &str) -> bool {
    let mut parts: Vec<&str> = path.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    if parts.iter().any(|folder| TEST_FOLDERS.contains(folder)) {
        return true;
    }
    let stem = name.split('.').filter(|word| !word.is_empty());
    let words = stem.flat_map(|part| part.split(['_', '-']));
    let is_camel = |word: &str| {
        let stem = word.split('.').next().unwrap_or_default();
        ["Test", "Tests", "Spec", "IT"]
            .iter()
            .any(|end| stem.ends_with(end) && stem.len() > end.len())
    };
    words.clone().any(|word| TEST_WORDS.contains(&word)) || is_camel(name)
}

/// The files that only lost lines. Lines that went to another test file are not lost: if more than
/// half of them are new elsewhere, the file is left out.
#[must_use]
pub fn thinned(changed: &[ChangedText<'_>]) -> Vec<ThinnedFile> {
    let gained: Vec<LineCounts<'_>> = changed.iter().map(gained_lines).collect();
    let thinned = changed.iter().enumerate().filter_map(|(at, file)| {
        let then = file.then?;
        let now = file.now.unwrap_or_default();
        if !only_loses(then, now) {
            return None;
        }
        let lost = difference(&counts(then), &counts(now));
        let lines: u64 = lost.values().sum();
        let others = gained.iter().enumerate().filter(|(other, _)| *other != at);
        let moved: u64 = others.map(|(_, gained)| shared_lines(&lost, gained)).sum();
        let is_gone = file.now.is_none();
        (lines > 0 && moved * 2 <= lines).then(|| ThinnedFile {
            path: file.path.to_owned(),
            lines,
            is_gone,
        })
    });
    thinned.collect()
}

/// Lines that are not blank, with how often they occur.
type LineCounts<'a> = BTreeMap<&'a str, u64>;

fn counts(text: &str) -> LineCounts<'_> {
    let mut counts = LineCounts::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

fn gained_lines<'a>(file: &ChangedText<'a>) -> LineCounts<'a> {
    difference(&counts(file.now.unwrap_or_default()), &counts(file.then.unwrap_or_default()))
}

/// What the first has more of than the second.
fn difference<'a>(one: &LineCounts<'a>, other: &LineCounts<'_>) -> LineCounts<'a> {
    let more = one.iter().map(|(line, count)| {
        (*line, count.saturating_sub(other.get(line).copied().unwrap_or_default()))
    });
    more.filter(|(_, count)| *count > 0).collect()
}

fn shared_lines(one: &LineCounts<'_>, other: &LineCounts<'_>) -> u64 {
    one.iter().map(|(line, count)| *count.min(other.get(line).unwrap_or(&0))).sum()
}

/// Whether every line of the new text is in the old one, in the same order.
fn only_loses(then: &str, now: &str) -> bool {
    let mut old = then.lines();
    now.lines().all(|line| old.any(|known| known == line))
}

#[cfg(test)]
mod tests {
    use super::{ChangedText, ThinnedFile, is_test_file, thinned};

    fn changed<'a>(path: &'a str, then: &'a str, now: &'a str) -> ChangedText<'a> {
        let some = |text: &'a str| (!text.is_empty()).then_some(text);
        ChangedText { path, then: some(then), now: some(now) }
    }

    fn lost(changed: &[ChangedText<'_>]) -> Vec<(String, u64, bool)> {
        let thinned = thinned(changed).into_iter();
        thinned.map(|ThinnedFile { path, lines, is_gone }| (path, lines, is_gone)).collect()
    }

    #[test]
    fn tests_are_known_by_the_names_that_projects_use() {
        for path in [
            "tests/a.rs",
            "crates/x/src/tests/b.rs",
            "src/tests.rs",
            "test_a.py",
            "pkg/a_test.go",
            "web/a.test.ts",
            "web/a.spec.js",
            "src/__tests__/a.js",
            "src/FooTest.java",
            "spec/a_spec.rb",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in ["src/contest.rs", "latest.txt", "src/attest/a.rs", "Test.java", "docs/a.md"] {
            assert!(!is_test_file(path), "{path}");
        }
    }

    #[test]
    fn a_file_that_only_lost_lines_is_found_and_one_that_also_gained_is_not() {
        let then = "a\n\nb\nc\n";
        assert_eq!(lost(&[changed("t", then, "a\nc\n")]), [("t".to_owned(), 1, false)]);
        assert_eq!(lost(&[changed("t", then, "")]), [("t".to_owned(), 3, true)]);
        assert_eq!(lost(&[changed("t", then, "a\nc\nd\n")]), []);
        assert_eq!(lost(&[changed("t", then, "a\nb\nc\n")]), [], "only a blank line");
        assert_eq!(lost(&[changed("t", "", "a\n")]), []);
        assert_eq!(lost(&[changed("t", "a\nb\n", "b\na\n")]), [], "the order differs");
    }

    #[test]
    fn lines_that_went_to_another_test_file_are_not_lost() {
        let moved = [changed("one", "a\nb\nc\n", "a\n"), changed("two", "", "  b\n  c\n")];
        assert_eq!(lost(&moved), []);
        let renamed = [changed("old", "a\nb\nc\nd\n", ""), changed("new", "", "a\nb\nc\ne\n")];
        assert_eq!(lost(&renamed), []);
        let other = [changed("old", "a\nb\nc\nd\n", ""), changed("new", "", "a\nx\n")];
        assert_eq!(lost(&other), [("old".to_owned(), 4, true)]);
    }
}
