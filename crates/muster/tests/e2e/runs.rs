//! Runs over a running server: REST, WebSocket and the command line, with programs of a few lines
//! of shell as agents.

mod driven;
mod edges;
mod errors;
mod files;
mod found;
mod inputs;
mod isolated;
mod judged;
mod killed;
mod line;
mod lists;
mod lost;
#[cfg(target_os = "linux")]
mod memory;
pub(crate) mod node_tools;
mod nodes;
mod paging;
mod places;
mod reloaded;
mod rules;
mod safety;
mod shield;
mod sockets;
mod spoken_to;
mod watched;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use muster_testkit::server::{ServerProcess, Socket};
use serde_json::{Value, json};

use crate::program::{Server, serve_with_file};

/// A client of the runs that acts for a person.
pub(crate) trait Client {
    /// Sends a request; returns status and JSON.
    fn ask(&self, method: &str, path: &str, body: Value) -> (u16, Value);

    /// Something that has to go well.
    fn fine(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.ask(method, path, body);
        assert_eq!(status, 200, "{method} {path}: {answer}");
        answer
    }

    /// Reads something that has to be there.
    fn see(&self, path: &str) -> Value {
        self.fine("GET", path, Value::Null)
    }

    /// A request that has to be refused; returns its code and the field that is to blame.
    fn refused(&self, method: &str, path: &str, body: Value) -> (u16, String, Value) {
        let (status, answer) = self.ask(method, path, body);
        assert!(status >= 400, "{method} {path}: {status} {answer}");
        assert!(answer["detail"].is_string(), "{answer}");
        (status, answer["error"].as_str().unwrap().to_owned(), answer["path"].clone())
    }

    /// Makes a run that does not start; returns its path.
    fn run(&self, fields: Value) -> String {
        let mut body = json!({"autoStart": false});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let made = self.fine("POST", "/api/runs", body);
        format!("/api/runs/{}", made["run"]["id"].as_str().unwrap())
    }

    /// Makes a node; returns its id.
    fn node(&self, run: &str, label: &str, role: &str) -> String {
        let node = json!({"label": label, "provider": "custom", "roleTemplate": role});
        let made = self.fine("POST", &format!("{run}/nodes"), json!({"node": node}));
        made["node"]["id"].as_str().unwrap().to_owned()
    }

    /// Number of the newest event of a run.
    fn last_seq(&self, run: &str) -> u64 {
        self.see(run)["run"]["lastSeq"].as_u64().unwrap()
    }
}

impl Client for ServerProcess {
    fn ask(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let request = self.person_request(method, path);
        let request = if body.is_null() { request } else { request.json(&body) };
        let reply = self.send(&request).unwrap();
        let kind = reply.header("content-type");
        assert_eq!(kind, Some("application/json; charset=utf-8"), "{method} {path}");
        (reply.status, reply.json().unwrap())
    }
}

/// Opens the WebSocket of a run.
pub(crate) fn follow(server: &ServerProcess, query: &str) -> Socket {
    let bearer = format!("Bearer {}", server.token().unwrap());
    let opened =
        Socket::open(server.address(), &format!("/ws{query}"), &[("Authorization", &bearer)]);
    opened.unwrap().unwrap_or_else(|refused| panic!("{query}: {refused:?}"))
}

/// The id in a run's path.
pub(crate) fn id_of(run: &str) -> &str {
    run.rsplit('/').next().unwrap()
}

/// How long anything may take that is waited for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Agents of a few lines of shell, by the name of their profile.
const AGENTS: &str = r#"
roots = ["/"]
default_permissions_mode = "skip"

[profiles.custom.default]
command = ["sh", "-c", """
while read -r line; do case "$line" in
  *'"type":"prompt"'*) echo '{"type":"message.assistant.final","content":"It is done."}';;
esac; done"""]

[profiles.custom.writer]
command = ["sh", "-c", """
while read -r line; do case "$line" in
  *'"type":"prompt"'*) echo more >> made.txt; \
    echo '{"type":"message.assistant.final","content":"Written."}';;
esac; done"""]

