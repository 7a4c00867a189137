//! The agents: how each is started, and how it is sent to the scripted model.

use std::{
    fs,
    path::{Path, PathBuf},
};

use muster_testkit::model::ScriptedModel;
use serde_json::{Value, json};

use super::stage::Wish;
use crate::program;

/// Where the agents are installed: the folder that holds `node_modules`.
const PLACE: &str = "MUSTER_TEST_AGENTS";
/// Where the lines of all agents are kept, for recordings.
const WIRES: &str = "MUSTER_TEST_WIRES";

/// An agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cli {
    Codex,
    Claude,
    Gemini,
    Opencode,
}

impl Cli {
    pub(crate) const ALL: [Self; 4] = [Self::Codex, Self::Claude, Self::Gemini, Self::Opencode];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
        }
    }

    /// Its family and its profile. What has no family of its own is a custom program.
    pub(crate) fn place(self) -> (&'static str, &'static str) {
        match self {
            Self::Codex | Self::Claude | Self::Gemini => (self.name(), "default"),
            Self::Opencode => ("custom", self.name()),
        }
    }

    /// Whether it speaks the Agent Client Protocol, which has no word for other arguments and
    /// none for the reason of a denial.
    pub(crate) fn is_acp(self) -> bool {
        match self {
            Self::Codex | Self::Claude => false,
            Self::Gemini | Self::Opencode => true,
        }
    }

    /// Its entry in the configuration of the server, with more lines of it.
    pub(super) fn profile(self, folder: &Path, model: &ScriptedModel, wish: &Wish) -> String {
        self.settle(&folder.join("home"), model);
        let mut command = self.command(&modules());
        let mut variables = self.variables(model);
        if wish.tapped || std::env::var_os(WIRES).is_some() {
            // The ear has the name of the agent, by which the agent is known.
            let ear = folder.join("tapped").join(self.name());
            fs::create_dir_all(ear.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(tapped_agent(), &ear).unwrap();
            let program = std::mem::replace(&mut command[0], ear.display().to_string());
            variables["TAPPED_PROGRAM"] = program.into();
            variables["TAPPED_LOG"] = self.wire(folder).to_str().unwrap().into();
        }
        let ((family, name), more) =
            (self.place(), if self == wish.cli { wish.profile } else { "" });
        let speech = if family == "custom" { "protocol = \"acp\"\n" } else { "" };
        let command = json!(command);
        let env = inline(&variables);
        format!("[profiles.{family}.{name}]\ncommand = {command}\nenv = {env}\n{speech}{more}")
    }

    /// Where the lines of an agent are that is listened to: in the folder of the case, or where
    /// they are wanted.
    pub(super) fn wire(self, folder: &Path) -> PathBuf {
        let name = self.name();
        match std::env::var_os(WIRES) {
            Some(wires) => {
                let test = std::thread::current().name().unwrap_or_default().replace("::", ".");
                PathBuf::from(wires).join(format!("{test}.{name}.jsonl"))
            }
            None => folder.join(format!("{name}.wire.jsonl")),
        }
    }

    /// Its command line.
    pub(super) fn command(self, modules: &Path) -> Vec<String> {
        match self {
            Self::Codex => vec!["codex".to_owned(), "app-server".to_owned()],
            // Without its install script the package has the program beside itself.
            Self::Claude => {
                let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
                let folder = format!("@anthropic-ai/claude-code-linux-{machine}");
                vec![modules.join(folder).join("claude").display().to_string()]
            }
            Self::Gemini => vec!["gemini".to_owned(), "--acp".to_owned()],
            Self::Opencode => {
                let program = modules.join("opencode-linux-x64-baseline/bin/opencode");
                vec![program.display().to_string(), "acp".to_owned()]
            }
        }
    }

    /// Variables that send it to the model and keep everything else off.
    pub(super) fn variables(self, model: &ScriptedModel) -> Value {
        let away = model.url("");
        let mut variables = json!({
            "HTTP_PROXY": away, "HTTPS_PROXY": away, "http_proxy": away, "https_proxy": away,
            "NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
        });
        let own = match self {
            Self::Codex => json!({"SCRIPTED_KEY": "test-key"}),
            Self::Claude => json!({
                "ANTHROPIC_API_KEY": "test-key", "ANTHROPIC_BASE_URL": model.url(""),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
                "DISABLE_TELEMETRY": "1", "IS_SANDBOX": "1",
            }),
            Self::Gemini => json!({
                "GEMINI_API_KEY": "test-key", "GOOGLE_GEMINI_BASE_URL": model.url(""),
            }),
            Self::Opencode => json!({
                "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_SHARE": "1",
            }),
        };
        let fields = variables.as_object_mut().unwrap();
        fields.extend(own.as_object().unwrap().clone());
        variables
    }

    /// Writes what it reads in the home of the user who runs it.
    pub(super) fn settle(self, home: &Path, model: &ScriptedModel) {
        let (file, text) = match self {
            Self::Codex => (".codex/config.toml", codex_config(model)),
            Self::Claude => (".claude.json", json!({"hasCompletedOnboarding": true}).to_string()),
            Self::Gemini => {
                let off = json!({"enabled": false});
                let settings = json!({
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
                    "privacy": {"usageStatisticsEnabled": false}, "telemetry": off,
                });
                (".gemini/settings.json", settings.to_string())
            }
            Self::Opencode => (".config/opencode/opencode.json", opencode_config(model)),
        };
        let file = home.join(file);
        let folder = file.parent().unwrap();
        fs::create_dir_all(folder).unwrap();
        if self == Self::Opencode {
            // It would fetch a package for plugins, unless that seems to be there.
            fs::create_dir_all(folder.join("node_modules")).unwrap();
            let own = json!({"dependencies": {"@opencode-ai/plugin": "*"}});
            let lock = json!({"lockfileVersion": 3, "packages": {"": own}});
            fs::write(folder.join("package-lock.json"), lock.to_string()).unwrap();
        }
        fs::write(file, text).unwrap();
    }
}

