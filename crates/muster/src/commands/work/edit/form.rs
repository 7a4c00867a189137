//! A plan or task as text that a person edits: fields, then steps.
//!
//! ```text
//! Title: Parse the header
//! Tags: io, release
//!
//! Description:
//!   Little endian.
//!
//! Step STEP-00000001: Read it
//!   done when: 12 fields are read
//! ```
//!
//! Text that can have several lines is indented, so nothing in it can look like a field.

use std::fmt;

use muster_core::tasks::{
    entity::Urgency,
    view::{TargetView, step_object::StepObject},
};

use crate::commands::tasks::calls::NewTaskStep;

/// Indentation of everything below a heading.
const INDENT: &str = "  ";
/// Indentation of the second and later lines of an entry of a step.
const INDENT_MORE: &str = "    ";
/// Start of a line that is not read.
const COMMENT: char = '#';

/// What a person can edit of a plan or task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct EditForm {
    pub(super) title: String,
    pub(super) priority: Urgency,
    pub(super) tags: Vec<String>,
    pub(super) depends_on: Vec<String>,
    pub(super) description: String,
    pub(super) context: String,
    /// Only of a task: the plan that it is in.
    pub(super) plan: Option<String>,
    /// Only of a plan.
    pub(super) contract: Option<String>,
    pub(super) steps: Vec<FormStep>,
}

/// A step of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FormStep {
    /// Absent in a new one.
    pub(super) id: Option<String>,
    pub(super) step: NewTaskStep,
}

/// A line that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadLine {
    /// From 1.
    number: usize,
    expected: &'static str,
}

impl fmt::Display for BadLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: expected {}", self.number, self.expected)
    }
}

impl std::error::Error for BadLine {}

impl EditForm {
    pub(super) fn of(target: &TargetView, steps: &[StepObject]) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let step = |step: &StepObject| FormStep {
            id: Some(step.step_id.clone()),
            step: NewTaskStep {
                title: step.title.clone(),
                success_criteria: step.success_criteria.clone(),
                tests: step.tests.clone(),
                checks: step.checks.clone(),
            },
        };
        Self {
            title: target.title.clone(),
            priority: target.priority,
            tags: target.tags.clone(),
            depends_on: target.depends_on.iter().map(ToString::to_string).collect(),
            description: text(&target.description),
            context: text(&target.context),
            plan: target.task.as_ref().map(|task| task.parent.clone()),
            contract: target.plan.as_ref().map(|plan| text(&plan.contract)),
            steps: steps.iter().map(step).collect(),
        }
    }

    /// The text to edit.
    pub(super) fn text(&self, id: &str) -> String {
        let mut text = format!(
            "{COMMENT} {id}. Lines that begin with {COMMENT} are not read.\n\
             {COMMENT} Save the file and close the editor to store what you changed.\n"
        );
        if self.contract.is_none() {
            text += "# A new step is a line `Step: title`; `done when:`, `test:` and `check:` \
                     below it.\n";
        }
        text += &format!("\nTitle: {}\n", one_line(&self.title));
        text += &format!("Priority: {}\n", self.priority.word());
        text += &format!("Tags: {}\n", self.tags.join(", "));
        text += &format!("After: {}\n", self.depends_on.join(", "));
        if let Some(plan) = &self.plan {
            text += &format!("Plan: {plan}\n");
        }
        text += &paragraph("Description", &self.description);
        text += &paragraph("Context", &self.context);
        if let Some(contract) = &self.contract {
            text += &paragraph("Contract", contract);
        }
        let steps = self.steps.iter().map(step_text);
        trimmed_lines(&(text + &steps.collect::<String>()))
    }

    /// Reads the text back.
    pub(super) fn parse(text: &str) -> Result<Self, BadLine> {
        let mut reader = FormReader::default();
        for (at, line) in text.lines().enumerate() {
            let read = reader.line(line.trim_end());
            read.map_err(|expected| BadLine { number: at + 1, expected })?;
        }
        Ok(reader.finish())
    }
}

