//! Several files in one stream, each after a comment with its path. An export of a form with many
//! files writes this to standard output, and an import reads it from there.

use super::{PlanFile, PlanForm};

const BEGIN: &str = "<!-- file: ";
const END: &str = " -->";

/// The files of a stream; one without such comments is a file of its own.
fn split(file: &PlanFile) -> Vec<PlanFile> {
    let mut files: Vec<PlanFile> = Vec::new();
    for line in file.text.lines() {
        let path = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
        match (path, files.last_mut()) {
            (Some(path), _) => {
                files.push(PlanFile { path: path.to_owned(), text: String::new() });
            }
            (None, Some(last)) => {
                last.text.push_str(line);
                last.text.push('\n');
            }
            (None, None) if line.trim().is_empty() => {}
            (None, None) => return vec![file.clone()],
        }
    }
    if files.is_empty() { vec![file.clone()] } else { files }
}

/// The files of a source, where the form has many of them.
pub(super) fn split_all(form: PlanForm, files: &[PlanFile]) -> Vec<PlanFile> {
    match form {
        PlanForm::Backlog => files.iter().flat_map(split).collect(),
        PlanForm::Beads
        | PlanForm::TaskMaster
        | PlanForm::ClaudeTasks
        | PlanForm::VibeKanban
        | PlanForm::SpecKit
        | PlanForm::Kiro
        | PlanForm::Markdown
        | PlanForm::GitHub => files.to_vec(),
    }
}

/// Several files as one stream.
#[must_use]
pub fn join(files: &[PlanFile]) -> String {
    let parts = files.iter().map(|file| format!("{BEGIN}{}{END}\n{}", file.path, file.text));
    parts.collect::<Vec<_>>().join("\n")
}
