//! Pages: documentation that stays short, whose links lead somewhere, and that names only what
//! exists.

use std::collections::BTreeSet;

use super::{Finding, RULES, source::Source, tree::Tree};

/// Pages with a limit on their lines.
const LINES_MAX: [(&str, usize); 2] = [("README.md", 80), (ARCHITECTURE, 299)];

const ARCHITECTURE: &str = "docs/ARCHITECTURE.md";

/// The page with one line per outside crate.
const DEPENDENCIES: &str = "docs/adr/0006-dependencies.md";

/// The README fits one screen, the architecture page one sitting.
pub(crate) fn page_length(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, limit) in LINES_MAX {
        let what = match tree.file(path).map(|file| file.text.lines().count()) {
            None => "is missing".to_owned(),
            Some(lines) if lines > limit => format!("{lines} lines, the limit is {limit}"),
            Some(_) => continue,
        };
        findings.push(Finding::new(path, what));
    }
    findings
}

/// Links between pages and to headings lead somewhere.
pub(crate) fn links(tree: &Tree) -> Vec<Finding> {
    let pages = tree.files.iter().filter(|file| file.path.ends_with(".md"));
    let mut findings = Vec::new();
    for page in pages {
        for (line, target) in targets(&page.text) {
            if let Some(what) = broken(tree, page, target) {
                findings.push(Finding::new(&format!("{}:{line}", page.path), what));
            }
        }
    }
    findings
}

/// Link targets inside the repository, outside of code blocks, with their lines.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, line) in prose(text) {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, tail)) = after.split_once(')') else { break };
            if !target.contains("://") && !target.starts_with("mailto:") {
                found.push((at, target));
            }
            rest = tail;
        }
    }
    found
}

/// Lines outside of fenced code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((at + 1, line))
    })
}

fn broken(tree: &Tree, page: &Source, target: &str) -> Option<String> {
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = if path.is_empty() { page.path.clone() } else { resolve(folder, path) };
    let is_folder = || {
        let folder = format!("{}/", path.trim_end_matches('/'));
        tree.files.iter().any(|file| file.path.starts_with(&folder))
    };
    match tree.file(&path) {
        None if heading.is_empty() && (is_folder() || tree.others.contains(&path)) => None,
        None => Some(format!("link to {path}, which does not exist")),
        Some(_) if heading.is_empty() => None,
        Some(file) => {
            let known = prose(&file.text).any(|(_, line)| anchor(line).as_deref() == Some(heading));
            (!known).then(|| format!("link to heading #{heading}, which {path} does not have"))
        }
    }
}

fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchor of a heading line: small letters, blanks as hyphens, no punctuation.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' ')?;
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    Some(kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect())
}

/// Rules (`tidy:name`) and tests (`test:name`) that pages refer to exist.
pub(crate) fn named_proof(tree: &Tree) -> Vec<Finding> {
    let functions: BTreeSet<&str> = tree
        .rust()
        .flat_map(Source::items)
        .filter(|item| item.keyword == "fn")
        .map(|item| item.name)
        .collect();
    let mut findings = Vec::new();
    for page in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for (line, text) in prose(&page.text) {
            let place = format!("{}:{line}", page.path);
            let unknown_rules = named(text, "`tidy:")
                .filter(|name| !RULES.iter().any(|rule| rule.id == *name))
                .map(|name| format!("there is no rule {name:?}"));
            let unknown_tests = named(text, "`test:")
                .filter(|name| !functions.contains(name))
                .map(|name| format!("there is no test {name:?}"));
            let unknown = unknown_rules.chain(unknown_tests);
            findings.extend(unknown.map(|what| Finding::new(&place, what)));
        }
    }
    findings
}

fn named<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let names = text.split(prefix).skip(1).filter_map(|after| after.split('`').next());
    names.filter(|name| !name.is_empty())
}

/// Each row of the table "Where a change goes" links to a real change: the text of a link, a piece
/// of code, is in the file that it leads to.
pub(crate) fn named_example(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(ARCHITECTURE) else { return Vec::new() };
    let section = prose(&page.text)
        .skip_while(|(_, line)| !line.ends_with("# Where a change goes"))
        .skip(1)
        .take_while(|(_, line)| !line.starts_with('#'));
    let rows: Vec<_> = section.filter(|(_, line)| line.starts_with('|')).skip(2).collect();
    if rows.is_empty() {
        return vec![Finding::new(ARCHITECTURE, "has no table of where a change goes".to_owned())];
    }
    let mut findings = Vec::new();
    for (line, row) in rows {
        let place = format!("{ARCHITECTURE}:{line}");
        let examples: Vec<_> = examples(row).collect();
        if examples.is_empty() {
            findings.push(Finding::new(&place, "this row has no example".to_owned()));
        }
        for (code, target) in examples {
            let path = resolve("docs", target);
            if !tree.file(&path).is_some_and(|file| file.text.contains(code)) {
                findings.push(Finding::new(&place, format!("{path} does not have {code:?}")));
            }
        }
    }
    findings
}

