//! `muster` alone: a first screen where nothing is set up, else the status.

use std::{env, process::ExitCode};

use muster_api::checks;

use super::status;
use crate::{
    config::Settings,
    output,
    screen::{Color, Screen, Tone},
    storage,
    workspace::{self, Surroundings},
};

/// What to type first.
const FIRST_COMMANDS: [(&str, &str); 3] = [
    ("muster init", "set this project up: its checks, and the agents on this machine"),
    ("muster demo", "watch a scripted team work; needs no model and leaves nothing behind"),
    ("muster serve --open", "start the server and open its page"),
];

pub(crate) fn run(settings: &Settings) -> anyhow::Result<ExitCode> {
    if is_set_up(settings)? {
        status::overview(settings)?;
        return Ok(ExitCode::SUCCESS);
    }
    let screen = Screen::of_stdout(Color::Auto);
    let mut text = format!(
        "{}  keeps the work of coding agents, and lets nothing be called done without proof.\n\
         This folder is not set up yet. Start with one of these:\n\n",
        screen.paint(Tone::Strong, "muster")
    );
    let width = FIRST_COMMANDS.iter().map(|(command, _)| command.len()).max().unwrap_or(0);
    for (command, purpose) in FIRST_COMMANDS {
        let command = screen.paint(Tone::Active, &format!("{command:width$}"));
        text += &format!("  {command}   {purpose}\n");
    }
    text += "\n`muster --help` lists all commands.\n";
    output::print_on(screen, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether this folder has a project file, or its workspace has work.
fn is_set_up(settings: &Settings) -> anyhow::Result<bool> {
    if checks::find(&env::current_dir()?).is_some() {
        return Ok(true);
    }
    let Some(app) = storage::open_if_there(settings)? else { return Ok(false) };
    let here = Surroundings::of_process(Some(&app))?;
    let Some(found) = workspace::find(settings, None, &here)? else { return Ok(false) };
    let known = app.status()?.workspaces;
    Ok(known.iter().any(|workspace| workspace.name == found.name.as_str()))
}