fn paragraph(heading: &str, text: &str) -> String {
    let lines = text.lines().map(|line| format!("{INDENT}{line}\n"));
    format!("\n{heading}:\n{}", lines.collect::<String>())
}

fn step_text(of: &FormStep) -> String {
    let id = of.id.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let mut text = format!("\nStep{id}: {}\n", one_line(&of.step.title));
    for (key, entries) in [
        ("done when", &of.step.success_criteria),
        ("test", &of.step.tests),
        ("check", &of.step.checks),
    ] {
        for entry in entries {
            let mut lines = entry.lines();
            text += &format!("{INDENT}{key}: {}\n", lines.next().unwrap_or_default());
            text.extend(lines.map(|line| format!("{INDENT_MORE}{line}\n")));
        }
    }
    text
}

/// No blanks at the end of lines, which editors remove.
fn trimmed_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// Where the lines of the text go.
#[derive(Default)]
enum Below {
    #[default]
    Nothing,
    Description,
    Context,
    Contract,
    Step,
}

#[derive(Clone, Copy)]
enum StepList {
    Criteria,
    Tests,
    Checks,
}

#[derive(Default)]
struct FormReader {
    form: EditForm,
    below: Below,
    /// The list whose last entry goes on.
    list: Option<StepList>,
}

type Expected = &'static str;

impl FormReader {
    fn line(&mut self, line: &str) -> Result<(), Expected> {
        if line.starts_with(COMMENT) {
            return Ok(());
        }
        if line.is_empty() || line.starts_with(' ') || line.starts_with('\t') {
            return self.inner(line);
        }
        self.list = None;
        let (key, value) = line.split_once(':').ok_or("a field such as `Title: …`, or a step")?;
        let value = value.trim();
        let list = || {
            let words = value.split(',').map(str::trim).filter(|word| !word.is_empty());
            words.map(str::to_owned).collect()
        };
        self.below = Below::Nothing;
        let lower = key.trim().to_lowercase();
        match lower.as_str() {
            "title" => value.clone_into(&mut self.form.title),
            "priority" => self.form.priority = priority(value)?,
            "tags" => self.form.tags = list(),
            "after" => self.form.depends_on = list(),
            "plan" => self.form.plan = Some(value.to_owned()),
            "description" => self.below = Below::Description,
            "context" => self.below = Below::Context,
            "contract" => {
                self.form.contract = Some(String::new());
                self.below = Below::Contract;
            }
            _ => self.step(key.trim(), value)?,
        }
        match self.below {
            Below::Description | Below::Context | Below::Contract if !value.is_empty() => {
                self.inner(&format!("{INDENT}{value}"))
            }
            Below::Nothing
            | Below::Description
            | Below::Context
            | Below::Contract
            | Below::Step => Ok(()),
        }
    }

    fn step(&mut self, key: &str, title: &str) -> Result<(), Expected> {
        let mut words = key.split_whitespace();
        let is_step = words.next().is_some_and(|word| word.eq_ignore_ascii_case("step"));
        let id = words.next().map(str::to_owned);
        if !is_step || words.next().is_some() {
            return Err(
                "Title, Priority, Tags, After, Plan, Description, Context, Contract or Step",
            );
        }
        let step = NewTaskStep { title: title.to_owned(), ..NewTaskStep::default() };
        self.form.steps.push(FormStep { id, step });
        self.below = Below::Step;
        Ok(())
    }

    fn inner(&mut self, line: &str) -> Result<(), Expected> {
        let text = line.strip_prefix(INDENT).unwrap_or(line.trim_start());
        match self.below {
            Below::Nothing if line.is_empty() => Ok(()),
            Below::Nothing => Err("a field or a step at the start of the line"),
            Below::Description => add_line(&mut self.form.description, text),
            Below::Context => add_line(&mut self.form.context, text),
            Below::Contract => add_line(self.form.contract.get_or_insert_default(), text),
            Below::Step => self.entry(line),
        }
    }

