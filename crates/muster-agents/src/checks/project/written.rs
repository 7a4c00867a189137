//! Writes a `muster.toml` that a person can read and change.

use std::collections::{BTreeMap, BTreeSet};

use muster_core::{
    checks::definition::{CheckCommand, CheckDefinition, GatePolicy, ProjectDefinition},
    tasks::step::{Checkpoint, Checkpoints},
};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value};

/// The opening lines of the file.
const HEADING: &str = "\
# What the work in this project has to pass. `muster trust` accepts it, `muster check` runs it.\n";
/// What each key means. It is explained where it occurs first.
const MEANINGS: [(&str, &str); 11] = [
    ("workspace", "Where agents and commands keep the work of this project."),
    ("gates", "\"plain\": agents may confirm checkpoints that no check proves without evidence."),
    ("run", "The command line; it runs in the directory of this file."),
    ("timeout", "A run that takes longer is stopped: 90s, 10m, 2h."),
    ("report", "The JUnit report that the command writes, for the counts and names of tests."),
    ("paths", PATHS_MEANING),
    ("proves", "The checkpoints of a step that a pass confirms; the default is [\"tests\"]."),
    ("required", "Every task has to pass it before it is done."),
    ("clean", "It runs in a throwaway checkout, not in this directory."),
    ("env", "Variables for the command."),
    ("guard_count", "false: fewer tests than before are not reported."),
];
const PATHS_MEANING: &str =
    "The files that the verdict depends on; without this key, all that git does not ignore.";
/// A file without checks shows how to add one.
const EXAMPLE: &str = "
# No test command was found. A check is a command that the work has to pass:
#
# [checks.tests]
# run = \"./run-tests\"
# required = true
";
/// Columns of a list that is written on one line.
const LIST_COLUMNS_MAX: usize = 80;

/// The text of a project file; reading it gives the same definition.
#[must_use]
pub fn text(project: &ProjectDefinition) -> String {
    let example = if project.checks.is_empty() { EXAMPLE } else { "" };
    format!("{HEADING}\n{}{example}", document(project))
}

/// The text of checks that a person may add to a file.
#[must_use]
pub fn additional_checks(checks: BTreeMap<String, CheckDefinition>) -> String {
    let project = ProjectDefinition { checks, ..ProjectDefinition::default() };
    document(&project).to_string().trim_start().to_owned()
}

fn document(project: &ProjectDefinition) -> DocumentMut {
    let mut writing = Writing::default();
    let mut document = DocumentMut::new();
    if let Some(workspace) = &project.workspace {
        writing.set(&mut document, "workspace", workspace.as_str());
    }
    if project.gates == GatePolicy::Plain {
        writing.set(&mut document, "gates", "plain");
    }
    let mut checks = Table::new();
    checks.set_implicit(true);
    // What every task has to pass comes first.
    for is_required in [true, false] {
        for (name, check) in project.checks.iter().filter(|(_, one)| one.required == is_required) {
            checks.insert(name, Item::Table(writing.check(check)));
        }
    }
    if !checks.is_empty() {
        document.insert("checks", Item::Table(checks));
    }
    if !project.protected.is_empty() {
        let mut protect = Table::new();
        protect.decor_mut().set_prefix("\n# A change of these files needs a person's look.\n");
        protect.insert("paths", Item::Value(list(&project.protected)));
        document.insert("protect", Item::Table(protect));
    }
    document
}

#[derive(Default)]
struct Writing {
    explained: BTreeSet<&'static str>,
}

impl Writing {
    fn check(&mut self, check: &CheckDefinition) -> Table {
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        let run = match &check.run {
            CheckCommand::Shell(line) => Value::from(line.as_str()),
            CheckCommand::Program(words) => list(words),
        };
        self.set(&mut table, "run", run);
        self.set(&mut table, "timeout", duration(check.timeout_seconds));
        if let Some(report) = &check.report {
            self.set(&mut table, "report", report.as_str());
        }
        if check.paths.is_empty() {
            self.show_paths(&mut table);
        } else {
            self.set(&mut table, "paths", list(&check.paths));
        }
        if check.proves != Checkpoints::from([Checkpoint::Tests]) {
            let names: Vec<&str> =
                check.proves.iter().map(|checkpoint| checkpoint.name()).collect();
            self.set(&mut table, "proves", list(&names));
        }
        if check.required {
            self.set(&mut table, "required", true);
        }
        if check.clean {
            self.set(&mut table, "clean", true);
        }
        if !check.env.is_empty() {
            let pairs = check.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            self.set(&mut table, "env", pairs.collect::<InlineTable>());
        }
        if !check.guard_count {
            self.set(&mut table, "guard_count", false);
        }
        table
    }