[profiles.custom.asker]
command = ["sh", "-c", """
while read -r line; do case "$line" in
  *'"type":"prompt"'*) echo '{"type":"approval.requested","approvalId":"tool-1",\
    "canModify":true,"tool":{"id":"tool-1","name":"push","args":{"to":"main"}}}';;
  *'"type":"approval.resolved"'*) echo '{"type":"message.assistant.final","content":"Answered."}';;
esac; done"""]

[profiles.custom.finisher]
command = ["sh", "-c", """
while read -r line; do case "$line" in
  *'"type":"prompt"'*) echo '{"type":"tool.call","id":"c1",\
    "name":"complete_run","args":{"summary":"ready"}}';;
  *'"type":"tool.result"'*) echo '{"type":"message.assistant.final",\
    "content":"The run is complete."}';;
esac; done"""]

[profiles.custom.talker]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"prompt"'*) printf '%s%s\n' '{"type":"message.assistant.final","content":' \
    '"{\"type\":\"tool.call\",\"id\":\"1\",\"name\":\"complete_run\",\"args\":{}}"}';;
esac; done''']

[profiles.custom.teller]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"prompt"'*) printf '%s' "$MUSTER_NODE_TOKEN" > told.txt; \
    echo '{"type":"message.assistant.delta","delta":"told"}'; sleep 600;;
esac; done''']

[profiles.custom.caller]
command = ["sh", "-c", '''
while read -r line; do case "$line" in
  *'"type":"init"'*)
    mcp=${line#*'"mcp":'}
    part() { printf '%s' "$mcp" | sed "$1"; }
    command=$(part 's/.*"command":"\([^"]*\)".*/\1/')
    arguments=$(part 's/.*"args":\[\([^]]*\)\].*/\1/; s/"//g; s/,/ /g')
    variables=$(part 's/.*"env":{\([^}]*\)}.*/\1/; s/","/ /g; s/":"/=/g; s/"//g')
    printf '%s' "$variables" > variables.txt;;
  *'"type":"prompt"'*)
    env -i $variables $command $arguments < asked.jsonl > answered.jsonl 2> complaints.txt
    echo '{"type":"message.assistant.final","content":"Called."}';;
esac; done''']

[profiles.custom.sleeper]
command = ["sh", "-c", "sleep 600"]
"#;

/// A server whose nodes can be those agents.
pub(crate) fn drive() -> Server {
    serve_with_file("runs.toml", AGENTS)
}

/// Makes a run in a directory of its own and waits until it works; returns its path.
pub(crate) fn started(server: &ServerProcess, dir: &Path, fields: Value) -> String {
    let mut body = json!({"cwd": dir, "mode": "INTERACTIVE"});
    add(&mut body, fields);
    let made = server.fine("POST", "/api/runs", body);
    let run = format!("/api/runs/{}", made["run"]["id"].as_str().unwrap());
    until(server, &run, |run| run["phase"] == "EXECUTE" && run["status"] == "running");
    run
}

/// Makes a node of a profile; returns its id.
pub(crate) fn agent(server: &ServerProcess, run: &str, profile: &str, more: Value) -> String {
    let mut node = json!({"label": profile, "provider": "custom", "providerProfile": profile});
    add(&mut node, more);
    let made = server.fine("POST", &format!("{run}/nodes"), json!({"node": node}));
    made["node"]["id"].as_str().unwrap().to_owned()
}

/// Adds fields to an object.
pub(crate) fn add(object: &mut Value, more: Value) {
    if let (Value::Object(fields), Value::Object(more)) = (object, more) {
        fields.extend(more);
    }
}

/// Waits until a run is as it should be; returns it.
pub(crate) fn until(server: &ServerProcess, run: &str, is: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let shown = server.see(run)["run"].clone();
        if is(&shown) {
            return shown;
        }
        assert!(Instant::now() < deadline, "it did not happen: {shown}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
