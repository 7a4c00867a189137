//! Everything that one case needs: a model, a home, a project, a server and a run with one agent.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use muster_testkit::{
    model::{ScriptedModel, Step},
    server::{ServerProcess, Socket},
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    program,
    runs::{Client as _, add, follow, started},
};

/// Where the agents are installed: the folder that holds `node_modules`.
const PLACE: &str = "MUSTER_TEST_AGENTS";
/// How long anything may take that is waited for. Some agents start slowly on a busy machine, and
/// one has to wait for the next minute.
const PATIENCE: Duration = Duration::from_secs(110);
/// How long a server may take to end everything.
const END_MAX: Duration = Duration::from_secs(20);

/// An agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cli {
    Codex,
    Claude,
    Gemini,
}

impl Cli {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Codex, Self::Claude, Self::Gemini];

    /// Its name as a provider.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Codex => "codex",
            Self::Claude => "claude",
            Self::Gemini => "gemini",
        }
    }

    /// Its command line.
    fn command(self, modules: &Path) -> Vec<String> {
        match self {
            Self::Codex => vec!["codex".to_owned(), "app-server".to_owned()],
            // Without its install script the package has the program beside itself.
            Self::Claude => {
                let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
                let folder = format!("@anthropic-ai/claude-code-linux-{machine}");
                vec![modules.join(folder).join("claude").display().to_string()]
            }
            Self::Gemini => vec!["gemini".to_owned(), "--acp".to_owned()],
        }
    }

    /// Variables that send it to the model and keep everything else off.
    fn variables(self, model: &ScriptedModel) -> Value {
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
        };
        let fields = variables.as_object_mut().unwrap();
        fields.extend(own.as_object().unwrap().clone());
        variables
    }

    /// Writes what it reads in the home of whoever runs it.
    fn settle(self, home: &Path, model: &ScriptedModel) {
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
        };
        let file = home.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
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

/// A case with its agent.
pub(crate) struct Stage {
    pub(crate) model: ScriptedModel,
    pub(crate) server: ServerProcess,
    /// Path of the run.
    pub(crate) run: String,
    /// Id of the agent's node.
    pub(crate) node: String,
    /// Everything that happened, as the socket told it.
    pub(crate) events: Vec<Value>,
    socket: Socket,
    folder: TempDir,
}

impl Stage {
    /// A run with an agent that asks (`gated`) or not (`skip`).
    pub(crate) fn open(cli: Cli, permissions: &str) -> Self {
        Self::open_with(cli, permissions, (json!({}), json!({})))
    }

    /// The same with more fields of the run and of the node.
    pub(crate) fn open_with(cli: Cli, permissions: &str, (run, more): (Value, Value)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = ScriptedModel::start().unwrap();
        let home = folder.path().join("home");
        let profile = |cli: Cli| {
            cli.settle(&home, &model);
            format!(
                "[profiles.{}.default]\ncommand = {}\nenv = {}\n",
                cli.name(),
                json!(cli.command(&modules())),
                inline(&cli.variables(&model))
            )
        };
        let profiles: String = Cli::ALL.map(profile).concat();
        let store = folder.path().join("store");
        fs::create_dir(&store).unwrap();
        fs::write(store.join("runs.toml"), profiles).unwrap();
        let project = folder.path().join("project");
        repository(&project);
        let server = serve(folder.path());
        if let Some(workspace) = run["workspace"].as_str() {
            // A run is bound to a workspace that is there.
            let plan = json!({"workspace": workspace, "kind": "plan", "title": "Agents"});
            assert_eq!(server.call("tasks_create", &plan).unwrap().0, 200);
        }
        let run = started(&server, &project, run);
        let mut node = json!({"label": cli.name(), "provider": cli.name(),
            "permissions": {"cliPermissionsMode": permissions}});
        add(&mut node, more);
        let made = server.fine("POST", &format!("{run}/nodes"), json!({"node": node}));
        let node = made["node"]["id"].as_str().unwrap().to_owned();
        let socket = follow(&server, &query(&run, 0));
        Self { model, server, run, node, events: Vec::new(), socket, folder }
    }

