//! The outcome of a run: each line of its definition of done with its proof, its checks, the
//! files, the cost, what is open, and what a person can do next.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Documents, ListQuery,
    run::{
        RunAggregate, RunDocument,
        artifact::ArtifactKind,
        id::{NodeId, RunId},
        lookup::{self, Found},
        node::Node,
        record::{Completion, Declarer, DoneClaim, Run, RunStatus},
        settings::{Isolation, Usage},
        shape::words,
    },
};

words! {
    /// What is known about a line of the definition of done.
    DoneState {
        /// A check that the line names passed.
        Proven = "proven",
        /// A verdict says that it is met; nothing proves it.
        Claimed = "claimed",
        /// A check that the line names failed, or a verdict says that it is not met.
        Unmet = "unmet",
        /// There is no verdict about it.
        Open = "open",
    }
    /// Something that is open although the run has ended.
    OpenPointKind {
        /// An unanswered question.
        Question = "question",
        /// Inputs that failed.
        InputFailed = "input_failed",
        /// A node that failed.
        NodeFailed = "node_failed",
    }
    /// What a person can do next.
    NextStep {
        /// Look after checks that failed.
        FixChecks = "fix_checks",
        /// Answer a question.
        Answer = "answer",
        /// Merge the worktrees.
        Merge = "merge",
        /// Look at the changed files.
        Review = "review",
        /// Use the text for a pull request.
        PullRequest = "pull_request",
        /// Send a message and continue.
        Reopen = "reopen",
    }
}

/// A check of the last verification.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct JudgedCheck {
    pub name: String,
    pub command: String,
    pub ok: bool,
    /// Whether the run needs it to pass.
    pub required: bool,
    pub exit_code: Option<i32>,
    pub timed_out: bool,
    pub duration_ms: u64,
    /// Names of the tests that failed, as far as the check reports them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_tests: Vec<String>,
}

/// A line of the definition of done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoneLine {
    pub line: String,
    pub state: DoneState,
    /// By what that is known, in words.
    pub by: String,
    /// What the agent names as evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// Something that is open.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenPoint {
    pub kind: OpenPointKind,
    pub node_id: NodeId,
    /// The node's name.
    pub label: String,
    pub text: String,
}

/// The outcome of a run.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunEnding {
    pub run_id: RunId,
    pub goal: Option<String>,
    pub status: RunStatus,
    /// Who declared it done, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared_by: Option<String>,
    /// In the words of who declared it.
    pub summary: String,
    /// The outcome in one sentence.
    pub headline: String,
    pub done_when: Vec<DoneLine>,
    /// Checks of the last verification; empty if none ran.
    pub checks: Vec<JudgedCheck>,
    /// Checks that failed although the run does not need them.
    pub optional_failed: Vec<String>,
    /// Files that turns of the run changed, by path.
    pub files: Vec<String>,
    pub usage: Usage,
    pub open: Vec<OpenPoint>,
    /// What a person can do next, most pressing first.
    pub next: Vec<NextStep>,
    /// A description for a pull request, as Markdown.
    pub pull_text: String,
}

/// What the documents say about the end of a run.
struct Facts<'a> {
    run: &'a Run,
    nodes: Vec<&'a Node>,
    checks: Vec<JudgedCheck>,
}