fn codex_config(model: &ScriptedModel) -> String {
    format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
         [analytics]\nenabled = false\n\
         [features]\nplugins = false\nremote_plugin = false\napps = false\n\
         plugin_discovery_prefetch = false\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}\"\n\
         wire_api = \"responses\"\nenv_key = \"SCRIPTED_KEY\"\n",
        model.url("/v1")
    )
}

fn opencode_config(model: &ScriptedModel) -> String {
    let limit = json!({"context": 200_000, "output": 8_000});
    let scripted = json!({"name": "scripted", "tool_call": true, "limit": limit});
    let provider = json!({
        "npm": "@ai-sdk/anthropic", "name": "Scripted",
        "options": {"baseURL": model.url("/v1"), "apiKey": "test-key"},
        "models": {"scripted": scripted, "other": scripted},
    });
    json!({
        "autoupdate": false, "share": "disabled", "enabled_providers": ["scripted"],
        "model": "scripted/scripted", "small_model": "scripted/scripted",
        "provider": {"scripted": provider},
    })
    .to_string()
}

/// The program that listens to an agent.
fn tapped_agent() -> PathBuf {
    let program = program::path().with_file_name("examples").join("tapped_agent");
    assert!(program.is_file(), "{} is built by cargo xtask agents", program.display());
    program
}

/// The folder of the installed packages.
pub(super) fn modules() -> PathBuf {
    let place = std::env::var_os(PLACE);
    let place = place.unwrap_or_else(|| panic!("{PLACE} is not set: cargo xtask agents sets it"));
    PathBuf::from(place).join("node_modules")
}

/// An object as a table of TOML on one line.
fn inline(object: &Value) -> String {
    let entry = |(name, value): (&String, &Value)| format!("{name} = {value}");
    let entries: Vec<String> = object.as_object().unwrap().iter().map(entry).collect();
    format!("{{ {} }}", entries.join(", "))
}
