//! Agents that people start themselves, connected by `muster setup`: the hook keeps them at work
//! until the checks of their step hold.

use std::fs;

use muster_testkit::model::Step;
use serde_json::json;

use super::{cli::Cli, person::Person};
use crate::{
    agent::Agent,
    proof::Proving,
    stopping::{begin, unproven_stop},
};

/// What an agent reads about the check of its step.
const FAILED: &str = "check tests failed (CHK-000001)";

/// A project with a step in progress, and an agent as a person has it.
struct Alone {
    stage: Proving,
    person: Person,
    muster: Agent,
    task: String,
}

impl Alone {
    fn new(cli: Cli) -> Self {
        let stage = Proving::new();
        let person = Person::new(cli, (&stage.path("home"), &stage.work(), &stage.store()));
        let mut muster = stage.agent();
        let task = begin(&mut muster, "tests");
        Self { stage, person, muster, task }
    }

    /// It was refused once, and the check passed on what it did then.
    fn was_kept_once(mut self, said: &str) {
        let state = fs::read_to_string(self.stage.work().join("state.txt")).unwrap();
        assert_eq!((state.as_str(), self.stage.runs()), ("good\n", 2), "{said}");
        let stop = unproven_stop(&mut self.muster, &self.task);
        assert_eq!(stop["refusals"], json!(1), "{stop}\n{said}");
    }
}

/// An agent that says at once that it is done, and works when it is refused.
fn keeps(cli: Cli) {
    let alone = Alone::new(cli);
    let (said, input) = alone.person.follow(vec![
        Step::say("All tests pass."),
        Step::shell("echo good > state.txt"),
        Step::say("Now they do."),
    ]);
    let heard = input.asked.concat();
    assert!(heard.contains(FAILED), "{heard}\n{said}");
    alone.was_kept_once(&said);
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn claude_completes_no_task_of_its_own_before_its_checks_hold() {
    let alone = Alone::new(Cli::Claude);
    let task = json!({"subject": "Make it good", "description": "It is bad."});
    let complete = json!({"taskId": "1", "status": "completed"});
    let (said, input) = alone.person.follow(vec![
        Step::tool("TaskCreate", &task),
        Step::tool("TaskUpdate", &complete),
        Step::shell("echo good > state.txt"),
        Step::tool("TaskUpdate", &complete),
        Step::say("Now it is done."),
    ]);
    let [_, refused, _, accepted] = &input.outcomes[..] else { panic!("{input:#?}\n{said}") };
    assert!(refused.contains(FAILED), "{input:#?}\n{said}");
    assert!(!accepted.contains("check tests"), "{input:#?}\n{said}");
    alone.was_kept_once(&said);
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn claude_is_kept_until_its_checks_hold() {
    keeps(Cli::Claude);
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn codex_is_kept_until_its_checks_hold() {
    keeps(Cli::Codex);
}

#[test]
#[ignore = "needs real agents: cargo xtask agents"]
fn gemini_is_kept_until_its_checks_hold() {
    keeps(Cli::Gemini);
}
