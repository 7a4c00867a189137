//! Allow rules: made with an approval, used by the server, listed and removed, and not to be got
//! past by an agent that tries.

use std::fs;

use muster_testkit::server::ServerProcess;
use serde_json::{Value, json};

use super::{Client as _, agent, id_of, started, until};
use crate::program::{Server, muster, serve_with_file, stderr, stdout};

/// An agent that asks for the call in `call.json` in each turn, and says what the answer was.
pub(super) const ASKING: &str = r#"
roots = ["/"]

[profiles.custom.asking]
command = ["sh", "-c", '''
n=0
while read -r line; do case "$line" in
  *'"type":"prompt"'*) n=$((n+1)); printf '{"type":"approval.requested","approvalId":"a%s",' $n; \
    printf '"canModify":false,"tool":{"id":"t%s",%s}}\n' $n "$(cat call.json)";;
  *'"type":"approval.resolved"'*) case "$line" in *denied*) said=denied;; *) said=approved;; esac; \
    printf '{"type":"message.assistant.final","content":"%s %s"}\n' $said $n;;
esac; done''']
"#;

struct Stage {
    server: Server,
    dir: tempfile::TempDir,
    run: String,
    node: String,
}

impl Stage {
    fn make() -> Self {
        let server = serve_with_file("runs.toml", ASKING);
        let dir = tempfile::tempdir().unwrap();
        let run = started(&server, dir.path(), json!({}));
        let node = agent(&server, &run, "asking", json!({}));
        Self { server, dir, run, node }
    }

    /// Lets the agent ask for a call.
    fn asks(&self, tool: &str, args: &Value) {
        let call = format!("\"name\":{},\"args\":{args}", json!(tool));
        fs::write(self.dir.path().join("call.json"), call).unwrap();
        self.server.fine("POST", &format!("{}/chat", self.run), json!({"content": "go"}));
    }

    fn runs(&self, line: &str) {
        self.asks("Bash", &json!({"command": line, "description": "it"}));
    }

    /// Waits until the agent asks a person; returns the approval.
    fn asked(&self) -> String {
        let run = until(&self.server, &self.run, |run| {
            run["approvals"].as_object().is_some_and(|pending| pending.len() == 1)
        });
        run["approvals"].as_object().unwrap().keys().next().unwrap().clone()
    }

    fn resolve(&self, approval: &str, body: Value) -> Value {
        let answer = self.server.fine("POST", &format!("/api/approvals/{approval}/resolve"), body);
        self.rests();
        answer
    }

    /// Waits until the turn is over; returns the agent's last words.
    fn rests(&self) -> String {
        let node = &self.node;
        let run = until(&self.server, &self.run, |run| {
            let node = &run["nodes"][node];
            node["turn"].is_null() && node["inboxCount"] == 0
        });
        run["nodes"][node]["summary"].as_str().unwrap().to_owned()
    }

    /// Whether a rule answers a call; a person denies it otherwise.
    fn is_allowed(&self, tool: &str, args: &Value) -> bool {
        let asked = |server: &ServerProcess| {
            let log = server.see(&format!("{}/events?type=approval.*&since=0&limit=500", self.run));
            log["events"].as_array().unwrap().clone()
        };
        let before = asked(&self.server).len();
        self.asks(tool, args);
        until(&self.server, &self.run, |_| asked(&self.server).len() > before);
        let events = asked(&self.server);
        let Some(last) = events.last().filter(|last| last["type"] == "approval.resolved") else {
            let id = events.last().unwrap()["approvalId"].as_str().unwrap().to_owned();
            self.resolve(&id, json!({"status": "denied"}));
            return false;
        };
        assert_eq!(last["resolution"]["by"], "runtime", "{last}");
        assert!(last["resolution"]["rule"]["id"].is_string(), "{last}");
        self.rests();
        true
    }

    fn line_allowed(&self, line: &str) -> bool {
        self.is_allowed("Bash", &json!({"command": line}))
    }
}

