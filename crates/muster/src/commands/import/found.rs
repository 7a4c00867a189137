//! Plans of other programs that are in a repository, for `muster init` and for messages.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use muster_core::plan_files::PlanForm;

/// Where plans are in a repository.
const PLACES: [(&str, PlanForm); 6] = [
    (".beads/issues.jsonl", PlanForm::Beads),
    (".taskmaster/tasks/tasks.json", PlanForm::TaskMaster),
    ("backlog/tasks", PlanForm::Backlog),
    ("tasks.md", PlanForm::Markdown),
    ("TODO.md", PlanForm::Markdown),
    ("ROADMAP.md", PlanForm::Markdown),
];
/// Folders with one folder for each feature or spec.
const FEATURES: [(&str, PlanForm); 2] =
    [("specs", PlanForm::SpecKit), (".kiro/specs", PlanForm::Kiro)];
/// Features that are listed.
const FEATURES_MAX: usize = 20;
/// Bytes of a Markdown file that are looked at.
const LOOKED_AT_BYTES: u64 = 256 * 1024;

/// A plan that can be imported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FoundPlan {
    /// Its path, below the directory that was searched.
    pub(crate) path: PathBuf,
    pub(crate) form: PlanForm,
}

/// What could be imported in a repository.
pub(crate) fn plans_found(directory: &Path) -> Vec<FoundPlan> {
    let mut found = Vec::new();
    for (place, form) in PLACES {
        let file = directory.join(place);
        let is_there = match form {
            PlanForm::Backlog => file.is_dir(),
            PlanForm::Markdown => has_items(&file),
            PlanForm::Beads
            | PlanForm::TaskMaster
            | PlanForm::ClaudeTasks
            | PlanForm::VibeKanban
            | PlanForm::SpecKit
            | PlanForm::Kiro
            | PlanForm::GitHub => file.is_file(),
        };
        if is_there {
            let place = place.trim_end_matches("/tasks");
            found.push(FoundPlan { path: place.into(), form });
        }
    }
    for (place, form) in FEATURES {
        let Ok(entries) = fs::read_dir(directory.join(place)) else { continue };
        let lists = entries.flatten().map(|entry| Path::new(place).join(entry.file_name()));
        let mut lists: Vec<PathBuf> = lists
            .map(|folder| folder.join("tasks.md"))
            .filter(|file| has_items(&directory.join(file)))
            .collect();
        lists.sort();
        found.extend(lists.into_iter().take(FEATURES_MAX).map(|path| FoundPlan { path, form }));
    }
    found
}

/// Whether a Markdown file has an item that is not done.
fn has_items(file: &Path) -> bool {
    let mut text = Vec::new();
    let read = fs::File::open(file).map(|open| open.take(LOOKED_AT_BYTES).read_to_end(&mut text));
    matches!(read, Ok(Ok(_))) && String::from_utf8_lossy(&text).contains("- [ ]")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use muster_core::plan_files::PlanForm;

    use super::plans_found;

    #[test]
    fn what_a_repository_holds_is_found_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        assert!(plans_found(folder.path()).is_empty());
        write("TODO.md", "nothing to do");
        write("tasks.md", "- [ ] one");
        write(".beads/issues.jsonl", "");
        write("backlog/tasks/task-1.md", "");
        write("specs/001-login/tasks.md", "- [ ] T001 one");
        write("specs/002-done/tasks.md", "- [x] T001 one");
        let found: Vec<(String, PlanForm)> = plans_found(folder.path())
            .into_iter()
            .map(|plan| (plan.path.display().to_string(), plan.form))
            .collect();
        let expected = [
            (".beads/issues.jsonl", PlanForm::Beads),
            ("backlog", PlanForm::Backlog),
            ("tasks.md", PlanForm::Markdown),
            ("specs/001-login/tasks.md", PlanForm::SpecKit),
        ];
        assert_eq!(found, expected.map(|(path, form)| (path.to_owned(), form)));
    }
}