/// The outcome of a run; the checks are those of its last verification report.
pub fn ending(docs: &Documents<RunAggregate>, checks: Vec<JudgedCheck>) -> Found<RunEnding> {
    let run = lookup::run(docs)?;
    let query =
        ListQuery { statuses: vec![ArtifactKind::Diff.name()], ..ListQuery::of("artifact") };
    let diffs = docs.list(&query)?.into_iter().filter_map(RunDocument::as_artifact);
    let changed = diffs.filter_map(|artifact| artifact.metadata.diff.as_ref());
    let files: BTreeSet<String> =
        changed.flat_map(|metadata| metadata.files_changed.iter().cloned()).collect();
    let facts = Facts { run, nodes: lookup::nodes(docs)?, checks };
    let done_when = facts.done_when();
    let open = facts.open();
    let next = facts.next(&open, !files.is_empty());
    let failed = facts.checks.iter().filter(|check| !check.ok && !check.required);
    let optional_failed = failed.map(|check| check.name.clone()).collect();
    Ok(RunEnding {
        run_id: run.id,
        goal: run.goal.clone(),
        status: run.status,
        declared_by: facts.declared_by(),
        summary: run.completion.as_ref().map_or("", |it| it.summary.as_str()).to_owned(),
        headline: facts.headline(),
        pull_text: facts.pull_text(&done_when),
        done_when,
        optional_failed,
        files: files.into_iter().collect(),
        usage: run.usage.clone(),
        open,
        next,
        checks: facts.checks,
    })
}

impl Facts<'_> {
    fn declared_by(&self) -> Option<String> {
        let completion = self.run.completion.as_ref()?;
        Some(match (completion.by, completion.node_id) {
            (Declarer::User, _) => "a person".to_owned(),
            (Declarer::Orchestrator, id) => {
                let lead = self.nodes.iter().find(|node| Some(node.id) == id);
                lead.map_or_else(|| "a deleted node".to_owned(), |node| node.label.clone())
            }
        })
    }

    fn headline(&self) -> String {
        let ended = match self.run.status {
            RunStatus::Completed => "Done",
            RunStatus::Failed => return "Given up".to_owned(),
            RunStatus::Queued | RunStatus::Running | RunStatus::Paused => "Not ended",
        };
        let names = |required: bool| -> Vec<&str> {
            let failed = self.checks.iter().filter(|check| !check.ok && check.required == required);
            failed.map(|check| check.name.as_str()).collect()
        };
        let (required, optional) = (names(true), names(false));
        match (required.is_empty(), optional.is_empty()) {
            (false, _) => format!("{ended}, but these checks failed: {}", required.join(", ")),
            (true, false) => format!(
                "{ended}; required checks passed, optional ones failed: {}",
                optional.join(", ")
            ),
            (true, true) if self.checks.is_empty() => format!("{ended}; no check ran"),
            (true, true) => format!("{ended}; all checks passed"),
        }
    }

    fn done_when(&self) -> Vec<DoneLine> {
        let lines = self.run.definition_of_done.iter().enumerate();
        lines.map(|(at, line)| self.judged(at, line)).collect()
    }

    /// A check that the line names decides; else what was said at the end.
    fn judged(&self, at: usize, line: &str) -> DoneLine {
        let judged =
            |state, by: String| DoneLine { line: line.to_owned(), state, by, evidence: None };
        let named: Vec<&JudgedCheck> =
            self.checks.iter().filter(|check| names_check(line, check)).collect();
        if let Some(failed) = named.iter().find(|check| !check.ok) {
            return judged(DoneState::Unmet, format!("the check {} failed", failed.name));
        }
        if let Some(passed) = named.first() {
            return judged(DoneState::Proven, format!("the check {} passed", passed.name));
        }
        let Some(completion) = &self.run.completion else {
            return judged(DoneState::Open, "there is no verdict yet".to_owned());
        };
        let by = self.declared_by().unwrap_or_default();
        match claim(completion, at) {
            Some(claim) => {
                let state = if claim.met { DoneState::Claimed } else { DoneState::Unmet };
                let what = if claim.met { "is met" } else { "is not met" };
                let evidence = claim.evidence.clone();
                DoneLine { evidence, ..judged(state, format!("{by} says that it {what}")) }
            }
            None if completion.claims.is_empty() => {
                judged(DoneState::Claimed, format!("{by} declared the run done as a whole"))
            }
            None => judged(DoneState::Open, format!("{by} said nothing about it")),
        }
    }

    fn open(&self) -> Vec<OpenPoint> {
        let mut open = Vec::new();
        for node in &self.nodes {
            let mut add = |kind, text: String| {
                let label = node.label.clone();
                open.push(OpenPoint { kind, node_id: node.id, label, text });
            };
            if let Some(question) = &node.question {
                add(OpenPointKind::Question, question.text.clone());
            }
            if node.failed_inputs > 0 {
                let noun = if node.failed_inputs == 1 { "input" } else { "inputs" };
                add(OpenPointKind::InputFailed, format!("{} {noun} failed", node.failed_inputs));
            } else if node.failed {
                let detail = node.last_turn.as_ref().and_then(|turn| turn.detail.clone());
                add(OpenPointKind::NodeFailed, detail.unwrap_or_else(|| "it failed".to_owned()));
            }
        }
        open
    }

    fn next(&self, open: &[OpenPoint], has_files: bool) -> Vec<NextStep> {
        let failed = self.checks.iter().any(|check| !check.ok);
        let asks = open.iter().any(|point| point.kind == OpenPointKind::Question);
        let merges = has_files && self.run.settings.isolation == Isolation::Worktree;
        let steps = [
            (failed, NextStep::FixChecks),
            (asks, NextStep::Answer),
            (has_files, NextStep::Review),
            (merges, NextStep::Merge),
            (has_files, NextStep::PullRequest),
            (!self.run.status.is_active(), NextStep::Reopen),
        ];
        steps.into_iter().filter(|(holds, _)| *holds).map(|(_, step)| step).collect()
    }

    fn pull_text(&self, done_when: &[DoneLine]) -> String {
        let mark = |state| match state {
            DoneState::Proven | DoneState::Claimed => "x",
            DoneState::Unmet | DoneState::Open => " ",
        };
        let line =
            |line: &DoneLine| format!("- [{}] {} ({})\n", mark(line.state), line.line, line.by);
        let check = |check: &JudgedCheck| {
            let outcome = if check.ok { "passed" } else { "failed" };
            let optional = if check.required { "" } else { ", optional" };
            format!("- {}: {outcome}{optional}\n", check.name)
        };
        let mut text = format!("# {}\n", self.run.name);
        let mut section = |title: &str, body: String| {
            if !body.trim().is_empty() {
                let title =
                    if title.is_empty() { String::new() } else { format!("\n## {title}\n") };
                text += &format!("{title}\n{}\n", body.trim_end());
            }
        };
        section("", self.run.goal.clone().unwrap_or_default());
        section("", self.run.completion.as_ref().map_or("", |it| it.summary.as_str()).to_owned());
        section("Done when", done_when.iter().map(line).collect());
        section("Checks", self.checks.iter().map(check).collect());
        text
    }
}

