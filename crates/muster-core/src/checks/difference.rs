//! What a definition of a project says, in lines for the person who accepts it, and how two of them
//! differ.
//!
//! Lines repeat the file. The caller that shows them makes invisible characters visible.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::definition::{CheckDefinition, GatePolicy, ProjectDefinition};

/// One thing in which two definitions differ.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DefinitionChange {
    pub kind: DefinitionChangeKind,
    /// The place in the file: `workspace`, `gates`, `checks.NAME` or `protect`.
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum DefinitionChangeKind {
    Added,
    Removed,
    Changed,
}

/// One line for each thing that a person decides about.
#[must_use]
pub fn definition_lines(project: &ProjectDefinition) -> Vec<String> {
    let workspace = project.workspace.iter().map(|name| format!("workspace {name}"));
    let gates = format!("gates {}", project.gates.name());
    let checks =
        project.checks.iter().map(|(name, check)| format!("check {name}: {}", check_text(check)));
    let protected = project.protected.iter().map(|glob| format!("protects {glob}"));
    workspace.chain([gates]).chain(checks).chain(protected).collect()
}

/// How a definition differs from the one before it; without one everything is new.
#[must_use]
pub fn definition_changes(
    before: Option<&ProjectDefinition>,
    after: &ProjectDefinition,
) -> Vec<DefinitionChange> {
    let old = before.map(parts).unwrap_or_default();
    let new = parts(after);
    let mut changes: Vec<DefinitionChange> = Vec::new();
    for (what, text) in &new {
        let known = old.iter().find(|(name, _)| name == what).map(|(_, text)| text);
        let kind = match known {
            None => DefinitionChangeKind::Added,
            Some(known) if known != text => DefinitionChangeKind::Changed,
            Some(_) => continue,
        };
        let before = known.cloned();
        changes.push(DefinitionChange {
            kind,
            what: what.clone(),
            before,
            after: Some(text.clone()),
        });
    }
    let is_gone = |(what, _): &&(String, String)| new.iter().all(|(name, _)| name != what);
    changes.extend(old.iter().filter(is_gone).map(|(what, text)| DefinitionChange {
        kind: DefinitionChangeKind::Removed,
        what: what.clone(),
        before: Some(text.clone()),
        after: None,
    }));
    changes
}

/// The parts of a definition by their place in the file.
fn parts(project: &ProjectDefinition) -> Vec<(String, String)> {
    let workspace = project.workspace.iter();
    let workspace = workspace.map(|name| ("workspace".to_owned(), name.to_string()));
    let gates = ("gates".to_owned(), project.gates.name().to_owned());
    let checks = project.checks.iter();
    let checks = checks.map(|(name, check)| (format!("checks.{name}"), check_text(check)));
    let globs = (!project.protected.is_empty()).then(|| project.protected.join("  "));
    let globs = globs.map(|globs| ("protect".to_owned(), globs));
    workspace.chain([gates]).chain(checks).chain(globs).collect()
}

fn check_text(check: &CheckDefinition) -> String {
    let proves: Vec<&str> = check.proves.iter().map(|checkpoint| checkpoint.name()).collect();
    let mut text = check.run.line();
    text += &format!("  [{} s", check.timeout_seconds);
    text += &format!(", proves {}", proves.join(" "));
    if check.required {
        text += ", required";
    }
    if check.clean {
        text += ", in a clean checkout";
    }
    if !check.paths.is_empty() {
        text += &format!(", paths {}", check.paths.join(" "));
    }
    if let Some(report) = &check.report {
        text += &format!(", report {report}");
    }
    for (variable, value) in &check.env {
        text += &format!(", {variable}={value}");
    }
    if !check.guard_count {
        text += ", count not guarded";
    }
    text + "]"
}

impl GatePolicy {
    /// The word in the project file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Plain => "plain",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DefinitionChange, DefinitionChangeKind, definition_changes, definition_lines};
    use crate::{
        checks::definition::{CheckCommand, CheckDefinition, GatePolicy, ProjectDefinition},
        tasks::step::{Checkpoint, Checkpoints},
    };

    fn project(checks: &[(&str, &str)]) -> ProjectDefinition {
        let checks = checks.iter().map(|(name, line)| {
            let check = CheckDefinition {
                run: CheckCommand::Shell((*line).to_owned()),
                timeout_seconds: 600,
                report: None,
                paths: Vec::new(),
                proves: Checkpoints::from([Checkpoint::Tests]),
                required: true,
                clean: false,
                env: [("A".to_owned(), "b".to_owned())].into(),
                guard_count: true,
            };
            ((*name).to_owned(), check)
        });
        ProjectDefinition { checks: checks.collect(), ..ProjectDefinition::default() }
    }

    fn change(
        kind: DefinitionChangeKind,
        what: &str,
        [before, after]: [Option<&str>; 2],
    ) -> DefinitionChange {
        let [before, after] = [before, after].map(|text| text.map(str::to_owned));
        DefinitionChange { kind, what: what.to_owned(), before, after }
    }

    #[test]
    fn each_part_that_differs_is_one_change() {
        let before = project(&[("lint", "make lint"), ("tests", "make test")]);
        let mut after = project(&[("tests", "true"), ("e2e", "make e2e")]);
        after.gates = GatePolicy::Plain;
        after.protected = vec!["ci/**".to_owned()];
        let line = |run: &str| format!("{run}  [600 s, proves tests, required, A=b]");
        let changed = DefinitionChangeKind::Changed;
        let added = DefinitionChangeKind::Added;
        let expected = vec![
            change(changed, "gates", [Some("strict"), Some("plain")]),
            change(added, "checks.e2e", [None, Some(&line("make e2e"))]),
            change(changed, "checks.tests", [Some(&line("make test")), Some(&line("true"))]),
            change(added, "protect", [None, Some("ci/**")]),
            change(DefinitionChangeKind::Removed, "checks.lint", [Some(&line("make lint")), None]),
        ];
        assert_eq!(definition_changes(Some(&before), &after), expected);
        assert_eq!(definition_changes(Some(&after), &after), Vec::new());
    }

    #[test]
    fn whatever_changes_the_digest_changes_a_line() {
        let base = project(&[("tests", "make test")]);
        let edits: [fn(&mut CheckDefinition); 8] = [
            |check| check.timeout_seconds = 1,
            |check| check.report = Some("junit.xml".to_owned()),
            |check| check.paths = vec!["src/**".to_owned()],
            |check| check.proves = Checkpoints::from([Checkpoint::Docs]),
            |check| check.required = false,
            |check| check.clean = true,
            |check| check.env.clear(),
            |check| check.guard_count = false,
        ];
        for (number, edit) in edits.into_iter().enumerate() {
            let mut edited = base.clone();
            edited.checks.values_mut().for_each(edit);
            assert_ne!(edited.digest(), base.digest(), "edit {number}");
            assert_eq!(definition_changes(Some(&base), &edited).len(), 1, "edit {number}");
            assert_ne!(definition_lines(&edited), definition_lines(&base), "edit {number}");
        }
    }
}