    /// Shows once how to name the files of a check, below what the table has so far.
    fn show_paths(&mut self, table: &mut Table) {
        let last = table.iter_mut().last();
        let last = last.and_then(|(_, item)| item.as_value_mut());
        if let Some(last) = last
            && self.explained.insert("paths")
        {
            let example = format!("\n# {PATHS_MEANING}\n# paths = [\"src/**\"]");
            last.decor_mut().set_suffix(example);
        }
    }

    /// Adds a key, with what it means if the file has not said so yet.
    fn set(&mut self, table: &mut Table, name: &'static str, value: impl Into<Value>) {
        table.insert(name, Item::Value(value.into()));
        let meaning = MEANINGS.iter().find(|(key, _)| *key == name);
        if let (Some((_, meaning)), Some(mut key)) = (meaning, table.key_mut(name))
            && self.explained.insert(name)
        {
            key.leaf_decor_mut().set_prefix(format!("# {meaning}\n"));
        }
    }
}

fn duration(seconds: u64) -> String {
    let units = [("h", 3600), ("m", 60), ("s", 1)];
    let fitting = units.into_iter().find(|(_, factor)| seconds.is_multiple_of(*factor));
    let (unit, factor) = fitting.unwrap_or(("s", 1));
    format!("{}{unit}", seconds / factor)
}

fn list<T: AsRef<str>>(items: &[T]) -> Value {
    let mut array: Array = items.iter().map(AsRef::as_ref).collect();
    if array.to_string().len() > LIST_COLUMNS_MAX {
        for item in array.iter_mut() {
            item.decor_mut().set_prefix("\n  ");
        }
        array.set_trailing_comma(true);
        array.set_trailing("\n");
    }
    Value::Array(array)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use muster_core::{
        checks::definition::{CheckCommand, CheckDefinition, GatePolicy, ProjectDefinition},
        tasks::step::{Checkpoint, Checkpoints},
    };

    use super::{super::parse, duration, text};

    fn check(run: CheckCommand) -> CheckDefinition {
        CheckDefinition {
            run,
            timeout_seconds: 600,
            report: None,
            paths: Vec::new(),
            proves: Checkpoints::from([Checkpoint::Tests]),
            required: false,
            clean: false,
            env: BTreeMap::new(),
            guard_count: true,
        }
    }

    #[test]
    fn a_written_file_is_read_back_as_the_same_definition() {
        let line = "sh -c 'echo \"a\\tb\" # not a comment'\n";
        let everything = CheckDefinition {
            timeout_seconds: 5400,
            report: Some("out/junit.xml".into()),
            paths: (0..20).map(|at| format!("directory-{at}/**")).collect(),
            proves: Checkpoints::new(),
            required: true,
            clean: true,
            env: BTreeMap::from([("CI".into(), "tr\"ue".into()), ("B".into(), String::new())]),
            guard_count: false,
            ..check(CheckCommand::Program(vec!["a b".into(), "'c'".into()]))
        };
        let project = ProjectDefinition {
            workspace: Some("acme/api".parse().unwrap()),
            gates: GatePolicy::Plain,
            checks: BTreeMap::from([
                ("all".to_owned(), everything),
                ("1-digit".to_owned(), check(CheckCommand::Shell(line.into()))),
            ]),
            protected: vec!["tests/**".into()],
        };
        let written = text(&project);
        let read = parse(&written).unwrap_or_else(|problem| panic!("{}", problem.message));
        assert_eq!(read, project, "{written}");
        insta::assert_snapshot!(written);
    }

    #[test]
    fn files_of_a_check_are_shown_as_an_example_once() {
        let tests = CheckDefinition {
            required: true,
            ..check(CheckCommand::Shell("make test".to_owned()))
        };
        let lint = check(CheckCommand::Shell("make lint".to_owned()));
        let checks = BTreeMap::from([("tests".to_owned(), tests), ("lint".to_owned(), lint)]);
        let project = ProjectDefinition { checks, ..ProjectDefinition::default() };
        let written = text(&project);
        let read = parse(&written).unwrap_or_else(|problem| panic!("{}", problem.message));
        assert_eq!(read, project, "{written}");
        assert_eq!(written.matches("# paths = [\"src/**\"]\n").count(), 1, "{written}");
        let read = parse(&written.replace("# paths", "paths"));
        let read = read.unwrap_or_else(|problem| panic!("{}", problem.message));
        assert_eq!(read.checks["tests"].paths, ["src/**"], "the example can be used");
    }

    #[test]
    fn a_file_without_checks_shows_how_to_add_one() {
        let workspace = Some("api".parse().unwrap());
        let project = ProjectDefinition { workspace, ..ProjectDefinition::default() };
        let written = text(&project);
        let read = parse(&written).unwrap_or_else(|problem| panic!("{}", problem.message));
        assert_eq!(read, project);
        assert!(written.contains("# [checks.tests]"), "{written}");
    }

    #[test]
    fn a_time_has_the_largest_unit_that_fits() {
        assert_eq!([90, 600, 7200, 5400].map(duration), ["90s", "10m", "2h", "90m"]);
    }
}