    /// An entry of a step, or another line of the one before.
    fn entry(&mut self, line: &str) -> Result<(), Expected> {
        let Some(step) = self.form.steps.last_mut().map(|step| &mut step.step) else {
            return Ok(());
        };
        if let Some(more) = line.strip_prefix(INDENT_MORE)
            && let Some(list) = self.list
            && let Some(entry) = list.of(step).last_mut()
        {
            return add_line(entry, more);
        }
        let text = line.trim_start();
        if text.is_empty() {
            return Ok(());
        }
        let (key, value) = text.split_once(':').unwrap_or((text, ""));
        let list = match key.trim().to_lowercase().as_str() {
            "done when" => StepList::Criteria,
            "test" => StepList::Tests,
            "check" => StepList::Checks,
            _ => return Err("`done when: …`, `test: …` or `check: …`"),
        };
        list.of(step).push(value.trim_start().to_owned());
        self.list = Some(list);
        Ok(())
    }

    fn finish(mut self) -> EditForm {
        let form = &mut self.form;
        let texts = [&mut form.description, &mut form.context];
        for text in texts.into_iter().chain(&mut form.contract) {
            // A blank line before the next heading belongs to no text.
            text.truncate(text.trim_end().len());
        }
        for step in &mut form.steps {
            for list in [StepList::Criteria, StepList::Tests, StepList::Checks] {
                list.of(&mut step.step).retain(|entry| !entry.trim().is_empty());
            }
        }
        self.form
    }
}

impl StepList {
    fn of(self, step: &mut NewTaskStep) -> &mut Vec<String> {
        match self {
            Self::Criteria => &mut step.success_criteria,
            Self::Tests => &mut step.tests,
            Self::Checks => &mut step.checks,
        }
    }
}

fn add_line(text: &mut String, line: &str) -> Result<(), Expected> {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
    Ok(())
}

fn priority(word: &str) -> Result<Urgency, Expected> {
    let known = [Urgency::Critical, Urgency::High, Urgency::Medium, Urgency::Low];
    let found = known.into_iter().find(|known| known.word().eq_ignore_ascii_case(word));
    found.ok_or("a priority: critical, high, medium or low")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form() -> EditForm {
        let step = |id: Option<&str>, title: &str, criteria: &[&str]| FormStep {
            id: id.map(str::to_owned),
            step: NewTaskStep {
                title: title.to_owned(),
                success_criteria: criteria.iter().map(|it| (*it).to_owned()).collect(),
                tests: vec!["cargo test: all".to_owned()],
                checks: vec!["tests".to_owned()],
            },
        };
        EditForm {
            title: "Step: parse".to_owned(),
            priority: Urgency::High,
            tags: vec!["io".to_owned(), "release".to_owned()],
            depends_on: vec!["TASK-002".to_owned()],
            description: "# Little endian.\n\n  Title: not this\nTags:".to_owned(),
            context: String::new(),
            plan: Some("PLAN-001".to_owned()),
            contract: None,
            steps: vec![
                step(Some("STEP-00000001"), "Read", &["one\ntwo: three", "done when: x"]),
                step(None, "Write", &["#4"]),
            ],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let form = form();
        assert_eq!(EditForm::parse(&form.text("TASK-001")), Ok(form.clone()));
        let plan = EditForm {
            contract: Some("Promise".to_owned()),
            plan: None,
            steps: Vec::new(),
            ..form
        };
        assert_eq!(EditForm::parse(&plan.text("PLAN-001")), Ok(plan));
    }

    #[test]
    fn what_cannot_be_read_names_its_line() {
        for (text, number) in [
            ("Title: x\nPriority: urgent", 2),
            ("Title: x\n\nColour: red", 3),
            ("just words", 1),
            ("  indented", 1),
            ("Step: x\n  until: y", 2),
        ] {
            let bad = EditForm::parse(text).unwrap_err();
            assert_eq!(bad.number, number, "{text:?}: {bad}");
        }
    }
}
