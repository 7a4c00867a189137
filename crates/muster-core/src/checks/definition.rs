//! The definitions of a project, as its `muster.toml` declares them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    run::hash::sha256_hex,
    tasks::{id::WorkspaceId, step::Checkpoints},
};

/// Checks a project may declare.
pub const PROJECT_CHECKS_MAX: usize = 50;
/// Characters of the name of a check.
pub const PROJECT_CHECK_NAME_CHARS_MAX: usize = 40;
/// How long a check may take unless it says otherwise, in seconds.
pub const TIMEOUT_SECONDS_DEFAULT: u64 = 10 * 60;
/// The longest time a check may ask for, in seconds.
pub const TIMEOUT_SECONDS_MAX: u64 = 24 * 60 * 60;

/// Everything a project declares.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct ProjectDefinition {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    #[serde(default)]
    pub gates: GatePolicy,
    /// By name.
    #[serde(default)]
    pub checks: BTreeMap<String, CheckDefinition>,
    /// Globs of files whose change a person has to look at.
    #[serde(default)]
    pub protected: Vec<String>,
}

/// How much closing a step asks for beyond its checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum GatePolicy {
    /// Criteria are confirmed one by one, and tests need proof.
    #[default]
    Strict,
    /// What holds without a project file.
    Plain,
}

/// One check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckDefinition {
    pub run: CheckCommand,
    pub timeout_seconds: u64,
    /// A JUnit report that the command writes, relative to the root of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
    /// Globs of the files that the verdict depends on; all of them without any.
    pub paths: Vec<String>,
    /// Checkpoints that a pass confirms.
    pub proves: Checkpoints,
    /// Whether every task of the workspace has to pass it.
    pub required: bool,
    /// Whether it runs in a throwaway checkout instead of the project's directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub clean: bool,
    pub env: BTreeMap<String, String>,
    /// Whether fewer tests than at the last pass are a finding.
    pub guard_count: bool,
}

/// What a check runs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(untagged, expecting = "run: a command line, or a list with a program and its arguments")]
pub enum CheckCommand {
    /// A command line for the shell.
    Shell(String),
    /// A program and its arguments.
    Program(Vec<String>),
}

impl CheckCommand {
    /// The program and its arguments.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Shell(line) => vec!["sh".to_owned(), "-c".to_owned(), line.clone()],
            Self::Program(words) => words.clone(),
        }
    }

    /// As a person would type it.
    #[must_use]
    pub fn line(&self) -> String {
        match self {
            Self::Shell(line) => line.clone(),
            Self::Program(words) => words.join(" "),
        }
    }
}

impl ProjectDefinition {
    /// Identifies what was accepted: equal for files that differ only in form.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(self)
    }
}

impl CheckDefinition {
    /// Identifies the definition: a verdict holds for no other one.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(self)
    }
}

/// Maps are sorted and fields have a fixed order, so equal values give equal JSON.
fn digest(value: &impl Serialize) -> String {
    serde_json::to_vec(value).map_or_else(|_| String::new(), |json| sha256_hex(&json))
}
