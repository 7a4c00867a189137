//! A summary of a change: its files in one line, and a hash that does not depend on where in a file
//! the same change was made.

use muster_core::{run::hash::sha256_hex, text::cut};

/// The content of a diff without changes (RUNS-DIFF-4).
pub(crate) const NO_CHANGES: &str = "no changes\n";
pub(super) const SUMMARY_CHARS_MAX: usize = 200;

/// What changed between two trees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TreeChange {
    /// The patch; empty when nothing changed.
    pub(super) text: String,
    /// Changed paths, sorted; old and new name of a rename.
    pub(super) files: Vec<String>,
    pub(super) insertions: u64,
    pub(super) deletions: u64,
}

/// The change in one line (RUNS-DIFF-3).
pub(super) fn summary(change: &TreeChange) -> String {
    if change.files.is_empty() {
        return NO_CHANGES.trim_end().to_owned();
    }
    let count = change.files.len();
    let noun = if count == 1 { "file" } else { "files" };
    let plus = change.insertions;
    let minus = change.deletions;
    let line = format!("{count} {noun}, +{plus} −{minus}: {}", change.files.join(", "));
    cut(&line, SUMMARY_CHARS_MAX)
}

/// Hash of the change without object ids and positions (RUNS-DIFF-7).
pub(super) fn hash(change: &TreeChange) -> Option<String> {
    if change.files.is_empty() {
        return None;
    }
    let mut plain = String::with_capacity(change.text.len());
    for line in change.text.lines().filter(|line| !line.starts_with("index ")) {
        let position = line.strip_prefix("@@ ").and_then(|rest| rest.find(" @@").map(|_| "@@"));
        plain.push_str(position.unwrap_or(line));
        plain.push('\n');
    }
    Some(sha256_hex(plain.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::{TreeChange, hash, summary};

    fn change(text: &str) -> TreeChange {
        let files = vec!["src/a.rs".to_owned(), "src/b.rs".to_owned()];
        TreeChange { text: text.to_owned(), files, insertions: 14, deletions: 3 }
    }

    #[test]
    fn runs_diff_3_and_7_a_change_is_summed_up_and_hashed_without_positions() {
        assert_eq!(summary(&change("x")), "2 files, +14 −3: src/a.rs, src/b.rs");
        assert_eq!(summary(&TreeChange::default()), "no changes");
        assert_eq!(hash(&TreeChange::default()), None);
        let one = change("diff --git a b\nindex 1..2\n@@ -1,2 +1,3 @@ fn a\n+x\n");
        let two = change("diff --git a b\nindex 3..4\n@@ -9,2 +9,3 @@ fn b\n+x\n");
        let other = change("diff --git a b\nindex 3..4\n@@ -9,2 +9,3 @@\n+y\n");
        assert_eq!(hash(&one), hash(&two));
        assert_ne!(hash(&one), hash(&other));
    }
}