#[test]
fn people_att_4_a_rule_answers_for_its_person_and_nothing_gets_past_it() {
    let stage = Stage::make();
    let server = &stage.server;
    stage.runs("cargo test -p first");
    let approval = stage.asked();
    let shown = server.see(&format!("/api/approvals/{approval}/rule"))["proposal"].take();
    let first = &shown["choices"][0];
    assert_eq!(first["allows"], json!({"kind": "command", "words": ["cargo", "test"]}), "{shown}");
    assert_eq!(first["text"], "commands that begin with `cargo test`");
    assert_eq!(shown["scopes"].as_array().unwrap().len(), 3);
    let rule =
        |allows: Value| json!({"status": "approved", "rule": {"scope": "run", "allows": allows}});
    let path = format!("/api/approvals/{approval}/resolve");
    let other = json!({"kind": "command", "words": ["cargo", "run"]});
    let (status, code, field) = server.refused("POST", &path, rule(other));
    assert_eq!((status, code.as_str(), field), (422, "BAD_VALUE", json!("rule.allows")));
    let wide = json!({"kind": "command", "words": ["cargo"]});
    assert_eq!(server.refused("POST", &path, rule(wide)).2, json!("rule.allows.words"));
    let denied = json!({"status": "denied", "rule": {"scope": "run"}});
    assert_eq!(server.refused("POST", &path, denied).0, 422);
    let answer = stage.resolve(&approval, rule(first["allows"].clone()));
    assert_eq!(answer["resolution"]["rule"]["text"], first["text"], "{answer}");
    let listed = server.see("/api/allow-rules")["rules"][0].clone();
    assert_eq!((&listed["uses"], &listed["by"]["kind"]), (&json!(0), &json!("person")), "{listed}");

    assert!(stage.line_allowed("cargo test -p second") && stage.line_allowed("cargo test"));
    for line in [
        "cargo test; touch evil",
        "cargo test && touch evil",
        "cargo test | sh",
        "cargo test > evil",
        "cargo test $(touch evil)",
        "cargo test `touch evil`",
        "cargo test\ntouch evil",
        "cargo testing",
        "cargo run",
        "PATH=. cargo test",
        "./cargo test",
        "cargo test \"$(touch evil)\"",
    ] {
        assert!(!stage.line_allowed(line), "{line}");
    }
    let elsewhere = json!({"command": "cargo test", "cwd": "/"});
    assert!(!stage.is_allowed("Bash", &elsewhere));
    assert!(!stage.is_allowed("Bash", &json!({"command": "cargo test", "env": {"PATH": "."}})));
    assert!(!stage.is_allowed("mcp__prod__run", &json!({"command": "cargo test"})));

    let used =
        server.see(&format!("/api/allow-rules?runId={}", id_of(&stage.run)))["rules"][0].take();
    assert_eq!(used["uses"], 2, "{used}");
    assert!(used["lastUsedAt"].is_string());
    let id = used["id"].as_str().unwrap();
    let removal = format!("/api/allow-rules/{id}");
    let agent = server.send(&server.request("DELETE", &removal)).unwrap();
    assert_eq!(agent.status, 403, "an agent removes no rule");
    server.fine("DELETE", &removal, Value::Null);
    assert_eq!(server.refused("DELETE", &removal, Value::Null).1, "UNKNOWN_RULE");
    assert!(!stage.line_allowed("cargo test"), "it asks again");
}

#[test]
fn a_rule_about_files_follows_no_link_and_ends_with_its_run() {
    let stage = Stage::make();
    let server = &stage.server;
    fs::create_dir(stage.dir.path().join("src")).unwrap();
    let write = |path: &str| json!({"file_path": path, "content": "x"});
    stage.asks("Write", &write("src/a.rs"));
    let approval = stage.asked();
    stage.resolve(&approval, json!({"status": "approved", "rule": {"scope": "node"}}));
    assert_eq!(server.see("/api/allow-rules")["rules"][0]["allows"]["glob"], "src/**");
    assert!(stage.is_allowed("Write", &write("src/deep/b.rs")));
    let whole = stage.dir.path().join("src/c.rs");
    assert!(stage.is_allowed("Write", &write(whole.to_str().unwrap())));
    std::os::unix::fs::symlink("/tmp", stage.dir.path().join("src/out")).unwrap();
    for path in ["src/out/evil", "src/../build.rs", "build.rs", "src/.env", "/tmp/src/a"] {
        assert!(!stage.is_allowed("Write", &write(path)), "{path}");
    }
    server.fine("DELETE", &stage.run, Value::Null);
    assert_eq!(server.see("/api/allow-rules")["rules"], json!([]));
}

#[test]
fn the_command_line_shows_the_rule_it_makes_and_takes_it_back() {
    let stage = Stage::make();
    let command = |words: &[&str]| {
        let mut command = muster(words);
        command.arg("--storage-dir").arg(stage.server.storage_dir());
        command.output().unwrap()
    };
    stage.runs("git status --short");
    let approval = stage.asked();
    let shown = command(&["run", "approve", &approval, "--always", "--for", "project"]);
    assert!(!shown.status.success(), "no terminal, no --yes");
    let text = stdout(&shown);
    assert!(
        text.contains("From now on: commands that begin with `git status` for all runs in"),
        "{text}"
    );
    let made = command(&["run", "approve", &approval, "--always", "--for", "project", "--yes"]);
    assert!(made.status.success(), "{}", stderr(&made));
    stage.rests();
    assert!(stage.line_allowed("git status"));
    let listed = stdout(&command(&["run", "rules"]));
    assert!(listed.contains("commands that begin with `git status`"), "{listed}");
    assert!(listed.contains("used once"), "{listed}");
    let raw: Value = serde_json::from_str(&stdout(&command(&["run", "rules", "--json"]))).unwrap();
    let id = raw["rules"][0]["id"].as_str().unwrap();
    let removed = command(&["run", "rules", "--remove", &id[28..]]);
    assert!(stdout(&removed).starts_with("removed: "), "{}", stderr(&removed));
    assert!(stdout(&command(&["run", "rules"])).contains("There are no rules"));
    stage.runs("rm -r target");
    let approval = stage.asked();
    let exact = command(&["run", "approve", &approval, "--always", "--choice", "2", "--yes"]);
    assert!(stderr(&exact).contains("exactly the command `rm -r target`"), "{}", stderr(&exact));
}
