//! Operations over REST: what a program sees besides the answer itself.

use muster_testkit::server::Connection;
use serde_json::{Value, json};

use crate::program::{Server, serve};

/// A plan with one task of one step in the workspace `w`.
fn server_with_a_step() -> Server {
    let server = serve(&[]);
    let plan = json!({"workspace": "w", "kind": "plan", "title": "Plan"});
    assert_eq!(server.call("tasks_create", &plan).unwrap().0, 200);
    let steps = json!([{"title": "Step", "success_criteria": ["it works"], "tests": ["run it"]}]);
    let task = json!({"workspace": "w", "parent": "PLAN-001", "title": "Task", "steps": steps});
    assert_eq!(server.call("tasks_create", &task).unwrap().0, 200);
    server
}

#[test]
fn refusals_have_the_status_of_their_code() {
    let server = server_with_a_step();
    let step = |more: &Value| {
        let mut arguments = json!({"workspace": "w", "task": "TASK-001", "path": "s:0"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    for (operation, arguments, status, code) in [
        ("tasks_done", step(&json!({})), 422, "CHECKPOINTS_NOT_CONFIRMED"),
        (
            "tasks_note",
            step(&json!({"note": "n", "expected_revision": 9})),
            409,
            "REVISION_MISMATCH",
        ),
        (
            "tasks_note",
            json!({"workspace": "w", "task": "TASK-009", "path": "s:0", "note": "n"}),
            404,
            "UNKNOWN_ID",
        ),
        ("tasks_note", step(&json!({"note": 7})), 400, "INVALID_INPUT"),
        ("tasks_nothing", json!({}), 404, "UNKNOWN_TOOL"),
    ] {
        let (answered, answer) = server.call(operation, &arguments).unwrap();
        assert_eq!((answered, &answer["error"]["code"]), (status, &json!(code)), "{answer}");
        assert_eq!(answer["success"], false);
    }
    let (status, answer) =
        server.call("tasks_close_step", &step(&json!({"checkpoints": "gate"}))).unwrap();
    assert_eq!((status, &answer["error"]), (200, &Value::Null), "{answer}");
}

#[test]
fn no_body_means_no_arguments() {
    let server = serve(&[]);
    for body in ["", "null", "{}"] {
        let request = server
            .request("POST", "/api/ops/tasks_context")
            .header("Content-Type", "application/json")
            .body(body);
        let reply = server.send(&request).unwrap();
        let answer = reply.json().unwrap();
        assert_eq!(reply.status, 400, "{body:?}: {answer}");
        assert_eq!(answer["error"]["details"]["argument"], "workspace", "{body:?}: {answer}");
    }
}

#[test]
fn one_connection_serves_many_requests_and_pipelined_ones_in_order() {
    let server = serve(&[]);
    let mut connection = Connection::open(server.address()).unwrap();
    let context = server.request("POST", "/api/ops/tasks_context").json(&json!({"workspace": "w"}));
    for _ in 0..20 {
        assert_eq!(connection.exchange(&context).unwrap().status, 200);
    }
    let requests = [
        server.request("GET", "/health"),
        server.request("GET", "/nowhere"),
        context.clone(),
        server.request("GET", "/api/ops/tasks_context"),
    ];
    let bytes: Vec<u8> =
        requests.iter().flat_map(|request| request.bytes(server.address())).collect();
    connection.write(&bytes).unwrap();
    let statuses = requests.map(|_| connection.read_reply("GET").unwrap().status);
    assert_eq!(statuses, [200, 404, 200, 405]);
}