/// Links whose text is code: the code and the target.
fn examples(row: &str) -> impl Iterator<Item = (&str, &str)> {
    row.split("[`").skip(1).filter_map(|link| {
        let (code, rest) = link.split_once("`](")?;
        Some((code, rest.split(')').next()?))
    })
}

/// Every outside crate has a line with the reason why it is here, and every such line a crate.
pub(crate) fn dependency_reasons(tree: &Tree) -> Vec<Finding> {
    let ours = |name: &str| tree.packages.iter().any(|package| package.name == name);
    let used: BTreeSet<&str> = tree
        .packages
        .iter()
        .flat_map(|package| &package.dependencies)
        .map(|line| line.name.as_str())
        .filter(|name| !ours(name))
        .collect();
    let page = tree.file(DEPENDENCIES).map_or("", |file| file.text.as_str());
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let explained: BTreeSet<&str> = rows.collect();
    let missing = used.difference(&explained).map(|name| format!("has no row for {name}"));
    let stale = explained.difference(&used).map(|name| format!("{name} is not used any more"));
    missing.chain(stale).map(|what| Finding::new(DEPENDENCIES, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::{Dependency, Package};

    fn tree(files: &[(&str, &str)]) -> Tree {
        let files = files.iter().map(|(path, text)| Source::new(*path, *text)).collect();
        Tree { files, ..Tree::default() }
    }

    #[test]
    fn long_and_missing_pages_are_found() {
        let architecture = ("docs/ARCHITECTURE.md", "short");
        let at_limit = "\n".repeat(80);
        assert!(page_length(&tree(&[("README.md", &at_limit), architecture])).is_empty());
        let over = "\n".repeat(81);
        assert_eq!(page_length(&tree(&[("README.md", &over), architecture])).len(), 1);
        assert_eq!(page_length(&tree(&[("README.md", "")])).len(), 1);
    }

    #[test]
    fn links_lead_to_files_folders_and_headings() {
        let glossary = ("docs/GLOSSARY.md", "# One word: per idea\n");
        let good = "[a](GLOSSARY.md) [b](../docs/) [c](GLOSSARY.md#one-word-per-idea) \
                    [d](https://example.org/x)\n```\n[e](nowhere.md)\n```\n";
        assert!(links(&tree(&[("docs/ARCHITECTURE.md", good), glossary])).is_empty());
        for bad in ["[a](../GLOSSARY.md)", "[a](GLOSSARY.md#two)", "x\n[a](#none)"] {
            let found = links(&tree(&[("docs/ARCHITECTURE.md", bad), glossary]));
            assert_eq!(found.len(), 1, "{bad}");
        }
    }

    #[test]
    fn pages_name_only_rules_and_tests_that_exist() {
        let code = ("crates/muster-core/src/a.rs", "#[test] fn holds() {}");
        let good = "held by `tidy:layers` and `test:holds`";
        assert!(named_proof(&tree(&[("docs/A.md", good), code])).is_empty());
        let bad = "held by `tidy:wishes` and `test:hopes`";
        assert_eq!(named_proof(&tree(&[("docs/A.md", bad), code])).len(), 2);
    }

    #[test]
    fn rows_of_changes_have_examples_that_exist() {
        let found = |rows: &str| {
            let page =
                format!("### Where a change goes\n\n| to | see |\n|---|---|\n{rows}\n## End");
            let code = ("crates/a.rs", "struct TasksNext;");
            named_example(&tree(&[(ARCHITECTURE, &page), code])).len()
        };
        assert_eq!(found("| add | [`TasksNext`](../crates/a.rs) |"), 0);
        assert_eq!(found("| add | [`TasksLast`](../crates/a.rs), [`TasksNext`](../b.rs) |"), 2);
        assert_eq!(found("| add | `TasksNext` |"), 1);
        assert_eq!(found(""), 1, "the table is missing");
    }

    #[test]
    fn every_dependency_has_its_reason() {
        let dependencies = vec![Dependency { name: "serde".to_owned(), dev: false }];
        let package = Package { dependencies, ..Package::default() };
        let mut tree = tree(&[(DEPENDENCIES, "| `serde` | derives |\n")]);
        tree.packages.push(package);
        assert!(dependency_reasons(&tree).is_empty());
        tree.files[0].text = "| `sarde` | derives |\n".to_owned();
        assert_eq!(dependency_reasons(&tree).len(), 2);
    }
}
