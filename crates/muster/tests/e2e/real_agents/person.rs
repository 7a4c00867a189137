//! Agents as a person starts them in a terminal, connected by `muster setup`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use muster_testkit::model::{ScriptedModel, Step, Told};

use super::cli::{Cli, modules};
use crate::program;

/// Where the JSON that hooks get is kept, for recordings.
const HOOKS: &str = "MUSTER_TEST_HOOKS";

/// A person with one agent, its home, and a directory to work in.
pub(super) struct Person {
    pub(super) cli: Cli,
    pub(super) model: ScriptedModel,
    home: PathBuf,
    work: PathBuf,
}

/// Flags that make an agent answer one prompt without questions.
fn flags(cli: Cli, prompt: &str) -> Vec<&str> {
    match cli {
        Cli::Claude => vec!["-p", prompt, "--dangerously-skip-permissions"],
        Cli::Codex => vec![
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            // A person does this once, with /hooks.
            "--dangerously-bypass-hook-trust",
            "-c",
            "tools.update_plan.enabled=true",
            prompt,
        ],
        // Newer models have no list of their own there.
        Cli::Gemini => vec!["--yolo", "--skip-trust", "-m", "gemini-2.5-flash", "-p", prompt],
        Cli::Opencode => vec!["run", prompt],
    }
}

impl Person {
    /// Connects the agent to a store.
    pub(super) fn new(cli: Cli, (home, work, store): (&Path, &Path, &Path)) -> Self {
        let model = ScriptedModel::start().unwrap();
        cli.settle(home, &model);
        let words = ["setup", cli.name(), "--write", "--storage-dir", store.to_str().unwrap()];
        let mut setup = program::muster(&words);
        setup.env("HOME", home);
        for variable in ["CODEX_HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME"] {
            setup.env_remove(variable);
        }
        let done = setup.output().unwrap();
        assert!(done.status.success(), "{}", program::stderr(&done));
        let person = Self { cli, model, home: home.to_owned(), work: work.to_owned() };
        person.record_hooks();
        person
    }

    /// Lets the agent follow a script to its end; what it and its model said.
    pub(super) fn follow(&self, script: Vec<Step>) -> (String, Told) {
        let prompt = format!("{} Do what the script says.", self.model.script("work", script));
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", modules().join(".bin").display());
        let variables = self.cli.variables(&self.model);
        let variables = variables.as_object().unwrap().iter();
        let mut command = Command::new(&self.cli.command(&modules())[0]);
        command.args(flags(self.cli, &prompt)).current_dir(&self.work).env_clear();
        command.envs(variables.map(|(name, value)| (name, value.as_str().unwrap())));
        // Without it claude has no list of its own when it answers one prompt.
        command.env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1");
        command.env("PATH", path).env("HOME", &self.home).env("LANG", "C.UTF-8");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let said = program::stdout(&output) + &program::stderr(&output);
        assert!(output.status.success(), "{said}");
        assert_eq!(self.model.strangers(), Vec::<String>::new(), "nothing leaves the machine");
        let input = self.model.told("work").pop();
        let input = input.unwrap_or_else(|| panic!("it asked nothing: {said}"));
        (said, input)
    }

    /// Also writes what hooks are sent to a file, if that is wanted.
    fn record_hooks(&self) {
        let Some(folder) = std::env::var_os(HOOKS) else { return };
        let log = PathBuf::from(folder).join(format!("{}.jsonl", self.cli.name()));
        let files = [".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json"];
        for file in files.map(|name| self.home.join(name)).iter().filter(|file| file.is_file()) {
            let text = fs::read_to_string(file).unwrap();
            let program = program::path().to_str().unwrap();
            let tee = format!("tee -a {} | {program} hook report", log.display());
            fs::write(file, text.replace(&format!("{program} hook report"), &tee)).unwrap();
        }
        let plugin = self.home.join(".config/opencode/plugins/muster.js");
        if let Ok(text) = fs::read_to_string(&plugin) {
            let line = text.lines().find(|line| line.starts_with("const COMMAND = ")).unwrap();
            let words = line.trim_start_matches("const COMMAND = ").trim_end_matches(';');
            let words: Vec<String> = serde_json::from_str(words).unwrap();
            let tee = format!("tee -a {} | {}", log.display(), words.join(" "));
            let recorded = format!("const COMMAND = {};", serde_json::json!(["sh", "-c", tee]));
            fs::write(&plugin, text.replace(line, &recorded)).unwrap();
        }
    }
}
