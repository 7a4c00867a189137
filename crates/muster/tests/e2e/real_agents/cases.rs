//! The cases, each for every agent.

use std::fs;

use muster_testkit::model::Step;
use serde_json::{Value, json};

use super::stage::{Cli, Stage};

/// What a tool without questions is told as.
const UNASKED: [&str; 3] = ["tool.proposed", "tool.started", "tool.completed"];
/// What a tool is told as that somebody was asked about and approved.
const APPROVED: [&str; 5] =
    ["tool.proposed", "approval.requested", "approval.resolved", "tool.started", "tool.completed"];
/// The same for one that was denied.
const DENIED: [&str; 4] =
    ["tool.proposed", "approval.requested", "approval.resolved", "tool.completed"];

pub(super) fn a_plain_turn(cli: Cli) {
    let mut stage = Stage::open(cli, "skip");
    let pieces = ["Hello ", "from ", "the script."].map(str::to_owned).to_vec();
    let pause = std::time::Duration::from_millis(60);
    stage.say("work", vec![Step::stream(pieces, pause)]);
    stage.completed();
    assert_eq!(stage.final_text(), "Hello from the script.");
    assert!(!stage.of_kind("message.assistant.delta").is_empty(), "{}", stage.story());
    assert!(!stage.of_kind("telemetry.usage").is_empty(), "{}", stage.story());
    assert_ne!(stage.session_id(), "pending");
    // The next turn is in the same session and knows what was said.
    let session = stage.session_id();
    stage.say("again", vec![Step::say("Still here.")]);
    stage.completed();
    assert_eq!((stage.final_text().as_str(), stage.session_id()), ("Still here.", session));
    let told = stage.model.told("again");
    assert_eq!(told[0].earlier, ["work"], "{told:?}");
    stage.close();
}

pub(super) fn a_tool_without_questions(cli: Cli) {
    let mut stage = Stage::open(cli, "skip");
    let steps = vec![Step::shell("echo made > made.txt && cat made.txt"), Step::say("Done.")];
    stage.say("work", steps);
    stage.completed();
    assert_eq!(stage.tool_story(), UNASKED, "{}", stage.story());
    assert_eq!(stage.of_kind("tool.completed")[0]["result"]["ok"], true, "{}", stage.story());
    assert_eq!(fs::read_to_string(stage.file("made.txt")).unwrap(), "made\n");
    assert!(stage.final_text().ends_with("Done."), "{}", stage.final_text());
    let outcome = stage.model.told("work").pop().unwrap().outcomes.concat();
    assert!(outcome.contains("made"), "{outcome}");
    stage.close();
}

pub(super) fn a_tool_that_is_approved(cli: Cli) {
    let mut stage = Stage::open(cli, "gated");
    stage.say("work", vec![Step::shell("echo yes > made.txt"), Step::say("Done.")]);
    stage.resolve(&json!({"status": "approved"}));
    stage.completed();
    assert_eq!(stage.tool_story(), APPROVED, "{}", stage.story());
    assert_eq!(fs::read_to_string(stage.file("made.txt")).unwrap(), "yes\n");
    stage.close();
}

pub(super) fn a_tool_that_is_denied(cli: Cli) {
    let mut stage = Stage::open(cli, "gated");
    stage.say("work", vec![Step::shell("echo no > made.txt"), Step::say("I leave it.")]);
    stage.resolve(&json!({"status": "denied", "reason": "not today"}));
    stage.completed();
    assert_eq!(stage.tool_story(), DENIED, "{}", stage.story());
    let completed = stage.of_kind("tool.completed")[0];
    assert_eq!(completed["error"]["message"], "denied: not today");
    assert!(!stage.file("made.txt").exists());
    if cli != Cli::Gemini {
        let outcome = stage.model.told("work").pop().unwrap().outcomes.concat();
        assert!(outcome.contains("not today"), "the agent hears why: {outcome}");
    }
    stage.close();
}

/// The arguments of the shell tool of an agent.
fn shell_args(cli: Cli, asked: &Value, command: &str) -> Value {
    let mut args = asked["tool"]["args"].clone();
    let name = match cli {
        Cli::Codex | Cli::Claude => "command",
        Cli::Gemini => "title",
    };
    args[name] = command.into();
    args
}

