//! `muster review`: a person looks at what changed in the protected files of a project.

use std::process::ExitCode;

use clap::Args;
use muster_api::{ProtectedChanges, ProtectedDiff};
use muster_core::tasks::view::proof::TaskProof;

use super::tasks::calls::ProofCall;
use crate::{
    config::Settings,
    output,
    people::{InWorkspace, OpenWorkspace, refused},
    person, screen,
};

/// Changes whose text is shown.
const DIFFS_MAX: usize = 50;
/// Lines that are shown of each.
const DIFF_LINES_MAX: usize = 200;

/// Look at changes of protected files, as a person
///
/// [protect] of a muster.toml names files whose change a person has to look at: as long as they are
/// not what a person last saw, no task of the workspace can be done. This shows what was added,
/// changed and removed since then and asks. A yes counts for the files as they are shown.
///
/// The answer is typed at the terminal; if a passphrase protects the person's key, it is asked for.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster review TASK-001        what keeps this task from being done
  muster review TASK-001 --show only show the changes; asks nothing")]
pub(crate) struct Review {
    /// The task that waits for it
    #[arg(value_name = "TASK")]
    task: String,

    /// Show the changes, and ask nothing
    #[arg(long)]
    show: bool,

    #[command(flatten)]
    place: InWorkspace,
}

pub(crate) fn run(settings: &Settings, review: &Review) -> anyhow::Result<ExitCode> {
    // The answer below is typed at the terminal, whatever standard input is.
    let desk = OpenWorkspace::open_for_person(settings, &review.place)?;
    let app = desk.app();
    let proof = desk.ask(&ProofCall { task: Some(&review.task) })?;
    let changes = app.protected_changes(app.caller(), desk.workspace());
    let changes = changes.map_err(|error| refused(&error))?;
    let diffs = app.protected_diffs(app.caller(), desk.workspace(), DIFFS_MAX);
    output::print(&shown(&proof, &changes, &diffs.map_err(|error| refused(&error))?))?;
    if changes.seen || review.show {
        return Ok(if changes.seen { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    if !person::agrees(settings, "look at protected files", "muster review")? {
        output::print("Nothing was changed.\n")?;
        return Ok(ExitCode::FAILURE);
    }
    let done = app.accept_protected(app.caller(), desk.workspace(), &changes.digest);
    done.map_err(|error| refused(&error))?;
    output::print("Accepted. The protected files count as seen until they change.\n")?;
    Ok(ExitCode::SUCCESS)
}

/// What the person decides about.
fn shown(proof: &TaskProof, changes: &ProtectedChanges, diffs: &[ProtectedDiff]) -> String {
    let target = &proof.target;
    let mut text = format!("{} {}\n", target.id, screen::spelled_out(&target.title));
    text += &match (&changes.baseline_by, changes.baseline_at) {
        (_, None) if changes.seen => "No files are protected here.\n".to_owned(),
        (_, None) => "No person has looked at the protected files yet.\n".to_owned(),
        (by, Some(at)) => {
            let by = by.as_ref().map_or("a person", |by| by.name.as_str());
            let last = format!("{} looked on {}", screen::spelled_out(by), at.rfc3339());
            match changes.seen {
                true => format!("Nothing to look at: {last}, and nothing changed since.\n"),
                false => format!("Protected files changed since {last}:\n"),
            }
        }
    };
    text += &diffs.iter().map(diff_lines).collect::<String>();
    for change in changes.changes.iter().skip(diffs.len()) {
        text += &format!("\n{} {}\n", change.kind.name(), screen::spelled_out(&change.path));
    }
    if changes.truncated {
        text += "\nThere are more changes than can be listed; look at them with git.\n";
    }
    text + "\n"
}

fn diff_lines(of: &ProtectedDiff) -> String {
    let change = &of.change;
    let mut text = format!("\n{} {}\n", change.kind.name(), screen::spelled_out(&change.path));
    if let Some(remark) = &of.remark {
        text += &format!("  ({})\n", screen::spelled_out(remark));
    }
    for line in of.diff.lines().take(DIFF_LINES_MAX) {
        text += &format!("  {}\n", screen::spelled_out(line));
    }
    let more = of.diff.lines().count().saturating_sub(DIFF_LINES_MAX);
    if more > 0 {
        text += &format!("  (and {more} more lines)\n");
    }
    text
}
