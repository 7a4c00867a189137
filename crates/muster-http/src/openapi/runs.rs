//! The routes of runs in the document. Bodies are the shapes that they are checked by; every object
//! that is answered may have more fields than are named here (RUNS-GEN-2).

use serde_json::{Map, Value, json};

use super::{
    bridge_shapes::{flag, list, object, one_of, or_null, record, shape, text, whole},
    json_content,
};

/// One route: what it is for, what it takes, what it gives.
struct Entry {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    query: Vec<(&'static str, Value)>,
    body: Option<Value>,
    answer: Value,
}

fn get(path: &'static str, summary: &'static str, answer: Value) -> Entry {
    Entry { method: "get", path, summary, query: Vec::new(), body: None, answer }
}

fn delete(path: &'static str, summary: &'static str, answer: Value) -> Entry {
    Entry { method: "delete", ..get(path, summary, answer) }
}

fn post(path: &'static str, summary: &'static str, body: Value, answer: Value) -> Entry {
    Entry { method: "post", body: Some(body), ..get(path, summary, answer) }
}

impl Entry {
    fn of(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    fn asked(self, query: &[(&'static str, Value)]) -> Self {
        Self { query: query.to_vec(), ..self }
    }

    fn operation(&self) -> Value {
        let mut operation = json!({
            "summary": self.summary,
            "tags": ["runs"],
            "parameters": self.parameters(),
            "responses": {self.success(): json_content("It is as it says.", &self.answer)},
        });
        if let Some(body) = &self.body {
            operation["requestBody"] = json!({"content": {"application/json": {"schema": body}}});
        }
        match self.path {
            "/api/health" => operation["security"] = json!([]),
            path if path.starts_with("/api/agent/") => {
                operation["security"] = json!([{"node": []}]);
            }
            _ => {}
        }
        let refused = json_content("The request was refused.", &shape("RunError"));
        for status in self.refusals() {
            operation["responses"][status] = refused.clone();
        }
        operation
    }

    fn success(&self) -> &'static str {
        match (self.method, self.path) {
            ("post", "/api/templates") => "201",
            (_, "/ws") => "101",
            (_, _) => "200",
        }
    }

    fn parameters(&self) -> Vec<Value> {
        let ids = self.path.split('{').skip(1).filter_map(|part| part.split('}').next());
        let id = |name| json!({"name": name, "in": "path", "required": true, "schema": text()});
        let query =
            |(name, schema): &(&str, Value)| json!({"name": name, "in": "query", "schema": schema});
        let key = json!({
            "name": "Idempotency-Key", "in": "header",
            "schema": {"type": "string", "minLength": 1, "maxLength": 128},
            "description": "The same key and body give the first answer again, for a day.",
        });
        let key = (self.method == "post").then_some(key);
        ids.map(id).chain(self.query.iter().map(query)).chain(key).collect()
    }

    fn refusals(&self) -> Vec<&'static str> {
        let mut statuses = vec!["403", "503"];
        if self.path != "/api/health" {
            statuses.push("401");
        }
        if self.path.contains('{') || self.path == "/ws" {
            statuses.push("404");
        }
        if self.body.is_some() {
            statuses.extend(["400", "404", "409", "413", "415", "422"]);
        } else if !self.query.is_empty() {
            statuses.push("422");
        }
        statuses
    }
}

/// Every route, by its path.
pub(super) fn paths() -> Map<String, Value> {
    let mut paths: Map<String, Value> = Map::new();
    for entry in [life(), graph(), history(), answers(), agents(), shelf()].into_iter().flatten() {
        let item = paths.entry(entry.path).or_insert_with(|| json!({}));
        item[entry.method] = entry.operation();
    }
    paths
}

/// An object, wrapped in its name or bare.
fn wrapped(name: &str, input: &str) -> Value {
    json!({"anyOf": [record(&[(name, shape(input))], &[]), shape(input)]})
}

fn given(fields: &[(&str, Value)]) -> Value {
    record(fields, &[])
}

fn done() -> Value {
    given(&[("ok", json!({"const": true}))])
}

fn page() -> Value {
    given(&[("nextCursor", or_null(&text())), ("hasMore", flag())])
}

/// How much of a list is wanted.
fn rows() -> [(&'static str, Value); 2] {
    [("limit", whole()), ("cursor", text())]
}

fn life() -> Vec<Entry> {
    let run = || given(&[("run", shape("Run"))]);
    let health = [("ok", flag()), ("version", text()), ("contractVersion", text())];
    let status = one_of(&["queued", "running", "paused", "completed", "failed"]);
    let view = one_of(&["summary", "list", "full"]);
    let patch = json!({"anyOf": [
        {"allOf": [given(&[("patch", shape("RunPatch"))]), shape("RunPatchManner")]},
        shape("RunPatch"),
    ]});
    vec![
        get("/api/health", "Whether the server works", given(&health)),
        get(
            "/api/runs",
            "List runs, the newest change first",
            given(&[("runs", list(&shape("Run"))), ("page", page())]),
        )
        .asked(&[
            ("status", status),
            ("limit", whole()),
            ("cursor", text()),
            ("view", view),
        ]),
        post("/api/runs", "Create a run", wrapped("run", "RunInput"), run()),
        get("/api/runs/{run}", "Show a run", run())
            .asked(&[("artifacts", one_of(&["recent", "all", "none"]))]),
        post("/api/runs/{run}", "Change a run", patch, run()).of("patch"),
        delete("/api/runs/{run}", "Delete a run", given(&[("runId", text())])),
        post("/api/runs/{run}/verify", "Run the checks of a run now", object(), done()),
        post(
            "/api/runs/{run}/dismiss",
            "Put away that the run was declared done and is not",
            object(),
            done(),
        ),
    ]
}

fn graph() -> Vec<Entry> {
    let warning = given(&[("code", text()), ("detail", text())]);
    let node = || record(&[("node", shape("Node"))], &[("warnings", list(&warning))]);
    let patch = json!({"anyOf": [
        record(&[], &[("patch", shape("NodePatch")), ("config", shape("NodePatch"))]),
        shape("NodePatch"),
    ]});
    let command = |path, summary| post(path, summary, object(), done());
    vec![
        post("/api/runs/{run}/nodes", "Create a node", wrapped("node", "NodeInput"), node()),
        post("/api/runs/{run}/nodes/{node}", "Change a node", patch, node()).of("patch"),
        delete("/api/runs/{run}/nodes/{node}", "Delete a node", given(&[("nodeId", text())])),
        post(
            "/api/runs/{run}/nodes/{node}/reset",
            "Clear a node's context",
            shape("ResetInput"),
            done(),
        ),
        command("/api/runs/{run}/nodes/{node}/start", "Let a node go on"),
        command("/api/runs/{run}/nodes/{node}/stop", "End what a node does, and hold it"),
        command("/api/runs/{run}/nodes/{node}/interrupt", "End the turn that a node has in flight"),
        get(
            "/api/runs/{run}/nodes/{node}/inbox",
            "Show the inputs of a node that are queued, or failed and wait for a person",
            given(&[("inbox", list(&shape("ItemView")))]),
        ),
        delete(
            "/api/runs/{run}/nodes/{node}/inbox/{item}",
            "Take a queued or failed input out again",
            given(&[("itemId", text())]),
        ),
        Entry {
            answer: given(&[("itemId", text())]),
            ..command(
                "/api/runs/{run}/nodes/{node}/inbox/{item}/resend",
                "Send an input again whose turns failed",
            )
        },
        post(
            "/api/runs/{run}/edges",
            "Make an edge, or change the one that has the id",
            wrapped("edge", "EdgeInput"),
            given(&[("edge", shape("Edge"))]),
        ),
        delete("/api/runs/{run}/edges/{edge}", "Remove an edge", given(&[("edgeId", text())])),
        post(
            "/api/runs/{run}/chat",
            "Say something to a node",
            shape("ChatInput"),
            given(&[("messageId", text())]),
        ),
    ]
}

fn history() -> Vec<Entry> {
    let paged = |name, of: &str| given(&[(name, list(&shape(of))), ("page", page())]);
    let event_page = given(&[
        ("direction", one_of(&["forward", "backward"])),
        ("nextCursor", or_null(&text())),
        ("hasMore", flag()),
        ("firstSeq", or_null(&whole())),
        ("lastSeq", or_null(&whole())),
    ]);
    let events = given(&[("events", list(&shape("RunEvent"))), ("page", event_page)]);
    let piece = given(&[
        ("artifact", shape("Artifact")),
        ("content", text()),
        ("encoding", one_of(&["utf-8", "base64"])),
        ("offset", whole()),
        ("nextOffset", or_null(&whole())),
    ]);
    let [limit, cursor] = rows();
    let frames = json!({"anyOf": [shape("RunEvent"), shape("StreamFrame")]});
    let kinds = one_of(&["diff", "prompt", "log", "transcript", "contextpack", "report"]);
    vec![
        get("/api/runs/{run}/events", "Read events, both ways", events).asked(&[
            ("since", whole()),
            ("before", whole()),
            ("limit", whole()),
            ("nodeId", text()),
            ("turnId", text()),
            ("type", text()),
            ("exclude", text()),
        ]),
        get("/api/runs/{run}/turns", "List turns, the newest first", paged("turns", "Turn"))
            .asked(&[("nodeId", text()), limit.clone(), cursor.clone()]),
        get("/api/runs/{run}/turns/{turn}", "Show a turn", given(&[("turn", shape("Turn"))])),
        get(
            "/api/runs/{run}/artifacts",
            "List artifacts, the newest first",
            paged("artifacts", "Artifact"),
        )
        .asked(&[("nodeId", text()), ("turnId", text()), ("kind", kinds), limit, cursor]),
        get("/api/runs/{run}/artifacts/{artifact}", "Read a piece of an artifact", piece)
            .asked(&[("offset", whole()), ("maxBytes", whole())]),
        get("/api/runs/{run}/artifacts/{artifact}/raw", "Take an artifact as it is", json!(true)),
        get("/ws", "Follow a run, or all, over a WebSocket", frames).asked(&[
            ("runId", text()),
            ("since", whole()),
            ("nodeId", text()),
            ("types", text()),
            ("exclude", text()),
            ("token", text()),
        ]),
    ]
}

fn answers() -> Vec<Entry> {
    let row = given(&[("runId", text()), ("approval", shape("Approval"))]);
    let resolution = json!({"anyOf": [
        record(&[("resolution", shape("ResolutionInput"))], &[("runId", text())]),
        shape("ResolutionInput"),
    ]});
    vec![
        get("/api/approvals", "List approvals, oldest first", given(&[("approvals", list(&row))]))
            .asked(&[("runId", text()), ("status", one_of(&["pending", "all"]))]),
        post(
            "/api/approvals/{approval}/resolve",
            "Answer an approval",
            resolution,
            given(&[("approvalId", text()), ("resolution", shape("Resolution"))]),
        ),
        get(
            "/api/attention",
            "List what waits for a person in all runs, oldest first",
            given(&[("items", list(&shape("Attention")))]),
        ),
        get(
            "/api/search",
            "Find words in what was said and made, in one run or all, the newest first",
            shape("SearchAnswer"),
        )
        .asked(&[("q", text()), ("runId", text()), ("limit", whole()), ("cursor", text())]),
        get(
            "/api/work/changes",
            "Hear of every change of a workspace, as server-sent events",
            given(&[("seq", whole())]),
        )
        .asked(&[("workspace", text())]),
    ]
}

fn agents() -> Vec<Entry> {
    let tool = given(&[("name", text()), ("description", text()), ("schema", object())]);
    let told = given(&[("runId", text()), ("nodeId", text()), ("tools", list(&tool))]);
    vec![
        get("/api/agent/tools", "List the tools of a node, by the token of its agent", told),
        post(
            "/api/agent/tools/{tool}",
            "Call a tool in the name of a node, by the token of its agent",
            object(),
            object(),
        ),
        post(
            "/api/agent/reads/{tool}",
            "Read by a tool for the client of an agent, without a trace in the run's log",
            object(),
            object(),
        ),
    ]
}

fn shelf() -> Vec<Entry> {
    let source = one_of(&["repo", "user", "system"]);
    let row = given(&[("name", text()), ("source", source.clone()), ("path", or_null(&text()))]);
    let whole_text = given(&[
        ("name", text()),
        ("content", text()),
        ("found", flag()),
        ("source", or_null(&source)),
        ("hash", or_null(&text())),
    ]);
    let written = || given(&[("name", text()), ("path", text())]);
    let folder = given(&[("name", text()), ("isDirectory", flag()), ("path", text())]);
    let folders = record(&[("entries", list(&folder)), ("current", text())], &[("parent", text())]);
    let cwd = [("cwd", text())];
    vec![
        get("/api/templates", "List role templates", given(&[("templates", list(&row))]))
            .asked(&cwd),
        post("/api/templates", "Write a role template", shape("TemplateInput"), written()),
        get("/api/templates/{template}", "Show a role template", whole_text).asked(&cwd),
        post(
            "/api/templates/{template}",
            "Change a role template",
            shape("TemplateInput"),
            written(),
        )
        .of("put"),
        delete(
            "/api/templates/{template}",
            "Remove the user's copy of a role template",
            given(&[("name", text())]),
        ),
        get(
            "/api/providers",
            "List the programs that a node can be",
            given(&[("providers", list(&shape("ProviderEntry")))]),
        ),
        get("/api/fs/list", "List folders that a run can work in", folders)
            .asked(&[("path", text())]),
    ]
}
