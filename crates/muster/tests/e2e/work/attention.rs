//! What waits for a person in the work, and how a page hears of it.

use std::{
    fs,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{Stage, until};
use crate::{program, runs::Client as _, sessions::Stream};

#[test]
fn a_failed_check_waits_until_it_passes() {
    let stage = Stage::accepted();
    assert_eq!(stage.attention(), Vec::<Value>::new());
    let task = stage.start("tests");
    let refused = stage.call("tasks_macro_close_step", json!({"task": task}));
    assert_eq!(refused["error"]["code"], "CHECK_REQUIRED", "{refused:#}");
    let items = stage.attention();
    let item = &items[0];
    let place = [&item["kind"], &item["workspace"], &item["taskId"], &item["path"], &item["check"]];
    assert_eq!(
        place,
        [&json!("check_failed"), &json!("acme"), &json!(task), &json!("s:0"), &json!("tests")]
    );
    assert_eq!((&item["checkRun"], items.len()), (&json!("CHK-000001"), 1), "{items:#?}");
    assert_eq!(item["title"], "Make it good: tests failed");
    assert_eq!(item["actions"], json!(["run", "waive"]));
    assert!(item["since"].is_string() && item["advice"].is_string(), "{item:#}");
    let text = fs::read_to_string(stage.path("work/state.txt")).unwrap();
    stage.write("state.txt", "good\n");
    stage.ok("tasks_check", json!({"checks": ["tests"]}));
    assert_eq!(stage.attention(), Vec::<Value>::new(), "it passed in the same directory");
    stage.write("state.txt", &text);
    stage.ok("tasks_check", json!({"task": task, "path": "s:0", "fresh": true}));
    assert_eq!(stage.kinds(), ["check_failed"]);
    let waive = json!({"workspace": "acme", "task": task, "check": "tests", "reason": "later"});
    stage.server.fine("POST", "/api/work/waivers", waive);
    assert_eq!(stage.attention(), Vec::<Value>::new(), "a person has decided");
}

#[test]
fn a_waiver_that_was_asked_for_waits_for_a_decision() {
    let stage = Stage::accepted();
    let task = stage.start("tests");
    let ask = |reason: &str| {
        let wish = json!({"task": task, "path": "s:0", "checks": ["tests"],
                          "waive": {"reason": reason}});
        stage.ok("tasks_check", wish);
    };
    ask("no network");
    let items = stage.attention();
    assert_eq!(items.len(), 1, "{items:#?}");
    let title = items[0]["title"].as_str().unwrap();
    assert!(title.ends_with("asks to set tests aside: no network"), "{title}");
    assert_eq!(items[0]["actions"], json!(["waive", "decline", "run"]));
    let about = json!({"workspace": "acme", "task": task, "step": "s:0", "check": "tests"});
    let mut declined = about.clone();
    declined["take_back"] = json!(true);
    stage.server.fine("POST", "/api/work/waivers", declined);
    assert_eq!(stage.attention(), Vec::<Value>::new());
    ask("still no network");
    stage.ok("tasks_delete", json!({"task": task}));
    assert_eq!(stage.attention(), Vec::<Value>::new(), "there is nothing to decide about");
}

#[test]
fn an_agent_that_was_let_go_waits_until_the_step_is_closed() {
    let stage = Stage::accepted();
    let task = stage.start("tests");
    stage.ok("tasks_focus_set", json!({"task": task}));
    let stop = || {
        let mut hook = program::muster(&["hook", "stop", "--storage-dir"]);
        hook.arg(stage.path("store")).current_dir(stage.path("work"));
        run(hook)
    };
    for _ in 0..3 {
        assert_eq!(stop(), Some(2));
    }
    assert_eq!(stage.kinds(), ["check_failed"]);
    assert_eq!(stop(), Some(0));
    assert_eq!(stage.kinds(), ["check_failed", "agent_stopped"]);
    let item = stage.attention().remove(1);
    let title = "Make it good: an agent stopped although its checks do not hold: tests failed";
    assert_eq!(item["title"], title);
    stage.write("state.txt", "good\n");
    stage.ok("tasks_macro_close_step", json!({"task": task}));
    assert_eq!(stage.attention(), Vec::<Value>::new());
}

fn run(mut hook: Command) -> Option<i32> {
    hook.stdin(Stdio::null()).output().unwrap().status.code()
}

#[test]
fn a_flaky_check_waits_as_long_as_the_files_are_the_same() {
    let stage = Stage::accepted();
    let project = super::PROJECT.replace("grep -q good state.txt", "test -e ../ok");
    stage.write("muster.toml", &project);
    stage.decide("accept", &stage.found());
    stage.ok("tasks_check", json!({"checks": ["tests"]}));
    fs::write(stage.path("ok"), "").unwrap();
    stage.ok("tasks_check", json!({"checks": ["tests"]}));
    let items = stage.attention();
    assert_eq!(items.len(), 1, "{items:#?}");
    let title = "tests is flaky: on the same files it passed once and failed once";
    assert_eq!((&items[0]["kind"], &items[0]["title"]), (&json!("flaky_check"), &json!(title)));
    stage.write("state.txt", "other\n");
    stage.ok("tasks_check", json!({"checks": ["tests"]}));
    assert_eq!(stage.attention(), Vec::<Value>::new());
}

#[test]
fn changed_files_are_noticed_and_told() {
    let stage = Stage::accepted();
    stage.start("tests");
    let mut stream = Stream::open_with(&stage.server, "/api/attention/changes", None);
    assert_eq!(stream.next().unwrap().id, Some(0));
    let before = fs::read_to_string(stage.path("work/muster.toml")).unwrap();
    stage.write("muster.toml", &before.replace("grep -q good state.txt", "true"));
    assert_eq!(stream.next().unwrap().id, Some(1), "no event says so");
    let items = stage.attention();
    assert_eq!((items.len(), &items[0]["kind"]), (1, &json!("definitions_changed")), "{items:#?}");
    assert_eq!(items[0]["project"], stage.root().as_str());
    let title = format!("muster.toml of {} changed: checks.tests", stage.root());
    assert_eq!(items[0]["title"].as_str().unwrap(), title);
    stage.decide("keep", &stage.found());
    assert_eq!(stage.attention(), Vec::<Value>::new());
    stage.write("contract/a", "2\n");
    until("a protected file", || stage.kinds() == ["protected_changed"]);
    let digest = stage.server.see("/api/work/protected?workspace=acme")["digest"].clone();
    let seen = json!({"workspace": "acme", "digest": digest});
    stage.server.fine("POST", "/api/work/reviews", seen);
    assert_eq!(stage.attention(), Vec::<Value>::new(), "a person has looked");
}

#[test]
fn a_page_hears_of_what_happens_in_any_workspace() {
    let stage = Stage::accepted();
    let mut stream = Stream::open_with(&stage.server, "/api/attention/changes", None);
    let first = stream.next().unwrap().id;
    let task = stage.start("tests");
    stage.ok("tasks_check", json!({"task": task, "path": "s:0"}));
    assert!(stream.next().unwrap().id > first, "a check has failed");
    let denied = muster_testkit::server::Request::new("GET", "/api/attention/changes");
    assert_eq!(stage.server.send(&denied).unwrap().status, 401);
}
