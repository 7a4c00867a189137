//! Agents that people start themselves, connected by `muster setup`: the hook keeps them at work
//! until the checks of their step hold.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use muster_testkit::model::{ScriptedModel, Step, Told};
use serde_json::json;

use super::cli::{Cli, modules};
use crate::{
    agent::Agent,
    program,
    proof::Proving,
    stopping::{begin, unproven_stop},
};

/// What an agent reads about the check of its step.
const FAILED: &str = "check tests failed (CHK-000001)";

/// Flags that make an agent answer one prompt without questions.
fn flags(cli: Cli, prompt: &str) -> Vec<&str> {
    match cli {
        Cli::Claude => vec!["-p", prompt, "--dangerously-skip-permissions"],
        Cli::Codex => vec![
            "exec",
            "--dangerously-bypass-approvals-and-sandbox",
            // A person does this once, with /hooks.
            "--dangerously-bypass-hook-trust",
            prompt,
        ],
        Cli::Gemini => vec!["--yolo", "--skip-trust", "-p", prompt],
        Cli::Opencode => unreachable!("it has no such hook"),
    }
}

fn connect(cli: Cli, home: &Path, stage: &Proving) {
    let store = stage.store();
    let words = ["setup", cli.name(), "--write", "--storage-dir", store.to_str().unwrap()];
    let mut setup = program::muster(&words);
    setup.env("HOME", home).env_remove("CODEX_HOME").env_remove("CLAUDE_CONFIG_DIR");
    let done = setup.output().unwrap();
    assert!(done.status.success(), "{}", program::stderr(&done));
}

/// A project with a step in progress, and an agent as a person has it.
struct Alone {
    cli: Cli,
    stage: Proving,
    model: ScriptedModel,
    muster: Agent,
    task: String,
}

impl Alone {
    fn new(cli: Cli) -> Self {
        let stage = Proving::new();
        let model = ScriptedModel::start().unwrap();
        cli.settle(&stage.path("home"), &model);
        connect(cli, &stage.path("home"), &stage);
        let mut muster = stage.agent();
        let task = begin(&mut muster, "tests");
        Self { cli, stage, model, muster, task }
    }

    /// Lets the agent follow a script to its end; what it and its model said.
    fn follow(&self, script: Vec<Step>) -> (String, Told) {
        let prompt = format!("{} Do what the script says.", self.model.script("work", script));
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", modules().join(".bin").display());
        let variables = self.cli.variables(&self.model);
        let variables = variables.as_object().unwrap().iter();
        let mut command = Command::new(&self.cli.command(&modules())[0]);
        command.args(flags(self.cli, &prompt)).current_dir(self.stage.work()).env_clear();
        command.envs(variables.map(|(name, value)| (name, value.as_str().unwrap())));
        // Without it claude has no list of its own when it answers one prompt.
        command.env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1");
        command.env("PATH", path).env("HOME", self.stage.path("home")).env("LANG", "C.UTF-8");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = program::stdout(&output) + &program::stderr(&output);
        assert!(output.status.success(), "{said}");
        assert_eq!(self.model.strangers(), Vec::<String>::new(), "nothing leaves the machine");
        let input = self.model.told("work").pop();
        let input = input.unwrap_or_else(|| panic!("it asked nothing: {said}"));
        (said, input)
    }

    /// It was refused once, and the check passed on what it did then.
    fn was_kept_once(mut self, said: &str) {
        let state = fs::read_to_string(self.stage.work().join("state.txt")).unwrap();
        assert_eq!((state.as_str(), self.stage.runs()), ("good\n", 2), "{said}");
        let stop = unproven_stop(&mut self.muster, &self.task);
        assert_eq!(stop["refusals"], json!(1), "{stop}\n{said}");
    }
}

/// An agent that says at once that it is done, and works when it is refused.
fn keeps(cli: Cli) {
    let alone = Alone::new(cli);
    let (said, input) = alone.follow(vec![
        Step::say("All tests pass."),
        Step::shell("echo good > state.txt"),
        Step::say("Now they do."),
    ]);
    let heard = input.asked.concat();
    assert!(heard.contains(FAILED), "{heard}\n{said}");
    alone.was_kept_once(&said);
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn claude_completes_no_task_of_its_own_before_its_checks_hold() {
    let alone = Alone::new(Cli::Claude);
    let task = json!({"subject": "Make it good", "description": "It is bad."});
    let complete = json!({"taskId": "1", "status": "completed"});
    let (said, input) = alone.follow(vec![
        Step::tool("TaskCreate", &task),
        Step::tool("TaskUpdate", &complete),
        Step::shell("echo good > state.txt"),
        Step::tool("TaskUpdate", &complete),
        Step::say("Now it is done."),
    ]);
    let [_, refused, _, accepted] = &input.outcomes[..] else { panic!("{input:#?}\n{said}") };
    assert!(refused.contains(FAILED), "{input:#?}\n{said}");
    assert!(!accepted.contains("check tests"), "{input:#?}\n{said}");
    alone.was_kept_once(&said);
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn claude_is_kept_until_its_checks_hold() {
    keeps(Cli::Claude);
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn codex_is_kept_until_its_checks_hold() {
    keeps(Cli::Codex);
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn gemini_is_kept_until_its_checks_hold() {
    keeps(Cli::Gemini);
}
