//! `muster setup`: configuration of agents, shown and written.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::{Value, json};

use crate::program::{muster, path, stderr, stdout};

/// A home folder of its own.
struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs `muster setup` here.
    fn setup(&self, words: &[&str]) -> Output {
        let mut command = muster(&["setup"]);
        command.args(words).env("HOME", self.path());
        for variable in
            ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "NO_COLOR"]
        {
            command.env_remove(variable);
        }
        command.output().unwrap()
    }

    /// Runs `muster setup` and expects it to succeed.
    fn done(&self, words: &[&str]) -> String {
        let output = self.setup(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", stderr(&output));
        stdout(&output)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.path().join(name)).unwrap()).unwrap()
    }

    /// Every file below, by its name.
    fn files(&self) -> Vec<String> {
        let mut open = vec![self.path().to_owned()];
        let mut files = Vec::new();
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    files.push(path.strip_prefix(self.path()).unwrap().display().to_string());
                }
            }
        }
        files.sort();
        files
    }
}

#[test]
fn showing_writes_nothing() {
    let home = Home::new();
    for agent in ["claude", "codex", "gemini", "opencode"] {
        let shown = home.done(&[agent]);
        assert!(shown.contains("--write") && shown.contains("\"mcp\""), "{shown}");
    }
    assert_eq!(home.files(), Vec::<String>::new());
}

#[test]
fn claude_gets_the_server_and_the_hooks_beside_its_own_settings() {
    let home = Home::new();
    let old = json!({"numStartups": 7, "mcpServers": {"other": {"command": "x"}}, "theme": "dark"});
    home.write(".claude.json", &old.to_string());
    home.done(&["claude", "--workspace", "w", "--write"]);
    let program = path().to_str().unwrap();
    let servers = home.json(".claude.json");
    assert_eq!(
        servers.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["numStartups", "mcpServers", "theme"]
    );
    assert_eq!(servers["mcpServers"]["other"], json!({"command": "x"}));
    let expected =
        json!({"type": "stdio", "command": program, "args": ["mcp", "--workspace", "w"]});
    assert_eq!(servers["mcpServers"]["muster"], expected);
    let hooks = &home.json(".claude/settings.json")["hooks"];
    let events =
        [("SessionStart", "session-start"), ("Stop", "stop"), ("TaskCompleted", "task-completed")];
    for (event, word) in events {
        let command = format!("{program} hook {word} --workspace w");
        assert_eq!(hooks[event][0]["hooks"][0]["command"], command, "{hooks}");
    }
    let backup = home.json(".claude.json.before-muster");
    assert_eq!(backup, old, "the file as it was is kept");
    let files = home.files();
    let again = home.done(&["claude", "--workspace", "w", "--write"]);
    assert!(again.contains("already in place"), "{again}");
    assert_eq!(home.files(), files, "a second time writes nothing");
    home.done(&["claude", "--workspace", "v", "--write"]);
    let hooks = &home.json(".claude/settings.json")["hooks"];
    assert_eq!(hooks["Stop"].as_array().unwrap().len(), 2, "{hooks}");
    assert!(!hooks.to_string().contains("--workspace w"), "{hooks}");
    assert!(home.files().contains(&".claude.json.before-muster-2".to_owned()));
}

#[test]
fn nothing_is_written_when_one_of_the_files_can_not_be() {
    let home = Home::new();
    home.write(".claude.json", "{}");
    home.write(".claude/settings.json", r#"{"hooks": {"SessionStart": "odd"}}"#);
    let files = home.files();
    let output = home.setup(&["claude", "--write"]);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("settings.json was not changed"), "{}", stderr(&output));
    assert_eq!(home.files(), files);
    assert_eq!(home.json(".claude.json"), json!({}));
}

#[test]
fn the_written_hooks_and_server_are_commands_that_run() {
    let home = Home::new();
    let storage_dir = home.path().join("a store");
    let words = ["claude", "--workspace", "w", "--write", "--storage-dir"];
    home.done(&[&words[..], &[storage_dir.to_str().unwrap()]].concat());
    let hooks = &home.json(".claude/settings.json")["hooks"];
    let command = hooks["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap();
    fs::create_dir(&storage_dir).unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", command])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{command}: {}", stderr(&output));
    assert!(stdout(&output).contains("tasks_macro_start"), "{}", stdout(&output));
}

