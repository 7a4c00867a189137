//! Targets of a Makefile or a justfile.

use super::{RepositoryFiles, Suggestion};

const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const JUSTFILES: [&str; 3] = ["justfile", "Justfile", ".justfile"];

pub(super) fn suggest_make(files: &RepositoryFiles) -> Vec<Suggestion> {
    suggest(files, &MAKEFILES, "make")
}

pub(super) fn suggest_just(files: &RepositoryFiles) -> Vec<Suggestion> {
    suggest(files, &JUSTFILES, "just")
}

fn suggest(
    files: &RepositoryFiles,
    names: &'static [&'static str],
    program: &'static str,
) -> Vec<Suggestion> {
    let found = names.iter().find_map(|name| Some((*name, files.text(name)?)));
    let Some((file, text)) = found else { return Vec::new() };
    let has = |target: &str| text.lines().any(|line| defines(line, target));
    let tests = ["test", "tests", "check"].into_iter().find(|target| has(target));
    let tests = tests.map(|target| Suggestion::tests(file, format!("{program} {target}")));
    let lint = has("lint").then(|| Suggestion::style("lint", file, format!("{program} lint")));
    tests.into_iter().chain(lint).collect()
}

/// Whether a line begins a target, with or without parameters.
fn defines(line: &str, target: &str) -> bool {
    let Some((names, after)) = line.split_once(':') else { return false };
    let mut words = names.trim_start_matches('@').split_whitespace();
    let is_target = words.next() == Some(target);
    // A value with a colon, as in `test = a:b`, and `test := b`.
    let is_assignment =
        after.starts_with('=') || words.next().is_some_and(|word| word.starts_with('='));
    is_target && !is_assignment && !line.starts_with([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::defines;

    #[test]
    fn only_targets_count() {
        for line in ["test:", "test: build", "test :", "test filter='':", "@test:"] {
            assert!(defines(line, "test"), "{line}");
        }
        for line in ["test := 1", "\ttest: x", "# test:", ".PHONY: test", "retest:", "test = a:b"] {
            assert!(!defines(line, "test"), "{line}");
        }
    }
}
