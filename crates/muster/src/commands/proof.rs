//! `muster proof`: what is proven of a task, for people, programs and other tools.

pub(super) mod text;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use muster_core::{
    checks::statement::TestStatement,
    tasks::{id::CheckRunId, view::proof::TaskProof},
};

use super::tasks::calls::ProofCall;
use crate::{
    config::Settings,
    output,
    people::{InWorkspace, OpenWorkspace, refused},
};

/// Show what is proven of a task, on the files as they are
///
/// Each check of the task and its steps with its state, its verdict and its run, waivers
/// with who gave them and why, and findings such as tests that are gone. Nothing is run.
///
/// The format in-toto prints one statement per run of a check, one on each line. It names the
/// commit as a subject only if the files are exactly those of the commit.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster proof TASK-001
  muster proof TASK-001 --format json | jq .holds
  muster proof TASK-001 --format in-toto > proof.jsonl
  muster proof --verify proof.jsonl")]
pub(crate) struct ProofCommand {
    /// The task; the focused one by default
    #[arg(value_name = "TASK")]
    task: Option<String>,

    /// The form of the output
    #[arg(long, value_enum, default_value = "md", value_name = "FORMAT")]
    format: ProofFormat,

    /// Say whether the store agrees with the statements of a file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["task", "format"])]
    verify: Option<PathBuf>,

    #[command(flatten)]
    place: InWorkspace,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum ProofFormat {
    /// Markdown
    Md,
    /// The result of tasks_proof
    Json,
    /// In-toto statements, one per line
    InToto,
}

pub(crate) fn run(settings: &Settings, asked: &ProofCommand) -> anyhow::Result<ExitCode> {
    let desk = OpenWorkspace::open(settings, &asked.place)?;
    if let Some(file) = &asked.verify {
        return verify(&desk, file);
    }
    let proof = desk.ask(&ProofCall { task: asked.task.as_deref() })?;
    match asked.format {
        ProofFormat::Md => output::print(&text::markdown(&proof))?,
        ProofFormat::Json => output::print_json(&proof)?,
        ProofFormat::InToto => print_statements(&desk, &proof)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn print_statements(desk: &OpenWorkspace, proof: &TaskProof) -> anyhow::Result<()> {
    let of_steps = proof.steps.iter().flat_map(|step| &step.checks);
    let checks = proof.checks.iter().chain(of_steps);
    let runs: BTreeSet<CheckRunId> = checks.filter_map(|check| check.standing.run).collect();
    let app = desk.app();
    for run in runs {
        let statement = app.test_statement(app.caller(), desk.workspace(), run);
        if let Some(statement) = statement.map_err(|error| refused(&error))? {
            output::print_json_line(&serde_json::to_string(&statement)?)?;
        }
    }
    Ok(())
}

fn verify(desk: &OpenWorkspace, file: &Path) -> anyhow::Result<ExitCode> {
    let written =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let read = serde_json::Deserializer::from_str(&written).into_iter::<TestStatement>();
    let statements: Vec<TestStatement> = read
        .collect::<Result<_, _>>()
        .with_context(|| format!("{} does not hold in-toto test results", file.display()))?;
    if statements.is_empty() {
        bail!("{} holds no statement", file.display());
    }
    let mut agrees = true;
    for statement in &statements {
        let differences = desk.app().statement_differences(desk.workspace(), statement);
        let differences = differences.map_err(|error| refused(&error))?;
        agrees &= differences.is_empty();
        let name = statement.run().map_or_else(|| "a statement".to_owned(), |run| run.to_string());
        let verdict = match differences.is_empty() {
            true => "the store agrees".to_owned(),
            false => format!("the store does not agree: {}", differences.join("; ")),
        };
        output::print(&format!("{name}: {verdict}\n"))?;
    }
    Ok(if agrees { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
