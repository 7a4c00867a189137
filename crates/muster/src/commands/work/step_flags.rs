//! `--step`, `--done-when`, `--test` and `--check`, whose order on the command line says which
//! belong together.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::commands::tasks::calls::NewTaskStep;

/// What one of the flags says.
#[derive(Clone, Copy)]
enum Part {
    Step,
    Criterion,
    Test,
    Check,
}

impl Part {
    const ALL: [(Self, &'static str, &'static str, &'static str); 4] = [
        (Self::Step, "step", "TITLE", "A step of the task; can be repeated"),
        (Self::Criterion, "done-when", "TEXT", "When the step before it is done; can be repeated"),
        (Self::Test, "test", "TEXT", "How to test the step before it; can be repeated"),
        (
            Self::Check,
            "check",
            "NAME",
            "A check of the project that the step before it has to pass; can be repeated",
        ),
    ];
}

/// The steps of a new task.
pub(super) struct StepFlags {
    /// What comes before the first `--step` is about the task as a whole.
    first: NewTaskStep,
    steps: Vec<NewTaskStep>,
}

impl StepFlags {
    /// The steps to create. A task always gets one, because only a step can be closed; what says
    /// nothing else is done when what its title names is done.
    pub(super) fn steps(&self, task_title: &str) -> Vec<NewTaskStep> {
        let mut steps = self.steps.clone();
        if steps.is_empty() || self.first != NewTaskStep::default() {
            steps.insert(0, NewTaskStep { title: task_title.to_owned(), ..self.first.clone() });
        }
        for step in &mut steps {
            if step.success_criteria.is_empty() {
                step.success_criteria.push(step.title.clone());
            }
        }
        steps
    }
}

impl FromArgMatches for StepFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given: Vec<(usize, Part, &String)> = Vec::new();
        for (part, name, _, _) in Part::ALL {
            let places = matches.indices_of(name).into_iter().flatten();
            let values = matches.get_many::<String>(name).into_iter().flatten();
            given.extend(places.zip(values).map(|(place, value)| (place, part, value)));
        }
        given.sort_by_key(|(place, _, _)| *place);
        let mut flags = Self { first: NewTaskStep::default(), steps: Vec::new() };
        for (_, part, value) in given {
            let step = flags.steps.last_mut().unwrap_or(&mut flags.first);
            match part {
                Part::Step => {
                    flags
                        .steps
                        .push(NewTaskStep { title: value.clone(), ..NewTaskStep::default() });
                }
                Part::Criterion => step.success_criteria.push(value.clone()),
                Part::Test => step.tests.push(value.clone()),
                Part::Check => step.checks.push(value.clone()),
            }
        }
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for StepFlags {
    fn augment_args(command: Command) -> Command {
        let flag = |(_, name, value, help): (Part, &'static str, &'static str, &'static str)| {
            Arg::new(name).long(name).value_name(value).help(help).action(ArgAction::Append)
        };
        command.args(Part::ALL.map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(words: &[&str]) -> Vec<NewTaskStep> {
        let command = StepFlags::augment_args(Command::new("add").no_binary_name(true));
        let matches = command.try_get_matches_from(words).unwrap();
        StepFlags::from_arg_matches(&matches).unwrap().steps("Parse")
    }

    fn step(title: &str, criteria: &[&str], checks: &[&str]) -> NewTaskStep {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        NewTaskStep {
            title: title.to_owned(),
            success_criteria: owned(criteria),
            checks: owned(checks),
            tests: Vec::new(),
        }
    }

    #[test]
    fn flags_belong_to_the_step_before_them() {
        let words = [
            "--step",
            "Head",
            "--done-when",
            "a",
            "--done-when",
            "b",
            "--step",
            "Body",
            "--check",
            "tests",
        ];
        let expected = [step("Head", &["a", "b"], &[]), step("Body", &["Body"], &["tests"])];
        assert_eq!(steps(&words), expected);
    }

    #[test]
    fn a_task_without_a_step_is_its_own_step() {
        assert_eq!(steps(&[]), [step("Parse", &["Parse"], &[])]);
        assert_eq!(steps(&["--check", "tests"]), [step("Parse", &["Parse"], &["tests"])]);
        let both = steps(&["--done-when", "all green", "--step", "Head"]);
        assert_eq!(both, [step("Parse", &["all green"], &[]), step("Head", &["Head"], &[])]);
    }
}
