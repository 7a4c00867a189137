//! Contract vectors: language-neutral cases that every surface must answer alike.
//!
//! `tests/contracts/README.md` says how they are written. This room reads them, plays them on a
//! [`Surface`], checks what holds for every answer, and compares surfaces with each other.

mod command_line;
mod envelope;
mod fill;
mod in_process;
mod mcp;
mod pattern;
mod play;
mod project;
mod rest;
mod rules;
mod surface;
mod times;

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;
use serde_json::{Map, Value};

pub use command_line::CommandLine;
pub use envelope::check as check_envelope;
pub use in_process::InProcess;
pub use mcp::{McpHttp, McpStdio};
pub use play::hold_on_all;
pub use project::{CaseProject, StagedProject};
pub use rest::Rest;
pub use rules::{Coverage, is_named_after};
pub use surface::{Answer, Invocation, Surface};

/// File of the beginnings that cases share.
const BEGINNINGS: &str = "beginnings.json";

/// The cases of one file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topic {
    /// What the file is about.
    pub about: String,
    /// Its cases, in order.
    pub cases: Vec<Case>,
}

/// One case: calls on a fresh workspace and what they answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What it shows, as a sentence.
    pub name: String,
    /// Rules it is a vector of.
    pub rules: Vec<String>,
    /// Whether it is played in memory only, because it writes a lot.
    #[serde(default)]
    pub in_memory_only: bool,
    /// A project that a person has accepted for its workspace.
    #[serde(default)]
    project: Option<CaseProject>,
    /// Beginnings that go first, by name.
    #[serde(default)]
    given: Vec<String>,
    /// Its calls, in order.
    pub steps: Vec<Step>,
}

/// One entry of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Step {
    Call(CallStep),
    /// Several calls at the same time.
    AtOnce(AtOnce),
    /// Files of the project change.
    Write(WriteStep),
}

/// A change of the project's files.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteStep {
    /// By path; `null` removes a file.
    pub write: BTreeMap<String, Option<String>>,
}

/// One call and what it must answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallStep {
    /// The operation.
    pub call: String,
    /// Its arguments; the case's workspace is put in unless they are to be sent as given.
    #[serde(default)]
    pub args: Value,
    /// Whether the arguments are sent without adding the workspace.
    #[serde(default)]
    pub as_given: bool,
    /// How often it is called; `${n}` counts from 0.
    #[serde(default = "once")]
    pub times: u32,
    /// Pattern of the answer. With `error` in it the call must fail, else it must succeed.
    #[serde(default)]
    pub expect: Map<String, Value>,
    /// Values kept under a name, by JSON pointer into the answer.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
}

/// Calls that are sent together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtOnce {
    /// The calls; each `times` over.
    pub at_once: Vec<CallStep>,
    /// What the answers are, in any order.
    pub outcomes: Vec<Expected>,
}

/// How many answers have to match.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// How many.
    #[serde(default = "once")]
    pub times: u32,
    /// Pattern of the answer.
    pub expect: Map<String, Value>,
}

/// Arguments of a step that nothing was saved for; as they are when they need a saved value.
pub(crate) fn filled(arguments: &Value, workspace: &str) -> Value {
    let values = BTreeMap::from([("ws".to_owned(), workspace.into())]);
    fill::fill(arguments, &values).unwrap_or_else(|_| arguments.clone())
}

fn once() -> u32 {
    1
}

/// Reads the cases of one topic, each with its beginnings in front.
pub fn load(folder: &Path, topic: &str) -> Result<Topic, String> {
    let beginnings: BTreeMap<String, Vec<Step>> = read(&folder.join(BEGINNINGS))?;
    let mut loaded: Topic = read(&folder.join(format!("{topic}.json")))?;
    for case in &mut loaded.cases {
        let mut steps = Vec::new();
        for name in &case.given {
            let beginning = beginnings.get(name);
            let beginning = beginning
                .ok_or_else(|| format!("{topic}, {}: no beginning {name:?}", case.name))?;
            steps.extend(beginning.iter().cloned());
        }
        steps.append(&mut case.steps);
        case.steps = steps;
    }
    Ok(loaded)
}

/// Names of the topics in a folder, sorted.
pub fn topics(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        let name = name.to_string_lossy();
        if let Some(topic) = name.strip_suffix(".json").filter(|_| name != BEGINNINGS) {
            names.push(topic.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

fn read<T: serde::de::DeserializeOwned>(file: &Path) -> Result<T, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))
}