#[test]
fn codex_gets_one_table_and_every_other_line_stays() {
    let home = Home::new();
    let old = "model = \"x\"\n\n[mcp_servers.other]\ncommand = \"y\" # mine\n";
    home.write(".codex/config.toml", old);
    home.done(&["codex", "--workspace", "w", "--write"]);
    let program = Value::from(path().to_str().unwrap());
    let expected = format!(
        "{old}\n[mcp_servers.muster]\ncommand = {program}\n\
         args = [\"mcp\", \"--workspace\", \"w\"]\n"
    );
    let written = fs::read_to_string(home.path().join(".codex/config.toml")).unwrap();
    assert_eq!(written, expected);
    let backup = fs::read_to_string(home.path().join(".codex/config.toml.before-muster")).unwrap();
    assert_eq!(backup, old);
    let again = home.done(&["codex", "--workspace", "w", "--write"]);
    assert!(again.contains("already in place"), "{again}");
}

#[test]
fn codex_and_gemini_get_a_hook_beside_their_own() {
    let program = path().to_str().unwrap();
    let own = json!({"matcher": "*", "hooks": [{"type": "command", "command": "say done"}]});
    let files = [
        ("codex", ".codex/hooks.json", "Stop", 60),
        ("gemini", ".gemini/settings.json", "AfterAgent", 60_000),
    ];
    for (agent, file, event, timeout) in files {
        let home = Home::new();
        home.write(file, &json!({"hooks": {event: [own]}}).to_string());
        home.done(&[agent, "--write"]);
        let command = format!("{program} hook stop");
        let ours = json!({"type": "command", "command": command, "timeout": timeout});
        let command = format!("{program} hook report {agent}");
        let reports = json!({"type": "command", "command": command, "timeout": timeout / 12});
        let expected = json!([own, {"hooks": [ours]}, {"hooks": [reports]}]);
        assert_eq!(home.json(file)["hooks"][event], expected, "{agent}");
        home.done(&[agent, "--write"]);
        assert_eq!(home.json(file)["hooks"][event], expected, "{agent}");
    }
}

#[test]
fn every_event_of_an_agent_is_reported_beside_its_gates() {
    let program = path().to_str().unwrap();
    let files = [
        ("claude", ".claude/settings.json", "SessionEnd", 16),
        ("codex", ".codex/hooks.json", "PermissionRequest", 8),
        ("gemini", ".gemini/settings.json", "BeforeTool", 7),
    ];
    for (agent, file, event, events) in files {
        let home = Home::new();
        home.done(&[agent, "--write"]);
        let hooks = &home.json(file)["hooks"];
        let command = format!("{program} hook report {agent}");
        assert_eq!(hooks[event][0]["hooks"][0]["command"], command, "{hooks}");
        assert_eq!(hooks.as_object().unwrap().len(), events, "{hooks}");
        home.done(&["--remove"]);
        assert_eq!(home.files(), Vec::<String>::new());
    }
}

#[test]
fn opencode_gets_the_server_and_a_plugin_that_reports() {
    let home = Home::new();
    let old = "{\"$schema\": \"x\",  \"mcp\": {\"other\": {\"type\": \"local\"}}}";
    home.write(".config/opencode/opencode.json", old);
    home.write(".config/opencode/plugins/mine.js", "export const Mine = 1;\n");
    let files = home.files();
    home.done(&["opencode", "--workspace", "w", "--write"]);
    let program = path().to_str().unwrap();
    let server = &home.json(".config/opencode/opencode.json")["mcp"]["muster"];
    let command = json!([program, "mcp", "--workspace", "w"]);
    assert_eq!(*server, json!({"type": "local", "command": command, "enabled": true}));
    let plugin = home.path().join(".config/opencode/plugins/muster.js");
    let text = fs::read_to_string(&plugin).unwrap();
    let words = json!([program, "hook", "report", "opencode", "--workspace", "w"]);
    assert!(text.contains(&format!("const COMMAND = {words};")), "{text}");
    fs::write(&plugin, text.replace("session.idle", "session.rests")).unwrap();
    home.done(&["opencode", "--workspace", "w", "--write"]);
    assert_eq!(fs::read_to_string(&plugin).unwrap(), text, "an older plugin is replaced");
    home.done(&["--remove", "--workspace", "w"]);
    assert_eq!(home.files(), files);
    let left = fs::read_to_string(home.path().join(".config/opencode/opencode.json")).unwrap();
    assert_eq!(left, old);
}

#[test]
fn gemini_gets_the_server() {
    let home = Home::new();
    home.done(&["gemini", "--write"]);
    let server = &home.json(".gemini/settings.json")["mcpServers"]["muster"];
    assert_eq!(server["args"], json!(["mcp"]), "{server}");
}

