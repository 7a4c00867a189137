//! Tidy: rules for the repository as a whole, one row each.
//!
//! A rule is a pure function of the [`Tree`]; each has a test that shows it failing. Rules that the
//! compiler or clippy can enforce are not here.

mod contents;
mod layers;
mod lexer;
mod names;
mod pages;
mod sizes;
mod source;
mod traces;
mod tree;
mod vectors;
mod web;

use std::{fmt, path::Path};

use anyhow::Result;

use self::tree::Tree;

/// Something that violates a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    place: String,
    what: String,
}

impl Finding {
    fn new(place: &str, what: String) -> Self {
        Self { place: place.to_owned(), what }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// One rule: its name in documents and messages, and its check.
pub(crate) struct Rule {
    id: &'static str,
    check: fn(&Tree) -> Vec<Finding>,
}

const RULES: [Rule; 24] = [
    Rule { id: "layers", check: layers::layers },
    Rule { id: "homes", check: layers::homes },
    Rule { id: "plain-crates", check: layers::plain_crates },
    Rule { id: "file-length", check: sizes::file_length },
    Rule { id: "function-length", check: sizes::function_length },
    Rule { id: "line-width", check: sizes::line_width },
    Rule { id: "empty-words", check: names::empty_words },
    Rule { id: "unique-types", check: names::unique_types },
    Rule { id: "no-mod-files", check: names::no_mod_files },
    Rule { id: "opening-line", check: names::opening_line },
    Rule { id: "no-allow", check: contents::no_allow },
    Rule { id: "processes", check: contents::processes },
    Rule { id: "sql", check: contents::sql },
    Rule { id: "page-length", check: pages::page_length },
    Rule { id: "links", check: pages::links },
    Rule { id: "named-proof", check: pages::named_proof },
    Rule { id: "named-example", check: pages::named_example },
    Rule { id: "dependency-reasons", check: pages::dependency_reasons },
    Rule { id: "machine-paths", check: traces::machine_paths },
    Rule { id: "package-sources", check: traces::package_sources },
    Rule { id: "valid-json", check: vectors::valid_json },
    Rule { id: "every-operation", check: vectors::every_operation },
    Rule { id: "web-rooms", check: web::rooms },
    Rule { id: "web-sizes", check: web::sizes },
];

/// What each rule found, in the order of the table.
pub(crate) fn findings(root: &Path, cargo: &Path) -> Result<Vec<(&'static str, Vec<Finding>)>> {
    let tree = Tree::read(root, cargo)?;
    Ok(RULES.iter().map(|rule| (rule.id, (rule.check)(&tree))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let found = findings(&root, Path::new(env!("CARGO"))).unwrap();
        let lines: Vec<String> = found
            .iter()
            .flat_map(|(rule, findings)| findings.iter().map(move |one| format!("{rule}: {one}")))
            .collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }

    #[test]
    fn rules_have_names_of_their_own() {
        for (at, rule) in RULES.iter().enumerate() {
            assert!(RULES[..at].iter().all(|earlier| earlier.id != rule.id), "{}", rule.id);
        }
    }
}