    /// A file of the project.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("project").join(name)
    }

    /// Tells the agent to follow a script.
    pub(crate) fn say(&self, name: &str, steps: Vec<Step>) {
        let mark = self.model.script(name, steps);
        let content = format!("{mark} Do what the script says.");
        self.server.fine("POST", &format!("{}/chat", self.run), json!({"content": content}));
    }

    /// Waits for an event; answers it.
    pub(crate) fn until(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let heard = self.socket.hear();
            let event = heard.unwrap_or_else(|error| panic!("{what}: {error}\n{}", self.story()));
            self.events.push(event.clone());
            if is(&event) {
                return event;
            }
            assert!(Instant::now() < deadline, "{what} did not come\n{}", self.story());
        }
    }

    /// Waits for the end of the turn in flight; answers it.
    pub(crate) fn ended(&mut self) -> Value {
        self.until("the end of the turn", |event| {
            let status = event["status"].as_str().unwrap_or_default();
            let ends = ["turn.completed", "turn.interrupted", "turn.failed"];
            event["type"] == "turn.status" && ends.contains(&status)
        })
    }

    /// Waits until the turn has ended well.
    pub(crate) fn completed(&mut self) {
        let end = self.ended();
        assert_eq!(end["status"], "turn.completed", "{}", self.story());
    }

    /// Answers the question that waits.
    pub(crate) fn resolve(&mut self, resolution: &Value) -> Value {
        let asked = self.until("a question", |event| event["type"] == "approval.requested");
        let path = format!("/api/approvals/{}/resolve", asked["approvalId"].as_str().unwrap());
        self.server.fine("POST", &path, json!({ "resolution": resolution }));
        asked
    }

    /// The events of a kind, in their order.
    pub(crate) fn of_kind(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }

    /// What happened to tools, in the order in which it was told.
    pub(crate) fn tool_story(&self) -> Vec<&str> {
        let kinds = self.events.iter().filter_map(|event| event["type"].as_str());
        kinds.filter(|kind| kind.starts_with("tool.") || kind.starts_with("approval.")).collect()
    }

    /// The last text that the agent has said.
    pub(crate) fn final_text(&self) -> String {
        let finals = self.of_kind("message.assistant.final");
        let last = finals.last().unwrap_or_else(|| panic!("it said nothing\n{}", self.story()));
        last["content"].as_str().unwrap().to_owned()
    }

    /// The provider's id of the session.
    pub(crate) fn session_id(&self) -> String {
        let run = self.server.see(&self.run);
        let id = &run["run"]["nodes"][&self.node]["session"]["sessionId"];
        id.as_str().unwrap().to_owned()
    }

    /// The node as it is now.
    pub(crate) fn shown(&self) -> Value {
        self.server.see(&self.run)["run"]["nodes"][&self.node].clone()
    }

    /// What the server has computed so far.
    pub(crate) fn server_time(&self) -> Duration {
        // Behind the name in brackets: user time is the 12th field, system time the 13th.
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.server.id())).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        let ticks = |at: usize| fields[at].parse::<u64>().unwrap();
        // A tick is a hundredth of a second on every Linux.
        Duration::from_millis((ticks(11) + ticks(12)) * 10)
    }

    /// Kills the server and starts it again.
    pub(crate) fn kill_and_start(&mut self) {
        self.server.kill().unwrap();
        self.server = serve(self.folder.path());
        assert_eq!(self.survivors(true), Vec::<String>::new(), "the start ends what was left");
        let seen = self.server.last_seq(&self.run);
        self.socket = follow(&self.server, &query(&self.run, seen));
    }

    /// Commands of processes that bear the folder of this case in their environment.
    fn survivors(&self, beside_server: bool) -> Vec<String> {
        let mark = self.folder.path().as_os_str().as_encoded_bytes();
        let server = self.server.id().to_string();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap() {
            let process = entry.unwrap().path();
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            let marked = environment.windows(mark.len()).any(|part| part == mark);
            if !marked || (beside_server && process.ends_with(&server)) {
                continue;
            }
            let command = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
            found.extend(Some(command).filter(|command| !command.is_empty()));
        }
        found
    }

    /// Waits until something is so.
    pub(crate) fn wait_for(&self, what: &str, is: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is(self) {
            assert!(Instant::now() < deadline, "{what}\n{}", self.story());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Commands of the agent that sleep.
    pub(crate) fn sleepers(&self) -> Vec<String> {
        let all = self.survivors(true).into_iter();
        all.filter(|command| command.starts_with("sleep\0")).collect()
    }

    /// Everything that was heard, for whoever has to find out why.
    pub(crate) fn story(&self) -> String {
        const PATCHES: [&str; 4] = ["run.patch", "node.patch", "artifact.created", "node.progress"];
        let is_patch = |event: &&Value| PATCHES.iter().any(|kind| event["type"] == **kind);
        let lines = self.events.iter().filter(|event| !is_patch(event));
        let lines = lines.map(|event| format!("{event:.500}\n"));
        let told = self.model.told("work").len();
        let asked = format!("{told} questions, strangers: {:?}\n", self.model.strangers());
        lines.collect::<String>() + &asked
    }

    /// Ends the server as a person does; nothing of the agent is left, and nothing of it wanted
    /// to leave the machine.
    pub(crate) fn close(mut self) {
        self.server.terminate().unwrap();
        self.server.wait(END_MAX).unwrap();
        assert_eq!(self.survivors(false), Vec::<String>::new(), "nothing outlives its server");
        assert_eq!(self.model.strangers(), Vec::<String>::new(), "nothing leaves the machine");
    }
}

fn query(run: &str, since: u64) -> String {
    format!("?runId={}&since={since}", run.rsplit('/').next().unwrap())
}

/// The folder of the installed packages.
fn modules() -> PathBuf {
    let place = std::env::var_os(PLACE);
    let place = place.unwrap_or_else(|| panic!("{PLACE} is not set: cargo xtask agents sets it"));
    PathBuf::from(place).join("node_modules")
}

fn serve(folder: &Path) -> ServerProcess {
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", modules().join(".bin").display());
    let home = folder.join("home").display().to_string();
    let variables = [("PATH", path.as_str()), ("HOME", &home), ("LANG", "C.UTF-8")];
    ServerProcess::start_alone(program::path(), &folder.join("store"), &variables).unwrap()
}

/// A repository with one commit.
fn repository(folder: &Path) {
    fs::create_dir(folder).unwrap();
    fs::write(folder.join("README.md"), "# Project\n").unwrap();
    let who = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
    for words in [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "begin"]] {
        let status = Command::new("git").args(who).args(words).current_dir(folder).status();
        assert!(status.unwrap().success(), "git {words:?}");
    }
}

/// An object as a table of TOML on one line.
fn inline(object: &Value) -> String {
    let entry = |(name, value): (&String, &Value)| format!("{name} = {value}");
    let entries: Vec<String> = object.as_object().unwrap().iter().map(entry).collect();
    format!("{{ {} }}", entries.join(", "))
}
