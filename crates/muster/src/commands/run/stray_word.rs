//! A single word after `muster run` is a mistyped command more often than a goal.

use anyhow::bail;
use clap::CommandFactory as _;
use muster_core::text;

use crate::{arguments::Arguments, screen::spelled_out};

/// Refuses a goal of one word: `muster run list` must not start an agent. `muster run start` takes
/// any goal.
pub(super) fn refuse(goal: &str) -> anyhow::Result<()> {
    let word = goal.trim();
    if word.contains(char::is_whitespace) {
        return Ok(());
    }
    let program = Arguments::command();
    let own = program.find_subcommand("run").into_iter().flat_map(clap::Command::get_subcommands);
    let meant = text::mistyped(&word.to_lowercase(), own.map(clap::Command::get_name));
    let question = meant.map(|name| format!("; did you mean `muster run {name}`?"));
    let word = spelled_out(word);
    bail!(
        "{word:?} is not a command of `muster run`{}\n  \
         `muster runs` lists the runs; `muster run start {word}` starts one with that goal",
        question.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::refuse;

    #[test]
    fn a_single_word_never_starts_an_agent() {
        for word in ["list", "status", "show", "ls", "STOP", " tasks ", ""] {
            assert!(refuse(word).is_err(), "{word}");
        }
        assert!(refuse("aprove").unwrap_err().to_string().contains("muster run approve"));
        assert!(!refuse("list").unwrap_err().to_string().contains("did you mean"));
        assert!(refuse("Explain this repository").is_ok());
    }
}
