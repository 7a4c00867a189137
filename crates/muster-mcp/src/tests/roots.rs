//! The roots of a client decide the workspace of calls that name none, in both eras.

use std::sync::Arc;

use muster_api::{App, AppOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::wire::{Wire, call, initialize, request, stateless};
use crate::{AppBackend, RootWorkspace};

/// A store whose clients are in the workspace that their first root is named after.
struct RootedStore {
    backend: Arc<AppBackend>,
    _folder: TempDir,
}

impl RootedStore {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let storage_dir = folder.path().to_owned();
        let app = App::open(AppOptions { storage_dir, ..AppOptions::default() }).expect("a store");
        let backend = AppBackend::new(Arc::new(app), None).following_roots(Arc::new(|roots| {
            let directory = roots.iter().find(|root| root.starts_with("/work"))?.clone();
            let name = directory.file_name()?.to_str()?;
            Some(RootWorkspace { workspace: name.parse().ok()?, directory })
        }));
        Self { backend: Arc::new(backend), _folder: folder }
    }

    fn wire(&self) -> Wire {
        Wire::to(self.backend.clone())
    }
}

fn with_handshake(capabilities: Value) -> Value {
    let mut opening = initialize(1, "2025-11-25");
    opening["params"]["capabilities"] = capabilities;
    opening
}

/// A request of the stateless revision, by a client that has roots.
fn rooted(id: u32, method: &str, params: Value) -> Value {
    let mut message = stateless(id, method, params);
    let declared = json!({"roots": {}});
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = declared;
    message
}

fn plan(title: &str) -> Value {
    json!({"kind": "plan", "title": title})
}

fn roots(uris: &[&str]) -> Value {
    let roots: Vec<Value> = uris.iter().map(|uri| json!({"uri": uri})).collect();
    json!({"roots": roots})
}

fn workspace(answer: &Value) -> &Value {
    &answer["result"]["structuredContent"]["context"]["workspace"]
}

#[tokio::test]
async fn a_client_with_a_handshake_is_asked_once_for_its_roots() {
    let store = RootedStore::new();
    let mut wire = store.wire();
    wire.ask(with_handshake(json!({"roots": {"listChanged": true}}))).await;
    let asked = wire.ask(call(2, "tasks_create", plan("First"))).await;
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"],
                        "result": roots(&["https://example.org", "file:///work/nova"])});
    let created = wire.ask(answer).await;
    assert_eq!(workspace(&created), "nova", "{created}");
    let again = wire.ask(call(3, "tasks_create", plan("Second"))).await;
    assert_eq!(workspace(&again), "nova");
    let named = json!({"workspace": "other", "kind": "plan", "title": "Third"});
    assert_eq!(workspace(&wire.ask(call(4, "tasks_create", named)).await), "other");

    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    wire.send(changed).await;
    let asked = wire.ask(call(5, "tasks_create", plan("Fourth"))).await;
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": roots(&["file:///work/b"])});
    assert_eq!(workspace(&wire.ask(answer).await), "b");
}

#[tokio::test]
async fn a_client_of_the_stateless_revision_repeats_its_call_with_its_roots() {
    let store = RootedStore::new();
    let mut wire = store.wire();
    let params = json!({"name": "tasks_create", "arguments": plan("First")});
    let question = wire.ask(rooted(1, "tools/call", params.clone())).await;
    assert_eq!(question["result"]["resultType"], "input_required", "{question}");
    assert_eq!(question["result"]["inputRequests"]["roots"]["method"], "roots/list");
    let mut repeated = params.clone();
    repeated["inputResponses"] = json!({"roots": roots(&["file:///work/nova"])});
    let created = wire.ask(rooted(2, "tools/call", repeated)).await;
    assert_eq!(workspace(&created), "nova", "{created}");
    let again = wire.ask(rooted(3, "tools/call", params)).await;
    assert_eq!(workspace(&again), "nova", "it is asked once");
}

#[tokio::test]
async fn without_roots_or_with_useless_ones_a_call_has_to_name_its_workspace() {
    for capabilities in [json!({}), json!({"roots": {}})] {
        let has_roots = capabilities["roots"].is_object();
        let store = RootedStore::new();
        let mut wire = store.wire();
        wire.ask(with_handshake(capabilities)).await;
        let mut answer = wire.ask(call(2, "tasks_create", plan("First"))).await;
        if has_roots {
            let refused = json!({"code": -32603, "message": "no roots today"});
            let id = answer["id"].clone();
            answer = wire.ask(json!({"jsonrpc": "2.0", "id": id, "error": refused})).await;
        }
        let error = &answer["result"]["structuredContent"]["error"];
        assert_eq!(error["details"]["argument"], "workspace", "{answer}");
    }
    let store = RootedStore::new();
    let params = json!({"name": "tasks_create", "arguments": plan("First"),
                        "inputResponses": {"roots": {"roots": 7}}});
    let refused = store.wire().ask(rooted(1, "tools/call", params)).await;
    assert_eq!(refused["result"]["resultType"], "complete", "it is not asked for ever: {refused}");
    assert_eq!(refused["result"]["isError"], true);
}

#[tokio::test]
async fn only_a_client_with_roots_may_leave_the_workspace_out_of_what_is_listed() {
    let store = RootedStore::new();
    let mut wire = store.wire();
    let required = |answer: &Value| {
        let tools = answer["result"]["tools"].as_array().expect("tools");
        let tool = tools.iter().find(|tool| tool["name"] == "tasks_create").expect("listed");
        tool["inputSchema"]["required"].to_string().contains("workspace")
    };
    let toolset = || json!({"toolset": "full"});
    assert!(required(&wire.ask(stateless(1, "tools/list", toolset())).await));
    assert!(!required(&wire.ask(rooted(2, "tools/list", toolset())).await));
    let opening = wire.ask(request(3, "initialize", initialize(3, "2025-06-18")["params"].clone()));
    let instructions = opening.await["result"]["instructions"].to_string();
    assert!(instructions.contains("project folder"), "{instructions}");
}
