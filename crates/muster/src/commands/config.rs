//! `muster config`: the settings, their values, and where each value came from.

use std::{env, fmt::Write as _, process::ExitCode};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::{
    arguments::GlobalFlags,
    config::{self, ALL, Settings, ShownValue, ValueSource},
    output,
    people::Look,
    screen::{Screen, Tone},
};

/// Columns of a value before its source; a longer value pushes the source to the right.
const VALUE_COLUMNS: usize = 32;

/// Show the settings and where each value came from
///
/// A value comes from a flag, else from an environment variable, else from the file, else it is the
/// default. Nothing is changed, and no secret is printed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster config show                        every setting
  muster config show --json | jq '.settings[] | select(.source.kind != \"default\")'
  ${EDITOR:-vi} \"$(muster config path)\"     change the file")]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    view: View,
}

/// What to show.
#[derive(Subcommand)]
enum View {
    /// Print every setting, its value and where that came from
    ///
    /// The exit code is 1 when a setting has an invalid value.
    Show(Look),
    /// Print where the file of settings is, whether or not there is one
    Path,
    /// Print the reference of all settings as Markdown
    Reference,
}

/// Prints what was asked for.
pub(crate) fn run(shared: GlobalFlags, config: &ConfigCommand) -> anyhow::Result<ExitCode> {
    match &config.view {
        View::Show(look) => return show(&Settings::load(shared)?, look),
        View::Path => output::print(&format!("{}\n", path()?))?,
        View::Reference => output::print(&config::page())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn path() -> anyhow::Result<String> {
    let file = config::own_file(&|name| env::var_os(name))
        .context("the home folder is unknown: set MUSTER_CONFIG to the path of the file")?;
    let path = std::path::absolute(&file.path)?;
    Ok(path.display().to_string())
}

/// A setting as it is.
#[derive(Serialize)]
struct Line {
    name: &'static str,
    value: ShownValue,
    source: Option<ValueSource>,
    /// Why the value is invalid.
    problem: Option<String>,
}

/// Everything for programs.
#[derive(Serialize)]
struct ConfigReport<'a> {
    file: FileReport,
    settings: &'a [Line],
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct FileReport {
    path: Option<String>,
    found: bool,
}

fn show(settings: &Settings, look: &Look) -> anyhow::Result<ExitCode> {
    let lines: Vec<Line> = ALL
        .iter()
        .map(|entry| {
            let name = entry.row().name;
            match entry.shown(settings) {
                Ok(shown) => {
                    Line { name, value: shown.value, source: Some(shown.source), problem: None }
                }
                Err(bad) => {
                    let problem = Some(bad.to_string());
                    Line { name, value: ShownValue::Nothing, source: None, problem }
                }
            }
        })
        .collect();
    let file = FileReport { path: path().ok(), found: settings.file_path().is_some() };
    let raw = ConfigReport { file, settings: &lines, warnings: settings.warnings() };
    look.print(&raw, |screen| table(screen, settings, &lines))?;
    let sound = lines.iter().all(|line| line.problem.is_none());
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn table(screen: Screen, settings: &Settings, lines: &[Line]) -> anyhow::Result<String> {
    let path = path().unwrap_or_else(|_| "none: the home folder is unknown".to_owned());
    let there = if settings.file_path().is_some() { "" } else { "  (does not exist)" };
    let mut text = format!("file  {path}{}\n\n", screen.paint(Tone::Faint, there));
    let width = lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
    for line in lines {
        let name = screen.paint(Tone::Strong, &format!("{:width$}", line.name));
        match (&line.source, &line.problem) {
            (Some(source), _) => {
                let value = format!("{:VALUE_COLUMNS$}", line.value);
                let tone = if *source == ValueSource::Default { Tone::Faint } else { Tone::Active };
                writeln!(text, "{name}  {value}  {}", screen.paint(tone, &source.to_string()))?;
            }
            (None, problem) => {
                let problem = problem.as_deref().unwrap_or_default();
                writeln!(text, "{name}  {}", screen.paint(Tone::Bad, problem))?;
            }
        }
    }
    for warning in settings.warnings() {
        write!(text, "\n{} {warning}\n", screen.paint(Tone::Warning, "warning:"))?;
    }
    Ok(text)
}
