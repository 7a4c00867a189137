//! The cases, each for every agent.

use std::{fs, time::Duration};

use muster_testkit::model::{Progress, Step};
use serde_json::{Value, json};

use super::{cli::Cli, stage::Stage};
pub(super) use super::{
    wire::the_first_prompt_follows_at_once,
    worktree::work_in_a_worktree_is_merged_and_the_user_s_edits_stay,
};
use crate::runs::Client as _;

/// The events of a tool without questions.
const UNASKED: [&str; 3] = ["tool.proposed", "tool.started", "tool.completed"];
/// The events of a tool that a person was asked about and approved.
pub(super) const APPROVED: [&str; 5] =
    ["tool.proposed", "approval.requested", "approval.resolved", "tool.started", "tool.completed"];
/// The same for one that was denied.
pub(super) const DENIED: [&str; 4] =
    ["tool.proposed", "approval.requested", "approval.resolved", "tool.completed"];

pub(super) fn a_plain_turn(cli: Cli) {
    let mut stage = Stage::open(cli, "skip");
    let pieces = ["Hello ", "from ", "the script."].map(str::to_owned).to_vec();
    let pause = Duration::from_millis(60);
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
    let input = stage.model.told("again");
    assert_eq!(input[0].earlier, ["work"], "{input:?}");
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
    if !cli.is_acp() {
        let outcome = stage.model.told("work").pop().unwrap().outcomes.concat();
        assert!(outcome.contains("not today"), "the agent hears why: {outcome}");
    }
    stage.close();
}

/// The arguments of the shell tool of an agent.
fn shell_args(cli: Cli, asked: &Value, command: &str) -> Value {
    let mut args = asked["tool"]["args"].clone();
    let name = match cli {
        Cli::Codex | Cli::Claude | Cli::Opencode => "command",
        Cli::Gemini => "title",
    };
    args[name] = command.into();
    args
}