pub(super) fn a_tool_with_other_arguments(cli: Cli) {
    let mut stage = Stage::open(cli, "gated");
    let changed = "echo changed > made.txt";
    let mut steps = vec![Step::shell("echo first > made.txt"), Step::say("Done.")];
    if cli == Cli::Gemini {
        // The call is refused, and when the answer is there the agent is asked to make it again.
        steps.splice(1..1, [Step::say("I see."), Step::shell(changed)]);
    }
    stage.say("work", steps);
    let asked = stage.until("a question", |event| event["type"] == "approval.requested");
    assert_eq!(asked["canModify"], true, "{asked}");
    let path = format!("/api/approvals/{}/resolve", asked["approvalId"].as_str().unwrap());
    let args = shell_args(cli, &asked, changed);
    let resolution = json!({"status": "modified", "modifiedArgs": args});
    crate::runs::Client::fine(&stage.server, "POST", &path, json!({ "resolution": resolution }));
    stage.completed();
    assert_eq!(stage.tool_story(), APPROVED, "{}", stage.story());
    assert_eq!(stage.of_kind("tool.started")[0]["tool"]["args"], args);
    assert_eq!(fs::read_to_string(stage.file("made.txt")).unwrap(), "changed\n");
    stage.close();
}

pub(super) fn an_interruption_in_the_text(cli: Cli) {
    let mut stage = Stage::open(cli, "skip");
    stage.say("work", vec![Step::hang("I think about it and")]);
    stage.until("a piece of text", |event| event["type"] == "message.assistant.delta");
    interrupted(&mut stage);
    assert_eq!(stage.final_text(), "I think about it and");
    works_again(&mut stage);
    stage.close();
}

pub(super) fn an_interruption_in_a_tool(cli: Cli) {
    let mut stage = Stage::open(cli, "skip");
    let steps = vec![Step::shell("echo begun > begun.txt; sleep 600"), Step::say("Never said.")];
    stage.say("work", steps);
    stage.until("a tool", |event| event["type"] == "tool.started");
    stage.wait_for("the command", |stage| stage.file("begun.txt").exists());
    interrupted(&mut stage);
    assert_eq!(stage.tool_story(), UNASKED, "{}", stage.story());
    assert_eq!(stage.of_kind("tool.completed")[0]["result"]["ok"], false);
    stage.wait_for("no command is left", |stage| stage.sleepers().is_empty());
    works_again(&mut stage);
    stage.close();
}

/// Interrupts the turn in flight.
fn interrupted(stage: &mut Stage) {
    let path = format!("{}/nodes/{}/interrupt", stage.run, stage.node);
    crate::runs::Client::fine(&stage.server, "POST", &path, json!({}));
    let end = stage.ended();
    let (status, reason) = (&end["status"], &end["reason"]);
    assert_eq!((status, reason), (&json!("turn.interrupted"), &json!("user_interrupt")));
}

/// An agent that was interrupted answers the next question.
fn works_again(stage: &mut Stage) {
    stage.say("next", vec![Step::say("Here again.")]);
    stage.completed();
    assert_eq!(stage.final_text(), "Here again.");
}

pub(super) fn a_session_is_resumed_after_the_server_was_killed(cli: Cli) {
    let mut stage = Stage::open(cli, "skip");
    stage.say("before", vec![Step::say("I remember.")]);
    stage.completed();
    let session = stage.session_id();
    stage.say("work", vec![Step::hang("I am about to")]);
    stage.until("a piece of text", |event| event["type"] == "message.assistant.delta");
    stage.kill_and_start();
    stage.model.script("work", vec![Step::say("I went on.")]);
    crate::runs::Client::fine(&stage.server, "PATCH", &stage.run, json!({"status": "running"}));
    stage.completed();
    assert_eq!((stage.final_text().as_str(), stage.session_id()), ("I went on.", session));
    let told = stage.model.told("work").pop().unwrap();
    assert!(told.earlier.contains(&"before".to_owned()), "it has its session: {told:?}");
    stage.close();
}
