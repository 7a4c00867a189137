//! `muster import`: plans of other programs, or a workspace from the files of `muster export`.

pub(crate) mod found;
mod report;
mod source;
mod workspace;

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use clap::{Args, builder::PossibleValuesParser};
use muster_api::{Caller, Json};
use muster_core::{
    AuthorKind, AuthorSurface,
    plan_files::{PlanForm, report::PlansImported},
};
use serde::Serialize;

use self::source::PlanSourceFiles;
use super::export::folder::ExportFolder;
use crate::{
    config::Settings,
    output,
    people::{InWorkspace, Look, OpenWorkspace, OperationCall, arguments, refused},
    person,
    screen::Color,
};

/// Import the plans of another program, or an exported workspace
///
/// SOURCE is a file, a folder, or - for standard input. Its form is recognised: beads, task-master,
/// Backlog.md, the task lists of claude, vibe-kanban, spec-kit, Kiro, Markdown checklists, GitHub
/// issues, or a folder that `muster export` wrote. A list becomes a plan, an issue a task, a
/// subtask a step. What has no field in Muster is kept in the item's meta.
///
/// A second import of the same source adds what is new and updates what was not changed in
/// Muster. What changed on both sides is listed as a conflict and stays as it is. Everything is
/// imported, or nothing.
///
/// What is closed at the source is closed without proof and never counts as proven. In a project
/// whose tasks need checks only a person takes that over: the answer is typed at the terminal.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster import .beads                      issues of beads
  muster import .taskmaster --dry-run       the tree it would make; writes nothing
  muster import backlog
  muster import TODO.md --workspace my-project
  gh issue list --state all --limit 500 --json number,title,body,labels,state,assignees,milestone \\
      | muster import - --from github
  muster import tasks-of-rocket             a workspace that `muster export` wrote")]
pub(crate) struct ImportCommand {
    /// File or folder of the plans, or - for standard input
    #[arg(value_name = "SOURCE")]
    source: String,

    /// Form of the source; recognised by default
    #[arg(long, value_name = "FORM", value_parser = form_names())]
    from: Option<String>,

    /// Name of the source, by which a second import finds its items; by default its path
    #[arg(long, value_name = "NAME")]
    source_name: Option<String>,

    /// Show what it would do, and the tree it would make; write nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

impl ImportCommand {
    /// The import of a file, into the workspace of this directory unless one is named.
    pub(crate) fn of(file: &Path, form: PlanForm, workspace: Option<String>) -> Self {
        Self {
            source: file.to_string_lossy().into_owned(),
            from: Some(form.name().to_owned()),
            source_name: None,
            dry_run: false,
            place: InWorkspace { workspace },
            look: Look { json: false, color: Color::Auto },
        }
    }
}

fn form_names() -> PossibleValuesParser {
    PossibleValuesParser::new(PlanForm::ALL.map(PlanForm::name))
}

/// The arguments of the operation.
#[derive(Serialize)]
struct ImportCall<'a> {
    files: &'a [SourceText],
    from: Option<PlanForm>,
    source: &'a str,
    dry_run: bool,
}

#[derive(Serialize)]
struct SourceText {
    path: String,
    text: String,
}

impl OperationCall for ImportCall<'_> {
    const OPERATION: &'static str = "tasks_import";
    type Response = Json;
}

/// Imports the source.
pub(crate) fn run(settings: &Settings, import: ImportCommand) -> anyhow::Result<ExitCode> {
    let path = Path::new(&import.source);
    if import.from.is_none() && ExportFolder::is_export(path) {
        if import.dry_run {
            bail!("--dry-run is for plans of other programs; {} is a workspace", path.display());
        }
        return workspace::run(settings, path, import.place.workspace);
    }
    let form = import.from.as_deref().and_then(|name| name.parse::<PlanForm>().ok());
    let source = PlanSourceFiles::read(&import.source, form)?;
    let desk = OpenWorkspace::open_or_create(settings, &import.place)?;
    let name = import.source_name.as_deref().unwrap_or(&source.name);
    let files: Vec<SourceText> = source
        .files
        .into_iter()
        .map(|file| SourceText { path: file.path, text: file.text })
        .collect();
    let call = |dry_run| ImportCall { files: &files, from: source.form, source: name, dry_run };
    let answer = match import.dry_run || !asks_person(&desk, &call(true))? {
        true => desk.ask(&call(import.dry_run))?,
        false => match person::agrees(settings, "take over closed items", "muster import")? {
            true => desk.ask(&call(false))?,
            false => {
                output::print("Nothing was imported.\n")?;
                return Ok(ExitCode::FAILURE);
            }
        },
    };
    let report: PlansImported = answer.try_read()?;
    import.look.print(&answer, |screen| Ok(report::text(&report, screen)))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a person has to confirm: the import closes items that an agent's import would leave
/// open, because closing needs proof here.
fn asks_person(desk: &OpenWorkspace, call: &ImportCall<'_>) -> anyhow::Result<bool> {
    let is_person = desk.app().caller().by.as_ref().is_some_and(|by| by.is_person());
    if !is_person {
        return Ok(false);
    }
    let as_person = rehearse(desk, desk.app().caller(), call)?;
    if as_person.counts.tasks_closed == 0 {
        return Ok(false);
    }
    let mut agent = Caller::of(AuthorKind::Agent, "rehearsal", AuthorSurface::Cli);
    agent.directory.clone_from(&desk.app().caller().directory);
    let as_agent = rehearse(desk, &agent, call)?;
    if as_agent.counts.left_open <= as_person.counts.left_open {
        return Ok(false);
    }
    output::print(&format!(
        "{} of the tasks are closed at the source. They would be closed here without proof, \
         although the project asks for it.\n",
        as_person.counts.tasks_closed
    ))?;
    Ok(true)
}

fn rehearse(
    desk: &OpenWorkspace,
    caller: &Caller,
    call: &ImportCall<'_>,
) -> anyhow::Result<PlansImported> {
    let mut arguments = arguments(call);
    arguments.insert("workspace".to_owned(), desk.workspace().as_str().into());
    let envelope = desk.app().call_as(caller, ImportCall::OPERATION, arguments);
    match envelope.error {
        None => Ok(envelope.result.try_read()?),
        Some(error) => Err(refused(&error)),
    }
}
