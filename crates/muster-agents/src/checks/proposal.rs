//! Proposes checks for a repository from the files at its root.
//!
//! ```text
//!   directory ─► RepositoryFiles ─► one row for each tool ─► checks, the main one required
//!                (all that is read)   (pure)
//! ```
//!
//! Only the root counts: a manifest further down belongs to a tool of the root or to none.

mod files;
mod go;
mod node;
mod python;
mod rust;
mod targets;
mod workflow;

use std::collections::BTreeMap;

use muster_core::{
    checks::definition::{CheckCommand, CheckDefinition},
    tasks::step::{Checkpoint, Checkpoints},
};

pub use files::RepositoryFiles;

/// A check that fits the repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProposedCheck {
    pub name: String,
    /// The file it was derived from.
    pub because: &'static str,
    pub definition: CheckDefinition,
}

/// What a tool proposes, before names are made unique.
struct Suggestion {
    name: &'static str,
    because: &'static str,
    command: String,
    kind: SuggestionKind,
    minutes: u64,
    report: Option<String>,
    env: &'static [(&'static str, &'static str)],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SuggestionKind {
    /// A pass proves the tests of a step.
    Tests,
    /// A pass proves nothing: linters and formatters.
    Style,
}

impl Suggestion {
    fn tests(because: &'static str, command: impl Into<String>) -> Self {
        Self {
            name: "tests",
            because,
            command: command.into(),
            kind: SuggestionKind::Tests,
            minutes: 10,
            report: None,
            env: &[],
        }
    }

    fn style(name: &'static str, because: &'static str, command: impl Into<String>) -> Self {
        Self { name, kind: SuggestionKind::Style, ..Self::tests(because, command) }
    }
}

/// A tool whose files tell how a repository is tested.
struct ToolRow {
    /// Distinguishes checks that would have the same name.
    tool: &'static str,
    /// Whether it often only calls the others, and so is used for what they do not cover.
    fills_gaps: bool,
    suggest: fn(&RepositoryFiles) -> Vec<Suggestion>,
}

/// All tools; the first one with tests has the main check.
const TOOLS: [ToolRow; 7] = [
    ToolRow { tool: "rust", fills_gaps: false, suggest: rust::suggest },
    ToolRow { tool: "node", fills_gaps: false, suggest: node::suggest },
    ToolRow { tool: "python", fills_gaps: false, suggest: python::suggest },
    ToolRow { tool: "go", fills_gaps: false, suggest: go::suggest },
    ToolRow { tool: "make", fills_gaps: true, suggest: targets::suggest_make },
    ToolRow { tool: "just", fills_gaps: true, suggest: targets::suggest_just },
    ToolRow { tool: "ci", fills_gaps: true, suggest: workflow::suggest },
];

/// The checks that fit a repository, the main one first.
#[must_use]
pub fn propose(files: &RepositoryFiles) -> Vec<ProposedCheck> {
    let mut proposed: Vec<ProposedCheck> = Vec::new();
    for row in &TOOLS {
        for suggestion in (row.suggest)(files) {
            if row.fills_gaps && is_covered(&proposed, &suggestion) {
                continue;
            }
            let name = free_name(&proposed, suggestion.name, row.tool);
            let is_main = suggestion.kind == SuggestionKind::Tests && !has_tests(&proposed);
            let because = suggestion.because;
            let definition = definition(suggestion, is_main);
            proposed.push(ProposedCheck { name, because, definition });
        }
    }
    proposed
}

fn has_tests(proposed: &[ProposedCheck]) -> bool {
    proposed.iter().any(|check| !check.definition.proves.is_empty())
}

fn is_covered(proposed: &[ProposedCheck], suggestion: &Suggestion) -> bool {
    match suggestion.kind {
        SuggestionKind::Tests => has_tests(proposed),
        SuggestionKind::Style => proposed.iter().any(|check| check.name == suggestion.name),
    }
}

fn free_name(proposed: &[ProposedCheck], name: &str, tool: &str) -> String {
    match proposed.iter().any(|check| check.name == name) {
        true => format!("{name}-{tool}"),
        false => name.to_owned(),
    }
}

fn definition(suggestion: Suggestion, is_main: bool) -> CheckDefinition {
    let env = suggestion.env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    CheckDefinition {
        run: CheckCommand::Shell(suggestion.command),
        timeout_seconds: suggestion.minutes * 60,
        report: suggestion.report,
        // A guess that misses a file would let a stale verdict hold.
        paths: Vec::new(),
        proves: match suggestion.kind {
            SuggestionKind::Tests => Checkpoints::from([Checkpoint::Tests]),
            SuggestionKind::Style => Checkpoints::new(),
        },
        required: is_main,
        clean: false,
        env: env.collect::<BTreeMap<_, _>>(),
        guard_count: true,
    }
}

#[cfg(test)]
mod tests;
