//! `muster edit`: a plan or task in the person's editor.

mod changes;
mod form;

use std::{
    fs::{self, OpenOptions},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use muster_api::desktop;

use self::{changes::FormChanges, form::EditForm};
use super::entity::EntityNow;
use crate::{
    commands::{
        completions::{entity_ids, plan_ids},
        tasks::calls::MoveCall,
    },
    config::Settings,
    output,
    people::{InWorkspace, Look, OpenWorkspace},
    person, storage,
};

/// Folder of texts that were typed and not stored yet, inside the storage folder.
const DRAFTS: &str = "drafts";
/// Name of standard input where a file is expected.
const STDIN: &str = "-";

/// Edit a plan or task in your editor
///
/// Opens a short text with title, priority, tags, description and steps in $VISUAL or $EDITOR, and
/// stores what you changed. What you typed is kept in a file when it is refused.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster edit TASK-001
  muster edit TASK-001 --plan PLAN-002      move the task to another plan
  muster edit TASK-001 --print > task.txt   the text, for an editor elsewhere
  muster edit TASK-001 --from task.txt      read it back; - is standard input")]
pub(crate) struct EditCommand {
    /// Plan or task
    #[arg(value_name = "ID", add = entity_ids())]
    id: String,

    /// Print the text instead of editing it
    #[arg(long, conflicts_with = "from")]
    print: bool,

    /// Read the edited text from this file instead of opening an editor
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,

    /// Move the task to this plan instead of opening an editor
    #[arg(long, value_name = "PLAN", conflicts_with_all = ["print", "from"], add = plan_ids())]
    plan: Option<String>,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

pub(super) fn run(settings: &Settings, edit: &EditCommand) -> anyhow::Result<ExitCode> {
    let desk = OpenWorkspace::open(settings, &edit.place)?;
    if let Some(plan) = &edit.plan {
        let moved = desk.ask(&MoveCall { task: &edit.id, plan })?;
        edit.look.print(&moved, |_| Ok(format!("{} is in {plan} now\n", edit.id)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let entity = EntityNow::read(&desk, &edit.id)?;
    let text = EditForm::of(&entity.target, &entity.steps).text(entity.id());
    if edit.print {
        output::print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(file) = &edit.from {
        edit.store(&desk, &read(file)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !person::is_at_terminal() {
        bail!("an editor needs a terminal: --print prints the text, --from FILE reads it back");
    }
    let draft = Draft::write(&storage::directory(settings)?, entity.id(), &text)?;
    loop {
        if !desktop::edit(&draft.file).context("cannot start your editor: set EDITOR")? {
            draft.remove()?;
            bail!("the editor failed; nothing was changed");
        }
        let edited = read(&draft.file)?;
        if edited == text {
            draft.remove()?;
            output::print("Nothing was changed.\n")?;
            return Ok(ExitCode::SUCCESS);
        }
        match edit.store(&desk, &edited) {
            Ok(()) => {
                draft.remove()?;
                return Ok(ExitCode::SUCCESS);
            }
            Err(error) => output::complain(&format!("{error:#}")),
        }
        // No answer is a no: what was typed is kept in any case.
        if !matches!(person::says_yes("Edit again? y/n: "), Ok(true)) {
            let file = draft.file.display();
            output::remark(&format!(
                "what you typed is in {file}\n  muster edit {} --from {file}",
                edit.id
            ));
            return Ok(ExitCode::FAILURE);
        }
    }
}

impl EditCommand {
    /// Stores the difference between the text and the plan or task as it is now.
    fn store(&self, desk: &OpenWorkspace, text: &str) -> anyhow::Result<()> {
        let entity = EntityNow::read(desk, &self.id)?;
        let base = EditForm::of(&entity.target, &entity.steps).text(entity.id());
        let base = EditForm::parse(&base)?;
        let changes = FormChanges::between(&entity, &base, &EditForm::parse(text)?)?;
        if changes.is_empty() {
            return Ok(output::print("Nothing was changed.\n")?);
        }
        let done = changes.store(desk, entity.id())?;
        self.look.print(&done, |_| Ok(format!("{} was changed\n", entity.id())))
    }
}

/// A text that is being edited.
struct Draft {
    file: PathBuf,
}

impl Draft {
    fn write(storage_dir: &Path, id: &str, text: &str) -> anyhow::Result<Self> {
        let folder = storage_dir.join(DRAFTS);
        fs::create_dir_all(&folder)?;
        let file = folder.join(format!("{id}-{}.txt", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&file).and_then(|mut open| open.write_all(text.as_bytes()));
        written.with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Self { file })
    }

    fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.file)
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let read = if file.as_os_str() == STDIN {
        io::stdin().lock().read_to_string(&mut text)
    } else {
        fs::File::open(file).and_then(|mut open| open.read_to_string(&mut text))
    };
    read.with_context(|| format!("cannot read {}", file.display()))?;
    Ok(text)
}
