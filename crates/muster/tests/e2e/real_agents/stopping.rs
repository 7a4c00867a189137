//! Agents that people start themselves, connected by `muster setup`: the hook keeps them at work
//! until the checks of their step hold.

use std::{fs, path::Path, process::Command};

use muster_testkit::model::{ScriptedModel, Step};
use serde_json::json;

use super::cli::{Cli, modules};
use crate::{
    program,
    proof::Proving,
    stopping::{begin, unproven_stop},
};

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

/// Runs an agent that says at once that it is done, and works when it is refused.
fn keeps(cli: Cli) {
    let stage = Proving::new();
    let home = stage.path("home");
    let model = ScriptedModel::start().unwrap();
    cli.settle(&home, &model);
    connect(cli, &home, &stage);
    let mut agent = stage.agent();
    let task = begin(&mut agent, "tests");
    let script = vec![
        Step::say("All tests pass."),
        Step::shell("echo good > state.txt"),
        Step::say("Now they do."),
    ];
    let prompt = format!("{} Do what the script says.", model.script("work", script));
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", modules().join(".bin").display());
    let variables = cli.variables(&model);
    let variables = variables.as_object().unwrap().iter();
    let mut command = Command::new(&cli.command(&modules())[0]);
    command.args(flags(cli, &prompt)).current_dir(stage.work()).env_clear();
    command.envs(variables.map(|(name, value)| (name, value.as_str().unwrap())));
    command.env("PATH", path).env("HOME", &home).env("LANG", "C.UTF-8");
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let said = program::stdout(&output) + &program::stderr(&output);
    assert!(output.status.success(), "{said}");
    let told = model.told("work");
    let last = told.last().unwrap_or_else(|| panic!("it asked nothing: {said}"));
    let heard = last.asked.concat();
    assert!(heard.contains("check tests failed (CHK-000001)"), "{heard}\n{said}");
    let state = fs::read_to_string(stage.work().join("state.txt")).unwrap();
    assert_eq!((state.as_str(), stage.runs()), ("good\n", 2), "{said}");
    let stop = unproven_stop(&mut agent, &task);
    assert_eq!(stop["refusals"], json!(1), "{stop}\n{said}");
    assert_eq!(model.strangers(), Vec::<String>::new(), "nothing leaves the machine");
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
