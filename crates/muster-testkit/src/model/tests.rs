//! Questions as agents send them, over a real socket.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Progress, ScriptedModel, Step};
use crate::server::{Connection, Request, exchange};

fn ask(model: &ScriptedModel, path: &str, body: &Value) -> (u16, String) {
    let reply = exchange(model.address(), &Request::new("POST", path).json(body)).unwrap();
    (reply.status, reply.text())
}

fn codex(items: &Value) -> Value {
    let tool = json!({"type": "function", "name": "exec_command"});
    let muster = json!({"type": "namespace", "name": "mcp__muster",
        "tools": [{"type": "function", "name": "tasks_create"}]});
    json!({"model": "m", "input": items, "tools": [tool, muster], "stream": true})
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

#[test]
fn a_script_goes_on_with_every_answer_that_the_conversation_holds() {
    let model = ScriptedModel::start().unwrap();
    let mark = model.script("work", vec![Step::shell("ls"), Step::say("Done.")]);
    let prompt = user(&format!("{mark} go"));
    let (status, first) = ask(&model, "/v1/responses", &codex(&json!([prompt])));
    assert_eq!(status, 200);
    assert!(first.contains(r#"\"cmd\":\"ls\""#), "{first}");
    let (_, again) = ask(&model, "/v1/responses", &codex(&json!([prompt])));
    assert_eq!(first, again, "the same question has the same answer");
    let said = json!({"type": "message", "role": "assistant", "content": []});
    let call = json!({"type": "function_call", "name": "exec_command", "call_id": "c"});
    let outcome = json!({"type": "function_call_output", "call_id": "c", "output": "a.txt"});
    let items = json!([user("[[model:older]]"), prompt, said, call, outcome]);
    let (_, second) = ask(&model, "/v1/responses", &codex(&items));
    assert!(second.contains("Done.") && second.contains("response.completed"), "{second}");
    let sent = model.told("work");
    assert_eq!(sent[2].earlier, ["older"]);
    assert_eq!(
        (sent.len(), sent[2].step, &sent[2].outcomes[..]),
        (3, 1, &["a.txt".to_owned()][..])
    );
}

#[test]
fn a_tool_is_found_by_the_end_of_its_name_in_every_language() {
    let model = ScriptedModel::start().unwrap();
    let mark = model.script("tool", vec![Step::tool("tasks_create", &json!({"title": "t"}))]);
    let (_, answer) = ask(&model, "/v1/responses", &codex(&json!([user(&mark)])));
    assert!(answer.contains(r#""namespace":"mcp__muster""#), "{answer}");
    let claude = json!({"messages": [{"role": "user", "content": mark}],
        "tools": [{"name": "mcp__muster__tasks_create"}]});
    let (_, answer) = ask(&model, "/v1/messages?beta=true", &claude);
    assert!(answer.contains(r#""name":"mcp__muster__tasks_create""#), "{answer}");
    assert!(answer.contains(r#""stop_reason":"tool_use""#), "{answer}");
    let declared = json!([{"functionDeclarations": [{"name": "mcp_muster_tasks_create"}]}]);
    let gemini = json!({"contents": [{"role": "user", "parts": [{"text": mark}]}],
        "tools": declared});
    let (_, answer) = ask(&model, "/v1beta/models/x:streamGenerateContent?alt=sse", &gemini);
    assert!(answer.contains(r#""name":"mcp_muster_tasks_create""#), "{answer}");
}

#[test]
fn plans_and_refusals_are_told_in_every_language() {
    let model = ScriptedModel::start().unwrap();
    let plan = Step::plan(&[("read", Progress::Done), ("write", Progress::Begun)]);
    let mark = model.script("plan", vec![plan, Step::refuse(429, "slow down")]);
    let questions = |answered: bool| {
        let mut items = vec![user(&mark)];
        let mut messages = vec![json!({"role": "user", "content": mark})];
        let mut contents = vec![json!({"role": "user", "parts": [{"text": mark}]})];
        if answered {
            items.push(json!({"type": "function_call", "call_id": "c", "name": "update_plan"}));
            messages.push(json!({"role": "assistant", "content": []}));
            contents.push(json!({"role": "model", "parts": []}));
        }
        let declared = json!([{"functionDeclarations": [{"name": "write_todos"}]}]);
        [
            ("/v1/responses", codex(&json!(items))),
            ("/v1/messages", json!({"messages": messages, "tools": [{"name": "TodoWrite"}]})),
            ("/m:streamGenerateContent", json!({"contents": contents, "tools": declared})),
        ]
    };
    for ((path, body), tool) in
        questions(false).iter().zip(["update_plan", "TodoWrite", "write_todos"])
    {
        let (_, answer) = ask(&model, path, body);
        assert!(answer.contains(tool) && answer.contains("in_progress"), "{answer}");
    }
    for (path, body) in &questions(true) {
        let (status, answer) = ask(&model, path, body);
        assert!(status == 429 && answer.contains("slow down"), "{status} {answer}");
    }
}

#[test]
fn an_answer_that_hangs_says_what_it_has_and_stays_open() {
    let model = ScriptedModel::start().unwrap();
    let pieces = vec!["one ".to_owned(), "two ".to_owned()];
    model.script("slow", vec![Step::stream(pieces, Duration::from_millis(1))]);
    let hangs = model.script("hang", vec![Step::hang("I think about")]);
    let (_, slow) = ask(&model, "/v1/responses", &codex(&json!([user("[[model:slow]]")])));
    assert!(slow.find("one ").unwrap() < slow.find("two ").unwrap(), "{slow}");
    let mut connection = Connection::open(model.address()).unwrap();
    let body = codex(&json!([user(&hangs)]));
    let request = Request::new("POST", "/v1/responses").json(&body);
    connection.write(&request.bytes(model.address())).unwrap();
    let heard = connection.read_until("I think about").unwrap();
    assert!(!heard.contains("response.completed"), "{heard}");
    drop(model);
    let rest = connection.read_to_end().unwrap_or_default();
    assert!(!String::from_utf8_lossy(&rest).contains("response.completed"));
}

#[test]
fn whoever_wants_to_leave_this_machine_is_refused_and_remembered() {
    let model = ScriptedModel::start().unwrap();
    let away = Request::new("CONNECT", "example.com:443");
    assert!(exchange(model.address(), &away).unwrap().status >= 400);
    let (status, _) = ask(&model, "/v1/telemetry", &json!({}));
    assert_eq!(status, 403);
    assert_eq!(model.strangers(), ["CONNECT example.com:443", "POST /v1/telemetry"]);
}