pub(super) fn a_tool_with_other_arguments(cli: Cli) {
    let mut stage = Stage::open(cli, "gated");
    let changed = "echo changed > made.txt";
    let mut steps = vec![Step::shell("echo first > made.txt"), Step::say("Done.")];
    // The call is refused, and when its answer is there the agent is asked to make it again.
    // gemini has something to say to a refusal, opencode ends its answer with it.
    match cli {
        Cli::Codex | Cli::Claude => {}
        Cli::Gemini => drop(steps.splice(1..1, [Step::say("I see."), Step::shell(changed)])),
        Cli::Opencode => steps.insert(1, Step::shell(changed)),
    }
    stage.say("work", steps);
    let asked = stage.until("a question", |event| event["type"] == "approval.requested");
    assert_eq!(asked["canModify"], true, "{asked}");
    let path = format!("/api/approvals/{}/resolve", asked["approvalId"].as_str().unwrap());
    let args = shell_args(cli, &asked, changed);
    let resolution = json!({"status": "modified", "modifiedArgs": args});
    stage.server.fine("POST", &path, json!({ "resolution": resolution }));
    stage.completed();
    assert_eq!(stage.tool_story(), APPROVED, "{}", stage.story());
    assert_eq!(stage.of_kind("tool.started")[0]["tool"]["args"], args);
    let made = fs::read_to_string(stage.file("made.txt")).unwrap_or_default();
    assert_eq!(made, "changed\n", "{}", stage.story());
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

pub(super) fn an_interruption_while_a_person_is_asked(cli: Cli) {
    let mut stage = Stage::open(cli, "gated");
    stage.say("work", vec![Step::shell("echo no > made.txt"), Step::say("Never said.")]);
    stage.until("a question", |event| event["type"] == "approval.requested");
    interrupted(&mut stage);
    assert_eq!(stage.tool_story(), DENIED, "{}", stage.story());
    let resolved = &stage.of_kind("approval.resolved")[0]["resolution"];
    assert_eq!((&resolved["status"], &resolved["by"]), (&json!("denied"), &json!("runtime")));
    assert!(!stage.file("made.txt").exists());
    works_again(&mut stage);
    stage.close();
}

/// The turn fails with what the model said, and the node tries again later.
pub(super) fn a_model_that_refuses(cli: Cli) {
    let mut stage = Stage::open(cli, "skip");
    stage.say("work", vec![Step::refuse(400, "the script refuses")]);
    let end = stage.ended();
    let status = &end["status"];
    let reason = &end["reason"];
    assert_eq!((status, reason), (&json!("turn.failed"), &json!("provider_error")));
    assert!(end["detail"].as_str().unwrap().contains("the script refuses"), "{end}");
    assert!(end["retryAt"].is_string(), "{end}");
    works_again(&mut stage);
    stage.close();
}

/// Interrupts the turn in flight.
fn interrupted(stage: &mut Stage) {
    let path = format!("{}/nodes/{}/interrupt", stage.run, stage.node);
    stage.server.fine("POST", &path, json!({}));
    let end = stage.ended();
    let status = &end["status"];
    let reason = &end["reason"];
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
    stage.server.fine("PATCH", &stage.run, json!({"status": "running"}));
    stage.completed();
    assert_eq!((stage.final_text().as_str(), stage.session_id()), ("I went on.", session));
    let input = stage.model.told("work").pop().unwrap();
    assert!(input.earlier.contains(&"before".to_owned()), "it has its session: {input:?}");
    stage.close();
}

/// A task is begun and a step of it closed, through the server of tools that the agent was given.
pub(super) fn muster_s_own_tools(cli: Cli) {
    let bound = json!({"workspace": "agents"});
    let mut stage = Stage::open_with(cli, "gated", (bound, json!({})));
    let step = json!({"title": "Do it", "success_criteria": ["done"], "tests": ["look"]});
    let begin = json!({"plan_title": "Plan", "task_title": "Work", "steps": [step, step]});
    let steps = vec![
        Step::tool("tasks_macro_start", &begin),
        Step::tool("tasks_macro_close_step", &json!({"note": "made"})),
        Step::say("Closed."),
    ];
    stage.say("work", steps);
    stage.completed();
    let input = stage.model.told("work").pop().unwrap();
    assert_eq!(input.outcomes.len(), 2, "{input:?}\n{}", stage.story());
    let asked = json!({"workspace": "agents", "task": "TASK-001"});
    let (status, task) = stage.server.call("tasks_resume_super", &asked).unwrap();
    let task = &task["result"];
    let total = &task["steps"]["total"];
    let progress = &task["target"]["progress"];
    assert_eq!((status, total, progress), (200, &json!(2), &json!(50)), "{task}");
    assert!(stage.of_kind("approval.requested").is_empty(), "no person is asked about them");
    let names: Vec<&Value> =
        stage.of_kind("tool.proposed").iter().map(|event| &event["tool"]["name"]).collect();
    assert_eq!(names, ["tasks_macro_start", "tasks_macro_close_step"], "each is reported once");
    stage.close();
}

pub(super) fn nothing_is_changed_while_the_run_is_planned(cli: Cli) {
    let planned = json!({"globalMode": "PLANNING"});
    let mut stage = Stage::open_with(cli, "skip", (planned, json!({})));
    stage.say("work", vec![Step::shell("echo x > made.txt"), Step::say("I only looked.")]);
    let end = stage.ended();
    assert_eq!(end["status"], "turn.completed", "{}", stage.story());
    assert!(!stage.file("made.txt").exists(), "{}", stage.story());
    // The mode is another one in the next turn.
    stage.server.fine("PATCH", &stage.run, json!({"globalMode": "IMPLEMENTATION"}));
    stage.say("next", vec![Step::shell("echo x > made.txt"), Step::say("Made.")]);
    stage.completed();
    assert!(stage.file("made.txt").exists(), "{}", stage.story());
    stage.close();
}

pub(super) fn a_reset_forgets(cli: Cli) {
    let mut stage = Stage::open(cli, "skip");
    stage.say("before", vec![Step::say("I know.")]);
    stage.completed();
    let session = stage.session_id();
    stage.server.fine("POST", &format!("{}/nodes/{}/reset", stage.run, stage.node), json!({}));
    stage.until("the reset", |event| event["type"] == "node.reset");
    stage.say("work", vec![Step::say("I know nothing.")]);
    stage.completed();
    let input = stage.model.told("work").pop().unwrap();
    assert!(input.earlier.is_empty(), "{input:?}");
    assert_ne!(stage.session_id(), session);
    stage.close();
}

pub(super) fn another_agent_takes_over(cli: Cli) {
    let mut stage = Stage::open(cli, "skip");
    stage.say("before", vec![Step::say("I leave.")]);
    stage.completed();
    let session = stage.session_id();
    let next = match cli {
        Cli::Codex => Cli::Claude,
        Cli::Claude => Cli::Gemini,
        Cli::Gemini | Cli::Opencode => Cli::Codex,
    };
    let path = format!("{}/nodes/{}", stage.run, stage.node);
    let (provider, profile) = next.place();
    let other = json!({"provider": provider, "providerProfile": profile});
    stage.server.fine("PATCH", &path, other);
    stage.say("work", vec![Step::say("I came.")]);
    let began = stage.until("the prompt", |event| event["status"] == "turn.started");
    assert_eq!(began["promptKind"], "full", "{began}");
    stage.completed();
    assert_eq!(stage.final_text(), "I came.");
    assert_ne!(stage.session_id(), session);
    stage.close();
}

pub(super) fn its_own_plan_is_shown(cli: Cli) {
    let mut stage = Stage::open(cli, "skip");
    let plan = Step::plan(&[("Read the code", Progress::Pending)]);
    stage.say("work", vec![plan, Step::say("That is my plan.")]);
    stage.completed();
    // gemini reports a plan only in words.
    if cli != Cli::Gemini {
        stage.wait_for("the plan", |stage| stage.shown()["todos"][0].is_object());
        let todo = stage.shown()["todos"][0].clone();
        assert_eq!(
            (&todo["content"], &todo["status"]),
            (&json!("Read the code"), &json!("pending"))
        );
    }
    stage.close();
}

pub(super) fn a_model_is_chosen(cli: Cli) {
    let model = match cli {
        Cli::Codex => "scripted-other",
        Cli::Claude => "claude-haiku-4-5",
        Cli::Gemini => "gemini-2.5-flash",
        Cli::Opencode => "scripted/other",
    };
    let mut stage = Stage::open_with(cli, "skip", (json!({}), json!({ "model": model })));
    stage.say("work", vec![Step::say("It is me.")]);
    stage.completed();
    let input = stage.model.told("work").pop().unwrap();
    let name = model.rsplit('/').next().unwrap();
    assert!(input.model.starts_with(name), "{}", input.model);
    stage.close();
}

/// What the server computes for a piece of text, all in all.
#[expect(clippy::print_stdout, reason = "a figure for a run by hand")]
pub(super) fn a_piece_of_text_costs_little(cli: Cli) {
    const PIECES: u32 = 600;
    const EACH_MAX: Duration = Duration::from_millis(1);
    let mut stage = Stage::open(cli, "skip");
    stage.say("before", vec![Step::say("Ready.")]);
    stage.completed();
    let before = stage.server_time();
    let pieces = (0..PIECES).map(|at| format!("piece {at} ")).collect();
    stage.say("work", vec![Step::stream(pieces, Duration::from_millis(2))]);
    stage.completed();
    let each = (stage.server_time() - before) / PIECES;
    println!("{}: {each:?} of CPU for each of {PIECES} pieces", cli.name());
    assert!(each < EACH_MAX, "{each:?}");
    stage.close();
}
