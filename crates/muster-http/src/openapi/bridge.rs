//! The routes of the session bridge in the document. Each exists under `/v1` too; the document has
//! the one without the prefix.

use muster_core::session::{
    entity::SessionStatus,
    limits::{LEASE_MS_DEFAULT, LEASE_MS_MAX, LEASE_MS_MIN},
};
use serde_json::{Map, Value, json};

use super::{
    bridge_shapes::{flag, list, object, one_of, or_null, record, shape, text, whole},
    json_content,
};
use crate::sessions::{SESSIONS_MAX, unprefixed};

/// One route: what it is for, what it takes, what it gives.
struct Entry {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    description: &'static str,
    parameters: Vec<Value>,
    body: Option<Value>,
    answer: (&'static str, Value),
}

impl Entry {
    fn get(path: &'static str, summary: &'static str, answer: &Value) -> Self {
        let answer = ("200", json_content("It is as it says.", answer));
        let description = "";
        let parameters = Vec::new();
        Self { method: "get", path, summary, description, parameters, body: None, answer }
    }

    fn post(path: &'static str, summary: &'static str, body: Value, answer: &Value) -> Self {
        let answer = ("202", json_content("Accepted, and durable.", answer));
        Self { method: "post", body: Some(body), answer, ..Self::get(path, summary, &Value::Null) }
    }

