//! `muster demo`: a team of scripted agents at work, with nothing to install and no model.

pub(crate) mod part;
mod stage;
#[cfg(test)]
mod tests;

use std::{
    io::{self, BufReader},
    process::ExitCode,
    time::Duration,
};

use clap::Args;

use self::part::Part;

/// Play one of the demo's agents on standard input and output
#[derive(Args)]
pub(crate) struct DemoAgent {
    /// Who to play
    #[arg(long, value_enum)]
    part: Part,
    /// Milliseconds between words
    #[arg(long, value_name = "MS", default_value_t = 60)]
    pace: u64,
}

/// Plays until Muster closes the line.
pub(crate) fn play(agent: &DemoAgent) -> anyhow::Result<ExitCode> {
    let pace = Duration::from_millis(agent.pace);
    stage::play(agent.part, pace, BufReader::new(io::stdin()), &mut io::stdout())?;
    Ok(ExitCode::SUCCESS)
}