fn claim(completion: &Completion, at: usize) -> Option<&DoneClaim> {
    completion
        .claims
        .iter()
        .find(|claim| usize::try_from(claim.line).is_ok_and(|line| line == at + 1))
}

/// Whether a line names a check: its name as a word, or its command.
fn names_check(line: &str, check: &JudgedCheck) -> bool {
    let line = line.to_lowercase();
    let name = check.name.trim().to_lowercase();
    let command = check.command.trim().to_lowercase();
    let has_word = |word: &str| {
        line.match_indices(word).any(|(at, found)| {
            let is_edge = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
            is_edge(line[..at].chars().next_back())
                && is_edge(line[at + found.len()..].chars().next())
        })
    };
    (name.chars().count() > 2 && has_word(&name)) || (command.len() > 2 && line.contains(&command))
}

#[cfg(test)]
mod tests {
    use super::{JudgedCheck, names_check};

    #[test]
    fn a_line_names_a_check_by_its_name_or_command() {
        let check = |name: &str, command: &str| JudgedCheck {
            name: name.to_owned(),
            command: command.to_owned(),
            ..JudgedCheck::default()
        };
        let tests = check("tests", "cargo test --quiet");
        assert!(names_check("the Tests pass", &tests));
        assert!(names_check("`cargo test --quiet` succeeds", &tests));
        assert!(!names_check("the contests are over", &tests));
        assert!(!names_check("docs are written", &tests));
        assert!(!names_check("it is ok", &check("it", "ok")));
    }
}
