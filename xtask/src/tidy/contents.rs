//! What code may contain where: no silenced lints; processes and SQL only in some crates.

use super::{
    Finding,
    lexer::{Kind, Token},
    source::{Source, matches_at},
    tree::Tree,
};

/// Crates that may start processes; test code and build scripts may everywhere.
const STARTS_PROCESSES: [&str; 3] = ["muster-agents", "muster-testkit", "xtask"];

/// Crates that may contain SQL. This one contains the words it searches for.
const HOLDS_SQL: [&str; 3] = ["muster-store", "muster-testkit", "xtask"];

/// Phrases that only occur in SQL, in the case used here.
const SQL: [&str; 9] = [
    "SELECT ",
    "INSERT INTO",
    "INSERT OR ",
    "DELETE FROM",
    "CREATE TABLE",
    "CREATE INDEX",
    "CREATE UNIQUE",
    "PRAGMA ",
    "BEGIN IMMEDIATE",
];

/// Lints are satisfied or expected with a reason, never allowed.
pub(crate) fn no_allow(tree: &Tree) -> Vec<Finding> {
    let silences = |code: &[Token<'_>], at: usize| {
        let before = at.checked_sub(1).map_or("", |before| code[before].text);
        matches_at(code, at, &["allow", "("]) && matches!(before, "[" | ",")
    };
    find(tree.rust(), silences, "use #[expect(lint, reason = \"…\")]")
}

/// Only the runtime starts processes.
pub(crate) fn processes(tree: &Tree) -> Vec<Finding> {
    let is_of_the_program = |file: &&Source| !file.is_test() && !file.path.ends_with("/build.rs");
    let elsewhere = tree.rust().filter(is_of_the_program);
    let elsewhere = elsewhere.filter(|file| !STARTS_PROCESSES.contains(&file.package()));
    find(elsewhere, starts_process, "only the runtime starts processes")
}

fn starts_process(code: &[Token<'_>], at: usize) -> bool {
    if matches_at(code, at, &["tokio", ":", ":", "process"]) {
        return true;
    }
    if !matches_at(code, at, &["process", ":", ":"]) {
        return false;
    }
    match code.get(at + 3).map(|token| token.text) {
        Some("{") => {
            let names = code[at + 3..].iter().take_while(|token| token.text != "}");
            names.into_iter().any(|token| token.text == "Command")
        }
        next => next == Some("Command"),
    }
}

/// Only the store contains SQL.
pub(crate) fn sql(tree: &Tree) -> Vec<Finding> {
    let elsewhere = tree.rust().filter(|file| !HOLDS_SQL.contains(&file.package()));
    let is_sql = |code: &[Token<'_>], at: usize| {
        let text = code[at].text;
        let update = text.contains("UPDATE ") && text.contains(" SET ");
        code[at].kind == Kind::Text && (update || SQL.iter().any(|phrase| text.contains(phrase)))
    };
    find(elsewhere, is_sql, "SQL lives in muster-store")
}

/// One finding for every token of every file at which `is_bad` holds.
fn find<'a>(
    files: impl Iterator<Item = &'a Source>,
    is_bad: impl Fn(&[Token<'_>], usize) -> bool,
    what: &str,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        let code = file.code();
        for at in (0..code.len()).filter(|at| is_bad(&code, *at)) {
            findings.push(Finding::new(&format!("{}:{}", file.path, code[at].line), what.into()));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(path: &str, text: &str) -> Tree {
        Tree { files: vec![Source::new(path, text)], ..Tree::default() }
    }

    const CORE: &str = "crates/muster-core/src/a.rs";

    #[test]
    fn silenced_lints_are_found() {
        for bad in ["#[allow(dead_code)]", "#![allow(x)]", "#[cfg_attr(test, allow(dead_code))]"] {
            assert_eq!(no_allow(&tree(CORE, bad)).len(), 1, "{bad}");
        }
        for good in ["#[expect(x, reason = \"#[allow(y)]\")]", "layer.allow(x)", "// #[allow(x)]"] {
            assert!(no_allow(&tree(CORE, good)).is_empty(), "{good}");
        }
    }

    #[test]
    fn processes_start_only_where_they_may() {
        for bad in [
            "use std::process::Command;",
            "use std::process::{self, Command};",
            "std::process::Command::new(\"git\")",
            "use tokio::process;",
        ] {
            assert_eq!(processes(&tree(CORE, bad)).len(), 1, "{bad}");
            assert!(processes(&tree("crates/muster-agents/src/a.rs", bad)).is_empty(), "{bad}");
            assert!(processes(&tree("crates/muster/tests/a.rs", bad)).is_empty(), "{bad}");
            assert!(processes(&tree("crates/muster/build.rs", bad)).is_empty(), "{bad}");
        }
        for good in ["use std::process::ExitCode;", "use clap::Command;", "std::process::id()"] {
            assert!(processes(&tree("crates/muster/src/a.rs", good)).is_empty(), "{good}");
        }
    }

    #[test]
    fn sql_is_found_outside_the_store() {
        for bad in ["\"SELECT a FROM b\"", "r#\"UPDATE a SET b = 1\"#", "\"PRAGMA x\""] {
            assert_eq!(sql(&tree(CORE, bad)).len(), 1, "{bad}");
            assert!(sql(&tree("crates/muster-store/src/a.rs", bad)).is_empty(), "{bad}");
        }
        for good in ["\"Select a plan\"", "// SELECT a FROM b", "\"UPDATED\""] {
            assert!(sql(&tree(CORE, good)).is_empty(), "{good}");
        }
    }
}
