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

use super::cli::{Cli, modules};
use crate::{
    program,
    runs::{Client as _, add, follow, started},
};

/// How long anything may take that is waited for. Some agents start slowly on a busy machine, and
/// one has to wait for the next minute.
const PATIENCE: Duration = Duration::from_secs(110);
/// How long a server may take to end everything.
const END_MAX: Duration = Duration::from_secs(20);

/// What a case wants.
pub(crate) struct Wish {
    pub(crate) cli: Cli,
    /// Whether it asks (`gated`) or not (`skip`).
    pub(crate) permissions: &'static str,
    /// More fields of the run.
    pub(crate) run: Value,
    /// More fields of the node.
    pub(crate) node: Value,
    /// More lines of the agent's profile.
    pub(crate) profile: &'static str,
    /// Whether every line on its wire is written down.
    pub(crate) tapped: bool,
}

impl Wish {
    /// Nothing besides.
    pub(crate) fn of(cli: Cli, permissions: &'static str) -> Self {
        let run = json!({});
        let node = json!({});
        Self { cli, permissions, run, node, profile: "", tapped: false }
    }
}

/// A case with its agent.
pub(crate) struct Stage {
    cli: Cli,
    pub(crate) model: ScriptedModel,
    pub(crate) server: ServerProcess,
    /// Path of the run.
    pub(crate) run: String,
    /// Id of the agent's node.
    pub(crate) node: String,
    /// Everything that happened, as the socket sent it.
    pub(crate) events: Vec<Value>,
    socket: Socket,
    folder: TempDir,
}

impl Stage {
    /// A run with an agent that asks (`gated`) or not (`skip`).
    pub(crate) fn open(cli: Cli, permissions: &'static str) -> Self {
        Self::set(Wish::of(cli, permissions))
    }

    /// The same with more fields of the run and of the node.
    pub(crate) fn open_with(
        cli: Cli,
        permissions: &'static str,
        (run, node): (Value, Value),
    ) -> Self {
        Self::set(Wish { run, node, ..Wish::of(cli, permissions) })
    }

    /// A run with an agent as it is wished for.
    pub(crate) fn set(wish: Wish) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let model = ScriptedModel::start().unwrap();
        let profile = |cli: Cli| cli.profile(folder.path(), &model, &wish);
        let profiles: String = Cli::ALL.map(profile).concat();
        let Wish { cli, permissions, run, node: more, .. } = wish;
        let store = folder.path().join("store");
        fs::create_dir(&store).unwrap();
        fs::write(store.join("runs.toml"), format!("roots = [\"/\"]\n{profiles}")).unwrap();
        let project = folder.path().join("project");
        repository(&project);
        let server = serve(folder.path());
        if let Some(workspace) = run["workspace"].as_str() {
            // A run is bound to a workspace that is there.
            let plan = json!({"workspace": workspace, "kind": "plan", "title": "Agents"});
            assert_eq!(server.call("tasks_create", &plan).unwrap().0, 200);
        }
        let run = started(&server, &project, run);
        let (provider, profile) = cli.place();
        let mut node = json!({"label": cli.name(), "provider": provider,
            "providerProfile": profile, "permissions": {"cliPermissionsMode": permissions}});
        add(&mut node, more);
        let made = server.fine("POST", &format!("{run}/nodes"), json!({"node": node}));
        let node = made["node"]["id"].as_str().unwrap().to_owned();
        let socket = follow(&server, &query(&run, 0));
        Self { cli, model, server, run, node, events: Vec::new(), socket, folder }
    }

    /// A file of the project.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("project").join(name)
    }

    /// What went over the agent's wire, a list for each process of it.
    pub(crate) fn wires(&self) -> Vec<Vec<Value>> {
        let text = fs::read_to_string(self.cli.wire(self.folder.path())).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let processes = lines.split(|line| line["us"].is_null()).filter(|lines| !lines.is_empty());
        let sorted = |lines: &[Value]| {
            let mut lines = lines.to_vec();
            lines.sort_by_key(|line| line["us"].as_u64());
            lines
        };
        processes.map(sorted).collect()
    }

    /// Tells the agent to follow a script.
    pub(crate) fn say(&self, name: &str, steps: Vec<Step>) {
        let mark = self.model.script(name, steps);
        let content = format!("{mark} Do what the script says.");
        self.server.fine("POST", &format!("{}/chat", self.run), json!({"content": content}));
    }

    /// Waits for an event; returns it.
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

    /// Waits for the end of the turn in flight; returns it.
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

    /// What happened to tools, in the order in which it was sent.
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

    /// Everything that was heard, for finding out why.
    pub(crate) fn story(&self) -> String {
        const PATCHES: [&str; 4] = ["run.patch", "node.patch", "artifact.created", "node.progress"];
        let is_patch = |event: &&Value| PATCHES.iter().any(|kind| event["type"] == **kind);
        let lines = self.events.iter().filter(|event| !is_patch(event));
        let lines = lines.map(|event| format!("{event:.500}\n"));
        let count = self.model.told("work").len();
        let asked = format!("{count} questions, strangers: {:?}\n", self.model.strangers());
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