#[test]
fn a_project_has_files_and_a_workspace_of_its_own() {
    let home = Home::new();
    let project = home.path().join("rocket");
    fs::create_dir(&project).unwrap();
    for agent in ["claude", "codex", "gemini", "opencode"] {
        home.done(&[agent, "--dir", project.to_str().unwrap(), "--write"]);
    }
    let names = [
        ".claude/settings.json",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".gemini/settings.json",
        ".mcp.json",
        ".opencode/plugins/muster.js",
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
        "opencode.json",
    ];
    assert_eq!(home.files(), names.map(|name| format!("rocket/{name}")));
    let server = &home.json("rocket/.mcp.json")["mcpServers"]["muster"];
    assert_eq!(server["args"], json!(["mcp", "--workspace", "rocket"]));
}

#[test]
fn a_file_that_cannot_be_edited_safely_is_left_alone() {
    let home = Home::new();
    let commented = "{\n  // my theme\n  \"theme\": \"dark\"\n}\n";
    let file = home.write(".gemini/settings.json", commented);
    let output = home.setup(&["gemini", "--write"]);
    assert_eq!(output.status.code(), Some(1));
    let complaint = stderr(&output);
    assert!(
        complaint.contains("was not changed") && complaint.contains("mcpServers"),
        "{complaint}"
    );
    assert_eq!(fs::read_to_string(file).unwrap(), commented);
    assert_eq!(home.files(), [".gemini/settings.json"]);
}

#[cfg(unix)]
#[test]
fn a_private_file_stays_private_and_a_link_stays_a_link() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let home = Home::new();
    let real = home.write("dotfiles/claude.json", "{\"secret\": \"s\"}");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    let link = home.path().join(".claude.json");
    symlink(&real, &link).unwrap();
    home.done(&["claude", "--write"]);
    assert!(link.is_symlink());
    for file in [&real, &home.path().join(".claude.json.before-muster")] {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
    assert_eq!(home.json("dotfiles/claude.json")["secret"], "s");
}

#[test]
fn what_was_written_is_taken_out_byte_for_byte() {
    let home = Home::new();
    let project = home.path().join("rocket");
    let olds = [
        ("rocket/.mcp.json", "{\"mcpServers\":{\"other\":{\"command\":\"x\"}}}"),
        ("rocket/.claude/settings.json", "{ \"z\": 1,\n\n  \"hooks\": {} }"),
        ("rocket/.codex/config.toml", "# mine\nmodel = \"x\""),
        ("rocket/CLAUDE.md", "# Rules\n\nno line break at the end"),
    ];
    for (name, text) in olds {
        home.write(name, text);
    }
    let files = home.files();
    let dir = ["--dir", project.to_str().unwrap()];
    for agent in ["claude", "codex", "gemini", "opencode"] {
        home.done(&[&[agent, "--write"], &dir[..]].concat());
    }
    let section = fs::read_to_string(project.join("CLAUDE.md")).unwrap();
    assert!(section.contains("tasks_macro_start") && section.starts_with("# Rules"), "{section}");
    home.done(&[&["--remove"], &dir[..]].concat());
    for (name, text) in olds {
        assert_eq!(fs::read_to_string(home.path().join(name)).unwrap(), text, "{name}");
    }
    assert_eq!(home.files(), files, "files that setup created are gone, and so are its copies");
    let again = home.done(&[&["--remove"], &dir[..]].concat());
    assert!(again.contains("has nothing of Muster"), "{again}");
}

#[test]
fn a_project_that_had_no_settings_has_no_folder_of_them_afterwards() {
    let home = Home::new();
    let project = home.path().join("rocket");
    fs::create_dir(&project).unwrap();
    let dir = ["--dir", project.to_str().unwrap()];
    home.done(&[&["claude", "--write"], &dir[..]].concat());
    assert!(project.join(".claude").is_dir());
    home.done(&[&["--remove"], &dir[..]].concat());
    assert!(fs::read_dir(&project).unwrap().next().is_none(), "the project is as it was");
}

#[test]
fn settings_that_were_added_since_survive_a_removal() {
    let home = Home::new();
    home.write(".gemini/settings.json", "{\"theme\": \"dark\"}");
    home.done(&["gemini", "--write"]);
    let mut settings = home.json(".gemini/settings.json");
    settings["mcpServers"]["other"] = json!({"command": "x"});
    home.write(".gemini/settings.json", &settings.to_string());
    home.done(&["gemini", "--remove"]);
    let left = json!({"theme": "dark", "mcpServers": {"other": {"command": "x"}}});
    assert_eq!(home.json(".gemini/settings.json"), left);
}
