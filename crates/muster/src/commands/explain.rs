//! `muster explain`: what the code of an error, a warning or a finding means.

use std::{fmt::Write as _, process::ExitCode};

use clap::Args;
use muster_api::explain::{self, CodeKind, Explanation};

use crate::{
    USAGE, output,
    people::Look,
    screen::{Screen, Tone},
};

/// Explain an error, warning or lint code
///
/// Prints what it means, when it occurs and what to do. Without a code it lists all of them. Needs
/// no store.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster explain PROOF_REQUIRED
  muster explain proof-weak
  muster explain                            list every code")]
pub(crate) struct Explain {
    /// The code, in any letter case
    #[arg(value_name = "CODE")]
    code: Option<String>,

    #[command(flatten)]
    look: Look,
}

/// Prints the explanation.
pub(crate) fn run(explain: &Explain) -> anyhow::Result<ExitCode> {
    let look = &explain.look;
    let Some(code) = &explain.code else {
        let all = explain::all();
        look.print(&all, |screen| list(screen, &all))?;
        return Ok(ExitCode::SUCCESS);
    };
    match explain::find(code) {
        Ok(found) => {
            look.print(&found, |screen| one(screen, &found))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(nearest) => {
            let complaint = format!("unknown code {code:?}: try `muster explain {nearest}`");
            output::complain(&complaint);
            Ok(ExitCode::from(USAGE))
        }
    }
}

fn tone(kind: CodeKind) -> Tone {
    match kind {
        CodeKind::Error => Tone::Bad,
        CodeKind::Warning | CodeKind::Finding => Tone::Warning,
    }
}

fn one(screen: Screen, found: &Explanation) -> anyhow::Result<String> {
    let kind = match found.kind {
        CodeKind::Error => "error: the call changed nothing",
        CodeKind::Warning => "warning: the call succeeded",
        CodeKind::Finding => "finding of tasks_lint",
    };
    let code = screen.paint(tone(found.kind), &found.code);
    let mut text = format!("{code}  {}\n", screen.paint(Tone::Faint, kind));
    for (heading, words) in
        [("What", found.meaning), ("When", found.when), ("What to do", found.remedy)]
    {
        let lines = screen.wrapped(words, "  ").join("\n");
        write!(text, "\n{}\n{lines}\n", screen.paint(Tone::Strong, heading))?;
    }
    Ok(text)
}

fn list(screen: Screen, all: &[Explanation]) -> anyhow::Result<String> {
    let width = all.iter().map(|one| one.code.len()).max().unwrap_or(0);
    let indent = " ".repeat(width + 4);
    let mut text = String::new();
    for (kind, heading) in [
        (CodeKind::Error, "Errors"),
        (CodeKind::Warning, "\nWarnings"),
        (CodeKind::Finding, "\nFindings of tasks_lint"),
    ] {
        writeln!(text, "{}", screen.paint(Tone::Strong, heading))?;
        for one in all.iter().filter(|one| one.kind == kind) {
            let code = screen.paint(tone(kind), &format!("{:width$}", one.code));
            let meaning = screen.wrapped(one.meaning, &indent).join("\n");
            writeln!(text, "  {code}  {}", meaning.trim_start())?;
        }
    }
    Ok(text)
}