    fn about(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    fn with(self, parameters: Vec<Value>) -> Self {
        Self { parameters, ..self }
    }

    fn answering(self, status: &'static str, answer: Value) -> Self {
        Self { answer: (status, answer), ..self }
    }

    fn operation(&self) -> Value {
        let (status, answer) = &self.answer;
        let twin = format!("Also at `/v1{}`.", self.path);
        let description = [self.description, &twin].join(" ");
        let mut operation = json!({
            "summary": self.summary,
            "description": description.trim_start(),
            "tags": ["sessions"],
            "parameters": self.all_parameters(),
            "responses": {*status: answer},
        });
        if let Some(body) = &self.body {
            operation["requestBody"] = json!({"content": {"application/json": {"schema": body}}});
        }
        if self.path == "/health" {
            operation["security"] = json!([]);
        }
        let refused = json_content("The request was refused.", &shape("BridgeError"));
        for status in self.refusals() {
            operation["responses"][status] = refused.clone();
        }
        operation
    }

    fn all_parameters(&self) -> Vec<Value> {
        let id = json!({"name": "id", "in": "path", "required": true, "schema": text()});
        let key = json!({
            "name": "Idempotency-Key", "in": "header",
            "schema": {"type": "string", "minLength": 1, "maxLength": 128},
            "description": "The same key with the same body gives the first answer again.",
        });
        let id = self.path.contains("{id}").then_some(id);
        let key = (self.method == "post" && self.path.starts_with("/sessions")).then_some(key);
        id.into_iter().chain(self.parameters.clone()).chain(key).collect()
    }

    fn refusals(&self) -> Vec<&'static str> {
        let mut statuses = vec!["403", "500"];
        if self.path != "/health" {
            statuses.push("401");
        }
        if self.path.contains("{id}") {
            statuses.push("404");
        }
        if !self.parameters.is_empty() {
            statuses.push("422");
        }
        if self.body.is_some() {
            statuses.extend(["400", "409", "413", "415", "422"]);
        }
        let is_stream = self.answer.1["content"].get("text/event-stream").is_some();
        let is_release = self.method == "delete" && self.path.ends_with("/driver");
        if is_stream || is_release {
            statuses.push("409");
        }
        statuses
    }
}

/// A parameter of the query.
fn query(name: &str, schema: &Value, description: &str) -> Value {
    json!({"name": name, "in": "query", "schema": schema, "description": description})
}

/// Every route that the server has, by its path.
pub(super) fn paths() -> Map<String, Value> {
    let parts = [about_server(), sessions(), driver(), events(), trees(), todos()];
    let entries: Vec<Entry> = parts.into_iter().flatten().collect();
    let mut paths: Map<String, Value> = Map::new();
    for route in unprefixed() {
        let is_meant = |entry: &&Entry| (entry.method, entry.path) == (route.method, route.path);
        if let Some(entry) = entries.iter().find(is_meant) {
            let item = paths.entry(route.path).or_insert_with(|| json!({}));
            item[route.method] = entry.operation();
        }
    }
    paths
}

fn about_server() -> Vec<Entry> {
    let more = record(&[("uptime_s", whole()), ("sessions", whole())], &[]);
    let status = json!({"allOf": [shape("Health"), more]});
    let model = record(&[("id", text()), ("provider", text()), ("name", text())], &[]);
    let models = [("models", list(&model)), ("default_model", or_null(&text()))];
    let refused = record(&[("ok", json!({"const": false})), ("detail", text())], &[]);
    let no_keys = json_content("Nothing was taken.", &refused);
    let keys = |path, summary| {
        let entry = Entry::post(path, summary, object(), &Value::Null);
        entry.about("The body is neither stored nor logged.").answering("200", no_keys.clone())
    };
    vec![
        Entry::get("/health", "Whether the server works", &shape("Health"))
            .about("Needs no token. 503 with the same shape when the store cannot be read."),
        Entry::get("/status", "Health, and how many sessions there are", &status),
        Entry::get("/models", "Models that sessions can use", &record(&models, &[])),
        Entry::get(
            "/provider-auth/status",
            "Provider keys that the server has: none",
            &record(&[("attached", list(&text()))], &[]),
        ),
        keys("/provider-auth/attach", "Refuse a provider key"),
        keys("/provider-auth/detach", "Refuse to drop a provider key"),
    ]
}

fn sessions() -> Vec<Entry> {
    let made = json_content("Made.", &shape("SessionMade"));
    let accepted = [
        ("status", json!({"const": "accepted"})),
        ("seq", whole()),
        ("turn_id", or_null(&text())),
        ("queued", flag()),
    ];
    let done = [("status", json!({"const": "accepted"})), ("detail", or_null(&object()))];
    let input = record(&[("content", text())], &[]);
    let ended = Entry {
        method: "delete",
        ..Entry::get(
            "/sessions/{id}",
            "Delete a session with its events, lists and tree",
            &object(),
        )
    };
    vec![
        Entry::get("/sessions", "Sessions, newest first", &list(&shape("Session")))
            .about(
                "All of them, unless parameters ask for less. When there are more than `limit`, \
                 the header `X-Next-Cursor` has the `cursor` of the next page.",
            )
            .with(session_filters()),
        Entry::post("/sessions", "Make a session", create_request(), &Value::Null)
            .about("With a task, that is the first input.")
            .answering("200", made),
        Entry::get("/sessions/{id}", "One session", &shape("Session")),
        ended.answering("204", json!({"description": "It is gone, and its streams have ended."})),
        Entry::post("/sessions/{id}/input", "Say something", input, &record(&accepted, &[])).about(
            "Starts a turn, or waits for the running one: `turn_id` is the turn that takes it. In \
             the session of a run's node it is a message to the node, whose next turn takes it: \
             `turn_id` is null, and the `user_message` follows `seq`. 409 when the run or the node \
             takes no more input.",
        ),
        Entry::post(
            "/sessions/{id}/command",
            "Give an order",
            shape("SessionCommand"),
            &record(&done, &[]),
        ),
    ]
}

fn session_filters() -> Vec<Value> {
    let limit = json!({"type": "integer", "minimum": 1, "maximum": SESSIONS_MAX});
    vec![
        query("limit", &limit, "So many sessions at most."),
        query("cursor", &text(), "`X-Next-Cursor` of the page before."),
        query(
            "status",
            &one_of(&SessionStatus::ALL.map(SessionStatus::word)),
            "Only sessions that are so.",
        ),
        query("workspace", &text(), "Only sessions of this folder."),
        query(
            "metadata.key",
            &text(),
            "Only sessions whose metadata have this value under `key`, which may be any key.",
        ),
    ]
}

fn driver() -> Vec<Entry> {
    let lease = json!({
        "type": ["integer", "null"],
        "minimum": LEASE_MS_MIN / 1_000,
        "maximum": LEASE_MS_MAX / 1_000,
        "default": LEASE_MS_DEFAULT / 1_000,
    });
    let claim = record(&[("host", text())], &[("lease_seconds", lease)]);
    let time = json!({"type": "string", "format": "date-time"});
    let claimed =
        [("session_id", text()), ("host", text()), ("expires_at", time), ("seq", whole())];
    let held = json_content("The host has the session.", &record(&claimed, &[]));
    let release = Entry {
        method: "delete",
        ..Entry::get("/sessions/{id}/driver", "Release a session", &object())
    };
    vec![
        Entry::post(
            "/sessions/{id}/driver",
            "Claim a session for a host, or renew the claim",
            claim,
            &Value::Null,
        )
        .about(
            "While the lease lasts, input waits as a `user_message` with `queued` until the host \
             reports `turn_start`. A later call of the same host renews the lease; 409 while \
             another host or a run drives the session. When the lease expires, inputs that wait \
             end with the reason `no_agent`.",
        )
        .answering("200", held),
        release
            .about("404 when no host drives it. Inputs that wait end with the reason `no_agent`.")
            .with(vec![query("host", &text(), "Only if this host has claimed it; else 409.")])
            .answering("204", json!({"description": "No host drives it any more."})),
    ]
}

fn create_request() -> Value {
    let texts = ["task", "workspace", "config_path", "permission_mode", "title", "model", "mode"];
    let others = [
        ("overrides", json!({})),
        ("metadata", or_null(&object())),
        ("max_steps", or_null(&whole())),
    ];
    let fields: Vec<(&str, Value)> =
        texts.map(|name| (name, or_null(&text()))).into_iter().chain(others).collect();
    record(&[], &fields)
}

/// An item of a stream: its data is text that holds an event.
fn server_sent_event() -> Value {
    let data = json!({
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": shape("SessionEvent"),
    });
    record(&[("data", data)], &[("id", text())])
}

fn events() -> Vec<Entry> {
    let stream = json!({
        "description": "Server-sent events. A stored event is `id: <seq>` and one line `data:` \
            with a SessionEvent; without `id:` it belongs to this connection only.",
        "content": {"text/event-stream": {"schema": text(), "itemSchema": server_sent_event()}},
    });
    let last = json!({
        "name": "Last-Event-ID", "in": "header", "schema": text(),
        "description": "The last seq or event id handled; wins over the query.",
    });
    let parameters = vec![
        query("replay", &one_of(&["true", "1", "false", "0"]), "Begin with what happened so far."),
        query("limit", &json!({"type": "integer", "minimum": 1}), "Replay so many events at most."),
        query("from_id", &text(), "Resume behind this seq or event id."),
        query(
            "types",
            &text(),
            "Only stored events of these types, with commas between them. Messages without `id:` \
             come all the same: `stream.hello`, `stream.gap` and the snapshots of todo lists.",
        ),
        last,
    ];
    let some = or_null(&text());
    let report = record(
        &[("type", text())],
        &[
            ("id", some.clone()),
            ("data", or_null(&object())),
            ("payload", or_null(&object())),
            ("run_id", some.clone()),
            ("turn_id", some.clone()),
            ("thread_id", some),
        ],
    );
    let update = record(&[("scopeKey", text()), ("revision", json!({"type": "integer"}))], &[]);
    let mut applied = flag();
    applied["description"] = json!("Whether the todo update of the event changed the list.");
    let accepted = [
        ("status", json!({"const": "accepted"})),
        ("seq", whole()),
        ("id", text()),
        ("todo", or_null(&update)),
    ];
    vec![
        Entry::get("/sessions/{id}/events", "Follow a session", &Value::Null)
            .about("409 `resume_window_exceeded`: the resume point does not exist.")
            .with(parameters)
            .answering("200", stream),
        Entry::post(
            "/sessions/{id}/events",
            "Report an event",
            report,
            &record(&accepted, &[("applied", applied)]),
        )
        .about(
            "Types that only the server writes are refused: `stream.*`, `ctree_*`, `session.*`, \
             `run_finished`. An `id` is recorded once. A `tool_call` needs `call_id`, `tool` and \
             `call`. Once a list has got an update with a revision of its own, updates without one \
             are recorded but not applied.",
        ),
    ]
}

fn trees() -> Vec<Entry> {
    let at_least_one = json!({"type": "integer", "minimum": 1});
    let some_nodes = json!({"type": "integer", "minimum": 1, "maximum": 10_000});
    let node_limit = query("limit", &some_nodes, "Nodes.");
    let after_page = query("cursor", &text(), "`dropped_cursor`, or `next_cursor` of a page.");
    let nodes = vec![
        query("stage", &one_of(&["raw", "collapsed"]), "RAW, SPEC, HEADER and FROZEN are known."),
        query("include_previews", &flag(), "With the first 200 characters of each text."),
        query("include_bodies", &flag(), "With each text."),
        node_limit.clone(),
        query("cursor", &text(), "`next_cursor` of the page before."),
    ];
    let budget = query("max_chars", &at_least_one, "Budget; without it the session's own.");
    vec![
        Entry::get("/sessions/{id}/ctrees", "Summary of the C-Tree", &shape("TreeSummary")),
        Entry::get("/sessions/{id}/ctrees/tree", "Nodes of the C-Tree", &shape("TreePage"))
            .with(nodes),
        Entry::get("/sessions/{id}/ctrees/compiled", "The C-Tree as text", &shape("TreeText"))
            .about(
                "The whole answer has at most `max_chars` characters; up to 1,500 the text may \
                 have 1,000 of them. With `dropped_cursor` the nodes that were left out can be \
                 listed.",
            )
            .with(vec![budget.clone()]),
        Entry::get("/sessions/{id}/ctrees/dropped", "Nodes left out", &shape("TreeDropped"))
            .about(
                "What a text leaves out, in the order of dropping: the text that gave the cursor, \
                 else one of `max_chars` characters.",
            )
            .with(vec![budget, node_limit, after_page]),
    ]
}

fn todos() -> Vec<Entry> {
    let scope = query("scope", &text(), "Only this list.");
    let page = vec![
        query("scope", &text(), "Which list; `main` without it."),
        query("limit", &json!({"type": "integer", "minimum": 1, "maximum": 500}), "Entries."),
        query("before", &whole(), "Only revisions below this one."),
    ];
    vec![
        Entry::get("/sessions/{id}/todos", "Todo lists", &shape("TodoLists")).with(vec![scope]),
        Entry::get("/sessions/{id}/todos/history", "A list by revision", &shape("TodoHistory"))
            .with(page),
    ]
}
