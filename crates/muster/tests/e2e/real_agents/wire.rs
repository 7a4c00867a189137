//! What goes over the wires of real agents, and when.

use std::time::Duration;

use muster_testkit::model::Step;
use serde_json::{Value, json};

use super::{
    cli::Cli,
    stage::{Stage, Wish},
};
use crate::runs::Client as _;

/// Processes that are started for the measurement.
const STARTS: usize = 5;
/// How soon the prompt has to be there.
const FIRST_PROMPT_MAX: Duration = Duration::from_millis(50);

/// The prompt reaches an agent as soon as it has said that it is ready: it has answered the last
/// of our requests before the prompt, which is the one that opens its session or puts it into its
/// mode. Both times are taken at the agent's own end of the wire. A busy machine can only make it
/// later, so the best of several starts is held to the limit.
#[expect(clippy::print_stdout, reason = "a figure for a run by hand")]
pub(super) fn the_first_prompt_follows_at_once(cli: Cli) {
    // claude forgets without a new process.
    let profile = if cli == Cli::Claude { "per_turn_process = true\n" } else { "" };
    let mut stage = Stage::set(Wish { tapped: true, profile, ..Wish::of(cli, "skip") });
    for at in 0..STARTS {
        if at > 0 && cli != Cli::Claude {
            let path = format!("{}/nodes/{}/reset", stage.run, stage.node);
            stage.server.fine("POST", &path, json!({}));
            stage.until("the reset", |event| event["type"] == "node.reset");
        }
        // The same answer again and again would be taken for a loop.
        stage.say(&format!("work{at}"), vec![Step::say(&format!("Ready {at}."))]);
        stage.completed();
    }
    let wires = stage.wires();
    let mut delays: Vec<Duration> = wires.iter().filter_map(|wire| delay(wire)).collect();
    assert_eq!(delays.len(), STARTS, "{wires:?}");
    delays.sort_unstable();
    let best = delays[0];
    let median = delays[delays.len() / 2];
    println!("{}: first prompt {median:?} after ready (median of {delays:?})", cli.name());
    assert!(best < FIRST_PROMPT_MAX, "{delays:?}");
    stage.close();
}

/// The time from the last answer before the first prompt to the prompt.
fn delay(wire: &[Value]) -> Option<Duration> {
    let prompt = wire.iter().position(|line| is_prompt(&line["in"]))?;
    let ready = wire[..prompt].iter().rfind(|line| is_answer(&line["out"]))?;
    let us = |line: &Value| line["us"].as_u64();
    Some(Duration::from_micros(us(&wire[prompt])?.checked_sub(us(ready)?)?))
}

fn is_prompt(line: &Value) -> bool {
    line["method"] == "turn/start" || line["method"] == "session/prompt" || line["type"] == "user"
}

fn is_answer(line: &Value) -> bool {
    line["result"].is_object() || line["type"] == "control_response"
}
